// SPDX-License-Identifier: Apache-2.0
//! A program that is killed at a named step of a call leaves nothing in the other one, which is
//! told once.
//!
//! The program that dies is this one again, told its part by the environment. At its step the
//! thread stays where it is and says so; then the whole program is killed.

use std::cell::Cell;
use std::io::{BufRead, BufReader};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32};
use std::sync::{Arc, OnceLock};

use rt::clock::{Clock, Monotonic};
use rt::sync::PiMutex;
use rt::thread::Builder;

use super::hostile::{due_ns, program};
use super::steps::Step;
use crate::{Binder, Call, CallError, Options, Parcel, Process, Service, Side, WeakBinder};

#[path = "../../tests/left/mod.rs"]
mod left;
use left::{Left, Progress, alone};

const PLAN_TEXT: &str = "BINDER_TEST_STEP";
/// How many programs are killed, beyond one for each step and load; under load then.
const ROUNDS: &str = "BINDER_TEST_STEPS";
const REACHED: &str = "it is there";
/// Codes: a call of that load, or this.
const START: u32 = 100;
/// Does not lie in a slot.
const LARGE_BYTES: usize = 10_000;

static PLAN: OnceLock<Plan> = OnceLock::new();
static HAS_STARTED: AtomicBool = AtomicBool::new(false);

thread_local! {
    static IS_CALLER: Cell<bool> = const { Cell::new(false) };
}

/// Whose end it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Server,
    Caller,
}

/// What calls carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Load {
    Small,
    Descriptor,
    Large,
    /// With a descriptor, and two calls back.
    CalledBack,
}

const LOADS: [Load; 4] = [Load::Small, Load::Descriptor, Load::Large, Load::CalledBack];

/// Steps of each role: those of every call, those of calls with descriptors, those of calls that
/// are called back.
const ROLES: [(Role, [&[Step]; 3]); 2] = [
    (
        Role::Server,
        [
            &[
                Step::Taken,
                Step::Copied,
                Step::Served,
                Step::AnswerWritten,
                Step::GivenBack,
            ],
            &[Step::AnswerBeside],
            &[
                Step::RequestBeside,
                Step::RequestWritten,
                Step::LentBack,
                Step::CalledBack,
            ],
        ],
    ),
    (
        Role::Caller,
        [
            &[
                Step::RequestWritten,
                Step::Lent,
                Step::Posted,
                Step::Heard,
                Step::Read,
            ],
            &[Step::RequestBeside],
            &[
                Step::Copied,
                Step::Served,
                Step::AnswerBeside,
                Step::AnswerWritten,
                Step::HandedOver,
            ],
        ],
    ),
];

/// Where a program stops: the last of `times` that it comes to the step.
#[derive(Debug)]
struct Plan {
    role: Role,
    load: Load,
    step: Step,
    times: AtomicI64,
}

impl Plan {
    /// All there are, each once.
    fn all() -> Vec<(Role, Load, Step)> {
        let of_role = |(role, kinds): (Role, [&'static [Step]; 3])| {
            LOADS.into_iter().flat_map(move |load| {
                let count = match load {
                    Load::Small => 1,
                    Load::Descriptor | Load::Large => 2,
                    Load::CalledBack => 3,
                };
                let steps = kinds.into_iter().take(count).flatten();
                steps.map(move |&step| (role, load, step))
            })
        };
        ROLES.into_iter().flat_map(of_role).collect()
    }
}

/// `index times`, the first a place in [`Plan::all`].
impl FromStr for Plan {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (index, times) = text.split_once(' ').expect("two numbers");
        let (role, load, step) = Self::all()[index.parse::<usize>()?];
        let times = AtomicI64::new(times.parse()?);
        Ok(Self {
            role,
            load,
            step,
            times,
        })
    }
}

/// A step of this program.
#[expect(clippy::print_stdout, reason = "the other program reads it")]
pub(super) fn reach(step: Step) {
    let Some(plan) = PLAN.get().filter(|it| it.step == step) else {
        return;
    };
    let is_there = match plan.role {
        Role::Server => HAS_STARTED.load(SeqCst),
        Role::Caller => IS_CALLER.get(),
    };
    if is_there && plan.times.fetch_sub(1, SeqCst) == 1 {
        println!("{REACHED}");
        Monotonic.sleep_until(due_ns());
        std::process::abort();
    }
}

/// Gives back what it is given, keeps the binder, and calls it back as deep as it is told.
#[derive(Default)]
struct Post {
    own: OnceLock<WeakBinder>,
    kept: PiMutex<Option<Binder>>,
}

impl Service for Arc<Post> {
    fn descriptor(&self) -> &str {
        "takt.test.IPost"
    }

    fn on_transact(
        &self,
        _: &Call,
        code: u32,
        data: &mut Parcel,
        reply: &mut Parcel,
    ) -> Result<(), CallError> {
        if code == START {
            HAS_STARTED.store(true, SeqCst);
            return Ok(());
        }
        let from = data.read_binder()?.ok_or(CallError::BadParcel)?;
        let depth = data.read_i32().ok_or(CallError::BadParcel)?;
        let load = LOADS[code as usize - 1];
        if depth > 0 {
            self.call(&from, load, depth - 1)?;
        }
        reply.append(data, 0, data.size())?;
        let old = self.kept.lock().replace(from);
        drop(old);
        Ok(())
    }
}

impl Post {
    fn start(name: &str) -> (Process, Arc<Self>) {
        let process = Process::start(&Options::new(name)).unwrap();
        let post = Arc::new(Self::default());
        let node = process.add(Arc::clone(&post));
        assert!(post.own.set(node.downgrade()).is_ok());
        process.set_root(Some(node));
        (process, post)
    }

    fn call(&self, remote: &Binder, load: Load, depth: i32) -> Result<(), CallError> {
        let (mut data, mut reply) = (Parcel::new(), Parcel::new());
        data.write_binder(self.own.get().and_then(WeakBinder::promote))?;
        data.write_i32(depth)?;
        if load != Load::Small {
            data.write_fd(Arc::new(std::fs::File::open("/dev/null").unwrap().into()))?;
        }
        if load == Load::Large {
            data.write_blob(Some(&[7; LARGE_BYTES]))?;
        }
        let code = load as u32 + 1;
        remote.transact(code, &mut data, &mut reply, None)?;
        assert_eq!(reply.size(), data.size());
        Ok(())
    }

    fn let_go(&self) {
        let kept = self.kept.lock().take();
        drop(kept);
    }

    /// Calls until a call fails.
    fn call_on(&self, remote: &Binder, load: Load) -> CallError {
        let depth = i32::from(load == Load::CalledBack) * 2;
        loop {
            if let Err(error) = self.call(remote, load, depth) {
                return error;
            }
        }
    }

    /// The same on threads of their own.
    fn call_beside(self: &Arc<Self>, remote: &Binder, load: Load) -> rt::thread::Thread<CallError> {
        let (post, remote) = (Arc::clone(self), remote.clone());
        let call = move || post.call_on(&remote, load);
        Builder::new("caller").spawn(call).unwrap()
    }
}

const NAME: &str = "lent::killed::a_program_killed_at_any_step_leaves_nothing";

#[test]
fn a_program_killed_at_any_step_leaves_nothing() {
    alone(NAME, kill_at_each_step);
}

fn kill_at_each_step() {
    let rounds: usize = std::env::var(ROUNDS).map_or(0, |it| it.parse().unwrap());
    let seed = std::env::var("SEED").map_or(7, |it| it.parse().unwrap());
    let mut random = fastrand::Rng::with_seed(seed);
    let _hogs: Vec<Hog> = (0..rounds.min(2)).map(|_| Hog::start()).collect();
    let (near, post) = Post::start("near");
    let before = Left::now();
    let plans = Plan::all();
    let count = plans.len() + rounds;
    let progress = Progress::of("killed at steps", count as u64);
    for round in 0..count {
        let (index, times) = match plans.get(round) {
            Some(_) => (round, 2),
            None => (random.usize(0..plans.len()), random.usize(1..50)),
        };
        let what = (plans[index], times, seed, round);
        kill_at(&near, &post, index, times);
        before.await_no_more(&what, || post.let_go());
        assert_eq!(near.counters().broken, 0, "{what:?}");
        progress.tell(round as u64 + 1);
    }
    assert_eq!(near.counters().deaths, count as u64);
    near.set_root(None);
    drop(near);
    assert_eq!(Arc::strong_count(&post), 1, "the node is gone");
}

/// One program, from its start until nothing of it is left but what the machine has.
fn kill_at(near: &Process, post: &Arc<Post>, index: usize, times: usize) {
    let (mut child, socket) = start(index, times);
    let (role, load, step) = Plan::all()[index];
    let what = format!("{role:?} {load:?} {step:?}, {times} times");
    let connection = near.connect(socket, Side::Caller, due_ns()).unwrap();
    let remote = connection.root().unwrap().unwrap();
    let told = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&told);
    let count = move || {
        counter.fetch_add(1, SeqCst);
    };
    remote.link_to_death(count).unwrap();
    // The answer to this one may be where it stays.
    let starter = remote.clone();
    let start = move || starter.transact(START, &mut Parcel::new(), &mut Parcel::new(), None);
    let starter = Builder::new("starter").spawn(start).unwrap();
    let callers: Vec<_> = (0..2)
        .filter(|_| role == Role::Server)
        .map(|_| post.call_beside(&remote, load))
        .collect();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let is_there = lines.any(|it| it.is_ok_and(|it| it.contains(REACHED)));
    child.kill().unwrap();
    child.wait().unwrap();
    drop(lines);
    assert!(is_there, "{what}: it did not come there");
    let started = starter.join();
    assert!(matches!(started, Ok(()) | Err(CallError::DeadObject)));
    for caller in callers {
        assert_eq!(caller.join(), CallError::DeadObject, "{what}");
    }
    await_that("its recipient is told", &what, || told.load(SeqCst) == 1);
    assert_eq!(remote.ping(), Err(CallError::DeadObject), "{what}");
    drop((remote, connection));
    await_that("no reference is left", &what, || {
        post.let_go();
        near.references() == (0, 0)
    });
    assert_eq!(told.load(SeqCst), 1, "{what}: told once");
}

fn start(index: usize, times: usize) -> (Child, OwnedFd) {
    let (mut command, socket) = program("lent::killed::child");
    command.env(PLAN_TEXT, format!("{index} {times}"));
    command.stdout(Stdio::piped());
    (command.spawn().unwrap(), socket)
}

/// The program that dies. Not a test of its own: without a part it returns.
#[test]
fn child() {
    let Ok(plan) = std::env::var(PLAN_TEXT) else {
        return;
    };
    let plan: Plan = plan.parse().unwrap();
    let (role, load) = (plan.role, plan.load);
    assert!(PLAN.set(plan).is_ok());
    let socket = std::io::stdin().as_fd().try_clone_to_owned().unwrap();
    let (process, post) = Post::start("child");
    let connection = process.connect(socket, Side::Listener, due_ns()).unwrap();
    await_that("it may start", "", || HAS_STARTED.load(SeqCst));
    if role == Role::Caller {
        let remote = connection.root().unwrap().unwrap();
        let _beside = post.call_beside(&remote, load);
        IS_CALLER.set(true);
        post.call_on(&remote, load);
    }
    Monotonic.sleep_until(due_ns());
    std::process::abort();
}

#[track_caller]
fn await_that(what: &str, of: &str, holds: impl Fn() -> bool) {
    let end_ns = due_ns();
    loop {
        // Before the look: the machine may stand still behind it.
        let is_over = Monotonic.now_ns() >= end_ns;
        if holds() {
            return;
        }
        assert!(!is_over, "{of}: {what}");
        Monotonic.sleep_until(Monotonic.now_ns() + 200_000);
    }
}

/// A program that keeps a CPU busy until it is dropped.
struct Hog(Child);

impl Hog {
    fn start() -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", "while :; do :; done"]);
        Self(command.spawn().unwrap())
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
