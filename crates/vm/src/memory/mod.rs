// SPDX-License-Identifier: Apache-2.0
//! The low 4 GiB: reserving the spans of the address map, and class metadata.
//!
//! Metadata is handed out once and never taken back: classes are immortal.

pub(crate) mod directory;
pub(crate) mod hash;
pub(crate) mod sum;
pub(crate) mod symbol;
pub(crate) mod table;

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use abi::address_map::AddressMap;

/// What start-up could not get from the kernel.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReserveError {
    /// A span of the address map is taken or refused.
    #[error("cannot reserve {bytes} bytes at {start:#x} for {what}: {source}")]
    Span {
        /// What it was for.
        what: &'static str,
        /// Its start.
        start: u64,
        /// Its size.
        bytes: usize,
        /// What the kernel said.
        source: std::io::Error,
    },
}

static MAP: OnceLock<AddressMap> = OnceLock::new();
static METADATA_NEXT: AtomicU64 = AtomicU64::new(0);
/// Where the allocator began, if it has superpages.
static ALLOCATOR: AtomicU64 = AtomicU64::new(0);

/// The map chosen at start-up.
pub(crate) fn map() -> &'static AddressMap {
    MAP.get()
        .expect("the address map is planned before anything lies in it")
}

/// Maps zeroed memory at `start`, or anywhere for 0.
pub(crate) fn map_at(start: u64, bytes: usize, what: &'static str) -> Result<u64, ReserveError> {
    let fixed = if start == 0 {
        0
    } else {
        libc::MAP_FIXED_NOREPLACE
    };
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | fixed;
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: 1. A fresh anonymous mapping replaces nothing: MAP_FIXED_NOREPLACE or no address at
    // all.
    let at = unsafe { libc::mmap(start as *mut libc::c_void, bytes, access, flags, -1, 0) };
    if at == libc::MAP_FAILED || (start != 0 && at as u64 != start) {
        let source = std::io::Error::last_os_error();
        return Err(ReserveError::Span {
            what,
            start,
            bytes,
            source,
        });
    }
    Ok(at as u64)
}

/// Maps zeroed memory anywhere, and behind it `guard` bytes that nobody may touch.
pub(crate) fn map_guarded(
    bytes: usize,
    guard: usize,
    what: &'static str,
) -> Result<u64, ReserveError> {
    let start = map_at(0, bytes + guard, what)?;
    let end = (start + bytes as u64) as *mut libc::c_void;
    // SAFETY: 1. The range is the end of the mapping that was just made, and nobody knows it yet.
    let result = unsafe { libc::mprotect(end, guard, libc::PROT_NONE) };
    if result != 0 {
        let source = std::io::Error::last_os_error();
        unmap(start, bytes + guard);
        return Err(ReserveError::Span {
            what,
            start,
            bytes,
            source,
        });
    }
    Ok(start)
}

/// Has the kernel give superpages to where the allocator begins. Each process fills so much, and
/// its thousands of faults would take a twentieth of a start. Where there are none, all is as ever.
pub(crate) fn ask_for_superpages() {
    /// The allocator's segments begin at multiples of this.
    const SEGMENT_BYTES: u64 = 32 << 20;
    let some = Box::new(0_u64);
    let segment = (&raw const *some as u64) & !(SEGMENT_BYTES - 1);
    ALLOCATOR.store(segment, Ordering::Relaxed);
    advise_allocator(libc::MADV_HUGEPAGE);
}

/// From here on a page there that is touched first is a small one: to zero a huge one takes some
/// hundred microseconds, which no real-time thread has.
pub(crate) fn touch_small_pages() {
    advise_allocator(libc::MADV_NOHUGEPAGE);
}

fn advise_allocator(page_kind: i32) {
    /// Hello World fills 11 MB.
    const BYTES: usize = 10 << 20;
    let start = ALLOCATOR.load(Ordering::Relaxed);
    if start != 0 {
        // SAFETY: 1. Advice about page sizes changes no memory's contents, no matter whose it is.
        unsafe { libc::madvise(start as *mut libc::c_void, BYTES, page_kind) };
    }
}

/// The file that the code at `address` was loaded from, as the loader was told its path.
pub(crate) fn file_of(address: u64) -> Option<std::path::PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    let mut found = core::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: 1. Any address may be asked for; `found` is written if the answer is not 0. 2. The
    // name is the loader's own and stays while the file is loaded.
    let name = unsafe {
        if libc::dladdr(address as *const libc::c_void, found.as_mut_ptr()) == 0 {
            return None;
        }
        core::ffi::CStr::from_ptr(found.assume_init().dli_fname)
    };
    Some(std::ffi::OsStr::from_bytes(name.to_bytes()).into())
}

/// Maps a file for good, to be read only.
pub(crate) fn map_file(path: &std::path::Path) -> std::io::Result<&'static [u8]> {
    use std::os::fd::AsRawFd;
    let file = std::fs::File::open(path)?;
    let bytes = file.metadata()?.len() as usize;
    // SAFETY: 1. A fresh read-only mapping of an open file; it is never unmapped.
    // 2. The JDK's image does not change while it runs, as every JVM assumes; files of code never
    //    do.
    unsafe {
        let access = libc::PROT_READ;
        let fd = file.as_raw_fd();
        let at = libc::mmap(
            core::ptr::null_mut(),
            bytes,
            access,
            libc::MAP_PRIVATE,
            fd,
            0,
        );
        if at == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error());
        }
        Ok(core::slice::from_raw_parts(at as *const u8, bytes))
    }
}

/// What a file of code that was mapped for good says at `start`.
pub(crate) fn mapped(start: u64, bytes: usize) -> &'static [u8] {
    // SAFETY: 1. `code/space` maps regions for good, and its callers know how long the file is. 2.
    // What lies before the end
    // of a file of code never changes: its one writer adds behind it.
    unsafe { core::slice::from_raw_parts(start as *const u8, bytes) }
}

/// Gives back a mapping of [`map_at`] that nobody uses any more.
pub(crate) fn unmap(start: u64, bytes: usize) {
    // SAFETY: 1. The caller mapped it and lets go of it.
    unsafe { libc::munmap(start as *mut libc::c_void, bytes) };
}

/// Plans the map. The heap reserves its spans, class metadata among them.
pub(crate) fn start(heap_bytes: u64) -> Result<(), Box<dyn std::error::Error>> {
    let map = AddressMap::plan(heap_bytes, abi::address_map::CEILING)?;
    METADATA_NEXT.store(u64::from(map.metadata.start), Ordering::Relaxed);
    MAP.set(map)
        .map_err(|_| "the address map is planned once")?;
    Ok(())
}

/// Metadata behind which no class is begun: what classes take that several threads make at once,
/// and those that begin with an estimate of their interface tables.
const METADATA_RESERVE_BYTES: u64 = 4 << 20;

/// Whether there is metadata for a class that takes up to `bytes`. A full span is an
/// OutOfMemoryError of who asks.
pub(crate) fn has_metadata(bytes: u64) -> bool {
    let asked = crate::options::get().metadata_bytes_max;
    let whole = u64::from(map().metadata.end() - map().metadata.start);
    let usable = asked.unwrap_or(whole - METADATA_RESERVE_BYTES);
    metadata_bytes() + bytes <= usable
}

/// Zeroed, 16-byte aligned metadata.
///
/// # Panics
/// When the span is full: the maker of a class has asked [`has_metadata`].
pub(crate) fn metadata(bytes: usize) -> u64 {
    let bytes = bytes.next_multiple_of(16) as u64;
    let at = METADATA_NEXT.fetch_add(bytes, Ordering::Relaxed);
    assert!(
        at + bytes <= u64::from(map().metadata.end()),
        "class metadata span is full"
    );
    at
}

/// Bytes of metadata handed out.
pub(crate) fn metadata_bytes() -> u64 {
    METADATA_NEXT.load(Ordering::Relaxed) - u64::from(map().metadata.start)
}

/// Values that may lie in managed memory: any bit pattern is one.
pub(crate) trait Plain: Copy {}
impl Plain for u8 {}
impl Plain for i8 {}
impl Plain for u16 {}
impl Plain for i16 {}
impl Plain for u32 {}
impl Plain for i32 {}
impl Plain for u64 {}
impl Plain for i64 {}
impl Plain for f32 {}
impl Plain for f64 {}

/// Reads managed memory or metadata.
///
/// The machine's rule: an address comes from an object and one of its class's
/// offsets, from metadata, or from Java code that used `Unsafe` and answers for it.
#[inline]
pub(crate) fn read<T: Plain>(address: u64) -> T {
    // SAFETY: 1. Mapped and of the right type by the rule above.
    // 2. Unaligned reads are allowed; races give some bit pattern, and any is a T.
    unsafe { (address as *const T).read_unaligned() }
}

/// Reads a word of a stack that its thread may be writing; the rule of [`read`] holds.
#[inline]
pub(crate) fn read_volatile(address: u64) -> u32 {
    // SAFETY: 1. Stacks are mapped from the stack pointer to the base. 2. Aligned to 4 by the
    // caller.
    unsafe { (address as *const u32).read_volatile() }
}

/// Writes managed memory or metadata; the rule of [`read`] holds.
#[inline]
pub(crate) fn write<T: Plain>(address: u64, value: T) {
    // SAFETY: as in `read`; no Rust reference to managed memory exists.
    unsafe { (address as *mut T).write_unaligned(value) }
}

/// Copies `bytes`, overlapping or not; the rule of [`read`] holds for both ends.
pub(crate) fn copy(source: u64, target: u64, bytes: usize) {
    // SAFETY: as in `read`; `copy` allows overlap.
    unsafe { core::ptr::copy(source as *const u8, target as *mut u8, bytes) }
}

/// Fills `bytes`; the rule of [`read`] holds.
pub(crate) fn fill(target: u64, byte: u8, bytes: usize) {
    // SAFETY: as in `write`.
    unsafe { core::ptr::write_bytes(target as *mut u8, byte, bytes) }
}

/// Bytes copied out of managed memory.
pub(crate) fn bytes_at(source: u64, count: usize) -> Vec<u8> {
    let mut bytes = vec![0; count];
    copy(source, bytes.as_mut_ptr() as u64, count);
    bytes
}

/// The word at `address` as an atomic; the rule of [`read`] holds.
#[inline]
pub(crate) fn atomic_u32(address: u64) -> &'static core::sync::atomic::AtomicU32 {
    debug_assert!(address.is_multiple_of(4));
    // SAFETY: 1. Mapped for good: metadata and heap are never unmapped. 2. Aligned: offsets of
    // words are.
    unsafe { &*(address as *const core::sync::atomic::AtomicU32) }
}

/// The double word at `address` as an atomic; the rule of [`read`] holds.
#[inline]
pub(crate) fn atomic_u64(address: u64) -> &'static AtomicU64 {
    debug_assert!(address.is_multiple_of(8));
    // SAFETY: as in `atomic_u32`.
    unsafe { &*(address as *const AtomicU64) }
}

/// What unit tests of machine code run on.
#[cfg(test)]
pub(crate) mod testing {
    /// Some memory in the low 4 GiB, where objects lie.
    pub(crate) struct Low {
        start: u64,
    }

    impl Low {
        const BYTES: usize = 1 << 14;

        pub(crate) fn map() -> Self {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_32BIT;
            let access = libc::PROT_READ | libc::PROT_WRITE;
            // SAFETY: 1. A fresh mapping replaces nothing.
            let start =
                unsafe { libc::mmap(core::ptr::null_mut(), Self::BYTES, access, flags, -1, 0) };
            assert_ne!(start, libc::MAP_FAILED);
            Self {
                start: start as u64,
            }
        }

        pub(crate) fn at(&self, offset: usize) -> u64 {
            assert!(offset < Self::BYTES);
            self.start + offset as u64
        }

        pub(crate) fn clear(&self) {
            (0..Self::BYTES)
                .step_by(8)
                .for_each(|at| self.put(at, 0u64));
        }

        pub(crate) fn put<T: Copy>(&self, offset: usize, value: T) {
            assert!(offset + size_of::<T>() <= Self::BYTES);
            // SAFETY: 1. Inside the mapping, which one thread uses.
            unsafe { (self.at(offset) as *mut T).write_unaligned(value) }
        }

        pub(crate) fn get<T: super::Plain>(&self, offset: usize) -> T {
            super::read(self.at(offset))
        }
    }

    impl Drop for Low {
        fn drop(&mut self) {
            super::unmap(self.start, Self::BYTES);
        }
    }
}
