// SPDX-License-Identifier: Apache-2.0
//! Programs of another Binder library, rsbinder, over the kernel's `/dev/binder`: it calls our
//! services and we call its, found by name at our service manager, at its own, and as handle 0.
//!
//! Its programs are built apart, from `tests/peers`. The stage "peers in the lab" runs this file in
//! a guest for each driver and says by the environment where they lie.

mod manager;
mod service;
mod typed;

/// What `crates/aidl` makes of IPeer.aidl.
#[allow(unreachable_pub, reason = "stubs are made for crates that others use")]
mod stubs {
    include!("golden/peer.rs");
}

use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;

use binder::stub::{Answer, Exception, Failure};
use binder::{Binder, CallError, Caller, Device, DeviceOptions, Options, Process, WeakBinder};
use manager::{Manager, find, publish};
use rt::clock::{Clock, Monotonic};
use rt::policy::{Policy, Tid};
use rt::sync::PiMutex;
use rt::thread::Builder;
use service::await_that;
use stubs::{IPeer, IPeerProxy, IPeerStub};
use typed::Types;
use typed::stubs::ITypesStub;

/// Where rsbinder's programs lie: tests/peers, and its service manager.
const PEER: &str = "TAKT_TEST_PEER";
const HUB: &str = "TAKT_TEST_HUB";
/// This program again, as a service.
const PART: &str = "BINDER_TEST_PART";
const CALLER: Policy = Policy::fifo(80);
/// Fields of a thread's `stat`: its priority as the kernel runs it, and its own policy.
const PRIORITY: i32 = 18;
const POLICY: i32 = 41;
/// FIFO 80 as field 18 has it, and an ordinary thread.
const URGENT: i32 = -81;
const ORDINARY: i32 = 20;

/// A service of IPeer.
#[derive(Default)]
struct Peer {
    own: PiMutex<Option<WeakBinder>>,
    kept: PiMutex<Option<Binder>>,
    told: PiMutex<Vec<i32>>,
}

/// A caller lends when it waits, and another processor may have taken the call before that.
const CALLER_WAITS_NS: u64 = 50_000_000;

fn stat(field: i32) -> Option<i32> {
    Monotonic.sleep_until(Monotonic.now_ns() + CALLER_WAITS_NS);
    let stat = std::fs::read_to_string("/proc/thread-self/stat").ok()?;
    // The name may hold anything; the field behind it is the third.
    let (_, rest) = stat.rsplit_once(')')?;
    let index = usize::try_from(field).ok()?.checked_sub(3)?;
    rest.split_whitespace().nth(index)?.parse().ok()
}

impl IPeer for Arc<Peer> {
    fn echo(&self, text: Option<&str>) -> Answer<Option<String>> {
        Ok(text.map(Into::into))
    }

    fn caller(&self) -> Answer<i32> {
        Ok(Caller::current().pid)
    }

    fn stat(&self, field: i32) -> Answer<i32> {
        stat(field).ok_or_else(|| Exception::new(Exception::ILLEGAL_ARGUMENT, "no field").into())
    }

    fn keep(&self, binder: Option<&Binder>) -> Answer<Option<Binder>> {
        Ok(std::mem::replace(&mut *self.kept.lock(), binder.cloned()))
    }

    fn threads(&self, back: &IPeerProxy, depth: i32) -> Answer<Vec<i32>> {
        let mut threads = Vec::new();
        if depth > 0 {
            let own = self.own.lock().as_ref().and_then(WeakBinder::promote);
            let own = IPeerProxy(own.ok_or(CallError::DeadObject)?);
            threads = back.threads(&own, depth - 1)?;
        }
        threads.push(Tid::current().raw());
        Ok(threads)
    }

    fn stream(&self, text: &str) -> Answer<Arc<OwnedFd>> {
        let (near, far) = UnixStream::pair().map_err(|_| CallError::Failed)?;
        (&near)
            .write_all(text.as_bytes())
            .map_err(|_| CallError::Failed)?;
        Ok(Arc::new(far.into()))
    }

    fn fail(&self, code: i32) -> Answer<()> {
        Err(Exception::specific(code, "as asked").into())
    }

    fn tell(&self, number: i32) -> Answer<()> {
        self.told.lock().push(number);
        Ok(())
    }

    fn told(&self) -> Answer<Vec<i32>> {
        Ok(self.told.lock().clone())
    }

    fn die(&self) -> Answer<()> {
        std::process::abort()
    }
}

fn peer(process: &Process) -> (Binder, Arc<Peer>) {
    let peer = Arc::new(Peer::default());
    let node = process.add(IPeerStub(Arc::clone(&peer)));
    *peer.own.lock() = Some(node.downgrade());
    (node, peer)
}

/// The other program of ours: a service with a name, until its standard input ends.
#[test]
fn child() {
    let Ok(name) = std::env::var(PART) else {
        return;
    };
    let process = Process::start(&Options::new("child")).unwrap();
    let device = process.attach(&DeviceOptions::new()).unwrap();
    let (node, _peer) = peer(&process);
    publish(&device.root().unwrap(), &name, &node).unwrap();
    let _ = std::io::stdin().read(&mut [0]);
}

/// A program of rsbinder's; it ends with its standard input.
struct Foreign {
    child: Ended,
    output: BufReader<std::process::ChildStdout>,
}

impl Foreign {
    fn start(words: &[&str]) -> Self {
        let path = std::env::var(PEER).unwrap_or_else(|_| panic!("{PEER} names no program"));
        let mut command = Command::new(path);
        command.args(words).stdin(Stdio::piped());
        let mut child = Ended(command.stdout(Stdio::piped()).spawn().unwrap());
        let output = BufReader::new(child.0.stdout.take().unwrap());
        Self { child, output }
    }

    #[track_caller]
    fn says(&mut self, expected: &str) {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        assert_eq!(line.trim(), expected);
    }

    fn tell(&mut self, line: &str) {
        let input = self.child.0.stdin.as_mut().unwrap();
        writeln!(input, "{line}").unwrap();
    }

    #[track_caller]
    fn end(mut self) {
        drop(self.child.0.stdin.take());
        assert!(self.child.0.wait().unwrap().success());
    }
}

/// A process here, and who knows names.
struct House {
    near: Process,
    device: Device,
    manager: Binder,
    /// Who it is, unless it is this process.
    _hub: Option<Ended>,
}

/// A program that ends with this.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl House {
    /// Names are known to this process.
    fn of_ours() -> Self {
        let near = Process::start(&Options::new("near")).unwrap();
        near.set_root(Some(near.add(Manager::default())));
        let options = DeviceOptions {
            is_manager: true,
            ..DeviceOptions::new()
        };
        // The manager of the test before may be going still.
        let device = PiMutex::new(None);
        await_that("the device has no manager", || {
            let attached = near.attach(&options).ok();
            attached.is_some_and(|it| device.lock().replace(it).is_none())
        });
        let device = device.into_inner().unwrap();
        Self {
            manager: device.root().unwrap(),
            near,
            device,
            _hub: None,
        }
    }

    /// Names are known to `command`'s program, which is the context manager.
    fn of_theirs(command: &mut Command) -> Self {
        let hub = Ended(command.stdin(Stdio::piped()).spawn().unwrap());
        let near = Process::start(&Options::new("near")).unwrap();
        let device = near.attach(&DeviceOptions::new()).unwrap();
        await_that("there is a context manager", || {
            device.root().is_ok_and(|it| it.ping().is_ok())
        });
        Self {
            manager: device.root().unwrap(),
            near,
            device,
            _hub: Some(hub),
        }
    }

    fn of_hub() -> Self {
        let path = std::env::var(HUB).unwrap_or_else(|_| panic!("{HUB} names no program"));
        // It looks for devices in a binderfs, which Debian's module does not have.
        std::fs::create_dir_all("/dev/binderfs").unwrap();
        let words = ["--insecure-allow-all", "--device", "../binder"];
        Self::of_theirs(Command::new(path).args(words))
    }

    /// What rsbinder's program serves under this name.
    fn found(&self, name: &str) -> Binder {
        await_that("the name is known", || {
            find(&self.manager, name).is_ok_and(|it| it.is_some())
        });
        find(&self.manager, name).unwrap().unwrap()
    }

    fn end(self) {
        drop((self.manager, self.device));
        assert_eq!(self.near.references(), (0, 0));
    }
}

/// Our client and a service of rsbinder's.
fn check(near: &Process, root: &Binder, has_handle_0: bool) {
    assert_eq!(root.descriptor().unwrap(), "takt.test.IPeer");
    assert_eq!(root.ping(), Ok(()));
    let remote = IPeerProxy(root.clone());
    for text in [None, Some(""), Some("grüße"), Some(&*"x".repeat(100_000))] {
        assert_eq!(remote.echo(text).unwrap().as_deref(), text);
    }
    assert_eq!(
        remote.caller(),
        Ok(std::process::id().cast_signed()),
        "by the kernel's word"
    );
    let (own, peer) = peer(near);
    for depth in 0..5 {
        let mut threads = remote.threads(&IPeerProxy(own.clone()), depth).unwrap();
        threads.reverse();
        assert_eq!(threads.len(), depth as usize + 1);
        for (index, tid) in threads.iter().enumerate() {
            let is_ours = index % 2 == 1;
            assert_eq!(*tid == Tid::current().raw(), is_ours, "{threads:?}");
            assert_eq!(*tid, threads[index % 2], "one at each end: {threads:?}");
        }
    }
    assert!(remote.keep(Some(&own)).unwrap().is_none());
    let back = remote.keep(Some(root)).unwrap().expect("it was kept");
    assert!(back.is_same(&own), "our node comes back as itself");
    let back = remote.keep(None).unwrap();
    match has_handle_0 {
        // What handle 0 names has no number in its own process, as on Android.
        true => assert!(back.is_none()),
        false => assert!(back.is_some_and(|it| it.is_same(root)), "the same proxy"),
    }
    drop((own, peer));
    let stream = Arc::into_inner(remote.stream("through it").unwrap()).unwrap();
    let mut text = String::new();
    UnixStream::from(stream).read_to_string(&mut text).unwrap();
    assert_eq!(text, "through it");
    let failed = remote.fail(-7).unwrap_err();
    let Failure::Exception(failed) = failed else {
        panic!("{failed}");
    };
    assert_eq!(
        (failed.code, failed.specific),
        (Exception::SERVICE_SPECIFIC, -7)
    );
    (0..50).for_each(|it| remote.tell(it).unwrap());
    await_that("all was told", || {
        remote.told().is_ok_and(|it| it.len() == 50)
    });
    assert_eq!(remote.told(), Ok((0..50).collect()), "in order");
}

/// Each calls the other, and each hears of the other's death.
fn both_ways(house: &House) {
    let (own, peer) = peer(&house.near);
    let types = house.near.add(ITypesStub(Types));
    publish(&house.manager, "ours.peer", &own).unwrap();
    publish(&house.manager, "ours.types", &types).unwrap();
    let mut client = Foreign::start(&["call", "ours.peer", "ours.types"]);
    client.says("called");
    client.end();
    assert_eq!(*peer.told.lock(), (0..50).collect::<Vec<_>>());

    let mut service = Foreign::start(&["serve", "theirs.peer", "theirs.types"]);
    let theirs = house.found("theirs.peer");
    check(&house.near, &theirs, false);
    typed::check(&house.found("theirs.types"));
    let told = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&told);
    let tell = move || {
        count.fetch_add(1, SeqCst);
    };
    theirs.link_to_death(tell).unwrap();
    let died = IPeerProxy(theirs.clone()).die().unwrap_err();
    assert_eq!(died, Failure::Call(CallError::DeadObject));
    assert!(!service.child.0.wait().unwrap().success());
    await_that("its death is told", || told.load(SeqCst) == 1);
    assert!(!theirs.is_alive());
    assert_eq!(theirs.ping(), Err(CallError::DeadObject));
}

/// rsbinder's client hears of our death.
fn our_death(house: &House) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--nocapture", "--quiet"]);
    command.env(PART, "dying.peer").stdin(Stdio::piped());
    let mut dying = command.stdout(Stdio::null()).spawn().unwrap();
    house.found("dying.peer");
    let mut watcher = Foreign::start(&["watch", "dying.peer"]);
    watcher.says("linked");
    dying.kill().unwrap();
    dying.wait().unwrap();
    watcher.says("told once");
    watcher.end();
}

#[test]
#[ignore = "needs /dev/binder and rsbinder's programs"]
fn each_calls_the_other_by_the_names_of_our_manager() {
    let house = House::of_ours();
    both_ways(&house);
    our_death(&house);
    drop(house);
}

#[test]
#[ignore = "needs /dev/binder and rsbinder's programs"]
fn each_calls_the_other_by_the_names_of_rsbinders_manager() {
    let house = House::of_hub();
    both_ways(&house);
    our_death(&house);
    house.end();
}

#[test]
#[ignore = "needs /dev/binder and rsbinder's programs"]
fn rsbinders_service_is_what_handle_0_names() {
    let path = std::env::var(PEER).unwrap();
    let house = House::of_theirs(Command::new(path).arg("manage"));
    check(&house.near, &house.manager, true);
    house.end();
}

/// Priorities: the extended driver hands them on in both directions, Debian's does not. rsbinder's
/// own test asks for the thread's policy, which neither changes: the extended driver lends.
#[test]
#[ignore = "needs /dev/binder and rsbinder's programs"]
fn a_call_has_its_callers_priority_in_the_other_library() {
    let is_extended = std::env::var("TAKT_TEST_DRIVER").is_ok_and(|it| it == "extended");
    let house = House::of_ours();
    let (own, _peer) = peer(&house.near);
    publish(&house.manager, "ours.peer", &own).unwrap();
    let service = Foreign::start(&["serve", "theirs.peer", "theirs.types"]);
    let remote = IPeerProxy(house.found("theirs.peer"));
    let ask = move || [PRIORITY, POLICY, PRIORITY].map(|it| remote.stat(it).unwrap());
    let ordinary = Builder::new("ordinary").policy(Policy::Other { nice: 0 });
    assert_eq!(
        ordinary.spawn(ask.clone()).unwrap().join(),
        [ORDINARY, 0, ORDINARY]
    );
    let priority = if is_extended { URGENT } else { ORDINARY };
    let urgent = Builder::new("urgent").policy(CALLER).spawn(ask).unwrap();
    assert_eq!(urgent.join(), [priority, 0, priority]);

    let mut client = Foreign::start(&["ask", "ours.peer"]);
    client.says("ready");
    let tid = Tid::new(client.child.0.id().cast_signed()).unwrap();
    client.tell(&PRIORITY.to_string());
    client.says(&ORDINARY.to_string());
    CALLER.apply(tid).unwrap();
    client.tell(&PRIORITY.to_string());
    client.says(&priority.to_string());
    client.tell(&POLICY.to_string());
    client.says("0");
    client.end();
    drop(service);
}
