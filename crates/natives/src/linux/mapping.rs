// SPDX-License-Identifier: Apache-2.0
//! libcore.io.Linux: memory that an application itself maps, by `android.system.Os`.
//!
//! What it does with the addresses is its own matter, as in C; the machine's memory it can name as
//! well, since nothing confines it.

use jni_sys::{jint, jlong, jobject};

use crate::env::Env;

fn address(of: jlong) -> *mut libc::c_void {
    core::ptr::with_exposed_provenance_mut(of as usize)
}

fn check(env: Env, call: &str, outcome: libc::c_int) {
    if outcome != 0 {
        env.throw_errno(call);
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_mmap(
    env: Env,
    _: jobject,
    place: jlong,
    size: jlong,
    protection: jint,
    flags: jint,
    descriptor: jobject,
    offset: jlong,
) -> jlong {
    let fd = env.int_field(descriptor, c"fd").unwrap_or(-1);
    let found = map(place, size, protection, flags, fd, offset);
    if found.is_none() {
        env.throw_errno("mmap");
    }
    found.unwrap_or(-1)
}

/// The address; none with the call's `errno`.
fn map(
    place: jlong,
    size: jlong,
    protection: jint,
    flags: jint,
    fd: jint,
    offset: jlong,
) -> Option<jlong> {
    let (place, size) = (address(place), size as usize);
    // SAFETY:
    // 1. A new mapping where the kernel likes harms nothing. Where MAP_FIXED asks for a place, the
    //    application answers for what was there: Android's contract of Os.mmap, or `Shared` does.
    let found = unsafe { libc::mmap(place, size, protection, flags, fd, offset) };
    (found != libc::MAP_FAILED).then(|| found.expose_provenance() as jlong)
}

/// What a buffer of android.os.SharedMemory shows: mapped until the buffer is gone.
#[derive(Clone, Copy)]
pub(crate) struct Shared {
    pub(crate) place: jlong,
    pub(crate) size: jlong,
}

impl Shared {
    /// None with the call's `errno`.
    pub(crate) fn new(fd: jint, protection: jint, offset: jlong, size: jlong) -> Option<Self> {
        let place = map(0, size, protection, libc::MAP_SHARED, fd, offset)?;
        Some(Self { place, size })
    }

    /// The buffer shows zeros from now on, and the file's pages are let go: a buffer that is used
    /// behind its end must not be a fault.
    pub(crate) fn forget(self) {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE;
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        map(self.place, self.size, protection, flags, -1, 0);
    }

    /// The buffer is gone.
    pub(crate) fn end(self) {
        // SAFETY:
        // 1. SharedMemory.java ends a mapping once, when nobody can reach its buffer any more.
        unsafe { libc::munmap(address(self.place), self.size as usize) };
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_munmap(env: Env, _: jobject, place: jlong, size: jlong) {
    // SAFETY:
    // 1. The application ends what it has mapped: Android's contract of Os.munmap.
    check(env, "munmap", unsafe {
        libc::munmap(address(place), size as usize)
    });
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_msync(
    env: Env,
    _: jobject,
    place: jlong,
    size: jlong,
    flags: jint,
) {
    // SAFETY:
    // 1. msync reads memory alone, and answers an error for what is not mapped.
    check(env, "msync", unsafe {
        libc::msync(address(place), size as usize, flags)
    });
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_mlock(env: Env, _: jobject, place: jlong, size: jlong) {
    // SAFETY:
    // 1. mlock changes no memory, and answers an error for what is not mapped.
    check(env, "mlock", unsafe {
        libc::mlock(address(place), size as usize)
    });
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_munlock(env: Env, _: jobject, place: jlong, size: jlong) {
    // SAFETY:
    // 1. As mlock.
    check(env, "munlock", unsafe {
        libc::munlock(address(place), size as usize)
    });
}
