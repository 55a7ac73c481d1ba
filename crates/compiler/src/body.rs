// SPDX-License-Identifier: Apache-2.0
//! Whole bodies in the place of their calls: with branches, loops, handlers, and calls of their
//! own.
//!
//! Nothing of the callee's frame is lost by it. Each call in the body has the place of its own
//! instruction (`place`), so stack traces show the callee's frame. What is thrown and not caught in
//! the body goes to the handler that the call had. The body needs no look at the stack's limit and
//! no poll at its start: its caller had both, for it calls. Loops poll as ever.

use std::borrow::Cow;

use cranelift_codegen::ir as clif;
use cranelift_codegen::ir::InstBuilder;
use ir::{BlockId, Function, Op, Reg};
use rustc_hash::FxHashMap;

use crate::linker::Body;
use crate::lower::{ByLinker, Lowering, receiver_of, single_targets};
use crate::passes::improve;
use crate::received::{Classes, Known};

/// How often a block of a body may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Heat {
    /// An exception follows for certain.
    Cold,
    /// Once, as far as one sees.
    Usual,
    /// Inside a loop.
    Loop,
}

/// Where an inlined body ends.
#[derive(Clone, Copy)]
pub(crate) struct Outer {
    /// Where what it does not catch lands.
    pad: Option<clif::Block>,
    /// Where it returns to.
    pub(crate) next: clif::Block,
    /// Whether the result goes there.
    pub(crate) has_result: bool,
}

/// The heat of each block, in a body whose call has heat `call`.
pub(crate) fn heats(function: &Function, call: Heat) -> Vec<Heat> {
    let mut heats = vec![call; function.blocks.len()];
    for (index, block) in function.blocks.iter().enumerate() {
        let Some(op) = last(block) else {
            continue;
        };
        op.for_each_target(|target| {
            let target = target.0 as usize;
            if target <= index {
                heats[target..=index].fill(Heat::Loop);
            }
        });
    }
    // Blocks come before those that they lead to, but for loops.
    for (index, block) in function.blocks.iter().enumerate().rev() {
        let is_lost = match last(block) {
            Some(Op::Throw { .. }) => true,
            Some(op) => {
                let (mut targets, mut lost) = (0, 0);
                op.for_each_target(|target| {
                    targets += 1;
                    let target = target.0 as usize;
                    lost += u32::from(target > index && heats[target] == Heat::Cold);
                });
                targets > 0 && targets == lost
            }
            None => false,
        };
        if is_lost && index > 0 {
            heats[index] = Heat::Cold;
        }
    }
    heats
}

/// What a body does but where an exception follows for certain.
pub fn usual_ops(function: &Function) -> impl Iterator<Item = &Op> {
    let blocks = function.blocks.iter().zip(heats(function, Heat::Usual));
    let usual = blocks.filter(|(_, heat)| *heat != Heat::Cold);
    usual.flat_map(|(block, _)| block.insts.iter().map(|inst| &inst.op))
}

/// What a body does in its loops.
pub fn looped_ops(function: &Function) -> impl Iterator<Item = &Op> {
    let blocks = function.blocks.iter().zip(heats(function, Heat::Usual));
    let looped = blocks.filter(|(_, heat)| *heat == Heat::Loop);
    looped.flat_map(|(block, _)| block.insts.iter().map(|inst| &inst.op))
}

fn last(block: &ir::Block) -> Option<&Op> {
    block.insts.last().map(|inst| &inst.op)
}

/// Whether a body may be lowered in place of a call: it comes back, gives back no locks, and links
/// no computed call, which is linked once for each instruction.
pub fn is_whole(function: &Function) -> bool {
    let ops = || {
        let insts = function.blocks.iter().flat_map(|block| &block.insts);
        insts.map(|inst| &inst.op)
    };
    let is_fit = |op: &Op| {
        !matches!(
            op,
            Op::MonitorEnter { .. }
                | Op::MonitorExit { .. }
                | Op::LocksBegin { .. }
                | Op::LockNoted { .. }
                | Op::UnlockNoted { .. }
                | Op::LocksReturn { .. }
                | Op::LocksUnwind { .. }
                | Op::InvokeDynamic { .. }
                | Op::CheckReceiver { .. }
        )
    };
    ops().any(|op| matches!(op, Op::Return { .. })) && ops().all(is_fit)
}

impl Lowering<'_, '_> {
    /// How often the instruction being lowered may run.
    pub(crate) fn heat(&self) -> Heat {
        self.heats[self.current.0 as usize]
    }

    /// The same, if a likely callee's body may stand here: no exception is certain, and the method
    /// is not in pieces.
    pub(crate) fn warm(&self) -> Option<Heat> {
        let may_hold_bodies = self.memory.is_none();
        let heat = may_hold_bodies.then(|| self.heat());
        heat.filter(|&heat| heat != Heat::Cold)
    }

    /// Where exceptions land that the body being lowered does not catch.
    pub(crate) fn outer_pad(&self) -> Option<clif::Block> {
        self.outer.and_then(|outer| outer.pad)
    }

    /// Lowers a body here. `args` are its arguments' registers, the receiver proven non-null and of
    /// class `receiver`, if that is known. What is known of the result is in [`Self::made`].
    pub(crate) fn body(
        &mut self,
        body: &Body,
        result: Option<clif::Type>,
        args: &[Reg],
        receiver: Option<Known>,
    ) -> Option<clif::Value> {
        let mut known: Vec<_> = args.iter().map(|&arg| self.known_of(arg)).collect();
        if receiver.is_some() {
            known[0] = receiver;
        }
        let own = core::mem::take(&mut self.classes);
        let scope = core::mem::replace(&mut self.scope, body.scope);
        self.inlined.push(self.at);
        debug_assert_eq!(self.inlined.len(), usize::from(body.scope));
        let value = if body.is_straight {
            self.straight_body(&body.function, args, &known)
        } else {
            self.whole_body(body, result, args, &known)
        };
        self.linker.leave();
        self.scope = scope;
        self.made = core::mem::replace(&mut self.classes, own).returned();
        // It may be one of two ways.
        self.was_straight = false;
        value
    }

    fn whole_body(
        &mut self,
        body: &Body,
        result: Option<clif::Type>,
        args: &[Reg],
        classes: &[Option<Known>],
    ) -> Option<clif::Value> {
        let values: Vec<_> = args.iter().map(|&arg| self.get(arg)).collect();
        let params = body.function.params.iter();
        let known = params.zip(args).filter(|&(_, &arg)| self.is_non_null(arg));
        let known: Vec<_> = known.map(|(&param, _)| param).collect();
        let known = [known, Vec::from_iter(receiver_of(&body.function))].concat();
        let asked = &mut ByLinker(&mut *self.linker);
        let (improved, marks) = improve(&body.function, self.passes, &known, asked);
        let callee = improved.as_ref().unwrap_or(&body.function);
        let marks = core::mem::replace(&mut self.marks, marks);
        self.classes = Classes::of(callee, classes);
        let next = self.b.create_block();
        if let Some(ty) = result {
            self.b.append_block_param(next, ty);
        }
        let outer = Outer {
            pad: self.pad(),
            next,
            has_result: result.is_some(),
        };
        let facts = self.facts.clone();
        let (at, heats) = (self.at, heats(callee, self.heat()));
        let registers = self.registers_of(callee);
        for (&param, value) in callee.params.iter().zip(values) {
            self.set(param, value);
        }
        self.receiver = receiver_of(callee);
        let entry = (BlockId(0), known.into_iter().collect());
        let new = callee
            .blocks
            .iter()
            .map(|_| self.b.create_block())
            .collect();
        let blocks = core::mem::replace(&mut self.blocks, new);
        let pads = core::mem::take(&mut self.pads);
        let inherited = core::mem::replace(&mut self.inherited, FxHashMap::from_iter([entry]));
        let handed = core::mem::take(&mut self.handed);
        let single = Cow::Owned(single_targets(callee));
        let single = core::mem::replace(&mut self.single, single);
        let heats = core::mem::replace(&mut self.heats, heats);
        let outer = self.outer.replace(outer);
        let (current, handler, caught) = (self.current, self.handler, self.caught);
        let first = self.blocks[0];
        self.b.ins().jump(first, &[]);
        self.all_blocks(callee);
        // Nothing else leads there.
        for index in 0..self.blocks.len() {
            let block = self.blocks[index];
            if self.sealed.insert(block) {
                self.b.seal_block(block);
            }
        }
        self.b.switch_to_block(next);
        self.b.seal_block(next);
        (self.current, self.handler, self.caught) = (current, handler, caught);
        (self.blocks, self.pads, self.inherited) = (blocks, pads, inherited);
        self.handed = handed;
        (self.single, self.heats, self.outer) = (single, heats, outer);
        (self.facts, self.marks, self.access) = (facts, marks, None);
        self.facts.at_safepoint();
        self.restore(registers);
        self.go_to(at);
        self.b.block_params(next).first().copied()
    }
}

#[cfg(test)]
mod tests {
    use ir::{Condition, Inst, Type};

    use super::*;

    fn function(blocks: Vec<Op>) -> Function {
        let mut function = Function::default();
        function.register(Type::Int);
        for op in blocks {
            let block = function.block();
            function.blocks[block.0 as usize].insts = vec![Inst { at: 0, op }];
        }
        function
    }

    fn branch(then: u32, otherwise: u32) -> Op {
        Op::BranchZero {
            condition: Condition::Equal,
            src: Reg(0),
            then: BlockId(then),
            otherwise: BlockId(otherwise),
        }
    }

    #[test]
    fn what_throws_is_cold_and_a_loop_is_hot() {
        use Heat::{Cold, Loop, Usual};
        let jump = |target| Op::Jump {
            target: BlockId(target),
        };
        let throw = Op::Throw { src: Reg(0) };
        let end = Op::Return { src: None };
        let made = function(vec![
            jump(1),
            branch(5, 2),
            branch(3, 4),
            jump(1),
            jump(6),
            end,
            throw,
        ]);
        let found = heats(&made, Usual);
        assert_eq!(found, [Usual, Loop, Loop, Loop, Cold, Usual, Cold]);
    }

    #[test]
    fn what_never_comes_back_is_not_whole() {
        assert!(is_whole(&function(vec![Op::Return { src: None }])));
        assert!(!is_whole(&function(vec![Op::Throw { src: Reg(0) }])));
        let locks = vec![
            Op::MonitorEnter { object: Reg(0) },
            Op::Return { src: None },
        ];
        assert!(!is_whole(&function(locks)));
    }
}
