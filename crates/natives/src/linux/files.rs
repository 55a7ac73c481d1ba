// SPDX-License-Identifier: Apache-2.0
//! libcore.io.Linux: files by their names.

use jni_sys::{jint, jobject, jstring};
use rustix::fs::Mode;

use super::descriptors::given;
use super::{path, stat, vfs};
use crate::env::Env;

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_stat(env: Env, _: jobject, name: jstring) -> jobject {
    let found = given(env, "stat", rustix::fs::stat(path(env, name).as_c_str()));
    found.map_or(core::ptr::null_mut(), |it| stat(env, &it))
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_lstat(env: Env, _: jobject, name: jstring) -> jobject {
    let found = given(env, "lstat", rustix::fs::lstat(path(env, name).as_c_str()));
    found.map_or(core::ptr::null_mut(), |it| stat(env, &it))
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_statvfs(env: Env, _: jobject, name: jstring) -> jobject {
    let found = rustix::fs::statvfs(path(env, name).as_c_str());
    given(env, "statvfs", found).map_or(core::ptr::null_mut(), |it| vfs(env, &it))
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_unlink(env: Env, _: jobject, name: jstring) {
    given(
        env,
        "unlink",
        rustix::fs::unlink(path(env, name).as_c_str()),
    );
}

/// A file or an empty folder.
#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_remove(env: Env, _: jobject, name: jstring) {
    let name = path(env, name);
    let outcome = match rustix::fs::unlink(name.as_c_str()) {
        Err(rustix::io::Errno::ISDIR) => rustix::fs::rmdir(name.as_c_str()),
        other => other,
    };
    given(env, "remove", outcome);
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_rename(env: Env, _: jobject, old: jstring, new: jstring) {
    let (old, new) = (path(env, old), path(env, new));
    given(
        env,
        "rename",
        rustix::fs::rename(old.as_c_str(), new.as_c_str()),
    );
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_link(env: Env, _: jobject, old: jstring, new: jstring) {
    let (old, new) = (path(env, old), path(env, new));
    given(
        env,
        "link",
        rustix::fs::link(old.as_c_str(), new.as_c_str()),
    );
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_symlink(env: Env, _: jobject, to: jstring, new: jstring) {
    let (to, new) = (path(env, to), path(env, new));
    given(
        env,
        "symlink",
        rustix::fs::symlink(to.as_c_str(), new.as_c_str()),
    );
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_readlink(env: Env, _: jobject, name: jstring) -> jstring {
    let found = rustix::fs::readlink(path(env, name).as_c_str(), Vec::new());
    given(env, "readlink", found).map_or(core::ptr::null_mut(), |it| {
        env.string_of(&it.to_string_lossy())
    })
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_realpath(env: Env, _: jobject, name: jstring) -> jstring {
    match std::fs::canonicalize(env.text(name).unwrap_or_default()) {
        Ok(found) => env.string_of(&found.to_string_lossy()),
        Err(error) => {
            env.throw_errno_of("realpath", error.raw_os_error().unwrap_or_default());
            core::ptr::null_mut()
        }
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_mkfifo(env: Env, _: jobject, name: jstring, mode: jint) {
    let (name, mode) = (
        path(env, name),
        Mode::from_bits_retain(mode.cast_unsigned()),
    );
    let made = rustix::fs::mknodat(
        rustix::fs::CWD,
        name.as_c_str(),
        rustix::fs::FileType::Fifo,
        mode,
        0,
    );
    given(env, "mkfifo", made);
}
