// SPDX-License-Identifier: Apache-2.0
//! The kernel boosts who is waited for: each lock against a hog, and a plain futex as the control
//! that waits for it.

mod inversion;

use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;

use inversion::{Seen, Waiter, await_sleep, cues, ordinary, play, stage};
use rt::policy::{Policy, Reservation};
use rt::sync::{Loan, PiCondvar, PiMutex};
use rt::sys::futex::{Futex, Private};
use rt::thread::Builder;

fn assert_boosted(seen: &Seen, shown: i32) {
    assert_eq!(seen.holder_shown, shown, "{seen:?}");
    assert!(seen.is_bounded, "the waiter waited for the hog: {seen:?}");
}

#[test]
fn a_mutex_lends_its_holder_the_waiters_priority() {
    let _stage = stage();
    let seen = contend_for_mutex(inversion::WAITER).unwrap();
    assert_boosted(&seen, inversion::SHOWN_FIFO_80);
}

#[test]
fn a_mutex_lends_its_holder_a_deadline() {
    let _stage = stage();
    let reservation = Reservation {
        runtime_ns: 2_000_000,
        deadline_ns: 20_000_000,
        period_ns: 20_000_000,
    };
    if let Some(seen) = contend_for_mutex(Policy::Deadline(reservation)) {
        assert_boosted(&seen, inversion::SHOWN_DEADLINE);
    }
}

fn contend_for_mutex(policy: Policy) -> Option<Seen> {
    let cues = cues();
    let mutex = Arc::new(PiMutex::new(()));
    let holder = ordinary("holder").spawn({
        let mutex = Arc::clone(&mutex);
        move || {
            let _guard = mutex.lock();
            cues.hold();
        }
    });
    let seen = play(cues, Waiter::Starts(policy, move || drop(mutex.lock())));
    holder.unwrap().join();
    seen
}

#[test]
fn the_control_waits_for_the_hog() {
    /// Free, held, or held with sleepers: the usual futex mutex, which the kernel cannot see
    /// through.
    struct PlainMutex(Futex<Private>);

    impl PlainMutex {
        fn lock(&self) {
            let mut found = self
                .0
                .word()
                .compare_exchange(0, 1, SeqCst, SeqCst)
                .unwrap_or_else(|it| it);
            while found != 0 {
                found = self.0.word().swap(2, SeqCst);
                if found != 0 {
                    let _ = self.0.wait_until(2, None);
                }
            }
        }

        fn unlock(&self) {
            if self.0.word().swap(0, SeqCst) == 2 {
                self.0.wake(1);
            }
        }
    }

    let _stage = stage();
    let cues = cues();
    let mutex = Arc::new(PlainMutex(Futex::new(0)));
    let holder = ordinary("holder").spawn({
        let mutex = Arc::clone(&mutex);
        move || {
            mutex.lock();
            cues.hold();
            mutex.unlock();
        }
    });
    let wait = move || {
        mutex.lock();
        mutex.unlock();
    };
    let seen = play(cues, Waiter::Starts(inversion::WAITER, wait)).unwrap();
    holder.unwrap().join();
    assert_eq!(seen.holder_shown, inversion::SHOWN_ORDINARY, "{seen:?}");
    assert!(
        !seen.is_bounded,
        "nothing to be shown by the others: {seen:?}"
    );
}

#[test]
fn a_notified_waiter_lends_before_it_wakes() {
    let _stage = stage();
    let cues = cues();
    let state = Arc::new((PiMutex::new(false), PiCondvar::new()));
    let waiter = Builder::new("waiter").policy(inversion::WAITER).spawn({
        let state = Arc::clone(&state);
        move || {
            let mut is_told = state.0.lock();
            while !*is_told {
                state.1.wait(&mut is_told);
            }
            inversion::went_on(cues);
        }
    });
    let waiter = waiter.unwrap();
    await_sleep(waiter.tid());
    let holder = ordinary("holder").spawn(move || {
        let mut is_told = state.0.lock();
        *is_told = true;
        state.1.notify_one(&is_told);
        cues.hold();
    });
    let seen = play(cues, Waiter::<fn()>::Waits).unwrap();
    holder.unwrap().join();
    waiter.join();
    assert_boosted(&seen, inversion::SHOWN_FIFO_80);
}

#[test]
fn a_loan_lends_to_the_serving_thread() {
    let _stage = stage();
    let cues = cues();
    let loan = Arc::new(Loan::<Private>::new());
    let server = ordinary("server").spawn({
        let loan = Arc::clone(&loan);
        move || {
            cues.hold();
            assert!(loan.give_back());
        }
    });
    let server = server.unwrap();
    let tid = server.tid();
    let call = move || loan.offer(tid).unwrap().wait().unwrap();
    let seen = play(cues, Waiter::Starts(inversion::WAITER, call)).unwrap();
    server.join();
    assert_boosted(&seen, inversion::SHOWN_FIFO_80);
}

#[test]
fn a_loan_reaches_through_the_servers_own_locks() {
    let _stage = stage();
    let cues = cues();
    let (loan, mutex) = (Arc::new(Loan::<Private>::new()), Arc::new(PiMutex::new(())));
    // The one that everything waits for in the end.
    let holder = ordinary("holder").spawn({
        let mutex = Arc::clone(&mutex);
        move || {
            let _guard = mutex.lock();
            cues.hold();
        }
    });
    let holder = holder.unwrap();
    await_running(&mutex);
    let server = ordinary("server").spawn({
        let loan = Arc::clone(&loan);
        move || {
            drop(mutex.lock());
            assert!(loan.give_back());
        }
    });
    let server = server.unwrap();
    await_sleep(server.tid());
    let tid = server.tid();
    let call = move || loan.offer(tid).unwrap().wait().unwrap();
    let seen = play(cues, Waiter::Starts(inversion::WAITER, call)).unwrap();
    server.join();
    holder.join();
    assert_boosted(&seen, inversion::SHOWN_FIFO_80);
}

/// Until somebody holds the lock.
fn await_running(mutex: &PiMutex<()>) {
    while mutex.try_lock().is_some() {
        std::thread::yield_now();
    }
}

#[test]
fn the_most_urgent_waiter_is_notified_first() {
    let _stage = stage();
    let state = Arc::new((PiMutex::new(0), PiCondvar::new()));
    let place = Arc::new(AtomicU32::new(0));
    let waiters: Vec<_> = [20, 60, 40]
        .into_iter()
        .map(|level| {
            let (state, place) = (Arc::clone(&state), Arc::clone(&place));
            let wait = move || {
                let mut turns = state.0.lock();
                while *turns == 0 {
                    state.1.wait(&mut turns);
                }
                *turns -= 1;
                (place.fetch_add(1, SeqCst), level)
            };
            let builder = Builder::new("waiter").policy(Policy::fifo(level));
            let thread = builder.spawn(wait).unwrap();
            await_sleep(thread.tid());
            thread
        })
        .collect();
    for _ in 0..3 {
        let mut turns = state.0.lock();
        *turns += 1;
        state.1.notify_one(&turns);
    }
    let mut order: Vec<_> = waiters.into_iter().map(|it| it.join()).collect();
    order.sort_unstable();
    assert_eq!(order, [(0, 60), (1, 40), (2, 20)]);
}
