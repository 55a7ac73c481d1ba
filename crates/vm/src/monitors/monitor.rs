// SPDX-License-Identifier: Apache-2.0
//! Monitors and identity hashes: what becomes of a [`lock_word`].
//!
//! Who contends inflates: the monitor's PI word gets the owner's number, so
//! that the kernel lends the owner priority although it never called it. The
//! owner's thin unlock fails, finds the monitor and hands over there. A monitor
//! stays with its object; once the object is gone its record serves another.

use abi::object as header;
use core::cell::Cell;
use core::sync::atomic::{AtomicU32, Ordering};
use rt::clock::{Clock, Monotonic};
use rt::sync::PiWord;
use rt::sys::futex::Patience;

use crate::classes::object::ObjectRef;
use crate::memory;
use crate::memory::table::Table;
use crate::monitors::java_thread::{self, Wait};
use crate::objects::heap_binding;
use crate::sync::lock_word::{
    self, FAT, HASH, RECURSION_MAX, RECURSION_SHIFT, TAG, THIN, TID, VALUE,
};
use crate::sync::waiters::Waiters;
use crate::threads::ledger;
use crate::threads::noted_locks::NotedLocks;
use crate::threads::thread::{Thread, Thrown};

/// An inflated lock. Cells belong to the holder of `word`.
struct Monitor {
    /// The object whose lock word names it; 0 while none does.
    object: AtomicU32,
    word: PiWord,
    recursion: Cell<u32>,
    hash: AtomicU32,
    waiters: Waiters,
}

// SAFETY: 1. `recursion` and `waiters` are touched by the holder of `word` only, and by the maker
// of a monitor that nobody names yet.
unsafe impl Sync for Monitor {}

impl Default for Monitor {
    fn default() -> Self {
        Self {
            object: AtomicU32::new(0),
            word: PiWord::new(),
            recursion: Cell::new(0),
            hash: AtomicU32::new(0),
            waiters: Waiters::new(),
        }
    }
}

/// Threads that wait for each other in a circle wait for ever, as in Java; an owner that ended with
/// the lock held never gives it back.
const PATIENCE: Patience = Patience {
    look_ns: 10_000_000,
    looks_max: None,
    is_for_the_gone: true,
};

/// How often an ordinary thread looks at a held monitor before it waits in the kernel; none until
/// [`prepare`]. A real-time thread does not: its wait lends from the first instruction on.
static LOOKS: AtomicU32 = AtomicU32::new(0);
/// Some 10 µs.
const LOOKS_MAX: u32 = 256;

static MONITORS: Table<Monitor> = Table::new();
/// Numbers in use at which the next look for monitors of dead objects is worth its time.
static SWEEP_AT: AtomicU32 = AtomicU32::new(SWEEP_STEP);
/// Monitors of dead objects that may pile up: 80 bytes each.
const SWEEP_STEP: u32 = 1024;
/// Numbers in use.
static IN_USE: AtomicU32 = AtomicU32::new(0);

fn word(object: ObjectRef) -> &'static AtomicU32 {
    memory::atomic_u32(object.at(header::LOCK_OFFSET))
}

fn monitor_of(word: u32) -> &'static Monitor {
    MONITORS.at(word & VALUE)
}

/// Gives back the monitors of objects that are gone, if there may be many. On the collector's
/// thread, after a collection: a user of a monitor keeps its object alive, and only the object's
/// lock word names it.
pub(crate) fn sweep() {
    MONITORS.prepare();
    if IN_USE.load(Ordering::Relaxed) < SWEEP_AT.load(Ordering::Relaxed) {
        return;
    }
    for index in 0..MONITORS.count() {
        let monitor = MONITORS.at(index);
        let owner = ObjectRef(monitor.object.load(Ordering::Acquire));
        if owner.is_null() {
            continue;
        }
        let found = heap_binding::heap().object_at(owner.0);
        let exists = found.is_some_and(|found| found.bits() == owner.0);
        if !exists || word(owner).load(Ordering::Acquire) != FAT | index {
            monitor.object.store(0, Ordering::Release);
            give_back(index);
        }
    }
    let left = IN_USE.load(Ordering::Relaxed);
    SWEEP_AT.store(left + left / 2 + SWEEP_STEP, Ordering::Relaxed);
}

/// Makes monitors for the start, and learns whether looking is any use: not where the holder needs
/// the same processor.
pub(crate) fn prepare() {
    MONITORS.prepare();
    let are_several = std::thread::available_parallelism().is_ok_and(|it| it.get() > 1);
    LOOKS.store(if are_several { LOOKS_MAX } else { 0 }, Ordering::Relaxed);
}

/// How often a thread that needed a monitor had to make memory for more of them.
pub(crate) fn late_chunks() -> u32 {
    MONITORS.late()
}

fn give_back(index: u32) {
    IN_USE.fetch_sub(1, Ordering::Relaxed);
    MONITORS.give_back(index);
}

/// Takes the object's monitor.
pub(crate) fn enter(thread: &Thread, object: ObjectRef) {
    let word = word(object);
    loop {
        let now = word.load(Ordering::Acquire);
        match now & TAG {
            0 if now == 0 => {
                let thin = lock_word::thin(thread.tid());
                if word
                    .compare_exchange(0, thin, Ordering::Acquire, Ordering::Relaxed)
                    .is_ok()
                {
                    return;
                }
            }
            THIN if now & TID == thread.tid()
                && (now & VALUE) >> RECURSION_SHIFT < RECURSION_MAX =>
            {
                let deeper = now + (1 << RECURSION_SHIFT);
                if word
                    .compare_exchange(now, deeper, Ordering::Relaxed, Ordering::Relaxed)
                    .is_ok()
                {
                    return;
                }
            }
            FAT => return monitor_of(now).enter(thread, object),
            _ => inflate(object, now),
        }
    }
}

/// Gives the object's monitor back.
pub(crate) fn exit(thread: &Thread, object: ObjectRef) -> Result<(), Thrown> {
    let word = word(object);
    loop {
        let now = word.load(Ordering::Acquire);
        if !is_owner(thread, now) {
            return Err(not_owner(thread));
        }
        if now & TAG == FAT {
            monitor_of(now).exit();
            return Ok(());
        }
        let less = if (now & VALUE) >> RECURSION_SHIFT > 0 {
            now - (1 << RECURSION_SHIFT)
        } else {
            0
        };
        if word
            .compare_exchange(now, less, Ordering::Release, Ordering::Relaxed)
            .is_ok()
        {
            return Ok(());
        }
    }
}

/// Gives back what native code has locked: the thread ends, and its number may come again.
pub(crate) fn release_all(thread: &Thread, locks: &NotedLocks) {
    while let Some(object) = locks.take_last(0) {
        while holds(thread, object) {
            let _ = exit(thread, object);
        }
    }
}

fn is_owner(thread: &Thread, now: u32) -> bool {
    match now & TAG {
        THIN => now & TID == thread.tid(),
        FAT => monitor_of(now).owner() == thread.tid(),
        _ => false,
    }
}

/// Whether the calling thread holds the object's monitor.
pub(crate) fn holds(thread: &Thread, object: ObjectRef) -> bool {
    is_owner(thread, word(object).load(Ordering::Acquire))
}

/// Number of the thread that holds the object's monitor; 0 for none. `object` may be what a stale
/// word of a stack names and be freed meanwhile, so that the word says anything.
pub(crate) fn owner_of(object: ObjectRef) -> u32 {
    let now = word(object).load(Ordering::Acquire);
    match now & TAG {
        THIN => now & TID,
        FAT => MONITORS.find(now & VALUE).map_or(0, Monitor::owner),
        _ => 0,
    }
}

fn not_owner(thread: &Thread) -> Thrown {
    thread.throw(
        "java/lang/IllegalMonitorStateException",
        "current thread is not owner",
    )
}

/// Puts a monitor in place of `now`, if that is still there. The new monitor is
/// held by the thin lock's holder.
fn inflate(object: ObjectRef, now: u32) {
    let (owner, recursion, hash) = match now & TAG {
        THIN => (now & TID, (now & VALUE) >> RECURSION_SHIFT, 0),
        HASH => (0, 0, now & VALUE),
        _ => (0, 0, 0),
    };
    let index = MONITORS.take();
    IN_USE.fetch_add(1, Ordering::Relaxed);
    let monitor = MONITORS.at(index);
    monitor.word.futex().word().store(owner, Ordering::Relaxed);
    monitor.recursion.set(recursion);
    monitor.hash.store(hash, Ordering::Relaxed);
    // Publishes the monitor.
    let fat = FAT | index;
    match word(object).compare_exchange(now, fat, Ordering::AcqRel, Ordering::Relaxed) {
        // From here on `sweep` looks after it: the caller keeps the object alive.
        Ok(_) => monitor.object.store(object.0, Ordering::Release),
        Err(_) => give_back(index),
    }
}

/// The object's monitor, made if need be.
fn inflated(object: ObjectRef) -> &'static Monitor {
    let word = word(object);
    loop {
        let now = word.load(Ordering::Acquire);
        if now & TAG == FAT {
            return monitor_of(now);
        }
        inflate(object, now);
    }
}

impl Monitor {
    fn owner(&self) -> u32 {
        self.word.holder()
    }

    fn enter(&self, thread: &Thread, object: ObjectRef) {
        if self.owner() == thread.tid() {
            self.recursion.set(self.recursion.get() + 1);
            return;
        }
        self.acquire(thread, object);
        self.recursion.set(0);
    }

    fn acquire(&self, thread: &Thread, object: ObjectRef) {
        if self.word.try_lock() {
            return;
        }
        let may_look = !thread.with_mutator(|it| it.is_real_time());
        if may_look && self.word.try_lock_looking(LOOKS.load(Ordering::Relaxed)) {
            return;
        }
        let class = object.class();
        let wait = || {
            let wait = Wait::Monitor(object);
            java_thread::waiting(thread, wait, object, || {
                self.word.lock_patiently(PATIENCE);
            });
        };
        ledger::timed(thread, wait, |ledger, ns, ()| {
            ledger.monitors.add(ns, Some(class));
        });
    }

    fn exit(&self) {
        match self.recursion.get() {
            0 => self.word.unlock(),
            deeper => self.recursion.set(deeper - 1),
        }
    }
}

/// `Object.wait`: zero milliseconds wait for ever.
pub(crate) fn wait(thread: &Thread, object: ObjectRef, timeout_ms: i64) -> Result<(), Thrown> {
    if !holds(thread, object) {
        return Err(not_owner(thread));
    }
    // An old permit goes before the look for an interrupt: one that comes later leaves a new
    // permit.
    thread.waiter.try_park();
    if java_thread::take_interrupt(thread) {
        return Err(interrupted(thread));
    }
    let due_ns = due_after(timeout_ms);
    let monitor = inflated(object);
    // SAFETY: 1. A thread's record stays while it is in here, and it leaves the list below. 2. It
    // holds the monitor, as do all who touch the list.
    unsafe { monitor.waiters.enter(&thread.waiter) };
    let recursion = monitor.recursion.replace(0);
    monitor.word.unlock();
    let has_timeout = due_ns.is_some();
    let wait = Wait::Notification {
        object,
        has_timeout,
    };
    let class = object.class();
    let wait = || java_thread::waiting(thread, wait, object, || thread.waiter.park_until(due_ns));
    ledger::timed(thread, wait, |ledger, ns, _| {
        ledger.ownerless.add(ns, Some(class));
    });
    monitor.acquire(thread, object);
    monitor.recursion.set(recursion);
    let was_notified = !monitor.waiters.leave(&thread.waiter);
    if !was_notified && java_thread::take_interrupt(thread) {
        return Err(interrupted(thread));
    }
    Ok(())
}

/// `Object.notify` or `notifyAll`.
pub(crate) fn notify(thread: &Thread, object: ObjectRef, is_all: bool) -> Result<(), Thrown> {
    if !holds(thread, object) {
        return Err(not_owner(thread));
    }
    let now = word(object).load(Ordering::Acquire);
    if now & TAG != FAT {
        return Ok(());
    }
    let waiters = &monitor_of(now).waiters;
    // A woken thread waits for the monitor next: its record stays until the caller gives that up.
    while let Some(waiter) = waiters.take_first() {
        waiter.unpark();
        if !is_all {
            break;
        }
    }
    Ok(())
}

/// A due time on the monotonic clock; zero is none.
pub(crate) fn due_after(timeout_ms: i64) -> Option<u64> {
    let timeout_ns = u64::try_from(timeout_ms).ok()?.saturating_mul(1_000_000);
    (timeout_ms > 0).then(|| Monotonic.now_ns().saturating_add(timeout_ns))
}

pub(crate) fn interrupted(thread: &Thread) -> Thrown {
    thread.throw_plain("java/lang/InterruptedException")
}

/// The identity hash: 30 bits, not zero, the same for life.
pub(crate) fn identity_hash(object: ObjectRef) -> i32 {
    let word = word(object);
    loop {
        let now = word.load(Ordering::Acquire);
        match now & TAG {
            HASH => return (now & VALUE) as i32,
            0 => {
                let hash = next_hash();
                let with = HASH | hash;
                if word
                    .compare_exchange(now, with, Ordering::AcqRel, Ordering::Relaxed)
                    .is_ok()
                {
                    return hash as i32;
                }
            }
            FAT => {
                let monitor = monitor_of(now);
                let _ = monitor.hash.compare_exchange(
                    0,
                    next_hash(),
                    Ordering::AcqRel,
                    Ordering::Relaxed,
                );
                return monitor.hash.load(Ordering::Acquire) as i32;
            }
            _ => inflate(object, now),
        }
    }
}

static HASH_STATE: AtomicU32 = AtomicU32::new(0x2545_f491);

/// Hashes come in another order from now on.
pub(crate) fn seed_hashes(seed: u32) {
    HASH_STATE.store(seed | 1, Ordering::Relaxed);
}

/// Xorshift; any non-zero 30 bits do.
fn next_hash() -> u32 {
    loop {
        let now = HASH_STATE.load(Ordering::Relaxed);
        let mut next = now ^ (now << 13);
        next ^= next >> 17;
        next ^= next << 5;
        let swapped = HASH_STATE.compare_exchange(now, next, Ordering::Relaxed, Ordering::Relaxed);
        if swapped.is_ok() && next & VALUE != 0 {
            return next & VALUE;
        }
    }
}
