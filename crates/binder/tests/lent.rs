// SPDX-License-Identifier: Apache-2.0
//! Two programs: calls, references, deaths by SIGKILL, priorities against a hog.
//!
//! The other program is this one again, told its part by the environment; its standard input is
//! the socket.

mod hog;
mod left;
mod pair;
mod service;

use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;

use binder::{Binder, Call, CallError, Options, Parcel, Process, Service, Side};
use left::{Left, Progress, alone};
use pair::{Pair, STAGE, all_are_stopped, due_ns, join, signal, start};
use rt::clock::{Clock, Monotonic};
use rt::policy::Tid;
use rt::socket::Socket;
use rt::sync::PiMutex;
use rt::thread::Builder;
use service::{
    ADD, COMPUTE, DIE, DOWN, ECHO, FAIL, FD, KEEP, PANIC, SLEEP, TID, WHO, ask, await_that, give,
    player,
};

/// The other program ([`pair`]).
#[test]
fn child() {
    pair::child();
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

/// Two processes of this program, joined as two programs are. Their threads spin as long as they
/// may.
fn spinning() -> (Process, Process, [binder::Connection; 2]) {
    let [near, far] = ["near", "far"].map(|name| {
        let options = Options {
            spin_ns: u64::MAX,
            ..Options::new(name)
        };
        Process::start(&options).unwrap()
    });
    far.set_root(Some(player(&far).0));
    let (left, right) = Socket::pair().unwrap();
    let ends = std::thread::scope(|scope| {
        let listener = scope.spawn(|| far.connect(right.into_fd(), Side::Listener, due_ns()));
        let caller = near.connect(left.into_fd(), Side::Caller, due_ns());
        [caller.unwrap(), listener.join().unwrap().unwrap()]
    });
    (near, far, ends)
}

#[test]
fn ends_that_spin_answer_in_time_and_fall_asleep() {
    let (near, _far, [connection, _other]) = spinning();
    let remote = connection.root().unwrap().unwrap();
    for value in 0..200 {
        ask(&remote, ADD, value).unwrap();
    }
    assert_eq!(remote.dump().unwrap(), format!("sum {}", 199 * 200 / 2));
    let own = player(&near).0;
    let (mut data, mut reply) = (Parcel::new(), Parcel::new());
    data.write_binder(Some(own)).unwrap();
    data.write_i32(5).unwrap();
    remote.transact(DOWN, &mut data, &mut reply, None).unwrap();
    assert_eq!(std::iter::from_fn(|| reply.read_i32()).count(), 6);
    // Longer than anybody spins, and then shorter.
    assert!(ask(&remote, SLEEP, 2).is_ok());
    let mut data = Parcel::new();
    data.write_i32(50).unwrap();
    let due_ns = Monotonic.now_ns() + binder::SPIN_NS_MAX / 2;
    let late = remote.transact(SLEEP, &mut data, &mut reply, Some(due_ns));
    assert_eq!(late, Err(CallError::TimedOut));
    let looper = ask(&remote, TID, 0).unwrap().read_i32().unwrap();
    let stat = format!("/proc/self/task/{looper}/stat");
    let sleeps = || std::fs::read_to_string(&stat).unwrap().contains(") S ");
    await_that("a looper without work sleeps", sleeps);
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

/// Notes the numbers that come, and the threads that bring them.
struct Brief(Arc<PiMutex<Vec<(i32, String)>>>);

impl Service for Brief {
    fn descriptor(&self) -> &str {
        "takt.test.IBrief"
    }

    fn on_transact(
        &self,
        _call: &Call,
        _code: u32,
        data: &mut Parcel,
        _reply: &mut Parcel,
    ) -> Result<(), CallError> {
        let comm = format!("/proc/self/task/{}/comm", Tid::current().raw());
        let thread = std::fs::read_to_string(comm).unwrap();
        let number = data.read_i32().unwrap();
        self.0.lock().push((number, thread.trim().to_owned()));
        Ok(())
    }

    fn is_brief(&self) -> bool {
        true
    }
}

#[test]
fn a_brief_node_hears_calls_without_an_answer_on_the_door_in_order() {
    let near = Process::start(&Options::new("near")).unwrap();
    let far = Process::start(&Options::new("far")).unwrap();
    let heard = Arc::new(PiMutex::new(Vec::new()));
    far.set_root(Some(far.add(Brief(Arc::clone(&heard)))));
    let (connection, _other) = join(&near, &far);
    let remote = connection.root().unwrap().unwrap();
    for value in 0..200 {
        let mut data = Parcel::new();
        data.write_i32(value).unwrap();
        // 64 may be on their way.
        await_that("there is room", || remote.send(1, &data).is_ok());
    }
    await_that("all have come", || heard.lock().len() == 200);
    let expected: Vec<_> = (0..200).map(|it| (it, "far/door".to_owned())).collect();
    assert_eq!(*heard.lock(), expected);
    // One that waits for an answer is a looper's.
    ask(&remote, 1, 200).unwrap();
    let last = heard.lock().pop().unwrap();
    assert!(last.0 == 200 && last.1 != "far/door", "{last:?}");
    drop(remote);
    connection.close();
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

/// Kills the other program at random moments of calls under load: nothing is left here.
#[test]
fn a_killed_server_leaves_nothing() {
    let _stage = STAGE.lock();
    alone("a_killed_server_leaves_nothing", kill_servers);
}

fn kill_servers() {
    let near = Process::start(&Options::new("near")).unwrap();
    let (own, played) = player(&near);
    let seed = std::env::var("SEED").map_or(7, |it| it.parse().unwrap());
    let mut random = fastrand::Rng::with_seed(seed);
    let before = Left::now();
    let progress = Progress::of("servers killed", rounds());
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
        drop((remote, connection));
        await_that("no reference is left", || near.references() == (0, 0));
        before.await_no_more(&(seed, round), || ());
        assert_eq!(
            told.load(SeqCst),
            1,
            "seed {seed}, round {round}: told once"
        );
        progress.tell(round + 1);
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
    std::env::var("BINDER_TEST_KILLS").map_or(250, |it| it.parse().unwrap())
}

fn down(remote: &Binder, own: &Binder) -> Result<Parcel, CallError> {
    let (mut data, mut reply) = (Parcel::new(), Parcel::new());
    data.write_binder(Some(own.clone()))?;
    data.write_i32(3)?;
    remote.transact(DOWN, &mut data, &mut reply, None)?;
    Ok(reply)
}

/// The same with the caller killed: what is left is counted as well.
#[test]
fn a_killed_caller_leaves_nothing() {
    let _stage = STAGE.lock();
    alone("a_killed_caller_leaves_nothing", kill_callers);
}

fn kill_callers() {
    let near = Process::start(&Options::new("near")).unwrap();
    let (own, played) = player(&near);
    near.set_root(Some(own));
    let mut random = fastrand::Rng::with_seed(3);
    let before = Left::now();
    let progress = Progress::of("callers killed", rounds());
    for round in 0..rounds() {
        let (mut child, socket) = start("call", false);
        let connection = near.connect(socket, Side::Caller, due_ns()).unwrap();
        let served = near.counters().served;
        await_that("it calls", || near.counters().served > served + 10);
        Monotonic.sleep_until(Monotonic.now_ns() + random.u64(0..2_000_000));
        child.kill().unwrap();
        child.wait().unwrap();
        drop(connection);
        let let_go = || {
            let kept = played.kept.lock().take();
            drop(kept);
        };
        await_that("no reference is left", || {
            let_go();
            near.references() == (0, 0)
        });
        before.await_no_more(&round, let_go);
        progress.tell(round + 1);
    }
    assert_eq!(near.counters().deaths, rounds());
    assert_eq!(near.counters().broken, 0);
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
