// SPDX-License-Identifier: Apache-2.0
//! The IR's verifier: nothing unproven reaches the compiler.
//!
//! Three claims: every register is used at its own type; every register is
//! written on every path before it is read; blocks end in terminators and jump
//! to blocks that exist.

use core::fmt;

use crate::sparse::Sparse;
use crate::worklist::Worklist;
use crate::{BlockId, CompareOp, Condition, Function, Inst, MemoryKind, Op, Reg, Type};

/// Why a function was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyError {
    /// Block and instruction offset, when it lies in one.
    pub at: Option<u32>,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            Some(at) => write!(f, "{} at offset {at}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

impl std::error::Error for VerifyError {}

/// Proves `function`, or says what is wrong with it.
pub fn verify(function: &Function) -> Result<(), VerifyError> {
    check_shape(function)?;
    for block in &function.blocks {
        for inst in &block.insts {
            let fail = |what: String| VerifyError {
                at: Some(inst.at),
                what,
            };
            check_types(function, &inst.op).map_err(fail)?;
        }
    }
    check_written_before_read(function)
}

fn check_shape(function: &Function) -> Result<(), VerifyError> {
    let fail = |what: &str| {
        Err(VerifyError {
            at: None,
            what: what.into(),
        })
    };
    let count = function.blocks.len() as u32;
    if count == 0 {
        return fail("no entry block");
    }
    for block in &function.blocks {
        let Some((last, body)) = block.insts.split_last() else {
            return fail("empty block");
        };
        if !last.op.is_terminator() || body.iter().any(|inst| inst.op.is_terminator()) {
            return fail("a block must end in its only terminator");
        }
        if body
            .iter()
            .skip(1)
            .any(|inst| matches!(inst.op, Op::Caught { .. }))
        {
            return fail("`Caught` not first in its block");
        }
        let mut targets_exist = true;
        last.op
            .for_each_target(|target| targets_exist &= (1..count).contains(&target.0));
        if let Some(handler) = block.handler {
            targets_exist &= is_handler(function, handler);
        }
        if !targets_exist {
            return fail("jump to no block");
        }
    }
    Ok(())
}

fn is_handler(function: &Function, block: BlockId) -> bool {
    let block = function.blocks.get(block.0 as usize);
    let first = block.and_then(|block| block.insts.first());
    first.is_some_and(|inst| matches!(inst.op, Op::Caught { .. }))
}

/// Registers read, each with the type it is read at.
pub fn for_each_read(function: &Function, op: &Op, mut each: impl FnMut(Reg, Type)) {
    use Type::{Int, Ref};
    let own = |reg: Reg| {
        function
            .registers
            .get(reg.0 as usize)
            .copied()
            .unwrap_or(Int)
    };
    match op {
        Op::Move { dst, src } => each(*src, own(*dst)),
        Op::Unary { op, src, .. } => each(*src, op.types().0),
        Op::Binary { op, dst, lhs, rhs } => {
            use crate::BinaryOp as B;
            let is_shift = matches!(op, B::Shl | B::Shr | B::Ushr);
            each(*lhs, own(*dst));
            each(*rhs, if is_shift { Int } else { own(*dst) });
        }
        Op::Compare { op, lhs, rhs, .. } => {
            let ty = match op {
                CompareOp::Long => Type::Long,
                _ if own(*lhs) == Type::Float => Type::Float,
                _ => Type::Double,
            };
            each(*lhs, ty);
            each(*rhs, ty);
        }
        Op::GetField { object, .. } => each(*object, Ref),
        Op::PutField {
            object, src, kind, ..
        } => {
            each(*object, Ref);
            each(*src, kind.register_type());
        }
        Op::PutStatic { src, kind, .. } => each(*src, kind.register_type()),
        Op::ArrayLength { array, .. } | Op::FillArray { array, .. } => each(*array, Ref),
        Op::ArrayLoad { array, element, .. } => {
            each(*array, Ref);
            each(*element, Int);
        }
        Op::ArrayStore {
            array,
            element,
            src,
            kind,
        } => {
            each(*array, Ref);
            each(*element, Int);
            each(*src, kind.register_type());
        }
        Op::NewPrimitiveArray { length, .. } | Op::NewArray { length, .. } => each(*length, Int),
        Op::NewMultiArray { lengths, .. } => lengths.iter().for_each(|&l| each(l, Int)),
        Op::CheckCast { object, .. }
        | Op::InstanceOf { object, .. }
        | Op::CheckReceiver { object, .. } => each(*object, Ref),
        Op::Invoke { args, .. } | Op::InvokeDynamic { args, .. } => {
            args.iter().for_each(|&a| each(a, own(a)));
        }
        Op::Branch { lhs, rhs, .. } => {
            each(*lhs, own(*lhs));
            each(*rhs, own(*lhs));
        }
        Op::BranchZero { src, .. } => each(*src, own(*src)),
        Op::Switch { src, .. } => each(*src, Int),
        Op::Return { src: Some(src) } => each(*src, function.result.unwrap_or(Int)),
        Op::Throw { src } => each(*src, Ref),
        _ => for_each_read_of_locks(op, each),
    }
}

fn for_each_read_of_locks(op: &Op, mut each: impl FnMut(Reg, Type)) {
    match op {
        Op::MonitorEnter { object } | Op::MonitorExit { object } | Op::LockNoted { object } => {
            each(*object, Type::Ref);
        }
        Op::UnlockNoted { object, begin } => {
            each(*object, Type::Ref);
            each(*begin, Type::Int);
        }
        Op::LocksReturn { begin } | Op::LocksUnwind { begin } => each(*begin, Type::Int),
        _ => {}
    }
}

/// The type the written register must have, where the operation decides it.
fn written_type(op: &Op) -> Option<Type> {
    match op {
        Op::Int { .. }
        | Op::Compare { .. }
        | Op::ArrayLength { .. }
        | Op::InstanceOf { .. }
        | Op::LocksBegin { .. } => Some(Type::Int),
        Op::Long { .. } => Some(Type::Long),
        Op::Float { .. } => Some(Type::Float),
        Op::Double { .. } => Some(Type::Double),
        Op::Null { .. }
        | Op::OwnClass { .. }
        | Op::New { .. }
        | Op::NewPrimitiveArray { .. }
        | Op::NewArray { .. }
        | Op::NewMultiArray { .. }
        | Op::Caught { .. } => Some(Type::Ref),
        Op::Unary { op, .. } => Some(op.types().1),
        Op::GetField { kind, .. } | Op::GetStatic { kind, .. } | Op::ArrayLoad { kind, .. } => {
            Some(kind.register_type())
        }
        _ => None,
    }
}

fn check_types(function: &Function, op: &Op) -> Result<(), String> {
    let mut wrong = None;
    for_each_read(function, op, |reg, ty| {
        match function.registers.get(reg.0 as usize) {
            Some(&own) if own == ty => {}
            Some(&own) => wrong = Some(format!("{own:?} register read as {ty:?}")),
            None => wrong = Some("no such register".into()),
        }
    });
    if let Some(wrong) = wrong {
        return Err(wrong);
    }
    if let Some(dst) = op.written() {
        let own = function
            .registers
            .get(dst.0 as usize)
            .ok_or("no such register")?;
        if written_type(op).is_some_and(|ty| ty != *own) {
            return Err(format!("{own:?} register written by {op:?}"));
        }
    }
    let int_or_ref = |reg: &Reg| matches!(function.type_of(*reg), Type::Int | Type::Ref);
    match op {
        Op::Branch { condition, lhs, .. }
        | Op::BranchZero {
            condition,
            src: lhs,
            ..
        } => {
            let is_ordered = !matches!(condition, Condition::Equal | Condition::NotEqual);
            if !int_or_ref(lhs) || (is_ordered && function.type_of(*lhs) == Type::Ref) {
                return Err("branch on the wrong type".into());
            }
        }
        Op::Return { src } if src.is_some() != function.result.is_some() => {
            return Err("return does not match the result".into());
        }
        Op::FillArray { kind, data, .. }
            if *kind == MemoryKind::Ref || data.len() % (1 << kind.size_log2()) != 0 =>
        {
            return Err("data that is no whole elements".into());
        }
        Op::Binary { dst, .. } if function.type_of(*dst) == Type::Ref => {
            return Err("arithmetic on references".into());
        }
        _ => {}
    }
    Ok(())
}

/// A set of registers, 64 a word.
#[derive(Clone)]
struct RegSet(Sparse<u64>);

impl RegSet {
    fn new(count: usize) -> Self {
        Self(Sparse::new(count.div_ceil(64)))
    }

    fn word(&self, reg: Reg) -> u64 {
        self.0.get(reg.0 as usize / 64).copied().unwrap_or(0)
    }

    fn insert(&mut self, reg: Reg) {
        let (word, bit) = (self.word(reg), 1 << (reg.0 % 64));
        if word & bit == 0 {
            self.0.set(reg.0 as usize / 64, word | bit);
        }
    }

    fn contains(&self, reg: Reg) -> bool {
        self.word(reg) >> (reg.0 % 64) & 1 == 1
    }

    /// Keeps what is in both; says whether anything fell out.
    fn intersect(&mut self, other: &Self) -> bool {
        let both = |own: &u64, other: &u64| Some(own & other).filter(|it| it != own);
        self.0.join(&other.0, &both)
    }
}

fn check_written_before_read(function: &Function) -> Result<(), VerifyError> {
    let register_count = function.registers.len();
    let mut at_entry: Vec<Option<RegSet>> = vec![None; function.blocks.len()];
    let mut given = RegSet::new(register_count);
    for &param in &function.params {
        if param.0 as usize >= register_count {
            return Err(VerifyError {
                at: None,
                what: "no such register".into(),
            });
        }
        given.insert(param);
    }
    at_entry[0] = Some(given);
    let mut pending = Worklist::new(function);
    while let Some(id) = pending.pop() {
        let block = &function.blocks[id.0 as usize];
        let start = at_entry[id.0 as usize].clone();
        let start = start.expect("a pending block was reached");
        let mut written = start.clone();
        block
            .insts
            .iter()
            .filter_map(|inst| inst.op.written())
            .for_each(|reg| written.insert(reg));
        let mut flow = |target: BlockId, set: &RegSet| {
            let has_changed = match &mut at_entry[target.0 as usize] {
                Some(entry) => entry.intersect(set),
                empty => {
                    *empty = Some(set.clone());
                    true
                }
            };
            if has_changed {
                pending.push(target);
            }
        };
        if let Some(handler) = block.handler {
            // What is written when the first exception may come is written at every later one.
            let may_throw = |inst: &Inst| function.may_throw(&inst.op);
            let throwing = block.insts.iter().position(may_throw);
            if let Some(count) = throwing {
                let mut before = start.clone();
                let insts = &block.insts[..count];
                let registers = insts.iter().filter_map(|inst| inst.op.written());
                registers.for_each(|reg| before.insert(reg));
                flow(handler, &before);
            }
        }
        if let Some(last) = block.insts.last() {
            last.op.for_each_target(|target| flow(target, &written));
        }
    }
    check_reads(function, &at_entry)
}

fn check_reads(function: &Function, at_entry: &[Option<RegSet>]) -> Result<(), VerifyError> {
    for (block, entry) in function.blocks.iter().zip(at_entry) {
        let Some(mut written) = entry.clone() else {
            continue;
        };
        for inst in &block.insts {
            let mut unwritten = None;
            for_each_read(function, &inst.op, |reg, _| {
                if !written.contains(reg) {
                    unwritten = Some(reg);
                }
            });
            if let Some(reg) = unwritten {
                let what = format!("register {} read before it is written", reg.0);
                return Err(VerifyError {
                    at: Some(inst.at),
                    what,
                });
            }
            if let Some(dst) = inst.op.written() {
                written.insert(dst);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BinaryOp, Block, Inst};

    fn check(registers: &[Type], blocks: Vec<Vec<Op>>) -> Result<(), VerifyError> {
        let mut function = Function {
            registers: registers.to_vec(),
            ..Function::default()
        };
        for ops in blocks {
            let insts = ops.into_iter().map(|op| Inst { at: 0, op }).collect();
            function.blocks.push(Block {
                insts,
                handler: None,
            });
        }
        verify(&function)
    }

    #[test]
    fn a_reference_is_no_number() {
        let (r, i) = (Reg(0), Reg(1));
        let add = Op::Binary {
            op: BinaryOp::Add,
            dst: i,
            lhs: r,
            rhs: r,
        };
        let ops = vec![Op::Null { dst: r }, add, Op::Return { src: None }];
        assert!(check(&[Type::Ref, Type::Int], vec![ops]).is_err());
    }

    #[test]
    fn a_read_needs_a_write_on_every_path() {
        let i = Reg(0);
        let (one, two) = (BlockId(1), BlockId(2));
        let branch = |src| Op::BranchZero {
            condition: Condition::Equal,
            src,
            then: one,
            otherwise: two,
        };
        let entry = vec![
            Op::Int {
                dst: Reg(1),
                value: 0,
            },
            branch(Reg(1)),
        ];
        let write = vec![Op::Int { dst: i, value: 1 }, Op::Jump { target: two }];
        let read = vec![
            Op::Move {
                dst: Reg(1),
                src: i,
            },
            Op::Return { src: None },
        ];
        let wrong = check(&[Type::Int; 2], vec![entry, write, read]).unwrap_err();
        assert!(wrong.what.contains("before it is written"), "{wrong}");
    }

    #[test]
    fn blocks_end_in_terminators() {
        assert!(
            check(
                &[Type::Int],
                vec![vec![Op::Int {
                    dst: Reg(0),
                    value: 0
                }]]
            )
            .is_err()
        );
        assert!(check(&[], vec![vec![Op::Jump { target: BlockId(7) }]]).is_err());
        assert!(check(&[], vec![vec![Op::Return { src: None }]]).is_ok());
    }
}
