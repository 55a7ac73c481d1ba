// SPDX-License-Identifier: Apache-2.0
//! Loom models of the words that two processes share, on the modelled kernel of `rt`; and of the
//! calls that are out while a node goes.
//!
//! Loans are `rt`'s own, modelled there; here is what a call makes of them. Run by
//! `cargo xtask test --only loom`.

use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

use rt::policy::Tid;
use rt::sync::Loan;
use rt::sync::atomic::Ordering::{Relaxed, SeqCst};
use rt::sync::atomic::{AtomicU32, AtomicU64};
use rt::sync::lend::LendError;
use rt::sys::futex::Private;
use rt::sys::{model, tid};

use crate::lent::seat::{Seat, TOKEN_MIN};
use crate::lent::words;
use crate::out::{CallsOut, GRACE};

/// A due time; `model::pass_time` says when it passes.
const SOME_TIME: u64 = 1;
const SLOT: usize = 3;

/// Up to this many forced switches of thread: all of them take hours.
fn check_within(preemptions_max: usize, body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions_max);
    builder.check(body);
}

/// A bell, as the kernel has it: rung until it is heard.
#[derive(Default)]
struct Bell {
    is_rung: Mutex<bool>,
    rung: Condvar,
}

impl Bell {
    fn ring(&self) {
        *self.is_rung.lock().unwrap() = true;
        self.rung.notify_one();
    }

    fn wait(&self) {
        let mut is_rung = self.is_rung.lock().unwrap();
        while !*is_rung {
            is_rung = self.rung.wait(is_rung).unwrap();
        }
        *is_rung = false;
    }
}

/// What both processes map, for one slot and one looper.
#[derive(Default)]
struct Room {
    posted: AtomicU64,
    sleeping: AtomicU32,
    bell: Bell,
    lock: Loan<Private>,
    back: Loan<Private>,
    turn: AtomicU32,
    /// The messages: plain words here, since the loans must publish them.
    request: AtomicU32,
    answer: AtomicU32,
    looper: AtomicU32,
}

impl Room {
    fn post(&self, slot: usize) {
        let is_sleeping = || self.sleeping.load(SeqCst) != 0;
        words::post(&self.posted, slot, is_sleeping, || self.bell.ring());
    }

    /// As a looper does, until something was posted.
    fn next(&self) -> u64 {
        loop {
            let bits = words::take(&self.posted);
            if bits != 0 {
                return bits;
            }
            if words::fall_asleep(&self.sleeping, || words::is_posted(&self.posted)) {
                self.bell.wait();
                words::wake_up(&self.sleeping);
            }
        }
    }

    /// A looper's thread has begun, and its number is known.
    fn begin(&self) {
        self.looper.store(tid::current(), SeqCst);
    }
}

fn looper_of(room: &Room) -> Tid {
    loop {
        if let Some(tid) = Tid::new(room.looper.load(SeqCst).cast_signed()) {
            return tid;
        }
        thread::yield_now();
    }
}

#[test]
fn a_post_is_never_slept_through() {
    check_within(3, || {
        let room = Arc::new(Room::default());
        let looper = {
            let room = Arc::clone(&room);
            thread::spawn(move || {
                let mut bits = 0;
                while bits != 0b11 {
                    bits |= room.next();
                }
            })
        };
        let other = {
            let room = Arc::clone(&room);
            thread::spawn(move || room.post(1))
        };
        room.post(0);
        other.join().unwrap();
        looper.join().unwrap();
    });
}

#[test]
fn a_call_has_its_own_answer() {
    check_within(3, || {
        let room = Arc::new(Room::default());
        let looper = {
            let room = Arc::clone(&room);
            thread::spawn(move || {
                room.begin();
                for _ in 0..2 {
                    assert_eq!(room.next(), 1 << SLOT);
                    room.answer.store(room.request.load(Relaxed) + 1, Relaxed);
                    assert!(room.lock.give_back());
                }
            })
        };
        let tid = looper_of(&room);
        for value in [10, 20] {
            room.request.store(value, Relaxed);
            let offer = room.lock.offer(tid).unwrap();
            room.post(SLOT);
            assert_eq!(offer.wait(), Ok(()));
            assert_eq!(room.answer.load(Relaxed), value + 1);
        }
        looper.join().unwrap();
    });
}

#[test]
fn a_call_back_and_a_caller_that_gives_up_exclude_each_other() {
    check_within(2, || {
        let room = Arc::new(Room::default());
        let caller = tid::current();
        let looper = {
            let room = Arc::clone(&room);
            thread::spawn(move || {
                room.begin();
                assert_eq!(room.next(), 1 << SLOT);
                let is_heard = words::take_turn(&room.turn);
                if is_heard {
                    let tid = Tid::new(caller.cast_signed()).unwrap();
                    let offer = room.back.offer(tid).unwrap();
                    room.answer.store(1, Relaxed);
                    assert!(room.lock.give_back());
                    // A caller that had given up would never come.
                    assert_eq!(offer.wait(), Ok(()));
                    assert_eq!(room.request.load(Relaxed), 2);
                }
                room.answer.store(3, Relaxed);
                assert!(room.lock.give_back());
                is_heard
            })
        };
        let tid = looper_of(&room);
        words::open(&room.turn);
        let offer = room.lock.offer(tid).unwrap();
        room.post(SLOT);
        let clock = thread::spawn(model::pass_time);
        let mut due_ns = Some(SOME_TIME);
        let mut has_given_up = false;
        loop {
            let outcome = match due_ns {
                Some(due_ns) => offer.look_until(due_ns),
                None => offer.look(),
            };
            match outcome {
                Ok(()) => break,
                Err(LendError::TimedOut) if words::abandon(&room.turn) => {
                    has_given_up = true;
                    break;
                }
                Err(LendError::TimedOut) => due_ns = None,
                Err(error) => panic!("{error}"),
            }
        }
        let is_called_back = !has_given_up && room.answer.load(Relaxed) == 1;
        if is_called_back {
            room.request.store(2, Relaxed);
            words::open(&room.turn);
            let offer = room.lock.offer(tid).unwrap();
            assert!(room.back.give_back());
            assert_eq!(offer.wait(), Ok(()));
        }
        if !has_given_up {
            assert_eq!(room.answer.load(Relaxed), 3);
        }
        assert_eq!(looper.join().unwrap(), is_called_back);
        clock.join().unwrap();
        // Whatever happened: the slot is free again.
        assert!(!room.lock.is_out() && !room.back.is_out());
    });
}

#[test]
fn a_looper_that_dies_in_a_call_is_told() {
    check_within(3, || {
        let room = Arc::new(Room::default());
        let looper = {
            let room = Arc::clone(&room);
            thread::spawn(move || {
                room.begin();
                assert_eq!(room.next(), 1 << SLOT);
                room.lock.end_of_borrower();
            })
        };
        let tid = looper_of(&room);
        let offer = room.lock.offer(tid).unwrap();
        room.post(SLOT);
        assert_eq!(offer.wait(), Err(LendError::BorrowerDied));
        assert!(!room.lock.is_out(), "the slot is retired");
        looper.join().unwrap();
    });
}

const TOKEN: u64 = TOKEN_MIN;
/// A due time that does not pass by itself.
const LATER_NS: u64 = 2_000_000_000;

/// Waits as a caller does, for a loan or for what is brought; says how often something was.
fn sit(seat: &Seat<u32>, offer: &rt::sync::lend::Offer<'_, Private>, taken: &Bell) -> u32 {
    let mut count = 0;
    seat.open(TOKEN);
    loop {
        let looked = match seat.due(LATER_NS) {
            Some(due) => offer.look_recallable(due),
            None => Err(LendError::TimedOut),
        };
        match looked {
            Ok(()) => break,
            Err(LendError::TimedOut) => {
                assert_eq!(seat.take(), Some(7), "nothing was brought");
                count += 1;
                taken.ring();
                seat.open(TOKEN);
            }
            Err(error) => panic!("{error}"),
        }
    }
    if let Some(call) = seat.close(TOKEN) {
        assert_eq!(call, 7);
        count += 1;
        taken.ring();
    }
    count
}

/// The loan comes back when the call was taken: a wait that is not recalled lasts for ever.
#[test]
fn a_call_that_is_brought_ends_the_wait() {
    check_within(3, || {
        let room = Arc::new((Room::default(), Seat::<u32>::default()));
        let lender = Tid::new(tid::current().cast_signed()).unwrap();
        let borrower = {
            let room = Arc::clone(&room);
            thread::spawn(move || {
                let (room, seat) = &*room;
                room.begin();
                assert_eq!(room.next(), 1 << SLOT);
                let is_brought = seat.bring(TOKEN, lender, 7, || ()).is_some();
                if is_brought {
                    room.bell.wait();
                }
                assert!(room.lock.give_back());
                is_brought
            })
        };
        let (room, seat) = &*room;
        let tid = looper_of(room);
        let offer = room.lock.offer(tid).unwrap();
        room.post(SLOT);
        let count = sit(seat, &offer, &room.bell);
        assert_eq!(borrower.join().unwrap(), count == 1);
    });
}

/// Of two that bring one call at once, and an answer, nothing is lost and nothing is there twice.
#[test]
fn what_is_brought_beside_an_answer_is_taken_or_sent_back() {
    check_within(2, || {
        let room = Arc::new((Room::default(), Seat::<u32>::default()));
        let lender = Tid::new(tid::current().cast_signed()).unwrap();
        let borrower = {
            let room = Arc::clone(&room);
            thread::spawn(move || {
                room.0.begin();
                assert_eq!(room.0.next(), 1 << SLOT);
                assert!(room.0.lock.give_back());
            })
        };
        let bearer = {
            let room = Arc::clone(&room);
            thread::spawn(move || room.1.bring(TOKEN, lender, 7, || ()).is_some())
        };
        let (room, seat) = &*room;
        let tid = looper_of(room);
        let offer = room.lock.offer(tid).unwrap();
        room.post(SLOT);
        let count = sit(seat, &offer, &room.bell);
        borrower.join().unwrap();
        assert_eq!(bearer.join().unwrap(), count == 1);
        assert!(!seat.is_open(TOKEN) && seat.take().is_none());
    });
}

/// A process of two loopers, and a thread of it that waits.
#[derive(Default)]
struct Home {
    loopers: [Room; 2],
    away: [AtomicU32; 2],
    /// What the bringer of a call lends.
    bearers: [Loan<Private>; 2],
    seat: Seat<usize>,
    /// Of the call that comes home, and of one that comes of it.
    locks: [Loan<Private>; 2],
}

const COMES_HOME: u64 = 1;
const COMES_OF_IT: u64 = 2;
const IS_OVER: u64 = 4;

impl words::Shown for Home {
    fn is_kept(&self, _: usize) -> bool {
        false
    }

    fn is_asleep(&self, looper: usize) -> bool {
        self.loopers[looper].sleeping.load(SeqCst) != 0
    }

    fn is_away(&self, looper: usize) -> bool {
        self.away[looper].load(SeqCst) != 0
    }
}

impl Home {
    /// As the other process does: lends to a looper by `lock`.
    fn call(&self, lock: usize, turn: usize) -> rt::sync::lend::Offer<'_, Private> {
        let index = words::choose(self, 2, false, turn).unwrap();
        let offer = self.locks[lock].offer(looper_of(&self.loopers[index]));
        self.loopers[index].post(lock);
        offer.unwrap()
    }

    fn run(&self, index: usize, waiting: Tid) {
        let room = &self.loopers[index];
        room.begin();
        loop {
            let bits = room.next();
            if bits & COMES_HOME != 0 {
                let offer = self.bearers[index].offer(waiting).unwrap();
                let leave = || self.away[index].store(1, SeqCst);
                let brought = self.seat.bring(TOKEN, waiting, index, leave);
                assert!(brought.is_some(), "the thread waits for it");
                assert_eq!(offer.wait(), Ok(()));
                self.away[index].store(0, SeqCst);
                assert!(self.locks[0].give_back());
            }
            if bits & COMES_OF_IT != 0 {
                assert!(self.locks[1].give_back());
            }
            if bits & IS_OVER != 0 {
                return;
            }
        }
    }
}

/// A→B→A→B→A, where B is played by the thread that waits: what comes of a call that was brought
/// never waits for who brought it.
fn a_call_comes_of_one_that_was_brought(turn: usize) {
    check_within(2, move || {
        let home = Arc::new(Home::default());
        let waiting = Tid::new(tid::current().cast_signed()).unwrap();
        let loopers = [0, 1].map(|index| {
            let home = Arc::clone(&home);
            thread::spawn(move || home.run(index, waiting))
        });
        home.seat.open(TOKEN);
        let outer = home.call(0, turn);
        let index = loop {
            match home
                .seat
                .due(LATER_NS)
                .map(|due| outer.look_recallable(due))
            {
                Some(Err(LendError::TimedOut)) | None => break home.seat.take().unwrap(),
                Some(looked) => panic!("{looked:?}: nobody has served it"),
            }
        };
        // Another looper is there for it, though it may not sleep yet.
        assert_eq!(home.call(1, turn).wait(), Ok(()));
        home.seat.open(TOKEN);
        assert!(home.bearers[index].give_back());
        assert_eq!(outer.wait(), Ok(()));
        for room in &home.loopers {
            room.post(IS_OVER.trailing_zeros() as usize);
        }
        for looper in loopers {
            looper.join().unwrap();
        }
    });
}

#[test]
fn what_comes_of_a_call_never_waits_for_the_first_that_brought_it() {
    a_call_comes_of_one_that_was_brought(0);
}

#[test]
fn what_comes_of_a_call_never_waits_for_the_second_that_brought_it() {
    a_call_comes_of_one_that_was_brought(1);
}

/// A node that the other program holds until it lets go, as `Exports` keeps it.
#[derive(Default)]
struct Kept {
    is_exported: bool,
    /// The epoch in which its last count went down, until it goes for good.
    went: Option<u64>,
}

/// One node, and the calls whose answers may name it.
struct Naming {
    calls: CallsOut,
    /// The other program holds the node: its answers may name it.
    is_held: Mutex<bool>,
    kept: Mutex<Kept>,
}

impl Naming {
    fn new() -> Self {
        Self {
            calls: CallsOut::default(),
            is_held: Mutex::new(true),
            kept: Mutex::new(Kept {
                is_exported: true,
                went: None,
            }),
        }
    }

    /// A call; where its answer names the node, the node is there.
    fn call(&self) {
        let out = self.calls.begin();
        let is_named = *self.is_held.lock().unwrap();
        if is_named {
            let kept = self.kept.lock().unwrap();
            assert!(
                kept.is_exported || kept.went.is_some(),
                "an answer names a node that is gone"
            );
        }
        self.end(out);
    }

    fn end(&self, out: crate::out::Out) {
        if self.calls.end(out) {
            self.collect(&mut self.kept.lock().unwrap());
        }
    }

    /// The other program lets go, and its message arrives.
    fn let_go(&self) {
        *self.is_held.lock().unwrap() = false;
        let mut kept = self.kept.lock().unwrap();
        kept.is_exported = false;
        kept.went = Some(self.calls.epoch());
        self.collect(&mut kept);
    }

    /// `Exports::collect`, for one node.
    fn collect(&self, kept: &mut Kept) {
        self.calls.set_leaving(usize::from(kept.went.is_some()));
        let epoch = self.calls.advance();
        kept.went = kept.went.filter(|went| went + GRACE > epoch);
        self.calls.set_leaving(usize::from(kept.went.is_some()));
    }

    fn assert_gone(&self) {
        let kept = self.kept.lock().unwrap();
        assert!(
            !kept.is_exported && kept.went.is_none(),
            "it stays for ever"
        );
    }
}

#[test]
fn a_node_outlives_the_calls_that_may_name_it() {
    check_within(3, || {
        let naming = Arc::new(Naming::new());
        let caller = {
            let naming = Arc::clone(&naming);
            thread::spawn(move || naming.call())
        };
        let other = {
            let naming = Arc::clone(&naming);
            thread::spawn(move || naming.call())
        };
        naming.let_go();
        caller.join().unwrap();
        other.join().unwrap();
        naming.assert_gone();
    });
}

#[test]
fn epochs_go_on_beside_a_call_that_begins() {
    check_within(3, || {
        let naming = Arc::new(Naming::new());
        // The epoch has moved on by what went before, and moves on with each call that ends.
        let earlier = naming.calls.begin();
        naming.calls.set_leaving(1);
        naming.calls.advance();
        let caller = {
            let naming = Arc::clone(&naming);
            thread::spawn(move || naming.call())
        };
        naming.end(earlier);
        naming.let_go();
        caller.join().unwrap();
        naming.assert_gone();
    });
}
