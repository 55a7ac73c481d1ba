// SPDX-License-Identifier: Apache-2.0
//! [`Waiting`]: what a thread waits for, as others see it.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::classes::object::ObjectRef;
use crate::threads::thread::Thread;

/// What a thread waits for now, and how often it has: for thread dumps and management.
#[derive(Default)]
pub(crate) struct Waiting {
    object: AtomicU32,
    blocked_count: AtomicU64,
    waited_count: AtomicU64,
}

impl Waiting {
    /// `thread` begins to wait for `object`, or for something else if that is null.
    pub(crate) fn begin(&self, thread: &Thread, object: ObjectRef, is_monitor: bool) {
        let count = match is_monitor {
            true => &self.blocked_count,
            false => &self.waited_count,
        };
        count.fetch_add(1, Ordering::Relaxed);
        self.set_object(thread, object);
    }

    pub(crate) fn end(&self, thread: &Thread) {
        self.set_object(thread, ObjectRef::NULL);
    }

    fn set_object(&self, thread: &Thread, object: ObjectRef) {
        let old = self.object().some();
        if let Some(old) = old {
            // Another thread may have read it behind its own scan.
            thread.with_mutator(|mutator| mutator.note_root(old.to_heap()));
        }
        self.object.store(object.0, Ordering::Release);
    }

    /// The object whose monitor or notification the thread waits for, or null. The thread holds it
    /// elsewhere.
    pub(crate) fn object(&self) -> ObjectRef {
        ObjectRef(self.object.load(Ordering::Acquire))
    }

    /// Times it waited for a monitor, and times it waited for something else.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let count = |of: &AtomicU64| of.load(Ordering::Relaxed);
        (count(&self.blocked_count), count(&self.waited_count))
    }
}
