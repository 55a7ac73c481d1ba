// SPDX-License-Identifier: Apache-2.0
//! android.os.SharedMemory (ours, in framework/headless) and MemoryFile: files in memory whose size
//! is sealed.

use std::os::fd::BorrowedFd;

use jni_sys::{jboolean, jclass, jint, jlong, jobject, jstring};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, fstat, ftruncate};
use rustix::io::Errno;

use crate::env::Env;
use crate::linux::descriptors::{given, number, with, wrapped};
use crate::linux::mapping::Shared;

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_SharedMemory_nCreate(
    env: Env,
    _: jclass,
    name: jstring,
    size: jint,
) -> jobject {
    let name = env.text(name).unwrap_or_default().replace('\0', " ");
    let make = || {
        let fd = rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&fd, u64::try_from(size).map_err(|_| Errno::INVAL)?)?;
        fcntl_add_seals(&fd, SealFlags::GROW | SealFlags::SHRINK)?;
        Ok(fd)
    };
    wrapped(env, given(env, "SharedMemory_create", make()))
}

/// An object for a descriptor that the caller owns.
#[unsafe(no_mangle)]
extern "system" fn Java_android_os_SharedMemory_nFile(env: Env, _: jclass, fd: jint) -> jobject {
    let object = env.new_object("java/io/FileDescriptor");
    if !object.is_null() {
        env.set_int_fields(object, &[(c"fd", fd)]);
    }
    object
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_SharedMemory_nNumber(
    env: Env,
    _: jclass,
    file: jobject,
) -> jint {
    number(env, file)
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_SharedMemory_nAddress(
    env: Env,
    _: jclass,
    buffer: jobject,
) -> jlong {
    env.direct_address(buffer)
}

/// Of a file in memory that cannot shrink, as what another process sends must be.
fn size(fd: BorrowedFd<'_>) -> Result<jint, Errno> {
    let is_sealed = fcntl_get_seals(fd)?.contains(SealFlags::SHRINK);
    let size = jint::try_from(fstat(fd)?.st_size).ok();
    size.filter(|_| is_sealed).ok_or(Errno::INVAL)
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_SharedMemory_nGetSize(
    env: Env,
    _: jclass,
    file: jobject,
) -> jint {
    with(env, "SharedMemory", file, size).unwrap_or(-1)
}

/// Takes the right to write from mappings that are made from now on; it does not come back.
#[unsafe(no_mangle)]
extern "system" fn Java_android_os_SharedMemory_nSetProt(
    env: Env,
    _: jclass,
    file: jobject,
    protection: jint,
) -> jboolean {
    with(env, "SharedMemory", file, |fd| {
        let is_sealed = fcntl_get_seals(fd)?.contains(SealFlags::FUTURE_WRITE);
        match protection {
            libc::PROT_READ if is_sealed => Ok(true),
            libc::PROT_READ => fcntl_add_seals(fd, SealFlags::FUTURE_WRITE).map(|()| true),
            // Less than to read cannot be sealed.
            _ => Ok(protection == libc::PROT_READ | libc::PROT_WRITE && !is_sealed),
        }
    })
    .unwrap_or_default()
}

/// The address, which `nBuffer`, `nForget` and `nEnd` take.
#[unsafe(no_mangle)]
extern "system" fn Java_android_os_SharedMemory_nMap(
    env: Env,
    _: jclass,
    file: jobject,
    protection: jint,
    offset: jint,
    length: jint,
) -> jlong {
    match Shared::new(number(env, file), protection, offset.into(), length.into()) {
        Some(shared) => shared.place,
        None => {
            env.throw_errno("mmap");
            0
        }
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_SharedMemory_nBuffer(
    env: Env,
    _: jclass,
    place: jlong,
    length: jint,
) -> jobject {
    env.new_direct_buffer(place, length.into())
}

fn shared(place: jlong, length: jint) -> Shared {
    Shared {
        place,
        size: length.into(),
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_SharedMemory_nForget(
    _: Env,
    _: jclass,
    place: jlong,
    length: jint,
) {
    shared(place, length).forget();
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_SharedMemory_nEnd(
    _: Env,
    _: jclass,
    place: jlong,
    length: jint,
) {
    shared(place, length).end();
}

/// Nothing is purged here.
#[unsafe(no_mangle)]
extern "system" fn Java_android_os_MemoryFile_native_1pin(
    _: Env,
    _: jclass,
    _file: jobject,
    _pin: jboolean,
) -> jboolean {
    false
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_MemoryFile_native_1get_1size(
    env: Env,
    _: jclass,
    file: jobject,
) -> jint {
    with(env, "MemoryFile", file, size).unwrap_or(-1)
}
