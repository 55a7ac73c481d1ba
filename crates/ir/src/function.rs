// SPDX-License-Identifier: Apache-2.0
//! A method in IR.

use crate::{Inst, Op, Type};

/// A register: written any number of times, always of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reg(pub u32);

/// A block by its place in [`Function::blocks`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockId(pub u32);

/// Straight-line code; the last instruction is the only one that jumps.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// Instructions, ended by a terminator.
    pub insts: Vec<Inst>,
    /// Where an exception raised in here goes. That block starts with `Caught`.
    pub handler: Option<BlockId>,
}

/// One method. Block 0 is the entry and nothing jumps to it.
#[derive(Clone, Debug, Default)]
pub struct Function {
    /// Registers that hold the arguments on entry, receiver first.
    pub params: Vec<Reg>,
    /// Type of the result.
    pub result: Option<Type>,
    /// Type of every register.
    pub registers: Vec<Type>,
    /// All blocks.
    pub blocks: Vec<Block>,
    /// Whether the first parameter is a receiver, and so never null.
    pub has_receiver: bool,
    /// Registers that stand for a variable of the source, and its number: a register of DEX, or a
    /// class file's local. A long or double takes the next one too.
    pub variables: Vec<(Reg, u32)>,
    /// Whether a reference lives until its variable is written again or the method is left, as on
    /// ART; or else until nothing reads it any more.
    pub keeps_references: bool,
}

impl Function {
    /// Whether it notes its locks: no proof was found that it gives back what it takes (`locks`).
    pub fn notes_locks(&self) -> bool {
        let entry = self.blocks.first().map_or(&[][..], |it| &it.insts);
        let begins = |inst: &Inst| matches!(inst.op, Op::LocksBegin { .. });
        entry.iter().any(begins)
    }

    /// Adds a register.
    pub fn register(&mut self, ty: Type) -> Reg {
        self.registers.push(ty);
        Reg(self.registers.len() as u32 - 1)
    }

    /// Adds an empty block.
    pub fn block(&mut self) -> BlockId {
        self.blocks.push(Block::default());
        BlockId(self.blocks.len() as u32 - 1)
    }

    /// The type of `reg`.
    ///
    /// # Panics
    /// When `reg` is not of this function.
    pub fn type_of(&self, reg: Reg) -> Type {
        self.registers[reg.0 as usize]
    }

    /// As [`Op::may_throw`], by the types as well: a quotient of floats or doubles never throws.
    pub fn may_throw(&self, op: &Op) -> bool {
        let is_fraction = |dst| matches!(self.type_of(dst), Type::Float | Type::Double);
        match *op {
            Op::Binary { dst, .. } if is_fraction(dst) => false,
            _ => op.may_throw(),
        }
    }
}
