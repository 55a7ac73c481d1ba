// SPDX-License-Identifier: Apache-2.0
//! Structured locking (JVM specification, 2.11.10): a method that ends gives back what it locked,
//! and no more.
//!
//! [`structure`] proves that by a data flow over the locks that are held and the registers that
//! name them. Compilers of Java make no other code. A method without a proof notes its locks when
//! it runs, and what it does with them throws IllegalMonitorStateException where it must.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::worklist::Worklist;
use crate::{Block, BlockId, Function, Inst, Op, Reg, Type};

/// Held locks, the first one first: registers that certainly hold each one's object.
type Held = Vec<BTreeSet<Reg>>;

/// Locks held at once, and names looked at, beyond which there is no proof: nobody's code comes
/// near, and without one the method runs all the same.
const HELD_MAX: usize = 64;
const STEPS_MAX: usize = 1 << 22;

/// What the data flow could not prove.
struct Unproven;

/// Leaves a function alone that is proven or locks nothing; any other one notes its locks from here
/// on.
pub(crate) fn structure(function: &mut Function) {
    let is_lock = |inst: &Inst| matches!(inst.op, Op::MonitorEnter { .. } | Op::MonitorExit { .. });
    let has_locks = function
        .blocks
        .iter()
        .any(|it| it.insts.iter().any(is_lock));
    if has_locks && Proof::new(function).run().is_err() {
        note(function);
    }
}

struct Proof<'a> {
    function: &'a Function,
    entries: Vec<Option<Held>>,
    pending: Worklist,
    /// Names looked at so far.
    steps: usize,
}

impl<'a> Proof<'a> {
    fn new(function: &'a Function) -> Self {
        let mut entries = vec![None; function.blocks.len()];
        entries[0] = Some(Held::new());
        Self {
            function,
            entries,
            pending: Worklist::new(function),
            steps: 0,
        }
    }

    fn run(mut self) -> Result<(), Unproven> {
        while let Some(id) = self.pending.pop() {
            self.block(id)?;
        }
        Ok(())
    }

    fn block(&mut self, id: BlockId) -> Result<(), Unproven> {
        let block = &self.function.blocks[id.0 as usize];
        let mut held = self.entries[id.0 as usize]
            .clone()
            .expect("a pending block was reached");
        let mut copies = Copies::default();
        for Inst { op, .. } in &block.insts {
            match op {
                // What is held can be given back: nothing is thrown.
                Op::MonitorExit { object } => {
                    let at = held.iter().rposition(|names| names.contains(object));
                    held.remove(at.ok_or(Unproven)?);
                    continue;
                }
                _ if !op.may_throw() => {}
                _ => match block.handler {
                    Some(handler) => self.flow(handler, &held)?,
                    None if held.is_empty() => {}
                    None => return Err(Unproven),
                },
            }
            match op {
                Op::MonitorEnter { object } => held.push(copies.of(*object)),
                _ => rename(&mut held, op),
            }
            self.steps += held.len() + 1;
            if held.len() > HELD_MAX || self.steps > STEPS_MAX {
                return Err(Unproven);
            }
            copies.step(op);
            if matches!(op, Op::Return { .. }) && !held.is_empty() {
                return Err(Unproven);
            }
        }
        let mut targets = Vec::new();
        if let Some(last) = block.insts.last() {
            last.op.for_each_target(|target| targets.push(target));
        }
        targets
            .into_iter()
            .try_for_each(|target| self.flow(target, &held))
    }

    fn flow(&mut self, target: BlockId, held: &Held) -> Result<(), Unproven> {
        let entry = &mut self.entries[target.0 as usize];
        let has_changed = match entry {
            None => {
                *entry = Some(held.clone());
                true
            }
            Some(entry) if entry.len() != held.len() => return Err(Unproven),
            Some(entry) => {
                let mut has_changed = false;
                for (own, new) in entry.iter_mut().zip(held) {
                    let count = own.len();
                    self.steps += count;
                    own.retain(|name| new.contains(name));
                    has_changed |= own.len() != count;
                }
                has_changed
            }
        };
        if has_changed {
            self.pending.push(target);
        }
        if self.steps > STEPS_MAX {
            return Err(Unproven);
        }
        Ok(())
    }
}

/// Registers of one block that hold the same object, by its moves so far.
#[derive(Default)]
struct Copies {
    of: FxHashMap<Reg, usize>,
    all: Vec<BTreeSet<Reg>>,
}

impl Copies {
    fn of(&self, reg: Reg) -> BTreeSet<Reg> {
        match self.of.get(&reg) {
            Some(&number) => self.all[number].clone(),
            None => BTreeSet::from([reg]),
        }
    }

    fn step(&mut self, op: &Op) {
        let Some(dst) = op.written() else {
            return;
        };
        let source = match *op {
            Op::Move { src, .. } if src == dst => return,
            Op::Move { src, .. } => Some(*self.of.entry(src).or_insert_with(|| {
                self.all.push(BTreeSet::from([src]));
                self.all.len() - 1
            })),
            _ => None,
        };
        if let Some(number) = self.of.remove(&dst) {
            self.all[number].remove(&dst);
        }
        if let Some(number) = source {
            self.of.insert(dst, number);
            self.all[number].insert(dst);
        }
    }
}

/// What an operation does to the names of objects.
fn rename(all: &mut [BTreeSet<Reg>], op: &Op) {
    for names in all {
        match *op {
            Op::Move { dst, src } if names.contains(&src) => {
                names.insert(dst);
            }
            _ => {
                if let Some(dst) = op.written() {
                    names.remove(&dst);
                }
            }
        }
    }
}

/// Has the function note its locks, and give back what is left of them when an exception ends it.
fn note(function: &mut Function) {
    let begin = function.register(Type::Int);
    let mut returns = Vec::new();
    let count = function.blocks.len();
    for existing in &mut function.blocks {
        for Inst { op, .. } in &mut existing.insts {
            match *op {
                Op::MonitorEnter { object } => *op = Op::LockNoted { object },
                Op::MonitorExit { object } => *op = Op::UnlockNoted { object, begin },
                // Behind all handlers: they need not know of what is thrown there.
                Op::Return { .. } => {
                    let target = BlockId((count + returns.len()) as u32);
                    let op = core::mem::replace(op, Op::Jump { target });
                    returns.push(block(vec![Op::LocksReturn { begin }, op]));
                }
                _ => {}
            }
        }
    }
    function.blocks.append(&mut returns);
    let unwind = function.block();
    for block in &mut function.blocks {
        block.handler = block.handler.or(Some(unwind));
    }
    let caught = function.register(Type::Ref);
    function.blocks[unwind.0 as usize] = block(vec![
        Op::Caught { dst: caught },
        Op::LocksUnwind { begin },
        Op::Throw { src: caught },
    ]);
    let target = function.block();
    function.blocks.swap(0, target.0 as usize);
    function.blocks[0] = block(vec![Op::LocksBegin { dst: begin }, Op::Jump { target }]);
}

fn block(ops: Vec<Op>) -> Block {
    Block {
        insts: ops.into_iter().map(|op| Inst { at: 0, op }).collect(),
        handler: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OBJECT: Reg = Reg(0);
    const OTHER: Reg = Reg(1);
    const ENTER: Op = Op::MonitorEnter { object: OBJECT };
    const EXIT: Op = Op::MonitorExit { object: OBJECT };
    const RETURN: Op = Op::Return { src: None };

    fn is_proven(blocks: &[(&[Op], Option<u32>)]) -> bool {
        let mut function = Function {
            registers: vec![Type::Ref, Type::Ref],
            params: vec![OBJECT, OTHER],
            ..Function::default()
        };
        for (ops, handler) in blocks {
            let insts = ops.iter().cloned().map(|op| Inst { at: 0, op }).collect();
            let handler = handler.map(BlockId);
            function.blocks.push(Block { insts, handler });
        }
        structure(&mut function);
        crate::verify(&function).expect("what comes out verifies");
        !function.notes_locks()
    }

    #[test]
    fn balanced_locks_are_proven() {
        let name = Op::Move {
            dst: OTHER,
            src: OBJECT,
        };
        let exit_other = Op::MonitorExit { object: OTHER };
        assert!(is_proven(&[(&[ENTER, EXIT, RETURN], None)]));
        let before = [name.clone(), ENTER, exit_other.clone(), RETURN];
        assert!(is_proven(&[(&before, None)]));
        assert!(is_proven(&[(&[ENTER, name, exit_other, RETURN], None)]));
    }

    #[test]
    fn what_leaves_a_lock_or_takes_anothers_is_noted() {
        let exit_other = Op::MonitorExit { object: OTHER };
        let forget = Op::Null { dst: OBJECT };
        assert!(!is_proven(&[(&[ENTER, RETURN], None)]));
        assert!(!is_proven(&[(&[EXIT, RETURN], None)]));
        assert!(!is_proven(&[(&[ENTER, EXIT, EXIT, RETURN], None)]));
        assert!(!is_proven(&[(&[ENTER, exit_other, RETURN], None)]));
        assert!(!is_proven(&[(&[ENTER, forget, EXIT, RETURN], None)]));
    }

    #[test]
    fn an_exception_keeps_what_was_held_before_its_instruction() {
        let size = Op::ArrayLength {
            dst: Reg(2),
            array: OTHER,
        };
        let caught = Op::Caught { dst: OTHER };
        let throw = Op::Throw { src: OTHER };
        let jump = Op::Jump { target: BlockId(1) };
        let check = |handler: &[Op], covers: Option<u32>| {
            let mut function = Function {
                registers: vec![Type::Ref, Type::Ref, Type::Int],
                params: vec![OBJECT, OTHER],
                ..Function::default()
            };
            let lists = [
                (&[ENTER, jump.clone()][..], None),
                (&[size.clone(), EXIT, RETURN], covers),
                (handler, None),
            ];
            for (ops, handler) in lists {
                let insts = ops.iter().cloned().map(|op| Inst { at: 0, op }).collect();
                let handler = handler.map(BlockId);
                function.blocks.push(Block { insts, handler });
            }
            structure(&mut function);
            crate::verify(&function).expect("what comes out verifies");
            !function.notes_locks()
        };
        assert!(check(&[caught.clone(), EXIT, throw.clone()], Some(2)));
        assert!(!check(&[caught.clone(), throw.clone()], Some(2)));
        assert!(!check(&[caught, EXIT, throw], None));
    }
}
