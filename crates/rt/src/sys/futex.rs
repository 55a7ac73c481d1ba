// SPDX-License-Identifier: Apache-2.0
//! [`Futex`]: a word that threads, or processes, wait at; with the kernel's priority inheritance
//! where asked for.
//!
//! Two families that must not meet on one word: `wait_until`/`wake` give the word no meaning, while
//! the `_pi` calls read it as "who holds this" ([`TID_MASK`], [`WAITERS`], [`OWNER_DIED`]) and lend
//! that thread the priority of the most urgent waiter, through chains of holders. All times are
//! absolute and CLOCK_MONOTONIC. Queues are ordered by the waiters' real-time priority. Kernel 5.14
//! or later. Users: `sync`; built on by `sync::lend`.

use std::marker::PhantomData;

use crate::clock::{Clock, Monotonic};
use crate::guard;
use crate::sync::Recall;
use crate::sync::atomic::AtomicU32;
use crate::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use crate::sys::Errno;
#[cfg(loom)]
use crate::sys::model as kernel;
use crate::sys::tid;

/// The holder's thread number in the word of a priority-inheritance futex.
pub const TID_MASK: u32 = 0x3fff_ffff;
/// In the same word: the holder ended without releasing it.
pub const OWNER_DIED: u32 = 0x4000_0000;
/// In the same word: threads wait in the kernel, so a release is a system call.
pub const WAITERS: u32 = 0x8000_0000;

/// What a wait does where the kernel refuses it, because it would close a circle of threads that
/// wait for each other ([`Futex::lock_pi_patiently`]).
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// How long the circle is left alone before the next look.
    pub look_ns: u64,
    /// How often it looks again; `None`: for ever.
    pub looks_max: Option<u32>,
    /// Whether it looks again, for ever, where the holder ended as well.
    pub is_for_the_gone: bool,
}

impl Patience {
    /// Each millisecond, for a minute: a circle that stays so long does not open by itself.
    pub const MINUTE: Self = Self {
        look_ns: 1_000_000,
        looks_max: Some(60_000),
        is_for_the_gone: false,
    };
}

/// Who can reach a futex. The kernel finds a private one by address alone, a shared one by the page
/// behind it.
pub trait Scope: sealed::Sealed + Send + Sync + 'static {
    /// Whether only threads of this process come here.
    const IS_PRIVATE: bool;
}

/// Threads of this process.
#[derive(Debug)]
pub enum Private {}
/// Every process that maps the page.
#[derive(Debug)]
pub enum Shared {}

impl Scope for Private {
    const IS_PRIVATE: bool = true;
}

impl Scope for Shared {
    const IS_PRIVATE: bool = false;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Private {}
    impl Sealed for super::Shared {}
}

/// Why a futex call came back without what it was for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FutexError {
    /// The word did not hold the expected value; of `try_lock_pi`: it is held.
    #[error("the word did not hold the expected value")]
    Changed,
    /// The due time passed.
    #[error("the due time passed")]
    TimedOut,
    /// A signal handler ran.
    #[error("a signal handler ran")]
    Interrupted,
    /// The thread named in the word does not exist.
    #[error("the thread that holds the word does not exist")]
    OwnerGone,
    /// Waiting would close a circle of threads that wait for each other.
    #[error("waiting would close a circle of waiting threads")]
    Deadlock,
    /// The caller does not hold the word it releases; or the holder is a kernel thread.
    #[error("the word is not the caller's to release, or its holder cannot inherit")]
    NotOwner,
    /// The kernel's and the word's view disagree, or the address is bad: a protocol was broken.
    #[error("the futex is not in order: {0}")]
    Broken(Errno),
}

/// The word. `repr(transparent)` over four aligned bytes, all-zero when new: fit for shared memory.
#[repr(transparent)]
#[derive(Debug)]
pub struct Futex<S: Scope> {
    word: AtomicU32,
    scope: PhantomData<S>,
}

impl<S: Scope> Default for Futex<S> {
    /// Zero, as fresh shared memory is.
    fn default() -> Self {
        Self::new(0)
    }
}

impl<S: Scope> Futex<S> {
    /// Holding `value`.
    #[cfg(not(loom))]
    pub const fn new(value: u32) -> Self {
        Self {
            word: AtomicU32::new(value),
            scope: PhantomData,
        }
    }

    /// Holding `value`.
    #[cfg(loom)]
    pub fn new(value: u32) -> Self {
        Self {
            word: AtomicU32::new(value),
            scope: PhantomData,
        }
    }

    /// The word itself, for the paths that need no kernel.
    pub fn word(&self) -> &AtomicU32 {
        &self.word
    }

    /// Sleeps while the word holds `expected`, at most until `due_ns`. May return early for no
    /// reason: look at the word again. `Changed` if it held something else.
    pub fn wait_until(&self, expected: u32, due_ns: Option<u64>) -> Result<(), FutexError> {
        guard::blocking("futex wait");
        kernel::wait(&self.word, S::IS_PRIVATE, expected, due_ns)
    }

    /// As [`Self::wait_until`], by a due time that others may move; `Interrupted` by any signal.
    pub fn wait_recallable(&self, expected: u32, due: &Recall) -> Result<(), FutexError> {
        guard::blocking("futex wait");
        kernel::wait_recallable(&self.word, S::IS_PRIVATE, expected, due)
    }

    /// Wakes at most `count` sleepers, the most urgent first, equals in order of arrival; returns
    /// how many. Does not sleep. O(`count` + sleepers that share the kernel's hash bucket).
    pub fn wake(&self, count: u32) -> usize {
        kernel::wake(&self.word, S::IS_PRIVATE, count)
    }

    /// Takes the word for the calling thread; until then its holder runs at least at the caller's
    /// priority. A signal restarts the wait inside the kernel.
    pub fn lock_pi_until(&self, due_ns: Option<u64>) -> Result<(), FutexError> {
        guard::blocking("wait for a priority-inheritance futex");
        kernel::lock_pi(&self.word, S::IS_PRIVATE, due_ns)?;
        self.acquire();
        Ok(())
    }

    /// As [`Self::lock_pi_until`], by a due time that others may move.
    pub fn lock_pi_recallable(&self, due: &Recall) -> Result<(), FutexError> {
        guard::blocking("wait for a priority-inheritance futex");
        kernel::lock_pi_recallable(&self.word, S::IS_PRIVATE, due)?;
        self.acquire();
        Ok(())
    }

    /// As [`Self::lock_pi_until`], for locks whose holders may be among threads that wait for each
    /// other for a while: where one of them gives up at some time and looks again, the circle opens
    /// by itself. The kernel closes none, so the caller looks again from time to time and lends
    /// nothing meanwhile. [`FutexError::Deadlock`] when its patience ends; at once, if it holds the
    /// word itself.
    pub fn lock_pi_patiently(
        &self,
        due_ns: Option<u64>,
        patience: Patience,
    ) -> Result<(), FutexError> {
        let mut looks = 0;
        loop {
            let refused = match self.lock_pi_until(due_ns) {
                Err(FutexError::Interrupted | FutexError::Changed) => continue,
                Err(error @ (FutexError::Deadlock | FutexError::OwnerGone)) => error,
                outcome => return outcome,
            };
            let is_waited_for = match refused {
                FutexError::OwnerGone => patience.is_for_the_gone,
                _ => self.holder() != tid::current() && patience.looks_max != Some(looks),
            };
            if !is_waited_for {
                return Err(refused);
            }
            let now_ns = Monotonic.now_ns();
            if due_ns.is_some_and(|due_ns| due_ns <= now_ns) {
                return Err(FutexError::TimedOut);
            }
            looks = looks.saturating_add(1);
            let look_ns = now_ns + patience.look_ns;
            Monotonic.sleep_until(due_ns.map_or(look_ns, |due_ns| due_ns.min(look_ns)));
        }
    }

    /// The number of the thread that holds the word; 0 if none does.
    fn holder(&self) -> u32 {
        self.word.load(Relaxed) & TID_MASK
    }

    /// Takes the word if nobody alive holds it. Does not sleep.
    pub fn try_lock_pi(&self) -> Result<(), FutexError> {
        kernel::try_lock_pi(&self.word, S::IS_PRIVATE)?;
        self.acquire();
        Ok(())
    }

    /// Hands the word to the most urgent waiter, or clears it. Does not sleep; the caller may be
    /// preempted by the new holder at once.
    pub fn unlock_pi(&self) -> Result<(), FutexError> {
        // Pairs with `acquire`: the kernel's exchange that names the next holder continues this
        // release.
        self.word.fetch_or(0, Release);
        kernel::unlock_pi(&self.word, S::IS_PRIVATE)
    }

    /// Sleeps while the word holds `expected` until [`Self::requeue_pi`] moves the caller to
    /// `target` and `target` is its own: on `Ok` the caller holds `target`, on every error it does
    /// not. The caller tells the guard.
    pub fn wait_requeue_pi_until(
        &self,
        expected: u32,
        due_ns: Option<u64>,
        target: &Self,
    ) -> Result<(), FutexError> {
        kernel::wait_requeue_pi(&self.word, S::IS_PRIVATE, expected, due_ns, &target.word)?;
        target.acquire();
        Ok(())
    }

    /// The kernel gave the word to the calling thread: what the last holder wrote is seen.
    fn acquire(&self) {
        self.word.load(Acquire);
    }

    /// If the word holds `expected`: gives `target` to the most urgent sleeper if it is free, and
    /// queues the others there, up to `queue_max` of them; each lends its priority to the holder
    /// from then on. Does not sleep.
    pub fn requeue_pi(
        &self,
        expected: u32,
        queue_max: u32,
        target: &Self,
    ) -> Result<usize, FutexError> {
        kernel::requeue_pi(&self.word, S::IS_PRIVATE, expected, queue_max, &target.word)
    }
}

#[cfg(not(loom))]
mod kernel {
    use std::ptr;
    use std::sync::atomic::AtomicU32;

    use super::{Errno, FutexError};
    use crate::clock::timespec;
    use crate::sync::Recall;

    /// Every bit of FUTEX_WAIT_BITSET: plain FUTEX_WAKE reaches the sleeper.
    const MATCH_ANY: u32 = u32::MAX;

    pub(super) fn wait(
        word: &AtomicU32,
        is_private: bool,
        expected: u32,
        due_ns: Option<u64>,
    ) -> Result<(), FutexError> {
        let due = due_ns.map(timespec);
        let due = due.as_ref().map_or(ptr::null(), ptr::from_ref);
        let none = ptr::null();
        // SAFETY: `due` is null or points to `due` above, which outlives the call.
        unsafe {
            call(
                word,
                libc::FUTEX_WAIT_BITSET,
                is_private,
                expected,
                due.addr(),
                none,
                MATCH_ANY,
            )
        }
        .map(drop)
    }

    pub(super) fn wait_recallable(
        word: &AtomicU32,
        is_private: bool,
        expected: u32,
        due: &Recall,
    ) -> Result<(), FutexError> {
        let (op, due) = (libc::FUTEX_WAIT_BITSET, std::ptr::from_ref(due).addr());
        // SAFETY: as in `lock_pi_recallable`.
        let waited = unsafe { call(word, op, is_private, expected, due, ptr::null(), MATCH_ANY) };
        waited.map(drop)
    }

    pub(super) fn wake(word: &AtomicU32, is_private: bool, count: u32) -> usize {
        let count = count.min(i32::MAX as u32);
        // SAFETY: FUTEX_WAKE reads neither the fourth nor the fifth argument.
        let woken = unsafe { call(word, libc::FUTEX_WAKE, is_private, count, 0, ptr::null(), 0) };
        // An aligned word that is mapped cannot be refused.
        woken.unwrap_or(0)
    }

    pub(super) fn lock_pi(
        word: &AtomicU32,
        is_private: bool,
        due_ns: Option<u64>,
    ) -> Result<(), FutexError> {
        let due = due_ns.map(timespec);
        let due = due.as_ref().map_or(ptr::null(), ptr::from_ref);
        // SAFETY: `due` is null or points to `due` above, which outlives the call.
        unsafe {
            call(
                word,
                libc::FUTEX_LOCK_PI2,
                is_private,
                0,
                due.addr(),
                ptr::null(),
                0,
            )
        }
        .map(drop)
    }

    pub(super) fn lock_pi_recallable(
        word: &AtomicU32,
        is_private: bool,
        due: &Recall,
    ) -> Result<(), FutexError> {
        let (op, due) = (libc::FUTEX_LOCK_PI2, std::ptr::from_ref(due).addr());
        // SAFETY: `due` has the form of a timespec and outlives the call. Whatever half of it
        // changes meanwhile, both halves are in range.
        unsafe { call(word, op, is_private, 0, due, ptr::null(), 0) }.map(drop)
    }

    pub(super) fn try_lock_pi(word: &AtomicU32, is_private: bool) -> Result<(), FutexError> {
        // SAFETY: FUTEX_TRYLOCK_PI takes the word alone.
        unsafe {
            call(
                word,
                libc::FUTEX_TRYLOCK_PI,
                is_private,
                0,
                0,
                ptr::null(),
                0,
            )
        }
        .map(drop)
    }

    pub(super) fn unlock_pi(word: &AtomicU32, is_private: bool) -> Result<(), FutexError> {
        // SAFETY: FUTEX_UNLOCK_PI takes the word alone.
        unsafe {
            call(
                word,
                libc::FUTEX_UNLOCK_PI,
                is_private,
                0,
                0,
                ptr::null(),
                0,
            )
        }
        .map(drop)
    }

    pub(super) fn wait_requeue_pi(
        word: &AtomicU32,
        is_private: bool,
        expected: u32,
        due_ns: Option<u64>,
        target: &AtomicU32,
    ) -> Result<(), FutexError> {
        let op = libc::FUTEX_WAIT_REQUEUE_PI;
        let due = due_ns.map(timespec);
        let due = due.as_ref().map_or(ptr::null(), ptr::from_ref);
        // SAFETY: `due` is null or points to `due` above, which outlives the call; `target` is a
        // live word.
        unsafe {
            call(
                word,
                op,
                is_private,
                expected,
                due.addr(),
                target.as_ptr(),
                0,
            )
        }
        .map(drop)
    }

    pub(super) fn requeue_pi(
        word: &AtomicU32,
        is_private: bool,
        expected: u32,
        queue_max: u32,
        target: &AtomicU32,
    ) -> Result<usize, FutexError> {
        let op = libc::FUTEX_CMP_REQUEUE_PI;
        let queue_max = queue_max.min(i32::MAX as u32) as usize;
        // SAFETY: the fourth argument is a count here, not an address; `target` is a live word.
        unsafe {
            call(
                word,
                op,
                is_private,
                1,
                queue_max,
                target.as_ptr(),
                expected,
            )
        }
    }

    /// The system call.
    ///
    /// # Safety
    /// `fourth` is what `op` takes there: a count, or the address of a timespec that outlives the
    /// call, or 0. `target` is null or points to an aligned word that outlives the call.
    unsafe fn call(
        word: &AtomicU32,
        op: i32,
        is_private: bool,
        value: u32,
        fourth: usize,
        target: *const u32,
        third_value: u32,
    ) -> Result<usize, FutexError> {
        let flag = if is_private {
            libc::FUTEX_PRIVATE_FLAG
        } else {
            0
        };
        // SAFETY: 1. `word` is a live, aligned 32-bit word; the kernel changes it atomically, as
        // others may. 2. `fourth` and `target`: the caller's obligation. 3. The kernel keeps no
        // address beyond the call: it finds waiters by key.
        let returned = unsafe {
            libc::syscall(
                libc::SYS_futex,
                word.as_ptr(),
                op | flag,
                value,
                fourth,
                target,
                third_value,
            )
        };
        Errno::check(returned)
            .map(|count| count as usize)
            .map_err(|errno| match errno.0 {
                libc::EAGAIN => FutexError::Changed,
                libc::ETIMEDOUT => FutexError::TimedOut,
                libc::EINTR => FutexError::Interrupted,
                libc::ESRCH => FutexError::OwnerGone,
                libc::EDEADLK => FutexError::Deadlock,
                libc::EPERM => FutexError::NotOwner,
                _ => FutexError::Broken(errno),
            })
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::Ordering::SeqCst;

    use super::*;
    use crate::policy::Tid;
    use crate::thread::Builder;

    #[test]
    fn a_wait_sees_the_word_the_time_and_the_waker() {
        let futex = Futex::<Shared>::new(1);
        assert_eq!(futex.wait_until(0, None), Err(FutexError::Changed));
        let due_ns = Monotonic.now_ns() + 1_000_000;
        assert_eq!(futex.wait_until(1, Some(due_ns)), Err(FutexError::TimedOut));
        assert!(Monotonic.now_ns() >= due_ns, "never early");

        let futex = Arc::new(Futex::<Private>::new(0));
        let sleeper = Builder::new("sleeper")
            .spawn({
                let futex = Arc::clone(&futex);
                move || {
                    while futex.word().load(SeqCst) == 0 {
                        let _ = futex.wait_until(0, None);
                    }
                }
            })
            .unwrap();
        while futex.wake(1) == 0 {
            std::thread::yield_now();
        }
        futex.word().store(1, SeqCst);
        futex.wake(1);
        sleeper.join();
    }

    #[test]
    fn a_circle_that_opens_by_itself_is_waited_for() {
        let owned_here = Arc::new(Futex::<Private>::new(Tid::current().raw() as u32));
        let owned_there = Arc::new(Futex::<Private>::new(0));
        let other = Builder::new("other")
            .spawn({
                let (own, wanted) = (Arc::clone(&owned_there), Arc::clone(&owned_here));
                move || {
                    own.try_lock_pi().unwrap();
                    let outcome = wanted.lock_pi_until(Some(Monotonic.now_ns() + 50_000_000));
                    own.unlock_pi().unwrap();
                    outcome
                }
            })
            .unwrap();
        while owned_here.word().load(SeqCst) & WAITERS == 0 {
            std::thread::yield_now();
        }
        let now = owned_there.lock_pi_patiently(Some(0), Patience::MINUTE);
        assert_eq!(now, Err(FutexError::TimedOut), "in the circle or not");
        let later = owned_there.lock_pi_patiently(None, Patience::MINUTE);
        assert_eq!(later, Ok(()));
        let again = owned_there.lock_pi_patiently(None, Patience::MINUTE);
        assert_eq!(again, Err(FutexError::Deadlock), "nobody else opens it");
        assert_eq!(other.join(), Err(FutexError::TimedOut));
        assert_eq!(owned_there.unlock_pi(), Ok(()));
    }

    #[test]
    fn a_held_word_is_refused_timed_out_and_released() {
        let own = Tid::current().raw() as u32;
        let futex = Arc::new(Futex::<Private>::new(own));
        assert_eq!(futex.try_lock_pi(), Err(FutexError::Deadlock));
        assert_eq!(futex.lock_pi_until(None), Err(FutexError::Deadlock));
        let other = Builder::new("other")
            .spawn({
                let futex = Arc::clone(&futex);
                move || {
                    let due_ns = Monotonic.now_ns() + 1_000_000;
                    let results = (
                        futex.try_lock_pi(),
                        futex.unlock_pi(),
                        futex.lock_pi_until(Some(due_ns)),
                    );
                    assert!(Monotonic.now_ns() >= due_ns, "never early");
                    results
                }
            })
            .unwrap();
        let results = other.join();
        assert_eq!(results.0, Err(FutexError::Changed));
        assert_eq!(results.1, Err(FutexError::NotOwner));
        assert_eq!(results.2, Err(FutexError::TimedOut));
        assert_eq!(futex.word().load(SeqCst), own | WAITERS);
        assert_eq!(futex.unlock_pi(), Ok(()));
        assert_eq!(futex.word().load(SeqCst), 0);
    }

    #[test]
    fn a_holder_that_is_gone_is_named() {
        let gone = Builder::new("gone").spawn(|| ()).unwrap();
        let tid = gone.tid();
        gone.join();
        let futex = Futex::<Private>::new(tid.raw() as u32);
        // The thread's number outlives the join by a moment: then it dies under us, which shows in
        // the word.
        match futex.lock_pi_until(None) {
            Err(error) => assert_eq!(error, FutexError::OwnerGone),
            Ok(()) => assert_ne!(futex.word().load(SeqCst) & OWNER_DIED, 0),
        }
    }

    #[test]
    fn a_requeued_sleeper_wakes_as_holder_of_the_target() {
        let own = Tid::current().raw() as u32;
        let pair = Arc::new((Futex::<Private>::new(0), Futex::<Private>::new(own)));
        let sleeper = Builder::new("sleeper")
            .spawn({
                let pair = Arc::clone(&pair);
                move || {
                    let (condition, lock) = (&pair.0, &pair.1);
                    while condition.wait_requeue_pi_until(0, None, lock) != Ok(()) {}
                    let holder = lock.word().load(SeqCst) & TID_MASK;
                    lock.unlock_pi().unwrap();
                    (holder, Tid::current().raw() as u32)
                }
            })
            .unwrap();
        while pair.0.requeue_pi(0, 0, &pair.1) == Ok(0) {
            std::thread::yield_now();
        }
        assert_eq!(pair.1.word().load(SeqCst), own | WAITERS);
        pair.1.unlock_pi().unwrap();
        let (holder, tid) = sleeper.join();
        assert_eq!(holder, tid);
    }
}
