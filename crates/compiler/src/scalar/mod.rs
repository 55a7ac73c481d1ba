// SPDX-License-Identifier: Apache-2.0
//! Objects that only one function sees are not made: their fields are values.
//!
//! Lowering tells [`Objects`] where objects are made, and which code is for objects alone that
//! others may see: tests of the write barrier and thin locks. When a function is complete,
//! [`Objects::replace`] looks for objects that nothing leads out of it (`escape`), and puts values
//! in place of their fields (`fields`). It works on Cranelift's SSA form, for there all bodies
//! stand in the place of their calls. So an iterator whose methods are inlined is seen whole.
//!
//! This is scalar replacement after a flow-insensitive escape analysis. An object escapes if a
//! call, a return, or a store of it into another object takes it. It also does where it may be one
//! of two: Takt never deoptimises, so there is no way back from a value to an object.

mod escape;
mod fields;
mod homes;
#[cfg(test)]
mod tests;

use cranelift_codegen::{
    entity::EntitySet,
    ir::{Block, Function, Inst, StackSlot, Value},
};

use crate::Address;

/// Beyond so many objects or blocks a function is left as it is: each look reads it all.
const MAKINGS_MAX: usize = u64::BITS as usize;
const BLOCKS_MAX: usize = 3_000;
/// How often objects are looked for that are seen no more since others are gone.
const ROUNDS_MAX: usize = 3;

/// An object made from the mutator's own cells.
pub(crate) struct Making {
    /// The branch that chooses between the usual and the slow way of making it.
    pub(crate) head: Inst,
    /// Where both meet; its only parameter is the object.
    pub(crate) next: Block,
    /// Its class.
    pub(crate) class: Address,
}

/// A branch around code that does nothing for an object that nobody else sees.
pub(crate) struct Formality {
    /// The branch.
    pub(crate) head: Inst,
    /// Where all its ways meet.
    pub(crate) next: Block,
    /// The object.
    pub(crate) object: Value,
}

/// What lowering has told of the function being built.
#[derive(Default)]
pub(crate) struct Objects {
    makings: Vec<Making>,
    formalities: Vec<Formality>,
    /// Where variables lie that keep their references (`home`).
    homes: Vec<StackSlot>,
}

impl Objects {
    pub(crate) fn clear(&mut self) {
        self.makings.clear();
        self.formalities.clear();
        self.homes.clear();
    }

    /// Variables of references lie here. Code loads and stores them, and calls name them.
    pub(crate) fn homes(&mut self, slot: StackSlot) {
        self.homes.push(slot);
    }

    /// An object is made.
    pub(crate) fn made(&mut self, making: Making) {
        if self.makings.len() < MAKINGS_MAX {
            self.makings.push(making);
        }
    }

    pub(crate) fn formality(&mut self, formality: Formality) {
        if !self.makings.is_empty() {
            self.formalities.push(formality);
        }
    }

    /// Puts values in place of objects that only this complete function sees. `references` are its
    /// values that the collector must know; new ones are added. Whether anything was replaced.
    pub(crate) fn replace(
        &mut self,
        function: &mut Function,
        references: &mut EntitySet<Value>,
    ) -> bool {
        if function.dfg.num_blocks() > BLOCKS_MAX {
            return false;
        }
        let before = self.makings.len();
        for _ in 0..ROUNDS_MAX {
            if self.makings.is_empty() {
                break;
            }
            let Some(found) = escape::unseen(function, self) else {
                break;
            };
            fields::replace(function, self, &found, references);
            // Blocks that nothing reaches any more are gone, with what is made there.
            let is_there = |head| function.layout.inst_block(head).is_some();
            let mut is_unseen = found.is_unseen.iter();
            self.makings
                .retain(|it| is_unseen.next() == Some(&false) && is_there(it.head));
            let ways = &found.ways;
            self.formalities
                .retain(|it| !ways.contains_key(&it.head) && is_there(it.head));
        }
        self.makings.len() < before
    }
}
