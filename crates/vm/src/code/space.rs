// SPDX-License-Identifier: Apache-2.0
//! [`Span`]: where compiled code lies, and [`Region`]: a part of one that somebody writes.
//!
//! A region is a file mapped privately, to be read and executed, with a table of addresses behind
//! it. Code is written through the file's descriptor, so no page is ever writable and executable.
//! Code names what differs between processes by its table only, so the file's pages are shared.
//!
//! A region has one writer. A forked child writes regions of its own from then on, since its
//! parent's pages are behind the same descriptor.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use abi::address_map::{
    CODE_REGION_BYTES, CODE_REGION_CODE_BYTES, CODE_REGION_COUNT, CODE_SPAN_BYTES, CodeArea,
};
use compiler::CompiledCode;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::rand::{GetRandomFlags, getrandom};

use crate::code::cache::Code;
use crate::memory;
use crate::options;
use crate::sync::lock::Lock;

/// Code starts at multiples of this; the index has an entry for each.
pub(crate) const GRANULE_BYTES: u64 = 32;
const TABLE_BYTES: u64 = CODE_REGION_BYTES - CODE_REGION_CODE_BYTES;
/// Of a whole region.
const INDEX_BYTES: u64 = CODE_REGION_CODE_BYTES / GRANULE_BYTES * 8;

/// One span of code, of the area of the same place in `SPANS`.
pub(crate) struct Span {
    /// Zero while there is none.
    base: AtomicU64,
    regions: [Index; CODE_REGION_COUNT],
}

/// Which code covers each granule of a region.
struct Index {
    /// Where its entries are: each the address of a [`Code`] or 0. Untouched pages cost nothing.
    entries: AtomicU64,
    /// Bytes up to the end of the last code.
    end: AtomicU32,
    /// Its file system lets nothing be executed: code is copied from here.
    is_readable_only: AtomicBool,
}

static SPANS: [Span; 3] = [const { Span::new() }; 3];
/// Bytes of code that this process has put into place.
static USED_BYTES: AtomicU64 = AtomicU64::new(0);
/// Regions of the process's own span that have a file.
static OWN_REGIONS: AtomicU32 = AtomicU32::new(0);
/// Of those, what is kept for what is being made, and for stubs and adapters, which cannot be
/// refused.
const OWN_REGIONS_RESERVED: usize = 1;

impl Span {
    const fn new() -> Self {
        Self {
            base: AtomicU64::new(0),
            regions: [const {
                Index {
                    entries: AtomicU64::new(0),
                    end: AtomicU32::new(0),
                    is_readable_only: AtomicBool::new(false),
                }
            }; CODE_REGION_COUNT],
        }
    }

    /// Reserves the span of `area` at `base`.
    pub(crate) fn reserve(area: CodeArea, base: u64) -> io::Result<&'static Self> {
        assert!(area.may_start(base), "a span lies in its area");
        let span = &SPANS[area as usize];
        assert_eq!(span.base.load(Ordering::Relaxed), 0, "reserved once");
        let place = base as *mut libc::c_void;
        let how = libc::MAP_PRIVATE
            | libc::MAP_ANONYMOUS
            | libc::MAP_NORESERVE
            | libc::MAP_FIXED_NOREPLACE;
        // SAFETY: 1. A fresh mapping that replaces nothing.
        let found =
            unsafe { libc::mmap(place, CODE_SPAN_BYTES as usize, libc::PROT_NONE, how, -1, 0) };
        if found != place {
            return Err(io::Error::last_os_error());
        }
        // Pairs with Acquire in `find`.
        span.base.store(base, Ordering::Release);
        Ok(span)
    }

    fn start_of(&self, region: usize) -> u64 {
        self.base.load(Ordering::Relaxed) + region as u64 * CODE_REGION_BYTES
    }

    /// Maps a file of code as a region; without a file, anonymous memory.
    pub(crate) fn map(&self, region: usize, file: Option<&File>) -> io::Result<()> {
        if region >= CODE_REGION_COUNT || self.is_mapped(region) {
            return Err(io::Error::from(io::ErrorKind::AddrInUse));
        }
        let (start, index) = (self.start_of(region), &self.regions[region]);
        let access = libc::PROT_READ | libc::PROT_EXEC;
        if map_over(start, CODE_REGION_CODE_BYTES, access, file).is_err() {
            map_over(start, CODE_REGION_CODE_BYTES, libc::PROT_READ, file)?;
            index.is_readable_only.store(true, Ordering::Relaxed);
        }
        let table = start + CODE_REGION_CODE_BYTES;
        map_over(table, TABLE_BYTES, libc::PROT_READ | libc::PROT_WRITE, None)?;
        let entries = memory::map_at(0, INDEX_BYTES as usize, "the index of code")
            .map_err(io::Error::other)?;
        // Pairs with Acquire in `entry`.
        index.entries.store(entries, Ordering::Release);
        Ok(())
    }

    pub(crate) fn is_mapped(&self, region: usize) -> bool {
        self.regions[region].entries.load(Ordering::Acquire) != 0
    }

    /// Whether the code of a region that is mapped may run there.
    pub(crate) fn is_executable(&self, region: usize) -> bool {
        !self.regions[region]
            .is_readable_only
            .load(Ordering::Relaxed)
    }

    /// What is mapped in a region. The caller knows that the file is so long.
    pub(crate) fn code(&self, region: usize, offset: u32, bytes: u32) -> Option<&'static [u8]> {
        let end = u64::from(offset) + u64::from(bytes);
        let is_code = offset.is_multiple_of(GRANULE_BYTES as u32) && end < CODE_REGION_CODE_BYTES;
        (is_code && self.is_mapped(region))
            .then(|| memory::mapped(self.code_at(region, offset), bytes as usize))
    }

    /// Where code and addresses of a region are.
    pub(crate) fn room(&self, region: usize, offset: u32, slot: u32, count: u32) -> Option<Room> {
        let end = u64::from(slot) + u64::from(count);
        (end * 8 <= TABLE_BYTES).then(|| Room {
            code: self.code_at(region, offset),
            table: self.slot_at(region, slot),
        })
    }

    /// The address of offset `offset` in a region's code.
    fn code_at(&self, region: usize, offset: u32) -> u64 {
        self.start_of(region) + u64::from(offset)
    }

    /// The address of place `slot` in a region's table.
    fn slot_at(&self, region: usize, slot: u32) -> u64 {
        self.start_of(region) + CODE_REGION_CODE_BYTES + u64::from(slot) * 8
    }

    /// The entry for what covers the code at `offset` from the span's base.
    fn entry(&self, offset: u64) -> Option<&'static AtomicU64> {
        let region = &self.regions[(offset / CODE_REGION_BYTES) as usize];
        let offset = offset % CODE_REGION_BYTES;
        let entries = region.entries.load(Ordering::Acquire);
        let is_code = entries != 0 && offset < CODE_REGION_CODE_BYTES;
        is_code.then(|| memory::atomic_u64(entries + offset / GRANULE_BYTES * 8))
    }

    /// From the base to `address`, if that lies in the span.
    fn offset_of(&self, address: u64) -> Option<u64> {
        let base = self.base.load(Ordering::Acquire);
        let offset = address.checked_sub(base)?;
        (base != 0 && offset < CODE_SPAN_BYTES).then_some(offset)
    }
}

/// Maps over a part of a span that is reserved and not yet used.
fn map_over(start: u64, bytes: u64, access: i32, file: Option<&File>) -> io::Result<()> {
    let place = start as *mut libc::c_void;
    let how = libc::MAP_PRIVATE | libc::MAP_FIXED | libc::MAP_NORESERVE;
    let (how, fd) = match file {
        Some(file) => (how, file.as_raw_fd()),
        None => (how | libc::MAP_ANONYMOUS, -1),
    };
    // SAFETY: 1. The span is reserved and nobody else's; its writer maps each region once, under a
    // lock.
    match unsafe { libc::mmap(place, bytes as usize, access, how, fd, 0) } {
        libc::MAP_FAILED => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// What 64 bits of the system's random source say.
pub(crate) fn draw() -> io::Result<u64> {
    let mut bytes = [0; 8];
    match getrandom(&mut bytes, GetRandomFlags::empty())? {
        8 => Ok(u64::from_ne_bytes(bytes)),
        _ => Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
    }
}

/// Makes it known which code covers `bytes` from its start on.
pub(crate) fn publish(code: &'static Code, bytes: usize) {
    let (span, offset) = position(code.start).expect("code lies in a span");
    // The return address of a last call may be the end itself.
    let count = (bytes as u64 + 1).div_ceil(GRANULE_BYTES);
    for granule in 0..count {
        let Some(entry) = span.entry(offset + granule * GRANULE_BYTES) else {
            break;
        };
        // Pairs with Acquire in `find`: publishes the record.
        entry.store(core::ptr::from_ref(code) as u64, Ordering::Release);
    }
    let region = &span.regions[(offset / CODE_REGION_BYTES) as usize];
    let end = (offset % CODE_REGION_BYTES) as u32 + bytes as u32;
    region.end.fetch_max(end, Ordering::Relaxed);
    note_used(bytes);
}

/// Counts code that has its place.
pub(crate) fn note_used(bytes: usize) {
    USED_BYTES.fetch_add(bytes as u64, Ordering::Relaxed);
}

fn position(address: u64) -> Option<(&'static Span, u64)> {
    SPANS
        .iter()
        .find_map(|span| Some((span, span.offset_of(address)?)))
}

/// The code that `address` lies in. O(1), no lock.
pub(crate) fn find(address: u64) -> Option<&'static Code> {
    let (span, offset) = position(address)?;
    let code = span.entry(offset)?.load(Ordering::Acquire) as *const Code;
    // SAFETY: 1. Null or a leaked record: see `publish`.
    unsafe { code.as_ref() }
}

/// Runs `work` on every piece of code and its size, up to 31 bytes too much, in the order of their
/// addresses.
pub(crate) fn for_each(mut work: impl FnMut(&'static Code, u64)) {
    for span in &SPANS {
        for (region, index) in span.regions.iter().enumerate() {
            let start = span.start_of(region);
            let end = start + u64::from(index.end.load(Ordering::Relaxed));
            let mut at = start;
            while at < end {
                let first = at;
                at += GRANULE_BYTES;
                // Stubs lie between.
                let Some(code) = find(first) else { continue };
                while at < end && find(at).is_some_and(|next| core::ptr::eq(next, code)) {
                    at += GRANULE_BYTES;
                }
                work(code, at - first);
            }
        }
    }
}

/// Bytes of code so far.
pub(crate) fn used_bytes() -> u64 {
    USED_BYTES.load(Ordering::Relaxed)
}

/// Room for one piece of code and its addresses.
#[derive(Clone, Copy)]
pub(crate) struct Room {
    pub(crate) code: u64,
    pub(crate) table: u64,
}

impl Room {
    /// Fills the table: code at this place reads `addresses` from now on.
    pub(crate) fn fill(&self, addresses: &[u64]) {
        for (slot, &address) in addresses.iter().enumerate() {
            // Pairs with the Acquire by which the code's entry is read: nobody runs the code yet.
            memory::atomic_u64(self.table + slot as u64 * 8).store(address, Ordering::Release);
        }
    }
}

/// A region and the file behind it, while code is added.
pub(crate) struct Region {
    span: &'static Span,
    number: usize,
    file: File,
    /// What address is at the file's start: zero for memory by its own addresses.
    file_start: u64,
    code_next: u32,
    slot_next: u32,
    /// The process that may write it.
    owner: u32,
}

impl Region {
    /// To add code behind `code_next` bytes and `slot_next` addresses of a region that is mapped
    /// from `file`.
    pub(crate) fn of_file(
        span: &'static Span,
        number: usize,
        file: File,
        (code_next, slot_next): (u32, u32),
    ) -> Self {
        Self {
            span,
            number,
            file,
            file_start: span.start_of(number),
            code_next,
            slot_next,
            owner: std::process::id(),
        }
    }

    /// From the region's start to `room`: in its code, and in its table.
    pub(crate) fn offsets(&self, room: Room) -> (u32, u32) {
        let start = self.span.start_of(self.number);
        let slot = (room.table - self.span.slot_at(self.number, 0)) / 8;
        ((room.code - start) as u32, slot as u32)
    }

    pub(crate) fn is_executable(&self) -> bool {
        self.span.is_executable(self.number)
    }

    /// Whether the calling process is the one that writes here.
    pub(crate) fn is_own(&self) -> bool {
        self.owner == std::process::id()
    }

    /// Room for so much, unless the region is full.
    pub(crate) fn take(&mut self, code_bytes: usize, slot_count: usize) -> Option<Room> {
        let start = self.code_next.next_multiple_of(GRANULE_BYTES as u32);
        // The end counts as the last call's return address.
        let end = u64::from(start) + code_bytes as u64 + 1;
        let slots_end = u64::from(self.slot_next) + slot_count as u64;
        if end > CODE_REGION_CODE_BYTES || slots_end * 8 > TABLE_BYTES {
            return None;
        }
        let room = Room {
            code: self.span.code_at(self.number, start),
            table: self.span.slot_at(self.number, self.slot_next),
        };
        // So no granule belongs to two pieces, in whatever order they are published.
        self.code_next = end as u32;
        self.slot_next = slots_end as u32;
        Some(room)
    }

    /// Writes code that was linked for `room`. What was written must be what is mapped: some file
    /// systems keep the two apart.
    pub(crate) fn write(&self, room: Room, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, room.code - self.file_start)?;
        if memory::bytes_at(room.code, bytes.len()) != bytes {
            return Err(io::Error::other("what is mapped is not what was written"));
        }
        Ok(())
    }
}

/// The regions of this process's own span.
struct Own {
    span: Option<&'static Span>,
    taken_count: usize,
    current: Option<Region>,
}

static OWN: Lock<Own> = Lock::new(Own {
    span: None,
    taken_count: 0,
    current: None,
});

/// Attempts at a span whose place is free.
const ATTEMPTS_MAX: u32 = 8;

/// Reserves the span for code of this process alone.
pub(crate) fn start() -> io::Result<()> {
    let mut outcome = Err(io::Error::from(io::ErrorKind::AddrInUse));
    for _ in 0..ATTEMPTS_MAX {
        outcome = Span::reserve(CodeArea::Process, CodeArea::Process.base(draw()?));
        if outcome.is_ok() {
            break;
        }
    }
    OWN.lock().span = Some(outcome?);
    Ok(())
}

/// No room for more code.
#[derive(Debug)]
pub(crate) struct NoRoom(io::Error);

impl core::fmt::Display for NoRoom {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "no room for compiled code: {}", self.0)
    }
}

/// Puts code that only this process has where it can run.
pub(crate) fn install(code: &mut CompiledCode, addresses: &[u64]) -> Result<Room, NoRoom> {
    OWN.lock().add(code, addresses).map_err(NoRoom)
}

/// Lets go of the file that this process writes, before it is copied: who has a file can change
/// what others run. New code goes to a new one.
pub(crate) fn close() {
    OWN.lock().current = None;
}

/// Whether only the reserve is left of the process's own span.
pub(crate) fn is_own_span_full() -> bool {
    OWN_REGIONS.load(Ordering::Relaxed) as usize > CODE_REGION_COUNT - OWN_REGIONS_RESERVED
}

impl Own {
    fn add(&mut self, code: &mut CompiledCode, addresses: &[u64]) -> io::Result<Room> {
        let region = self.current.as_mut().filter(|region| region.is_own());
        let room = region.and_then(|region| region.take(code.bytes.len(), addresses.len()));
        let room = match room {
            Some(room) => room,
            None => {
                self.open()?;
                let region = self.current.as_mut().expect("just opened");
                let room = region.take(code.bytes.len(), addresses.len());
                room.ok_or_else(|| io::Error::from(io::ErrorKind::FileTooLarge))?
            }
        };
        code.link(room.code, room.table);
        room.fill(addresses);
        let region = self.current.as_ref().expect("room was taken there");
        region.write(room, &code.bytes)?;
        Ok(room)
    }

    fn open(&mut self) -> io::Result<()> {
        let span = self.span.expect("started");
        let number = self.taken_count;
        if number == CODE_REGION_COUNT {
            return Err(io::Error::from(io::ErrorKind::StorageFull));
        }
        self.taken_count += 1;
        OWN_REGIONS.store(self.taken_count as u32, Ordering::Relaxed);
        // perf looks for names of compiled code in anonymous memory only.
        let region = if options::get().is_perf_mapped {
            span.map(number, None)?;
            let file = File::options().write(true).open("/proc/self/mem")?;
            let mut region = Region::of_file(span, number, file, (0, 0));
            region.file_start = 0;
            region
        } else {
            let file = unnamed_file()?;
            span.map(number, Some(&file))?;
            Region::of_file(span, number, file, (0, 0))
        };
        self.current = Some(region);
        Ok(())
    }
}

/// A file in memory that has no name, as long as a region.
fn unnamed_file() -> io::Result<File> {
    // Kernels before 6.3 do not know the flag, and those after it may ask for it.
    let flags = MemfdFlags::CLOEXEC;
    let fd = memfd_create("takt-code", flags | MemfdFlags::EXEC)
        .or_else(|_| memfd_create("takt-code", flags))?;
    let file = File::from(fd);
    file.set_len(CODE_REGION_CODE_BYTES)?;
    Ok(file)
}
