// SPDX-License-Identifier: Apache-2.0
//! The kernel's `/dev/binder`: [`Driver`] is one open device with its buffers, [`Commands`] what is
//! said to it, [`Return`] what it says.
//!
//! What the kernel hands over is checked all the same: a buffer must lie in the mapping, objects in
//! the buffer. What other processes wrote is copied out before anybody looks at it.

use std::ffi::CString;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use crate::memory::page_bytes;
use crate::sys::Errno;

/// The protocol of 64-bit kernels, the only one spoken here.
const VERSION: i32 = 8;
/// Bytes that are read at once: some twenty returns.
const READ_BYTES: usize = 1024;
/// A flat object in a buffer; of one kind that is a descriptor.
const FLAT_BYTES: u64 = 24;
const KIND_FD: u32 = u32::from_be_bytes(*b"fd*\x85");

/// Bits of a transaction.
pub mod flags {
    /// Nobody waits for an answer.
    pub const ONE_WAY: u32 = 0x01;
    /// The answer is a status alone.
    pub const STATUS: u32 = 0x08;
    /// The answer may have descriptors.
    pub const ACCEPT_FDS: u32 = 0x10;
}

/// `_IOC`: direction, size, letter, number.
const fn word(direction: u32, letter: u8, number: u32, size: u32) -> u32 {
    direction << 30 | size << 16 | (letter as u32) << 8 | number
}
const fn command(number: u32, size: u32) -> u32 {
    word((size > 0) as u32, b'c', number, size)
}
const fn answer(number: u32, size: u32) -> u32 {
    word(if size > 0 { 2 } else { 0 }, b'r', number, size)
}

const WRITE_READ: u32 = word(3, b'b', 1, 48);
const SET_MAX_THREADS: u32 = word(1, b'b', 5, 4);
const THREAD_EXIT: u32 = word(1, b'b', 8, 4);
const GET_VERSION: u32 = word(3, b'b', 9, 4);
const SET_CONTEXT_MGR_EXT: u32 = word(1, b'b', 13, 24);
const GET_EXTENDED_ERROR: u32 = word(3, b'b', 17, 12);

const TRANSACTION_BYTES: u32 = 64;
const BC_TRANSACTION: u32 = command(0, TRANSACTION_BYTES);
const BC_REPLY: u32 = command(1, TRANSACTION_BYTES);
const BC_FREE_BUFFER: u32 = command(3, 8);
const BC_INCREFS: u32 = command(4, 4);
const BC_ACQUIRE: u32 = command(5, 4);
const BC_RELEASE: u32 = command(6, 4);
const BC_DECREFS: u32 = command(7, 4);
const BC_INCREFS_DONE: u32 = command(8, 16);
const BC_ACQUIRE_DONE: u32 = command(9, 16);
const BC_ENTER_LOOPER: u32 = command(12, 0);
const BC_EXIT_LOOPER: u32 = command(13, 0);
const BC_REQUEST_DEATH: u32 = command(14, 12);
const BC_CLEAR_DEATH: u32 = command(15, 12);
const BC_DEAD_BINDER_DONE: u32 = command(16, 8);

const BR_ERROR: u32 = answer(0, 4);
const BR_TRANSACTION: u32 = answer(2, TRANSACTION_BYTES);
const BR_REPLY: u32 = answer(3, TRANSACTION_BYTES);
const BR_DEAD_REPLY: u32 = answer(5, 0);
const BR_TRANSACTION_COMPLETE: u32 = answer(6, 0);
const BR_INCREFS: u32 = answer(7, 16);
const BR_ACQUIRE: u32 = answer(8, 16);
const BR_RELEASE: u32 = answer(9, 16);
const BR_DECREFS: u32 = answer(10, 16);
const BR_DEAD_BINDER: u32 = answer(15, 8);
const BR_CLEAR_DEATH_DONE: u32 = answer(16, 8);
const BR_FAILED_REPLY: u32 = answer(17, 0);
const BR_FROZEN_REPLY: u32 = answer(18, 0);

/// Why a device is not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DriverError {
    /// The kernel refused.
    #[error("cannot {what} {}: {errno}{}", device.display(), advice(*errno))]
    Refused {
        /// What was to be done with it.
        what: &'static str,
        /// Which device.
        device: PathBuf,
        /// What the kernel said.
        errno: Errno,
    },
    /// It speaks another protocol.
    #[error("{}: speaks version {version} of Binder's protocol, not {VERSION}", device.display())]
    Version {
        /// Which device.
        device: PathBuf,
        /// What it speaks.
        version: i32,
    },
}

/// What to do about it, where that is known.
fn advice(errno: Errno) -> &'static str {
    match errno.0 {
        libc::ENOENT | libc::ENXIO | libc::ENODEV => {
            "; Binder's driver is not loaded: as root `modprobe binder_linux devices=binder`, \
             or in a guest `takt lab --module binder_linux:devices=binder -- COMMAND`"
        }
        libc::EACCES | libc::EPERM => "; who uses it needs the right to read and to write it",
        libc::ENOTTY | libc::EINVAL => "; it is no device of Binder's driver",
        _ => "",
    }
}

/// What the kernel says.
#[derive(Debug)]
pub enum Return {
    /// Somebody calls.
    Call(Incoming),
    /// The answer to the call that this thread waits for.
    Answer(Incoming),
    /// What was sent is on its way.
    Sent,
    /// The node of the call is gone.
    Dead,
    /// The call did not go; the kernel's error number, 0 where it says none.
    Failed(i32),
    /// Others hold a node weakly.
    Weaken(u64),
    /// Others hold a node.
    Acquire(u64),
    /// They do not hold it any more.
    Release(u64),
    /// Not even weakly.
    Forget(u64),
    /// A node that was watched under this number is gone.
    Death(u64),
}

/// A call or an answer that has arrived.
#[derive(Debug)]
pub struct Incoming {
    /// The number that this process gave its node; the context manager's is 0.
    pub target: u64,
    /// Of a call.
    pub code: u32,
    /// See [`flags`].
    pub flags: u32,
    /// Who calls; 0 where nobody waits.
    pub pid: i32,
    /// Its user.
    pub uid: u32,
    /// Places in the mapping that were checked.
    start: usize,
    size: usize,
    positions: usize,
    count: usize,
}

/// A buffer that is no longer needed; said by [`Commands::free`].
#[derive(Debug)]
#[must_use = "the kernel keeps the buffer until it is told"]
pub struct Spent(u64);

/// What to say first at the next exchange.
#[derive(Debug)]
pub struct Commands {
    bytes: Vec<u8>,
}

impl Default for Commands {
    fn default() -> Self {
        Self {
            bytes: Vec::with_capacity(2 * READ_BYTES),
        }
    }
}

impl Commands {
    fn say(&mut self, command: u32, words: &[&[u8]]) {
        self.bytes.extend_from_slice(&command.to_ne_bytes());
        for word in words {
            self.bytes.extend_from_slice(word);
        }
    }

    /// The buffer is no longer needed.
    pub fn free(&mut self, spent: Spent) {
        self.say(BC_FREE_BUFFER, &[&spent.0.to_ne_bytes()]);
    }

    /// The calling thread serves.
    pub fn enter_looper(&mut self) {
        self.say(BC_ENTER_LOOPER, &[]);
    }

    /// It does not any more.
    pub fn exit_looper(&mut self) {
        self.say(BC_EXIT_LOOPER, &[]);
    }

    /// This process holds what the handle names.
    pub fn acquire(&mut self, handle: u32) {
        self.say(BC_INCREFS, &[&handle.to_ne_bytes()]);
        self.say(BC_ACQUIRE, &[&handle.to_ne_bytes()]);
    }

    /// It holds it once less.
    pub fn release(&mut self, handle: u32) {
        self.say(BC_RELEASE, &[&handle.to_ne_bytes()]);
        self.say(BC_DECREFS, &[&handle.to_ne_bytes()]);
    }

    /// [`Return::Weaken`] was done.
    pub fn weakened(&mut self, node: u64) {
        self.say(BC_INCREFS_DONE, &[&node.to_ne_bytes(), &node.to_ne_bytes()]);
    }

    /// [`Return::Acquire`] was done.
    pub fn acquired(&mut self, node: u64) {
        self.say(BC_ACQUIRE_DONE, &[&node.to_ne_bytes(), &node.to_ne_bytes()]);
    }

    /// Tell of this handle's death, under a number.
    pub fn watch(&mut self, handle: u32, number: u64) {
        self.say(
            BC_REQUEST_DEATH,
            &[&handle.to_ne_bytes(), &number.to_ne_bytes()],
        );
    }

    /// Do not tell of it any more.
    pub fn unwatch(&mut self, handle: u32, number: u64) {
        self.say(
            BC_CLEAR_DEATH,
            &[&handle.to_ne_bytes(), &number.to_ne_bytes()],
        );
    }

    /// [`Return::Death`] was heard.
    pub fn mourned(&mut self, number: u64) {
        self.say(BC_DEAD_BINDER_DONE, &[&number.to_ne_bytes()]);
    }
}

/// A call or an answer that goes.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// Whom a call is for; `None` for an answer.
    pub handle: Option<u32>,
    /// Of a call.
    pub code: u32,
    /// See [`flags`].
    pub flags: u32,
    /// The parcel.
    pub bytes: &'a [u8],
    /// Where its objects lie.
    pub positions: &'a [u64],
}

impl Outgoing<'_> {
    fn write(&self, bytes: &mut Vec<u8>) {
        let command = match self.handle {
            Some(_) => BC_TRANSACTION,
            None => BC_REPLY,
        };
        bytes.extend_from_slice(&command.to_ne_bytes());
        let head = [u64::from(self.handle.unwrap_or_default()), 0];
        head.iter()
            .for_each(|it| bytes.extend_from_slice(&it.to_ne_bytes()));
        for it in [self.code, self.flags, 0, 0] {
            bytes.extend_from_slice(&it.to_ne_bytes());
        }
        let places = [
            self.bytes.len() as u64,
            size_of_val(self.positions) as u64,
            self.bytes.as_ptr() as u64,
            self.positions.as_ptr() as u64,
        ];
        places
            .iter()
            .for_each(|it| bytes.extend_from_slice(&it.to_ne_bytes()));
    }
}

/// What is read; used again and again.
#[derive(Debug)]
pub struct Returns {
    bytes: [u8; READ_BYTES],
    size: usize,
    at: usize,
}

impl Default for Returns {
    fn default() -> Self {
        Self {
            bytes: [0; READ_BYTES],
            size: 0,
            at: 0,
        }
    }
}

impl Returns {
    /// Whether all of it was looked at.
    pub fn is_empty(&self) -> bool {
        self.at == self.size
    }

    fn read<const N: usize>(&mut self) -> Option<[u8; N]> {
        let found = *self.bytes[self.at..self.size].first_chunk()?;
        self.at += N;
        Some(found)
    }

    fn word(&mut self) -> Option<u32> {
        self.read().map(u32::from_ne_bytes)
    }

    fn long(&mut self) -> Option<u64> {
        self.read().map(u64::from_ne_bytes)
    }
}

/// `binder_write_read`.
#[repr(C)]
struct WriteRead {
    write_size: u64,
    write_consumed: u64,
    write_buffer: u64,
    read_size: u64,
    read_consumed: u64,
    read_buffer: u64,
}

/// See the module.
#[derive(Debug)]
pub struct Driver {
    fd: OwnedFd,
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the mapping stays until `drop`, and is read as atomics alone.
unsafe impl Send for Driver {}
// SAFETY: as above.
unsafe impl Sync for Driver {}

impl Driver {
    /// Opens the device, with room for so many bytes of calls that arrive: whole pages, at most
    /// 4 MiB.
    pub fn open(path: &Path, bytes: usize) -> Result<Self, DriverError> {
        assert!(
            bytes > 0 && bytes.is_multiple_of(page_bytes()),
            "whole pages"
        );
        let refused = |what, errno| DriverError::Refused {
            what,
            device: path.to_owned(),
            errno,
        };
        let name = CString::new(path.as_os_str().as_bytes())
            .map_err(|_| refused("open", Errno(libc::EINVAL)))?;
        let access = libc::O_RDWR | libc::O_CLOEXEC;
        // SAFETY: `name` ends with a zero byte; the kernel copies it.
        let raw = unsafe { libc::open(name.as_ptr(), access) };
        if raw == -1 {
            return Err(refused("open", Errno::last()));
        }
        // SAFETY: the kernel has just given this descriptor to us alone.
        let fd = unsafe { OwnedFd::from_raw_fd(raw) };
        let mut version = 0_i32;
        control(&fd, GET_VERSION, &mut version)
            .map_err(|errno| refused("ask for the version of", errno))?;
        if version != VERSION {
            return Err(DriverError::Version {
                device: path.to_owned(),
                version,
            });
        }
        let (none, kind) = (
            std::ptr::null_mut(),
            libc::MAP_PRIVATE | libc::MAP_NORESERVE,
        );
        // SAFETY: a new mapping at an address of the kernel's choice touches nothing that exists.
        let start = unsafe { libc::mmap(none, bytes, libc::PROT_READ, kind, raw, 0) };
        if start == libc::MAP_FAILED {
            return Err(refused("map the buffers of", Errno::last()));
        }
        let driver = Self {
            fd,
            start: NonNull::new(start.cast()).expect("mmap never maps page zero unasked"),
            bytes,
        };
        // No looper is started on the kernel's word.
        driver
            .control(SET_MAX_THREADS, &mut 0_u32)
            .map_err(|errno| refused("limit the threads of", errno))?;
        Ok(driver)
    }

    fn control<T>(&self, request: u32, value: &mut T) -> Result<(), Errno> {
        control(&self.fd, request, value)
    }

    /// The process that handle 0 of all others names. `object` is a flat object's flags.
    pub fn become_manager(&self, object: u32) -> Result<(), Errno> {
        let kind = u32::from_be_bytes(*b"sb*\x85");
        let mut flat = [kind, object, 0, 0, 0, 0];
        self.control(SET_CONTEXT_MGR_EXT, &mut flat)
    }

    /// Says what there is to say, nothing that is answered; does not sleep.
    pub fn tell(&self, commands: &mut Commands) -> Result<(), Errno> {
        if commands.bytes.is_empty() {
            return Ok(());
        }
        let outcome = self.talk(&commands.bytes, &mut []);
        commands.bytes.clear();
        outcome.map(drop)
    }

    /// Says what there is to say, sends, and sleeps until there is something to read. Signals do
    /// not end it.
    pub fn exchange(
        &self,
        commands: &mut Commands,
        outgoing: Option<Outgoing<'_>>,
        returns: &mut Returns,
    ) -> Result<(), Errno> {
        if let Some(outgoing) = outgoing {
            outgoing.write(&mut commands.bytes);
        }
        // What was not looked at yet stays in front.
        returns.bytes.copy_within(returns.at..returns.size, 0);
        (returns.at, returns.size) = (0, returns.size - returns.at);
        let outcome = self.talk(&commands.bytes, &mut returns.bytes[returns.size..]);
        commands.bytes.clear();
        returns.size += outcome?;
        Ok(())
    }

    fn talk(&self, said: &[u8], heard: &mut [u8]) -> Result<usize, Errno> {
        let mut talk = WriteRead {
            write_size: said.len() as u64,
            write_consumed: 0,
            write_buffer: said.as_ptr() as u64,
            read_size: heard.len() as u64,
            read_consumed: 0,
            read_buffer: heard.as_mut_ptr() as u64,
        };
        loop {
            // What was consumed is not said again.
            match self.control(WRITE_READ, &mut talk) {
                Ok(()) => break,
                Err(Errno(libc::EINTR)) => {}
                Err(errno) => return Err(errno),
            }
        }
        let size = usize::try_from(talk.read_consumed).unwrap_or(usize::MAX);
        if size > heard.len() {
            return Err(Errno(libc::EPROTO));
        }
        Ok(size)
    }

    /// The next thing that was read; `Err` where the kernel does not keep its own protocol.
    pub fn next(&self, returns: &mut Returns) -> Result<Option<Return>, Errno> {
        const FOREIGN: Errno = Errno(libc::EPROTO);
        while let Some(word) = returns.word() {
            // Node and cookie are the same number.
            let mut node = || {
                let pair = returns.long().zip(returns.long());
                pair.map(|it| it.0).ok_or(FOREIGN)
            };
            let found = match word {
                BR_TRANSACTION => Return::Call(self.incoming(returns).ok_or(FOREIGN)?),
                BR_REPLY => Return::Answer(self.incoming(returns).ok_or(FOREIGN)?),
                BR_TRANSACTION_COMPLETE => Return::Sent,
                BR_DEAD_REPLY => Return::Dead,
                BR_FAILED_REPLY | BR_FROZEN_REPLY => Return::Failed(self.last_error()),
                BR_INCREFS => Return::Weaken(node()?),
                BR_ACQUIRE => Return::Acquire(node()?),
                BR_RELEASE => Return::Release(node()?),
                BR_DECREFS => Return::Forget(node()?),
                BR_DEAD_BINDER => Return::Death(returns.long().ok_or(FOREIGN)?),
                BR_ERROR => return Err(Errno(-(returns.word().ok_or(FOREIGN)?.cast_signed()))),
                BR_CLEAR_DEATH_DONE => {
                    returns.long().ok_or(FOREIGN)?;
                    continue;
                }
                // BR_NOOP, BR_OK and others say nothing; each has its size in itself.
                _ => {
                    let size = (word >> 16 & 0x3fff) as usize;
                    returns.at = returns.at.saturating_add(size).min(returns.size);
                    continue;
                }
            };
            return Ok(Some(found));
        }
        Ok(None)
    }

    /// Why the thread's last transaction failed: kernels before 6.0 do not say.
    fn last_error(&self) -> i32 {
        let mut error = [0_i32; 3];
        match self.control(GET_EXTENDED_ERROR, &mut error) {
            Ok(()) => -error[2],
            Err(_) => 0,
        }
    }

    fn incoming(&self, returns: &mut Returns) -> Option<Incoming> {
        let (target, _cookie) = (returns.long()?, returns.long()?);
        let (code, flags) = (returns.word()?, returns.word()?);
        let (pid, uid) = (returns.word()?.cast_signed(), returns.word()?);
        let (size, positions_size) = (returns.long()?, returns.long()?);
        let (buffer, positions) = (returns.long()?, returns.long()?);
        let inside = |address: u64, size: u64| {
            let start = address.checked_sub(self.start.as_ptr() as u64)?;
            let is_inside = start.checked_add(size)? <= self.bytes as u64;
            (is_inside && start.is_multiple_of(8)).then_some(start as usize)
        };
        Some(Incoming {
            target,
            code,
            flags,
            pid,
            uid,
            start: inside(buffer, size)?,
            size: size as usize,
            positions: inside(positions, positions_size)?,
            count: (positions_size / 8) as usize,
        })
    }

    /// Copies what has arrived, and takes its descriptors: in the bytes each is named by its place
    /// among them. A position that cannot be is left to the reader, who refuses it.
    pub fn take(
        &self,
        incoming: Incoming,
        bytes: &mut Vec<u8>,
        positions: &mut Vec<u32>,
        fds: &mut Vec<OwnedFd>,
    ) -> Spent {
        bytes.resize(incoming.size, 0);
        self.read(incoming.start, bytes);
        positions.clear();
        fds.clear();
        let mut free = 0;
        for index in 0..incoming.count {
            let mut word = [0; 8];
            self.read(incoming.positions + index * 8, &mut word);
            let position = u64::from_ne_bytes(word);
            positions.push(u32::try_from(position).unwrap_or(u32::MAX));
            let end = position.saturating_add(FLAT_BYTES);
            if position < free || end > incoming.size as u64 {
                continue;
            }
            free = end;
            let at = position as usize;
            let number = |at: usize| bytes[at..].first_chunk().map(|it| u32::from_ne_bytes(*it));
            if number(at) != Some(KIND_FD) {
                continue;
            }
            let raw = number(at + 8).unwrap_or(u32::MAX).cast_signed();
            if raw < 0 {
                continue;
            }
            // SAFETY:
            // 1. The kernel has put this descriptor into our table for this very transaction; its
            //    buffer is written by the kernel alone, which has checked that it is an object.
            // 2. The transaction is consumed, and the object lies behind the one before it: nobody
            //    takes the descriptor twice.
            fds.push(unsafe { OwnedFd::from_raw_fd(raw) });
            let place = fds.len() as u64 - 1;
            bytes[at + 8..at + 16].copy_from_slice(&place.to_ne_bytes());
        }
        Spent(self.start.as_ptr() as u64 + incoming.start as u64)
    }

    /// Copies from the mapping, eight bytes at a time; buffers of the kernel are whole words.
    fn read(&self, start: usize, bytes: &mut [u8]) {
        assert!(start.is_multiple_of(8) && bytes.len() <= self.bytes - start.min(self.bytes));
        for (index, chunk) in bytes.chunks_mut(8).enumerate() {
            // SAFETY:
            // 1. The word lies inside the mapping, which is whole pages, and is aligned.
            // 2. It belongs to a buffer that the kernel has handed out and that was not given
            //    back, so its page is there. The kernel writes it no more.
            let word = unsafe {
                self.start
                    .add(start + index * 8)
                    .cast::<AtomicU64>()
                    .as_ref()
            };
            let word = word.load(Relaxed).to_ne_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }

    /// The calling thread has nothing to do with the device any more.
    pub fn leave_thread(&self) {
        // A thread that the kernel does not know is none that could stay.
        let _ = self.control(THREAD_EXIT, &mut 0_i32);
    }

    /// Wakes every thread that waits at the device, once.
    pub fn wake_all(&self) {
        // A descriptor that is closed makes the driver send its threads home; the device stays.
        drop(self.fd.try_clone());
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // SAFETY: the range is this mapping's own, and no borrow of it outlives `self`.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// One `ioctl`, whose request names the size of what it reads and writes.
fn control<T>(fd: &OwnedFd, request: u32, value: &mut T) -> Result<(), Errno> {
    assert_eq!((request >> 16 & 0x3fff) as usize, size_of::<T>());
    // SAFETY:
    // 1. `value` is exclusively ours, and as large as the request says.
    // 2. Addresses inside are slices that the callers in this file hold meanwhile; those that the
    //    kernel writes are exclusively borrowed.
    let returned = unsafe { libc::ioctl(fd.as_raw_fd(), request.into(), &raw mut *value) };
    Errno::check(returned.into()).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_the_kernels() {
        assert_eq!(WRITE_READ, 0xc030_6201);
        assert_eq!(BC_TRANSACTION, 0x4040_6300);
        assert_eq!(BC_ENTER_LOOPER, 0x0000_630c);
        assert_eq!(BC_REQUEST_DEATH, 0x400c_630e);
        assert_eq!(BR_REPLY, 0x8040_7203);
        assert_eq!(BR_FAILED_REPLY, 0x0000_7211);
    }

    #[test]
    fn a_file_that_is_no_device_is_refused() {
        for (device, what, advice) in [
            ("/dev/null", "version", "no device of Binder's driver"),
            ("/dev/none", "open", "modprobe binder_linux"),
            ("/dev/nu\0ll", "open", "no device of Binder's driver"),
        ] {
            let error = Driver::open(Path::new(device), page_bytes()).unwrap_err();
            let said = error.to_string();
            let is_named = said.contains(device) && said.contains(what);
            assert!(is_named && said.contains(advice), "{said}");
        }
    }

    /// Stands for a device: memory of this process's own that nobody unmaps twice.
    fn stand_in() -> Driver {
        let (none, bytes) = (std::ptr::null_mut(), page_bytes());
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping touches nothing that exists.
        let start = unsafe { libc::mmap(none, bytes, libc::PROT_READ, kind, -1, 0) };
        Driver {
            fd: std::fs::File::open("/dev/null").unwrap().into(),
            start: NonNull::new(start.cast()).unwrap(),
            bytes,
        }
    }

    fn transaction(
        driver: &Driver,
        start: u64,
        size: u64,
        positions_at: u64,
        count: u64,
    ) -> Returns {
        let mut returns = Returns::default();
        let mut bytes = BR_TRANSACTION.to_ne_bytes().to_vec();
        let base = driver.start.as_ptr() as u64;
        let at = |offset: u64| base.wrapping_add(offset);
        for word in [7, 7, 0, 0, size, count * 8, at(start), at(positions_at)] {
            bytes.extend_from_slice(&u64::to_ne_bytes(word));
        }
        returns.bytes[..bytes.len()].copy_from_slice(&bytes);
        returns.size = bytes.len();
        returns
    }

    #[test]
    fn what_lies_outside_the_mapping_is_refused() {
        let driver = stand_in();
        let page = page_bytes() as u64;
        let fits = transaction(&driver, 0, page, page, 0);
        let whole = |mut it: Returns| driver.next(&mut it);
        assert!(matches!(whole(fits), Ok(Some(Return::Call(it))) if it.target == 7));
        for (at, size, positions, count) in [
            (0, page + 1, 0, 0),
            (page, 1, 0, 0),
            (u64::MAX - 7, 8, 0, 0),
            (0, u64::MAX, 0, 0),
            (4, 8, 0, 0),
            (0, 8, page - 8, 2),
        ] {
            let found = whole(transaction(&driver, at, size, positions, count));
            assert_eq!(found.unwrap_err().0, libc::EPROTO);
        }
        let mut cut = transaction(&driver, 0, 8, 8, 0);
        cut.size -= 1;
        assert!(whole(cut).is_err());
    }
}
