// SPDX-License-Identifier: Apache-2.0
//! This program again, confined: lent priorities across the sandbox, policies from outside, a
//! process that confines itself, and an ordinary user.

use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;

use rt::clock::{Clock, Monotonic};
use rt::peer::{PidFd, Urgency};
use rt::policy::{Policy, Tid};
use rt::shared::{Memfd, Region};
use rt::sync::Loan;
use rt::sys::futex::Shared;
use rt::thread::Builder;
use sandbox::{Access, Confinement, Grant, Spec, Strictness};

use crate::programs::{Folder, copy_program, is_root, level};

/// Which part a child plays.
const PART: &str = "SANDBOX_TEST_PART";
/// Long enough for a loaded machine; nothing waits for it that goes well.
const PATIENCE_NS: u64 = 20_000_000_000;
const STEP_NS: u64 = 1_000_000;

/// The shared page: the loan, the borrower's number, what it is told, what it says.
const LOAN: usize = 0;
const TID: usize = 64;
const TOLD: usize = 128;
const SAID: usize = 192;

fn word(region: &Region, offset: usize) -> &AtomicU32 {
    region.word(offset)
}

fn page() -> Memfd {
    Memfd::new(c"room", rt::memory::page_bytes()).unwrap()
}

/// Looks until it holds.
fn await_that(what: &str, holds: impl Fn() -> bool) {
    let end = Monotonic.now_ns() + PATIENCE_NS;
    while !holds() {
        assert!(Monotonic.now_ns() < end, "{what}: not in time");
        Monotonic.sleep_until(Monotonic.now_ns() + STEP_NS);
    }
}

/// The other process. Not a test of its own: without a part it returns.
#[test]
fn child() {
    let Ok(part) = std::env::var(PART) else {
        return;
    };
    match part.as_str() {
        "borrow" => borrow(),
        "enter" => enter(),
        _ => panic!("no part is called '{part}'"),
    }
}

fn command(part: &str, program: &Path) -> Command {
    let mut command = Command::new(program);
    command.args(["--exact", "children::child", "--nocapture", "--quiet"]);
    command.env(PART, part).stdout(Stdio::null());
    command
}

/// A copy of this program where every user finds it.
fn own_program() -> (tempfile::TempDir, PathBuf) {
    let place = tempfile::tempdir().unwrap();
    std::fs::set_permissions(place.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let program = place.path().join("confined");
    copy_program(&std::env::current_exe().unwrap(), &program);
    (place, program)
}

fn borrow() {
    let stdin = std::io::stdin().as_fd().try_clone_to_owned().unwrap();
    let page = Memfd::adopt(stdin, rt::memory::page_bytes()).unwrap();
    let region = page.map().unwrap();
    let own = Tid::current();
    word(&region, TID).store(own.raw().unsigned_abs(), SeqCst);
    await_that("told to look", || word(&region, TOLD).load(SeqCst) >= 1);
    // A process that is given a policy from outside gives itself no higher one.
    let is_granted = Policy::of_current().unwrap() == Policy::fifo(10);
    let is_refused = Policy::fifo(50).apply(own).is_err();
    word(&region, SAID).store(1 + u32::from(is_granted && is_refused), SeqCst);
    await_that("told to give back", || {
        word(&region, TOLD).load(SeqCst) >= 2
    });
    let gave_back = region.word::<Loan<Shared>>(LOAN).give_back();
    assert!(gave_back);
}

struct Borrower {
    child: Child,
    region: Region,
    tid: Tid,
    _place: tempfile::TempDir,
}

fn start_borrower(spec: impl FnOnce(&Path) -> Spec) -> Borrower {
    let page = page();
    let region = page.map().unwrap();
    let (place, program) = own_program();
    let mut command = command("borrow", &program);
    command.stdin(page.as_fd().try_clone_to_owned().unwrap());
    let spec = spec(&program);
    let made = Confinement::prepare(&spec, Strictness::Best).unwrap();
    made.confine(&mut command);
    let child = command.spawn().unwrap();
    await_that("the borrower", || word(&region, TID).load(SeqCst) != 0);
    let tid = Tid::new(word(&region, TID).load(SeqCst).cast_signed()).unwrap();
    Borrower {
        child,
        region,
        tid,
        _place: place,
    }
}

/// The lender is FIFO 50 outside, the borrower ordinary inside: a user, namespaces and filters of
/// its own do not stand between them. And a policy from outside is taken.
#[test]
fn priorities_are_lent_across_the_sandbox() {
    if Policy::fifo(50).enter().is_err() {
        eprintln!("no real-time priority here");
        return;
    }
    let folder = Folder::new(40);
    let Borrower {
        mut child,
        region,
        tid,
        _place,
    } = start_borrower(|program| {
        let mut spec = folder.spec();
        spec.files.push(Grant::new(program, Access::Run));
        spec
    });
    let region = std::sync::Arc::new(region);
    let ours = region.clone();
    let lender = Builder::new("lender").policy(Policy::fifo(50));
    let lender = lender.spawn(move || {
        let loan = ours.word::<Loan<Shared>>(LOAN);
        let offer = loan.offer(tid).unwrap();
        offer.wait_until(Monotonic.now_ns() + PATIENCE_NS)
    });
    let lender = lender.unwrap();
    let process = PidFd::open(child.id().cast_signed()).unwrap();
    let fifty = Urgency::new(50);
    await_that("the loan", || process.urgency(tid, fifty) == Some(fifty));
    if is_root() {
        Policy::fifo(10).apply(tid).unwrap();
    }
    word(&region, TOLD).store(1, SeqCst);
    await_that("the borrower's word", || {
        word(&region, SAID).load(SeqCst) != 0
    });
    if is_root() {
        assert_eq!(word(&region, SAID).load(SeqCst), 2, "granted, and no more");
    }
    word(&region, TOLD).store(2, SeqCst);
    assert_eq!(lender.join(), Ok(()), "given back by who had it");
    assert!(child.wait().unwrap().success());
}

/// For a child that was forked and becomes no other program: it confines itself, here one thread.
fn enter() {
    let folder = Folder::new(41);
    let mut spec = folder.spec();
    spec.limits.tasks = None;
    let made = Confinement::prepare(&spec, Strictness::Best).unwrap();
    let report = made.report().clone();
    assert!(std::fs::read("/etc/hostname").is_ok());
    made.enter().unwrap();
    if report.holds(sandbox::Bound::Files) {
        assert!(std::fs::read("/etc/hostname").is_err());
        assert!(std::fs::read(folder.data("../../../etc/hostname")).is_err());
    }
    std::fs::write(folder.data("own"), "").unwrap();
    assert!(std::net::TcpListener::bind("127.0.0.1:0").is_err());
    assert!(std::fs::read("/proc/self/status").is_ok());
}

#[test]
fn a_process_confines_itself() {
    let (_place, program) = own_program();
    let output = command("enter", &program).output().unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}");
}

/// All of these tests once more as a user without rights, where root runs them.
#[test]
fn an_ordinary_user_has_most_of_it() {
    if !is_root() || level() == 0 {
        return;
    }
    let (place, program) = own_program();
    let bin = place.path().join("hostile");
    copy_program(Path::new(env!("CARGO_BIN_EXE_hostile")), &bin);
    let mut command = Command::new(&program);
    command.env("SANDBOX_TEST_HOSTILE", &bin).current_dir("/");
    let output = command.uid(65534).gid(65534).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("test result: ok"), "{said}");
}
