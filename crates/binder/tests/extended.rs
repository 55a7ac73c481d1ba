// SPDX-License-Identifier: Apache-2.0
//! Priorities over `/dev/binder`, with the extended driver of `kernel/` and with Debian's.
//!
//! The stage "extended driver in the lab" runs all of it in two deterministic guests. What only the
//! extended driver does, Debian's must be seen not to do: `TAKT_TEST_DRIVER` says which it is.

mod hog;
mod service;

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use binder::{Binder, CallError, Device, DeviceOptions, Options, Parcel, Process};
use hog::{CALLER, DEADLINE, await_sleep, is_bounded, time, time_by_way};
use rt::clock::{Clock, Monotonic};
use rt::policy::{Policy, Priority, Tid};
use rt::thread::{Builder, Thread};
use service::{
    ADD, COMPUTE, DIE, HOLD, KEEP, Played, RELAY_KEPT, TID, ask, await_that, give, player,
};

const PART: &str = "BINDER_TEST_PART";
const WORK_US: i32 = 20_000;
/// The kernel's number for a thread without real-time priority, not nice, in /proc.
const ORDINARY: i32 = 20;
/// The same of FIFO 80.
const URGENT: i32 = -81;

fn is_extended() -> bool {
    match std::env::var("TAKT_TEST_DRIVER").as_deref() {
        Ok("extended") => true,
        Ok("stock") => false,
        other => panic!("TAKT_TEST_DRIVER is {other:?}"),
    }
}

/// Another program, until its standard input ends.
#[test]
fn child() {
    let Ok(part) = std::env::var(PART) else {
        return;
    };
    let process = Process::start(&Options::new(&part)).unwrap();
    let (node, _played) = player(&process);
    process.set_root(Some(node.clone()));
    let device = process.attach(&DeviceOptions {
        is_manager: part == "manager",
        ..DeviceOptions::new()
    });
    let device = device.unwrap();
    match part.as_str() {
        "manager" => {}
        "second" => drop(give(&device.root().unwrap(), KEEP, Some(&node)).unwrap()),
        "third" => drop(give(&second(&device), KEEP, Some(&node)).unwrap()),
        "caller" => {
            let root = device.root().unwrap();
            let call = move || drop(ask(&root, HOLD, 0));
            Builder::new("caller").policy(CALLER).spawn(call).unwrap();
        }
        _ => panic!("no part {part}"),
    }
    let _ = std::io::Read::read(&mut std::io::stdin(), &mut [0]);
}

/// The node of the second program, which the manager keeps.
fn second(device: &Device) -> Binder {
    let root = device.root().unwrap();
    let mut kept = give(&root, KEEP, None).unwrap();
    let second = kept.read_binder().unwrap().expect("the manager keeps it");
    give(&root, KEEP, Some(&second)).unwrap();
    second
}

fn start(part: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--nocapture", "--quiet"]);
    command.env(PART, part).stdin(Stdio::piped());
    command.stdout(Stdio::null()).spawn().unwrap()
}

/// A process here, and the context manager in another program; others beside them.
struct House {
    remote: Binder,
    device: Device,
    near: Process,
    manager: Child,
    others: Vec<Child>,
}

impl House {
    fn new() -> Self {
        // A hog's experiment is not about the kernel's limit on real-time threads.
        std::fs::write("/proc/sys/kernel/sched_rt_runtime_us", "-1").unwrap();
        let manager = start("manager");
        let near = Process::start(&Options::new("near")).unwrap();
        let device = near.attach(&DeviceOptions::new()).unwrap();
        await_that("there is a context manager", || device.root().is_ok());
        Self {
            remote: device.root().unwrap(),
            device,
            near,
            manager,
            others: Vec::new(),
        }
    }

    /// B, C, and with `third` D: each keeps the next one's node.
    fn with_chain(has_third: bool) -> Self {
        let mut house = Self::new();
        let reaches = |house: &Self, codes: &[u32]| {
            let call = || {
                house
                    .remote
                    .transact(codes[0], &mut words(codes), &mut Parcel::new(), None)
            };
            await_that("the chain is there", || call().is_ok());
        };
        house.others.push(start("second"));
        reaches(&house, &[RELAY_KEPT, TID, 0]);
        if has_third {
            house.others.push(start("third"));
            reaches(&house, &[RELAY_KEPT, RELAY_KEPT, TID, 0]);
        }
        house
    }

    /// How urgent the manager's threads are now.
    fn priorities(&self) -> Vec<i32> {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.manager.id())).unwrap();
        let stat = |it: std::io::Result<std::fs::DirEntry>| {
            let stat = std::fs::read_to_string(it.unwrap().path().join("stat")).unwrap();
            let (_, rest) = stat.rsplit_once(')').unwrap();
            rest.split_whitespace().nth(15).unwrap().parse().unwrap()
        };
        tasks.map(stat).collect()
    }

    fn end(mut self) {
        drop(self.remote);
        drop(self.device);
        for mut child in self.others {
            drop(child.stdin.take());
            child.wait().unwrap();
        }
        drop(self.manager.stdin.take());
        assert!(self.manager.wait().unwrap().success());
    }
}

/// A parcel of the codes behind the first.
fn words(codes: &[u32]) -> Parcel {
    let mut data = Parcel::new();
    for &code in &codes[1..] {
        data.write_i32(code.cast_signed()).unwrap();
    }
    data
}

fn at<T: Send + 'static>(policy: Policy, body: impl FnOnce() -> T + Send + 'static) -> Thread<T> {
    Builder::new("caller").policy(policy).spawn(body).unwrap()
}

#[test]
#[ignore = "needs /dev/binder"]
fn a_call_does_not_wait_for_a_hog() {
    let house = House::new();
    let round_robin = Policy::RoundRobin(Priority::new(80).unwrap());
    for policy in [CALLER, round_robin, DEADLINE, Policy::fifo(40)] {
        let remote = house.remote.clone();
        let is_bounded = is_bounded(policy, move || time(&remote, COMPUTE, WORK_US));
        let is_above = policy != Policy::fifo(40);
        assert_eq!(is_bounded, is_extended() && is_above, "{policy}");
    }
    house.end();
}

#[test]
#[ignore = "needs /dev/binder"]
fn a_chain_of_three_calls_does_not_wait_for_a_hog() {
    let house = House::with_chain(true);
    let data = words(&[RELAY_KEPT, RELAY_KEPT, COMPUTE, WORK_US.cast_unsigned()]);
    let remote = house.remote.clone();
    let is_bounded = is_bounded(CALLER, move || time_by_way(&remote, RELAY_KEPT, data));
    assert_eq!(is_bounded, is_extended());
    house.end();
}

#[test]
#[ignore = "needs /dev/binder"]
fn a_call_that_comes_back_is_served_by_the_thread_that_waits() {
    let house = House::with_chain(false);
    let (own, _played) = player(&house.near);
    give(&second(&house.device), KEEP, Some(&own)).unwrap();
    let remote = house.remote.clone();
    let call = move || {
        let mut reply = Parcel::new();
        for _ in 0..3 {
            let mut data = words(&[RELAY_KEPT, RELAY_KEPT, TID, 0]);
            remote
                .transact(RELAY_KEPT, &mut data, &mut reply, None)
                .unwrap();
            assert_eq!(reply.read_i32(), Some(Tid::current().raw()));
        }
        time_by_way(&remote, RELAY_KEPT, words(&[0, RELAY_KEPT, COMPUTE, 1_000]))
    };
    assert_eq!(is_bounded(CALLER, call), is_extended());
    house.end();
}

/// A call that had to place a page would wait for page faults of the receiver's other threads.
#[test]
#[ignore = "needs /dev/binder"]
fn real_time_calls_have_their_pages_from_the_start() {
    let process = Process::start(&Options::new("pages")).unwrap();
    let device = process.attach(&DeviceOptions {
        is_manager: true,
        ..DeviceOptions::new()
    });
    let device = device.unwrap();
    let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let own = maps.split_once("/dev/binder").expect("it is mapped").1;
    let resident = own.lines().find(|it| it.starts_with("Rss:")).unwrap();
    let kib = resident.split_whitespace().nth(1).unwrap();
    assert_eq!(kib, if is_extended() { "64" } else { "0" });
    drop(device);
}

/// The caller becomes less urgent than the hog in the call, and more urgent again.
#[test]
#[ignore = "needs /dev/binder"]
fn a_change_of_the_callers_policy_counts_in_mid_call() {
    let house = House::new();
    for low in [Policy::fifo(10), Policy::Other { nice: 0 }] {
        let remote = house.remote.clone();
        let call = move || {
            let (own, start_ns) = (Tid::current(), Monotonic.now_ns());
            let change = move || {
                Monotonic.sleep_until(start_ns + 5_000_000);
                low.apply(own).unwrap();
                Monotonic.sleep_until(start_ns + 60_000_000);
                CALLER.apply(own).unwrap();
            };
            let changer = at(Policy::fifo(85), change);
            let done_ns = time(&remote, COMPUTE, WORK_US);
            changer.join();
            assert!(done_ns > start_ns + 60_000_000, "it was lowered");
            done_ns
        };
        assert_eq!(is_bounded(CALLER, call), is_extended(), "{low}");
    }
    house.end();
}

#[test]
#[ignore = "needs /dev/binder"]
fn an_answer_gives_the_priority_back() {
    let house = House::with_chain(false);
    let is_ordinary = |it: Vec<i32>| it.iter().all(|&it| it == ORDINARY);
    let remote = house.remote.clone();
    let house = Arc::new(house);
    let seen = Arc::clone(&house);
    let call = move || {
        // The server has had no time to do anything after its answer.
        (0..5).map(|_| time(&remote, COMPUTE, 100)).for_each(drop);
        seen.priorities()
    };
    assert!(is_ordinary(at(CALLER, call).join()));
    // The next program dies in the call.
    let (remote, seen) = (house.remote.clone(), Arc::clone(&house));
    let call = move || {
        let outcome = ask(&remote, RELAY_KEPT, DIE.cast_signed()).map(drop);
        (outcome, seen.priorities())
    };
    let (outcome, priorities) = at(CALLER, call).join();
    assert_eq!(outcome, Err(CallError::DeadObject));
    assert!(is_ordinary(priorities));
    assert_eq!(house.remote.ping(), Ok(()));
    Arc::into_inner(house).unwrap().end();
}

#[test]
#[ignore = "needs /dev/binder"]
fn a_caller_that_is_killed_gives_nothing_any_more() {
    let mut house = House::new();
    let mut caller = start("caller");
    let count = |house: &House| {
        house
            .priorities()
            .into_iter()
            .filter(|&it| it == URGENT)
            .count()
    };
    if is_extended() {
        await_that("it is served at the caller's priority", || {
            count(&house) == 1
        });
    }
    caller.kill().unwrap();
    caller.wait().unwrap();
    await_that("the service is ordinary again, in its call", || {
        count(&house) == 0
    });
    assert_eq!(house.remote.ping(), Ok(()), "by another looper");
    house.manager.kill().unwrap();
    house.manager.wait().unwrap();
    await_that("the manager's death is told", || {
        !house.remote.is_alive() || house.remote.ping().is_err()
    });
}

/// Callers of some priorities wait for the one looper; returns how often a less urgent one was
/// served first, or one that came later.
fn inversions(remote: &Binder, played: &Played, random: &mut fastrand::Rng, count: usize) -> usize {
    played.order.lock().clear();
    played.is_held.store(false, SeqCst);
    played.is_let_go.store(false, SeqCst);
    let add = |policy, value| {
        let remote = remote.clone();
        let thread = at(policy, move || drop(ask(&remote, ADD, value).unwrap()));
        await_sleep(thread.tid());
        thread
    };
    let hold = remote.clone();
    let holder = at(Policy::fifo(90), move || drop(ask(&hold, HOLD, 0).unwrap()));
    await_that("it is held", || played.is_held.load(SeqCst));
    let mut callers = vec![add(Policy::Other { nice: 0 }, 0)];
    for index in 1..=count as i32 {
        let level = random.u8(1..=4) * 20;
        callers.push(add(
            Policy::fifo(level),
            100 * i32::from(level) + 99 - index,
        ));
    }
    played.is_let_go.store(true, SeqCst);
    holder.join();
    callers.into_iter().for_each(|it| it.join());
    let order = played.order.lock().clone();
    assert_eq!(order.len(), count + 1);
    order.windows(2).filter(|it| it[0] < it[1]).count()
}

#[test]
#[ignore = "needs /dev/binder"]
fn of_several_callers_the_most_urgent_is_served_first() {
    let house = House::new();
    let far = Process::start(&Options::new("far")).unwrap();
    let device = far.attach(&DeviceOptions {
        loopers: 1,
        ..DeviceOptions::new()
    });
    let device = device.unwrap();
    let (node, played) = player(&far);
    give(&device.root().unwrap(), KEEP, Some(&node)).unwrap();
    let mut kept = give(&house.remote, KEEP, None).unwrap();
    let remote = kept.read_binder().unwrap().expect("the manager kept it");
    let mut random = fastrand::Rng::with_seed(7);
    let mut sum = 0;
    for count in (1..=7).cycle().take(28) {
        sum += inversions(&remote, &played, &mut random, count);
    }
    assert_eq!(sum == 0, is_extended(), "{sum} inversions");
    drop((kept, remote, node));
    drop(device);
    house.end();
}
