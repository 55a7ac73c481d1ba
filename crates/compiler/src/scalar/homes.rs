// SPDX-License-Identifier: Apache-2.0
//! What variables hold that lie in homes (`crate::home`): [`Homes`].
//!
//! A load from a home gives what was stored there last. Where that is the same value on all ways,
//! it is that value: an object can be followed through its variables.

use cranelift_codegen::ir::{Block, Function, Inst, InstructionData, StackSlot, Value, ValueDef};
use rustc_hash::FxHashMap;

/// A word of a frame.
type Word = (StackSlot, i32);

/// Words times blocks beyond which all objects are made.
const SIZE_MAX: usize = 1 << 16;

/// What a home holds where a block begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Held {
    /// No way has come there yet.
    Nothing,
    This(Value),
    /// That depends on the way.
    Any,
    /// One of these objects, a bit each, or something else.
    Some(u64),
}

impl Held {
    /// Two ways meet; whether this changed anything.
    fn meet(&mut self, other: Held) -> bool {
        let before = *self;
        *self = match (before, other) {
            (Held::Nothing, it) | (it, Held::Nothing) => it,
            (Held::Some(one), Held::Some(other)) => Held::Some(one | other),
            (one, other) if one == other => one,
            _ => Held::Any,
        };
        *self != before
    }
}

/// An access to a home.
struct Access {
    word: usize,
    stored: Option<Value>,
    /// What is loaded.
    loaded: Option<Value>,
}

/// All accesses to homes of a function, by block.
#[derive(Default)]
pub(super) struct Homes {
    words: FxHashMap<Word, usize>,
    accesses: FxHashMap<Block, Vec<Access>>,
}

/// The word of a home that an instruction reads or writes.
pub(super) fn word(function: &Function, slots: &[StackSlot], inst: Inst) -> Option<Word> {
    let dfg = &function.dfg;
    let (at, offset) = match dfg.insts[inst] {
        InstructionData::Load { arg, offset, .. } => (arg, offset),
        InstructionData::Store { args, offset, .. } => (args[1], offset),
        _ => return None,
    };
    let ValueDef::Result(address, _) = dfg.value_def(dfg.resolve_aliases(at)) else {
        return None;
    };
    match dfg.insts[address] {
        InstructionData::StackAddr { stack_slot, .. } if slots.contains(&stack_slot) => {
            Some((stack_slot, offset.into()))
        }
        _ => None,
    }
}

impl Homes {
    /// Nothing if there are too many.
    pub(super) fn of(function: &Function, slots: &[StackSlot]) -> Option<Self> {
        let mut homes = Self::default();
        if slots.is_empty() {
            return Some(homes);
        }
        for block in function.layout.blocks() {
            for inst in function.layout.block_insts(block) {
                let Some(word) = word(function, slots, inst) else {
                    continue;
                };
                let next = homes.words.len();
                let word = *homes.words.entry(word).or_insert(next);
                let stored = match function.dfg.insts[inst] {
                    InstructionData::Store { args, .. } => {
                        Some(function.dfg.resolve_aliases(args[0]))
                    }
                    _ => None,
                };
                let loaded = function.dfg.inst_results(inst).first().copied();
                let accesses = homes.accesses.entry(block).or_default();
                accesses.push(Access {
                    word,
                    stored,
                    loaded,
                });
            }
        }
        let size = homes.words.len() * function.dfg.num_blocks();
        (size <= SIZE_MAX).then_some(homes)
    }

    /// Loads that give the same value on all ways through these blocks, and that value.
    pub(super) fn loads(
        &self,
        order: &[Block],
        after: impl Fn(Block) -> Vec<Block>,
    ) -> Vec<(Value, Value)> {
        let mut loads = Vec::new();
        self.flow(
            (order, &after),
            (Held::Nothing, Held::Any),
            Held::This,
            |loaded, held| {
                if let Held::This(value) = held {
                    loads.push((loaded, value));
                }
            },
        );
        loads
    }

    /// Objects that loads may give which are not known to give one. An object has a bit.
    pub(super) fn leaks(
        &self,
        order: &[Block],
        after: impl Fn(Block) -> Vec<Block>,
        owner: impl Fn(Value) -> Option<usize>,
    ) -> u64 {
        let mut leaks = 0;
        let bit = |value| Held::Some(owner(value).map_or(0, |object| 1 << object));
        self.flow(
            (order, &after),
            (Held::Nothing, Held::Some(0)),
            bit,
            |loaded, held| {
                if let (Held::Some(objects), None) = (held, owner(loaded)) {
                    leaks |= objects;
                }
            },
        );
        leaks
    }

    /// A forward data flow to its fixed point: from `nothing`, and `unknown` where the function
    /// begins. Tells what each load gives.
    fn flow(
        &self,
        (order, after): (&[Block], &impl Fn(Block) -> Vec<Block>),
        (nothing, unknown): (Held, Held),
        held: impl Fn(Value) -> Held,
        mut load: impl FnMut(Value, Held),
    ) {
        let width = self.words.len();
        if width == 0 {
            return;
        }
        let ranks: FxHashMap<Block, usize> = { order.iter().copied() }.zip(0..).collect();
        let mut starts = vec![nothing; width * order.len()];
        starts[..width].fill(unknown);
        let mut has_changed = true;
        while has_changed {
            has_changed = false;
            for (rank, &block) in order.iter().enumerate() {
                let mut state = starts[rank * width..(rank + 1) * width].to_vec();
                self.pass(block, &mut state, &held, &mut |_, _| {});
                for target in after(block) {
                    let start = ranks[&target] * width;
                    for (place, &held) in starts[start..start + width].iter_mut().zip(&state) {
                        has_changed |= place.meet(held);
                    }
                }
            }
        }
        for (rank, &block) in order.iter().enumerate() {
            let mut state = starts[rank * width..(rank + 1) * width].to_vec();
            self.pass(block, &mut state, &held, &mut load);
        }
    }

    /// What homes hold at the end of a block.
    fn pass(
        &self,
        block: Block,
        state: &mut [Held],
        held: &impl Fn(Value) -> Held,
        load: &mut impl FnMut(Value, Held),
    ) {
        for access in self.accesses.get(&block).into_iter().flatten() {
            if let Some(stored) = access.stored {
                state[access.word] = held(stored);
            }
            if let Some(loaded) = access.loaded {
                load(loaded, state[access.word]);
            }
        }
    }
}
