// SPDX-License-Identifier: Apache-2.0
//! The kernel's side of [`futex`](crate::sys::futex) for loom (`--cfg loom`): queues, holders,
//! hand-over, death.
//!
//! Each call is one step under one lock, as the kernel's hash-bucket lock makes it; user space
//! changes words between and during them, so words are read and written by compare-and-swap alone.
//! Priorities order the queues; whether a boosted thread *runs* is the real kernel's part, shown by
//! tests/inherit.rs. Time passes when a model calls [`pass_time`], threads end when it calls
//! [`exit`].

use std::sync::Arc;

use loom::sync::atomic::AtomicU32;
use loom::sync::atomic::Ordering::SeqCst;
use loom::sync::{Condvar, Mutex, MutexGuard};

use crate::sync::Recall;
use crate::sys::futex::{FutexError, OWNER_DIED, TID_MASK, WAITERS};

type Outcome = Result<(), FutexError>;

/// Where a sleeper stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Queue {
    Plain,
    Holder,
    Condition,
}

struct Sleeper {
    address: usize,
    queue: Queue,
    tid: u32,
    has_due: bool,
    is_recallable: bool,
    outcome: Option<Outcome>,
    bell: Arc<Condvar>,
}

/// How long a sleeper sleeps at most.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Due {
    Never,
    AtSomeTime,
    /// The same, and others may end it.
    Recallable,
}

impl Due {
    fn of(due_ns: Option<u64>) -> Self {
        due_ns.map_or(Self::Never, |_| Self::AtSomeTime)
    }
}

#[derive(Default)]
struct State {
    /// In order of arrival.
    sleepers: Vec<Sleeper>,
    /// Index: thread number − 1.
    threads: Vec<Thread>,
    /// Whether due times have passed.
    is_late: bool,
}

#[derive(Clone, Copy, Default)]
struct Thread {
    priority: u32,
    has_ended: bool,
}

loom::lazy_static! {
    static ref STATE: Mutex<State> = Mutex::new(State::default());
}

loom::thread_local! {
    static TID: u32 = {
        let mut state = lock();
        state.threads.push(Thread::default());
        state.threads.len() as u32
    };
}

fn lock() -> MutexGuard<'static, State> {
    STATE.lock().expect("a failed model ends the run")
}

/// The calling thread's number.
pub fn tid() -> u32 {
    TID.with(|tid| *tid)
}

/// Gives the calling thread a real-time priority; zero at first.
pub fn set_priority(priority: u32) {
    let tid = tid();
    lock().thread(tid).priority = priority;
}

/// All due times pass: bounded waits, now and later, end.
pub fn pass_time() {
    let mut state = lock();
    state.is_late = true;
    for sleeper in state.sleepers.iter_mut().filter(|it| it.has_due) {
        sleeper.wake(Err(FutexError::TimedOut));
    }
}

/// The calling thread ends; what it holds with sleepers goes to the next, marked.
pub fn exit(words: &[&AtomicU32]) {
    let tid = tid();
    let mut state = lock();
    state.thread(tid).has_ended = true;
    for word in words {
        if read(word) & TID_MASK == tid && read(word) & WAITERS != 0 {
            state.hand_over(word, OWNER_DIED);
        }
    }
}

impl State {
    fn thread(&mut self, tid: u32) -> &mut Thread {
        &mut self.threads[tid as usize - 1]
    }

    /// The most urgent sleeper of a queue, the first of equals.
    fn top(&self, address: usize, queue: Queue) -> Option<usize> {
        let is_there =
            |it: &Sleeper| it.address == address && it.queue == queue && it.outcome.is_none();
        (0..self.sleepers.len())
            .filter(|&index| is_there(&self.sleepers[index]))
            .min_by_key(|&index| {
                let tid = self.sleepers[index].tid;
                u32::MAX - self.threads[tid as usize - 1].priority
            })
    }

    /// Gives a held word to its most urgent sleeper, or frees it.
    fn hand_over(&mut self, word: &AtomicU32, mark: u32) {
        match self.top(address(word), Queue::Holder) {
            Some(index) => {
                write(word, self.sleepers[index].tid | WAITERS | mark);
                self.sleepers[index].wake(Ok(()));
            }
            None => write(word, mark),
        }
    }
}

impl Sleeper {
    fn wake(&mut self, outcome: Outcome) {
        if self.outcome.is_none() {
            self.outcome = Some(outcome);
            self.bell.notify_one();
        }
    }
}

/// Sleeps in a queue until woken, with the state's lock as the kernel's.
fn sleep(mut state: MutexGuard<'static, State>, address: usize, queue: Queue, due: Due) -> Outcome {
    let has_due = due != Due::Never;
    let tid = tid();
    let bell = Arc::new(Condvar::new());
    state.sleepers.push(Sleeper {
        address,
        queue,
        tid,
        has_due,
        is_recallable: due == Due::Recallable,
        outcome: None,
        bell: Arc::clone(&bell),
    });
    if has_due && state.is_late {
        state.sleepers.last_mut().expect("just pushed").outcome = Some(Err(FutexError::TimedOut));
    }
    loop {
        let index = state
            .sleepers
            .iter()
            .position(|it| it.tid == tid)
            .expect("asleep");
        if let Some(outcome) = state.sleepers[index].outcome {
            state.sleepers.remove(index);
            return outcome;
        }
        state = bell.wait(state).expect("a failed model ends the run");
    }
}

fn address(word: &AtomicU32) -> usize {
    std::ptr::from_ref(word).addr()
}

/// A value no older than what any earlier call into the kernel saw: the lock orders them.
fn read(word: &AtomicU32) -> u32 {
    word.load(SeqCst)
}

fn write(word: &AtomicU32, value: u32) {
    word.swap(value, SeqCst);
}

fn swap_if(word: &AtomicU32, found: u32, value: u32) -> bool {
    word.compare_exchange(found, value, SeqCst, SeqCst).is_ok()
}

pub(super) fn wait(word: &AtomicU32, _: bool, expected: u32, due_ns: Option<u64>) -> Outcome {
    // The number is taken before the lock, which its first use needs.
    tid();
    let state = lock();
    if read(word) != expected {
        return Err(FutexError::Changed);
    }
    sleep(state, address(word), Queue::Plain, Due::of(due_ns))
}

pub(super) fn wait_recallable(word: &AtomicU32, _: bool, expected: u32, due: &Recall) -> Outcome {
    tid();
    let state = lock();
    if read(word) != expected {
        return Err(FutexError::Changed);
    }
    // As in `lock_pi_recallable`.
    if due.is_past() {
        return Err(FutexError::TimedOut);
    }
    sleep(state, address(word), Queue::Plain, Due::Recallable)
}

pub(super) fn wake(word: &AtomicU32, _: bool, count: u32) -> usize {
    let mut state = lock();
    for woken in 0..count as usize {
        match state.top(address(word), Queue::Plain) {
            Some(index) => state.sleepers[index].wake(Ok(())),
            None => return woken,
        }
    }
    count as usize
}

pub(super) fn lock_pi(word: &AtomicU32, _: bool, due_ns: Option<u64>) -> Outcome {
    let own = tid();
    let mut state = lock();
    loop {
        match claim(&mut state, word, own) {
            Err(FutexError::Changed) => {}
            outcome => return outcome,
        }
        let found = read(word);
        if found & TID_MASK != 0 && swap_if(word, found, found | WAITERS) {
            return sleep(state, address(word), Queue::Holder, Due::of(due_ns));
        }
    }
}

/// A signal comes to a thread: a wait whose due time was put into the past ends. What sleeps here
/// by another time would be restarted by the kernel, and goes on.
pub(crate) fn interrupt(tid: u32) {
    let mut state = lock();
    for sleeper in &mut state.sleepers {
        if sleeper.tid == tid && sleeper.is_recallable {
            sleeper.wake(Err(FutexError::TimedOut));
        }
    }
}

pub(super) fn lock_pi_recallable(word: &AtomicU32, _: bool, due: &Recall) -> Outcome {
    let own = tid();
    let mut state = lock();
    loop {
        match claim(&mut state, word, own) {
            Err(FutexError::Changed) => {}
            outcome => return outcome,
        }
        // Under the lock under which the signal comes: before it, or the sleeper is seen by it.
        if due.is_past() {
            return Err(FutexError::TimedOut);
        }
        let found = read(word);
        if found & TID_MASK != 0 && swap_if(word, found, found | WAITERS) {
            return sleep(state, address(word), Queue::Holder, Due::Recallable);
        }
    }
}

pub(super) fn try_lock_pi(word: &AtomicU32, _: bool) -> Outcome {
    let own = tid();
    claim(&mut lock(), word, own)
}

/// Takes a word for `own` if nobody alive holds it; `Changed` if somebody does.
fn claim(state: &mut State, word: &AtomicU32, own: u32) -> Outcome {
    loop {
        let found = read(word);
        match found & TID_MASK {
            0 => {
                if swap_if(word, found, own | (found & OWNER_DIED)) {
                    return Ok(());
                }
            }
            holder if holder == own => return Err(FutexError::Deadlock),
            holder if state.thread(holder).has_ended => return Err(FutexError::OwnerGone),
            _ => return Err(FutexError::Changed),
        }
    }
}

pub(super) fn unlock_pi(word: &AtomicU32, _: bool) -> Outcome {
    let own = tid();
    let mut state = lock();
    if read(word) & TID_MASK != own {
        return Err(FutexError::NotOwner);
    }
    state.hand_over(word, 0);
    Ok(())
}

pub(super) fn wait_requeue_pi(
    word: &AtomicU32,
    _: bool,
    expected: u32,
    due_ns: Option<u64>,
    _target: &AtomicU32,
) -> Outcome {
    tid();
    let state = lock();
    if read(word) != expected {
        return Err(FutexError::Changed);
    }
    sleep(state, address(word), Queue::Condition, Due::of(due_ns))
}

pub(super) fn requeue_pi(
    word: &AtomicU32,
    _: bool,
    expected: u32,
    queue_max: u32,
    target: &AtomicU32,
) -> Result<usize, FutexError> {
    let mut state = lock();
    if read(word) != expected {
        return Err(FutexError::Changed);
    }
    let mut moved = 0;
    while moved <= queue_max as usize
        && let Some(index) = state.top(address(word), Queue::Condition)
    {
        let sleeper_tid = state.sleepers[index].tid;
        loop {
            let found = read(target);
            if found & TID_MASK == 0 && swap_if(target, found, sleeper_tid | WAITERS) {
                state.sleepers[index].wake(Ok(()));
                break;
            }
            if found & TID_MASK != 0 && swap_if(target, found, found | WAITERS) {
                state.sleepers[index].address = address(target);
                state.sleepers[index].queue = Queue::Holder;
                break;
            }
        }
        moved += 1;
    }
    Ok(moved)
}
