// SPDX-License-Identifier: Apache-2.0
//! A priority inversion, staged: an ordinary thread holds what an urgent one waits for, and a hog
//! between them keeps the holder's CPU busy. With inheritance the urgent thread goes on while the
//! hog runs; without, after it.

#![allow(dead_code, reason = "each test program uses its part")]

use std::io::Write;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32};

use rt::affinity::CpuSet;
use rt::clock::{Clock, Monotonic, thread_time_ns};
use rt::policy::{Policy, Tid};
use rt::sync::PiMutex;
use rt::sys::futex::{Futex, Shared};
use rt::thread::Builder;

const OBSERVER: Policy = Policy::fifo(90);
pub(crate) const WAITER: Policy = Policy::fifo(80);
const HOG: Policy = Policy::fifo(50);
const ORDINARY: Policy = Policy::Other { nice: 0 };

/// More than the 50 ms that the kernel's fair server gives ordinary threads in a second of hogging.
const WORK_NS: u64 = 100_000_000;
/// The hog gives up after this: less than the fair server and the throttling of real-time threads
/// wait.
const HOG_NS_MAX: u64 = 700_000_000;

/// How the kernel shows a boosted thread in /proc: −1 − priority, and one below all for
/// SCHED_DEADLINE.
pub(crate) const SHOWN_FIFO_80: i32 = -81;
pub(crate) const SHOWN_DEADLINE: i32 = -101;
pub(crate) const SHOWN_ORDINARY: i32 = 20;

/// One inversion at a time: they share a CPU.
static STAGE: PiMutex<()> = PiMutex::new(());

/// What the actors tell each other. All-zero when new, without addresses: fit for shared memory.
#[repr(C)]
#[derive(Default)]
pub(crate) struct Cues {
    holder_tid: AtomicI32,
    is_held: AtomicBool,
    is_hogged: Futex<Shared>,
    is_hog_dismissed: AtomicBool,
    /// Of what happened: hog's end, waiter's success.
    count: AtomicU32,
    hog_end: AtomicU32,
    waiter_end: AtomicU32,
}

impl Cues {
    /// The holder has what the waiter wants: it works on, at its own priority or a lent one.
    pub(crate) fn hold(&self) {
        self.holder_tid.store(Tid::current().raw(), SeqCst);
        self.is_held.store(true, SeqCst);
        // Asleep: a holder that is boosted already would not let the hog begin. Woken by the hog
        // itself, not by a timer: under PREEMPT_RT an ordinary thread's sleep is ended by a thread
        // that the hog keeps waiting.
        while self.is_hogged.word().load(SeqCst) == 0 {
            let _ = self.is_hogged.wait_until(0, None);
        }
        let end_ns = thread_time_ns() + WORK_NS;
        while thread_time_ns() < end_ns {}
    }

    /// Who holds.
    pub(crate) fn holder(&self) -> Option<Tid> {
        Tid::new(self.holder_tid.load(SeqCst))
    }

    fn hog(&self) {
        let end_ns = thread_time_ns() + HOG_NS_MAX;
        self.is_hogged.word().store(1, SeqCst);
        self.is_hogged.wake(1);
        while !self.is_hog_dismissed.load(SeqCst) && thread_time_ns() < end_ns {
            std::hint::spin_loop();
        }
        self.hog_end
            .store(self.count.fetch_add(1, SeqCst) + 1, SeqCst);
    }

    fn succeed(&self) {
        self.waiter_end
            .store(self.count.fetch_add(1, SeqCst) + 1, SeqCst);
    }
}

fn await_cue(cue: &AtomicBool) {
    while !cue.load(SeqCst) {
        Monotonic.sleep_until(Monotonic.now_ns() + 500_000);
    }
}

/// What came of it.
#[derive(Debug)]
pub(crate) struct Seen {
    /// Whether the waiter went on before the hog ended.
    pub is_bounded: bool,
    /// The most urgent priority that /proc showed of the holder while the waiter waited.
    pub holder_shown: i32,
}

/// The CPU that holder and hog share.
pub(crate) fn cpu() -> CpuSet {
    let cpus = CpuSet::of(Tid::current()).unwrap();
    CpuSet::single(cpus.iter().last().unwrap())
}

/// Runs on the contended CPU, as an ordinary thread.
pub(crate) fn ordinary(name: &str) -> Builder {
    Builder::new(name).policy(ORDINARY).affinity(cpu())
}

/// The right to stage an inversion, which this user must have.
pub(crate) fn stage() -> impl Sized {
    let turn = STAGE.lock();
    let observer = OBSERVER.enter();
    let observer = observer
        .unwrap_or_else(|refusal| panic!("{refusal}: `takt doctor` tells how to get the right"));
    (observer, turn)
}

/// Says, past the test harness's capture, why a test shows nothing here.
pub(crate) fn skip(reason: &str) {
    let name = std::thread::current().name().unwrap_or("test").to_owned();
    let _ = writeln!(std::io::stderr(), "SKIPPED {name}: {reason}");
}

/// With the holder on its way (it calls [`Cues::hold`]): the hog, then the waiter, then what they
/// did. `None`, with the reason printed, if the waiter's policy is refused.
pub(crate) fn play<W>(cues: &'static Cues, waiter: Waiter<W>) -> Option<Seen>
where
    W: FnOnce() + Send + 'static,
{
    await_cue(&cues.is_held);
    let hog = Builder::new("hog").policy(HOG).affinity(cpu());
    let hog = hog.spawn(|| cues.hog()).unwrap();
    while cues.is_hogged.word().load(SeqCst) == 0 {
        Monotonic.sleep_until(Monotonic.now_ns() + 500_000);
    }
    let waiting = match waiter {
        Waiter::Waits => None,
        Waiter::Starts(policy, body) => {
            let builder = Builder::new("waiter").policy(policy);
            match builder.spawn(move || {
                body();
                cues.succeed();
            }) {
                Ok(thread) => Some(thread),
                Err(refusal) => {
                    let reason = std::error::Error::source(&refusal);
                    skip(&reason.map_or_else(|| refusal.to_string(), ToString::to_string));
                    cues.is_hog_dismissed.store(true, SeqCst);
                    hog.join();
                    return None;
                }
            }
        }
    };
    let mut holder_shown = i32::MAX;
    while cues.count.load(SeqCst) == 0 {
        holder_shown = holder_shown.min(shown_priority(cues.holder_tid.load(SeqCst)));
        Monotonic.sleep_until(Monotonic.now_ns() + 1_000_000);
    }
    cues.is_hog_dismissed.store(true, SeqCst);
    hog.join();
    if let Some(waiting) = waiting {
        waiting.join();
    }
    while cues.waiter_end.load(SeqCst) == 0 {
        Monotonic.sleep_until(Monotonic.now_ns() + 500_000);
    }
    Some(Seen {
        is_bounded: cues.waiter_end.load(SeqCst) < cues.hog_end.load(SeqCst),
        holder_shown,
    })
}

/// The urgent thread.
pub(crate) enum Waiter<W> {
    /// Waits already; calls [`went_on`] when it goes on.
    Waits,
    /// Starts now, with this policy, and waits in this body.
    Starts(Policy, W),
}

/// Of a waiter that was there before: it goes on.
pub(crate) fn went_on(cues: &Cues) {
    cues.succeed();
}

/// Until a thread sleeps in the kernel.
pub(crate) fn await_sleep(tid: Tid) {
    while stat(tid.raw()).is_some_and(|fields| fields[0] != "S") {
        Monotonic.sleep_until(Monotonic.now_ns() + 500_000);
    }
}

/// The priority that counts for the scheduler now, lent ones included: field 18 of /proc/…/stat.
fn shown_priority(tid: i32) -> i32 {
    stat(tid).map_or(i32::MAX, |fields| fields[15].parse().unwrap())
}

/// The fields from the third on: the second, the name, may contain anything.
fn stat(tid: i32) -> Option<Vec<String>> {
    let text = std::fs::read_to_string(format!("/proc/{tid}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(')')?;
    Some(rest.split_whitespace().map(str::to_owned).collect())
}

/// Cues for ever: the actors outlive the test's frame.
pub(crate) fn cues() -> &'static Cues {
    Box::leak(Box::default())
}
