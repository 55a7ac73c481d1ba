// SPDX-License-Identifier: Apache-2.0
//! A thread that keeps the servers' CPU busy: is a call served before it gives up?

#![allow(dead_code, reason = "each test program uses its part")]

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;

use binder::{Binder, Parcel};
use rt::affinity::CpuSet;
use rt::clock::{Clock, Monotonic, thread_time_ns};
use rt::policy::{Policy, Tid};
use rt::thread::Builder;

use crate::service::{ask, await_that, read_time};

/// The CPU that a hog and the servers share.
pub(crate) fn hogged_cpu() -> CpuSet {
    let cpus = CpuSet::of(Tid::current()).unwrap();
    CpuSet::single(cpus.iter().last().unwrap())
}

const HOG: Policy = Policy::fifo(50);
pub(crate) const CALLER: Policy = Policy::fifo(80);
pub(crate) const DEADLINE: Policy = Policy::Deadline(rt::policy::Reservation {
    runtime_ns: 5_000_000,
    deadline_ns: 20_000_000,
    period_ns: 20_000_000,
});
/// Less than the kernel's fair server and its throttling of real-time threads wait.
const HOG_NS_MAX: u64 = 700_000_000;
/// How long a hog waits for a call: then the caller is not there.
const IDLE_NS_MAX: u64 = 10_000_000_000;

/// What hog and caller tell each other.
#[derive(Default)]
struct Cues {
    is_running: AtomicBool,
    is_called: AtomicBool,
    is_dismissed: AtomicBool,
}

impl Cues {
    /// Keeps a CPU busy until it is dismissed, at most for its time from the call on. Says when it
    /// gave up.
    fn hog(&self) -> u64 {
        self.is_running.store(true, SeqCst);
        let mut end_ns = thread_time_ns() + IDLE_NS_MAX;
        let mut is_counting = false;
        while !self.is_dismissed.load(SeqCst) {
            if self.is_called.load(SeqCst) && !is_counting {
                is_counting = true;
                end_ns = thread_time_ns() + HOG_NS_MAX;
            }
            if thread_time_ns() >= end_ns {
                return Monotonic.now_ns();
            }
        }
        u64::MAX
    }
}

/// Calls with a hog on the servers' CPU; `call` says when the service was done, and this whether
/// that was before the hog gave up.
pub(crate) fn is_bounded(policy: Policy, call: impl FnOnce() -> u64 + Send + 'static) -> bool {
    // Where there is one CPU, who watches must not be behind the hog.
    Policy::fifo(90).apply(Tid::current()).unwrap();
    let cues = Arc::new(Cues::default());
    let hog = Builder::new("hog").policy(HOG).affinity(hogged_cpu());
    let hog = hog.spawn({
        let cues = Arc::clone(&cues);
        move || cues.hog()
    });
    let hog =
        hog.unwrap_or_else(|error| panic!("{error}: `takt doctor` tells how to get the right"));
    await_that("the hog runs", || cues.is_running.load(SeqCst));
    let mut caller = Builder::new("caller").policy(policy);
    if !matches!(policy, Policy::Deadline(_)) {
        // A thread with a reservation may run anywhere, or nowhere.
        let first = CpuSet::of(Tid::current()).unwrap().iter().next().unwrap();
        caller = caller.affinity(CpuSet::single(first));
    }
    let caller = caller.spawn({
        let cues = Arc::clone(&cues);
        move || {
            cues.is_called.store(true, SeqCst);
            call()
        }
    });
    let done_ns = caller.unwrap().join();
    cues.is_dismissed.store(true, SeqCst);
    let hog_ns = hog.join();
    let ordinary = Policy::Other { nice: 0 };
    ordinary.apply(Tid::current()).unwrap();
    done_ns < hog_ns
}

/// A call, and when its service was done.
pub(crate) fn time(remote: &Binder, code: u32, value: i32) -> u64 {
    read_time(&mut ask(remote, code, value).unwrap())
}

/// The same by way of another node.
pub(crate) fn time_by_way(remote: &Binder, code: u32, mut data: Parcel) -> u64 {
    let mut reply = Parcel::new();
    remote.transact(code, &mut data, &mut reply, None).unwrap();
    read_time(&mut reply)
}

/// Until the thread waits for something.
pub(crate) fn await_sleep(tid: Tid) {
    await_that("the caller waits", || {
        let stat = std::fs::read_to_string(format!("/proc/self/task/{}/stat", tid.raw()));
        stat.is_ok_and(|it| {
            it.rsplit_once(')')
                .is_some_and(|(_, rest)| rest.starts_with(" S"))
        })
    });
}
