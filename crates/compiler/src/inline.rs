// SPDX-License-Identifier: Apache-2.0
//! Small callees in the place of their calls; `body` has all others.
//!
//! Only bodies that cannot throw, call or loop: no stack trace ever shows their
//! frame, and no poll is lost. [`inlinable`] says which have that shape; the
//! linker knows whether their fields are resolved.

use cranelift_codegen::ir::Value;
use ir::{BinaryOp, Function, InvokeKind, Op, Reg, Type};
use rustc_hash::FxHashSet;

use crate::lower::{Lowering, receiver_of};
use crate::received::{Classes, Known};

/// Instructions of a body, at most; a constructor that sets four fields has some fifteen.
const INSTS_MAX: usize = 24;

/// The instructions of a body that is straight, short, and touches nothing but its receiver's
/// fields and registers. What it invokes must have such a body too.
pub fn inlinable(function: &Function) -> Option<Vec<&Op>> {
    let body = straight(function)?;
    let receiver = function.params.first().filter(|_| function.has_receiver);
    let mut receivers: FxHashSet<Reg> = receiver.copied().into_iter().collect();
    let mut divisors: FxHashSet<Reg> = FxHashSet::default();
    for op in &body {
        let divides = matches!(op, Op::Binary { rhs, .. } if divisors.contains(rhs));
        if !divides && !is_fit(function, op, &receivers) {
            return None;
        }
        let Some(written) = op.written() else {
            continue;
        };
        let is_copy = matches!(op, Op::Move { src, .. } if receivers.contains(src));
        if is_copy {
            receivers.insert(written);
        } else {
            receivers.remove(&written);
        }
        match op {
            Op::Int { value, .. } if !matches!(value, -1 | 0) => divisors.insert(written),
            _ => divisors.remove(&written),
        };
    }
    Some(body)
}

/// From the entry to a return, where no block has a handler or a choice.
fn straight(function: &Function) -> Option<Vec<&Op>> {
    let (mut body, mut next) = (Vec::new(), 0);
    for _ in &function.blocks {
        let block = &function.blocks[next];
        if block.handler.is_some() || body.len() + block.insts.len() > INSTS_MAX {
            return None;
        }
        body.extend(block.insts.iter().map(|inst| &inst.op));
        match body.last()? {
            Op::Return { .. } => return Some(body),
            Op::Jump { target } => next = target.0 as usize,
            _ => return None,
        }
        body.pop();
    }
    None
}

fn is_fit(function: &Function, op: &Op, receivers: &FxHashSet<Reg>) -> bool {
    match op {
        Op::Int { .. }
        | Op::Long { .. }
        | Op::Float { .. }
        | Op::Double { .. }
        | Op::Null { .. }
        | Op::Move { .. }
        | Op::Unary { .. }
        | Op::Compare { .. }
        | Op::Return { .. } => true,
        Op::Binary { op, dst, .. } => {
            let is_float = matches!(function.type_of(*dst), Type::Float | Type::Double);
            match op {
                BinaryOp::Div => is_float,
                BinaryOp::Rem => false,
                _ => true,
            }
        }
        Op::GetField { object, .. } | Op::PutField { object, .. } => receivers.contains(object),
        Op::Invoke { kind, args, .. } => {
            *kind == InvokeKind::Special && receivers.contains(&args[0])
        }
        _ => false,
    }
}

impl Lowering<'_, '_> {
    /// Lowers the callee here, if its body may stand in place of the call. The receiver is proven
    /// non-null.
    pub(crate) fn inline(
        &mut self,
        kind: InvokeKind,
        dst: Option<Reg>,
        index: u32,
        args: &[Reg],
    ) -> bool {
        // Pieces are for short compilation: calls are calls there.
        if self.memory.is_some() {
            return false;
        }
        let heat = self.heat();
        let Some(body) = self.linker.enter(kind, index, heat) else {
            return false;
        };
        let result = self.result_type(dst);
        let value = self.body(&body, result, args, None);
        self.was_straight = body.is_straight;
        if let (Some(dst), Some(value)) = (dst, value) {
            self.set(dst, value);
        }
        true
    }

    pub(crate) fn straight_body(
        &mut self,
        callee: &Function,
        args: &[Reg],
        classes: &[Option<Known>],
    ) -> Option<Value> {
        self.classes = Classes::of(callee, classes);
        let values: Vec<_> = args.iter().map(|&arg| self.get(arg)).collect();
        let own = self.registers_of(callee);
        for (&param, value) in callee.params.iter().zip(values) {
            self.set(param, value);
        }
        self.receiver = receiver_of(callee);
        self.non_null.extend(self.receiver);
        let mut result = None;
        for op in inlinable(callee).expect("the linker has looked") {
            match op {
                Op::Return { src } => {
                    result = src.map(|src| self.get(src));
                    self.note_class(op, None);
                }
                op => self.inst_of(op),
            }
        }
        self.restore(own);
        result
    }
}
