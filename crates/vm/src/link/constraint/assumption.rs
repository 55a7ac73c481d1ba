// SPDX-License-Identifier: Apache-2.0
//! [`Assumptions`]: what proofs took for granted about classes that could not be had.
//!
//! Applications carry code for classes that only other platforms have. So a proof of DEX code takes
//! a class that is not there for what it is used as, as ART does. That must stay true: a loader
//! that brings such a class later brings one that fits, or is refused. Class files have no
//! assumptions: HotSpot loads what it must compare, or refuses.

use crate::memory::hash::{Map, Set};
use crate::memory::symbol::Symbol;

/// An application with AOSP's framework makes some hundreds; an entry takes about 100 bytes. Beyond
/// it, no class is proven that needs another one.
pub(super) const ASSUMPTIONS_MAX: usize = 1 << 16;

/// Each `from` is a `to`, as a loader means both.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Assumption {
    pub(crate) loader: u32,
    pub(crate) from: Symbol,
    pub(crate) to: Symbol,
}

/// Classes by their addresses, as far as they are there.
pub(super) trait World {
    /// What a loader has under a name.
    fn has(&self, loader: u32, name: Symbol) -> Option<u32>;
    /// Whether verified code may take a `from` for a `to`.
    fn fits(&self, from: u32, to: u32) -> bool;
}

/// All of them, by each of the two names.
#[derive(Default)]
pub(super) struct Assumptions {
    all: Set<Assumption>,
    by_name: Map<Symbol, Vec<Assumption>>,
}

impl Assumptions {
    pub(super) fn count(&self) -> usize {
        self.all.len()
    }

    /// Notes all of them, or none if there is no room. Each counts, even if it is there already.
    pub(super) fn add(&mut self, assumptions: &[Assumption]) -> bool {
        let has_room = self.all.len() + assumptions.len() <= ASSUMPTIONS_MAX;
        for &new in assumptions.iter().filter(|_| has_room) {
            if self.all.insert(new) {
                self.by_name.entry(new.from).or_default().push(new);
                self.by_name.entry(new.to).or_default().push(new);
            }
        }
        has_room
    }

    /// Those that say something about a name in one of these loaders. A name below `java/` is the
    /// same to all.
    pub(super) fn about(&self, name: Symbol, loaders: &[u32]) -> impl Iterator<Item = &Assumption> {
        let is_everywhere = name.bytes().starts_with(b"java/");
        let about = self.by_name.get(&name).into_iter().flatten();
        about.filter(move |it| is_everywhere || loaders.contains(&it.loader))
    }
}
