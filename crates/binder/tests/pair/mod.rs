// SPDX-License-Identifier: Apache-2.0
//! A process here and one in another program: this one again, told its part by the environment; its
//! standard input is the socket.

#![allow(dead_code, reason = "each test program uses its part")]

use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;

use binder::{Binder, Connection, Options, Process, Side};
use rt::clock::{Clock, Monotonic};
use rt::memory::{LockScope, ProcessLock};
use rt::policy::Tid;
use rt::socket::Socket;
use rt::sync::PiMutex;

use crate::hog::hogged_cpu;
use crate::service::{ADD, KEEP, ask, give, player};

pub(crate) const PART: &str = "BINDER_TEST_PART";
const PINNED: &str = "BINDER_TEST_PINNED";
const SECOND_NS: u64 = 1_000_000_000;

/// Beyond what a machine may stand still for.
pub(crate) fn due_ns() -> u64 {
    Monotonic.now_ns() + 60 * SECOND_NS
}

/// Tests that hog a CPU, count descriptors or kill take turns.
pub(crate) static STAGE: PiMutex<()> = PiMutex::new(());

/// A turn for a test of priorities: its memory is locked, as a real-time program's is. A caller
/// whose time is over must not wait for a page behind whom it lends to.
pub(crate) fn stage() -> impl Sized {
    static LOCK: LazyLock<ProcessLock> =
        LazyLock::new(|| ProcessLock::acquire(LockScope::All).unwrap());
    LazyLock::force(&LOCK);
    STAGE.lock()
}

/// This program again, in a part of [`child`]; its end of the socket.
pub(crate) fn start(part: &str, is_pinned: bool) -> (Child, OwnedFd) {
    start_as(
        Command::new(std::env::current_exe().unwrap()),
        part,
        is_pinned,
    )
}

pub(crate) fn start_as(mut command: Command, part: &str, is_pinned: bool) -> (Child, OwnedFd) {
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

/// The other program: what `child`, a test of each program, runs. Without a part it returns.
pub(crate) fn child() {
    let Ok(part) = std::env::var(PART) else {
        return;
    };
    // As a real-time server does: no page of it is read from a disk behind a hog.
    let _lock = std::env::var(PINNED).is_ok().then(|| {
        hogged_cpu().apply(Tid::current()).unwrap();
        ProcessLock::acquire(LockScope::All).unwrap()
    });
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
pub(crate) struct Pair {
    pub(crate) near: Process,
    pub(crate) connection: Connection,
    pub(crate) remote: Binder,
    pub(crate) child: Child,
}

impl Pair {
    pub(crate) fn new(part: &str, is_pinned: bool) -> Self {
        Self::of(start(part, is_pinned))
    }

    pub(crate) fn of((child, socket): (Child, OwnedFd)) -> Self {
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
    pub(crate) fn end(mut self) {
        drop(self.remote);
        self.connection.close();
        assert!(self.child.wait().unwrap().success());
    }
}

/// Another program beside others, and its root.
pub(crate) struct Other {
    child: Child,
    connection: Connection,
    pub(crate) root: Binder,
}

impl Other {
    pub(crate) fn of(near: &Process, (child, socket): (Child, OwnedFd)) -> Self {
        let connection = near.connect(socket, Side::Caller, due_ns()).unwrap();
        let root = connection.root().unwrap().unwrap();
        Self {
            child,
            connection,
            root,
        }
    }

    pub(crate) fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    pub(crate) fn end(mut self) {
        drop(self.root);
        self.connection.close();
        assert!(self.child.wait().unwrap().success());
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// Joins two processes of this program by `lent`.
pub(crate) fn join(left: &Process, right: &Process) -> (Connection, Connection) {
    let (near, far) = Socket::pair().unwrap();
    std::thread::scope(|scope| {
        let listen = || right.connect(far.into_fd(), Side::Listener, due_ns());
        let listener = scope.spawn(listen);
        let caller = left.connect(near.into_fd(), Side::Caller, due_ns());
        (caller.unwrap(), listener.join().unwrap().unwrap())
    })
}

pub(crate) fn signal(pid: i32, name: &str) {
    let words = format!("kill -{name} {pid}");
    let status = Command::new("sh").args(["-c", &words]).status();
    assert!(status.unwrap().success());
}

pub(crate) fn all_are_stopped(pid: i32) -> bool {
    let mut tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    tasks.all(|task| {
        let stat = std::fs::read_to_string(task.unwrap().path().join("stat"));
        stat.is_ok_and(|it| {
            it.rsplit_once(')')
                .is_some_and(|(_, rest)| rest.starts_with(" T"))
        })
    })
}
