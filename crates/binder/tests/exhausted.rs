// SPDX-License-Identifier: Apache-2.0
//! What happens where there is no looper, no slot or no place left: an error by name, a time-out
//! where a call has one, and others are served.
//!
//! Both processes live in this program and are joined by `lent`.

mod hog;
mod pair;
mod service;

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use binder::{Binder, CallError, Connection, Options, Parcel, Process, Side};
use pair::due_ns;
use rt::clock::{Clock, Monotonic};
use rt::policy::Policy;
use rt::socket::Socket;
use rt::thread::{Builder, Thread};
use service::{ADD, HOLD, Played, await_that, player};

const SLOTS_ORDINARY: usize = 24;
const ONEWAYS: usize = 64;
const HOLDERS_MAX: usize = 16;

/// A server with two nodes: one holds who calls it, one counts.
struct Server {
    process: Process,
    held: Arc<Played>,
    counts: Arc<Played>,
    /// Both loopers for everybody, and the nodes' queues.
    holder: Binder,
    counter: Binder,
}

/// A process that has the server's nodes.
struct Client {
    process: Process,
    holder: Binder,
    counter: Binder,
    _ends: (Connection, Connection),
}

impl Server {
    fn start() -> Self {
        let process = Process::start(&Options::new("server")).unwrap();
        let (holder, held) = player(&process);
        let (counter, counts) = player(&process);
        Self {
            process,
            held,
            counts,
            holder,
            counter,
        }
    }

    fn client(&self) -> Client {
        let process = Process::start(&Options::new("client")).unwrap();
        let (near, far) = Socket::pair().unwrap();
        self.process.set_root(Some(self.holder.clone()));
        let ends = std::thread::scope(|scope| {
            let connect = || {
                self.process
                    .connect(far.into_fd(), Side::Listener, due_ns())
            };
            let far = scope.spawn(connect);
            let near = process.connect(near.into_fd(), Side::Caller, due_ns());
            (near.unwrap(), far.join().unwrap().unwrap())
        });
        let holder = ends.0.root().unwrap().unwrap();
        self.process.set_root(Some(self.counter.clone()));
        let counter = ends.0.root().unwrap().unwrap();
        Client {
            process,
            holder,
            counter,
            _ends: ends,
        }
    }

    /// Both loopers for everybody serve a call that does not end. There may be more callers than
    /// loopers: a call waits for the looper that it chose.
    fn hold(&self, client: &Client) -> Vec<Thread<Result<(), CallError>>> {
        let served = self.process.counters().served;
        let mut holders = Vec::new();
        while self.process.counters().served < served + 2 {
            assert!(holders.len() < HOLDERS_MAX, "both loopers are held");
            let remote = client.holder.clone();
            let hold = move || call(&remote, HOLD, None);
            holders.push(Builder::new("holder").spawn(hold).unwrap());
            Monotonic.sleep_until(Monotonic.now_ns() + 20_000_000);
        }
        holders
    }

    fn let_go(&self) {
        self.held.is_let_go.store(true, SeqCst);
    }
}

fn call(remote: &Binder, code: u32, due_ns: Option<u64>) -> Result<(), CallError> {
    let (mut data, mut reply) = (Parcel::new(), Parcel::new());
    data.write_i32(1)?;
    remote.transact(code, &mut data, &mut reply, due_ns)
}

fn soon_ns() -> Option<u64> {
    Some(Monotonic.now_ns() + 1_000_000)
}

/// A call by a real-time thread: a looper is kept for it.
fn call_urgently(remote: &Binder) -> Result<(), CallError> {
    let remote = remote.clone();
    let call = move || call(&remote, ADD, Some(due_ns()));
    let builder = Builder::new("urgent").policy(Policy::fifo(10));
    builder.spawn(call).unwrap().join()
}

fn send(remote: &Binder, code: u32, value: i32) -> Result<(), CallError> {
    let mut data = Parcel::new();
    data.write_i32(value)?;
    remote.send(code, &data)
}

#[test]
fn without_a_looper_calls_wait_or_time_out_and_urgent_ones_are_served() {
    let server = Server::start();
    let client = server.client();
    let holders = server.hold(&client);
    for late in 1..=3 {
        let refused = call(&client.counter, ADD, soon_ns());
        assert_eq!(refused, Err(CallError::TimedOut));
        assert_eq!(client.process.counters().late, late);
    }
    assert_eq!(call_urgently(&client.counter), Ok(()));
    let waiting: Vec<_> = (0..4)
        .map(|_| {
            let remote = client.counter.clone();
            let wait = move || call(&remote, ADD, None);
            Builder::new("waiting").spawn(wait).unwrap()
        })
        .collect();
    server.let_go();
    for thread in waiting.into_iter().chain(holders) {
        assert_eq!(thread.join(), Ok(()));
    }
    // The urgent one and the four that waited: what was given up before it began is not begun.
    server.client().counter.ping().unwrap();
    assert_eq!(server.counts.sum.load(SeqCst), 5);
    assert_eq!(server.process.counters().broken, 0);
}

#[test]
fn a_server_that_never_answers_refuses_when_all_slots_are_given_up() {
    let server = Server::start();
    let (client, other) = (server.client(), server.client());
    let holders = server.hold(&other);
    for _ in 0..SLOTS_ORDINARY {
        let late = call(&client.counter, ADD, soon_ns());
        assert_eq!(late, Err(CallError::TimedOut));
    }
    // Not after its time alone: at once, where it has none.
    for due_ns in [None, Some(due_ns())] {
        let refused = call(&client.counter, ADD, due_ns);
        assert_eq!(refused, Err(CallError::QueueFull));
    }
    // Another process has slots of its own, and each has some for real time.
    assert_eq!(
        call(&other.counter, ADD, soon_ns()),
        Err(CallError::TimedOut)
    );
    assert_eq!(call_urgently(&client.counter), Ok(()));
    assert_eq!(call_urgently(&other.counter), Ok(()));
    server.let_go();
    for holder in holders {
        assert_eq!(holder.join(), Ok(()));
    }
    await_that("slots come back", || {
        call(&client.counter, ADD, Some(due_ns())).is_ok()
    });
    assert_eq!(call(&other.counter, ADD, Some(due_ns())), Ok(()));
    assert_eq!(server.process.counters().broken, 0);
}

#[test]
fn a_full_queue_refuses_its_sender_alone() {
    let server = Server::start();
    let (client, other) = (server.client(), server.client());
    send(&client.holder, HOLD, 0).unwrap();
    await_that("a looper is held", || server.held.is_held.load(SeqCst));
    for value in 1..ONEWAYS {
        send(&client.holder, ADD, value as i32).unwrap();
    }
    // The bound is the link's: for both nodes.
    for remote in [&client.holder, &client.counter] {
        assert_eq!(send(remote, ADD, 0), Err(CallError::QueueFull));
    }
    // Calls with an answer go on, and other links' queues; each node serves in order.
    assert_eq!(call(&client.counter, ADD, Some(due_ns())), Ok(()));
    send(&other.counter, ADD, 5).unwrap();
    let is_counted = || server.counts.sum.load(SeqCst) == 6;
    await_that("another link's call is served", is_counted);
    send(&other.holder, ADD, ONEWAYS as i32).unwrap();
    assert!(server.held.order.lock().is_empty(), "behind what holds it");
    server.let_go();
    let all: Vec<i32> = (1..=ONEWAYS as i32).collect();
    await_that("all are served in order", || {
        *server.held.order.lock() == all
    });
    assert_eq!(send(&client.holder, ADD, 0), Ok(()));
    assert_eq!(server.process.counters().broken, 0);
}
