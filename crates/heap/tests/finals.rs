// SPDX-License-Identifier: Apache-2.0
//! Random graphs with soft, weak, final and phantom references against Java's rules, to the letter:
//! what one full collection clears and enqueues, and what is left after it.
//!
//! One mutator, and no collection but those asked for: so the outcome is known. The rules are
//! HotSpot's. All that is finalizable is found at once, before any of it counts as alive again.
//! What is reached from there alone keeps what it reaches, also by reference objects.
//! `HEAP_SEED` replays.

mod support;

use std::collections::{HashMap, HashSet};

use heap::{CollectorKind, Local, Mutator, ObjectRef};
use support::{ID, Kinds, REFERENT, Random, SLOTS, seeds, start};

/// Rounds of one heap: with all its collections, fewer epochs than there are tags for roots.
const ROUNDS: u32 = 15;
const STEPS: u32 = 120;
const ROOTS: u32 = 16;
/// Of reference objects: their strong slot and their number.
const NEXT: u32 = 12;
const REFERENCE_ID: u32 = 20;

/// The number of an object; 0 is null.
type Name = u32;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Node,
    Soft,
    Weak,
    Final,
    Phantom,
}

impl Kind {
    /// Counts do not tell that such a reference object is garbage itself, before it is freed: it
    /// may be enqueued without being alive. That must not matter: it holds nothing, and no
    /// reference object refers to it.
    fn is_early(self) -> bool {
        matches!(self, Kind::Weak | Kind::Phantom)
    }
}

#[derive(Clone, Debug)]
struct Shadow {
    kind: Kind,
    slots: Vec<Name>,
    referent: Name,
    /// A final reference that was enqueued and not cleared yet.
    is_holding: bool,
}

struct Game {
    mutator: Mutator,
    kinds: Kinds,
    random: Random,
    shadows: HashMap<Name, Shadow>,
    roots: Vec<(Local, Name)>,
    next_name: Name,
    place: String,
    /// Objects finalized by the way, over all rounds.
    finalized: usize,
}

/// What a full collection is to do.
struct Outcome {
    /// What roots reach.
    strong: HashSet<Name>,
    /// Enqueued for sure.
    enqueued: HashSet<Name>,
    /// What roots reach, or what is enqueued to be finalized.
    held: HashSet<Name>,
    /// Besides, what reference objects among that refer to. Counts may decide on it before the
    /// trace, or in the epoch behind it.
    found: HashSet<Name>,
}

impl Game {
    fn step(&mut self) {
        match self.random.below(100) {
            0..30 => self.new_object(Kind::Node),
            30..34 => self.new_object(Kind::Soft),
            34..42 => self.new_object(Kind::Weak),
            42..60 => self.new_object(Kind::Final),
            60..66 => self.new_object(Kind::Phantom),
            66..90 => self.store(),
            90..93 => self.read_weak(),
            93..95 => self.clear(),
            _ => self.set_root(ObjectRef::NULL, 0),
        }
    }

    fn any_root(&mut self) -> (Local, Name) {
        self.roots[self.random.below(ROOTS) as usize]
    }

    fn set_root(&mut self, object: ObjectRef, name: Name) {
        let index = self.random.below(ROOTS) as usize;
        self.mutator.set(self.roots[index].0, object);
        self.roots[index].1 = name;
    }

    fn new_object(&mut self, kind: Kind) {
        let site = match kind {
            Kind::Node => self.kinds.node,
            Kind::Soft => self.kinds.soft,
            Kind::Weak => self.kinds.weak,
            Kind::Final => self.kinds.finalizer,
            Kind::Phantom => self.kinds.phantom,
        };
        let name = self.next_name;
        self.next_name += 1;
        let object = self.mutator.alloc(site).unwrap();
        let mut shadow = Shadow {
            kind,
            slots: vec![0],
            referent: 0,
            is_holding: false,
        };
        let (root, value) = self.any_root();
        let value_ref = self.mutator.get(root);
        if kind == Kind::Node {
            shadow.slots = vec![0; 3];
            self.mutator.write_u32(object, ID, name);
            shadow.slots[0] = value;
            self.mutator.write(object, object.slot(SLOTS[0]), value_ref);
        } else {
            self.mutator.write_u32(object, REFERENCE_ID, name);
            if self
                .shadows
                .get(&value)
                .is_some_and(|it| it.kind == Kind::Node)
            {
                shadow.referent = value;
                self.mutator.write(object, object.slot(REFERENT), value_ref);
            }
        }
        self.shadows.insert(name, shadow);
        self.set_root(object, name);
    }

    fn store(&mut self) {
        let ((holder_root, holder), (value_root, value)) = (self.any_root(), self.any_root());
        let (object, value_ref) = (self.mutator.get(holder_root), self.mutator.get(value_root));
        let pick = self.random.below(3) as usize;
        let Some(shadow) = self.shadows.get_mut(&holder) else {
            return;
        };
        if shadow.kind.is_early() {
            return;
        }
        let index = pick % shadow.slots.len();
        shadow.slots[index] = value;
        let offset = offset(shadow.kind, index);
        self.mutator.write(object, object.slot(offset), value_ref);
    }

    fn read_weak(&mut self) {
        let (root, name) = self.any_root();
        let Some(shadow) = self.shadows.get(&name) else {
            return;
        };
        if matches!(shadow.kind, Kind::Soft | Kind::Weak) {
            let referent = shadow.referent;
            let reference = self.mutator.get(root);
            let found = self.mutator.read_referent(reference);
            assert_eq!(found.is_null(), referent == 0, "{}: {name}", self.place);
            self.set_root(found, referent);
        }
    }

    fn clear(&mut self) {
        let (root, name) = self.any_root();
        if let Some(shadow) = self.shadows.get_mut(&name)
            && shadow.kind != Kind::Node
            && !shadow.is_holding
        {
            shadow.referent = 0;
            let reference = self.mutator.get(root);
            self.mutator.clear_referent(reference);
        }
    }

    // --- collections ---

    /// An epoch without a trace enqueues no final reference, and nothing whose referent is held.
    fn after_epoch(&mut self) {
        let strong = self.strong(self.root_names(), false);
        for (_, name) in self.take_pending() {
            let shadow = self.shadows.get_mut(&name).unwrap();
            let is_right = shadow.kind.is_early() && !strong.contains(&shadow.referent);
            assert!(is_right, "{}: {name} {shadow:?}", self.place);
            shadow.referent = 0;
        }
        self.mutator.truncate_locals(ROOTS);
    }

    /// Collects until there is nothing to say any more: then what is left is what is strong.
    fn collect(&mut self, mut clears_soft: bool) {
        let left = loop {
            if clears_soft {
                self.mutator.collect_full();
            } else {
                self.mutator.collect_kept_soft();
            }
            let taken = self.take_pending();
            let is_last = clears_soft && taken.is_empty();
            let left = self.judge(taken, clears_soft);
            if is_last {
                break left;
            }
            clears_soft = true;
        };
        let verdict = self.mutator.verify();
        assert_eq!(verdict.faults, Vec::<String>::new(), "{}", self.place);
        assert_eq!(
            verdict.objects as usize, left,
            "{}: what is left",
            self.place
        );
        assert_eq!(
            self.mutator.take_pending_reference(),
            None,
            "{}",
            self.place
        );
    }

    /// Compares what a full collection did with what it is to do. Returns how many survived it.
    fn judge(&mut self, taken: Vec<(Local, Name)>, clears_soft: bool) -> usize {
        let names: HashSet<Name> = taken.iter().map(|it| it.1).collect();
        assert_eq!(names.len(), taken.len(), "{}: enqueued once", self.place);
        let outcome = self.outcome(clears_soft);
        let missing: Vec<_> = outcome.enqueued.difference(&names).collect();
        assert!(
            missing.is_empty(),
            "{}: {missing:?} not enqueued",
            self.place
        );
        for name in names.difference(&outcome.enqueued) {
            let shadow = &self.shadows[name];
            let keeps = match shadow.kind {
                Kind::Phantom => &outcome.held,
                _ => &outcome.strong,
            };
            let is_allowed = match outcome.strong.contains(name) {
                true => shadow.kind == Kind::Phantom,
                false => shadow.kind.is_early(),
            };
            let is_right = is_allowed && !keeps.contains(&shadow.referent);
            assert!(is_right, "{}: {name} {shadow:?} enqueued", self.place);
        }
        self.shadows
            .retain(|name, _| outcome.found.contains(name) || names.contains(name));
        let (finals, others): (Vec<_>, Vec<_>) = taken
            .into_iter()
            .partition(|it| self.shadows[&it.1].kind == Kind::Final);
        for (root, name) in others {
            let reference = self.mutator.get(root);
            assert_eq!(self.mutator.read_referent(reference), ObjectRef::NULL);
            self.shadows.get_mut(&name).unwrap().referent = 0;
        }
        finals
            .into_iter()
            .for_each(|(root, name)| self.finalize(root, name));
        self.check();
        self.mutator.truncate_locals(ROOTS);
        outcome.strong.len()
    }

    /// What Java's rules say.
    fn outcome(&self, clears_soft: bool) -> Outcome {
        let strong = self.strong(self.root_names(), clears_soft);
        let asking = |kind: Kind, living: &HashSet<Name>| -> Vec<Name> {
            let asks = |it: &Shadow| it.referent != 0 && !living.contains(&it.referent);
            let is_asking = |it: &Shadow| it.kind == kind && asks(it);
            let all = strong.iter().filter(|it| is_asking(&self.shadows[it]));
            all.copied().collect()
        };
        let finals = asking(Kind::Final, &strong);
        let risen = || finals.iter().map(|it| self.shadows[it].referent).collect();
        let [mut held, mut found] = [strong.clone(), strong.clone()];
        self.reach(&mut held, risen(), |it| kept(it, false));
        self.reach(&mut found, risen(), |it| it.referent);
        let mut enqueued: HashSet<Name> = asking(Kind::Weak, &strong).into_iter().collect();
        if clears_soft {
            enqueued.extend(asking(Kind::Soft, &strong));
        }
        enqueued.extend(asking(Kind::Phantom, &found));
        enqueued.extend(finals);
        Outcome {
            strong,
            enqueued,
            held,
            found,
        }
    }

    fn strong(&self, roots: Vec<Name>, clears_soft: bool) -> HashSet<Name> {
        let mut seen = HashSet::new();
        self.reach(&mut seen, roots, |it| kept(it, clears_soft));
        seen
    }

    /// Adds what `grey` reaches; `referent` says whom a reference object holds.
    fn reach(
        &self,
        seen: &mut HashSet<Name>,
        mut grey: Vec<Name>,
        referent: impl Fn(&Shadow) -> Name,
    ) {
        while let Some(name) = grey.pop() {
            if name != 0 && seen.insert(name) {
                let shadow = &self.shadows[&name];
                grey.extend(&shadow.slots);
                grey.push(referent(shadow));
            }
        }
    }

    fn root_names(&self) -> Vec<Name> {
        self.roots.iter().map(|it| it.1).collect()
    }

    fn take_pending(&mut self) -> Vec<(Local, Name)> {
        let mut taken = Vec::new();
        while let Some(reference) = self.mutator.take_pending_reference() {
            let name = self.mutator.read_u32(reference, REFERENCE_ID);
            taken.push((self.mutator.local(reference), name));
        }
        // In which order they come is not said; a seed replays all the same.
        taken.sort_by_key(|it| it.1);
        taken
    }

    /// What a finalizer does: it may bring the object back, and take its time.
    fn finalize(&mut self, root: Local, name: Name) {
        self.finalized += 1;
        let shadow = self.shadows.get_mut(&name).unwrap();
        // The other collector enqueues again what was not cleared.
        if self.mutator.heap().is_counting() && self.random.below(4) == 0 {
            shadow.is_holding = true;
            return;
        }
        let referent = shadow.referent;
        let reference = self.mutator.get(root);
        let object = self.mutator.read_referent(reference);
        self.check_from(vec![(object, referent)]);
        self.mutator.clear_referent(reference);
        self.shadows.get_mut(&name).unwrap().referent = 0;
        if self.random.below(3) == 0 {
            self.set_root(object, referent);
        }
    }

    /// Compares all that roots reach with its shadow, reference objects included.
    fn check(&mut self) {
        let roots = self.roots.clone();
        let grey = roots
            .iter()
            .map(|&(root, name)| (self.mutator.get(root), name));
        self.check_from(grey.collect());
    }

    fn check_from(&mut self, mut grey: Vec<(ObjectRef, Name)>) {
        let mut seen: HashMap<ObjectRef, Name> = HashMap::new();
        while let Some((object, name)) = grey.pop() {
            assert_eq!(object.is_null(), name == 0, "{}: {name}", self.place);
            if name == 0 || seen.get(&object) == Some(&name) {
                continue;
            }
            assert_eq!(seen.insert(object, name), None, "{}: one place", self.place);
            let shadow = self.shadows[&name].clone();
            let id = if shadow.kind == Kind::Node {
                ID
            } else {
                REFERENCE_ID
            };
            assert_eq!(self.mutator.read_u32(object, id), name, "{}", self.place);
            for (index, &name) in shadow.slots.iter().enumerate() {
                let slot = object.slot(offset(shadow.kind, index));
                grey.push((self.mutator.read(slot), name));
            }
            if shadow.kind != Kind::Node && !shadow.is_holding {
                grey.push((self.mutator.read_referent(object), shadow.referent));
            }
        }
    }
}

fn offset(kind: Kind, index: usize) -> u32 {
    if kind == Kind::Node {
        SLOTS[index]
    } else {
        NEXT
    }
}

/// The referent, if the reference object holds it.
fn kept(it: &Shadow, clears_soft: bool) -> Name {
    let is_holding = it.is_holding || it.kind == Kind::Soft && !clears_soft;
    if is_holding { it.referent } else { 0 }
}

fn play(kind: CollectorKind, seed: u64) -> usize {
    let heap = start(kind, 16 << 20, |config| {
        config.epoch_interval_ns = u64::MAX;
        config.trace_interval_ns = u64::MAX;
    });
    let kinds = Kinds::new(&heap);
    let mut mutator = heap.attach(false, &[]);
    let roots = (0..ROOTS)
        .map(|_| (mutator.local(ObjectRef::NULL), 0))
        .collect();
    let mut game = Game {
        mutator,
        kinds,
        random: Random::new(seed),
        shadows: HashMap::new(),
        roots,
        next_name: 1,
        place: String::new(),
        finalized: 0,
    };
    for round in 0..ROUNDS {
        game.place = format!("{kind:?}, seed {seed}, round {round}");
        for _ in 0..STEPS {
            game.step();
        }
        if kind == CollectorKind::Rc && game.random.below(3) == 0 {
            game.mutator.collect_epoch();
            game.after_epoch();
            game.check();
        }
        let clears_soft = game.random.below(3) == 0;
        game.collect(clears_soft);
    }
    let epochs = heap.counters().epochs.get();
    assert!(
        epochs < 250,
        "{epochs}: tags come again, and keep what was a root long ago"
    );
    game.finalized
}

#[test]
fn one_collection_does_what_javas_rules_say() {
    for kind in [CollectorKind::Rc, CollectorKind::Stw] {
        for seed in seeds(&[1, 2, 3, 4, 5, 6]) {
            let finalized = play(kind, seed);
            assert!(
                finalized > 5,
                "{kind:?}, seed {seed}: {finalized} were finalized"
            );
        }
    }
}
