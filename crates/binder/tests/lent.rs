// SPDX-License-Identifier: Apache-2.0
//! Two programs: calls, references, deaths by SIGKILL, priorities against a hog.
//!
//! The other program is this one again, told its part by the environment; its standard input is
//! the socket.

mod service;

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU32};

use binder::{Binder, CallError, Connection, Options, Parcel, Process, Side};
use rt::affinity::CpuSet;
use rt::clock::{Clock, Monotonic, thread_time_ns};
use rt::policy::{Policy, Tid};
use rt::socket::Socket;
use rt::sync::PiMutex;
use rt::thread::Builder;
use service::{
    ADD, COMPUTE, DIE, DOWN, ECHO, FAIL, FD, HOLD, KEEP, LOCK, PANIC, RELAY, RELAY_KEPT, SLEEP,
    TID, WHO, ask, await_that, give, player,
};

const PART: &str = "BINDER_TEST_PART";
const PINNED: &str = "BINDER_TEST_PINNED";
const SECOND_NS: u64 = 1_000_000_000;

fn due_ns() -> u64 {
    Monotonic.now_ns() + 10 * SECOND_NS
}

/// Tests that hog a CPU, count descriptors or kill take turns.
static STAGE: PiMutex<()> = PiMutex::new(());

/// This program again, in a part of [`child`]; its end of the socket.
fn start(part: &str, is_pinned: bool) -> (Child, OwnedFd) {
    start_as(
        Command::new(std::env::current_exe().unwrap()),
        part,
        is_pinned,
    )
}

fn start_as(mut command: Command, part: &str, is_pinned: bool) -> (Child, OwnedFd) {
    let (near, far) = Socket::pair().unwrap();
    command.args(["--exact", "child", "--nocapture", "--quiet"]);
    command.env(PART, part).env_remove(PINNED);
    if is_pinned {
        command.env(PINNED, "1");
    }
    command
        .stdin(Stdio::from(far.into_fd()))
        .stdout(Stdio::null());
    (command.spawn().unwrap(), near.into_fd())
}

/// The other program. Not a test of its own: without a part it returns.
#[test]
fn child() {
    let Ok(part) = std::env::var(PART) else {
        return;
    };
    if std::env::var(PINNED).is_ok() {
        hogged_cpu().apply(Tid::current()).unwrap();
    }
    let socket = std::io::stdin().as_fd().try_clone_to_owned().unwrap();
    let process = Process::start(&Options::new("child")).unwrap();
    let (node, played) = player(&process);
    process.set_root(Some(node));
    let mut next = None;
    if part == "relay" {
        let (child, socket) = start("serve", std::env::var(PINNED).is_ok());
        let connection = process.connect(socket, Side::Caller, due_ns()).unwrap();
        *played.kept.lock() = connection.root().unwrap();
        next = Some((child, connection));
    }
    let connection = process.connect(socket, Side::Listener, due_ns()).unwrap();
    if part == "call" {
        let remote = connection.root().unwrap().unwrap();
        let mut value = 0;
        // Until it is killed.
        while give(&remote, KEEP, Some(&remote)).is_ok() && ask(&remote, ADD, value).is_ok() {
            value += 1;
        }
    }
    while connection.is_alive() {
        Monotonic.sleep_until(Monotonic.now_ns() + 1_000_000);
    }
    drop(connection);
    if let Some((mut child, connection)) = next {
        connection.close();
        child.wait().unwrap();
    }
}

/// A process here and one in another program.
struct Pair {
    near: Process,
    connection: Connection,
    remote: Binder,
    child: Child,
}

impl Pair {
    fn new(part: &str, is_pinned: bool) -> Self {
        Self::of(start(part, is_pinned))
    }

    fn of((child, socket): (Child, OwnedFd)) -> Self {
        let near = Process::start(&Options::new("near")).unwrap();
        let connection = near.connect(socket, Side::Caller, due_ns()).unwrap();
        let remote = connection.root().unwrap().unwrap();
        Self {
            near,
            connection,
            remote,
            child,
        }
    }

    /// Ends both, in order.
    fn end(mut self) {
        drop(self.remote);
        self.connection.close();
        assert!(self.child.wait().unwrap().success());
    }
}

#[test]
fn a_call_is_answered_in_the_other_program() {
    let pair = Pair::new("serve", false);
    let (mut data, mut reply) = (Parcel::new(), Parcel::new());
    data.write_blob(Some(b"hello")).unwrap();
    for _ in 0..1_000 {
        pair.remote
            .transact(ECHO, &mut data, &mut reply, None)
            .unwrap();
        assert_eq!(reply.read_blob(), Some(&b"hello"[..]));
    }
    let mut who = ask(&pair.remote, WHO, 0).unwrap();
    assert_eq!(who.read_i32(), Some(std::process::id().cast_signed()));
    assert_eq!(who.read_i32(), Some(rt::process::uid().cast_signed()));
    assert_eq!(pair.connection.peer().pid, pair.child.id().cast_signed());
    assert_eq!(pair.remote.descriptor().unwrap(), "takt.test.IPlayer");
    assert_eq!(pair.remote.dump().unwrap(), "sum 0");
    pair.end();
}

#[test]
fn errors_come_back_as_they_are() {
    let pair = Pair::new("serve", false);
    let error = |code, value| ask(&pair.remote, code, value).unwrap_err();
    assert_eq!(error(99, 0), CallError::UnknownTransaction);
    assert_eq!(error(FAIL, 7), CallError::Status(7));
    assert_eq!(error(PANIC, 0), CallError::Failed);
    assert_eq!(error(KEEP, 0), CallError::BadParcel);
    assert_eq!(pair.remote.ping(), Ok(()));
    pair.end();
}

#[test]
fn large_parcels_and_descriptors_travel_up_to_the_bound() {
    let pair = Pair::new("serve", false);
    let mut reply = Parcel::new();
    for size in [4_000, 4_100, 65_536, (1 << 20) - 8] {
        let blob = vec![size as u8; size];
        let mut data = Parcel::new();
        data.write_blob(Some(&blob)).unwrap();
        pair.remote
            .transact(ECHO, &mut data, &mut reply, None)
            .unwrap();
        assert_eq!(reply.read_blob(), Some(&blob[..]), "{size}");
    }
    let mut data = Parcel::new();
    data.write_blob(Some(&vec![0; 1 << 20])).unwrap();
    let refused = pair.remote.transact(ECHO, &mut data, &mut reply, None);
    assert_eq!(refused, Err(CallError::TooLarge));
    let (near, far) = std::os::unix::net::UnixStream::pair().unwrap();
    let mut data = Parcel::new();
    data.write_fd(Arc::new(near.into())).unwrap();
    pair.remote
        .transact(FD, &mut data, &mut reply, None)
        .unwrap();
    let back = reply.read_fd().unwrap();
    drop((data, reply));
    let stream = std::os::unix::net::UnixStream::from(Arc::into_inner(back).unwrap());
    std::io::Write::write_all(&mut &stream, b"x").unwrap();
    let mut byte = [0];
    std::io::Read::read_exact(&mut &far, &mut byte).unwrap();
    pair.end();
}

#[test]
fn a_call_back_arrives_on_the_thread_that_waits() {
    let pair = Pair::new("serve", false);
    let (own, _) = player(&pair.near);
    for depth in 0..6 {
        let (mut data, mut reply) = (Parcel::new(), Parcel::new());
        data.write_binder(Some(own.clone())).unwrap();
        data.write_i32(depth).unwrap();
        pair.remote
            .transact(DOWN, &mut data, &mut reply, None)
            .unwrap();
        let tids: Vec<_> = std::iter::from_fn(|| reply.read_i32()).collect();
        assert_eq!(tids.len(), depth as usize + 1);
        for (index, tid) in tids.iter().enumerate() {
            let is_ours = index % 2 == 1;
            assert_eq!(*tid == Tid::current().raw(), is_ours, "{tids:?}");
            assert_eq!(*tid, tids[index % 2], "one thread at each end: {tids:?}");
        }
    }
    pair.end();
}

#[test]
fn references_end_at_zero_across_programs() {
    let pair = Pair::new("serve", false);
    let (own, played) = player(&pair.near);
    let weak = own.downgrade();
    give(&pair.remote, KEEP, Some(&own)).unwrap();
    drop((own, played));
    let held = weak.promote().expect("the other program holds it");
    let mut back = give(&pair.remote, KEEP, None).unwrap();
    assert!(back.read_binder().unwrap().unwrap().is_same(&held));
    drop((held, back));
    await_that("the node goes", || weak.promote().is_none());
    let weak = pair.remote.downgrade();
    let Pair {
        near,
        connection,
        remote,
        mut child,
    } = pair;
    drop(remote);
    assert_eq!(near.references(), (0, 0));
    assert_eq!(
        weak.promote().unwrap().ping(),
        Ok(()),
        "the root is still there"
    );
    connection.close();
    assert!(weak.promote().is_none());
    assert!(child.wait().unwrap().success());
}

#[test]
fn calls_without_an_answer_keep_their_order_and_have_a_bound() {
    let pair = Pair::new("serve", false);
    let send = |value: i32| {
        let mut data = Parcel::new();
        data.write_i32(value).unwrap();
        pair.remote.send(SLEEP, &data)
    };
    let mut sent = 0;
    let refused = loop {
        match send(if sent == 0 { 100 } else { 0 }) {
            Ok(()) => sent += 1,
            Err(error) => break error,
        }
    };
    assert_eq!((refused, sent), (CallError::QueueFull, 64));
    await_that("all are served", || pair.connection.oneways_out() == 0);
    let mut data = Parcel::new();
    data.write_i32(3).unwrap();
    pair.remote.send(ADD, &data).unwrap();
    await_that("it arrives", || pair.remote.dump().unwrap() == "sum 3");
    pair.end();
}

#[test]
fn a_call_that_is_not_answered_in_time_leaves_the_link_usable() {
    let pair = Pair::new("serve", false);
    let (mut data, mut reply) = (Parcel::new(), Parcel::new());
    data.write_i32(100).unwrap();
    for _ in 0..3 {
        let due_ns = Monotonic.now_ns() + 5_000_000;
        let late = pair
            .remote
            .transact(SLEEP, &mut data, &mut reply, Some(due_ns));
        assert_eq!(late, Err(CallError::TimedOut));
        assert!(Monotonic.now_ns() >= due_ns, "never early");
    }
    assert_eq!(pair.near.counters().late, 3);
    assert_eq!(pair.remote.ping(), Ok(()));
    pair.end();
}

#[test]
fn many_threads_call_at_once() {
    let pair = Pair::new("serve", false);
    let callers: Vec<_> = (0..48)
        .map(|caller| {
            let remote = pair.remote.clone();
            let call = move || {
                for round in 0..50 {
                    let text = format!("{caller} {round}");
                    let (mut data, mut reply) = (Parcel::new(), Parcel::new());
                    data.write_blob(Some(text.as_bytes())).unwrap();
                    remote.transact(ECHO, &mut data, &mut reply, None).unwrap();
                    assert_eq!(reply.read_blob(), Some(text.as_bytes()));
                }
            };
            Builder::new("caller").spawn(call).unwrap()
        })
        .collect();
    callers.into_iter().for_each(|it| it.join());
    pair.end();
}

// Deaths.

#[test]
fn a_server_that_dies_in_a_call_or_before_it_is_told() {
    let _stage = STAGE.lock();
    for is_stopped in [false, true] {
        let mut pair = Pair::new("serve", false);
        let told = Arc::new(AtomicU32::new(0));
        let counter = Arc::clone(&told);
        let recipient = move || {
            counter.fetch_add(1, SeqCst);
        };
        pair.remote.link_to_death(recipient).unwrap();
        let pid = pair.child.id().cast_signed();
        if is_stopped {
            // It has the request, and does not take it.
            signal(pid, "STOP");
            await_that("all its threads are stopped", || all_are_stopped(pid));
            let killer = Builder::new("killer").spawn(move || {
                Monotonic.sleep_until(Monotonic.now_ns() + 20_000_000);
                signal(pid, "KILL");
            });
            assert_eq!(
                ask(&pair.remote, ADD, 1).unwrap_err(),
                CallError::DeadObject
            );
            killer.unwrap().join();
        } else {
            assert_eq!(
                ask(&pair.remote, DIE, 0).unwrap_err(),
                CallError::DeadObject
            );
        }
        assert!(!pair.child.wait().unwrap().success());
        await_that("its recipient is told", || told.load(SeqCst) == 1);
        assert_eq!(pair.remote.ping(), Err(CallError::DeadObject));
        assert_eq!(pair.near.references(), (0, 0));
    }
}

fn signal(pid: i32, name: &str) {
    let words = format!("kill -{name} {pid}");
    let status = Command::new("sh").args(["-c", &words]).status();
    assert!(status.unwrap().success());
}

fn all_are_stopped(pid: i32) -> bool {
    let mut tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    tasks.all(|task| {
        let stat = std::fs::read_to_string(task.unwrap().path().join("stat"));
        stat.is_ok_and(|it| {
            it.rsplit_once(')')
                .is_some_and(|(_, rest)| rest.starts_with(" T"))
        })
    })
}

fn open_fds() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

/// Kills the other program at random moments of calls under load: nothing is left here.
#[test]
fn a_killed_server_leaves_nothing() {
    let _stage = STAGE.lock();
    let near = Process::start(&Options::new("near")).unwrap();
    let (own, played) = player(&near);
    let seed = std::env::var("SEED").map_or(7, |it| it.parse().unwrap());
    let mut random = fastrand::Rng::with_seed(seed);
    for round in 0..rounds() {
        let (mut child, socket) = start("serve", false);
        let connection = near.connect(socket, Side::Caller, due_ns()).unwrap();
        let remote = connection.root().unwrap().unwrap();
        let told = Arc::new(AtomicU32::new(0));
        let counter = Arc::clone(&told);
        let recipient = move || {
            counter.fetch_add(1, SeqCst);
        };
        remote.link_to_death(recipient).unwrap();
        let callers: Vec<_> = (0..3)
            .map(|index| {
                let (remote, own) = (remote.clone(), own.clone());
                let call = move || loop {
                    let error = match index {
                        0 => give(&remote, KEEP, Some(&own)).map(drop),
                        1 => ask(&remote, COMPUTE, 50).map(drop),
                        _ => down(&remote, &own).map(drop),
                    };
                    if let Err(error) = error {
                        return error;
                    }
                };
                Builder::new("caller").spawn(call).unwrap()
            })
            .collect();
        Monotonic.sleep_until(Monotonic.now_ns() + random.u64(0..5_000_000));
        child.kill().unwrap();
        child.wait().unwrap();
        for caller in callers {
            assert_eq!(
                caller.join(),
                CallError::DeadObject,
                "seed {seed}, round {round}"
            );
        }
        await_that("its recipient is told", || told.load(SeqCst) == 1);
        drop(remote);
        await_that("no reference is left", || near.references() == (0, 0));
    }
    played.own.lock().take();
    assert_eq!(near.counters().deaths, rounds());
    assert_eq!(near.counters().broken, 0);
    assert_eq!(Arc::strong_count(&played), 2, "the node's and ours");
    drop((near, own));
    assert_eq!(Arc::strong_count(&played), 1);
}

/// An excerpt, or as many as the environment says.
fn rounds() -> u64 {
    std::env::var("BINDER_TEST_KILLS").map_or(20, |it| it.parse().unwrap())
}

fn down(remote: &Binder, own: &Binder) -> Result<Parcel, CallError> {
    let (mut data, mut reply) = (Parcel::new(), Parcel::new());
    data.write_binder(Some(own.clone()))?;
    data.write_i32(3)?;
    remote.transact(DOWN, &mut data, &mut reply, None)?;
    Ok(reply)
}

/// The same with the caller killed: descriptors and threads are counted as well.
#[test]
fn a_killed_caller_leaves_nothing() {
    let _stage = STAGE.lock();
    let near = Process::start(&Options::new("near")).unwrap();
    let (own, played) = player(&near);
    near.set_root(Some(own));
    let mut random = fastrand::Rng::with_seed(3);
    let mut before = None;
    for _ in 0..rounds() {
        let (mut child, socket) = start("call", false);
        let connection = near.connect(socket, Side::Caller, due_ns()).unwrap();
        let served = near.counters().served;
        await_that("it calls", || near.counters().served > served + 10);
        Monotonic.sleep_until(Monotonic.now_ns() + random.u64(0..2_000_000));
        child.kill().unwrap();
        child.wait().unwrap();
        drop(connection);
        let kept = &played.kept;
        await_that("no reference is left", || {
            drop(kept.lock().take());
            near.references() == (0, 0)
        });
        let left = *before.get_or_insert_with(|| (open_fds(), threads()));
        await_that("descriptors and threads are as before", || {
            left >= (open_fds(), threads())
        });
    }
    assert_eq!(near.counters().deaths, rounds());
    assert_eq!(near.counters().broken, 0);
}

// Priorities.

/// The CPU that a hog and the servers share.
fn hogged_cpu() -> CpuSet {
    let cpus = CpuSet::of(Tid::current()).unwrap();
    CpuSet::single(cpus.iter().last().unwrap())
}

const HOG: Policy = Policy::fifo(50);
const CALLER: Policy = Policy::fifo(80);
const DEADLINE: Policy = Policy::Deadline(rt::policy::Reservation {
    runtime_ns: 5_000_000,
    deadline_ns: 20_000_000,
    period_ns: 20_000_000,
});
/// Less than the kernel's fair server and its throttling of real-time threads wait.
const HOG_NS_MAX: u64 = 700_000_000;
/// More than the 50 ms that the fair server gives ordinary threads in a second of hogging.
const WORK_US: i32 = 100_000;

/// Calls with a hog on the servers' CPU; says whether the call was over before the hog.
fn is_bounded(policy: Policy, call: impl FnOnce() + Send + 'static) -> bool {
    let cues = Arc::new((
        AtomicBool::new(false),
        AtomicBool::new(false),
        AtomicBool::new(false),
    ));
    let hog = Builder::new("hog")
        .policy(HOG)
        .affinity(hogged_cpu())
        .spawn({
            let cues = Arc::clone(&cues);
            move || {
                cues.0.store(true, SeqCst);
                let end_ns = thread_time_ns() + HOG_NS_MAX;
                while !cues.1.load(SeqCst) && thread_time_ns() < end_ns {
                    std::hint::spin_loop();
                }
                cues.2.store(true, SeqCst);
            }
        });
    let hog =
        hog.unwrap_or_else(|error| panic!("{error}: `takt doctor` tells how to get the right"));
    await_that("the hog runs", || cues.0.load(SeqCst));
    let mut caller = Builder::new("caller").policy(policy);
    if !matches!(policy, Policy::Deadline(_)) {
        // A thread with a reservation may run anywhere, or nowhere.
        let first = CpuSet::of(Tid::current()).unwrap().iter().next().unwrap();
        caller = caller.affinity(CpuSet::single(first));
    }
    let is_bounded = caller
        .spawn({
            let cues = Arc::clone(&cues);
            move || {
                call();
                !cues.2.load(SeqCst)
            }
        })
        .unwrap()
        .join();
    cues.1.store(true, SeqCst);
    hog.join();
    is_bounded
}

#[test]
fn a_call_does_not_wait_for_a_hog_between_caller_and_server() {
    let _stage = STAGE.lock();
    let pair = Pair::new("serve", true);
    for policy in [CALLER, DEADLINE, Policy::Other { nice: 0 }] {
        let remote = pair.remote.clone();
        let is_bounded = is_bounded(policy, move || {
            drop(ask(&remote, COMPUTE, WORK_US).unwrap())
        });
        // The ordinary caller is the control: it must wait, or nothing was shown.
        assert_eq!(is_bounded, policy.is_real_time(), "{policy}");
    }
    pair.end();
}

#[test]
fn a_caller_that_is_raised_in_a_call_does_not_wait_for_a_hog_any_more() {
    let _stage = STAGE.lock();
    let pair = Pair::new("serve", true);
    let remote = pair.remote.clone();
    let is_bounded = is_bounded(Policy::fifo(10), move || {
        let own = Tid::current();
        let raise = move || {
            Monotonic.sleep_until(Monotonic.now_ns() + 30_000_000);
            CALLER.apply(own).unwrap();
        };
        let raiser = Builder::new("raiser").policy(CALLER).spawn(raise).unwrap();
        drop(ask(&remote, COMPUTE, 1_000).unwrap());
        raiser.join();
    });
    assert!(is_bounded);
    pair.end();
}

#[test]
fn a_server_that_waits_for_its_own_lock_does_not_wait_for_a_hog() {
    let _stage = STAGE.lock();
    let pair = Pair::new("serve", true);
    ask(&pair.remote, LOCK, 60_000).unwrap();
    let remote = pair.remote.clone();
    assert!(is_bounded(CALLER, move || drop(
        ask(&remote, ADD, 1).unwrap()
    )));
    pair.end();
}

/// Time at a lent priority counts as the server's own: its limit ends it.
#[test]
fn a_server_that_never_gives_back_what_was_lent_is_ended_by_its_limit() {
    let _stage = STAGE.lock();
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

#[test]
fn a_deadline_is_lent_until_the_callers_time_is_over() {
    let _stage = STAGE.lock();
    let pair = Pair::new("serve", false);
    let remote = pair.remote.clone();
    let call = move || {
        let (mut data, mut reply) = (Parcel::new(), Parcel::new());
        data.write_i32(200_000).unwrap();
        let due_ns = Monotonic.now_ns() + 20_000_000;
        remote.transact(COMPUTE, &mut data, &mut reply, Some(due_ns))
    };
    let caller = Builder::new("caller").policy(DEADLINE).spawn(call).unwrap();
    assert_eq!(caller.join(), Err(CallError::TimedOut));
    assert_eq!(pair.remote.ping(), Ok(()));
    pair.end();
}

#[test]
fn a_chain_does_not_wait_for_a_hog() {
    let _stage = STAGE.lock();
    let pair = Pair::new("relay", true);
    let mut data = Parcel::new();
    data.write_i32(COMPUTE.cast_signed()).unwrap();
    data.write_i32(1_000).unwrap();
    let remote = pair.remote.clone();
    let is_bounded = is_bounded(CALLER, move || {
        let mut reply = Parcel::new();
        remote
            .transact(RELAY_KEPT, &mut data, &mut reply, None)
            .unwrap();
    });
    assert!(is_bounded);
    pair.end();
}

#[test]
fn what_is_lent_counts_at_the_next_process() {
    let _stage = STAGE.lock();
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
    let _stage = STAGE.lock();
    let pair = Pair::new("serve", true);
    let (own, _) = player(&pair.near);
    let mut data = Parcel::new();
    data.write_binder(Some(own)).unwrap();
    data.write_i32(COMPUTE.cast_signed()).unwrap();
    data.write_i32(1_000).unwrap();
    let remote = pair.remote.clone();
    let is_bounded = is_bounded(CALLER, move || {
        let mut reply = Parcel::new();
        remote.transact(RELAY, &mut data, &mut reply, None).unwrap();
    });
    assert!(is_bounded);
    pair.end();
}

#[test]
fn urgent_callers_are_served_first_on_a_looper_that_is_theirs() {
    let _stage = STAGE.lock();
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

fn await_sleep(tid: Tid) {
    await_that("the caller waits", || {
        let stat = std::fs::read_to_string(format!("/proc/self/task/{}/stat", tid.raw()));
        stat.is_ok_and(|it| {
            it.rsplit_once(')')
                .is_some_and(|(_, rest)| rest.starts_with(" S"))
        })
    });
}

#[test]
fn who_is_no_binder_process_is_refused() {
    let near = Process::start(&Options::new("near")).unwrap();
    let (left, right) = Socket::pair().unwrap();
    right.try_send(b"something else", &[]).unwrap();
    let refused = near.connect(left.into_fd(), Side::Listener, due_ns());
    assert_eq!(refused.err(), Some(binder::ConnectError::Foreign));
    let (left, right) = Socket::pair().unwrap();
    let soon_ns = Monotonic.now_ns() + 10_000_000;
    let refused = near.connect(left.into_fd(), Side::Caller, soon_ns);
    assert!(matches!(refused, Err(binder::ConnectError::Socket(_))));
    assert!(right.as_fd().as_raw_fd() > 0);
}
