// SPDX-License-Identifier: Apache-2.0
//! [`Guard`]: the blocks before a loop that prove what its fast version rests on, or lead to the
//! loop as it was. They cannot throw.

use std::collections::BTreeSet;

use ir::{BinaryOp, BlockId, Condition, Inst, Op, Reg, Type};
use rustc_hash::FxHashMap;

use super::counter::{Counter, OFFSET_MAX};
use super::graph::Loop;
use super::symbol::{Same, Symbol, Symbols};
use super::{Access, Work, retarget};
use crate::lower::receiver_of;

/// How far a counter may step of which several iterations are made at once.
const STEP_MAX: i32 = 1 << 28;

/// The guard in the making.
pub(super) struct Guard<'a> {
    pub(super) work: &'a mut Work,
    pub(super) symbols: Symbols,
    /// Its blocks; the last one is open.
    pub(super) blocks: Vec<BlockId>,
    /// The loop as it was.
    slow: BlockId,
    /// The instruction that its own are of.
    at: u32,
    /// Values that stay, and registers they are in.
    pub(super) regs: FxHashMap<u32, Reg>,
    pub(super) lengths: FxHashMap<u32, Reg>,
    non_null: BTreeSet<u32>,
    receiver: Option<Reg>,
}

impl<'a> Guard<'a> {
    pub(super) fn new(work: &'a mut Work, one: &Loop, symbols: Symbols) -> Self {
        let receiver = receiver_of(&work.function);
        Self {
            blocks: vec![work.block()],
            slow: one.head,
            at: work.insts(one.head)[0].at,
            regs: FxHashMap::default(),
            lengths: FxHashMap::default(),
            non_null: BTreeSet::new(),
            symbols,
            receiver,
            work,
        }
    }

    pub(super) fn op(&mut self, op: Op) {
        let last = self.blocks[self.blocks.len() - 1];
        let inst = Inst { at: self.at, op };
        self.work.function.blocks[last.0 as usize].insts.push(inst);
        self.work.added += 1;
    }

    pub(super) fn next(&mut self) -> BlockId {
        self.work.block()
    }

    pub(super) fn slow_if(&mut self, condition: Condition, lhs: Reg, rhs: Reg) {
        let next = self.next();
        self.op(Op::Branch {
            condition,
            lhs,
            rhs,
            then: self.slow,
            otherwise: next,
        });
        self.blocks.push(next);
    }

    pub(super) fn slow_if_zero(&mut self, condition: Condition, src: Reg) {
        let next = self.next();
        self.op(Op::BranchZero {
            condition,
            src,
            then: self.slow,
            otherwise: next,
        });
        self.blocks.push(next);
    }

    /// Proves that `reg`, which holds `symbol`, is at least `least`.
    pub(super) fn at_least(&mut self, symbol: Symbol, reg: Reg, least: i32) {
        match symbol {
            Symbol::Int(int) if int >= least => {}
            Symbol::Same(number, 0) if least <= 0 && self.is_length(number) => {}
            _ if least == 0 => self.slow_if_zero(Condition::Less, reg),
            _ => {
                let least = self.int(least);
                self.slow_if(Condition::Less, reg, least);
            }
        }
    }

    pub(super) fn is_length(&self, number: u32) -> bool {
        matches!(self.symbols.same[number as usize], Same::Length(_))
    }

    pub(super) fn int(&mut self, value: i32) -> Reg {
        let dst = self.work.function.register(Type::Int);
        self.op(Op::Int { dst, value });
        dst
    }

    pub(super) fn binary(&mut self, op: BinaryOp, lhs: Reg, rhs: Reg) -> Reg {
        let dst = self.work.function.register(Type::Int);
        self.op(Op::Binary { op, dst, lhs, rhs });
        dst
    }

    /// `reg` less `by`.
    pub(super) fn less(&mut self, reg: Reg, by: i32) -> Reg {
        if by == 0 {
            return reg;
        }
        let by = self.int(by);
        self.binary(BinaryOp::Sub, reg, by)
    }

    /// Where a counter must be to have `times` iterations before it.
    pub(super) fn bound(&mut self, counter: &Counter, limit: Reg, times: i32) -> Reg {
        let more = times - 1;
        match counter.step {
            Symbol::Int(step) if counter.is_down => {
                // The sum does not overflow.
                if !matches!(counter.limit, Symbol::Int(limit) if limit <= OFFSET_MAX) {
                    let most = self.int(i32::MAX + more * step);
                    self.slow_if(Condition::Greater, limit, most);
                }
                self.less(limit, more * step)
            }
            Symbol::Int(step) => {
                self.at_least(counter.limit, limit, -OFFSET_MAX);
                self.less(limit, more * step)
            }
            step => {
                self.at_least(counter.limit, limit, -OFFSET_MAX);
                let step = self.reg_of(step);
                let most = self.int(STEP_MAX);
                self.slow_if(Condition::Greater, step, most);
                let more = self.int(more);
                let all = self.binary(BinaryOp::Mul, step, more);
                self.binary(BinaryOp::Sub, limit, all)
            }
        }
    }

    /// The register of an int that stays.
    pub(super) fn reg_of(&mut self, symbol: Symbol) -> Reg {
        match symbol {
            Symbol::Int(int) => self.int(int),
            Symbol::Same(number, more) => {
                let reg = self.value(number);
                self.less(reg, more.wrapping_neg())
            }
            _ => unreachable!("only what stays is asked for"),
        }
    }

    /// The register of a value that stays.
    pub(super) fn value(&mut self, number: u32) -> Reg {
        if let Some(&reg) = self.regs.get(&number) {
            return reg;
        }
        let reg = match self.symbols.same[number as usize] {
            Same::Reg(reg) => reg,
            Same::Length(array) => self.length(array),
            Same::Element {
                array,
                element,
                kind,
            } => {
                let length = self.length(array);
                let array = self.value(array);
                let index = self.reg_of(element);
                self.at_least(element, index, 0);
                self.slow_if(Condition::GreaterEqual, index, length);
                let dst = self.work.function.register(kind.register_type());
                self.op(Op::ArrayLoad {
                    dst,
                    array,
                    element: index,
                    kind,
                });
                self.mark_last(length);
                dst
            }
            Same::Field {
                object,
                index,
                kind,
            } => {
                let object = self.not_null(object);
                let dst = self.work.function.register(kind.register_type());
                self.op(Op::GetField {
                    dst,
                    object,
                    index,
                    kind,
                });
                dst
            }
            Same::Static { index, kind } => {
                let dst = self.work.function.register(kind.register_type());
                self.op(Op::GetStatic { dst, index, kind });
                dst
            }
            Same::Binary(op, lhs, rhs) => {
                let (lhs, rhs) = (self.reg_of(lhs), self.reg_of(rhs));
                self.binary(op, lhs, rhs)
            }
        };
        self.regs.insert(number, reg);
        reg
    }

    /// What was emitted last is an access in bounds.
    pub(super) fn mark_last(&mut self, length: Reg) {
        let last = self.blocks[self.blocks.len() - 1];
        let access = Access {
            length,
            is_in_bounds: true,
        };
        let place = self.work.insts(last).len() - 1;
        self.work.mark(last, place, access);
    }

    /// The register of an object, proven not to be null.
    pub(super) fn not_null(&mut self, number: u32) -> Reg {
        let reg = self.value(number);
        if self.non_null.insert(number) && self.receiver != Some(reg) {
            self.slow_if_zero(Condition::Equal, reg);
        }
        reg
    }

    pub(super) fn length(&mut self, array: u32) -> Reg {
        if let Some(&reg) = self.lengths.get(&array) {
            return reg;
        }
        let reg = self.not_null(array);
        let dst = self.work.function.register(Type::Int);
        self.op(Op::ArrayLength { dst, array: reg });
        self.lengths.insert(array, dst);
        dst
    }

    /// A second block for each of the loop's.
    pub(super) fn copies(&mut self, one: &Loop) -> FxHashMap<BlockId, BlockId> {
        let copies: FxHashMap<_, _> = one.blocks.iter().map(|&it| (it, self.next())).collect();
        let map = |block: BlockId| copies.get(&block).copied().unwrap_or(block);
        for (&old, &new) in &copies {
            let mut block = self.work.function.blocks[old.0 as usize].clone();
            block.handler = block.handler.map(map);
            retarget(&mut block.insts.last_mut().expect("a terminator").op, map);
            self.work.added += block.insts.len();
            self.work.function.blocks[new.0 as usize] = block;
        }
        copies
    }
}
