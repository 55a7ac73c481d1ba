// SPDX-License-Identifier: Apache-2.0
//! Memory that two processes map: a sealed file without a name ([`Memfd`]), mapped to write
//! ([`Region`]) or to read ([`View`]).
//!
//! A file that is adopted from another process is looked at first: its size is the one agreed on
//! and sealed, and its pages are small ones. So no access behind its end can end this process.
//! What lies in it may change at any time: words are atomics, and bytes are copied out before
//! they are looked at.

use std::ffi::CStr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};

use crate::memory::page_bytes;
use crate::sync::{Event, Loan};
use crate::sys::Errno;
use crate::sys::futex::Shared;

/// Nobody makes the file smaller or larger.
const SIZE_SEALS: i32 = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW;

/// Why a file is not shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SharedError {
    /// The kernel refused.
    #[error("cannot {what}: {errno}")]
    Refused {
        /// What was to be done.
        what: &'static str,
        /// What the kernel said.
        errno: Errno,
    },
    /// What another process sent is not what was agreed on.
    #[error("a file of another process is not sealed, or has another size")]
    Foreign,
}

fn refused(what: &'static str) -> SharedError {
    SharedError::Refused {
        what,
        errno: Errno::last(),
    }
}

/// A file in memory, of a size that does not change.
#[derive(Debug)]
pub struct Memfd {
    fd: OwnedFd,
    bytes: usize,
}

impl Memfd {
    /// A new one, all zero. `bytes` are whole pages.
    pub fn new(name: &CStr, bytes: usize) -> Result<Self, SharedError> {
        assert!(
            bytes > 0 && bytes.is_multiple_of(page_bytes()),
            "whole pages"
        );
        let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
        // SAFETY: `name` ends with a zero byte; the kernel copies it.
        let raw = unsafe { libc::memfd_create(name.as_ptr(), flags) };
        if raw == -1 {
            return Err(refused("make a file in memory"));
        }
        // SAFETY: the kernel has just given this descriptor to us alone.
        let fd = unsafe { OwnedFd::from_raw_fd(raw) };
        // SAFETY: both calls take numbers alone, and the descriptor is ours.
        let sealed = unsafe {
            libc::ftruncate(raw, bytes as libc::off_t) == 0
                && libc::fcntl(raw, libc::F_ADD_SEALS, SIZE_SEALS) == 0
        };
        if !sealed {
            return Err(refused("seal a file's size"));
        }
        Ok(Self { fd, bytes })
    }

    /// One that another process sent, if it is what was agreed on.
    pub fn adopt(fd: OwnedFd, bytes: usize) -> Result<Self, SharedError> {
        let raw = fd.as_raw_fd();
        // SAFETY: F_GET_SEALS takes no argument; a file without seals is an error.
        let seals = unsafe { libc::fcntl(raw, libc::F_GET_SEALS) };
        let mut stat = std::mem::MaybeUninit::<libc::stat>::zeroed();
        // SAFETY: `stat` is writable; all-zero is a valid one in any case.
        let stat = unsafe {
            if libc::fstat(raw, stat.as_mut_ptr()) != 0 {
                return Err(SharedError::Foreign);
            }
            stat.assume_init()
        };
        let is_sealed = seals != -1 && seals & SIZE_SEALS == SIZE_SEALS;
        // A file of huge pages may have none when it is read.
        let has_small_pages = usize::try_from(stat.st_blksize) == Ok(page_bytes());
        if !is_sealed || !has_small_pages || usize::try_from(stat.st_size) != Ok(bytes) {
            return Err(SharedError::Foreign);
        }
        Ok(Self { fd, bytes })
    }

    /// No mapping to write is made from now on; those that are there stay. Nor is a seal added.
    pub fn seal_writes(&self) -> Result<(), SharedError> {
        let seals = libc::F_SEAL_FUTURE_WRITE | libc::F_SEAL_SEAL;
        // SAFETY: F_ADD_SEALS takes a number.
        match unsafe { libc::fcntl(self.fd.as_raw_fd(), libc::F_ADD_SEALS, seals) } {
            0 => Ok(()),
            _ => Err(refused("seal a file's bytes")),
        }
    }

    /// Maps it to read and write, every page faulted in.
    pub fn map(&self) -> Result<Region, SharedError> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let pages = Pages::map(self, access, &[libc::MADV_POPULATE_WRITE])?;
        Ok(Region(pages))
    }

    /// The same, in pages of 2 MiB where the kernel has them for shared memory
    /// (`transparent_hugepage/shmem_enabled` is `advise`, and the file has as much): no promise.
    pub fn map_large(&self) -> Result<Region, SharedError> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let advice = [libc::MADV_HUGEPAGE, libc::MADV_POPULATE_WRITE];
        Ok(Region(Pages::map(self, access, &advice)?))
    }

    /// Maps it to read alone, every page faulted in.
    pub fn map_to_read(&self) -> Result<View, SharedError> {
        let pages = Pages::map(self, libc::PROT_READ, &[libc::MADV_POPULATE_READ])?;
        Ok(View(pages))
    }
}

impl AsFd for Memfd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[derive(Debug)]
struct Pages {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the pages stay until `drop`, and are reached as atomics alone.
unsafe impl Send for Pages {}
// SAFETY: as above.
unsafe impl Sync for Pages {}

impl Pages {
    /// The last advice must be taken.
    fn map(file: &Memfd, access: i32, advice: &[i32]) -> Result<Self, SharedError> {
        let (none, raw) = (std::ptr::null_mut(), file.fd.as_raw_fd());
        // SAFETY: a new mapping at an address of the kernel's choice touches nothing that exists.
        let start = unsafe { libc::mmap(none, file.bytes, access, libc::MAP_SHARED, raw, 0) };
        if start == libc::MAP_FAILED {
            return Err(refused("map a shared file"));
        }
        let pages = Self {
            start: NonNull::new(start.cast()).expect("mmap never maps page zero unasked"),
            bytes: file.bytes,
        };
        let mut returned = 0;
        for it in advice {
            // SAFETY: the range is the mapping just made; neither the size of pages nor faulting in
            // changes content.
            returned = unsafe { libc::madvise(start, file.bytes, *it) };
        }
        match returned {
            0 => Ok(pages),
            _ => Err(refused("fault in a shared file")),
        }
    }

    /// The word at `offset`. Panics outside, and where none can lie: offsets are the program's.
    fn word<T: Word>(&self, offset: usize) -> &T {
        let is_inside = offset + size_of::<T>() <= self.bytes;
        assert!(
            is_inside && offset.is_multiple_of(align_of::<T>()),
            "no word lies at {offset}"
        );
        // SAFETY:
        // 1. The word lies inside the mapping, which stays as long as `self`, and is aligned.
        // 2. `Word`: every bit pattern is valid, and others may write it at any time.
        unsafe { self.start.add(offset).cast().as_ref() }
    }

    fn read(&self, offset: usize, bytes: &mut [u8]) {
        assert!(offset.is_multiple_of(8) && bytes.len() <= self.bytes - offset.min(self.bytes));
        for (index, chunk) in bytes.chunks_mut(8).enumerate() {
            let word = self.word::<AtomicU64>(offset + index * 8).load(Relaxed);
            chunk.copy_from_slice(&word.to_ne_bytes()[..chunk.len()]);
        }
    }

    fn write(&self, offset: usize, bytes: &[u8]) {
        assert!(offset.is_multiple_of(8) && bytes.len() <= self.bytes - offset.min(self.bytes));
        for (index, chunk) in bytes.chunks(8).enumerate() {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            let place = self.word::<AtomicU64>(offset + index * 8);
            place.store(u64::from_ne_bytes(word), Relaxed);
        }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: the range is this mapping's own, and no borrow of it outlives `self`.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// What may lie in shared memory: valid whatever the bits are, and reached atomically.
pub trait Word: sealed::Sealed {}
impl Word for AtomicU32 {}
impl Word for AtomicU64 {}
impl Word for Loan<Shared> {}
impl Word for Event<Shared> {}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::AtomicU32 {}
    impl Sealed for super::AtomicU64 {}
    impl Sealed for super::Loan<super::Shared> {}
    impl Sealed for super::Event<super::Shared> {}
}

/// A mapping to read and write.
#[derive(Debug)]
pub struct Region(Pages);

impl Region {
    /// The word at `offset`. Panics if none lies there.
    pub fn word<T: Word>(&self, offset: usize) -> &T {
        self.0.word(offset)
    }

    /// Copies bytes out, eight at a time. `offset` is a multiple of eight; panics outside.
    pub fn read(&self, offset: usize, bytes: &mut [u8]) {
        self.0.read(offset, bytes);
    }

    /// Copies bytes in, eight at a time: the last of them may be followed by zeros. `offset` is a
    /// multiple of eight; panics outside.
    pub fn write(&self, offset: usize, bytes: &[u8]) {
        self.0.write(offset, bytes);
    }
}

/// A mapping to read.
#[derive(Debug)]
pub struct View(Pages);

impl View {
    /// The value of the word at `offset`. Panics if none lies there.
    pub fn load(&self, offset: usize, order: std::sync::atomic::Ordering) -> u32 {
        self.0.word::<AtomicU32>(offset).load(order)
    }

    /// The value of the long word at `offset`. Panics if none lies there.
    pub fn load_long(&self, offset: usize, order: std::sync::atomic::Ordering) -> u64 {
        self.0.word::<AtomicU64>(offset).load(order)
    }

    /// As [`Region::read`].
    pub fn read(&self, offset: usize, bytes: &mut [u8]) {
        self.0.read(offset, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(count: usize) -> usize {
        count * page_bytes()
    }

    #[test]
    fn what_one_side_writes_the_other_reads() {
        let near = Memfd::new(c"near", pages(1)).unwrap();
        let region = near.map().unwrap();
        near.seal_writes().unwrap();
        let far = Memfd::adopt(near.as_fd().try_clone_to_owned().unwrap(), pages(1)).unwrap();
        let view = far.map_to_read().unwrap();
        region.write(8, b"eleven byte");
        let mut bytes = [0; 11];
        view.read(8, &mut bytes);
        assert_eq!(&bytes, b"eleven byte");
        region.word::<AtomicU32>(4).store(7, Relaxed);
        assert_eq!(view.load(4, Relaxed), 7);
        assert!(far.map().is_err(), "the other side cannot write");
    }

    #[test]
    fn a_foreign_file_must_be_sealed_small_and_of_the_size() {
        let file = Memfd::new(c"file", pages(2)).unwrap();
        let copy = || file.as_fd().try_clone_to_owned().unwrap();
        assert!(Memfd::adopt(copy(), pages(2)).is_ok());
        assert_eq!(
            Memfd::adopt(copy(), pages(1)).unwrap_err(),
            SharedError::Foreign
        );
        let plain = tempfile::tempfile().unwrap();
        plain.set_len(pages(1) as u64).unwrap();
        assert_eq!(
            Memfd::adopt(plain.into(), pages(1)).unwrap_err(),
            SharedError::Foreign
        );
    }

    #[test]
    #[should_panic(expected = "no word lies at 4096")]
    fn a_word_outside_is_a_programmers_error() {
        let file = Memfd::new(c"file", pages(1)).unwrap();
        let region = file.map().unwrap();
        region.word::<AtomicU32>(4096);
    }
}
