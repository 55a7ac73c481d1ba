// SPDX-License-Identifier: Apache-2.0
//! What a peer that breaks the protocol can do: end its own link, and nothing else; and what a
//! claim gains.
//!
//! The hostile peer is another program: this one again, told its part by the environment, with the
//! socket as its standard input.

use std::os::fd::{AsFd, OwnedFd};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;

use rt::clock::{Clock, Monotonic};
use rt::policy::{Policy, Tid};
use rt::shared::Region;
use rt::socket::Socket;
use rt::sync::PiMutex;
use rt::thread::Builder;

use super::layout::{DATA_BYTES, HEADER_BYTES, Header, MESSAGE_BYTES, SLOTS, WORDS_BYTES};
use super::{Chain, connect, inbox};
use crate::introduce::{Grant, Pass, Ticket, Who};
use crate::lent::message::Lent;
use crate::serving;
use crate::{Binder, Call, CallError, Connection, Options, Parcel, Process, Service, Side};

const SEED: &str = "BINDER_TEST_HOSTILE";
const SECONDS: &str = "BINDER_TEST_SECONDS";

/// Gives back what it is given, objects too.
struct Mirror;

impl Service for Mirror {
    fn descriptor(&self) -> &str {
        "takt.test.IMirror"
    }

    fn on_transact(
        &self,
        _: &Call,
        _: u32,
        data: &mut Parcel,
        reply: &mut Parcel,
    ) -> Result<(), CallError> {
        Ok(reply.append(data, 0, data.size())?)
    }
}

pub(super) fn due_ns() -> u64 {
    Monotonic.now_ns() + 10_000_000_000
}

fn process(name: &str) -> Process {
    let process = Process::start(&Options::new(name)).unwrap();
    let mirror = process.add(Mirror);
    process.set_root(Some(mirror));
    process
}

/// Joins two processes of this program by `lent`.
pub(super) fn join(left: &Process, right: &Process) -> (Connection, Connection) {
    let (near, far) = Socket::pair().unwrap();
    std::thread::scope(|scope| {
        let listen = || right.connect(far.into_fd(), Side::Listener, due_ns());
        let listener = scope.spawn(listen);
        let caller = left.connect(near.into_fd(), Side::Caller, due_ns());
        (caller.unwrap(), listener.join().unwrap().unwrap())
    })
}

fn mirror(remote: &Binder, value: i32) -> Result<(), CallError> {
    let (mut data, mut reply) = (Parcel::new(), Parcel::new());
    data.write_i32(value)?;
    data.write_binder(Some(remote.clone()))?;
    remote.transact(1, &mut data, &mut reply, Some(due_ns()))?;
    assert_eq!(reply.read_i32(), Some(value));
    assert!(reply.read_binder()?.is_some_and(|it| it.is_same(remote)));
    Ok(())
}

#[test]
fn a_claim_that_the_kernel_does_not_confirm_gains_nothing() {
    let (near, far) = (process("near"), process("far"));
    let (connection, _other) = join(&near, &far);
    let own = Tid::current().raw().unsigned_abs();
    let mut urgent = Command::new("sleep").arg("60").spawn().unwrap();
    let stranger = Tid::new(urgent.id().cast_signed()).unwrap();
    Policy::fifo(99).apply(stranger).unwrap();
    // Itself at 99; init's thread, which may be anything; and one of which the kernel confirms it.
    for tid in [own, 1, urgent.id()] {
        let request = Header {
            target: 0,
            code: crate::link::CODE_ROOT,
            tid,
            claim: 99,
            ..Header::default()
        };
        let heard = connection.lent().claim_for_test(connection.link(), request);
        assert!(heard, "the looper that is kept declines");
    }
    urgent.kill().unwrap();
    urgent.wait().unwrap();
    assert_eq!(far.counters().declined, 3);
    assert_eq!(far.counters().broken, 0);
    assert!(connection.root().unwrap().is_some());
}

/// Says on which thread it is called; by another code it keeps the chain, and holds its caller.
#[derive(Default)]
struct Where {
    chain: PiMutex<Option<Chain>>,
    is_let_go: AtomicBool,
}

const HOLD: u32 = 2;

impl Service for Arc<Where> {
    fn descriptor(&self) -> &str {
        "takt.test.IWhere"
    }

    fn on_transact(
        &self,
        _: &Call,
        code: u32,
        _: &mut Parcel,
        reply: &mut Parcel,
    ) -> Result<(), CallError> {
        if code == HOLD {
            *self.chain.lock() = Some(serving::chain());
            await_end(|| !self.is_let_go.load(SeqCst));
        }
        Ok(reply.write_i32(Tid::current().raw())?)
    }
}

#[test]
fn a_token_that_is_guessed_or_old_or_another_processs_brings_nothing() {
    let [home, friend, other, stranger] = ["home", "friend", "other", "stranger"].map(|name| {
        let process = Process::start(&Options::new(name)).unwrap();
        let places = Arc::new(Where::default());
        process.set_root(Some(process.add(Arc::clone(&places))));
        (process, places)
    });
    let (to_friend, _friend) = join(&home.0, &friend.0);
    let remote = to_friend.root().unwrap().unwrap();
    let hold = move || remote.transact(HOLD, &mut Parcel::new(), &mut Parcel::new(), None);
    let waiting = Builder::new("waiting").spawn(hold).unwrap();
    await_end(|| friend.1.chain.lock().is_none());
    let chain = friend.1.chain.lock().take().unwrap();
    let place = |to: &Connection, chain| {
        let Some(Binder::Remote(root)) = to.root().unwrap() else {
            panic!("a node of another process");
        };
        let mut reply = Parcel::new();
        let called = to.lent();
        called
            .call_of_chain(to.link(), root.number, chain, &mut reply)
            .unwrap();
        reply.read_i32().unwrap()
    };
    let (to_home, _home) = join(&stranger.0, &home.0);
    let (to_other, _other) = join(&stranger.0, &other.0);
    let tid = waiting.tid().raw();
    // The thread that got it by the chain is of the chain.
    assert_eq!(place(&to_home, chain), tid);
    assert_eq!(place(&to_home, chain), tid, "and again");
    assert_ne!(place(&to_other, chain), tid, "another process's");
    let token = chain.0[0];
    for guess in [0, 1, token ^ 1 << 63, token ^ 1, token ^ 1 << 12, u64::MAX] {
        let mut guessed = Chain::default();
        guessed.0.fill(guess);
        assert_ne!(place(&to_home, guessed), tid, "{guess:x} of {token:x}");
    }
    friend.1.is_let_go.store(true, SeqCst);
    let waiting = waiting.join();
    assert_eq!(waiting, Ok(()));
    assert_ne!(place(&to_home, chain), tid, "an old one");
    assert_eq!(home.0.counters().broken, 0);
}

/// Silent ones, closed ones, such as say something else, and one in another's name.
#[test]
fn hostile_introductions_end_nothing_but_themselves() {
    let [server, hostile, friend, third] = ["server", "hostile", "friend", "third"].map(process);
    let (bad, far) = join(&hostile, &server);
    let (good, _good) = join(&friend, &server);
    let (known, _known) = join(&friend, &third);
    let who = third.inner().who();
    let bring = |bad: &Connection, side| {
        let (near, far) = Socket::pair().unwrap();
        let note = inbox::write_meet(who, side);
        bad.lent().note(&note, &[far.as_fd()]).unwrap();
        Socket::adopt(near.into_fd()).unwrap()
    };
    // The same program, so it has the right number; what it drew is another's.
    let near = bring(&bad, Side::Listener);
    near.try_send(&connect::hello(hostile.inner(), 0), &[])
        .unwrap();
    let mut received = near.receive_until(&mut [0; 64], due_ns()).unwrap();
    let own = received.fds.pop().unwrap();
    // It may not have been told yet that nobody is there.
    let stranger = hostile.connect(own, Side::Caller, due_ns());
    await_end(|| stranger.as_ref().is_ok_and(Connection::is_alive));
    assert_eq!(server.inner().introduced_by(far.link().number), 0);
    let mut kept = Vec::new();
    for round in 0..60 {
        let side = [Side::Caller, Side::Listener][round % 2];
        let near = bring(&bad, side);
        match round % 3 {
            0 => kept.push(near),
            1 => {
                let _ = near.try_send(b"something else", &[]);
                kept.push(near);
            }
            _ => drop(near),
        }
        mirror(&good.root().unwrap().unwrap(), 0).unwrap();
    }
    // The friend's introduction is not behind those.
    let remote = good.root().unwrap().unwrap();
    let foreign = known.root().unwrap().unwrap();
    let (mut data, mut reply) = (Parcel::new(), Parcel::new());
    data.write_binder(Some(foreign.clone())).unwrap();
    remote
        .transact(1, &mut data, &mut reply, Some(due_ns()))
        .unwrap();
    assert!(reply.read_binder().unwrap().unwrap().is_same(&foreign));
    assert_eq!(server.counters().broken, 0);
    // What it cannot have passed on ends its own link.
    let pass = Pass {
        number: 999,
        to: who,
        ticket: 1,
    };
    bad.lent().note(&inbox::write_pass(pass), &[]).unwrap();
    await_end(|| server.counters().broken == 0);
    assert_eq!(remote.ping(), Ok(()));
    bad.close();
}

fn await_end(goes_on: impl Fn() -> bool) {
    let end_ns = due_ns();
    while goes_on() {
        assert!(Monotonic.now_ns() < end_ns, "it lives on");
        Monotonic.sleep_until(Monotonic.now_ns() + 500_000);
    }
}

#[test]
fn random_words_end_one_link_and_nothing_else() {
    let server = process("server");
    let client = process("client");
    let (connection, _other) = join(&client, &server);
    let remote = connection.root().unwrap().unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let honest = {
        let (remote, is_over) = (remote.clone(), Arc::clone(&is_over));
        let call = move || {
            let mut value = 0;
            while !is_over.load(SeqCst) {
                mirror(&remote, value).unwrap();
                value += 1;
            }
            value
        };
        Builder::new("honest").spawn(call).unwrap()
    };
    let seconds: u64 = std::env::var(SECONDS).map_or(1, |it| it.parse().unwrap());
    let end_ns = Monotonic.now_ns() + seconds * 1_000_000_000;
    let mut seed = 0;
    // Each kind at least twice.
    while seed < 16 || Monotonic.now_ns() < end_ns {
        attack(&server, seed);
        seed += 1;
    }
    is_over.store(true, SeqCst);
    let calls = honest.join();
    // Each was answered within its due time.
    assert!(calls > 0, "no call beside {seed} hostile peers");
    assert!(server.counters().broken > 0, "{:?}", server.counters());
    assert!(connection.is_alive());
    drop(remote);
    drop(connection);
    assert_eq!(client.counters().broken, 0);
}

/// This program again, in the part of one test, and our end of the socket that is its input.
pub(super) fn program(part: &str) -> (Command, OwnedFd) {
    let (near, far) = Socket::pair().unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", part, "--nocapture", "--quiet"]);
    command.stdin(Stdio::from(far.into_fd()));
    (command, near.into_fd())
}

/// Where each thread of this program waits, by the kernel's word.
fn waits() -> String {
    let threads = std::fs::read_dir("/proc/self/task").unwrap();
    let of = |thread: &std::path::Path, file: &str| {
        let text = std::fs::read_to_string(thread.join(file)).unwrap_or_default();
        text.trim().to_owned()
    };
    let lines = threads.map(|it| {
        let path = it.unwrap().path();
        let [name, place, call] = ["comm", "wchan", "syscall"].map(|it| of(&path, it));
        format!("{name}: {place}, {call}\n")
    });
    lines.collect()
}

/// One hostile peer, until its link has ended.
fn attack(server: &Process, seed: u64) {
    let (mut command, socket) = program("lent::hostile::child");
    command.env(SEED, seed.to_string());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    drop(command);
    let connection = server.connect(socket, Side::Caller, due_ns()).unwrap();
    let end_ns = due_ns();
    while connection.is_alive() && child.try_wait().unwrap().is_none() {
        assert!(
            Monotonic.now_ns() < end_ns,
            "seed {seed}: it neither ends nor is ended"
        );
        Monotonic.sleep_until(Monotonic.now_ns() + 500_000);
    }
    // A panic in the hostile program is its own affair.
    let _ = child.kill();
    child.wait().unwrap();
    // It may have taken nearly all of its time, where others have the processors.
    let end_ns = due_ns();
    while connection.is_alive() {
        assert!(
            Monotonic.now_ns() < end_ns,
            "seed {seed}: the dead peer's link lives on\n{}{}",
            server.dump(),
            waits()
        );
        Monotonic.sleep_until(Monotonic.now_ns() + 500_000);
    }
}

/// The hostile program. Not a test of its own: without a part it returns.
#[test]
fn child() {
    let Ok(seed) = std::env::var(SEED) else {
        return;
    };
    let seed: u64 = seed.parse().unwrap();
    let socket = std::io::stdin().as_fd().try_clone_to_owned().unwrap();
    let process = process("hostile");
    let connection = process.connect(socket, Side::Listener, due_ns()).unwrap();
    let remote = connection.root().unwrap().unwrap();
    // Sound calls beside, so that words are written in the midst of them.
    for value in 0..3 {
        let remote = remote.clone();
        let call = move || while mirror(&remote, value).is_ok() {};
        Builder::new("beside").spawn(call).unwrap();
    }
    let mut random = fastrand::Rng::with_seed(seed);
    let end_ns = Monotonic.now_ns() + 200_000_000;
    while connection.is_alive() && Monotonic.now_ns() < end_ns {
        scribble(connection.lent(), seed % 8, &mut random);
    }
    std::process::abort();
}

fn scribble(lent: &Lent, what: u64, random: &mut fastrand::Rng) {
    let half = lent.side * WORDS_BYTES / 2;
    let slot = random.usize(0..SLOTS);
    match what {
        // Anything.
        0 => word(&lent.words, random.usize(0..WORDS_BYTES), random),
        // Locks, backs and turns of the slots, of both sides.
        1 => word(
            &lent.words,
            half + 64 + slot * 64 + random.usize(0..12),
            random,
        ),
        2 => {
            let other = WORDS_BYTES / 2 - half;
            word(
                &lent.words,
                other + 64 + slot * 64 + random.usize(0..12),
                random,
            );
        }
        // Headers of requests and answers.
        3 => {
            let header = random.usize(0..2 * SLOTS) * MESSAGE_BYTES;
            word(&lent.ours, header + random.usize(0..HEADER_BYTES), random);
        }
        // What lies behind them.
        4 => word(&lent.ours, random.usize(0..DATA_BYTES), random),
        // Posts, of slots that may be sound.
        5 => {
            word(&lent.words, half + random.usize(0..24), random);
            lent.bells.iter().for_each(rt::bell::Bell::ring);
        }
        // Introductions.
        6 => introduce(lent, random),
        // Messages.
        _ => {
            let size = random.usize(1..200);
            let mut bytes: Vec<u8> = (0..size).map(|_| random.u8(..)).collect();
            bytes[0] = random.u8(1..9);
            let _ = lent.socket.try_send(&bytes, &[]);
        }
    }
}

/// Introductions that may be nearly sound.
fn introduce(lent: &Lent, random: &mut fastrand::Rng) {
    let own = std::process::id().cast_signed();
    let who = Who {
        pid: [own, lent.peer.pid(), random.i32(..)][random.usize(0..3)],
        key: random.u64(0..3),
    };
    let number = random.u64(0..3);
    let note = match random.u8(0..4) {
        0 => inbox::write_meet(who, [Side::Caller, Side::Listener][random.usize(0..2)]),
        1 => inbox::write_pass(Pass {
            number,
            to: who,
            ticket: random.u64(0..9),
        }),
        2 => inbox::write_grant(Grant {
            number: number + 1,
            from: who.pid,
            ticket: random.u64(0..9),
        }),
        _ => inbox::write_forget(Ticket {
            who,
            number: random.u64(0..9),
        }),
    };
    let (near, far) = Socket::pair().unwrap();
    let fds = [far.as_fd()];
    let _ = lent.socket.try_send(&note, &fds[..random.usize(0..2)]);
    let _ = near.try_send(&note, &[]);
}

/// A word that may be nearly sound.
fn word(region: &Region, at: usize, random: &mut fastrand::Rng) {
    let word = region.word::<std::sync::atomic::AtomicU32>(at & !3);
    let value = match random.u8(0..4) {
        0 => random.u32(..),
        1 => random.u32(0..4),
        2 => Tid::current().raw().unsigned_abs() | random.u32(0..2) << 31,
        _ => word.load(SeqCst) ^ 1 << random.u32(0..32),
    };
    word.store(value, SeqCst);
}
