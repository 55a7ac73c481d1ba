// SPDX-License-Identifier: Apache-2.0
//! Where `vm` meets the heap: starting it, allocation, the write barrier, safepoints.
//!
//! What is a root stands in [`crate::objects::roots`]. A thread is in *managed* state while it may
//! touch objects, compiled or Rust code alike, and in *native* state while it runs foreign code or
//! waits: see [`Managed`] and [`Thread::outside`]. Neighbours: `heap`, which knows no class.

use core::sync::atomic::Ordering;
use std::sync::OnceLock;

use abi::object as header;
use heap::{AllocSite, CopyRange, HeapConfig, LayoutRef, Mutator, OutOfMemory, Running};
use rt::policy::Policy;

use crate::classes::class::Class;
use crate::classes::known::known;
use crate::classes::object::ObjectRef;
use crate::console;
use crate::memory;
use crate::objects::roots::Roots;
use crate::options;
use crate::threads::thread::{self, Holds, Thread, Thrown};

/// HotSpot's limit, which the class library knows: two less than the largest int.
const ARRAY_LENGTH_MAX: u32 = i32::MAX as u32 - 2;

const LARGE_PAGE_BYTES: u64 = 2 << 20;

static HEAP: OnceLock<Running> = OnceLock::new();

/// The heap of this process.
pub(crate) fn heap() -> &'static Running {
    HEAP.get().expect("the heap starts before any thread")
}

/// Reserves the heap's spans and starts its collector, which calls `sweep` after each collection.
pub(crate) fn start(sweep: fn()) -> Result<(), Box<dyn std::error::Error>> {
    let options = options::get();
    let mut config = HeapConfig::new(*memory::map(), options.collector);
    if let Some(bytes) = options.heap_bytes_start {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        config.heap_bytes_start = bytes.min(config.map.heap.bytes);
    }
    config.is_locked = options.is_heap_touched || options.is_real_time;
    // A copy of a template would want as many pages again, and be ended where there are none.
    config.wants_reserved_pages = options.has_large_pages && !options.is_template;
    // Below every real-time thread and above all others: it keeps up with what those allocate.
    config.collector_policy = options.is_real_time.then_some(Policy::fifo(1));
    // In a template each copy begins its own.
    let start = match options.is_template {
        true => Running::reserve,
        false => Running::start,
    };
    let running = match start(config.clone(), Box::new(Roots { sweep })) {
        Err(error) if config.is_locked => {
            crate::console::warn(&format!("real time is not granted to the heap: {error}"));
            config.is_locked = false;
            config.collector_policy = None;
            start(config, Box::new(Roots { sweep }))?
        }
        started => started?,
    };
    if options.has_large_pages && !running.has_reserved_pages() {
        crate::console::warn(&without_large_pages(options));
    }
    if options.is_template {
        // A page that a copy writes to is copied, or made zero: no more of it than it needs.
        running.expect_real_time();
    }
    if options::android::is_given(options) {
        // Who calls from another process may be a real-time thread.
        running.grow_at_once();
    }
    HEAP.set(running).map_err(|_| "the heap starts once")?;
    Ok(())
}

fn without_large_pages(options: &options::Options) -> String {
    let why = match options.is_template {
        true => "the copies of a template would need as many again".to_owned(),
        false => format!(
            "the kernel has not {} pages of 2 MiB reserved for the heap \
             (/proc/sys/vm/nr_hugepages, -Xmx)",
            options.heap_bytes_max.div_ceil(LARGE_PAGE_BYTES)
        ),
    };
    format!("-XX:+UseLargePages: {why}: it asks for transparent ones")
}

/// Bytes in blocks that hold objects now.
pub(crate) fn used_bytes() -> u64 {
    let (free, committed) = heap().free_and_committed_bytes();
    committed - free.min(committed)
}

/// Bytes that a thread has allocated, to the run of cells.
pub(crate) fn taken_bytes(thread: &Thread) -> Option<u64> {
    let address = core::ptr::from_ref(thread) as u64;
    heap().taken_bytes(|context| context.thread.load(Ordering::Relaxed) == address)
}

/// Bytes that the heap has taken from the system so far.
pub(crate) fn committed_bytes() -> u64 {
    heap().free_and_committed_bytes().1
}

pub(crate) fn layout_at(address: u32) -> LayoutRef {
    // SAFETY: 1. Class records and layouts of class objects begin with a `Layout`, are immortal and
    // do not change.
    unsafe { LayoutRef::from_address(address) }
}

fn checked(
    thread: &Thread,
    holds: Holds,
    outcome: Result<heap::ObjectRef, OutOfMemory>,
) -> Result<ObjectRef, Thrown> {
    match outcome {
        Ok(object) => Ok(ObjectRef(object.bits())),
        Err(_) => Err(thread.throw_out_of_memory_holding(holds, "Java heap space")),
    }
}

/// A zeroed instance of a class that is not an array. A safepoint, as all that allocates.
pub(crate) fn new_object(thread: &Thread, class: &'static Class) -> Result<ObjectRef, Thrown> {
    new_fields(thread, AllocSite::fields(layout_at(class.address())))
}

/// As [`new_object`], for compiled code: it keeps what it holds in its own frame.
pub(crate) fn new_object_for_managed(
    thread: &Thread,
    class: &'static Class,
) -> Result<ObjectRef, Thrown> {
    new_object_holding(thread, Holds::Nothing, class)
}

/// As [`new_object`]; `holds` says what Rust frames up to the last managed one hold meanwhile.
pub(crate) fn new_object_holding(
    thread: &Thread,
    holds: Holds,
    class: &'static Class,
) -> Result<ObjectRef, Thrown> {
    let site = AllocSite::fields(layout_at(class.address()));
    let alloc = |mutator: &mut Mutator| mutator.alloc(site);
    let outcome = match holds {
        Holds::Any => thread.at_safepoint(alloc),
        Holds::Nothing => thread.at_managed_safepoint(alloc),
    };
    checked(thread, holds, outcome)
}

/// A class object, with room for static fields if the record of such a layout is at `own`, not 0.
pub(crate) fn new_mirror(thread: &Thread, own: u32) -> Result<ObjectRef, Thrown> {
    let known = known();
    let class = layout_at(known.class.address());
    if own == 0 {
        return new_fields(thread, AllocSite::fields(class));
    }
    let mirror = new_fields(thread, AllocSite::with_own(class, layout_at(own)))?;
    mirror.put(known.mirror_layout, own);
    Ok(mirror)
}

fn new_fields(thread: &Thread, site: AllocSite) -> Result<ObjectRef, Thrown> {
    let outcome = thread.at_safepoint(|mutator| mutator.alloc(site));
    checked(thread, Holds::Any, outcome)
}

/// A zeroed array of `class`.
pub(crate) fn new_array(
    thread: &Thread,
    class: &'static Class,
    length: u32,
) -> Result<ObjectRef, Thrown> {
    new_array_holding(thread, Holds::Any, class, length)
}

/// As [`new_array`], for compiled code: it keeps what it holds in its own frame.
pub(crate) fn new_array_for_managed(
    thread: &Thread,
    class: &'static Class,
    length: u32,
) -> Result<ObjectRef, Thrown> {
    new_array_holding(thread, Holds::Nothing, class, length)
}

/// As [`new_object_holding`], for arrays.
pub(crate) fn new_array_holding(
    thread: &Thread,
    holds: Holds,
    class: &'static Class,
    length: u32,
) -> Result<ObjectRef, Thrown> {
    if length > ARRAY_LENGTH_MAX {
        return Err(thread.throw_out_of_memory("Requested array size exceeds VM limit"));
    }
    let layout = layout_at(class.address());
    let alloc = |mutator: &mut Mutator| mutator.alloc_array(layout, length);
    let outcome = match holds {
        Holds::Any => thread.at_safepoint(alloc),
        Holds::Nothing => thread.at_managed_safepoint(alloc),
    };
    checked(thread, holds, outcome)
}

/// Before `value` is stored at the address `slot` in `object`, by the calling thread.
pub(crate) fn write_barrier(object: ObjectRef, slot: u64, value: ObjectRef) {
    let thread = thread::current().expect("only attached threads store references");
    write_barrier_by(thread, object, slot, value);
}

/// As [`write_barrier`], for a thread that is at hand.
pub(crate) fn write_barrier_by(thread: &Thread, object: ObjectRef, slot: u64, value: ObjectRef) {
    if object.is_null() || is_recorded(thread, object) {
        return;
    }
    let holder = object.to_heap();
    let slot = holder.slot((slot as u32).wrapping_sub(object.0));
    thread.with_mutator(|mutator| mutator.write_slow(holder, slot, value.to_heap()));
}

/// The fast path: nothing is to be recorded. Never so for an object with a log word per chunk,
/// unless nothing ever is.
fn is_recorded(thread: &Thread, object: ObjectRef) -> bool {
    let epoch: u8 = object.get(header::LOG_OFFSET);
    epoch == thread.context().fast_epoch.load(Ordering::Relaxed)
}

/// Copies a piece of a range of references from array to array; the caller has checked types and
/// ends.
pub(crate) fn copy_piece(thread: &Thread, source: ObjectRef, target: ObjectRef, piece: CopyRange) {
    thread.with_mutator(|mutator| mutator.copy_piece(source.to_heap(), target.to_heap(), piece));
}

/// Keeps `object` alive for ever: a class, what belongs to a class, an interned string.
pub(crate) fn keep(object: ObjectRef) {
    if object.is_null() {
        return;
    }
    let thread = thread::current().expect("only attached threads hold references");
    thread.with_mutator(|mutator| mutator.add_global(object.to_heap()));
}

/// As [`keep`], for a word that may be a primitive value.
pub(crate) fn keep_word(word: u64) {
    let found = u32::try_from(word)
        .ok()
        .and_then(|bits| heap().object_at(bits));
    if let Some(object) = found.filter(|object| u64::from(object.bits()) == word) {
        keep(ObjectRef(object.bits()));
    }
}

/// A safepoint: answers the collector if it asks.
pub(crate) fn poll(thread: &Thread) {
    if thread.context().poll.load(Ordering::Relaxed) != abi::poll::POLL_IDLE {
        thread.at_safepoint(Mutator::poll);
    }
}

/// As [`poll`], called by compiled code: it keeps what it holds in its own frame.
pub(crate) fn poll_of_managed(thread: &Thread) {
    thread.at_managed_safepoint(Mutator::poll);
}

/// `Reference.get`: null once the collector has given the referent up.
pub(crate) fn read_referent(thread: &Thread, reference: ObjectRef) -> ObjectRef {
    let referent = thread.with_mutator(|mutator| mutator.read_referent(reference.to_heap()));
    ObjectRef(referent.bits())
}

/// The constructor of `Reference`.
pub(crate) fn write_referent(thread: &Thread, reference: ObjectRef, referent: ObjectRef) {
    thread.with_mutator(|mutator| {
        mutator.write_referent(reference.to_heap(), referent.to_heap());
    });
}

/// `Reference.clear`.
pub(crate) fn clear_referent(thread: &Thread, reference: ObjectRef) {
    thread.with_mutator(|mutator| mutator.clear_referent(reference.to_heap()));
}

/// A reference object whose referent is gone, for the reference handler.
pub(crate) fn take_pending_reference(thread: &Thread) -> Option<ObjectRef> {
    let reference = thread.with_mutator(Mutator::take_pending_reference)?;
    Some(ObjectRef(reference.bits()))
}

/// `System.gc`, called by native code, which holds local references only: what managed frames hold
/// is kept, no more.
pub(crate) fn collect(thread: &Thread) {
    thread.at_managed_safepoint(Mutator::collect_kept_soft);
}

/// Has the heap checked with every thread held, and ends the process if something is wrong.
pub(crate) fn verify(thread: &Thread) {
    let verdict = thread.at_safepoint(Mutator::verify);
    if !verdict.faults.is_empty() {
        crate::console::fatal(&format!("the heap is out of order: {:#?}", verdict.faults));
    }
    verified(&verdict);
}

/// What the heap's verifier found in order, for `-Xtakt:verify`.
fn verified(verdict: &heap::Verdict) {
    if options::get().is_reporting {
        console::note(&format!(
            "heap verified: {} objects, {} reachable, {} with stuck counts",
            verdict.objects, verdict.reachable, verdict.stuck
        ));
    }
}

impl ObjectRef {
    pub(crate) fn put_ref(self, offset: u32, value: ObjectRef) {
        write_barrier(self, self.at(offset), value);
        memory::atomic_u32(self.at(offset)).store(value.0, Ordering::Release);
    }

    pub(crate) fn set_ref_element(self, index: u32, value: ObjectRef) {
        debug_assert!(index < self.length());
        self.put_ref(
            header::ARRAY_ELEMENTS_OFFSET + index * header::REFERENCE_BYTES,
            value,
        );
    }
}
