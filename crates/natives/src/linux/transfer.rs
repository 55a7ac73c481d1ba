// SPDX-License-Identifier: Apache-2.0
//! libcore.io.Linux: bytes between files and Java, as arrays or direct buffers.

use std::os::fd::BorrowedFd;

use jni_sys::{jint, jlong, jobject};
use rustix::io::Errno;

use super::descriptors::{Closed, with_waiting};
use crate::env::Env;

/// One call moves at most as much; what is left is for the next one, as with any file.
const TRANSFER_BYTES_MAX: usize = 1 << 20;

/// What has come, or -1 with an exception pending.
fn read(
    env: Env,
    name: &str,
    descriptor: jobject,
    place: Place,
    from: impl Fn(BorrowedFd<'_>, &mut [u8]) -> Result<usize, Errno>,
) -> jint {
    place
        .fill(env, |bytes| {
            with_waiting(env, name, descriptor, Closed::File, |it| from(it, bytes))
        })
        .map_or(-1, |it| it as jint)
}

fn write(
    env: Env,
    name: &str,
    descriptor: jobject,
    place: Place,
    to: impl Fn(BorrowedFd<'_>, &[u8]) -> Result<usize, Errno>,
) -> jint {
    place
        .take(env, |bytes| {
            with_waiting(env, name, descriptor, Closed::File, |it| to(it, bytes))
        })
        .map_or(-1, |it| it as jint)
}

/// A part of a Java array of bytes, or of a direct buffer.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) array: jobject,
    pub(super) offset: jint,
    pub(super) count: jint,
}

impl Place {
    /// Has bytes put there; `from` says how many, or none with an exception pending.
    pub(super) fn fill(
        self,
        env: Env,
        from: impl FnOnce(&mut [u8]) -> Option<usize>,
    ) -> Option<usize> {
        if let Some((start, size)) = self.direct(env) {
            self.check(env, size)?;
            // SAFETY:
            // 1. `direct` gave the buffer's own memory, which lives as long as the buffer: the
            //    caller's argument. `check` says that the part lies in it.
            // 2. Other threads may write to it as well, as into each buffer that they share: the
            //    kernel writes there, and Rust reads nothing of it.
            let bytes = unsafe { core::slice::from_raw_parts_mut(start, self.bytes()) };
            return from(bytes);
        }
        self.check(env, self.length(env)?)?;
        let mut bytes = vec![0; self.bytes()];
        let count = from(&mut bytes)?;
        env.write_bytes(self.array, self.offset, &bytes[..count]);
        Some(count)
    }

    /// Has the bytes there taken; as [`fill`](Self::fill).
    pub(super) fn take(self, env: Env, to: impl FnOnce(&[u8]) -> Option<usize>) -> Option<usize> {
        if let Some((start, size)) = self.direct(env) {
            self.check(env, size)?;
            // SAFETY:
            // 1., 2. As in `fill`; here the kernel reads.
            return to(unsafe { core::slice::from_raw_parts(start, self.bytes()) });
        }
        self.check(env, self.length(env)?)?;
        to(&env.bytes(self.array, self.offset, self.bytes() as jint)?)
    }

    /// How much of it one call moves; to be asked after `check`.
    fn bytes(self) -> usize {
        (self.count as usize).min(TRANSFER_BYTES_MAX)
    }

    /// Where the part of a direct buffer begins, and how large the whole buffer is.
    fn direct(self, env: Env) -> Option<(*mut u8, usize)> {
        if !env.is_instance(self.array, "java/nio/Buffer") {
            return None;
        }
        let (start, size) = env.direct_buffer(self.array)?;
        let offset = usize::try_from(self.offset).unwrap_or(usize::MAX);
        // Beyond the end `check` refuses it.
        Some((start.wrapping_add(offset), size))
    }

    /// Of an array of bytes; none, and an exception is pending, for anything else.
    fn length(self, env: Env) -> Option<usize> {
        if env.is_instance(self.array, "[B") {
            return Some(env.array_length(self.array) as usize);
        }
        let text = "neither an array of bytes nor a direct buffer";
        env.throw("java/lang/IllegalArgumentException", text);
        None
    }

    /// None, and an exception is pending, if it is not a part of so much.
    fn check(self, env: Env, length: usize) -> Option<()> {
        let end = self.offset.checked_add(self.count);
        let is_inside =
            0 <= self.offset && 0 <= self.count && end.is_some_and(|it| it as usize <= length);
        if !is_inside {
            let text = format!("{} bytes from {} of {length}", self.count, self.offset);
            env.throw("java/lang/ArrayIndexOutOfBoundsException", &text);
            return None;
        }
        Some(())
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_readBytes(
    env: Env,
    _: jobject,
    descriptor: jobject,
    array: jobject,
    offset: jint,
    count: jint,
) -> jint {
    let place = Place {
        array,
        offset,
        count,
    };
    read(env, "read", descriptor, place, |it, bytes| {
        rustix::io::read(it, bytes)
    })
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_preadBytes(
    env: Env,
    _: jobject,
    descriptor: jobject,
    array: jobject,
    offset: jint,
    count: jint,
    at: jlong,
) -> jint {
    let place = Place {
        array,
        offset,
        count,
    };
    read(env, "pread", descriptor, place, |it, bytes| {
        rustix::io::pread(it, bytes, at.cast_unsigned())
    })
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_writeBytes(
    env: Env,
    _: jobject,
    descriptor: jobject,
    array: jobject,
    offset: jint,
    count: jint,
) -> jint {
    let place = Place {
        array,
        offset,
        count,
    };
    write(env, "write", descriptor, place, |it, bytes| {
        rustix::io::write(it, bytes)
    })
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_pwriteBytes(
    env: Env,
    _: jobject,
    descriptor: jobject,
    array: jobject,
    offset: jint,
    count: jint,
    at: jlong,
) -> jint {
    let place = Place {
        array,
        offset,
        count,
    };
    write(env, "pwrite", descriptor, place, |it, bytes| {
        rustix::io::pwrite(it, bytes, at.cast_unsigned())
    })
}
