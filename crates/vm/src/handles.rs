// SPDX-License-Identifier: Apache-2.0
//! JNI's global references: slots that the collector visits.
//!
//! A weak one is a slot with a `java.lang.ref.WeakReference` in it, and its handle has the lowest bit set.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::heap_binding;
use crate::lock::Lock;
use crate::object::ObjectRef;
use crate::thread::{Thread, Thrown};

/// Slots made at once.
const CHUNK_SLOTS: usize = 512;

/// The lowest bit of a weak handle.
pub(crate) const WEAK: u64 = 1;

struct Table {
    chunks: Vec<&'static [AtomicU64; CHUNK_SLOTS]>,
    free: Vec<&'static AtomicU64>,
}

/// The collector takes it as well: nobody may reach a safepoint while holding it, hence always `lock_bare`.
static TABLE: Lock<Table> = Lock::new(Table {
    chunks: Vec::new(),
    free: Vec::new(),
});

/// A new global reference; null for null.
pub(crate) fn new(thread: &Thread, object: ObjectRef) -> u64 {
    if object.is_null() {
        return 0;
    }
    thread.with_mutator(|mutator| mutator.note_root(heap_binding::to_heap(object)));
    let mut table = TABLE.lock_bare();
    if table.free.is_empty() {
        let chunk: &'static [AtomicU64; CHUNK_SLOTS] =
            Box::leak(Box::new([const { AtomicU64::new(0) }; CHUNK_SLOTS]));
        table.chunks.push(chunk);
        table.free.extend(chunk.iter().rev());
    }
    let slot = table.free.pop().expect("there are free slots now");
    slot.store(u64::from(object.0), Ordering::Release);
    core::ptr::from_ref(slot) as u64
}

/// A new weak global reference; null for null.
pub(crate) fn new_weak(thread: &Thread, object: ObjectRef) -> Result<u64, Thrown> {
    if object.is_null() {
        return Ok(0);
    }
    let class = thread.boot_class("java/lang/ref/WeakReference")?;
    let constructor = class.method_named("<init>", "(Ljava/lang/Object;)V");
    let reference = thread.new_instance(class, constructor, &[object.0.into()])?;
    Ok(new(thread, reference) | WEAK)
}

/// Gives a global reference up, weak or not.
pub(crate) fn free(handle: u64) {
    let mut table = TABLE.lock_bare();
    let address = handle & !WEAK;
    let chunk = table.chunks.iter().copied().find(|chunk| {
        let start = chunk.as_ptr() as u64;
        start <= address && address < start + (CHUNK_SLOTS * 8) as u64
    });
    let Some(chunk) = chunk else { return };
    let slot = &chunk[(address - chunk.as_ptr() as u64) as usize / 8];
    if slot.swap(0, Ordering::Relaxed) != 0 {
        table.free.push(slot);
    }
}

/// Strong and weak references that exist.
pub(crate) fn counts() -> (usize, usize) {
    let weak = crate::known::loaded("java/lang/ref/WeakReference");
    let mut counts = (0, 0);
    each(&mut |object| {
        // A weak handle's slot holds an object of exactly this class; few programs hand out one of their own.
        match weak.is_some_and(|weak| core::ptr::eq(object.class(), weak)) {
            false => counts.0 += 1,
            true => counts.1 += 1,
        }
    });
    counts
}

/// Calls `visit` with what every global reference holds. On the collector's thread.
pub(crate) fn each(visit: &mut dyn FnMut(ObjectRef)) {
    let table = TABLE.lock_bare();
    for slot in table.chunks.iter().flat_map(|chunk| chunk.iter()) {
        let object = ObjectRef(slot.load(Ordering::Acquire) as u32);
        if !object.is_null() {
            visit(object);
        }
    }
}
