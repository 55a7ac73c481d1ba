// SPDX-License-Identifier: Apache-2.0
//! Loom models of the state machines in this folder, on the modelled kernel of `sys::model`.
//!
//! Loom runs each model under every interleaving (up to the bound of preemptions given) and fails
//! on a deadlock, a broken assertion, or access to `loom::cell::UnsafeCell` that is not ordered.
//! Run by `cargo xtask test --only loom`.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use crate::policy::Tid;
use crate::sync::atomic::AtomicU32;
use crate::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use crate::sync::boost::{Announced, Scheduling, Settled};
use crate::sync::lend::{LendError, Loan};
use crate::sync::{Boost, Event, PiCondvar, PiMutex, Wake, mpsc, spsc};
use crate::sys::futex::Private;
use crate::sys::model;

/// A due time; `model::pass_time` says when it passes.
const SOME_TIME: u64 = 1;

/// Every interleaving: for two threads.
fn check(body: impl Fn() + Sync + Send + 'static) {
    loom::model::Builder::new().check(body);
}

/// Every interleaving with up to this many forced switches of thread: for three, where all of them
/// take hours.
fn check_within(preemptions_max: usize, body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions_max);
    builder.check(body);
}

/// Adds one, in two steps that another thread must not come between.
fn add(value: &UnsafeCell<u32>) {
    // SAFETY: the model checks that accesses are ordered; the pointer is used within the call.
    value.with_mut(|value| unsafe { *value += 1 });
}

fn read(value: &UnsafeCell<u32>) -> u32 {
    // SAFETY: as in `add`.
    value.with(|value| unsafe { *value })
}

#[test]
fn a_mutex_admits_one_thread_and_publishes_its_writes() {
    check_within(3, || {
        let mutex = Arc::new(PiMutex::new(UnsafeCell::new(0)));
        let others: Vec<_> = (0..2)
            .map(|_| {
                let mutex = Arc::clone(&mutex);
                thread::spawn(move || add(&mutex.lock()))
            })
            .collect();
        add(&mutex.lock());
        others.into_iter().for_each(|it| it.join().unwrap());
        assert_eq!(read(&mutex.lock()), 3);
    });
}

#[test]
fn a_mutex_wait_that_times_out_leaves_the_lock_usable() {
    check(|| {
        let mutex = Arc::new(PiMutex::new(UnsafeCell::new(0)));
        let other = {
            let mutex = Arc::clone(&mutex);
            thread::spawn(move || {
                if let Ok(guard) = mutex.lock_until(SOME_TIME) {
                    add(&guard);
                    return 1;
                }
                0
            })
        };
        let guard = mutex.lock();
        add(&guard);
        model::pass_time();
        drop(guard);
        add(&mutex.lock());
        let added = other.join().unwrap();
        assert_eq!(read(&mutex.lock()), 2 + added);
    });
}

#[test]
fn a_condition_loses_no_notification() {
    check_within(3, || {
        let state = Arc::new((PiMutex::new(0), PiCondvar::new()));
        let takers: Vec<_> = (0..2)
            .map(|_| {
                let state = Arc::clone(&state);
                thread::spawn(move || {
                    let mut items = state.0.lock();
                    while *items == 0 {
                        state.1.wait(&mut items);
                    }
                    *items -= 1;
                })
            })
            .collect();
        for _ in 0..2 {
            let mut items = state.0.lock();
            *items += 1;
            state.1.notify_one(&items);
        }
        takers.into_iter().for_each(|it| it.join().unwrap());
        assert_eq!(*state.0.lock(), 0);
    });
}

#[test]
fn a_broadcast_reaches_all() {
    check_within(3, || {
        let state = Arc::new((PiMutex::new(false), PiCondvar::new()));
        let waiters: Vec<_> = (0..2)
            .map(|_| {
                let state = Arc::clone(&state);
                thread::spawn(move || {
                    let mut is_open = state.0.lock();
                    while !*is_open {
                        state.1.wait(&mut is_open);
                    }
                })
            })
            .collect();
        let mut is_open = state.0.lock();
        *is_open = true;
        state.1.notify_all(&is_open);
        drop(is_open);
        waiters.into_iter().for_each(|it| it.join().unwrap());
    });
}

#[test]
fn a_timed_out_waiter_passes_no_notification_by() {
    check_within(3, || {
        let state = Arc::new((PiMutex::new(0), PiCondvar::new()));
        let patient = {
            let state = Arc::clone(&state);
            thread::spawn(move || {
                let mut items = state.0.lock();
                while *items == 0 {
                    state.1.wait(&mut items);
                }
                *items -= 1;
            })
        };
        let hasty = {
            let state = Arc::clone(&state);
            thread::spawn(move || {
                model::set_priority(9);
                let mut items = state.0.lock();
                while *items == 0 {
                    if state.1.wait_until(&mut items, SOME_TIME) == Wake::TimedOut {
                        return 0;
                    }
                }
                *items -= 1;
                1
            })
        };
        let mut items = state.0.lock();
        *items += 1;
        state.1.notify_one(&items);
        model::pass_time();
        drop(items);
        // The one without the first item takes one more: neither sleeps for ever.
        if hasty.join().unwrap() == 1 {
            let mut items = state.0.lock();
            *items += 1;
            state.1.notify_one(&items);
        }
        patient.join().unwrap();
        assert_eq!(*state.0.lock(), 0);
    });
}

/// A borrower that answers as soon as it sees the request.
fn borrower(
    shared: &Arc<(Loan, AtomicU32, UnsafeCell<u32>, AtomicU32)>,
) -> thread::JoinHandle<bool> {
    let shared = Arc::clone(shared);
    thread::spawn(move || {
        shared.3.store(model::tid(), Release);
        while shared.1.load(Acquire) == 0 {
            thread::yield_now();
        }
        add(&shared.2);
        shared.0.give_back()
    })
}

fn loan() -> Arc<(Loan, AtomicU32, UnsafeCell<u32>, AtomicU32)> {
    Arc::new((
        Loan::new(),
        AtomicU32::new(0),
        UnsafeCell::new(0),
        AtomicU32::new(0),
    ))
}

/// The borrower's number, once it has one.
fn number(word: &AtomicU32) -> Tid {
    loop {
        match word.load(Acquire) {
            0 => thread::yield_now(),
            tid => return Tid::new(tid as i32).unwrap(),
        }
    }
}

#[test]
fn a_loan_ends_with_the_answer_in_sight() {
    check(|| {
        let shared = loan();
        let borrower = borrower(&shared);
        let offer = shared.0.offer(number(&shared.3)).unwrap();
        shared.1.store(1, Release);
        assert_eq!(offer.wait(), Ok(()));
        assert_eq!(read(&shared.2), 1);
        assert!(!shared.0.is_out());
        assert!(borrower.join().unwrap());
    });
}

#[test]
fn a_loan_that_timed_out_is_out_until_given_back() {
    check(|| {
        let shared = loan();
        let borrower = borrower(&shared);
        let tid = number(&shared.3);
        let clock = thread::spawn(model::pass_time);
        let offer = shared.0.offer(tid).unwrap();
        shared.1.store(1, Release);
        match offer.wait_until(SOME_TIME) {
            Ok(()) => assert_eq!(read(&shared.2), 1),
            Err(error) => assert_eq!(error, LendError::TimedOut),
        }
        assert!(borrower.join().unwrap());
        assert!(!shared.0.is_out());
        clock.join().unwrap();
    });
}

#[test]
fn a_borrower_that_ends_is_told_in_every_order() {
    check(|| {
        let shared = loan();
        let mortal = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                shared.3.store(model::tid(), Release);
                while shared.1.load(Acquire) == 0 {
                    thread::yield_now();
                }
                shared.0.end_of_borrower();
            })
        };
        let offer = shared.0.offer(number(&shared.3)).unwrap();
        shared.1.store(1, Release);
        assert_eq!(offer.wait(), Err(LendError::BorrowerDied));
        assert!(!shared.0.is_out());
        mortal.join().unwrap();
        // The word is as new.
        let offer = shared
            .0
            .offer(Tid::new(model::tid() as i32).unwrap())
            .unwrap();
        offer.retract();
    });
}

#[test]
fn an_event_is_taken_once_per_set_and_wakes_who_waits() {
    check(|| {
        let shared = Arc::new((Event::<Private>::new(), UnsafeCell::new(0)));
        let setter = {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                add(&shared.1);
                shared.0.set();
            })
        };
        shared.0.wait();
        assert_eq!(read(&shared.1), 1);
        assert!(!shared.0.try_take());
        setter.join().unwrap();
    });
}

#[test]
fn two_sets_let_two_waiters_go_unless_they_counted_once() {
    check_within(3, || {
        let shared = Arc::new((Event::<Private>::new(), AtomicU32::new(0)));
        let waiters: Vec<_> = (0..2)
            .map(|_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    shared.0.wait();
                    shared.1.fetch_add(1, Relaxed);
                    // Sets that met an untaken one counted once: pass it on.
                    shared.0.set();
                })
            })
            .collect();
        shared.0.set();
        waiters.into_iter().for_each(|it| it.join().unwrap());
        assert_eq!(shared.1.load(Relaxed), 2);
    });
}

#[test]
fn a_set_wakes_also_behind_one_that_has_not_come_to_it() {
    check_within(3, || {
        let event = Arc::new(Event::<Private>::new());
        let preempted = {
            let event = Arc::clone(&event);
            thread::spawn(move || event.say())
        };
        let setter = {
            let event = Arc::clone(&event);
            thread::spawn(move || {
                // Nobody takes it before both have said so.
                preempted.join().unwrap();
                event.set();
            })
        };
        event.wait();
        setter.join().unwrap();
    });
}

#[test]
fn an_event_wait_that_times_out_leaves_the_set_to_others() {
    check_within(3, || {
        let event = Arc::new(Event::<Private>::new());
        let hasty = {
            let event = Arc::clone(&event);
            thread::spawn(move || event.wait_until(SOME_TIME))
        };
        let patient = {
            let event = Arc::clone(&event);
            thread::spawn(move || event.wait())
        };
        model::pass_time();
        event.set();
        if hasty.join().unwrap() == Wake::Notified {
            event.set();
        }
        patient.join().unwrap();
    });
}

#[test]
fn a_queue_of_one_sender_hands_over_each_item_once() {
    check(|| {
        let (mut sender, mut receiver) = spsc::queue(1);
        let thread = thread::spawn(move || {
            let first = sender.try_push(1).is_ok();
            let second = sender.try_push(2).is_ok();
            (first, second)
        });
        let mut got: Vec<_> = (0..2).filter_map(|_| receiver.try_pop()).collect();
        let pushed = thread.join().unwrap();
        got.extend(receiver.try_pop());
        assert!(pushed.0);
        assert_eq!(got, if pushed.1 { vec![1, 2] } else { vec![1] });
    });
}

#[test]
fn a_queue_of_two_senders_hands_over_each_item_once() {
    check_within(3, || {
        let (sender, mut receiver) = mpsc::queue(2);
        let threads: Vec<_> = [1, 10]
            .into_iter()
            .map(|value| {
                let sender = sender.clone();
                thread::spawn(move || {
                    let first = sender.try_push(value).is_ok();
                    let second = sender.try_push(value + 1).is_ok();
                    u32::from(first) * value + u32::from(second) * (value + 1)
                })
            })
            .collect();
        let mut got: Vec<_> = (0..2).filter_map(|_| receiver.try_pop()).collect();
        let pushed: u32 = threads.into_iter().map(|it| it.join().unwrap()).sum();
        got.extend(std::iter::from_fn(|| receiver.try_pop()));
        assert_eq!(got.iter().sum::<u32>(), pushed);
        for value in [1, 10] {
            let place = |value| got.iter().position(|it| *it == value);
            if let (Some(first), Some(second)) = (place(value), place(value + 1)) {
                assert!(first < second, "a sender's items keep their order");
            }
        }
        // And all nodes are spares again.
        assert!(sender.try_push(0).is_ok() && sender.try_push(0).is_ok());
        assert!(sender.try_push(0).is_err());
    });
}

#[test]
fn a_spare_that_is_taken_and_returned_meanwhile_is_not_taken_twice() {
    check_within(3, || {
        let (sender, mut receiver) = mpsc::queue(2);
        let other = {
            let sender = sender.clone();
            thread::spawn(move || sender.try_push(1).is_ok())
        };
        let mut got = Vec::new();
        for value in [10, 20] {
            assert!(sender.try_push(value).is_ok(), "one is the other's at most");
            got.extend(receiver.try_pop());
            got.extend(receiver.try_pop());
        }
        assert!(other.join().unwrap());
        got.extend(receiver.try_pop());
        got.sort_unstable();
        assert_eq!(got, [1, 10, 20]);
    });
}

/// A worker's mailbox, and its priority as the kernel has it.
struct Work {
    boost: Boost,
    /// A bit for each message that lies there: its number is its priority.
    mail: AtomicU32,
    /// A bit for each message whose sender has gone on.
    sent: AtomicU32,
    kernel: AtomicU32,
}

impl Scheduling for Work {
    /// What makes the protocol right: nobody is below what was sent to it and not taken yet, at no
    /// time.
    fn set(&self, level: u8) -> bool {
        self.kernel.store(u32::from(level), Release);
        let waiting = self.sent.load(Acquire) & self.mail.load(Acquire);
        assert!(
            waiting >> (level + 1) == 0,
            "level {level}, waiting {waiting:b}"
        );
        true
    }

    fn get(&self) -> u8 {
        self.kernel.load(Acquire) as u8
    }
}

impl Work {
    fn at(level: u8) -> Arc<Self> {
        Arc::new(Self {
            boost: Boost::new(level),
            mail: AtomicU32::new(0),
            sent: AtomicU32::new(0),
            kernel: AtomicU32::new(u32::from(level)),
        })
    }

    fn send(&self, level: u8) -> Announced {
        self.mail.fetch_or(1 << level, AcqRel);
        let announced = self.boost.announce(level, self);
        self.sent.fetch_or(1 << level, AcqRel);
        announced
    }

    /// The worker finds nothing or something, settles for it, and takes it.
    fn work(&self) -> u8 {
        loop {
            let look = self.boost.look();
            let level = match self.mail.load(Acquire) {
                0 => 0,
                mail => mail.ilog2() as u8,
            };
            match self.boost.settle(look, level, self) {
                Settled::Done => {
                    self.mail.fetch_and(!(1 << level), AcqRel);
                    return level;
                }
                Settled::LookAgain => {}
                Settled::Refused => panic!("nobody refuses"),
            }
        }
    }
}

#[test]
fn a_worker_that_lowers_itself_misses_no_message() {
    check_within(4, || {
        let work = Work::at(5);
        let sender = {
            let work = Arc::clone(&work);
            thread::spawn(move || work.send(3))
        };
        let first = work.work();
        let announced = sender.join().unwrap();
        // Either it found the message, or it was raised for it behind its back.
        assert_eq!(work.kernel.load(Acquire), 3);
        assert!(first == 3 || announced == Announced::Raised);
        if first == 0 {
            assert_eq!(work.work(), 3);
        }
        assert_eq!(work.work(), 0);
        assert_eq!(work.kernel.load(Acquire), 0, "a late raise stayed");
    });
}

#[test]
fn a_raise_that_comes_late_is_told() {
    check_within(4, || {
        let work = Work::at(0);
        let sender = {
            let work = Arc::clone(&work);
            thread::spawn(move || work.send(3))
        };
        let found = [work.work(), work.work()];
        let announced = sender.join().unwrap();
        let level = work.kernel.load(Acquire);
        match found {
            // It was found before it was announced: the sender knows that it raised, the worker
            // looks once more.
            [3, 0] if announced == Announced::Raised => assert_eq!(work.work(), 0),
            [3, 0] => assert_eq!(level, 0),
            _ => assert_eq!(level, 3),
        }
    });
}

#[test]
fn two_senders_raise_to_the_higher_level() {
    check_within(2, || {
        let work = Work::at(5);
        let senders: Vec<_> = [2, 4]
            .map(|level| {
                let work = Arc::clone(&work);
                thread::spawn(move || work.send(level))
            })
            .into();
        let first = work.work();
        senders
            .into_iter()
            .for_each(|it| assert_ne!(it.join().unwrap(), Announced::Refused));
        let mut found = vec![first];
        while *found.last().unwrap() != 0 || work.mail.load(Acquire) != 0 {
            found.push(work.work());
        }
        found.retain(|it| *it != 0);
        found.sort_unstable();
        assert_eq!(found, [2, 4]);
        assert_eq!(work.kernel.load(Acquire), 0);
    });
}
