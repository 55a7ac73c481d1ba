// SPDX-License-Identifier: Apache-2.0
//! Local references: those of JNI, and those by which Rust code holds objects.
//!
//! Each thread has an area of its own for them, which the collector scans.

use compiler::machine_word;

use crate::classes::object::ObjectRef;
use crate::memory;
use crate::threads::thread::{Thread, Thrown};

/// Bytes for local references, 8 each: 16 times what HotSpot lets native code ask for. Only those
/// used take memory.
pub(crate) const LOCALS_BYTES: usize = 8 << 20;
/// Of these, what is left for the machine's own and for making the error about the others.
pub(crate) const LOCALS_RESERVE_BYTES: usize = 256 << 10;
/// Behind them, where nothing may be touched.
pub(crate) const LOCALS_GUARD_BYTES: usize = 4096;

impl Thread {
    /// A new local reference, or null for null. Null as well, with an OutOfMemoryError pending, if
    /// there is no room.
    #[inline]
    pub(crate) fn new_local(&self, object: ObjectRef) -> u64 {
        if object.is_null() {
            return 0;
        }
        if !self.has_room_for_locals(1) {
            let _ = self.throw_locals_full();
            return 0;
        }
        self.local_unchecked(object)
    }

    /// As [`Self::new_local`], for the machine's own, which may go into the reserve.
    pub(crate) fn own_local(&self, object: ObjectRef) {
        if !object.is_null() {
            // Each takes more of the stack than of the reserve, which would end first.
            assert!(self.word(machine_word::LOCALS_TOP) < self.locals_end());
            self.local_unchecked(object);
        }
    }

    /// The caller has looked for room.
    fn local_unchecked(&self, object: ObjectRef) -> u64 {
        let at = self.word(machine_word::LOCALS_TOP);
        memory::write(at, object.0);
        self.set_word(machine_word::LOCALS_TOP, at + 8);
        at
    }

    pub(crate) fn locals_end(&self) -> u64 {
        self.locals_start + LOCALS_BYTES as u64
    }

    /// Whether `count` local references more can be made.
    #[inline]
    pub(crate) fn has_room_for_locals(&self, count: u32) -> bool {
        let top = self.word(machine_word::LOCALS_TOP);
        top + u64::from(count) * 8 <= self.word(machine_word::LOCALS_LIMIT)
    }

    /// Throws OutOfMemoryError. Until it is made, native methods may use the reserve.
    #[cold]
    #[inline(never)]
    pub(crate) fn throw_locals_full(&self) -> Thrown {
        let before = self.word(machine_word::LOCALS_LIMIT);
        self.set_word(machine_word::LOCALS_LIMIT, self.locals_end());
        let thrown = self.throw_out_of_memory("too many JNI local references");
        self.set_word(machine_word::LOCALS_LIMIT, before);
        thrown
    }

    /// Whether `reference` is one of this thread's local ones.
    pub(crate) fn is_local(&self, reference: u64) -> bool {
        self.locals_start <= reference && reference < self.word(machine_word::LOCALS_TOP)
    }

    /// References that Rust code must hold in memory of its own are held by local references of
    /// this scope.
    pub(crate) fn scope(&self) -> Scope<'_> {
        Scope::new(self)
    }
}

/// References in Rust's own memory, held by local references of their own until the scope ends.
pub(crate) struct Scope<'a> {
    thread: &'a Thread,
    mark: u64,
}

impl<'a> Scope<'a> {
    pub(crate) fn new(thread: &'a Thread) -> Self {
        Self {
            thread,
            mark: thread.word(machine_word::LOCALS_TOP),
        }
    }

    /// Holds `object` until the scope ends.
    pub(crate) fn hold(&self, object: ObjectRef) -> ObjectRef {
        self.thread.own_local(object);
        object
    }
}

impl Drop for Scope<'_> {
    fn drop(&mut self) {
        self.thread.set_word(machine_word::LOCALS_TOP, self.mark);
    }
}
