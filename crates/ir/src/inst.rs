// SPDX-License-Identifier: Apache-2.0
//! Instructions.

use crate::{BlockId, MemoryKind, Reg, Type};

/// One instruction and where it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Inst {
    /// Bytecode offset or DEX code unit: line tables and stack traces use it.
    pub at: u32,
    /// What it does.
    pub op: Op,
}

/// Operations on one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it: from To to, as in Java")]
pub enum UnaryOp {
    IntNeg,
    LongNeg,
    FloatNeg,
    DoubleNeg,
    IntToByte,
    IntToChar,
    IntToShort,
    IntToLong,
    IntToFloat,
    IntToDouble,
    LongToInt,
    LongToFloat,
    LongToDouble,
    FloatToInt,
    FloatToLong,
    FloatToDouble,
    DoubleToInt,
    DoubleToLong,
    DoubleToFloat,
}

/// Operations on two values of one type; shifts take an int on the right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Shl,
    Shr,
    Ushr,
    And,
    Or,
    Xor,
}

/// Comparisons that give -1, 0 or 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompareOp {
    /// Of longs.
    Long,
    /// Of floats or doubles; not-a-number gives -1.
    NanLess,
    /// Of floats or doubles; not-a-number gives 1.
    NanGreater,
}

/// Conditions of a branch; on references only `Equal` and `NotEqual`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Condition {
    Equal,
    NotEqual,
    Less,
    GreaterEqual,
    Greater,
    LessEqual,
}

/// How the callee is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are the format's own")]
pub enum InvokeKind {
    Static,
    Special,
    Virtual,
    Interface,
}

/// What a loaded constant is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LoadedConstant {
    /// A string literal.
    String,
    /// A class object.
    Class,
    /// A method handle, method type or computed constant.
    Computed,
}

/// An operation. `index` is in the tables of the file the method came from.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "fields are named for what they hold")]
pub enum Op {
    Int {
        dst: Reg,
        value: i32,
    },
    Long {
        dst: Reg,
        value: i64,
    },
    Float {
        dst: Reg,
        bits: u32,
    },
    Double {
        dst: Reg,
        bits: u64,
    },
    Null {
        dst: Reg,
    },
    /// A constant that may need resolving, and so may throw.
    Load {
        dst: Reg,
        constant: LoadedConstant,
        index: u32,
    },
    /// The class object of the method's own class.
    OwnClass {
        dst: Reg,
    },
    Move {
        dst: Reg,
        src: Reg,
    },
    Unary {
        op: UnaryOp,
        dst: Reg,
        src: Reg,
    },
    Binary {
        op: BinaryOp,
        dst: Reg,
        lhs: Reg,
        rhs: Reg,
    },
    Compare {
        op: CompareOp,
        dst: Reg,
        lhs: Reg,
        rhs: Reg,
    },
    GetField {
        dst: Reg,
        object: Reg,
        index: u32,
        kind: MemoryKind,
    },
    PutField {
        object: Reg,
        src: Reg,
        index: u32,
        kind: MemoryKind,
    },
    GetStatic {
        dst: Reg,
        index: u32,
        kind: MemoryKind,
    },
    PutStatic {
        src: Reg,
        index: u32,
        kind: MemoryKind,
    },
    ArrayLength {
        dst: Reg,
        array: Reg,
    },
    /// `Byte` also loads from boolean arrays.
    ArrayLoad {
        dst: Reg,
        array: Reg,
        element: Reg,
        kind: MemoryKind,
    },
    ArrayStore {
        array: Reg,
        element: Reg,
        src: Reg,
        kind: MemoryKind,
    },
    /// Sets primitive elements from the one at `first` on, as `data` has them in memory; none if
    /// not all are there.
    FillArray {
        array: Reg,
        kind: MemoryKind,
        first: u32,
        data: Vec<u8>,
    },
    New {
        dst: Reg,
        index: u32,
    },
    NewPrimitiveArray {
        dst: Reg,
        length: Reg,
        kind: MemoryKind,
    },
    /// `index` names the element class.
    NewArray {
        dst: Reg,
        length: Reg,
        index: u32,
    },
    /// `index` names the array class.
    NewMultiArray {
        dst: Reg,
        lengths: Vec<Reg>,
        index: u32,
    },
    CheckCast {
        object: Reg,
        index: u32,
    },
    InstanceOf {
        dst: Reg,
        object: Reg,
        index: u32,
    },
    /// In an interface's code, before a call that chooses nothing by the receiver: throws
    /// IllegalAccessError unless that is null or of the interface, which `index` names.
    CheckReceiver {
        object: Reg,
        index: u32,
    },
    MonitorEnter {
        object: Reg,
    },
    MonitorExit {
        object: Reg,
    },
    /// In a method that notes its locks: how many the thread has noted so far.
    LocksBegin {
        dst: Reg,
    },
    /// As `MonitorEnter`, noted.
    LockNoted {
        object: Reg,
    },
    /// As `MonitorExit` if the object was noted since `begin`; else throws
    /// IllegalMonitorStateException.
    UnlockNoted {
        object: Reg,
        begin: Reg,
    },
    /// Throws IllegalMonitorStateException if a lock noted since `begin` is held.
    LocksReturn {
        begin: Reg,
    },
    /// Gives back the locks noted since `begin`; throws IllegalMonitorStateException if there is
    /// one.
    LocksUnwind {
        begin: Reg,
    },
    Invoke {
        kind: InvokeKind,
        dst: Option<Reg>,
        index: u32,
        args: Vec<Reg>,
    },
    InvokeDynamic {
        dst: Option<Reg>,
        index: u32,
        args: Vec<Reg>,
    },
    /// First in a handler block: the exception that led here.
    Caught {
        dst: Reg,
    },
    Jump {
        target: BlockId,
    },
    /// Compares ints or references.
    Branch {
        condition: Condition,
        lhs: Reg,
        rhs: Reg,
        then: BlockId,
        otherwise: BlockId,
    },
    /// Compares an int with zero or a reference with null.
    BranchZero {
        condition: Condition,
        src: Reg,
        then: BlockId,
        otherwise: BlockId,
    },
    Switch {
        src: Reg,
        cases: Vec<(i32, BlockId)>,
        default: BlockId,
    },
    Return {
        src: Option<Reg>,
    },
    Throw {
        src: Reg,
    },
}

impl Op {
    /// The register written, if any.
    pub fn written(&self) -> Option<Reg> {
        use Op::*;
        match *self {
            Int { dst, .. }
            | Long { dst, .. }
            | Float { dst, .. }
            | Double { dst, .. }
            | Null { dst }
            | Load { dst, .. }
            | OwnClass { dst }
            | Move { dst, .. }
            | Unary { dst, .. }
            | Binary { dst, .. }
            | Compare { dst, .. }
            | GetField { dst, .. }
            | GetStatic { dst, .. }
            | ArrayLength { dst, .. }
            | ArrayLoad { dst, .. }
            | New { dst, .. }
            | NewPrimitiveArray { dst, .. }
            | NewArray { dst, .. }
            | NewMultiArray { dst, .. }
            | InstanceOf { dst, .. }
            | LocksBegin { dst }
            | Caught { dst } => Some(dst),
            Invoke { dst, .. } | InvokeDynamic { dst, .. } => dst,
            _ => None,
        }
    }

    /// Calls `each` with every block this may jump to.
    pub fn for_each_target(&self, mut each: impl FnMut(BlockId)) {
        match self {
            Op::Jump { target } => each(*target),
            Op::Branch {
                then, otherwise, ..
            }
            | Op::BranchZero {
                then, otherwise, ..
            } => {
                each(*then);
                each(*otherwise);
            }
            Op::Switch { cases, default, .. } => {
                cases.iter().for_each(|&(_, target)| each(target));
                each(*default);
            }
            _ => {}
        }
    }

    /// Whether this computes a register of registers and constants, and does nothing else.
    pub fn is_computation(&self) -> bool {
        matches!(
            self,
            Op::Int { .. }
                | Op::Long { .. }
                | Op::Float { .. }
                | Op::Double { .. }
                | Op::Null { .. }
                | Op::OwnClass { .. }
                | Op::Move { .. }
                | Op::Unary { .. }
                | Op::Binary { .. }
                | Op::Compare { .. }
        )
    }

    /// Whether this may throw; what cannot never leads to the block's handler.
    pub fn may_throw(&self) -> bool {
        use BinaryOp::{Div, Rem};
        match self {
            Op::Binary { op, .. } => matches!(op, Div | Rem),
            Op::LocksBegin { .. } | Op::Caught { .. } | Op::Return { .. } => false,
            op if op.is_computation() => false,
            op => !op.is_terminator() || matches!(op, Op::Throw { .. }),
        }
    }

    /// Whether this ends a block.
    pub fn is_terminator(&self) -> bool {
        matches!(
            self,
            Op::Jump { .. }
                | Op::Branch { .. }
                | Op::BranchZero { .. }
                | Op::Switch { .. }
                | Op::Return { .. }
                | Op::Throw { .. }
        )
    }
}

impl UnaryOp {
    /// Type taken and type given.
    pub fn types(self) -> (Type, Type) {
        use Type::{Double, Float, Int, Long};
        use UnaryOp as U;
        match self {
            U::IntNeg | U::IntToByte | U::IntToChar | U::IntToShort => (Int, Int),
            U::LongNeg => (Long, Long),
            U::FloatNeg => (Float, Float),
            U::DoubleNeg => (Double, Double),
            U::IntToLong => (Int, Long),
            U::IntToFloat => (Int, Float),
            U::IntToDouble => (Int, Double),
            U::LongToInt => (Long, Int),
            U::LongToFloat => (Long, Float),
            U::LongToDouble => (Long, Double),
            U::FloatToInt => (Float, Int),
            U::FloatToLong => (Float, Long),
            U::FloatToDouble => (Float, Double),
            U::DoubleToInt => (Double, Int),
            U::DoubleToLong => (Double, Long),
            U::DoubleToFloat => (Double, Float),
        }
    }
}
