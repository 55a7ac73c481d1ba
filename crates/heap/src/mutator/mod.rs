// SPDX-License-Identifier: Apache-2.0
//! [`Mutator`]: a thread as the heap sees it.
//!
//! Reads, stores, allocates, polls. Built on `record` (what the collector sees of it) and `state`
//! (who may touch that); allocation is in [`crate::alloc`].

pub(crate) mod answer;
mod attach;
mod collect;
pub(crate) mod copy;
pub(crate) mod handshake;
pub(crate) mod record;
mod referent;
pub(crate) mod state;
pub(crate) mod visit;
mod write;

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use abi::context::MutatorContext;
use abi::object::ARRAY_LENGTH_OFFSET;

use crate::barrier;
use crate::globals::Global;
use crate::heap::Heap;
use crate::metadata::LayoutRef;
use crate::mutator::record::{MutatorRecord, Own};
use crate::object::{ObjectRef, Slot};
use rt::sys::tid;

/// A root of a native mutator, by number: a place that the collector scans.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Local(u32);

/// A thread that may touch objects. Lives on the thread that attached it.
///
/// References that are only in Rust variables are roots for nobody: they are good until the next
/// safepoint ([`Self::poll`], an allocation, a bulk copy, a stay in native code). Longer-lived ones
/// go into a [`Local`].
#[derive(Debug)]
pub struct Mutator {
    pub(crate) heap: Arc<Heap>,
    pub(crate) record: Arc<MutatorRecord>,
    _not_send: PhantomData<*mut ()>,
}

impl Mutator {
    pub(crate) fn new(heap: Arc<Heap>, record: Arc<MutatorRecord>) -> Self {
        Self {
            heap,
            record,
            _not_send: PhantomData,
        }
    }

    /// The calling thread is the only one of a forked child and goes on as the mutator that it was
    /// in its parent.
    pub fn note_fork(&self) {
        self.record.renumber(tid::current());
    }

    /// The heap it belongs to.
    pub fn heap(&self) -> &Arc<Heap> {
        &self.heap
    }

    /// What compiled code's pinned register points to.
    pub fn context(&self) -> &MutatorContext {
        &self.record.context
    }

    /// Before this thread waits until a time on the monotonic clock: then it has work. The
    /// collector asks a real-time mutator nothing from shortly before that time until some while
    /// after it, as long as nobody waits for the collector.
    pub fn expect_work(&self, due_ns: u64) {
        self.record.next_work_ns.store(due_ns, Ordering::Relaxed);
    }

    /// Declared so, or of a real-time policy when the last collection began.
    pub fn is_real_time(&self) -> bool {
        self.record.is_real_time.load(Ordering::Relaxed)
    }

    pub(crate) fn own(&mut self) -> &mut Own {
        // SAFETY: 1. This is the mutator, and it runs managed code: only it calls, and it is not
        // `Send`. 2. `&mut self` admits one borrow at a time.
        unsafe { self.record.own() }
    }

    // --- slots ---

    /// The reference in a slot.
    #[inline]
    pub fn read(&self, slot: Slot) -> ObjectRef {
        ObjectRef(self.heap.memory.slot(slot).load(Ordering::Acquire))
    }

    /// Stores `value` into a slot of an object with fields or of an array of at most 32 references.
    #[inline]
    pub fn write(&mut self, object: ObjectRef, slot: Slot, value: ObjectRef) {
        let memory = &self.heap.memory;
        let epoch = memory.header_log(object).load(Ordering::Relaxed) as u8;
        self.write_at(epoch, object, slot, value);
    }

    /// Stores `value` into an element of an array of references of any length.
    #[inline]
    pub fn write_element(&mut self, array: ObjectRef, index: u32, value: ObjectRef) {
        let memory = &self.heap.memory;
        let length = memory
            .word(array.0 + ARRAY_LENGTH_OFFSET)
            .load(Ordering::Relaxed);
        assert!(index < length, "element {index} of {length}");
        let slot = array.element(index);
        let word = if abi::object::is_chunked_array(length) {
            memory.chunk_log(slot.0)
        } else {
            memory.header_log(array)
        };
        let epoch = word.load(Ordering::Relaxed) as u8;
        self.write_at(epoch, array, slot, value);
    }

    /// Stores `value` into a slot of an object with fields that has more than 32 of them.
    pub fn write_chunked(&mut self, object: ObjectRef, slot: Slot, value: ObjectRef) {
        let word = self.heap.memory.chunk_log(slot.0);
        let epoch = word.load(Ordering::Relaxed) as u8;
        self.write_at(epoch, object, slot, value);
    }

    /// Stores to a slot whose log word is of `epoch`.
    #[inline]
    fn write_at(&mut self, epoch: u8, object: ObjectRef, slot: Slot, value: ObjectRef) {
        if epoch != self.record.context.fast_epoch.load(Ordering::Relaxed) {
            self.write_slow(object, slot, value);
        }
        self.heap
            .memory
            .slot(slot)
            .store(value.0, Ordering::Release);
    }

    /// Stores without a barrier: the baseline that `stw` needs, and wrong under `rc`.
    #[inline]
    pub fn write_unlogged(&mut self, slot: Slot, value: ObjectRef) {
        debug_assert!(!self.heap.is_counting());
        self.heap
            .memory
            .slot(slot)
            .store(value.0, Ordering::Release);
    }

    /// Exchanges the reference in a slot if it is `expected`; `Err` with what was found. Logged
    /// like a store.
    pub fn compare_exchange(
        &mut self,
        object: ObjectRef,
        slot: Slot,
        expected: ObjectRef,
        value: ObjectRef,
    ) -> Result<(), ObjectRef> {
        self.write_slow(object, slot, value);
        let word = self.heap.memory.slot(slot);
        match word.compare_exchange(expected.0, value.0, Ordering::SeqCst, Ordering::SeqCst) {
            Ok(_) => Ok(()),
            Err(found) => Err(ObjectRef(found)),
        }
    }

    // --- objects ---

    /// What the object is made of.
    pub fn layout_of(&self, object: ObjectRef) -> LayoutRef {
        let layout = std::ptr::from_ref(self.heap.memory.layout(object));
        // SAFETY: class words and layouts of objects' own are written from `LayoutRef`s.
        unsafe { LayoutRef::from_address(layout.addr() as u32) }
    }

    /// Whether the object has a log word per chunk; the one in its header is clean then.
    pub fn is_chunked(&self, object: ObjectRef) -> bool {
        barrier::is_chunked(&self.heap.memory, object)
    }

    /// An array's length.
    pub fn array_length(&self, array: ObjectRef) -> u32 {
        self.heap
            .memory
            .word(array.0 + ARRAY_LENGTH_OFFSET)
            .load(Ordering::Relaxed)
    }

    /// A 32-bit field or element that is no reference.
    pub fn read_u32(&self, object: ObjectRef, offset: u32) -> u32 {
        self.heap
            .memory
            .word(object.0 + offset)
            .load(Ordering::Relaxed)
    }

    /// Stores a 32-bit field or element that is no reference.
    pub fn write_u32(&mut self, object: ObjectRef, offset: u32, value: u32) {
        self.heap
            .memory
            .word(object.0 + offset)
            .store(value, Ordering::Relaxed);
    }

    // --- roots ---

    /// A new root. Panics above `limits::LOCAL_ROOTS_MAX`.
    pub fn local(&mut self, object: ObjectRef) -> Local {
        let locals = &self.record.locals;
        let index = locals.count.load(Ordering::Relaxed);
        assert!(
            (index as usize) < locals.slots.len(),
            "too many local roots"
        );
        locals.slots[index as usize].store(object.0, Ordering::Relaxed);
        locals.count.store(index + 1, Ordering::Relaxed);
        Local(index)
    }

    /// The reference that a root holds.
    pub fn get(&self, local: Local) -> ObjectRef {
        ObjectRef(self.record.locals.slots[local.0 as usize].load(Ordering::Relaxed))
    }

    /// Lets a root hold another reference.
    pub fn set(&mut self, local: Local, object: ObjectRef) {
        self.record.locals.slots[local.0 as usize].store(object.0, Ordering::Relaxed);
    }

    /// A new root that belongs to no mutator. May allocate: not for real-time loops.
    pub fn add_global(&mut self, object: ObjectRef) -> Global {
        self.note_root(object);
        self.heap.globals.add(object)
    }

    /// The reference that a global root holds.
    pub fn global(&self, global: Global) -> ObjectRef {
        self.heap.globals.get(global)
    }

    /// Must see every reference before it is put into a place that
    /// [`crate::Binding::each_global_root`] visits.
    pub fn note_root(&mut self, object: ObjectRef) {
        if self.record.context.is_snooping.load(Ordering::Relaxed) != 0 && !object.is_null() {
            self.heap.snoop(object);
        }
    }

    /// Makes an object a root of the round under way, whatever this mutator has answered: it may
    /// have been seen on the stack of another one that has not been scanned yet. Before the look
    /// that says that it is there still.
    pub fn make_root(&mut self, object: ObjectRef) {
        if self.heap.is_counting() {
            self.heap.snoop(object);
        }
    }

    /// How many roots there are: a mark for [`Self::truncate_locals`].
    pub fn local_count(&self) -> u32 {
        self.record.locals.count.load(Ordering::Relaxed)
    }

    /// Gives up all roots beyond the first `count`.
    pub fn truncate_locals(&mut self, count: u32) {
        assert!(count <= self.local_count(), "roots are given up, not made");
        self.record.locals.count.store(count, Ordering::Relaxed);
    }

    // --- safepoints ---

    /// Whether the thread is outside managed code: [`Self::enter_native`] without its return.
    pub fn is_native(&self) -> bool {
        self.record.handshake.state.get() != state::State::Managed
    }

    /// A safepoint: answers the collector if it asked.
    #[inline]
    pub fn poll(&mut self) {
        if self.record.context.poll.load(Ordering::Relaxed) != abi::poll::POLL_IDLE {
            self.poll_slow();
        }
    }

    /// Runs `body`, which touches no object and may block, in native state: the collector does not
    /// wait for it.
    pub fn native<T>(&mut self, body: impl FnOnce() -> T) -> T {
        self.enter_native();
        // The way back must also be taken when `body` panics.
        struct Back<'a>(&'a mut Mutator);
        impl Drop for Back<'_> {
            fn drop(&mut self) {
                self.0.leave_native();
            }
        }
        let _back = Back(self);
        body()
    }
}

impl Drop for Mutator {
    fn drop(&mut self) {
        self.truncate_locals(0);
        self.record.context.exception.store(0, Ordering::Relaxed);
        self.enter_native();
        // After that: the collector forgets a record that says so, and this thread may still have
        // been answering.
        self.record.has_ended.store(true, Ordering::SeqCst);
    }
}
