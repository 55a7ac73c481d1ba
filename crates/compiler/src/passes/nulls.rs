// SPDX-License-Identifier: Apache-2.0
//! Which registers are not null at the start of each block.
//!
//! A forward data flow: what every way to a block has proven holds there, be it by a check, by an
//! allocation, or by a branch. It is about registers. Within a block `fact` knows more.

use ir::{Block, BlockId, Condition, Function, LoadedConstant, Op, Reg, Type, Worklist};

use crate::live::Bits;

/// Registers that are not null at the start of each block, if `known` are not null at the entry.
pub(super) fn non_null(function: &Function, known: &[Reg]) -> Vec<Vec<Reg>> {
    let count = function.registers.len();
    let mut starts: Vec<Option<Bits>> = vec![None; function.blocks.len()];
    let mut entry = Bits::new(count);
    for reg in known {
        entry.insert(reg.0 as usize);
    }
    starts[0] = Some(entry);
    let mut pending = Worklist::new(function);
    while let Some(id) = pending.pop() {
        let start = starts[id.0 as usize].clone().expect("it was led to");
        let block = &function.blocks[id.0 as usize];
        flow(function, block, start, |target, state| {
            if keep(&mut starts[target.0 as usize], state) {
                pending.push(target);
            }
        });
    }
    let regs = |bits: Bits| {
        bits.those(|_, word| word)
            .map(|it| Reg(it as u32))
            .collect()
    };
    let starts = starts.into_iter();
    starts.map(|it| it.map_or_else(Vec::new, regs)).collect()
}

/// Takes from `own` what `state` has not; says whether that changed anything.
fn keep(own: &mut Option<Bits>, state: &Bits) -> bool {
    let Some(own) = own else {
        *own = Some(state.clone());
        return true;
    };
    let mut has_changed = false;
    for (own, other) in own.0.iter_mut().zip(&state.0) {
        has_changed |= *own & !other != 0;
        *own &= other;
    }
    has_changed
}

/// Calls `lead` with each block that `block` leads to, and what is known there.
fn flow(function: &Function, block: &Block, start: Bits, mut lead: impl FnMut(BlockId, &Bits)) {
    if let Some(handler) = block.handler {
        let mut state = start.clone();
        for inst in &block.insts {
            if let Some(reg) = inst.op.written() {
                state.remove(reg.0 as usize);
            }
        }
        lead(handler, &state);
    }
    let mut state = State {
        non_null: start,
        copies: Vec::new(),
    };
    for inst in &block.insts {
        state.step(function, &inst.op);
    }
    let Some(last) = block.insts.last() else {
        return;
    };
    let Op::BranchZero {
        condition,
        src,
        then,
        otherwise,
    } = last.op
    else {
        let targets = |target| lead(target, &state.non_null);
        return last.op.for_each_target(targets);
    };
    let (some, none) = match condition {
        Condition::NotEqual => (then, otherwise),
        _ => (otherwise, then),
    };
    lead(none, &state.non_null);
    if function.type_of(src) == Type::Ref {
        state.prove(src);
    }
    lead(some, &state.non_null);
}

struct State {
    non_null: Bits,
    /// Registers that hold the same.
    copies: Vec<(Reg, Reg)>,
}

impl State {
    fn step(&mut self, function: &Function, op: &Op) {
        match op {
            Op::GetField { object, .. }
            | Op::PutField { object, .. }
            | Op::MonitorEnter { object }
            | Op::MonitorExit { object } => self.prove(*object),
            Op::ArrayLength { array, .. }
            | Op::ArrayLoad { array, .. }
            | Op::ArrayStore { array, .. }
            | Op::FillArray { array, .. } => self.prove(*array),
            _ => {}
        }
        let Some(dst) = op.written().filter(|&it| function.type_of(it) == Type::Ref) else {
            return;
        };
        self.copies
            .retain(|&(one, other)| one != dst && other != dst);
        let is_some = match *op {
            Op::Move { src, .. } => self.non_null.contains(src.0 as usize),
            Op::Load { constant, .. } => constant != LoadedConstant::Computed,
            Op::OwnClass { .. }
            | Op::Caught { .. }
            | Op::New { .. }
            | Op::NewPrimitiveArray { .. }
            | Op::NewArray { .. }
            | Op::NewMultiArray { .. } => true,
            _ => false,
        };
        if is_some {
            self.non_null.insert(dst.0 as usize);
        } else {
            self.non_null.remove(dst.0 as usize);
        }
        if let Op::Move { src, .. } = *op
            && src != dst
        {
            self.copies.push((dst, src));
        }
    }

    /// A register is not null, nor are those that hold the same.
    fn prove(&mut self, reg: Reg) {
        if self.non_null.contains(reg.0 as usize) {
            return;
        }
        self.non_null.insert(reg.0 as usize);
        let same = self.copies.iter().filter_map(|&(one, other)| match reg {
            it if it == one => Some(other),
            it if it == other => Some(one),
            _ => None,
        });
        let same: Vec<_> = same.collect();
        for other in same {
            self.prove(other);
        }
    }
}
