// SPDX-License-Identifier: Apache-2.0
//! [`Lending`]: a real-time thread that parks for a lock of `java.util.concurrent` lends its
//! priority to the lock's owner.
//!
//! Such a lock is an `AbstractOwnableSynchronizer`: the blocker of the park names its owner. The
//! waiter puts the owner's number into a word of its own and waits there as for a
//! priority-inheritance futex, so the kernel lends. The unparker is nearly always that owner,
//! which releases the word; anybody else sends a signal, whose handler empties the word, upon which
//! the restarted system call takes it.
//!
//! A lender looks again, by a return without reason as `park` may have, when its borrower unparks
//! anyone (it may have released the lock) or parks itself. Without an owner, as between release and
//! the next thread's turn, it lends to the first in the queue; of an owner that waits for another
//! such lock, to that one's owner.

use core::sync::atomic::{AtomicU32, Ordering, fence};
use std::sync::{Arc, OnceLock};

use rt::policy::{Policy, Tid};
use rt::sys::futex::{FutexError, TID_MASK};

use crate::classes::class::Class;
use crate::classes::known::{self, offset};
use crate::classes::loader;
use crate::classes::object::ObjectRef;
use crate::console;
use crate::monitors::java_thread;
use crate::sync::lock::own_tid;
use crate::threads::thread::{self, Thread};

/// Locks whose owners wait for each other's, in a row.
const CHAIN_MAX: usize = 8;

/// Fields of the class library that say who owns a lock and who waits for it.
struct Fields {
    owned: &'static Class,
    owner: u32,
    queued: &'static Class,
    head: u32,
    next: u32,
    waiter: u32,
    exclusive: &'static Class,
}

/// How a park ended.
pub(crate) enum Parked {
    /// It lent, or had to look again.
    Lending,
    /// There is nobody to lend to, or nothing to lend.
    Plainly,
}

/// Parks in native state if the calling thread can lend its priority to somebody; `Plainly`: not
/// done.
pub(crate) fn park(thread: &'static Thread, due_ns: Option<u64>) -> Parked {
    release_lenders(thread);
    let blocker = blocker_of(thread);
    let Some(borrower) = blocker.and_then(|blocker| borrower(thread, blocker)) else {
        return Parked::Plainly;
    };
    if !is_urgent() {
        return Parked::Plainly;
    }
    let lending = &thread.lending;
    lending.word.word().store(borrower.tid(), Ordering::SeqCst);
    enlist(&borrower, thread);
    // A changer of the owner looks at the list afterwards, an unparker at the word.
    fence(Ordering::SeqCst);
    let again = blocker_of(thread).and_then(|blocker| self::borrower(thread, blocker));
    let is_same = again.is_some_and(|again| Arc::ptr_eq(&again, &borrower));
    let mut parked = Parked::Lending;
    if is_same && !thread.parker.try_park() {
        let has_timeout = due_ns.is_some();
        let wait = java_thread::Wait::Permit { has_timeout };
        let outcome = java_thread::waiting(thread, wait, ObjectRef::NULL, || {
            lending.word.lock_pi_until(due_ns)
        });
        if let Err(FutexError::OwnerGone | FutexError::Deadlock) = outcome {
            parked = Parked::Plainly;
        }
    }
    delist(&borrower, thread);
    lending.word.word().store(0, Ordering::SeqCst);
    if thread.parker.try_park() {
        parked = Parked::Lending;
    }
    parked
}

/// Gives the thread behind `target`, if it runs, its permit, by the calling thread.
pub(crate) fn unpark(thread: &Thread, target: ObjectRef) {
    java_thread::with_thread_of(target, |target| {
        target.parker.unpark();
        fence(Ordering::SeqCst);
        let lent_to = target.lending.word.word().load(Ordering::SeqCst) & TID_MASK;
        if lent_to != 0 && lent_to != own_tid() {
            // SAFETY: 1. The thread has not ended, and handles the signal.
            unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), target.tid(), signal()) };
        } else if lent_to != 0 {
            release(target);
        }
    });
    release_lenders(thread);
}

/// Those who lend to the calling thread look again.
fn release_lenders(thread: &Thread) {
    let lending = &thread.lending;
    if lending.lender_count.load(Ordering::SeqCst) == 0 {
        return;
    }
    let lenders = lending.lenders.lock();
    let mut next = *lenders;
    while let Some(lender) = next {
        release(lender);
        next = lender.lending.next.get();
    }
}

/// By the borrower itself.
fn release(lender: &Thread) {
    let futex = &lender.lending.word;
    let own = own_tid();
    let freed = futex
        .word()
        .compare_exchange(own, 0, Ordering::SeqCst, Ordering::SeqCst);
    if let Err(found) = freed
        && found & TID_MASK == own
    {
        // Fails if the waiter has left: then it does not wait.
        let _ = futex.unlock_pi();
    }
}

fn enlist(borrower: &Thread, lender: &'static Thread) {
    let mut first = borrower.lending.lenders.lock();
    lender.lending.next.set(*first);
    *first = Some(lender);
    borrower.lending.lender_count.fetch_add(1, Ordering::SeqCst);
}

fn delist(borrower: &Thread, lender: &'static Thread) {
    let mut first = borrower.lending.lenders.lock();
    let is_it = |other: Option<&'static Thread>| other.is_some_and(|it| core::ptr::eq(it, lender));
    if is_it(*first) {
        *first = lender.lending.next.get();
    } else {
        let mut at = *first;
        while let Some(other) = at {
            if is_it(other.lending.next.get()) {
                other.lending.next.set(lender.lending.next.get());
                break;
            }
            at = other.lending.next.get();
        }
    }
    borrower.lending.lender_count.fetch_sub(1, Ordering::SeqCst);
}

/// Whether the calling thread has a real-time policy of its own. One system call.
fn is_urgent() -> bool {
    Policy::of(Tid::current()).is_ok_and(Policy::is_real_time)
}

/// None as long as the program has not loaded these classes: then nobody waits for such a lock.
fn fields() -> Option<&'static Fields> {
    static FIELDS: OnceLock<Fields> = OnceLock::new();
    /// Classes that were defined when these were sought in vain. Every park asks, and names are
    /// found under locks that all threads share.
    static SOUGHT_AT: AtomicU32 = AtomicU32::new(0);
    if let Some(fields) = FIELDS.get() {
        return Some(fields);
    }
    let defined = loader::defined_count();
    // Pairs with nothing: who reads an old number seeks once more.
    if SOUGHT_AT.load(Ordering::Relaxed) == defined {
        return None;
    }
    let Some(found) = find_fields() else {
        SOUGHT_AT.store(defined, Ordering::Relaxed);
        return None;
    };
    Some(FIELDS.get_or_init(|| found))
}

fn find_fields() -> Option<Fields> {
    const PACKAGE: &str = "java/util/concurrent/locks/";
    let class = |name: &str| crate::classes::loader::loaded(&format!("{PACKAGE}{name}"));
    let owned = class("AbstractOwnableSynchronizer")?;
    let queued = class("AbstractQueuedSynchronizer")?;
    let node = class("AbstractQueuedSynchronizer$Node")?;
    let exclusive = class("AbstractQueuedSynchronizer$ExclusiveNode")?;
    Some(Fields {
        owned,
        owner: offset(owned, "exclusiveOwnerThread"),
        queued,
        head: offset(queued, "head"),
        next: offset(node, "next"),
        waiter: offset(node, "waiter"),
        exclusive,
    })
}

/// What a thread is parked for.
pub(crate) fn blocker_of(thread: &Thread) -> Option<ObjectRef> {
    static BLOCKER: OnceLock<u32> = OnceLock::new();
    let object = thread.object().some()?;
    let blocker = BLOCKER.get_or_init(|| offset(known::known().thread, "parkBlocker"));
    object.get_ref(*blocker).some()
}

/// Who must run so that a thread that waits for `blocker` can go on.
fn borrower(waiter: &Thread, blocker: ObjectRef) -> Option<Arc<Thread>> {
    let fields = fields()?;
    let mut found: Option<Arc<Thread>> = None;
    let mut blocker = Some(blocker);
    for _ in 0..CHAIN_MAX {
        let next = blocker.and_then(|blocker| turn(fields, blocker));
        let Some(next) = next.and_then(java_thread::of_object) else {
            break;
        };
        let is_own = core::ptr::eq(Arc::as_ptr(&next), waiter);
        if is_own
            || found
                .as_ref()
                .is_some_and(|found| Arc::ptr_eq(found, &next))
        {
            break;
        }
        blocker = blocker_of(&next);
        found = Some(next);
    }
    found
}

/// The thread whose turn it is with a lock: its owner, or the first in the queue.
fn turn(fields: &Fields, blocker: ObjectRef) -> Option<ObjectRef> {
    if !blocker.is_instance_of(fields.owned) {
        return None;
    }
    if let Some(owner) = blocker.get_ref(fields.owner).some() {
        return Some(owner);
    }
    if !blocker.is_instance_of(fields.queued) {
        return None;
    }
    let head = blocker.get_ref(fields.head).some()?;
    let first = head.get_ref(fields.next).some()?;
    let is_exclusive = first.is_instance_of(fields.exclusive);
    first.get_ref(fields.waiter).some().filter(|_| is_exclusive)
}

/// The signal that ends a lending wait from outside: not one of those that the JDK's libraries use.
pub(crate) fn signal_number() -> i32 {
    libc::SIGRTMAX() - 3
}

/// That signal, with its handler in place.
fn signal() -> i32 {
    static SIGNAL: OnceLock<i32> = OnceLock::new();
    *SIGNAL.get_or_init(|| {
        let signal = signal_number();
        // SAFETY: 1. The structure is plain data, filled here. 2. The handler keeps to what
        // handlers may do.
        let returned = unsafe {
            let mut action: libc::sigaction = core::mem::zeroed();
            action.sa_sigaction = on_signal as *const () as usize;
            action.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK;
            libc::sigaction(signal, &action, core::ptr::null_mut())
        };
        if returned != 0 {
            console::fatal("the system refuses a signal handler");
        }
        signal
    })
}

/// On the lender: what it waits for is its own to take.
extern "C" fn on_signal(_signal: i32) {
    if let Some(thread) = thread::current() {
        thread.lending.word.word().store(0, Ordering::SeqCst);
    }
}
