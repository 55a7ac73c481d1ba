// SPDX-License-Identifier: Apache-2.0
//! Where `vm` meets the heap: allocation and the write barrier.
//!
//! TEMPORARY: this binding only bumps. Blocks of size-class cells are carved off
//! the heap span, nothing is ever reclaimed, and a full span is an
//! OutOfMemoryError. It keeps the contract of `abi::alloc`, so compiled code is
//! the same under the real heap; docs/compatibility.md says so to users.

use core::sync::atomic::{AtomicU64, Ordering};

use abi::alloc::{BLOCK_BYTES, SIZE_CLASSES, size_class};
use abi::context::MutatorContext;
use abi::object as header;

use crate::class::Class;
use crate::memory;
use crate::object::ObjectRef;
use crate::thread::{Thread, Thrown};

static NEXT: AtomicU64 = AtomicU64::new(0);

/// What `-version` and reports call it.
pub(crate) const NAME: &str = "bump-only heap (temporary: nothing is reclaimed)";

/// Reserves the heap span and the chunk log table.
pub(crate) fn start() -> Result<(), Box<dyn std::error::Error>> {
    let span = memory::map().heap;
    memory::reserve(span, "the heap")?;
    NEXT.store(u64::from(span.start), Ordering::Relaxed);
    let table_bytes = (1_usize << 32 >> header::CHUNK_SHIFT) * 4;
    let table = memory::map_at(0, table_bytes, "the chunk log")?;
    CHUNK_LOG.store(table, Ordering::Relaxed);
    Ok(())
}

static CHUNK_LOG: AtomicU64 = AtomicU64::new(0);

/// Prepares a thread's context: no collector, so every store is on the fast path.
pub(crate) fn attach(context: &MutatorContext) {
    context
        .fast_epoch
        .store(abi::barrier::EPOCH_CLEAN, Ordering::Relaxed);
    context
        .born
        .store(abi::barrier::LogWord::CLEAN.0, Ordering::Relaxed);
    context
        .chunk_log_base
        .store(CHUNK_LOG.load(Ordering::Relaxed), Ordering::Relaxed);
}

/// Bytes handed out so far.
pub(crate) fn used_bytes() -> u64 {
    NEXT.load(Ordering::Relaxed) - u64::from(memory::map().heap.start)
}

fn take(bytes: u64) -> Option<u32> {
    let end = u64::from(memory::map().heap.end());
    let mut next = NEXT.load(Ordering::Relaxed);
    loop {
        if next + bytes > end {
            return None;
        }
        match NEXT.compare_exchange_weak(next, next + bytes, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return Some(next as u32),
            Err(now) => next = now,
        }
    }
}

/// Zeroed cells for `bytes`, from the context's run of the size class.
fn cell(context: &MutatorContext, bytes: u32) -> Option<u32> {
    let Some(class) = size_class(bytes) else {
        return take(u64::from(bytes.next_multiple_of(header::CHUNK_BYTES)));
    };
    let (range, cell) = (&context.bump[class], SIZE_CLASSES[class]);
    let mut next = range.next.load(Ordering::Relaxed);
    if next + cell > range.limit.load(Ordering::Relaxed) {
        next = take(u64::from(BLOCK_BYTES))?;
        range.limit.store(next + BLOCK_BYTES, Ordering::Relaxed);
    }
    range.next.store(next + cell, Ordering::Relaxed);
    Some(next)
}

fn publish(object: ObjectRef, class: &'static Class, length: Option<u32>) {
    if let Some(length) = length {
        object.put(header::ARRAY_LENGTH_OFFSET, length);
    }
    memory::atomic_u32(object.at(header::CLASS_OFFSET)).store(class.address(), Ordering::Release);
}

/// A zeroed instance of a class that is not an array.
pub(crate) fn new_object(thread: &Thread, class: &'static Class) -> Result<ObjectRef, Thrown> {
    match cell(thread.context(), class.layout.bytes) {
        Some(at) => {
            publish(ObjectRef(at), class, None);
            Ok(ObjectRef(at))
        }
        None => Err(thread.throw_out_of_memory("Java heap space")),
    }
}

/// A class's statics object: `layout` is the address of its layout record.
pub(crate) fn new_statics(thread: &Thread, layout: u32) -> Result<ObjectRef, Thrown> {
    let bytes =
        memory::read(u64::from(layout) + core::mem::offset_of!(abi::layout::Layout, bytes) as u64);
    let Some(at) = cell(thread.context(), bytes) else {
        return Err(thread.throw_out_of_memory("Java heap space"));
    };
    memory::atomic_u32(u64::from(at)).store(layout, Ordering::Release);
    Ok(ObjectRef(at))
}

/// A zeroed array of `class`.
pub(crate) fn new_array(
    thread: &Thread,
    class: &'static Class,
    length: u32,
) -> Result<ObjectRef, Thrown> {
    let shift = u32::from(class.layout.element_shift);
    let bytes = header::array_bytes(length, shift);
    match bytes.and_then(|bytes| cell(thread.context(), bytes)) {
        Some(at) => {
            publish(ObjectRef(at), class, Some(length));
            Ok(ObjectRef(at))
        }
        None => Err(thread.throw_out_of_memory("Java heap space")),
    }
}

/// Before a reference is stored: nothing to do without a collector.
pub(crate) fn write_barrier(_object: ObjectRef, _slot: u64, _value: ObjectRef) {}
