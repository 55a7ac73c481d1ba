// SPDX-License-Identifier: Apache-2.0
//! JNI's global references: slots that the collector visits.
//!
//! A weak one is a slot with a `java.lang.ref.WeakReference` in it, and its handle has the lowest
//! bit set.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::classes::object::ObjectRef;
use crate::memory;
use crate::memory::table::Table;
use crate::objects::heap_binding;
use crate::threads::thread::{Thread, Thrown};

/// The lowest bit of a weak handle.
pub(crate) const WEAK: u64 = 1;

/// A handle is its slot's address. The collector looks at the slots without the table's lock: what
/// becomes a root while it does is noted, and what it finds empty was a root of the thread that
/// gave it up.
static TABLE: Table<AtomicU64> = Table::new();

/// A new global reference; null for null.
pub(crate) fn new(thread: &Thread, object: ObjectRef) -> u64 {
    if object.is_null() {
        return 0;
    }
    thread.with_mutator(|mutator| mutator.note_root(object.to_heap()));
    if thread.ledger().is_none() {
        TABLE.prepare();
    }
    place(object)
}

fn place(object: ObjectRef) -> u64 {
    let slot = TABLE.at(TABLE.take());
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

/// Gives a global reference up, weak or not. What is none is left alone.
pub(crate) fn free(handle: u64) {
    let Some(index) = TABLE.index_of(handle & !WEAK) else {
        return;
    };
    if TABLE.at(index).swap(0, Ordering::Relaxed) != 0 {
        TABLE.give_back(index);
    }
}

/// Strong and weak references that exist.
pub(crate) fn counts() -> (usize, usize) {
    let weak = crate::classes::loader::loaded("java/lang/ref/WeakReference");
    let mut counts = (0, 0);
    each(&mut |object| {
        // A weak handle's slot holds an object of exactly this class; few programs hand out one of
        // their own.
        match weak.is_some_and(|weak| core::ptr::eq(object.class(), weak)) {
            false => counts.0 += 1,
            true => counts.1 += 1,
        }
    });
    counts
}

/// Calls `visit` with what every global reference holds, without a lock. On the collector's thread.
pub(crate) fn each(visit: &mut dyn FnMut(ObjectRef)) {
    for index in 0..TABLE.count() {
        let object = ObjectRef(TABLE.at(index).load(Ordering::Acquire) as u32);
        if !object.is_null() {
            visit(object);
        }
    }
}

impl Thread {
    /// The object behind any JNI reference.
    pub(crate) fn object_of(&self, reference: u64) -> ObjectRef {
        if reference == 0 {
            return ObjectRef::NULL;
        }
        let object = ObjectRef(memory::read(reference & !WEAK));
        if reference & WEAK == 0 || object.is_null() {
            return object;
        }
        heap_binding::read_referent(self, object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// While the collector looks at all of them, references come and go, and nobody waits for a
    /// lock.
    #[test]
    fn a_visit_holds_no_lock() {
        let handles: Vec<u64> = (1..=5000).map(|it| place(ObjectRef(it * 8))).collect();
        let mut seen = 0;
        each(&mut |object| {
            seen += 1;
            free(handles[object.0 as usize / 8 - 1] | WEAK);
            if seen == 1 {
                free(place(ObjectRef(8)));
            }
        });
        assert_eq!(seen, 5000);
        each(&mut |object| panic!("{:#x} was given up", object.0));
    }

    #[test]
    fn what_is_no_handle_is_left_alone() {
        let other = AtomicU64::new(7);
        free(core::ptr::from_ref(&other) as u64);
        assert_eq!(other.load(Ordering::Relaxed), 7);
        free(0);
    }
}
