// SPDX-License-Identifier: Apache-2.0
//! [`Counter`]: a register that a loop counts with, and how far.

use ir::{BlockId, Condition, Op, Reg};

use super::Work;
use super::graph::Loop;
use super::symbol::{Symbol, Symbols};

/// How far an index may be from the counter, and how far a counter may step.
pub(super) const OFFSET_MAX: i32 = 1 << 16;

/// How a loop counts: its head goes on while the counter is less than the limit, or at most it; or,
/// if it counts down, greater, or at least it.
pub(super) struct Counter {
    pub(super) reg: Reg,
    pub(super) step: Symbol,
    pub(super) is_down: bool,
    pub(super) limit: Symbol,
    /// The limit itself is reached.
    pub(super) is_inclusive: bool,
    /// It ends where the limit is met.
    pub(super) is_exact: bool,
}

impl Counter {
    pub(super) fn of(work: &Work, one: &Loop, symbols: &Symbols) -> Option<Self> {
        let (Op::Branch {
            condition,
            then,
            otherwise,
            ..
        }
        | Op::BranchZero {
            condition,
            then,
            otherwise,
            ..
        }) = *work.last(one.head)
        else {
            return None;
        };
        let condition = match (one.contains(then), one.contains(otherwise)) {
            (true, false) => condition,
            (false, true) => negated(condition),
            _ => return None,
        };
        // An exception would lead around the test.
        if work.handler(one.head).is_some_and(|it| one.contains(it)) {
            return None;
        }
        let sides = symbols.operands(one.head, work.insts(one.head).len() - 1)?;
        let (reg, condition, limit) = match sides {
            (Symbol::Start(reg, 0), limit) => (reg, condition, limit),
            (limit, Symbol::Start(reg, 0)) => (reg, swapped(condition), limit),
            _ => return None,
        };
        if !matches!(limit, Symbol::Int(_) | Symbol::Same(..)) {
            return None;
        }
        let step = symbols.step(work, one, reg)?;
        let is_down = matches!(step, Symbol::Int(step) if step < 0);
        if matches!(step, Symbol::Int(step) if step == 0 || step.abs() > OFFSET_MAX) {
            return None;
        }
        let (is_inclusive, is_exact) = match (condition, is_down) {
            (Condition::Less, false) | (Condition::Greater, true) => (false, false),
            (Condition::LessEqual, false) | (Condition::GreaterEqual, true) => (true, false),
            (Condition::NotEqual, false) if step == Symbol::Int(1) => (false, true),
            _ => return None,
        };
        Some(Self {
            reg,
            step,
            is_down,
            limit,
            is_inclusive,
            is_exact,
        })
    }

    /// The test of whether it goes on, with another limit.
    pub(super) fn test(&self, limit: Reg, then: BlockId, otherwise: BlockId) -> Op {
        let condition = match (self.is_down, self.is_inclusive) {
            (false, false) => Condition::Less,
            (false, true) => Condition::LessEqual,
            (true, false) => Condition::Greater,
            (true, true) => Condition::GreaterEqual,
        };
        Op::Branch {
            condition,
            lhs: self.reg,
            rhs: limit,
            then,
            otherwise,
        }
    }

    /// Whether an index so far from the counter is looked at: where it counts by more than one, the
    /// limit may be further away than its last value.
    pub(super) fn may_be_off_by(&self, offset: i32) -> bool {
        let is_near = (-OFFSET_MAX..=OFFSET_MAX).contains(&offset);
        is_near
            && match (self.step, self.is_down) {
                (Symbol::Int(1 | -1), _) => true,
                (_, false) => offset <= 0,
                (_, true) => offset >= 0,
            }
    }

    /// How far behind the limit an index that is so far from the counter may come.
    pub(super) fn behind(&self, offset: i32) -> i32 {
        offset + i32::from(self.is_inclusive)
    }
}

pub(super) fn negated(condition: Condition) -> Condition {
    match condition {
        Condition::Equal => Condition::NotEqual,
        Condition::NotEqual => Condition::Equal,
        Condition::Less => Condition::GreaterEqual,
        Condition::GreaterEqual => Condition::Less,
        Condition::Greater => Condition::LessEqual,
        Condition::LessEqual => Condition::Greater,
    }
}

fn swapped(condition: Condition) -> Condition {
    match condition {
        Condition::Less => Condition::Greater,
        Condition::GreaterEqual => Condition::LessEqual,
        Condition::Greater => Condition::Less,
        Condition::LessEqual => Condition::GreaterEqual,
        same => same,
    }
}
