// SPDX-License-Identifier: Apache-2.0
//! Calls between two programs against a hog on the server's CPU, and the order in which callers are
//! served.

mod hog;
mod pair;
mod service;

use std::process::Command;
use std::sync::atomic::Ordering::SeqCst;

use binder::{Binder, CallError, Options, Parcel, Process, Side};
use hog::{CALLER, DEADLINE, await_sleep, hogged_cpu, is_bounded, time, time_by_way};
use pair::{Other, Pair, due_ns, join, stage, start, start_as};
use rt::affinity::CpuSet;
use rt::clock::{Clock, Monotonic};
use rt::policy::{Policy, Tid};
use rt::socket::Socket;
use rt::thread::Builder;
use service::{
    ADD, COMPUTE, HOLD, KEEP, LOCK, RELAY, RELAY_KEPT, TID, URGENCY, ask, await_that, give, player,
};

/// The other program ([`pair`]).
#[test]
fn child() {
    pair::child();
}

/// More than the 50 ms that the fair server gives ordinary threads in a second of hogging.
const WORK_US: i32 = 100_000;

#[test]
fn a_call_does_not_wait_for_a_hog_between_caller_and_server() {
    let _stage = stage();
    let pair = Pair::new("serve", true);
    for policy in [CALLER, DEADLINE, Policy::Other { nice: 0 }] {
        let remote = pair.remote.clone();
        let is_bounded = is_bounded(policy, move || time(&remote, COMPUTE, WORK_US));
        // The ordinary caller is the control: it must wait, or nothing was shown.
        assert_eq!(is_bounded, policy.is_real_time(), "{policy}");
    }
    pair.end();
}

/// Also where the service runs before its caller has lent anything, as on another processor.
#[test]
fn a_service_knows_how_urgent_its_caller_is_in_each_call() {
    let _stage = stage();
    let pair = Pair::new("serve", false);
    for (policy, urgency) in [(Policy::fifo(40), 40), (Policy::ordinary(), 0)] {
        let remote = pair.remote.clone();
        let call = move || {
            for _ in 0..500 {
                let mut direct = ask(&remote, URGENCY, 0).unwrap();
                assert_eq!(direct.read_i32(), Some(urgency));
            }
        };
        let builder = Builder::new("caller").policy(policy);
        builder.spawn(call).unwrap().join();
    }
    assert_eq!(binder::Caller::urgency().get(), 0);
    pair.end();
}

#[test]
fn a_caller_that_is_raised_in_a_call_does_not_wait_for_a_hog_any_more() {
    let _stage = stage();
    let pair = Pair::new("serve", true);
    let remote = pair.remote.clone();
    let is_bounded = is_bounded(Policy::fifo(10), move || {
        let own = Tid::current();
        let raise = move || {
            Monotonic.sleep_until(Monotonic.now_ns() + 30_000_000);
            CALLER.apply(own).unwrap();
        };
        let raiser = Builder::new("raiser").policy(CALLER).spawn(raise).unwrap();
        let done_ns = time(&remote, COMPUTE, WORK_US);
        raiser.join();
        done_ns
    });
    assert!(is_bounded);
    pair.end();
}

#[test]
fn a_server_that_waits_for_its_own_lock_does_not_wait_for_a_hog() {
    let _stage = stage();
    let pair = Pair::new("serve", true);
    ask(&pair.remote, LOCK, 60_000).unwrap();
    let remote = pair.remote.clone();
    assert!(is_bounded(CALLER, move || time(&remote, ADD, 1)));
    pair.end();
}

/// Time at a lent priority counts as the server's own: its limit ends it.
#[test]
fn a_server_that_never_gives_back_what_was_lent_is_ended_by_its_limit() {
    let _stage = stage();
    let mut command = Command::new("prlimit");
    command
        .arg("--rttime=50000:60000")
        .arg(std::env::current_exe().unwrap());
    let mut pair = Pair::of(start_as(command, "serve", false));
    let call = |policy, us| {
        let remote = pair.remote.clone();
        let call = move || ask(&remote, COMPUTE, us).map(drop);
        Builder::new("caller")
            .policy(policy)
            .spawn(call)
            .unwrap()
            .join()
    };
    assert_eq!(call(Policy::Other { nice: 0 }, 150_000), Ok(()));
    assert_eq!(call(CALLER, 10_000), Ok(()));
    assert_eq!(call(CALLER, 10_000_000), Err(CallError::DeadObject));
    assert!(!pair.child.wait().unwrap().success());
}

/// Whether a time-out ends a wait for a PI futex while its holder runs. Under PREEMPT_RT a waiter
/// spins in the kernel until the holder leaves its CPU, and looks at no time meanwhile
/// (`rtmutex_spin_on_owner`).
fn ends_waits_in_time() -> bool {
    let version = std::fs::read_to_string("/proc/version").unwrap();
    !version.contains("PREEMPT_RT") || CpuSet::of(Tid::current()).unwrap().iter().count() == 1
}

#[test]
fn a_deadline_is_lent_until_the_callers_time_is_over() {
    let _stage = stage();
    let mut pair = Pair::new("serve", false);
    let remote = pair.remote.clone();
    let is_in_time = ends_waits_in_time();
    let call = move || {
        let (mut data, mut reply) = (Parcel::new(), Parcel::new());
        let work_us = if is_in_time { 60_000_000 } else { 300_000 };
        data.write_i32(work_us).unwrap();
        let due_ns = Monotonic.now_ns() + 20_000_000;
        remote.transact(COMPUTE, &mut data, &mut reply, Some(due_ns))
    };
    let caller = Builder::new("caller").policy(DEADLINE).spawn(call).unwrap();
    let outcome = caller.join();
    if is_in_time || outcome.is_err() {
        assert_eq!(outcome, Err(CallError::TimedOut));
    }
    assert_eq!(pair.remote.ping(), Ok(()), "by another looper");
    pair.child.kill().unwrap();
    pair.child.wait().unwrap();
}

#[test]
fn a_chain_does_not_wait_for_a_hog() {
    let _stage = stage();
    let pair = Pair::new("relay", true);
    let mut data = Parcel::new();
    data.write_i32(COMPUTE.cast_signed()).unwrap();
    data.write_i32(1_000).unwrap();
    let remote = pair.remote.clone();
    let is_bounded = is_bounded(CALLER, move || time_by_way(&remote, RELAY_KEPT, data));
    assert!(is_bounded);
    pair.end();
}

/// Three others in a row, behind the hog; and the last of the row is this process again.
#[test]
fn a_chain_of_third_processes_does_not_wait_for_a_hog() {
    let _stage = stage();
    let near = Process::start(&Options::new("near")).unwrap();
    let others = [(); 3].map(|()| Other::of(&near, start("serve", true)));
    for two in others.windows(2) {
        give(&two[0].root, KEEP, Some(&two[1].root)).unwrap();
    }
    let is_bounded = |codes: &[u32]| {
        let mut data = Parcel::new();
        for code in codes {
            data.write_i32(code.cast_signed()).unwrap();
        }
        data.write_i32(1_000).unwrap();
        let remote = others[0].root.clone();
        is_bounded(CALLER, move || time_by_way(&remote, RELAY_KEPT, data))
    };
    assert!(is_bounded(&[RELAY_KEPT, COMPUTE]));
    // Its loopers are behind the hog as well.
    let all = CpuSet::of(Tid::current()).unwrap();
    hogged_cpu().apply(Tid::current()).unwrap();
    let home = Process::start(&Options::new("home")).unwrap();
    all.apply(Tid::current()).unwrap();
    let (own, _) = player(&home);
    home.set_root(Some(own));
    let (end, _other) = join(&near, &home);
    let to_home = end.root().unwrap().unwrap();
    give(&others[2].root, KEEP, Some(&to_home)).unwrap();
    assert!(is_bounded(&[RELAY_KEPT, RELAY_KEPT, COMPUTE]));
    for other in others {
        other.end();
    }
}

/// A call to the node that is kept of the node that is kept, with a number.
fn home(code: u32, value: i32) -> Parcel {
    let mut data = Parcel::new();
    for word in [RELAY_KEPT.cast_signed(), code.cast_signed(), value] {
        data.write_i32(word).unwrap();
    }
    data
}

/// The one looper that is kept for real time waits for the call that comes home: another brings it.
#[test]
fn a_call_comes_home_to_the_looper_that_waits() {
    let _stage = stage();
    let near = Process::start(&Options::new("near")).unwrap();
    let others = [(); 2].map(|()| Other::of(&near, start("serve", false)));
    give(&others[0].root, KEEP, Some(&others[1].root)).unwrap();
    give(&others[1].root, KEEP, Some(&others[0].root)).unwrap();
    let remote = others[0].root.clone();
    let call = move || {
        let kept = ask(&remote, TID, 0).unwrap().read_i32();
        let mut reply = Parcel::new();
        for _ in 0..20 {
            let outcome = remote.transact(RELAY_KEPT, &mut home(TID, 0), &mut reply, None);
            outcome.unwrap();
            assert_eq!(reply.read_i32(), kept);
        }
    };
    let caller = Builder::new("caller").policy(CALLER).spawn(call);
    caller.unwrap().join();
    for other in others {
        other.end();
    }
}

/// A→B→C→A: the thread that waits serves the last call. All loopers are behind the hog.
#[test]
fn a_call_that_comes_home_is_served_by_the_thread_that_waits() {
    let _stage = stage();
    let all = CpuSet::of(Tid::current()).unwrap();
    hogged_cpu().apply(Tid::current()).unwrap();
    let near = Process::start(&Options::new("near")).unwrap();
    all.apply(Tid::current()).unwrap();
    let others = [(); 2].map(|()| Other::of(&near, start("serve", true)));
    give(&others[0].root, KEEP, Some(&others[1].root)).unwrap();
    let (own, _played) = player(&near);
    give(&others[1].root, KEEP, Some(&own)).unwrap();
    let remote = others[0].root.clone();
    let call = move || {
        let mut reply = Parcel::new();
        for _ in 0..3 {
            let outcome = remote.transact(RELAY_KEPT, &mut home(TID, 0), &mut reply, None);
            outcome.unwrap();
            assert_eq!(reply.read_i32(), Some(Tid::current().raw()));
        }
        time_by_way(&remote, RELAY_KEPT, home(COMPUTE, 1_000))
    };
    assert!(is_bounded(CALLER, call));
    for other in others {
        other.end();
    }
}

/// A service that loops at what was lent to it: the caller's time-out ends the lending.
#[test]
fn what_is_lent_ends_with_the_callers_time() {
    let _stage = stage();
    let is_in_time = ends_waits_in_time();
    for policy in [CALLER, DEADLINE] {
        let mut pair = Pair::new("serve", false);
        let (remote, pid) = (pair.remote.clone(), pair.child.id());
        let call = move || {
            let (mut data, mut reply) = (Parcel::new(), Parcel::new());
            let work_us = if is_in_time { 60_000_000 } else { 300_000 };
            data.write_i32(work_us).unwrap();
            let due_ns = Monotonic.now_ns() + 50_000_000;
            remote.transact(COMPUTE, &mut data, &mut reply, Some(due_ns))
        };
        let caller = Builder::new("caller").policy(policy).spawn(call).unwrap();
        await_that("it is lent", || caller.is_finished() || is_urgent(pid));
        let outcome = caller.join();
        if is_in_time || outcome.is_err() {
            assert_eq!(outcome, Err(CallError::TimedOut), "{policy}");
        }
        await_that("it is lent no more", || !is_urgent(pid));
        assert_eq!(pair.remote.ping(), Ok(()), "by another looper");
        pair.child.kill().unwrap();
        pair.child.wait().unwrap();
    }
}

/// Whether a thread of a program runs at a real-time priority, by the kernel's word.
fn is_urgent(pid: u32) -> bool {
    let mut tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    tasks.any(|task| {
        let stat = std::fs::read_to_string(task.unwrap().path().join("stat"));
        let stat = stat.unwrap_or_default();
        let fields = stat.rsplit_once(')').map(|(_, rest)| rest);
        let priority = fields.and_then(|it| it.split_whitespace().nth(15));
        priority.is_some_and(|it| it.starts_with('-'))
    })
}

#[test]
fn what_is_lent_counts_at_the_next_process() {
    let _stage = stage();
    let pair = Pair::new("relay", false);
    let looper = |policy| {
        let remote = pair.remote.clone();
        let call = move || {
            let mut reply = ask(&remote, RELAY_KEPT, TID.cast_signed()).unwrap();
            reply.read_i32()
        };
        Builder::new("caller")
            .policy(policy)
            .spawn(call)
            .unwrap()
            .join()
    };
    // The relay's loopers are ordinary threads: the third process sees what the first lends them.
    let (ordinary, urgent) = (looper(Policy::Other { nice: 0 }), looper(CALLER));
    assert_ne!(ordinary, urgent, "the looper that is kept");
    assert_eq!(looper(CALLER), urgent);
    pair.end();
}

#[test]
fn a_call_back_does_not_wait_for_a_hog() {
    let _stage = stage();
    let pair = Pair::new("serve", true);
    let (own, _) = player(&pair.near);
    let mut data = Parcel::new();
    data.write_binder(Some(own)).unwrap();
    data.write_i32(COMPUTE.cast_signed()).unwrap();
    data.write_i32(1_000).unwrap();
    let remote = pair.remote.clone();
    let is_bounded = is_bounded(CALLER, move || time_by_way(&remote, RELAY, data));
    assert!(is_bounded);
    pair.end();
}

#[test]
fn urgent_callers_are_served_first_on_a_looper_that_is_theirs() {
    let _stage = stage();
    let near = Process::start(&Options::new("near")).unwrap();
    let far = Process::start(&Options::new("far")).unwrap();
    let (node, played) = player(&far);
    far.set_root(Some(node));
    let (left, right) = Socket::pair().unwrap();
    let listener = Builder::new("listener").spawn(move || {
        let connection = far
            .connect(right.into_fd(), Side::Listener, due_ns())
            .unwrap();
        (far, connection)
    });
    let connection = near
        .connect(left.into_fd(), Side::Caller, due_ns())
        .unwrap();
    let _far = listener.unwrap().join();
    let remote = connection.root().unwrap().unwrap();
    let ordinary = ask(&remote, TID, 0).unwrap().read_i32();
    let holder = caller(&remote, 10, HOLD, 0);
    await_that("it is held", || played.is_held.load(SeqCst));
    let callers: Vec<_> = [20, 60, 40]
        .into_iter()
        .map(|level| {
            let thread = caller(&remote, level, ADD, i32::from(level));
            await_sleep(thread.tid());
            thread
        })
        .collect();
    assert_eq!(
        ask(&remote, ADD, 1).map(drop),
        Ok(()),
        "others have their own loopers"
    );
    played.is_let_go.store(true, SeqCst);
    let tid = holder.join();
    assert_ne!(tid, ordinary, "the looper that is kept");
    for caller in callers {
        assert_eq!(caller.join(), tid);
    }
    assert_eq!(*played.order.lock(), [1, 60, 40, 20]);
}

/// A thread of this priority that calls, and says which looper it had.
fn caller(remote: &Binder, level: u8, code: u32, value: i32) -> rt::thread::Thread<Option<i32>> {
    let remote = remote.clone();
    let call = move || {
        ask(&remote, code, value).unwrap();
        ask(&remote, TID, 0).unwrap().read_i32()
    };
    let thread = Builder::new("caller")
        .policy(Policy::fifo(level))
        .spawn(call);
    thread.unwrap_or_else(|error| panic!("{error}: `takt doctor` tells how to get the right"))
}
