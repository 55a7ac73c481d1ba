// SPDX-License-Identifier: Apache-2.0
//! Which references live where in a function: [`live_outs`] of its blocks, and [`walk`] within one.

use cranelift_codegen::{
    entity::{EntitySet, SecondaryMap},
    ir::{Block, BlockCall, Function, Inst, Opcode, Value, ValueDef},
};

/// No number.
pub(crate) const NONE: u32 = u32::MAX;

/// A set of numbers, a bit for each.
#[derive(Clone, Default)]
pub(crate) struct Bits(pub(crate) Vec<u64>);

impl Bits {
    pub(crate) fn new(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    pub(crate) fn insert(&mut self, number: usize) {
        self.0[number / 64] |= 1 << (number % 64);
    }

    pub(crate) fn remove(&mut self, number: usize) {
        self.0[number / 64] &= !(1 << (number % 64));
    }

    pub(crate) fn contains(&self, number: usize) -> bool {
        self.0[number / 64] >> (number % 64) & 1 != 0
    }

    /// Those that `keep` leaves of each word.
    pub(crate) fn those(&self, keep: impl Fn(usize, u64) -> u64) -> impl Iterator<Item = usize> {
        let words = self.0.iter().enumerate();
        words.flat_map(move |(word, &bits)| {
            let mut left = keep(word, bits);
            core::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
                left &= left - 1;
                Some(word * 64 + bit)
            })
        })
    }
}

/// A number for each reference; first come those that live in more than one block.
pub(crate) struct Numbers {
    pub(crate) values: Vec<Value>,
    of: SecondaryMap<Value, u32>,
    /// How many live in more than one block.
    wide: usize,
}

impl Numbers {
    pub(crate) fn new(added: EntitySet<Value>, function: &Function, order: &[Block]) -> Self {
        let all = with_sources(added, function, order);
        let mut of = SecondaryMap::with_default(NONE);
        let (mut wide, mut narrow) = (Vec::new(), Vec::new());
        // By value: the block that it is defined in, until another uses it.
        let mut home: SecondaryMap<Value, Option<Block>> = SecondaryMap::new();
        for value in all.iter() {
            home[value] = block_of(function, value);
            narrow.extend(home[value].map(|_| value));
        }
        for &block in order {
            for inst in function.layout.block_insts(block) {
                for value in function.dfg.inst_values(inst) {
                    if all.contains(value) && home[value].is_some_and(|it| it != block) {
                        home[value] = None;
                        wide.push(value);
                    }
                }
            }
        }
        narrow.retain(|&value| home[value].is_some());
        let count = wide.len();
        let values = [wide, narrow].concat();
        for (number, &value) in values.iter().enumerate() {
            of[value] = number as u32;
        }
        Self {
            values,
            of,
            wide: count,
        }
    }

    pub(crate) fn of(&self, value: Value) -> Option<usize> {
        let number = self.of[value];
        (number != NONE).then_some(number as usize)
    }
}

/// Where a value is defined that may need a name.
fn block_of(function: &Function, value: Value) -> Option<Block> {
    match function.dfg.value_def(value) {
        ValueDef::Param(block, _) => Some(block),
        ValueDef::Result(inst, _) if is_immortal(function, inst) => None,
        ValueDef::Result(inst, _) => function.layout.inst_block(inst),
        ValueDef::Union(..) => None,
    }
}

/// Null, or an object whose address is in the code's table: the table keeps it.
fn is_immortal(function: &Function, inst: Inst) -> bool {
    let opcode = |inst| function.dfg.insts[inst].opcode();
    match opcode(inst) {
        Opcode::Iconst => true,
        Opcode::Ireduce => {
            let source = function.dfg.value_def(function.dfg.inst_args(inst)[0]);
            source.inst().map(opcode) == Some(Opcode::SymbolValue)
        }
        _ => false,
    }
}

/// The references that were added, and the values that become them at the start of a block.
fn with_sources(added: EntitySet<Value>, function: &Function, order: &[Block]) -> EntitySet<Value> {
    let mut all = added;
    // Blocks come after those that they lead to, but for loops.
    let mut has_changed = true;
    while has_changed {
        has_changed = false;
        for &block in order {
            let Some(last) = function.layout.last_inst(block) else {
                continue;
            };
            for call in destinations(function, last) {
                let params = function
                    .dfg
                    .block_params(call.block(&function.dfg.value_lists));
                for (&param, arg) in params.iter().zip(call.args(&function.dfg.value_lists)) {
                    if let Some(arg) = arg.as_value().filter(|_| all.contains(param)) {
                        has_changed |= all.insert(arg);
                    }
                }
            }
        }
    }
    all
}

fn destinations(function: &Function, inst: Inst) -> &[BlockCall] {
    let dfg = &function.dfg;
    dfg.insts[inst].branch_destination(&dfg.jump_tables, &dfg.exception_tables)
}

/// What lives at the end of each block of `order`, of the values that live in several.
pub(crate) fn live_outs(function: &Function, order: &[Block], numbers: &Numbers) -> Vec<Bits> {
    let mut places = SecondaryMap::with_default(NONE);
    for (place, &block) in order.iter().enumerate() {
        places[block] = place as u32;
    }
    let mut successors = Vec::with_capacity(order.len());
    // What each block reads first, and what it defines.
    let (mut live_ins, mut defined) = (Vec::new(), Vec::new());
    for &block in order {
        let next = function.block_successors(block);
        successors.push(next.map(|it| places[it] as usize).collect::<Vec<_>>());
        let (mut read, mut own) = (Bits::new(numbers.wide), Bits::new(numbers.wide));
        let is_wide = |number: &usize| *number < numbers.wide;
        for inst in function.layout.block_insts(block).rev() {
            for &result in function.dfg.inst_results(inst) {
                if let Some(number) = numbers.of(result).filter(is_wide) {
                    own.insert(number);
                    read.remove(number);
                }
            }
            for value in function.dfg.inst_values(inst) {
                if let Some(number) = numbers.of(value).filter(is_wide) {
                    read.insert(number);
                }
            }
        }
        for &param in function.dfg.block_params(block) {
            if let Some(number) = numbers.of(param).filter(is_wide) {
                own.insert(number);
                read.remove(number);
            }
        }
        live_ins.push(read);
        defined.push(own);
    }
    let mut outs = vec![Bits::new(numbers.wide); order.len()];
    let mut has_changed = numbers.wide > 0;
    while has_changed {
        has_changed = false;
        for (place, successors) in successors.iter().enumerate() {
            for &next in successors {
                for (out, more) in outs[place].0.iter_mut().zip(&live_ins[next].0) {
                    *out |= more;
                }
            }
            let own = &defined[place].0;
            for ((known, out), own) in live_ins[place].0.iter_mut().zip(&outs[place].0).zip(own) {
                let all = *known | (out & !own);
                has_changed |= all != *known;
                *known = all;
            }
        }
    }
    outs
}

/// What is met in a block from its end to its start, beside what lives there.
pub(crate) enum Point {
    /// What lives does so behind it.
    Definition(usize),
    /// What lives does so across it.
    Call(Inst),
}

pub(crate) fn walk(
    function: &Function,
    block: Block,
    numbers: &Numbers,
    live_out: &Bits,
    mut meet: impl FnMut(Point, &Bits),
) {
    let mut live = Bits::new(numbers.values.len());
    live.0[..live_out.0.len()].copy_from_slice(&live_out.0);
    let numbers_of = |values: &[Value]| values.iter().filter_map(|&it| numbers.of(it)).collect();
    for inst in function.layout.block_insts(block).rev() {
        for call in destinations(function, inst) {
            let args = call.args(&function.dfg.value_lists);
            for number in args.filter_map(|it| numbers.of(it.as_value()?)) {
                live.insert(number);
            }
        }
        let results: Vec<_> = numbers_of(function.dfg.inst_results(inst));
        for number in results {
            meet(Point::Definition(number), &live);
            live.remove(number);
        }
        if function.dfg.insts[inst].opcode().is_safepoint() {
            meet(Point::Call(inst), &live);
        }
        for &arg in function.dfg.inst_args(inst) {
            if let Some(number) = numbers.of(arg) {
                live.insert(number);
            }
        }
    }
    let params: Vec<_> = numbers_of(function.dfg.block_params(block));
    // All are there at once.
    for number in params {
        meet(Point::Definition(number), &live);
    }
}
