// SPDX-License-Identifier: Apache-2.0
//! [`Symbols`]: what registers hold within one iteration of a loop.
//!
//! A register that nothing in the loop writes has the same value all the time. So have sums of
//! such, lengths of such arrays, and what is loaded from memory that the loop does not write. A
//! register that is written once is known by its value at the iteration's start.

use std::collections::HashMap;

use ir::{BinaryOp, BlockId, MemoryKind, Op, Reg, Type};
use rustc_hash::FxHashMap;

use super::graph::Loop;
use super::{Asked, FieldUse, Work};

/// What a register holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Symbol {
    Unknown,
    Int(i32),
    /// A value that stays, by number, and what is added to it.
    Same(u32, i32),
    /// What a register held at the iteration's start, and what is added to it.
    Start(Reg, i32),
    /// What a register held at the iteration's start, and a value that stays.
    StartAnd(Reg, u32),
}

/// A value that stays the same in the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Same {
    Reg(Reg),
    Length(u32),
    Element {
        array: u32,
        element: Symbol,
        kind: MemoryKind,
    },
    Field {
        object: u32,
        index: u32,
        kind: MemoryKind,
    },
    Static {
        index: u32,
        kind: MemoryKind,
    },
    Binary(BinaryOp, Symbol, Symbol),
}

/// See the module.
pub(super) struct Symbols {
    /// Values that stay, by number.
    pub(super) same: Vec<Same>,
    numbers: HashMap<Same, u32>,
    /// By register: how often the loop writes it.
    writes: FxHashMap<Reg, u32>,
    /// What each instruction of the loop writes, by block and place.
    written: FxHashMap<(BlockId, usize), Symbol>,
    /// The operands of array accesses, and of the head's test: array and index, or both sides.
    operands: FxHashMap<(BlockId, usize), (Symbol, Symbol)>,
    effects: Effects,
}

/// What the loop does to memory.
#[derive(Default)]
struct Effects {
    /// It may do anything.
    is_unknown: bool,
    elements: Vec<MemoryKind>,
    fields: Vec<MemoryKind>,
}

impl Effects {
    fn of(work: &Work, one: &Loop, asked: &mut dyn Asked) -> Self {
        let mut effects = Self::default();
        for inst in one.blocks.iter().flat_map(|&it| work.insts(it)) {
            effects.add(&inst.op, asked);
        }
        effects
    }

    fn add(&mut self, op: &Op, asked: &mut dyn Asked) {
        let mut field = |index: u32, is_static: bool, is_write: bool| {
            asked.is_plain(FieldUse {
                index,
                is_static,
                is_write,
            })
        };
        match *op {
            Op::ArrayStore { kind, .. } | Op::FillArray { kind, .. } => {
                self.elements.push(one_of_bytes(kind));
            }
            Op::GetField { index, .. } => self.is_unknown |= !field(index, false, false),
            Op::GetStatic { index, .. } => self.is_unknown |= !field(index, true, false),
            Op::PutField { index, kind, .. } => {
                self.is_unknown |= !field(index, false, true);
                self.fields.push(kind);
            }
            Op::PutStatic { index, kind, .. } => {
                self.is_unknown |= !field(index, true, true);
                self.fields.push(kind);
            }
            ref op if op.is_computation() => {}
            Op::ArrayLength { .. }
            | Op::ArrayLoad { .. }
            | Op::Caught { .. }
            | Op::Jump { .. }
            | Op::Branch { .. }
            | Op::BranchZero { .. }
            | Op::Switch { .. }
            | Op::Return { .. }
            | Op::Throw { .. } => {}
            _ => self.is_unknown = true,
        }
    }

    fn keeps_elements(&self, kind: MemoryKind) -> bool {
        !self.is_unknown && !self.elements.contains(&one_of_bytes(kind))
    }

    fn keeps_fields(&self, kind: MemoryKind) -> bool {
        !self.is_unknown && !self.fields.contains(&kind)
    }
}

/// Arrays of booleans are accessed as bytes too.
fn one_of_bytes(kind: MemoryKind) -> MemoryKind {
    match kind {
        MemoryKind::Boolean => MemoryKind::Byte,
        kind => kind,
    }
}

impl Symbols {
    pub(super) fn new(work: &Work, one: &Loop, asked: &mut dyn Asked) -> Self {
        let mut writes = FxHashMap::default();
        for inst in one.blocks.iter().flat_map(|&it| work.insts(it)) {
            if let Some(reg) = inst.op.written() {
                *writes.entry(reg).or_default() += 1;
            }
        }
        let mut symbols = Self {
            same: Vec::new(),
            numbers: HashMap::new(),
            writes,
            written: FxHashMap::default(),
            operands: FxHashMap::default(),
            effects: Effects::of(work, one, asked),
        };
        symbols.run(work, one);
        symbols
    }

    /// Whether the loop only computes, and reads and writes what is resolved.
    pub(super) fn is_simple(&self) -> bool {
        !self.effects.is_unknown
    }

    /// What an instruction of the loop writes.
    pub(super) fn written(&self, block: BlockId, place: usize) -> Symbol {
        let found = self.written.get(&(block, place)).copied();
        found.unwrap_or(Symbol::Unknown)
    }

    /// Array and index of an access, or the sides of a test.
    pub(super) fn operands(&self, block: BlockId, place: usize) -> Option<(Symbol, Symbol)> {
        self.operands.get(&(block, place)).copied()
    }

    /// How much a register grows or falls in each iteration, if it does so at one place.
    pub(super) fn step(&self, work: &Work, one: &Loop, reg: Reg) -> Option<Symbol> {
        if self.writes.get(&reg) != Some(&1) {
            return None;
        }
        for &block in &one.blocks {
            for (place, inst) in work.insts(block).iter().enumerate() {
                if inst.op.written() == Some(reg) {
                    return match self.written(block, place) {
                        Symbol::Start(of, step) if of == reg => Some(Symbol::Int(step)),
                        Symbol::StartAnd(of, step) if of == reg => Some(Symbol::Same(step, 0)),
                        _ => None,
                    };
                }
            }
        }
        None
    }

    fn run(&mut self, work: &Work, one: &Loop) {
        let mut ends: FxHashMap<BlockId, FxHashMap<Reg, Symbol>> = FxHashMap::default();
        for &block in &one.blocks {
            let mut known = self.start(work, one, block, &ends);
            for (place, inst) in work.insts(block).iter().enumerate() {
                self.inst(work, (block, place), &inst.op, &mut known);
            }
            ends.insert(block, known);
        }
    }

    /// What registers hold that the loop writes, where that is known at a block's start.
    fn start(
        &mut self,
        work: &Work,
        one: &Loop,
        block: BlockId,
        ends: &FxHashMap<BlockId, FxHashMap<Reg, Symbol>>,
    ) -> FxHashMap<Reg, Symbol> {
        if block == one.head {
            let once = self.writes.iter().filter(|(_, count)| **count == 1);
            return once.map(|(&reg, _)| (reg, Symbol::Start(reg, 0))).collect();
        }
        let mut known: Option<FxHashMap<Reg, Symbol>> = None;
        for &before in &one.blocks {
            if work.handler(before) == Some(block) {
                return FxHashMap::default();
            }
            let mut leads = false;
            work.last(before).for_each_target(|it| leads |= it == block);
            let Some(end) = ends.get(&before).filter(|_| leads) else {
                continue;
            };
            match &mut known {
                Some(known) => known.retain(|reg, symbol| end.get(reg) == Some(symbol)),
                None => known = Some(end.clone()),
            }
        }
        known.unwrap_or_default()
    }

    fn inst(
        &mut self,
        work: &Work,
        at: (BlockId, usize),
        op: &Op,
        known: &mut FxHashMap<Reg, Symbol>,
    ) {
        match *op {
            Op::ArrayLoad { array, element, .. } | Op::ArrayStore { array, element, .. } => {
                let operands = (self.held(array, known), self.held(element, known));
                self.operands.insert(at, operands);
            }
            Op::ArrayLength { array, .. } => {
                let array = self.held(array, known);
                self.operands.insert(at, (array, Symbol::Unknown));
            }
            Op::Branch { lhs, rhs, .. } => {
                let sides = (self.held(lhs, known), self.held(rhs, known));
                self.operands.insert(at, sides);
            }
            Op::BranchZero { src, .. } => {
                let src = self.held(src, known);
                self.operands.insert(at, (src, Symbol::Int(0)));
            }
            _ => {}
        }
        let Some(reg) = op.written() else {
            return;
        };
        let symbol = self.value(work, op, known);
        self.written.insert(at, symbol);
        known.insert(reg, symbol);
    }

    /// What a register holds.
    fn held(&mut self, reg: Reg, known: &FxHashMap<Reg, Symbol>) -> Symbol {
        if self.writes.contains_key(&reg) {
            return known.get(&reg).copied().unwrap_or(Symbol::Unknown);
        }
        self.number(Same::Reg(reg))
    }

    fn number(&mut self, same: Same) -> Symbol {
        let next = self.same.len() as u32;
        let number = *self.numbers.entry(same).or_insert(next);
        if number == next {
            self.same.push(same);
        }
        Symbol::Same(number, 0)
    }

    fn value(&mut self, work: &Work, op: &Op, known: &FxHashMap<Reg, Symbol>) -> Symbol {
        match *op {
            Op::Int { value, .. } => Symbol::Int(value),
            Op::Move { src, .. } => self.held(src, known),
            Op::Binary { op, dst, lhs, rhs } if work.function.type_of(dst) == Type::Int => {
                let (lhs, rhs) = (self.held(lhs, known), self.held(rhs, known));
                self.binary(op, lhs, rhs)
            }
            Op::ArrayLength { array, .. } => match self.held(array, known) {
                Symbol::Same(array, 0) => self.number(Same::Length(array)),
                _ => Symbol::Unknown,
            },
            Op::ArrayLoad {
                array,
                element,
                kind,
                ..
            } if self.effects.keeps_elements(kind) => {
                let element = self.held(element, known);
                match (self.held(array, known), element) {
                    (Symbol::Same(array, 0), Symbol::Int(_) | Symbol::Same(..)) => {
                        self.number(Same::Element {
                            array,
                            element,
                            kind,
                        })
                    }
                    _ => Symbol::Unknown,
                }
            }
            Op::GetField {
                object,
                index,
                kind,
                ..
            } if self.effects.keeps_fields(kind) => match self.held(object, known) {
                Symbol::Same(object, 0) => self.number(Same::Field {
                    object,
                    index,
                    kind,
                }),
                _ => Symbol::Unknown,
            },
            Op::GetStatic { index, kind, .. } if self.effects.keeps_fields(kind) => {
                self.number(Same::Static { index, kind })
            }
            _ => Symbol::Unknown,
        }
    }

    fn binary(&mut self, op: BinaryOp, lhs: Symbol, rhs: Symbol) -> Symbol {
        use Symbol::{Int, Same as Stays, Start, StartAnd};
        match (op, lhs, rhs) {
            (BinaryOp::Add, Int(one), Int(other)) => Int(one.wrapping_add(other)),
            (BinaryOp::Sub, Int(one), Int(other)) => Int(one.wrapping_sub(other)),
            (BinaryOp::Mul, Int(one), Int(other)) => Int(one.wrapping_mul(other)),
            (BinaryOp::Add, Stays(of, more), Int(int))
            | (BinaryOp::Add, Int(int), Stays(of, more)) => Stays(of, more.wrapping_add(int)),
            (BinaryOp::Sub, Stays(of, more), Int(int)) => Stays(of, more.wrapping_sub(int)),
            (BinaryOp::Add, Start(of, more), Int(int))
            | (BinaryOp::Add, Int(int), Start(of, more)) => Start(of, more.wrapping_add(int)),
            (BinaryOp::Sub, Start(of, more), Int(int)) => Start(of, more.wrapping_sub(int)),
            (BinaryOp::Add, Start(of, 0), Stays(same, 0))
            | (BinaryOp::Add, Stays(same, 0), Start(of, 0)) => StartAnd(of, same),
            (
                BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Shl,
                Stays(..) | Int(_),
                Stays(..) | Int(_),
            ) => self.number(Same::Binary(op, lhs, rhs)),
            _ => Symbol::Unknown,
        }
    }
}
