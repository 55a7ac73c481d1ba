// SPDX-License-Identifier: Apache-2.0
//! The guard of real-time sections: what is forbidden inside an [`RtSection`] is noticed when it
//! happens.
//!
//! Forbidden are allocation, where the program installed [`GuardedAllocator`], and calls of this
//! crate that may block: each says so to [`blocking`]. A debug build panics, a release build counts
//! ([`breaches`]) and goes on. Outside sections the price is one thread-local load.
//!
//! [`RtSection`]: crate::section::RtSection

use std::alloc::{GlobalAlloc, Layout, System};
use std::backtrace::Backtrace;
use std::cell::Cell;
use std::panic::Location;
use std::sync::atomic::{AtomicU64, Ordering};

thread_local! {
    // None of these has a destructor: reading them allocates nothing, also inside the allocator.
    /// Sections that the thread is in, one inside the other.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    /// Where the outermost one was entered.
    static ENTERED: Cell<Option<&'static Location<'static>>> = const { Cell::new(None) };
    /// The first allocation in it, to be reported where unwinding is allowed.
    static ALLOCATED: Cell<Option<&'static str>> = const { Cell::new(None) };
}

static ALLOCATION_COUNT: AtomicU64 = AtomicU64::new(0);
static BLOCKING_COUNT: AtomicU64 = AtomicU64::new(0);

/// What this process did inside sections though it must not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Breaches {
    /// Allocations, reallocations and deallocations.
    pub allocation_count: u64,
    /// Calls that may block.
    pub blocking_count: u64,
}

/// Breaches of all threads so far.
pub fn breaches() -> Breaches {
    Breaches {
        allocation_count: ALLOCATION_COUNT.load(Ordering::Relaxed),
        blocking_count: BLOCKING_COUNT.load(Ordering::Relaxed),
    }
}

/// Whether the calling thread is in a section.
pub fn is_in_section() -> bool {
    DEPTH.get() > 0
}

/// Called by whatever may block, before it does. Inside a section: panics in a debug build, else
/// counts.
#[inline]
#[track_caller]
pub fn blocking(what: &'static str) {
    if is_in_section() {
        blocking_slow(what);
    }
}

#[cold]
#[track_caller]
fn blocking_slow(what: &'static str) {
    // An unwinding section may wait in a destructor; a second panic would end the process and hide
    // the first.
    if std::thread::panicking() {
        return;
    }
    BLOCKING_COUNT.fetch_add(1, Ordering::Relaxed);
    if cfg!(debug_assertions) {
        let entered = ENTERED.get();
        // The panic itself allocates.
        let _outside = Suspended::new();
        match entered {
            Some(place) => panic!("{what} may block, inside the RtSection entered at {place}"),
            None => panic!("{what} may block, inside an RtSection"),
        }
    }
}

/// A section's mark on its thread.
pub(crate) struct Mark(());

impl Mark {
    #[track_caller]
    pub(crate) fn set() -> Self {
        let depth = DEPTH.get();
        if depth == 0 {
            ENTERED.set(Some(Location::caller()));
        }
        DEPTH.set(depth + 1);
        Self(())
    }
}

impl Drop for Mark {
    /// Reports an allocation inside the section, now that a panic may unwind.
    fn drop(&mut self) {
        let depth = DEPTH.get() - 1;
        DEPTH.set(depth);
        if depth == 0
            && let Some(report) = ALLOCATED.take()
            && !std::thread::panicking()
        {
            panic!("{report}");
        }
    }
}

/// Lifts the mark while a report is made.
struct Suspended {
    depth: u32,
}

impl Suspended {
    fn new() -> Self {
        Self {
            depth: DEPTH.replace(0),
        }
    }
}

impl Drop for Suspended {
    fn drop(&mut self) {
        DEPTH.set(self.depth);
    }
}

/// An allocator that notices calls inside sections and passes them on. A program installs it:
///
/// ```
/// #[global_allocator]
/// static ALLOCATOR: rt::guard::GuardedAllocator = rt::guard::GuardedAllocator::system();
/// # fn main() {}
/// ```
///
/// The contract of `GlobalAlloc` forbids it to unwind, so in a debug build the panic comes when the
/// section is left; its message holds the backtrace of the first allocation. Later ones in the same
/// section are only counted.
#[derive(Debug)]
pub struct GuardedAllocator<A = System> {
    inner: A,
}

impl GuardedAllocator {
    /// Over the system's allocator.
    pub const fn system() -> Self {
        Self { inner: System }
    }
}

impl<A> GuardedAllocator<A> {
    /// Over another allocator.
    pub const fn new(inner: A) -> Self {
        Self { inner }
    }
}

// SAFETY: each call goes to the inner allocator unchanged, whose contract is the same; `noticed`
// does not unwind.
unsafe impl<A: GlobalAlloc> GlobalAlloc for GuardedAllocator<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        noticed("allocation", layout.size());
        // SAFETY: the caller's obligations are the inner allocator's.
        unsafe { self.inner.alloc(layout) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        noticed("deallocation", layout.size());
        // SAFETY: as in `alloc`.
        unsafe { self.inner.dealloc(start, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        noticed("allocation", layout.size());
        // SAFETY: as in `alloc`.
        unsafe { self.inner.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        noticed("reallocation", size);
        // SAFETY: as in `alloc`.
        unsafe { self.inner.realloc(start, layout, size) }
    }
}

#[inline]
fn noticed(what: &'static str, bytes: usize) {
    if is_in_section() {
        noticed_slow(what, bytes);
    }
}

#[cold]
fn noticed_slow(what: &'static str, bytes: usize) {
    // A panic on its way out of the section allocates, perhaps while the backtrace lock is held.
    if std::thread::panicking() {
        return;
    }
    ALLOCATION_COUNT.fetch_add(1, Ordering::Relaxed);
    if cfg!(debug_assertions) && ALLOCATED.get().is_none() {
        let _outside = Suspended::new();
        let backtrace = Backtrace::force_capture();
        let entered = ENTERED
            .get()
            .map_or_else(String::new, |it| format!(" entered at {it}"));
        let report = format!("{what} of {bytes} bytes inside the RtSection{entered}:\n{backtrace}");
        // Leaked, one per panic of a debug build: a thread-local with a destructor would allocate
        // when first read.
        ALLOCATED.set(Some(report.leak()));
    }
}
