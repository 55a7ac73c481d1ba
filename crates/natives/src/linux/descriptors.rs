// SPDX-License-Identifier: Apache-2.0
//! libcore.io.Linux: open files and what is done with them by their number.
//!
//! A `java.io.FileDescriptor` is the JDK's: the number is its field `fd`. Calls that a signal
//! interrupts are made again, as libcore does.

use std::os::fd::{BorrowedFd, IntoRawFd as _, OwnedFd};

use jni_sys::{jboolean, jint, jlong, jobject, jobjectArray, jstring};
use rustix::fs::{Mode, OFlags, SeekFrom};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{AddressFamily, Protocol, SocketFlags, SocketType};
use rustix::pipe::PipeFlags;

use super::{path, stat, vfs};
use crate::asynchronous_close::Waiting;
use crate::env::Env;

/// The number of a descriptor for a call; a null one and a closed one are -1, which the kernel
/// refuses.
pub(crate) fn number(env: Env, descriptor: jobject) -> jint {
    env.int_field(descriptor, c"fd").unwrap_or(-1)
}

/// `call` with an open descriptor; ErrnoException of it, or of EBADF.
pub(crate) fn with<T>(
    env: Env,
    name: &str,
    descriptor: jobject,
    call: impl FnMut(BorrowedFd<'_>) -> Result<T, Errno>,
) -> Option<T> {
    let mut call = call;
    let outcome = open(number(env, descriptor)).and_then(|it| retry_on_intr(|| call(it)));
    given(env, name, outcome)
}

/// What a call throws whose descriptor is closed while it waits, as libcore has it.
#[derive(Clone, Copy)]
pub(crate) enum Closed {
    /// InterruptedIOException
    File,
    /// SocketException
    Socket,
}

/// As [`with`], for a call that may wait: closing the descriptor ends it.
pub(crate) fn with_waiting<T>(
    env: Env,
    name: &str,
    descriptor: jobject,
    closed: Closed,
    mut call: impl FnMut(BorrowedFd<'_>) -> Result<T, Errno>,
) -> Option<T> {
    let number = number(env, descriptor);
    let waiting = Waiting::begin(number);
    let outcome = open(number).and_then(|it| {
        loop {
            match call(it) {
                Err(Errno::INTR) if !waiting.is_woken() => {}
                outcome => return outcome,
            }
        }
    });
    if !waiting.is_woken() {
        return given(env, name, outcome);
    }
    match closed {
        Closed::File => {
            let text = format!("{name} interrupted");
            env.throw("java/io/InterruptedIOException", &text);
        }
        Closed::Socket => env.throw("java/net/SocketException", "Socket closed"),
    }
    None
}

/// EBADF for a number that is none.
pub(crate) fn open<'a>(number: jint) -> Result<BorrowedFd<'a>, Errno> {
    if number < 0 {
        return Err(Errno::BADF);
    }
    // SAFETY:
    // 1. The number is not -1. An application that closes it meanwhile harms its own files alone:
    //    nothing here keeps it beyond the call.
    Ok(unsafe { BorrowedFd::borrow_raw(number) })
}

/// What a call gave; none with its ErrnoException pending.
pub(crate) fn given<T>(env: Env, name: &str, outcome: Result<T, Errno>) -> Option<T> {
    match outcome {
        Ok(value) => Some(value),
        Err(error) => {
            env.throw_errno_of(name, error.raw_os_error());
            None
        }
    }
}

/// A copy of an open descriptor, which is ours.
pub(crate) fn owned_copy(number: jint) -> std::io::Result<OwnedFd> {
    open(number)?.try_clone_to_owned()
}

/// A new object of Java's for a descriptor that Java closes.
pub(crate) fn wrapped(env: Env, fd: Option<OwnedFd>) -> jobject {
    match fd {
        Some(fd) => numbered(env, fd.into_raw_fd()),
        None => core::ptr::null_mut(),
    }
}

fn numbered(env: Env, number: jint) -> jobject {
    let object = env.new_object("java/io/FileDescriptor");
    if !object.is_null() {
        env.set_int_fields(object, &[(c"fd", number)]);
    }
    object
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_open(
    env: Env,
    _: jobject,
    name: jstring,
    flags: jint,
    mode: jint,
) -> jobject {
    let name = path(env, name);
    let flags = OFlags::from_bits_retain(flags.cast_unsigned());
    let mode = Mode::from_bits_retain(mode.cast_unsigned());
    let open = || rustix::fs::open(name.as_c_str(), flags, mode);
    wrapped(env, given(env, "open", retry_on_intr(open)))
}

/// The object has no number from now on, whatever the kernel says.
#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_close(env: Env, _: jobject, descriptor: jobject) {
    let number = number(env, descriptor);
    if number < 0 {
        env.throw_errno_of("close", Errno::BADF.raw_os_error());
        return;
    }
    env.set_int_fields(descriptor, &[(c"fd", -1)]);
    // SAFETY:
    // 1. close takes any number; whose it is the application says.
    if unsafe { libc::close(number) } != 0 {
        env.throw_errno("close");
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_dup(env: Env, _: jobject, of: jobject) -> jobject {
    let copy = with(env, "dup", of, |it| rustix::io::fcntl_dupfd_cloexec(it, 0));
    wrapped(env, copy)
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_fcntlVoid(
    env: Env,
    this: jobject,
    descriptor: jobject,
    command: jint,
) -> jint {
    Java_libcore_io_Linux_fcntlInt(env, this, descriptor, command, 0)
}

/// Commands that take a number or nothing; those that take an address have methods of their own.
#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_fcntlInt(
    env: Env,
    _: jobject,
    descriptor: jobject,
    command: jint,
    argument: jint,
) -> jint {
    const NUMBERS: [jint; 9] = [
        libc::F_DUPFD,
        libc::F_DUPFD_CLOEXEC,
        libc::F_GETFD,
        libc::F_SETFD,
        libc::F_GETFL,
        libc::F_SETFL,
        libc::F_SETPIPE_SZ,
        libc::F_GETPIPE_SZ,
        libc::F_GET_SEALS,
    ];
    let is_number = NUMBERS.contains(&command) || command == libc::F_ADD_SEALS;
    if !is_number {
        env.throw_errno_of("fcntl", Errno::INVAL.raw_os_error());
        return -1;
    }
    let number = number(env, descriptor);
    // SAFETY:
    // 1. These commands read no memory of ours: the argument is a number.
    let outcome = unsafe { libc::fcntl(number, command, argument) };
    if outcome == -1 {
        env.throw_errno("fcntl");
    }
    outcome
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_fsync(env: Env, _: jobject, descriptor: jobject) {
    with(env, "fsync", descriptor, |it| rustix::fs::fsync(it));
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_fdatasync(env: Env, _: jobject, descriptor: jobject) {
    with(env, "fdatasync", descriptor, |it| rustix::fs::fdatasync(it));
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_ftruncate(
    env: Env,
    _: jobject,
    descriptor: jobject,
    size: jlong,
) {
    let size = size.cast_unsigned();
    with(env, "ftruncate", descriptor, |it| {
        rustix::fs::ftruncate(it, size)
    });
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_fchmod(
    env: Env,
    _: jobject,
    descriptor: jobject,
    mode: jint,
) {
    let mode = Mode::from_bits_retain(mode.cast_unsigned());
    with(env, "fchmod", descriptor, |it| rustix::fs::fchmod(it, mode));
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_posix_1fallocate(
    env: Env,
    _: jobject,
    descriptor: jobject,
    offset: jlong,
    size: jlong,
) {
    let (offset, size) = (offset.cast_unsigned(), size.cast_unsigned());
    let flags = rustix::fs::FallocateFlags::empty();
    with(env, "posix_fallocate", descriptor, |it| {
        rustix::fs::fallocate(it, flags, offset, size)
    });
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_lseek(
    env: Env,
    _: jobject,
    descriptor: jobject,
    offset: jlong,
    whence: jint,
) -> jlong {
    let from = match whence {
        libc::SEEK_SET => SeekFrom::Start(offset.cast_unsigned()),
        libc::SEEK_CUR => SeekFrom::Current(offset),
        libc::SEEK_END => SeekFrom::End(offset),
        _ => {
            env.throw_errno_of("lseek", Errno::INVAL.raw_os_error());
            return -1;
        }
    };
    let place = with(env, "lseek", descriptor, |it| rustix::fs::seek(it, from));
    place.map_or(-1, u64::cast_signed)
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_isatty(
    env: Env,
    _: jobject,
    descriptor: jobject,
) -> jboolean {
    // SAFETY:
    // 1. isatty takes any number.
    unsafe { libc::isatty(number(env, descriptor)) == 1 }
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_fstat(env: Env, _: jobject, of: jobject) -> jobject {
    let found = with(env, "fstat", of, |it| rustix::fs::fstat(it));
    found.map_or(core::ptr::null_mut(), |it| stat(env, &it))
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_fstatvfs(env: Env, _: jobject, of: jobject) -> jobject {
    let found = with(env, "fstatvfs", of, |it| rustix::fs::fstatvfs(it));
    found.map_or(core::ptr::null_mut(), |it| vfs(env, &it))
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_pipe2(env: Env, _: jobject, flags: jint) -> jobjectArray {
    let flags = PipeFlags::from_bits_retain(flags.cast_unsigned());
    let Some((reader, writer)) = given(env, "pipe2", rustix::pipe::pipe_with(flags)) else {
        return core::ptr::null_mut();
    };
    let ends = [reader, writer].map(|it| wrapped(env, Some(it)));
    env.object_array("java/io/FileDescriptor", &ends)
}

/// Fills in two descriptors.
#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_socketpair(
    env: Env,
    _: jobject,
    family: jint,
    kind: jint,
    protocol: jint,
    first: jobject,
    second: jobject,
) {
    // Flags stand among the bits of the kind, as in C.
    let flags = SocketFlags::from_bits_truncate(kind.cast_unsigned());
    let kind = SocketType::from_raw(kind.cast_unsigned() & !flags.bits());
    let family = AddressFamily::from_raw(family as u16);
    let protocol = core::num::NonZeroU32::new(protocol.cast_unsigned()).map(Protocol::from_raw);
    let pair = rustix::net::socketpair(family, kind, flags, protocol);
    if let Some((one, other)) = given(env, "socketpair", pair) {
        env.set_int_fields(first, &[(c"fd", one.into_raw_fd())]);
        env.set_int_fields(second, &[(c"fd", other.into_raw_fd())]);
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_memfd_1create(
    env: Env,
    _: jobject,
    name: jstring,
    flags: jint,
) -> jobject {
    let name = path(env, name);
    let flags = rustix::fs::MemfdFlags::from_bits_retain(flags.cast_unsigned());
    let made = rustix::fs::memfd_create(name.as_c_str(), flags);
    wrapped(env, given(env, "memfd_create", made))
}

/// The copy has the number that is asked for; what had it is closed.
#[unsafe(no_mangle)]
extern "system" fn Java_libcore_io_Linux_dup2(
    env: Env,
    _: jobject,
    of: jobject,
    number: jint,
) -> jobject {
    // SAFETY:
    // 1. dup2 takes any numbers; whose they are the application says.
    let copy = unsafe { libc::dup2(self::number(env, of), number) };
    if copy < 0 {
        env.throw_errno("dup2");
        return core::ptr::null_mut();
    }
    numbered(env, copy)
}
