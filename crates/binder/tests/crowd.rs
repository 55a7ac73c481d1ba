// SPDX-License-Identifier: Apache-2.0
//! A crowd of processes that know each other by way of one of them: references and descriptors
//! passed around at random, against a shadow model. A node is the same for all who hold it, lives
//! exactly as long as one of them does, and every count ends at zero.
//!
//! A shadow goes with each reference: the number of its node, which the parcel carries beside it.

mod left;
mod service;

use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Barrier, Weak};

use binder::{Binder, Call, CallError, Connection, Options, Parcel, Process, Service, Side};
use left::{Left, alone};
use rt::clock::{Clock, Monotonic};
use rt::socket::Socket;
use rt::sync::PiMutex;
use service::{await_that, number};

/// Keeps a binder and its number.
const PUT: u32 = 1;
/// Gives one away, and keeps it no more; a place is the number.
const TAKE: u32 = 2;
/// Gives one, and keeps it.
const COPY: u32 = 3;
/// Keeps a descriptor.
const PUT_FILE: u32 = 4;
/// Gives one away.
const TAKE_FILE: u32 = 5;
/// Of the host: everybody's bag, by number; the host keeps what it is given.
const REGISTER: u32 = 6;
const FIND: u32 = 7;

const CLIENTS: usize = 16;
/// What a bag holds: more replaces the first.
const HELD_MAX: usize = 12;
/// Calls of each client between looks at the whole.
const ROUND: u64 = 50;

#[derive(Default)]
struct Held {
    binders: Vec<(i32, Binder)>,
    files: Vec<Arc<OwnedFd>>,
}

impl Held {
    /// Gives what it replaces; an error if the reference is not what its number says.
    fn put(&mut self, number: i32, binder: Binder) -> Result<Option<Binder>, CallError> {
        let is_right = |it: &(i32, Binder)| (it.0 == number) == it.1.is_same(&binder);
        if !self.binders.iter().all(is_right) {
            return Err(CallError::Status(number));
        }
        let replaced = (self.binders.len() >= HELD_MAX).then(|| self.binders.remove(0).1);
        self.binders.push((number, binder));
        Ok(replaced)
    }

    fn put_file(&mut self, file: Arc<OwnedFd>) {
        if self.files.len() >= HELD_MAX {
            self.files.remove(0);
        }
        self.files.push(file);
    }
}

/// The one node of a process that holds others.
struct Bag(Arc<PiMutex<Held>>);

impl Service for Bag {
    fn descriptor(&self) -> &str {
        "takt.test.IBag"
    }

    fn on_transact(
        &self,
        _: &Call,
        code: u32,
        data: &mut Parcel,
        reply: &mut Parcel,
    ) -> Result<(), CallError> {
        match code {
            PUT => {
                let leaf = number(data)?;
                let binder = data.read_binder()?.ok_or(CallError::BadParcel)?;
                let replaced = self.0.lock().put(leaf, binder)?;
                drop(replaced);
                Ok(())
            }
            TAKE | COPY => {
                let place = number(data)? as usize;
                let mut held = self.0.lock();
                let count = held.binders.len().max(1);
                let found = held.binders.get(place % count).cloned();
                let taken = (code == TAKE && found.is_some())
                    .then(|| held.binders.swap_remove(place % count));
                drop(held);
                drop(taken);
                reply.write_i32(found.as_ref().map_or(0, |it| it.0))?;
                Ok(reply.write_binder(found.map(|it| it.1))?)
            }
            PUT_FILE => {
                let file = data.read_fd()?;
                self.0.lock().put_file(file);
                Ok(())
            }
            TAKE_FILE => {
                let file = self.0.lock().files.pop();
                reply.write_i32(i32::from(file.is_some()))?;
                Ok(file.map_or(Ok(()), |it| reply.write_fd(it))?)
            }
            _ => Err(CallError::UnknownTransaction),
        }
    }
}

/// Where everybody finds everybody's bag.
#[derive(Default)]
struct Host(Arc<PiMutex<Vec<(i32, Binder)>>>);

impl Service for Host {
    fn descriptor(&self) -> &str {
        "takt.test.IHost"
    }

    fn on_transact(
        &self,
        _: &Call,
        code: u32,
        data: &mut Parcel,
        reply: &mut Parcel,
    ) -> Result<(), CallError> {
        let index = number(data)?;
        if code == REGISTER {
            let binder = data.read_binder()?.ok_or(CallError::BadParcel)?;
            self.0.lock().push((index, binder));
            return Ok(());
        }
        let bags = self.0.lock();
        let found = bags.iter().find(|it| it.0 == index).map(|it| it.1.clone());
        drop(bags);
        Ok(reply.write_binder(found)?)
    }
}

/// A node that tells when it is gone.
struct Leaf(#[expect(dead_code, reason = "dropped with the node")] Arc<i32>);

impl Service for Leaf {
    fn descriptor(&self) -> &str {
        "takt.test.ILeaf"
    }

    fn on_transact(
        &self,
        _: &Call,
        _: u32,
        _: &mut Parcel,
        _: &mut Parcel,
    ) -> Result<(), CallError> {
        Ok(())
    }
}

fn process(name: &str) -> Process {
    let options = Options {
        loopers: 1,
        ..Options::new(name)
    };
    Process::start(&options).unwrap()
}

/// What all clients share.
#[derive(Default)]
struct Crowd {
    next: AtomicU64,
    leaves: PiMutex<Vec<Weak<i32>>>,
    bags: PiMutex<Vec<Arc<PiMutex<Held>>>>,
}

impl Crowd {
    /// Every node lives exactly if somebody holds it.
    fn agrees(&self) -> bool {
        let bags = self.bags.lock();
        let mut held: Vec<i32> = Vec::new();
        for bag in bags.iter() {
            held.extend(bag.lock().binders.iter().map(|it| it.0));
        }
        held.sort_unstable();
        held.dedup();
        let mut live: Vec<i32> = Vec::new();
        let mut leaves = self.leaves.lock();
        leaves.retain(|it| it.strong_count() > 0);
        live.extend(leaves.iter().filter_map(|it| it.upgrade().map(|it| *it)));
        live.sort_unstable();
        held == live
    }
}

struct Client<'a> {
    crowd: &'a Crowd,
    process: &'a Process,
    bag: Arc<PiMutex<Held>>,
    others: Vec<Binder>,
    random: fastrand::Rng,
}

impl Client<'_> {
    fn keep(&self, leaf: i32, binder: Binder) {
        let replaced = self.bag.lock().put(leaf, binder);
        drop(replaced.unwrap_or_else(|error| panic!("another node came: {error}")));
    }

    /// One of those that it holds.
    fn any(&mut self) -> Option<(i32, Binder)> {
        let held = self.bag.lock();
        let count = held.binders.len();
        (count > 0).then(|| held.binders[self.random.usize(0..count)].clone())
    }

    fn make(&self) {
        let leaf = self.crowd.next.fetch_add(1, SeqCst) as i32 + 1;
        let token = Arc::new(leaf);
        self.crowd.leaves.lock().push(Arc::downgrade(&token));
        let node = self.process.add(Leaf(token));
        self.keep(leaf, node);
    }

    fn fetch(&mut self, other: &Binder, code: u32) {
        let (mut data, mut reply) = (Parcel::new(), Parcel::new());
        data.write_i32(self.random.i32(0..100)).unwrap();
        other.transact(code, &mut data, &mut reply, None).unwrap();
        let leaf = reply.read_i32().unwrap();
        if let Some(binder) = reply.read_binder().unwrap() {
            self.keep(leaf, binder);
        }
    }

    fn give(&mut self, other: &Binder) {
        let Some((leaf, binder)) = self.any() else {
            return self.make();
        };
        let mut data = Parcel::new();
        data.write_i32(leaf).unwrap();
        data.write_binder(Some(binder)).unwrap();
        let put = other.transact(PUT, &mut data, &mut Parcel::new(), None);
        put.unwrap_or_else(|error| panic!("{leaf}: {error}"));
    }

    fn weaken(&mut self) {
        if let Some((leaf, binder)) = self.any() {
            let weak = binder.downgrade();
            let again = weak.promote();
            assert!(again.is_some_and(|it| it.is_same(&binder)), "{leaf}");
        }
    }

    /// A descriptor, either way.
    fn file(&mut self, other: &Binder) {
        let (mut data, mut reply) = (Parcel::new(), Parcel::new());
        if self.random.bool() {
            let file = File::open("/dev/null").unwrap();
            data.write_fd(Arc::new(file.into())).unwrap();
            other
                .transact(PUT_FILE, &mut data, &mut reply, None)
                .unwrap();
            return;
        }
        other
            .transact(TAKE_FILE, &mut data, &mut reply, None)
            .unwrap();
        if reply.read_i32() == Some(1) {
            let file = reply.read_fd().unwrap();
            self.bag.lock().put_file(file);
        }
    }

    fn step(&mut self) {
        let other = self.others[self.random.usize(0..self.others.len())].clone();
        match self.random.u8(0..8) {
            0 | 1 => self.give(&other),
            2 | 3 => self.fetch(&other, TAKE),
            4 => self.fetch(&other, COPY),
            5 => self.file(&other),
            6 => self.weaken(),
            _ => {
                self.make();
                // Others may have taken it by now.
                let first = self.bag.lock().binders.pop();
                drop(first);
            }
        }
    }
}

/// Joins a client with the host.
fn join(client: &Process, host: &Process) -> (Connection, Connection) {
    let (near, far) = Socket::pair().unwrap();
    let due_ns = Monotonic.now_ns() + 60_000_000_000;
    std::thread::scope(|scope| {
        let listen = || host.connect(far.into_fd(), Side::Listener, due_ns);
        let listener = scope.spawn(listen);
        let caller = client.connect(near.into_fd(), Side::Caller, due_ns);
        (caller.unwrap(), listener.join().unwrap().unwrap())
    })
}

/// Registers a bag with the host; when all have, finds the others'.
fn meet(index: usize, root: &Binder, bag: Binder, gate: &Barrier) -> Vec<Binder> {
    let call = |code, index: usize, binder: Option<Binder>| {
        let (mut data, mut reply) = (Parcel::new(), Parcel::new());
        data.write_i32(index as i32).unwrap();
        data.write_binder(binder).unwrap();
        root.transact(code, &mut data, &mut reply, None).unwrap();
        reply
    };
    call(REGISTER, index, Some(bag));
    gate.wait();
    let others = (0..CLIENTS).filter(|&it| it != index);
    let found = others.map(|it| call(FIND, it, None).read_binder().unwrap());
    found.map(|it| it.expect("it is registered")).collect()
}

#[test]
fn in_a_crowd_every_count_ends_at_zero() {
    alone("in_a_crowd_every_count_ends_at_zero", play);
}

fn play() {
    let calls: u64 = std::env::var("BINDER_TEST_CALLS").map_or(8_000, |it| it.parse().unwrap());
    let seed: u64 = std::env::var("SEED").map_or(7, |it| it.parse().unwrap());
    let before = Left::now();
    let crowd = Crowd::default();
    let registered = Arc::new(PiMutex::new(Vec::new()));
    let host = process("host");
    host.set_root(Some(host.add(Host(Arc::clone(&registered)))));
    let clients: Vec<_> = (0..CLIENTS).map(|it| process(&format!("c{it}"))).collect();
    let gate = Barrier::new(CLIENTS);
    std::thread::scope(|scope| {
        for (index, process) in clients.iter().enumerate() {
            let (crowd, host, gate) = (&crowd, &host, &gate);
            let client = move || {
                let (connection, _) = join(process, host);
                let root = connection.root().unwrap().unwrap();
                let bag = Arc::new(PiMutex::new(Held::default()));
                crowd.bags.lock().push(Arc::clone(&bag));
                let own = process.add(Bag(Arc::clone(&bag)));
                let others = meet(index, &root, own, gate);
                let mut client = Client {
                    crowd,
                    process,
                    bag,
                    others,
                    random: fastrand::Rng::with_seed(seed + index as u64),
                };
                for round in 0..(calls / CLIENTS as u64).div_ceil(ROUND) {
                    (0..ROUND).for_each(|_| client.step());
                    if gate.wait().is_leader() {
                        let what = format!("seed {seed}, round {round}: nodes live as held");
                        await_that(&what, || crowd.agrees());
                    }
                    gate.wait();
                }
            };
            scope.spawn(client);
        }
    });
    let registered = std::mem::take(&mut *registered.lock());
    drop(registered);
    let bags = std::mem::take(&mut *crowd.bags.lock());
    for bag in bags {
        let held = std::mem::take(&mut *bag.lock());
        drop(held);
    }
    host.set_root(None);
    await_that("every node is gone", || crowd.agrees());
    await_that("every count is zero", || {
        let mut all = clients.iter().chain([&host]);
        all.all(|it| it.references() == (0, 0))
    });
    for process in clients.iter().chain([&host]) {
        let counted = process.counters();
        assert_eq!((counted.broken, counted.deaths), (0, 0), "{counted:?}");
    }
    drop((clients, host));
    before.await_no_more(&"the crowd", || ());
}
