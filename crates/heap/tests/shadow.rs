// SPDX-License-Identifier: Apache-2.0
//! Random graphs against a shadow model: nothing live is ever freed, everything dead is freed in
//! two collections.
//!
//! Each thread owns a private graph and its shadow, kept in Rust, and exchanges immutable trees
//! with the others through shared slots, where the last reference often lives in one thread's stack
//! only. Freed memory is zeroed, so a node that was freed too early fails its check word.
//! `HEAP_SEED` replays; `HEAP_STEPS` lengthens.

mod support;

use std::collections::HashMap;
use std::sync::Arc;

use heap::{CollectorKind, CopyRange, Global, Heap, Local, Mutator, ObjectRef};
use rt::thread::Builder;
use support::{CHECK, ID, Kinds, REFERENT, Random, SLOTS, check_of, copy_elements, seeds, start};

const ROOTS: u32 = 24;
const SHARED_SLOTS: u32 = 40;
const TREE_DEPTH: u32 = 3;
/// Final references at once; each is to a tree.
const FINALS: u32 = 20;
/// Where a final reference keeps its tree's first identity, which is not 0; other reference objects
/// have 0 there.
const FINAL_ID: u32 = 20;
const MUTATORS: u64 = 3;

/// What a slot should hold: an object by the number its thread gave it; 0 is null.
type Name = u32;

#[derive(Clone)]
enum Shadow {
    Node([Name; 3]),
    Array(Vec<Name>),
    Weak(Name),
}

struct Player {
    mutator: Mutator,
    kinds: Kinds,
    random: Random,
    shadows: HashMap<Name, Shadow>,
    roots: Vec<(Local, Name)>,
    /// Trees taken from the shared array, by their first identity.
    trees: Vec<(Local, u32)>,
    shared: Global,
    finals: Global,
    next_name: Name,
    place: String,
}

impl Player {
    fn new(heap: &Arc<Heap>, kinds: Kinds, [shared, finals]: [Global; 2], seed: u64) -> Self {
        let mut mutator = heap.attach(false, &[]);
        let mut null_roots =
            |count| -> Vec<Local> { (0..count).map(|_| mutator.local(ObjectRef::NULL)).collect() };
        let roots = null_roots(ROOTS).into_iter().map(|it| (it, 0)).collect();
        let trees = null_roots(4).into_iter().map(|it| (it, 0)).collect();
        Self {
            mutator,
            kinds,
            random: Random::new(seed),
            shadows: HashMap::new(),
            roots,
            trees,
            shared,
            finals,
            next_name: 1,
            place: format!("seed {seed}"),
        }
    }

    fn step(&mut self) {
        match self.random.below(100) {
            0..25 => self.new_node(),
            25..29 => self.new_array(),
            29..32 => self.new_weak(),
            32..60 => self.store(),
            60..70 => self.load(),
            70..76 => self.drop_root(),
            76..80 => self.copy(),
            80..90 => self.exchange_tree(),
            90..92 => self.read_weak(),
            92..93 => self.mutator.native(std::thread::yield_now),
            93..94 => self.watch_tree(),
            94..95 => self.finalize_tree(),
            _ => self.mutator.poll(),
        }
    }

    fn any_root(&mut self) -> usize {
        self.random.below(ROOTS) as usize
    }

    fn name(&mut self, shadow: Shadow) -> Name {
        let name = self.next_name;
        self.next_name += 1;
        self.shadows.insert(name, shadow);
        name
    }

    fn root(&mut self, object: ObjectRef, name: Name) {
        let index = self.any_root();
        self.mutator.set(self.roots[index].0, object);
        self.roots[index].1 = name;
    }

    fn new_node(&mut self) {
        let node = self.mutator.alloc(self.kinds.node).unwrap();
        let mut names = [0; 3];
        for (slot, name) in names.iter_mut().enumerate() {
            if self.random.below(2) == 0 {
                let (root, value) = self.roots[self.random.below(ROOTS) as usize];
                let value_ref = self.mutator.get(root);
                self.mutator.write(node, node.slot(SLOTS[slot]), value_ref);
                *name = value;
            }
        }
        let name = self.name(Shadow::Node(names));
        self.mutator.write_u32(node, ID, name);
        self.mutator.write_u32(node, CHECK, check_of(name));
        self.root(node, name);
    }

    fn new_array(&mut self) {
        let length = match self.random.below(20) {
            0 => 4000 + self.random.below(3000),
            1..6 => 33 + self.random.below(300),
            _ => self.random.below(33),
        };
        let array = self.mutator.alloc_array(self.kinds.array, length).unwrap();
        let name = self.name(Shadow::Array(vec![0; length as usize]));
        self.root(array, name);
    }

    fn new_weak(&mut self) {
        let index = self.any_root();
        let (root, value) = self.roots[index];
        let weak = self.mutator.alloc(self.kinds.weak).unwrap();
        let referent = self.mutator.get(root);
        if !referent.is_null() {
            self.mutator.write(weak, weak.slot(REFERENT), referent);
        }
        let name = self.name(Shadow::Weak(value));
        self.root(weak, name);
    }

    fn store(&mut self) {
        let (holder, value) = (self.any_root(), self.any_root());
        let ((holder_root, holder_name), (value_root, value_name)) =
            (self.roots[holder], self.roots[value]);
        let (object, value_ref) = (self.mutator.get(holder_root), self.mutator.get(value_root));
        let pick = self.random.next() as u32;
        match self.shadows.get_mut(&holder_name) {
            Some(Shadow::Node(names)) => {
                let slot = pick as usize % 3;
                names[slot] = value_name;
                self.mutator
                    .write(object, object.slot(SLOTS[slot]), value_ref);
            }
            Some(Shadow::Array(names)) if !names.is_empty() => {
                let index = pick % names.len() as u32;
                names[index as usize] = value_name;
                self.mutator.write_element(object, index, value_ref);
            }
            _ => {}
        }
    }

    fn load(&mut self) {
        let from = self.any_root();
        let (root, name) = self.roots[from];
        let object = self.mutator.get(root);
        let pick = self.random.next() as u32;
        let (slot, name) = match self.shadows.get(&name) {
            Some(Shadow::Node(names)) => (
                object.slot(SLOTS[pick as usize % 3]),
                names[pick as usize % 3],
            ),
            Some(Shadow::Array(names)) if !names.is_empty() => {
                let index = pick % names.len() as u32;
                (object.element(index), names[index as usize])
            }
            _ => return,
        };
        let value = self.mutator.read(slot);
        assert_eq!(
            value.is_null(),
            name == 0,
            "{}: a slot lost its reference",
            self.place
        );
        self.root(value, name);
    }

    fn drop_root(&mut self) {
        self.root(ObjectRef::NULL, 0);
    }

    fn copy(&mut self) {
        let (from, to) = (self.any_root(), self.any_root());
        let ((from_root, from_name), (to_root, to_name)) = (self.roots[from], self.roots[to]);
        let (Some(Shadow::Array(source)), Some(Shadow::Array(target))) =
            (self.shadows.get(&from_name), self.shadows.get(&to_name))
        else {
            return;
        };
        let count = self.random.below(source.len().min(target.len()) as u32 + 1);
        let source_index = self.random.below(source.len() as u32 - count + 1);
        let target_index = self.random.below(target.len() as u32 - count + 1);
        let moved = source[source_index as usize..][..count as usize].to_vec();
        let Some(Shadow::Array(target)) = self.shadows.get_mut(&to_name) else {
            unreachable!()
        };
        target[target_index as usize..][..count as usize].copy_from_slice(&moved);
        copy_elements(
            &mut self.mutator,
            from_root,
            to_root,
            CopyRange {
                source_index,
                target_index,
                count,
            },
        );
    }

    fn read_weak(&mut self) {
        let index = self.any_root();
        let (root, name) = self.roots[index];
        let Some(Shadow::Weak(target)) = self.shadows.get(&name).cloned() else {
            return;
        };
        let weak = self.mutator.get(root);
        let referent = self.mutator.read_referent(weak);
        if !referent.is_null() {
            // Alive again, by what it was.
            self.root(referent, target);
        } else {
            assert!(
                !self.is_reachable(target),
                "{}: a weak reference lost a live object",
                self.place
            );
        }
    }

    /// Strongly, from this thread's roots.
    fn is_reachable(&self, target: Name) -> bool {
        let mut grey: Vec<Name> = self.roots.iter().map(|it| it.1).collect();
        let mut seen = std::collections::HashSet::new();
        while let Some(name) = grey.pop() {
            if name == 0 || !seen.insert(name) {
                continue;
            }
            match &self.shadows[&name] {
                Shadow::Node(names) => grey.extend(names),
                Shadow::Array(names) => grey.extend(names),
                Shadow::Weak(_) => {}
            }
        }
        seen.contains(&target)
    }

    // --- trees that threads exchange ---

    /// A tree whose identities follow from its first one.
    fn new_tree(&mut self, id: u32, depth: u32) -> ObjectRef {
        let base = self.mutator.local_count();
        let node = self.mutator.alloc(self.kinds.node).unwrap();
        let root = self.mutator.local(node);
        self.mutator.write_u32(node, ID, id);
        self.mutator.write_u32(node, CHECK, check_of(id));
        if depth > 0 {
            for slot in 0..2 {
                let child = self.new_tree(id.wrapping_mul(2).wrapping_add(slot), depth - 1);
                let node = self.mutator.get(root);
                self.mutator
                    .write(node, node.slot(SLOTS[slot as usize]), child);
            }
        }
        let node = self.mutator.get(root);
        self.mutator.truncate_locals(base);
        node
    }

    fn check_tree(&mut self, node: ObjectRef, id: u32, depth: u32) {
        let found = (
            self.mutator.read_u32(node, ID),
            self.mutator.read_u32(node, CHECK),
        );
        assert_eq!(
            found,
            (id, check_of(id)),
            "{}: a tree that this thread holds was freed",
            self.place
        );
        if depth > 0 {
            for slot in 0..2 {
                let child = self.mutator.read(node.slot(SLOTS[slot as usize]));
                self.check_tree(child, id.wrapping_mul(2).wrapping_add(slot), depth - 1);
            }
        }
    }

    /// Takes a tree that another thread may take or overwrite at the same time, keeps it in a root
    /// alone, and puts a new one or an older one there.
    fn exchange_tree(&mut self) {
        let index = self.random.below(SHARED_SLOTS);
        let kept = self.random.below(4) as usize;
        let (kept_root, kept_id) = self.trees[kept];
        let old = self.mutator.get(kept_root);
        if !old.is_null() {
            self.check_tree(old, kept_id, TREE_DEPTH);
        }
        let offered = match self.random.below(4) {
            0 => old,
            1 => ObjectRef::NULL,
            _ => {
                let id = self.random.next() as u32;
                self.new_tree(id, TREE_DEPTH)
            }
        };
        let shared = self.mutator.global(self.shared);
        let taken = self.mutator.read(shared.element(index));
        self.mutator.write_element(shared, index, offered);
        self.mutator.set(kept_root, taken);
        let id = if taken.is_null() {
            0
        } else {
            self.mutator.read_u32(taken, ID)
        };
        self.trees[kept].1 = id;
        if !taken.is_null() {
            self.mutator.poll();
            self.check_tree(taken, id, TREE_DEPTH);
        }
    }

    /// A tree that is finalizable from its birth on, and holds an older one that may be as well:
    /// chains of them die at once.
    fn watch_tree(&mut self) {
        let base = self.mutator.local_count();
        let id = self.random.next() as u32 | 1;
        let tree = self.new_tree(id, TREE_DEPTH);
        let root = self.mutator.local(tree);
        let reference = self.mutator.alloc(self.kinds.finalizer).unwrap();
        let kept = self.random.below(4) as usize;
        let (tree, older) = (self.mutator.get(root), self.mutator.get(self.trees[kept].0));
        self.mutator.write(tree, tree.slot(SLOTS[2]), older);
        self.mutator.write_u32(reference, FINAL_ID, id);
        self.mutator
            .write(reference, reference.slot(REFERENT), tree);
        let index = self.random.below(FINALS);
        let finals = self.mutator.global(self.finals);
        self.mutator.write_element(finals, index, reference);
        self.mutator.set(self.trees[kept].0, tree);
        self.trees[kept].1 = id;
        self.mutator.truncate_locals(base);
    }

    /// Takes what was enqueued, by whomever made it: its tree is whole, and so is the older one. It
    /// may live on.
    fn finalize_tree(&mut self) {
        let Some(reference) = self.mutator.take_pending_reference() else {
            return;
        };
        let id = self.mutator.read_u32(reference, FINAL_ID);
        if id == 0 {
            return;
        }
        let tree = self.mutator.read_referent(reference);
        self.check_tree(tree, id, TREE_DEPTH);
        let older = self.mutator.read(tree.slot(SLOTS[2]));
        if !older.is_null() {
            let older_id = self.mutator.read_u32(older, ID);
            self.check_tree(older, older_id, TREE_DEPTH);
        }
        self.mutator.clear_referent(reference);
        if self.random.below(2) == 0 {
            let kept = self.random.below(4) as usize;
            self.mutator.set(self.trees[kept].0, tree);
            self.trees[kept].1 = id;
        }
    }

    // --- the whole graph ---

    /// Compares everything this thread reaches with its shadow.
    fn check_all(&mut self) {
        let mut seen: HashMap<ObjectRef, Name> = HashMap::new();
        let mut grey: Vec<(ObjectRef, Name)> = self
            .roots
            .iter()
            .map(|&(root, name)| (self.mutator.get(root), name))
            .collect();
        while let Some((object, name)) = grey.pop() {
            assert_eq!(
                object.is_null(),
                name == 0,
                "{}: null where it should not be",
                self.place
            );
            if name == 0 {
                continue;
            }
            if let Some(&other) = seen.get(&object) {
                assert_eq!(other, name, "{}: two objects in one place", self.place);
                continue;
            }
            seen.insert(object, name);
            match &self.shadows[&name] {
                Shadow::Node(names) => {
                    let found = (
                        self.mutator.read_u32(object, ID),
                        self.mutator.read_u32(object, CHECK),
                    );
                    assert_eq!(
                        found,
                        (name, check_of(name)),
                        "{}: a live node was freed",
                        self.place
                    );
                    grey.extend(
                        (0..3).map(|it| (self.mutator.read(object.slot(SLOTS[it])), names[it])),
                    );
                }
                Shadow::Array(names) => {
                    let length = self.mutator.array_length(object) as usize;
                    assert_eq!(
                        length,
                        names.len(),
                        "{}: a live array was freed",
                        self.place
                    );
                    let element =
                        |it: usize| (self.mutator.read(object.element(it as u32)), names[it]);
                    grey.extend((0..length).map(element));
                }
                Shadow::Weak(_) => {}
            }
        }
        self.forget_shadows(seen.into_values().collect());
    }

    /// Keeps the shadows of what is live, and of what a weak reference may bring back.
    fn forget_shadows(&mut self, live: std::collections::HashSet<Name>) {
        let mut named: std::collections::HashSet<Name> = live.clone();
        for name in &live {
            if let Shadow::Weak(target) = self.shadows[name] {
                named.insert(target);
            }
        }
        // Shadows of weak targets stay: a weak reference may bring them back, and what they refer
        // to with them.
        let mut grey: Vec<Name> = named.iter().copied().collect();
        while let Some(name) = grey.pop() {
            let names: Vec<Name> = match self.shadows.get(&name) {
                Some(Shadow::Node(names)) => names.to_vec(),
                Some(Shadow::Array(names)) => names.clone(),
                Some(Shadow::Weak(target)) => vec![*target],
                None => Vec::new(),
            };
            grey.extend(names.into_iter().filter(|it| named.insert(*it)));
        }
        self.shadows.retain(|name, _| named.contains(name));
    }
}

fn play(kind: CollectorKind, seed: u64, steps: u32) {
    let heap = start(kind, 64 << 20, |config| {
        config.epoch_bytes = 256 << 10;
        config.heap_bytes_start = 8 << 20;
        config.epoch_interval_ns = 3_000_000;
        config.trace_interval_ns = 15_000_000;
    });
    let kinds = Kinds::new(&heap);
    let mut main = heap.attach(false, &[]);
    let array = main.alloc_array(kinds.array, SHARED_SLOTS).unwrap();
    let shared = main.add_global(array);
    let array = main.alloc_array(kinds.array, FINALS).unwrap();
    let finals = main.add_global(array);
    let threads: Vec<_> = (0..MUTATORS)
        .map(|index| {
            let heap = Arc::clone(&heap);
            Builder::new("player")
                .spawn(move || {
                    let mut player =
                        Player::new(&heap, kinds, [shared, finals], seed * 1000 + index);
                    for step in 0..steps {
                        player.step();
                        if step % 5000 == 4999 {
                            player.check_all();
                        }
                    }
                    player.check_all();
                })
                .unwrap()
        })
        .collect();
    main.native(|| threads.into_iter().for_each(rt::thread::Thread::join));
    for (array, count) in [(shared, SHARED_SLOTS), (finals, FINALS)] {
        let array = main.global(array);
        (0..count).for_each(|index| main.write_element(array, index, ObjectRef::NULL));
    }
    while main.take_pending_reference().is_some() {}
    main.collect_full();
    while main.take_pending_reference().is_some() {}
    main.collect_full();
    let counters = heap.counters();
    if kind == CollectorKind::Rc {
        let verdict = main.verify();
        assert_eq!(verdict.faults, Vec::<String>::new(), "seed {seed}");
        assert_eq!(verdict.objects, 2, "seed {seed}: the dead are gone");
        assert!(
            counters.epochs.get() > 3 && counters.traces.get() > 0,
            "seed {seed}: it collected"
        );
    } else {
        assert!(counters.pauses.get() > 1, "seed {seed}: it collected");
    }
    let left = counters.allocated_bytes.get() - counters.freed_bytes.get();
    assert!(
        left <= 512,
        "seed {seed}: {left} bytes of dead objects are left"
    );
}

fn steps() -> u32 {
    std::env::var("HEAP_STEPS").map_or(100_000, |it| it.parse().expect("HEAP_STEPS is a number"))
}

#[test]
fn rc_agrees_with_the_shadow() {
    seeds(&[1, 2, 3])
        .into_iter()
        .for_each(|seed| play(CollectorKind::Rc, seed, steps()));
}

#[test]
fn stw_agrees_with_the_shadow() {
    seeds(&[1, 2])
        .into_iter()
        .for_each(|seed| play(CollectorKind::Stw, seed, steps()));
}
