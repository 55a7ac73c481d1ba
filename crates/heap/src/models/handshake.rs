// SPDX-License-Identifier: Apache-2.0
//! Handshakes: each question is answered once, by one party at a time, and what it gives is taken
//! whole.

use abi::poll::{POLL_ASKED, POLL_IDLE};
use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicU8, Ordering};
use loom::sync::{Arc, Mutex};
use loom::thread;

use crate::models::check_within;
use crate::mutator::handshake::Round;
use crate::mutator::handshake::{Handshake, PollByte};
use crate::mutator::state::State;

impl PollByte for AtomicU8 {
    fn set(&self, value: u8) {
        self.store(value, Ordering::SeqCst);
    }
}

/// A mutator's record as far as a handshake goes.
struct HandshakeRecord {
    handshake: Handshake,
    poll: AtomicU8,
    claim: Mutex<()>,
    /// Records of the epoch under way.
    log: UnsafeCell<u32>,
    /// Answers given, and the records of all of them.
    handed: UnsafeCell<(u32, u32)>,
}

impl HandshakeRecord {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            handshake: Handshake::new(State::Managed),
            poll: AtomicU8::new(POLL_IDLE),
            claim: Mutex::new(()),
            log: UnsafeCell::new(0),
            handed: UnsafeCell::new((0, 0)),
        })
    }

    /// H2: the log is swapped. Loom fails if two parties are here at once.
    fn answer(&self) {
        // SAFETY: the model checks that accesses are ordered; the pointers are used within the
        // call.
        self.log.with_mut(|log| {
            self.handed.with_mut(|handed| unsafe {
                *handed = ((*handed).0 + 1, (*handed).1 + std::mem::take(&mut *log));
            })
        });
    }

    /// Answers, and records in them. By the collector after an answer, as it takes what was handed
    /// over.
    fn handed(&self) -> (u32, u32) {
        // SAFETY: as in `answer`.
        self.handed.with(|handed| unsafe { *handed })
    }

    // --- as `mutator::answer` ---

    fn log(&self) {
        // SAFETY: as in `answer`.
        self.log.with_mut(|log| unsafe { *log += 1 });
    }

    fn poll(&self) {
        if self.poll.load(Ordering::Relaxed) != POLL_IDLE {
            self.poll_slow();
        }
    }

    fn poll_slow(&self) {
        if self.handshake.question(&self.poll).is_some() {
            self.answer();
            self.handshake.answered(&self.poll);
        }
        if self.handshake.is_visit_wanted() && self.handshake.try_hand_over_to_visitor() {
            self.return_to_managed();
        }
    }

    fn enter_native(&self) {
        loop {
            if self.handshake.is_asked() {
                self.poll_slow();
            }
            if self.handshake.try_enter_native() {
                return;
            }
        }
    }

    fn leave_native(&self) {
        self.return_to_managed();
        if self.handshake.is_asked() || self.handshake.is_visit_wanted() {
            self.poll_slow();
        }
    }

    fn return_to_managed(&self) {
        while !self.handshake.state.try_leave_native() {
            drop(self.claim.lock().unwrap());
        }
    }

    // --- as `mutator::visit` ---

    /// Looks at the log, which stands for the stack. Loom fails if the mutator writes it meanwhile.
    fn visit(&self) {
        let _claim = self.claim.lock().unwrap();
        self.handshake.ask_visit(&self.poll);
        while self.handshake.is_visit_open() {
            if self.handshake.state.try_claim() {
                assert!(
                    self.handshake.try_withdraw_visit(),
                    "it is outside managed code"
                );
            } else {
                thread::yield_now();
            }
        }
        // SAFETY: as in `answer`.
        let _seen = self.log.with(|log| unsafe { *log });
        self.handshake.state.release();
    }

    // --- as `collector::round` ---

    fn ask(&self) {
        self.handshake.ask(Round::Switch, &self.poll);
    }

    fn try_answer_on_behalf(&self) {
        let _claim = self.claim.lock().unwrap();
        if self.handshake.state.try_claim() {
            if self.handshake.is_asked() {
                self.answer();
                self.handshake.withdraw(&self.poll);
            }
            self.handshake.state.release();
        }
    }

    fn await_answer(&self) {
        while self.handshake.is_asked() {
            if self.handshake.state.get() == State::Native {
                self.try_answer_on_behalf();
            } else {
                thread::yield_now();
            }
        }
    }
}

/// The collector looks once, the mutator looks once: nobody is left to answer only if both missed
/// each other.
#[test]
fn one_of_the_two_sees_the_other() {
    loom::model(|| {
        let record = HandshakeRecord::new();
        let mutator = {
            let record = Arc::clone(&record);
            thread::spawn(move || record.enter_native())
        };
        record.ask();
        if record.handshake.state.get() == State::Native {
            record.try_answer_on_behalf();
        }
        mutator.join().unwrap();
        assert!(!record.handshake.is_asked());
        assert_eq!(record.handed(), (1, 0), "one answer");
    });
}

/// In and out of native code while two epochs end: each log goes over once, and whole.
#[test]
fn each_question_has_one_answer_and_takes_the_log() {
    check_within(5, || {
        let record = HandshakeRecord::new();
        let mutator = {
            let record = Arc::clone(&record);
            thread::spawn(move || {
                record.log();
                record.poll();
                record.log();
                record.enter_native();
                record.leave_native();
                record.log();
                record.enter_native();
            })
        };
        for round in 1..=2 {
            record.ask();
            record.await_answer();
            assert_eq!(record.handed().0, round, "one answer each");
        }
        mutator.join().unwrap();
        record.ask();
        record.await_answer();
        assert_eq!(record.handed(), (3, 3), "no record is lost or taken twice");
    });
}

/// The poll byte is set for another reason (log space is low) while the collector asks: the
/// question is not lost.
#[test]
fn a_byte_that_is_cleared_hides_no_question() {
    check_within(5, || {
        let record = HandshakeRecord::new();
        let mutator = {
            let record = Arc::clone(&record);
            thread::spawn(move || {
                record.poll.set(POLL_ASKED);
                record.poll();
                // From here on in managed code for ever: only polls can answer.
                loop {
                    record.poll();
                    if record.handed().0 == 1 {
                        return;
                    }
                    thread::yield_now();
                }
            })
        };
        record.ask();
        record.await_answer();
        mutator.join().unwrap();
    });
}

/// A visit while a question is open: the stack is still while it is looked at, and neither of the
/// two is lost.
#[test]
fn a_visitor_finds_the_mutator_still() {
    check_within(4, || {
        let record = HandshakeRecord::new();
        let mutator = {
            let record = Arc::clone(&record);
            thread::spawn(move || {
                record.log();
                record.poll();
                record.log();
                record.enter_native();
                record.leave_native();
                record.log();
                record.enter_native();
            })
        };
        record.ask();
        record.visit();
        record.await_answer();
        mutator.join().unwrap();
        assert_eq!(record.handed().0, 1, "one answer");
        assert!(!record.handshake.is_visit_open());
    });
}
