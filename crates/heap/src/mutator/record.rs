// SPDX-License-Identifier: Apache-2.0
//! [`MutatorRecord`]: what the collector knows of a mutator.
//!
//! The context is read by compiled code; [`Own`] belongs to the mutator while it runs managed code
//! and to the claimer of its state word otherwise (`state`). The record outlives its thread until
//! the collector has taken what the thread left behind.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use abi::alloc::SIZE_CLASS_COUNT;
use abi::barrier::{EPOCH_CLEAN, FAST_NONE, LogWord};
use abi::context::MutatorContext;

use rt::policy::{Policy, Tid};
use rt::sync::PiWord;

use crate::limits::LOCAL_ROOTS_MAX;
use crate::log::{LogCursor, SegmentIndex};
use crate::mutator::handshake::Handshake;
use crate::mutator::state::State;
use crate::object::ObjectRef;
use crate::sys::debt::Debt;

/// What a mutator hands over at H2. Lists are linked through segments and block records; 0 is
/// empty.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Handed {
    pub(crate) segments: SegmentIndex,
    /// First block plus 1.
    pub(crate) blocks: u32,
    /// First block of a large object plus 1.
    pub(crate) larges: u32,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Own {
    /// The epoch this mutator records for.
    pub(crate) epoch: u8,
    /// Its log segment, 0 for none. Where the next record goes lies in the context
    /// ([`MutatorRecord::cursor`]).
    pub(crate) segment: SegmentIndex,
    /// Posted ahead; 0 for none.
    pub(crate) spare: SegmentIndex,
    /// Filled in this epoch and not handed over yet.
    pub(crate) filled: Handed,
    /// Handed over; the collector takes it once the mutator has answered.
    pub(crate) handed: Handed,
    /// Where the current block of a class has its next run of free cells.
    pub(crate) runs: [u32; SIZE_CLASS_COUNT],
}

/// Roots of native mutators, and of anyone who wants to hold a few references without a stack map.
#[derive(Debug)]
pub(crate) struct LocalRoots {
    pub(crate) slots: Box<[AtomicU32]>,
    pub(crate) count: AtomicU32,
}

/// How long a mutator's answers to one kind of round took.
#[derive(Debug, Default)]
pub(crate) struct AnswerTimes {
    pub(crate) count: AtomicU64,
    pub(crate) ns_sum: AtomicU64,
    pub(crate) ns_max: AtomicU64,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct MutatorRecord {
    pub(crate) context: MutatorContext,
    pub(crate) handshake: Handshake,
    /// Held by the mutator's thread while it owes an answer.
    pub(crate) debt: Debt,
    /// As `debt`, while it owes a visitor that it hands itself over.
    pub(crate) visit_debt: Debt,
    /// Held by the claimer: the collector, or a visitor.
    pub(crate) claim: PiWord,
    /// Of the mutator's thread: another one behind a fork.
    tid: AtomicU32,
    /// It was attached as such, whatever policy the system grants.
    is_declared_real_time: bool,
    /// Declared, or the thread's policy at the last look ([`Self::note_policy`]).
    pub(crate) is_real_time: AtomicBool,
    pub(crate) has_ended: AtomicBool,
    /// See [`crate::Mutator::expect_work`]; 0 if it never said.
    pub(crate) next_work_ns: AtomicU64,
    pub(crate) locals: LocalRoots,
    /// Bytes that it has taken to allocate in, what is left of the last runs included.
    taken_bytes: AtomicU64,
    /// Indexed by `Round as usize - 1`, for the rounds of `rc`.
    pub(crate) answers: [AnswerTimes; 3],
    own: UnsafeCell<Own>,
}

// SAFETY: `own` is reached only through `MutatorRecord::own`, whose caller holds the mutator by its
// state word; everything else is atomic.
unsafe impl Sync for MutatorRecord {}
// SAFETY: as above; a record has no tie to the thread that made it.
unsafe impl Send for MutatorRecord {}

/// How a mutator that joins finds the collector.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Joining {
    pub(crate) epoch: u8,
    pub(crate) is_snooping: bool,
    pub(crate) is_weak_guarded: bool,
    /// Counting collector: objects are born logged. Otherwise log words stay clean.
    pub(crate) is_counting: bool,
}

impl MutatorRecord {
    pub(crate) fn new(tid: u32, joining: Joining, is_real_time: bool) -> Self {
        let own = Own {
            epoch: joining.epoch,
            segment: 0,
            spare: 0,
            filled: Handed::default(),
            handed: Handed::default(),
            runs: [0; SIZE_CLASS_COUNT],
        };
        let record = Self {
            context: MutatorContext::default(),
            handshake: Handshake::new(State::Managed),
            debt: Debt::default(),
            visit_debt: Debt::default(),
            claim: PiWord::default(),
            tid: AtomicU32::new(tid),
            is_declared_real_time: is_real_time,
            is_real_time: AtomicBool::new(is_real_time),
            has_ended: AtomicBool::new(false),
            next_work_ns: AtomicU64::new(0),
            locals: LocalRoots {
                slots: (0..LOCAL_ROOTS_MAX).map(|_| AtomicU32::new(0)).collect(),
                count: AtomicU32::new(0),
            },
            taken_bytes: AtomicU64::new(0),
            answers: Default::default(),
            own: UnsafeCell::new(own),
        };
        record.set_epoch(joining.is_counting.then_some(joining.epoch));
        record.set_snooping(joining.is_snooping, joining.epoch, joining.is_counting);
        record
            .context
            .is_weak_guarded
            .store(u8::from(joining.is_weak_guarded), Ordering::Relaxed);
        record
    }

    /// The number of the mutator's thread.
    pub(crate) fn tid(&self) -> u32 {
        self.tid.load(Ordering::Relaxed)
    }

    /// The mutator's thread has another number from now on.
    pub(crate) fn renumber(&self, tid: u32) {
        self.tid.store(tid, Ordering::Relaxed);
    }

    /// A real-time mutator is one that was declared so, or whose thread has a real-time policy of
    /// its own, no matter who gave it: the thread itself, its program through native code, another
    /// process. Priority that is lent does not count. Returns that policy. One system call.
    pub(crate) fn note_policy(&self) -> Option<Policy> {
        let tid = Tid::new(self.tid() as i32)?;
        let policy = Policy::of(tid).ok().filter(|it| it.is_real_time());
        let is_real_time = self.is_declared_real_time || policy.is_some();
        self.is_real_time.store(is_real_time, Ordering::Relaxed);
        policy
    }

    /// The mutator's buffers.
    ///
    /// # Safety
    /// The caller is the mutator in managed code, or holds a claim; and no other borrow of it is
    /// alive.
    #[expect(
        clippy::mut_from_ref,
        reason = "exclusion comes from the state word, not from the borrow"
    )]
    pub(crate) unsafe fn own(&self) -> &mut Own {
        // SAFETY: the caller's obligation: one party at a time, one borrow at a time.
        unsafe { &mut *self.own.get() }
    }

    /// Where the buffers are, for who may touch a part of them.
    pub(crate) fn own_ptr(&self) -> *mut Own {
        self.own.get()
    }

    /// New objects are born in `epoch`, or clean.
    pub(crate) fn set_epoch(&self, epoch: Option<u8>) {
        let born = epoch.map_or(LogWord::CLEAN, LogWord::born);
        self.context.born.store(born.0, Ordering::Relaxed);
    }

    /// Where the next log record goes. By the mutator, or its claimer.
    pub(crate) fn cursor(&self, own: &Own) -> LogCursor {
        LogCursor {
            segment: own.segment,
            next: self.context.log_next.load(Ordering::Relaxed),
            limit: self.context.log_limit.load(Ordering::Relaxed),
        }
    }

    /// As [`Self::cursor`].
    pub(crate) fn set_cursor(&self, own: &mut Own, cursor: LogCursor) {
        own.segment = cursor.segment;
        self.context.log_next.store(cursor.next, Ordering::Relaxed);
        self.context
            .log_limit
            .store(cursor.limit, Ordering::Relaxed);
    }

    pub(crate) fn set_snooping(&self, is_snooping: bool, epoch: u8, is_counting: bool) {
        let fast = match (is_counting, is_snooping) {
            (false, _) => EPOCH_CLEAN,
            (true, false) => epoch,
            (true, true) => FAST_NONE,
        };
        self.context
            .is_snooping
            .store(u8::from(is_snooping), Ordering::Relaxed);
        self.context.fast_epoch.store(fast, Ordering::Relaxed);
    }

    pub(crate) fn taken_bytes(&self) -> u64 {
        self.taken_bytes.load(Ordering::Relaxed)
    }

    /// By the mutator itself.
    pub(crate) fn count_taken(&self, bytes: u32) {
        let taken = self.taken_bytes.load(Ordering::Relaxed);
        self.taken_bytes
            .store(taken + u64::from(bytes), Ordering::Relaxed);
    }

    /// Every reference that the mutator's record itself holds.
    pub(crate) fn each_local(&self, visit: &mut dyn FnMut(ObjectRef)) {
        let count = self.locals.count.load(Ordering::Relaxed) as usize;
        let exception = std::iter::once(&self.context.exception);
        for slot in self.locals.slots[..count].iter().chain(exception) {
            let object = ObjectRef(slot.load(Ordering::Relaxed));
            if !object.is_null() {
                visit(object);
            }
        }
    }
}

impl AnswerTimes {
    pub(crate) fn add(&self, ns: u64) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.ns_sum.fetch_add(ns, Ordering::Relaxed);
        self.ns_max.fetch_max(ns, Ordering::Relaxed);
    }
}
