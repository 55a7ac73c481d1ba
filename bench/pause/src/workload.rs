// SPDX-License-Identifier: Apache-2.0
//! The loads: what the measured thread allocates per release, and what runs beside it.

use abi::layout::Layout;
use anyhow::{Context, Result};
use clap::ValueEnum;
use heap::{AllocSite, Heap, LayoutRef, Local, Mutator, ObjectRef};

/// What the measured thread allocates per release.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Load {
    /// Nothing.
    None,
    /// Eight objects of 16 bytes, given up at once (the thesis's).
    Acyclic,
    /// Eight objects of 16 bytes in a circle, given up at once.
    Cyclic,
    /// Four of each.
    Mixed,
    /// 64 nodes of 64 bytes linked into a ring of 65 536, beside a thread with a live set and
    /// garbage.
    Heavy,
}

impl Load {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Acyclic => "acyclic",
            Self::Cyclic => "cyclic",
            Self::Mixed => "mixed",
            Self::Heavy => "heavy",
        }
    }
}

/// Objects of the thesis: 16 bytes with one reference.
pub(crate) const SMALL_SLOT: u32 = 12;
/// Nodes of 64 bytes with two references, as in the HotSpot program that these figures are compared
/// with.
pub(crate) const NODE_A: u32 = 12;
pub(crate) const NODE_B: u32 = 16;
pub(crate) const NODE_BYTES: u32 = 64;

const RING: u32 = 65_536;
const NODES_PER_RELEASE: u32 = 64;
/// Nodes in one array of the live set.
const LIVE_CHUNK: u32 = 1024;

/// Layouts of the loads.
#[derive(Clone, Copy)]
pub(crate) struct Kinds {
    pub(crate) small: AllocSite,
    pub(crate) node: AllocSite,
    pub(crate) array: LayoutRef,
}

impl Kinds {
    pub(crate) fn new(heap: &Heap) -> Result<Self> {
        let add = |layout| heap.metadata().add(layout, &[]);
        Ok(Self {
            small: AllocSite::fields(add(Layout::fields(16, &[SMALL_SLOT]))?),
            node: AllocSite::fields(add(Layout::fields(NODE_BYTES, &[NODE_A, NODE_B]))?),
            array: add(Layout::reference_array())?,
        })
    }
}

/// A store as each collector needs it: `stw` has no barrier.
#[inline]
pub(crate) fn store(mutator: &mut Mutator, object: ObjectRef, offset: u32, value: ObjectRef) {
    if mutator.heap().is_counting() {
        mutator.write(object, object.slot(offset), value);
    } else {
        mutator.write_unlogged(object.slot(offset), value);
    }
}

/// As [`store`], into an array of references.
pub(crate) fn store_element(mutator: &mut Mutator, array: ObjectRef, index: u32, value: ObjectRef) {
    if mutator.heap().is_counting() {
        mutator.write_element(array, index, value);
    } else {
        mutator.write_unlogged(array.element(index), value);
    }
}

/// The measured thread's work per release.
pub(crate) struct Measured {
    load: Load,
    kinds: Kinds,
    ring: Local,
    first: Local,
    position: u32,
}

impl Measured {
    /// Takes its ring, and `roots` references to it, as a stack of that depth would hold.
    pub(crate) fn new(mutator: &mut Mutator, kinds: Kinds, load: Load, roots: u32) -> Result<Self> {
        let length = if load == Load::Heavy { RING } else { 1 };
        let ring = mutator.alloc_array(kinds.array, length)?;
        let ring = mutator.local(ring);
        let first = mutator.local(ObjectRef::NULL);
        for _ in 0..roots {
            let held = mutator.get(ring);
            mutator.local(held);
        }
        Ok(Self {
            load,
            kinds,
            ring,
            first,
            position: 0,
        })
    }

    /// One release. A poll at each back-edge, as compiled code has.
    pub(crate) fn release(&mut self, mutator: &mut Mutator) -> Result<()> {
        match self.load {
            Load::None => Ok(()),
            Load::Acyclic => self.small(mutator, 8, false),
            Load::Cyclic => self.small(mutator, 8, true),
            Load::Mixed => {
                self.small(mutator, 4, false)?;
                self.small(mutator, 4, true)
            }
            Load::Heavy => self.nodes(mutator),
        }
    }

    fn small(&mut self, mutator: &mut Mutator, count: u32, is_circle: bool) -> Result<()> {
        mutator.set(self.first, ObjectRef::NULL);
        let mut last = None;
        for _ in 0..count {
            let object = mutator.alloc(self.kinds.small)?;
            if is_circle {
                let next = mutator.get(self.first);
                store(mutator, object, SMALL_SLOT, next);
                last.get_or_insert_with(|| mutator.local(object));
                mutator.set(self.first, object);
            }
        }
        if let Some(last) = last {
            let (last, first) = (mutator.get(last), mutator.get(self.first));
            store(mutator, last, SMALL_SLOT, first);
            mutator.truncate_locals(mutator.local_count() - 1);
            mutator.set(self.first, ObjectRef::NULL);
        }
        Ok(())
    }

    fn nodes(&mut self, mutator: &mut Mutator) -> Result<()> {
        mutator.set(self.first, ObjectRef::NULL);
        for _ in 0..NODES_PER_RELEASE {
            let node = mutator.alloc(self.kinds.node)?;
            let (ring, previous) = (mutator.get(self.ring), mutator.get(self.first));
            store(mutator, node, NODE_A, previous);
            let old = mutator.read(ring.element(self.position));
            store(mutator, node, NODE_B, old);
            if !old.is_null() {
                store(mutator, old, NODE_B, ObjectRef::NULL);
            }
            store_element(mutator, ring, self.position, node);
            self.position = (self.position + 1) % RING;
            mutator.set(self.first, node);
            mutator.poll();
        }
        Ok(())
    }
}

/// The thread beside: a live set of linked nodes, of which one in sixteen new ones replaces one.
pub(crate) struct Background {
    kinds: Kinds,
    live: Local,
    keep: Local,
    chunks: u32,
    random: Random,
    count: u32,
}

/// xorshift64: small, and the same on every machine.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new() -> Self {
        Self(88_172_645_463_325_252)
    }

    /// Less than `bound`.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (((self.0 >> 32) * u64::from(bound)) >> 32) as u32
    }
}

impl Background {
    /// Builds the live set.
    pub(crate) fn new(mutator: &mut Mutator, kinds: Kinds, live_mb: u32) -> Result<Self> {
        let chunks = (live_mb * 1_000_000 / (NODE_BYTES + 4) / LIVE_CHUNK).max(1);
        let live = mutator.alloc_array(kinds.array, chunks)?;
        let live = mutator.local(live);
        let keep = mutator.local(ObjectRef::NULL);
        let mut it = Self {
            kinds,
            live,
            keep,
            chunks,
            random: Random::new(),
            count: 0,
        };
        for chunk in 0..chunks {
            it.build_chunk(mutator, chunk)
                .context("the live set does not fit")?;
        }
        Ok(it)
    }

    fn build_chunk(&mut self, mutator: &mut Mutator, chunk: u32) -> Result<()> {
        let array = mutator.alloc_array(self.kinds.array, LIVE_CHUNK)?;
        let live = mutator.get(self.live);
        store_element(mutator, live, chunk, array);
        for index in 0..LIVE_CHUNK {
            let node = mutator.alloc(self.kinds.node)?;
            let live = mutator.get(self.live);
            let array = mutator.read(live.element(chunk));
            if index > 0 {
                let before = mutator.read(array.element(index - 1));
                store(mutator, node, NODE_A, before);
            }
            if chunk > 0 {
                let (other, place) = (self.random.below(chunk), self.random.below(LIVE_CHUNK));
                let other = mutator.read(live.element(other));
                let other = mutator.read(other.element(place));
                store(mutator, node, NODE_B, other);
            }
            store_element(mutator, array, index, node);
            mutator.poll();
        }
        Ok(())
    }

    /// Allocates `nodes` nodes.
    pub(crate) fn run(&mut self, mutator: &mut Mutator, nodes: u32) -> Result<()> {
        for _ in 0..nodes {
            let node = mutator.alloc(self.kinds.node)?;
            let kept = mutator.get(self.keep);
            store(mutator, node, NODE_A, kept);
            self.count += 1;
            mutator.set(
                self.keep,
                if self.count.is_multiple_of(16) {
                    ObjectRef::NULL
                } else {
                    node
                },
            );
            if self.count % 16 == 7 {
                self.replace(mutator, node);
            }
            mutator.poll();
        }
        Ok(())
    }

    /// An old object gets a reference to a new one, and a neighbour loses one.
    fn replace(&mut self, mutator: &mut Mutator, node: ObjectRef) {
        let (chunk, place) = (
            self.random.below(self.chunks),
            self.random.below(LIVE_CHUNK),
        );
        let live = mutator.get(self.live);
        let array = mutator.read(live.element(chunk));
        store(mutator, node, NODE_A, ObjectRef::NULL);
        let neighbour = mutator.read(array.element((place + 1) % LIVE_CHUNK));
        store(mutator, node, NODE_B, neighbour);
        if !neighbour.is_null() {
            store(mutator, neighbour, NODE_B, ObjectRef::NULL);
        }
        store_element(mutator, array, place, node);
    }
}
