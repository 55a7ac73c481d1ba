// SPDX-License-Identifier: Apache-2.0
//! libcore.io.Linux: the system calls behind android.system.Os. Open files are in [`descriptors`],
//! files by name in [`files`], bytes to and from them in [`transfer`], connections in [`sockets`],
//! an application's own mappings in [`mapping`]; the rest is here.

pub(crate) mod descriptors;
mod files;
pub(crate) mod mapping;
mod sockets;
mod transfer;

use std::ffi::CString;

use jni_sys::{jboolean, jbyteArray, jint, jlong, jobject, jstring, jvalue};

use crate::env::Env;

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_getpid(_: Env, _: jobject) -> jint {
    std::process::id().cast_signed()
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_gettid(_: Env, _: jobject) -> jint {
    crate::log::thread_id()
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_getuid(_: Env, _: jobject) -> jint {
    crate::process::uid()
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_sysconf(_: Env, _: jobject, name: jint) -> jlong {
    // SAFETY:
    // 1. sysconf takes any number and answers -1 to one that it does not know.
    unsafe { libc::sysconf(name) }
}

/// What the kernel allows for the value of one extended attribute.
const XATTR_BYTES_MAX: usize = 65_536;

/// A path as the kernel takes it; one with a zero inside names nothing.
fn path(env: Env, path: jstring) -> CString {
    CString::new(env.text(path).unwrap_or_default()).unwrap_or_default()
}

/// Throws ErrnoException unless the call went well.
fn check(env: Env, call: &str, outcome: libc::c_int) -> bool {
    if outcome != 0 {
        env.throw_errno(call);
    }
    outcome == 0
}

/// What the kernel says of a file.
fn stat(env: Env, stat: &rustix::fs::Stat) -> jobject {
    let long = |j: i64| jvalue { j };
    let int = |i: u32| jvalue { i: i.cast_signed() };
    let fields = [
        long(stat.st_dev.cast_signed()),
        long(stat.st_ino.cast_signed()),
        int(stat.st_mode),
        long(stat.st_nlink.cast_signed()),
        int(stat.st_uid),
        int(stat.st_gid),
        long(stat.st_rdev.cast_signed()),
        long(stat.st_size),
        long(stat.st_atime),
        long(stat.st_mtime),
        long(stat.st_ctime),
        long(stat.st_blksize),
        long(stat.st_blocks),
    ];
    env.new_object_with("android/system/StructStat", c"(JJIJIIJJJJJJJ)V", &fields)
}

/// What the kernel says of a file system.
fn vfs(env: Env, vfs: &rustix::fs::StatVfs) -> jobject {
    let fields = [
        vfs.f_bsize,
        vfs.f_frsize,
        vfs.f_blocks,
        vfs.f_bfree,
        vfs.f_bavail,
        vfs.f_files,
        vfs.f_ffree,
        vfs.f_favail,
        vfs.f_fsid,
        vfs.f_flag.bits(),
        vfs.f_namemax,
    ];
    let fields = fields.map(|it| jvalue {
        j: it.cast_signed(),
    });
    env.new_object_with("android/system/StructStatVfs", c"(JJJJJJJJJJJ)V", &fields)
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_access(
    env: Env,
    _: jobject,
    name: jstring,
    mode: jint,
) -> jboolean {
    let name = path(env, name);
    // SAFETY:
    // 1. `name` is terminated and lives through the call.
    let outcome = unsafe { libc::access(name.as_ptr(), mode) };
    check(env, "access", outcome)
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_chmod(env: Env, _: jobject, name: jstring, mode: jint) {
    let name = path(env, name);
    // SAFETY:
    // 1. `name` is terminated and lives through the call.
    let outcome = unsafe { libc::chmod(name.as_ptr(), mode.cast_unsigned()) };
    check(env, "chmod", outcome);
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_mkdir(env: Env, _: jobject, name: jstring, mode: jint) {
    let name = path(env, name);
    // SAFETY:
    // 1. `name` is terminated and lives through the call.
    let outcome = unsafe { libc::mkdir(name.as_ptr(), mode.cast_unsigned()) };
    check(env, "mkdir", outcome);
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_setxattr(
    env: Env,
    _: jobject,
    name: jstring,
    attribute: jstring,
    value: jbyteArray,
    flags: jint,
) {
    let (name, attribute) = (path(env, name), path(env, attribute));
    let Some(value) = env.bytes(value, 0, env.array_length(value)) else {
        return;
    };
    let (start, size) = (value.as_ptr(), value.len());
    // SAFETY:
    // 1. Both texts are terminated; the kernel reads `size` bytes of `value`.
    let outcome =
        unsafe { libc::setxattr(name.as_ptr(), attribute.as_ptr(), start.cast(), size, flags) };
    check(env, "setxattr", outcome);
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_getxattr(
    env: Env,
    _: jobject,
    name: jstring,
    attribute: jstring,
) -> jbyteArray {
    let (name, attribute) = (path(env, name), path(env, attribute));
    let mut value = vec![0u8; XATTR_BYTES_MAX];
    let (start, size) = (value.as_mut_ptr(), value.len());
    // SAFETY:
    // 1. Both texts are terminated; the kernel writes at most `size` bytes into `value`.
    let count = unsafe { libc::getxattr(name.as_ptr(), attribute.as_ptr(), start.cast(), size) };
    match usize::try_from(count) {
        Ok(count) => env.byte_array(&value[..count]),
        Err(_) => {
            env.throw_errno("getxattr");
            core::ptr::null_mut()
        }
    }
}

/// As on Android, for the process's start: a thread that reads the environment meanwhile is the
/// application's fault.
#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_setenv(
    env: Env,
    _: jobject,
    name: jstring,
    value: jstring,
    overwrites: jboolean,
) {
    let (name, value) = (path(env, name), path(env, value));
    // SAFETY:
    // 1. Both texts are terminated; setenv copies them, under the C library's own lock against
    //    getenv of this library.
    let outcome =
        unsafe { libc::setenv(name.as_ptr(), value.as_ptr(), libc::c_int::from(overwrites)) };
    check(env, "setenv", outcome);
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_getenv(env: Env, _: jobject, name: jstring) -> jstring {
    let name = env.text(name).unwrap_or_default();
    match std::env::var(name) {
        Ok(value) => env.string_of(&value),
        Err(_) => core::ptr::null_mut(),
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_strerror(env: Env, _: jobject, number: jint) -> jstring {
    let text = std::io::Error::from_raw_os_error(number).to_string();
    // The C library's words, without what Rust adds to them.
    let words = text.split(" (os error ").next();
    env.string_of(words.unwrap_or_default())
}
