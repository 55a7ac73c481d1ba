// SPDX-License-Identifier: Apache-2.0
//! Two programs over the kernel's `/dev/binder`. Its tests are ignored where there is none; the
//! stage "binder in the lab" runs them in a guest that has Debian's module, one after the other: a
//! device has one context manager.

mod service;

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;

use binder::{Binder, CallError, Device, DeviceOptions, Options, Parcel, Process};
use rt::clock::{Clock, Monotonic};
use rt::policy::Tid;
use rt::thread::Builder;
use service::{
    ADD, DIE, DOWN, ECHO, FAIL, FD, KEEP, PANIC, Played, WHO, ask, await_that, give, player,
};

const PART: &str = "BINDER_TEST_MANAGER";

fn options() -> DeviceOptions {
    DeviceOptions::new()
}

/// The other program: the context manager, until its standard input ends.
#[test]
fn child() {
    if std::env::var(PART).is_err() {
        return;
    }
    let process = Process::start(&Options::new("manager")).unwrap();
    let (node, _played) = player(&process);
    process.set_root(Some(node));
    let device = process.attach(&DeviceOptions {
        is_manager: true,
        ..options()
    });
    let _device = device.unwrap();
    let _ = std::io::Read::read(&mut std::io::stdin(), &mut [0]);
}

/// A process here, and the context manager in another program.
struct Pair {
    remote: Binder,
    device: Device,
    near: Process,
    child: Child,
}

impl Pair {
    fn new() -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "child", "--nocapture", "--quiet"]);
        command.env(PART, "1").stdin(Stdio::piped());
        let child = command.stdout(Stdio::null()).spawn().unwrap();
        let near = Process::start(&Options::new("near")).unwrap();
        let device = near.attach(&options()).unwrap();
        await_that("there is a context manager", || device.root().is_ok());
        Self {
            remote: device.root().unwrap(),
            device,
            near,
            child,
        }
    }

    fn end(mut self) {
        drop(self.remote);
        drop(self.device);
        drop(self.child.stdin.take());
        assert!(self.child.wait().unwrap().success());
        assert_eq!(self.near.references(), (0, 0));
    }
}

#[test]
fn a_device_that_is_none_is_refused() {
    let process = Process::start(&Options::new("near")).unwrap();
    for path in ["/dev/null", "/dev/nothing"] {
        let refused = process.attach(&DeviceOptions {
            path: Path::new(path).to_owned(),
            ..options()
        });
        assert!(refused.is_err(), "{path}");
    }
}

#[test]
#[ignore = "needs /dev/binder"]
fn a_call_is_answered_in_the_other_program() {
    let pair = Pair::new();
    let (mut data, mut reply) = (Parcel::new(), Parcel::new());
    data.write_blob(Some(b"hello")).unwrap();
    for _ in 0..200 {
        pair.remote
            .transact(ECHO, &mut data, &mut reply, None)
            .unwrap();
        assert_eq!(reply.read_blob(), Some(&b"hello"[..]));
    }
    let mut who = ask(&pair.remote, WHO, 0).unwrap();
    assert_eq!(who.read_i32(), Some(std::process::id().cast_signed()));
    assert_eq!(who.read_i32(), Some(rt::process::uid().cast_signed()));
    assert_eq!(pair.remote.descriptor().unwrap(), "takt.test.IPlayer");
    assert_eq!(pair.remote.dump().unwrap(), "sum 0");
    assert!(pair.near.dump().contains("(driver)"));
    pair.end();
}

#[test]
#[ignore = "needs /dev/binder"]
fn errors_come_back_as_they_are_and_bounds_are_named() {
    let pair = Pair::new();
    let error = |code, value| ask(&pair.remote, code, value).unwrap_err();
    assert_eq!(error(99, 0), CallError::UnknownTransaction);
    assert_eq!(error(FAIL, 7), CallError::Status(7));
    assert_eq!(error(PANIC, 0), CallError::Failed);
    assert_eq!(error(KEEP, 0), CallError::BadParcel);
    let (mut data, mut reply) = (Parcel::new(), Parcel::new());
    let due_ns = Some(Monotonic.now_ns() + 1_000_000_000);
    let late = pair.remote.transact(ADD, &mut data, &mut reply, due_ns);
    assert!(matches!(late, Err(CallError::NotSupported(_))), "{late:?}");
    for size in [4_000, 65_536, 900_000] {
        let blob = vec![size as u8; size];
        let mut data = Parcel::new();
        data.write_blob(Some(&blob)).unwrap();
        pair.remote
            .transact(ECHO, &mut data, &mut reply, None)
            .unwrap();
        assert_eq!(reply.read_blob(), Some(&blob[..]), "{size}");
    }
    data.write_blob(Some(&vec![0; 1 << 20])).unwrap();
    let refused = pair.remote.transact(ECHO, &mut data, &mut reply, None);
    assert_eq!(refused, Err(CallError::TooLarge));
    assert_eq!(pair.remote.ping(), Ok(()));
    pair.end();
}

#[test]
#[ignore = "needs /dev/binder"]
fn descriptors_travel_and_none_is_left() {
    let pair = Pair::new();
    let count = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let before = count();
    for _ in 0..20 {
        let (near, far) = std::os::unix::net::UnixStream::pair().unwrap();
        let (mut data, mut reply) = (Parcel::new(), Parcel::new());
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
    }
    assert_eq!(count(), before);
    pair.end();
}

#[test]
#[ignore = "needs /dev/binder"]
fn a_call_back_arrives_on_the_thread_that_waits() {
    let pair = Pair::new();
    let (own, played) = player(&pair.near);
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
    drop((own, played));
    pair.end();
}

#[test]
#[ignore = "needs /dev/binder"]
fn references_are_counted_and_end_at_zero() {
    let pair = Pair::new();
    let (own, played) = player(&pair.near);
    let weak = own.downgrade();
    for _ in 0..50 {
        give(&pair.remote, KEEP, Some(&own)).unwrap();
    }
    drop((own, played));
    let held = weak.promote().expect("the other program holds it");
    let mut back = give(&pair.remote, KEEP, None).unwrap();
    assert!(back.read_binder().unwrap().unwrap().is_same(&held));
    drop((held, back));
    await_that("the node goes", || weak.promote().is_none());
    // The manager's root is handle 0; passed on it is a node like others, as on Android.
    give(&pair.remote, KEEP, Some(&pair.remote)).unwrap();
    let mut back = give(&pair.remote, KEEP, Some(&pair.remote)).unwrap();
    let passed = back.read_binder().unwrap().unwrap();
    assert_eq!(passed.ping(), Ok(()));
    let mut back = give(&pair.remote, KEEP, None).unwrap();
    let again = back.read_binder().unwrap().unwrap();
    assert!(again.is_same(&passed), "one node is one proxy");
    drop((passed, again, back));
    let weak = pair.remote.downgrade();
    assert!(weak.promote().is_some(), "while a proxy lives");
    drop(weak);
    pair.end();
}

#[test]
#[ignore = "needs /dev/binder"]
fn threads_pass_nodes_around_and_nothing_is_left() {
    let pair = Pair::new();
    let threads: Vec<_> = (0..6)
        .map(|seed| {
            let remote = pair.remote.clone();
            let (own, played) = player(&pair.near);
            let play = move || {
                let mut random = fastrand::Rng::with_seed(seed);
                for step in 0..150 {
                    match random.u8(0..4) {
                        0 => drop(give(&remote, KEEP, Some(&own)).unwrap()),
                        1 => drop(give(&remote, KEEP, None).unwrap()),
                        2 => drop(give(&remote, KEEP, Some(&remote)).unwrap()),
                        _ => drop(ask(&remote, ADD, step).unwrap()),
                    }
                }
                drop((own, played));
            };
            Builder::new("player").spawn(play).unwrap()
        })
        .collect();
    threads.into_iter().for_each(|it| it.join());
    give(&pair.remote, KEEP, None).unwrap();
    let near = &pair.near;
    await_that("nothing is left but the manager", || {
        near.references() == (0, 1)
    });
    pair.end();
}

#[test]
#[ignore = "needs /dev/binder"]
fn calls_without_an_answer_are_served_in_order() {
    let pair = Pair::new();
    let (own, played): (Binder, Arc<Played>) = player(&pair.near);
    give(&pair.remote, KEEP, Some(&own)).unwrap();
    // By way of the other program, so that it is the kernel that brings them.
    for value in 0..50 {
        let mut data = Parcel::new();
        data.write_i32(value).unwrap();
        pair.remote.send(ADD, &data).unwrap();
    }
    await_that("all were served", || {
        pair.remote.dump() == Ok(format!("sum {}", 49 * 50 / 2))
    });
    assert_eq!(played.sum.load(SeqCst), 0);
    give(&pair.remote, KEEP, None).unwrap();
    drop((own, played));
    pair.end();
}

#[test]
#[ignore = "needs /dev/binder"]
fn death_is_told_once_and_ends_calls() {
    for dies_in_a_call in [true, false] {
        let mut pair = Pair::new();
        let told = Arc::new(AtomicU32::new(0));
        let tell = || {
            let told = Arc::clone(&told);
            pair.remote.link_to_death(move || {
                told.fetch_add(1, SeqCst);
            })
        };
        let Binder::Remote(proxy) = &pair.remote else {
            panic!("the manager is another program");
        };
        let (_kept, taken) = (tell().unwrap(), tell().unwrap());
        assert!(proxy.unlink_to_death(taken));
        if dies_in_a_call {
            assert_eq!(
                ask(&pair.remote, DIE, 0).unwrap_err(),
                CallError::DeadObject
            );
        } else {
            pair.child.kill().unwrap();
        }
        pair.child.wait().unwrap();
        await_that("death is told", || told.load(SeqCst) == 1);
        assert!(!pair.remote.is_alive());
        assert!(tell().is_none());
        assert_eq!(pair.remote.ping(), Err(CallError::DeadObject));
        assert_eq!(told.load(SeqCst), 1);
    }
}
