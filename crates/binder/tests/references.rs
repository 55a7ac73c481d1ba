// SPDX-License-Identifier: Apache-2.0
//! References passed around at random, against a shadow model: a node lives as long as anybody
//! holds it, and every count ends at zero. Over both transports.

mod service;

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Weak};

use binder::{Binder, Call, CallError, Options, Parcel, Process, Service, Side, WeakBinder};
use rt::clock::{Clock, Monotonic};
use rt::socket::Socket;
use rt::sync::PiMutex;
use service::{await_that, number};

/// Keeps a binder.
const PUT: u32 = 1;
/// Gives one away, and keeps it no more; a place is the number.
const TAKE: u32 = 2;
/// Gives one, and keeps it.
const COPY: u32 = 3;

/// What each holds, and weak references of both.
const HELD_MAX: usize = 20;

/// The one node of a process that holds others.
struct Bag(Arc<PiMutex<Vec<Binder>>>);

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
        let mut bag = self.0.lock();
        if code == PUT {
            bag.push(data.read_binder()?.ok_or(CallError::BadParcel)?);
            return Ok(());
        }
        if bag.is_empty() {
            return Ok(reply.write_binder(None)?);
        }
        let place = number(data)? as usize % bag.len();
        let found = if code == TAKE {
            bag.swap_remove(place)
        } else {
            bag[place].clone()
        };
        drop(bag);
        Ok(reply.write_binder(Some(found))?)
    }
}

/// A node that tells when it is gone.
struct Leaf(#[expect(dead_code, reason = "dropped with the node")] Arc<u64>);

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

/// A process, what it holds, and the other's bag.
struct Place {
    process: Process,
    bag: Arc<PiMutex<Vec<Binder>>>,
    other: Option<Binder>,
}

fn place(name: &str) -> Place {
    let process = Process::start(&Options::new(name)).unwrap();
    let bag = Arc::new(PiMutex::new(Vec::new()));
    let node = process.add(Bag(Arc::clone(&bag)));
    process.set_root(Some(node));
    Place {
        process,
        bag,
        other: None,
    }
}

/// Two places, joined.
fn joined(is_lent: bool) -> (Place, Place) {
    let (mut left, mut right) = (place("left"), place("right"));
    if is_lent {
        let due_ns = Monotonic.now_ns() + 10_000_000_000;
        let (near, far) = Socket::pair().unwrap();
        let (near, far) = std::thread::scope(|scope| {
            let process = &right.process;
            let listener =
                scope.spawn(move || process.connect(far.into_fd(), Side::Listener, due_ns));
            let near = left.process.connect(near.into_fd(), Side::Caller, due_ns);
            (near.unwrap(), listener.join().unwrap().unwrap())
        });
        left.other = near.root().unwrap();
        right.other = far.root().unwrap();
    } else {
        let (near, far) = Process::join(&left.process, &right.process);
        left.other = near.root().unwrap();
        right.other = far.root().unwrap();
    }
    (left, right)
}

fn call(binder: &Binder, code: u32, place: i32, what: Option<&Binder>) -> Option<Binder> {
    let (mut data, mut reply) = (Parcel::new(), Parcel::new());
    match what {
        Some(what) => data.write_binder(Some(what.clone())).unwrap(),
        None => data.write_i32(place).unwrap(),
    }
    binder.transact(code, &mut data, &mut reply, None).unwrap();
    if code == PUT {
        return None;
    }
    reply.read_binder().unwrap()
}

/// The shadow: for each node, how many each bag holds; the same order as in the bags.
#[derive(Default)]
struct Shadow {
    leaves: Vec<Weak<u64>>,
    weak: Vec<(u64, WeakBinder)>,
    bags: [Vec<u64>; 2],
}

impl Shadow {
    fn holds(&self, leaf: u64) -> bool {
        self.bags.iter().any(|it| it.contains(&leaf))
    }

    /// Every node lives exactly if somebody holds it.
    fn agrees(&self) -> bool {
        let mut leaves = self.leaves.iter().enumerate();
        leaves.all(|(leaf, it)| (it.strong_count() > 0) == self.holds(leaf as u64))
    }
}

/// What one step does; `far` is the place over there.
struct Step<'a> {
    shadow: &'a mut Shadow,
    place: &'a Place,
    here: usize,
    far: usize,
}

impl Step<'_> {
    fn remote(&self) -> &Binder {
        self.place.other.as_ref().unwrap()
    }

    fn keep(&mut self, binder: Binder, leaf: u64) {
        self.place.bag.lock().push(binder);
        self.shadow.bags[self.here].push(leaf);
    }

    fn make(&mut self) {
        let leaf = self.shadow.leaves.len() as u64;
        let token = Arc::new(leaf);
        self.shadow.leaves.push(Arc::downgrade(&token));
        let node = self.place.process.add(Leaf(token));
        self.keep(node, leaf);
    }

    fn let_go(&mut self, index: usize) {
        let binder = self.place.bag.lock().swap_remove(index);
        drop(binder);
        self.shadow.bags[self.here].swap_remove(index);
    }

    fn put(&mut self, index: usize) {
        let binder = self.place.bag.lock()[index].clone();
        call(self.remote(), PUT, 0, Some(&binder));
        let leaf = self.shadow.bags[self.here][index];
        self.shadow.bags[self.far].push(leaf);
    }

    fn take(&mut self, index: usize) {
        let binder = call(self.remote(), TAKE, index as i32, None).unwrap();
        let leaf = self.shadow.bags[self.far].swap_remove(index);
        self.keep(binder, leaf);
    }

    fn copy(&mut self, index: usize) {
        let binder = call(self.remote(), COPY, index as i32, None).unwrap();
        let leaf = self.shadow.bags[self.far][index];
        self.keep(binder, leaf);
    }

    fn weaken(&mut self, index: usize) {
        let weak = self.place.bag.lock()[index].downgrade();
        let leaf = self.shadow.bags[self.here][index];
        self.shadow.weak.push((leaf, weak));
    }

    /// Whether a weak reference can be made strong, and whether somebody holds the node.
    fn promote(&mut self, index: usize) -> (bool, bool) {
        let (leaf, weak) = self.shadow.weak.swap_remove(index);
        let is_strong = weak.promote().is_some();
        (is_strong, self.shadow.holds(leaf))
    }
}

fn play(is_lent: bool, seed: u64, steps: usize) {
    let (left, right) = joined(is_lent);
    let places = [&left, &right];
    let mut shadow = Shadow::default();
    let mut random = fastrand::Rng::with_seed(seed);
    for number in 0..steps {
        let here = random.usize(0..2);
        let count = shadow.bags[here].len();
        let far_count = shadow.bags[1 - here].len();
        let weak_count = shadow.weak.len();
        let mut step = Step {
            shadow: &mut shadow,
            place: places[here],
            here,
            far: 1 - here,
        };
        match random.u8(0..8) {
            0 | 1 if count < HELD_MAX => step.make(),
            2 if count > 0 => step.let_go(random.usize(0..count)),
            3 if count > 0 && far_count < HELD_MAX => step.put(random.usize(0..count)),
            4 if far_count > 0 => step.take(random.usize(0..far_count)),
            5 if far_count > 0 && count < HELD_MAX => step.copy(random.usize(0..far_count)),
            6 if count > 0 && weak_count < HELD_MAX => step.weaken(random.usize(0..count)),
            7 if weak_count > 0 => {
                let (is_strong, is_held) = step.promote(random.usize(0..weak_count));
                // Over a socket, who let go is heard later.
                let is_right = is_strong == is_held || is_lent && !is_held;
                assert!(is_right, "seed {seed}, step {number}: {is_strong}");
            }
            _ => {}
        }
        if !is_lent {
            assert!(shadow.agrees(), "seed {seed}, step {number}");
        } else if number % 250 == 0 {
            let what = format!("seed {seed}, step {number}: nodes live as they are held");
            await_that(&what, || shadow.agrees());
        }
    }
    end(&places, shadow, seed);
}

/// Everything is let go: nothing is left but each place's bag at the other.
fn end(places: &[&Place; 2], mut shadow: Shadow, seed: u64) {
    for place in places {
        let bag = std::mem::take(&mut *place.bag.lock());
        drop(bag);
    }
    shadow.bags = Default::default();
    shadow.weak.clear();
    await_that(&format!("seed {seed}: all are gone"), || shadow.agrees());
    await_that(&format!("seed {seed}: one reference each"), || {
        places.iter().all(|it| it.process.references() == (1, 1))
    });
}

#[test]
fn directly() {
    for seed in 0..4 {
        play(false, seed, 2_000);
    }
}

#[test]
fn lent() {
    for seed in 0..3 {
        play(true, seed, 1_500);
    }
}

/// Sixteen threads at both ends pass references and let them go; a million calls if the environment
/// says so.
#[test]
fn by_sixteen_threads_at_once() {
    let calls: u64 = std::env::var("BINDER_TEST_CALLS").map_or(8_000, |it| it.parse().unwrap());
    let (left, right) = joined(true);
    let leaves = Arc::new(AtomicU64::new(0));
    let tokens = Arc::new(PiMutex::new(Vec::<Weak<u64>>::new()));
    std::thread::scope(|scope| {
        for index in 0..16_u64 {
            let place = if index % 2 == 0 { &left } else { &right };
            let (leaves, tokens) = (&leaves, &tokens);
            scope.spawn(move || {
                let mut random = fastrand::Rng::with_seed(index);
                let remote = place.other.as_ref().unwrap();
                let mut held = Vec::new();
                for _ in 0..calls / 16 {
                    if held.len() < 3 {
                        let token = Arc::new(leaves.fetch_add(1, SeqCst));
                        tokens.lock().push(Arc::downgrade(&token));
                        held.push(place.process.add(Leaf(token)));
                    }
                    match random.u8(0..3) {
                        0 => {
                            let given = held.swap_remove(random.usize(0..held.len()));
                            call(remote, PUT, 0, Some(&given));
                        }
                        1 => held.extend(call(remote, TAKE, random.i32(0..100), None)),
                        _ => held.extend(call(remote, COPY, random.i32(0..100), None)),
                    }
                    held.truncate(8);
                }
            });
        }
    });
    let places = [&left, &right];
    for place in places {
        let bag = std::mem::take(&mut *place.bag.lock());
        drop(bag);
    }
    await_that("every node is gone", || {
        tokens.lock().iter().all(|it| it.strong_count() == 0)
    });
    await_that("every count is zero", || {
        places.iter().all(|it| it.process.references() == (1, 1))
    });
}
