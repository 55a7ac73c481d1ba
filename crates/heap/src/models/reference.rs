// SPDX-License-Identifier: Apache-2.0
//! Reference states: a `get` returns what lives on, or null; never what is being freed.

use abi::side_table::SNOOP_DEAD;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use loom::thread;

use crate::models::check_within;
use crate::object::ObjectRef;
use crate::reference::{
    Mode, ReferenceState, Referent, SnoopEntry, read_undecided, try_give_up, try_revive,
};

const TAG: u8 = 7;
const REFERENT: u32 = 64;

impl SnoopEntry for AtomicU8 {
    fn exchange_unless(&self, kept: u8, new: u8) -> bool {
        let exchange = |found| (found != kept).then_some(new);
        self.fetch_update(Ordering::SeqCst, Ordering::SeqCst, exchange)
            .is_ok()
    }
}

/// One weak reference and its referent, which nothing else holds.
struct Weak {
    state: ReferenceState,
    slot: AtomicU32,
    entry: AtomicU8,
    is_marked: AtomicU8,
    is_freed: UnsafeCell<bool>,
}

impl Referent for Weak {
    fn read(&self) -> ObjectRef {
        ObjectRef(self.slot.load(Ordering::Acquire))
    }

    fn try_revive(&self, _: ObjectRef) -> bool {
        try_revive(&self.entry, TAG)
    }

    fn snoop(&self, _: ObjectRef) {
        self.entry.store(TAG, Ordering::Relaxed);
    }

    fn is_marked(&self, _: ObjectRef) -> bool {
        self.is_marked.load(Ordering::SeqCst) != 0
    }
}

impl Weak {
    fn new(mode: Mode) -> Arc<Self> {
        let state = ReferenceState::default();
        state.set_mode(mode);
        Arc::new(Self {
            state,
            slot: AtomicU32::new(REFERENT),
            entry: AtomicU8::new(0),
            is_marked: AtomicU8::new(0),
            is_freed: UnsafeCell::new(false),
        })
    }

    /// A mutator: `Reference.get`, and a look at what it got.
    fn get(&self) -> bool {
        let referent = read_undecided(&self.state, self);
        if !referent.is_null() {
            // SAFETY: loom fails if the collector frees it meanwhile.
            assert!(!self.is_freed.with(|it| unsafe { *it }), "got a live one");
        }
        !referent.is_null()
    }

    /// The collector: by counts it is dead.
    fn decide(&self) {
        if try_give_up(&self.entry, TAG) {
            self.clear_and_free();
        }
        self.state.set_mode(Mode::Idle);
    }

    /// The collector: nothing reached it so far.
    fn trace(&self) {
        loop {
            let seen = self.state.word();
            if self.entry.load(Ordering::SeqCst) == TAG {
                self.is_marked.store(1, Ordering::SeqCst);
            }
            if self.state.try_close(seen) {
                break;
            }
        }
        if self.is_marked.load(Ordering::SeqCst) == 0 {
            self.clear_and_free();
        }
        self.state.set_mode(Mode::Idle);
    }

    fn clear_and_free(&self) {
        let cleared = self
            .slot
            .compare_exchange(REFERENT, 0, Ordering::SeqCst, Ordering::Relaxed);
        assert_eq!(cleared, Ok(REFERENT));
        // SAFETY: loom fails if a mutator looks at it meanwhile.
        self.is_freed.with_mut(|it| unsafe { *it = true });
        // The next object there starts anew.
        let _ = self
            .entry
            .compare_exchange(SNOOP_DEAD, 0, Ordering::SeqCst, Ordering::Relaxed);
    }
}

/// Two mutators read while the collector decides; what one of them got stays, and what is gone
/// stays gone.
fn race(mode: Mode, decide: fn(&Weak)) {
    check_within(3, move || {
        let weak = Weak::new(mode);
        let reader = {
            let weak = Arc::clone(&weak);
            thread::spawn(move || (weak.get(), weak.get()))
        };
        let other = {
            let weak = Arc::clone(&weak);
            thread::spawn(move || weak.get())
        };
        decide(&weak);
        let (first, second) = reader.join().unwrap();
        let other = other.join().unwrap();
        let is_left = weak.slot.load(Ordering::SeqCst) != 0;
        assert!(first == second || !second, "what is gone stays gone");
        assert!(is_left || !second, "what was got at the end is left");
        assert!(!(first || other) || is_left, "what somebody got stays");
    });
}

#[test]
fn a_referent_that_somebody_got_is_not_freed_by_counts() {
    race(Mode::Deciding, Weak::decide);
}

#[test]
fn a_referent_that_somebody_got_is_not_freed_by_a_trace() {
    race(Mode::Tracing, Weak::trace);
}
