// SPDX-License-Identifier: Apache-2.0
//! An epoch held still between any two answers: a reference that leaves the stack there is not
//! lost.
//!
//! Three mutators: the actor (this thread), the brake, and one in native code that waits for the
//! epoch. The actor and the brake answer as many questions as the case says, so the collector
//! stands in a known round while the actor moves the only reference to an object from its stack to
//! some other place. No luck is needed: each case runs each time.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

use heap::{AllocSite, CollectorKind, CopyRange, Global, Heap, Local, Mutator, ObjectRef, Running};
use rt::policy::Tid;
use rt::thread::{Builder, Thread};
use support::{ID, Kinds, SLOTS, WIDE_MARK, copy_elements, start};

/// Questions of one epoch: H1, H2, H3. A full collection is two epochs, the first with a trace.
const QUESTIONS: u64 = 3;

/// Answers given when the reference is moved: by the actor, by the brake. The collector waits for
/// the one that is behind, or asks both for the next one.
const MOMENTS: [(u64, u64); 9] = [
    (0, 0),
    (0, 1),
    (1, 0),
    (1, 1),
    (1, 2),
    (2, 1),
    (2, 2),
    (2, 3),
    (3, 2),
];

/// Where the actor puts the only reference.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    /// A field of an old object.
    Field,
    /// The same by compare and exchange.
    Exchange,
    /// An element of an array with a log word per chunk.
    Element,
    /// The same by a bulk copy, out of a new array that is given up.
    Copy,
    /// A field of an object that is itself new, and stored into an old one.
    New,
    /// A root that belongs to no mutator.
    Global,
    /// The first root of a new thread.
    Thread,
    /// A new weak reference, stored into an old object.
    NewWeak,
    /// An old weak reference that had no referent.
    OldWeak,
    /// A new soft reference, stored into an old object.
    NewSoft,
}

const PLACES: [Place; 10] = [
    Place::Field,
    Place::Exchange,
    Place::Element,
    Place::Copy,
    Place::New,
    Place::Global,
    Place::Thread,
    Place::NewWeak,
    Place::OldWeak,
    Place::NewSoft,
];

#[test]
fn what_leaves_the_stack_between_two_answers_is_not_lost() {
    for has_trace in [false, true] {
        let stage = Stage::new(has_trace);
        for kind in stage.kinds_moved() {
            for place in PLACES {
                for moment in MOMENTS {
                    for is_old in [false, true] {
                        eprintln!("{place:?} at {moment:?}, old: {is_old}, trace: {has_trace}");
                        Actor::new(&stage).play(kind, place, moment, is_old);
                    }
                }
            }
        }
        stage.stop();
    }
}

/// A reference object that was there before gets as its referent what its mutator makes at each
/// moment, also behind its own scan: an object with a log word in its header, and one with one for
/// each chunk.
#[test]
fn a_referent_that_is_born_between_two_answers_is_not_lost() {
    for has_trace in [false, true] {
        let stage = Stage::new(has_trace);
        for kind in stage.kinds_moved() {
            for moment in MOMENTS {
                eprintln!("{kind:?} at {moment:?}, trace: {has_trace}");
                Actor::new(&stage).give_birth(kind, moment);
            }
        }
        stage.stop();
    }
}

/// What is moved, and where in it lies a word that is no reference.
#[derive(Clone, Copy, Debug)]
struct Moved {
    site: AllocSite,
    mark: u32,
}

/// The heap and the two other threads.
struct Stage {
    heap: Running,
    kinds: Kinds,
    brake: Thread<()>,
    asker: Thread<()>,
    signals: Arc<Signals>,
}

#[derive(Default)]
struct Signals {
    /// Answers that the brake may have given so far.
    allowed: AtomicU64,
    /// Epochs that the actor wanted, and those that ended.
    wanted: AtomicU64,
    ended: AtomicU64,
    brake_tid: AtomicU64,
    is_asker_there: AtomicBool,
    /// Each epoch has a trace, and another epoch behind it.
    has_trace: AtomicBool,
    is_stopping: AtomicBool,
}

impl Stage {
    fn new(has_trace: bool) -> Self {
        let heap = start(CollectorKind::Rc, 16 << 20, |config| {
            // No epoch but those of the test.
            config.epoch_interval_ns = u64::MAX;
            config.trace_interval_ns = u64::MAX;
        });
        let signals = Arc::new(Signals::default());
        signals.has_trace.store(has_trace, SeqCst);
        let spawn = |name, body: fn(&Heap, Mutator, &Signals)| {
            let (heap, signals) = (Arc::clone(&heap), Arc::clone(&signals));
            let run = move || body(&heap, heap.attach(false, &[]), &signals);
            Builder::new(name).spawn(run).unwrap()
        };
        let brake = spawn("brake", brake);
        let asker = spawn("asker", asker);
        while signals.brake_tid.load(SeqCst) == 0 || !signals.is_asker_there.load(SeqCst) {
            std::thread::yield_now();
        }
        Self {
            kinds: Kinds::new(&heap),
            heap,
            brake,
            asker,
            signals,
        }
    }

    /// With a log word in the header, and with one for each chunk.
    fn kinds_moved(&self) -> [Moved; 2] {
        let Kinds { node, wide, .. } = self.kinds;
        [(node, ID), (wide, WIDE_MARK)].map(|(site, mark)| Moved { site, mark })
    }

    fn stop(self) {
        self.signals.is_stopping.store(true, SeqCst);
        self.brake.join();
        self.asker.join();
    }

    fn brake_answers(&self) -> u64 {
        answers(&self.heap, self.signals.brake_tid.load(SeqCst))
    }
}

/// Questions that a thread's mutator has answered.
fn answers(heap: &Heap, tid: u64) -> u64 {
    let all = heap.answers();
    let own = all.iter().find(|it| u64::from(it.tid) == tid);
    own.map_or(0, |it| it.count.iter().sum())
}

fn own_tid() -> u64 {
    Tid::current().raw() as u64
}

/// In managed code, and answers as often as it may.
fn brake(heap: &Heap, mut mutator: Mutator, signals: &Signals) {
    signals.brake_tid.store(own_tid(), SeqCst);
    while !signals.is_stopping.load(SeqCst) {
        if answers(heap, own_tid()) < signals.allowed.load(SeqCst) {
            mutator.poll();
        }
        std::thread::yield_now();
    }
}

/// In native code: the collector answers for it.
fn asker(_: &Heap, mut mutator: Mutator, signals: &Signals) {
    signals.is_asker_there.store(true, SeqCst);
    while !signals.is_stopping.load(SeqCst) {
        if signals.ended.load(SeqCst) < signals.wanted.load(SeqCst) {
            match signals.has_trace.load(SeqCst) {
                true => mutator.collect_kept_soft(),
                false => mutator.collect_epoch(),
            }
            signals.ended.fetch_add(1, SeqCst);
        }
        mutator.native(std::thread::yield_now);
    }
}

/// The thread that moves the reference.
struct Actor<'s> {
    stage: &'s Stage,
    mutator: Mutator,
    /// An old node, an old array with chunks, an old weak reference.
    node: Local,
    array: Local,
    weak: Local,
    /// What is moved, for as long as it is on the stack.
    moved: Local,
    /// Or an array that holds it, for as long as that is on the stack.
    source: Local,
    /// Where its mark is.
    mark: u32,
}

impl<'s> Actor<'s> {
    fn new(stage: &'s Stage) -> Self {
        let kinds = stage.kinds;
        let mut mutator = stage.heap.attach(false, &[]);
        let node = mutator.alloc(kinds.node).unwrap();
        let node = mutator.local(node);
        let array = mutator.alloc_array(kinds.array, 100).unwrap();
        let array = mutator.local(array);
        let weak = mutator.alloc(kinds.weak).unwrap();
        let weak = mutator.local(weak);
        let moved = mutator.local(ObjectRef::NULL);
        let source = mutator.local(ObjectRef::NULL);
        let mut actor = Self {
            stage,
            mutator,
            node,
            array,
            weak,
            moved,
            source,
            mark: ID,
        };
        actor.epoch((0, 0), |_| ());
        actor
    }

    fn play(mut self, kind: Moved, place: Place, moment: (u64, u64), is_old: bool) {
        let object = self.make(kind);
        self.mutator.set(self.moved, object);
        if matches!(place, Place::Copy) {
            self.fill_source();
        }
        if is_old {
            self.epoch((0, 0), |_| ());
        }
        let kept = self.epoch(moment, |actor| {
            let kept = actor.put(place);
            actor.mutator.set(actor.moved, ObjectRef::NULL);
            actor.mutator.set(actor.source, ObjectRef::NULL);
            kept
        });
        self.assert_whole(place, &kept);
        // The next epoch settles what this one was too early for.
        self.epoch((0, 0), |_| ());
        self.assert_whole(place, &kept);
        for _ in 0..2 {
            self.epoch((0, 0), |_| ());
        }
        self.assert_whole(place, &kept);
        if matches!(place, Place::NewWeak | Place::OldWeak) {
            let referent = self.read(place, &kept);
            assert!(referent.is_null(), "cleared by now");
        }
        if let Kept::Global(global) = kept {
            self.stage.heap.free_global(global);
        }
        if let Kept::Thread(thread) = kept {
            thread.let_go();
        }
    }

    /// A marked object.
    fn make(&mut self, kind: Moved) -> ObjectRef {
        let object = self.mutator.alloc(kind.site).unwrap();
        self.mutator.write_u32(object, kind.mark, 7);
        self.mark = kind.mark;
        object
    }

    fn give_birth(mut self, kind: Moved, moment: (u64, u64)) {
        self.epoch(moment, |actor| {
            let object = actor.make(kind);
            actor.mutator.set(actor.moved, object);
            let weak = actor.mutator.get(actor.weak);
            actor.mutator.write_referent(weak, object);
        });
        for _ in 0..3 {
            let (object, weak) = (self.mutator.get(self.moved), self.mutator.get(self.weak));
            assert_eq!(self.mutator.read_referent(weak), object);
            assert_eq!(self.mutator.read_u32(object, self.mark), 7);
            self.epoch((0, 0), |_| ());
        }
        self.mutator.set(self.moved, ObjectRef::NULL);
        self.epoch((0, 0), |_| ());
        let weak = self.mutator.get(self.weak);
        assert!(self.mutator.read_referent(weak).is_null(), "cleared by now");
    }

    /// The stack holds an array that holds what is moved.
    fn fill_source(&mut self) {
        let kinds = self.stage.kinds;
        let source = self.mutator.alloc_array(kinds.array, 1).unwrap();
        let moved = self.mutator.get(self.moved);
        self.mutator.write_element(source, 0, moved);
        self.mutator.set(self.source, source);
        self.mutator.set(self.moved, ObjectRef::NULL);
    }

    /// An epoch; `body` runs when as many answers as `moment` says were given.
    fn epoch<T>(&mut self, moment: (u64, u64), body: impl FnOnce(&mut Self) -> T) -> T {
        let (stage, tid) = (self.stage, own_tid());
        let own_start = answers(&stage.heap, tid);
        let brake_start = stage.brake_answers();
        stage.signals.allowed.store(brake_start + moment.1, SeqCst);
        let epoch = stage.signals.wanted.fetch_add(1, SeqCst) + 1;
        let own_answers = |it: &Self| answers(&it.stage.heap, tid) - own_start;
        while own_answers(self) < moment.0 || stage.brake_answers() < brake_start + moment.1 {
            if own_answers(self) < moment.0 {
                self.mutator.poll();
            }
            std::thread::yield_now();
        }
        let value = body(self);
        let epochs = 1 + u64::from(stage.signals.has_trace.load(SeqCst));
        let all = brake_start + epochs * QUESTIONS;
        stage.signals.allowed.store(all, SeqCst);
        while stage.signals.ended.load(SeqCst) < epoch {
            self.mutator.poll();
            std::thread::yield_now();
        }
        value
    }

    fn put(&mut self, place: Place) -> Kept {
        let kinds = self.stage.kinds;
        let mutator = &mut self.mutator;
        let mut made = |site| mutator.alloc(site).unwrap();
        // Allocation first: it may be a safepoint.
        let new = match place {
            Place::New => made(kinds.node),
            Place::NewWeak => made(kinds.weak),
            Place::NewSoft => made(kinds.soft),
            _ => ObjectRef::NULL,
        };
        let (node, array) = (mutator.get(self.node), mutator.get(self.array));
        let moved = mutator.get(self.moved);
        let slot = node.slot(SLOTS[0]);
        match place {
            Place::Field => mutator.write(node, slot, moved),
            Place::Exchange => mutator
                .compare_exchange(node, slot, ObjectRef::NULL, moved)
                .unwrap(),
            Place::Element => mutator.write_element(array, 70, moved),
            Place::Copy => {
                let range = CopyRange {
                    source_index: 0,
                    target_index: 70,
                    count: 1,
                };
                copy_elements(mutator, self.source, self.array, range);
            }
            Place::New => {
                mutator.write(new, new.slot(SLOTS[1]), moved);
                mutator.write(node, slot, new);
            }
            Place::Global => {
                return Kept::Global(mutator.add_global(moved));
            }
            Place::Thread => return Kept::Thread(NewThread::start(&self.stage.heap, moved)),
            Place::NewWeak | Place::NewSoft => {
                mutator.write_referent(new, moved);
                mutator.write(node, slot, new);
            }
            Place::OldWeak => {
                let weak = mutator.get(self.weak);
                mutator.write_referent(weak, moved);
            }
        }
        Kept::InHeap
    }

    /// What the place refers to.
    fn read(&mut self, place: Place, kept: &Kept) -> ObjectRef {
        let mutator = &mut self.mutator;
        let (node, array) = (mutator.get(self.node), mutator.get(self.array));
        let first = mutator.read(node.slot(SLOTS[0]));
        match (place, kept) {
            (_, &Kept::Global(global)) => mutator.global(global),
            (_, Kept::Thread(thread)) => thread.root,
            (Place::Element | Place::Copy, _) => mutator.read(array.element(70)),
            (Place::New, _) => mutator.read(first.slot(SLOTS[1])),
            (Place::NewWeak | Place::NewSoft, _) => mutator.read_referent(first),
            (Place::OldWeak, _) => {
                let weak = mutator.get(self.weak);
                mutator.read_referent(weak)
            }
            _ => first,
        }
    }

    /// The place names a living object, the one that was put there; a weak one may name none.
    fn assert_whole(&mut self, place: Place, kept: &Kept) {
        let object = self.read(place, kept);
        if object.is_null() {
            assert!(matches!(place, Place::NewWeak | Place::OldWeak), "lost");
            return;
        }
        let found = self.stage.heap.object_at(object.bits());
        assert_eq!(found, Some(object), "freed while {place:?} names it");
        assert_eq!(self.mutator.read_u32(object, self.mark), 7);
    }
}

/// What must be given up in the end.
enum Kept {
    InHeap,
    Global(Global),
    Thread(NewThread),
}

/// A thread that holds one reference, in native code.
struct NewThread {
    root: ObjectRef,
    is_over: Arc<AtomicBool>,
    thread: Thread<()>,
}

impl NewThread {
    fn start(heap: &Arc<Heap>, root: ObjectRef) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let has_joined = Arc::new(AtomicBool::new(false));
        let (heap, over, joined) = (Arc::clone(heap), is_over.clone(), has_joined.clone());
        let body = move || {
            let mut mutator = heap.attach(false, &[root]);
            mutator.native(|| {
                joined.store(true, SeqCst);
                while !over.load(SeqCst) {
                    std::thread::yield_now();
                }
            });
        };
        let thread = Builder::new("new").spawn(body).unwrap();
        while !has_joined.load(SeqCst) {
            std::thread::yield_now();
        }
        Self {
            root,
            is_over,
            thread,
        }
    }

    fn let_go(self) {
        self.is_over.store(true, SeqCst);
        self.thread.join();
    }
}
