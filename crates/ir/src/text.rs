// SPDX-License-Identifier: Apache-2.0
//! Functions as text, for people: an instruction a line, behind its offset.
//!
//! Registers are `r3`, blocks `block3`, and `#12` is an index in the method's file. Types of
//! registers that are no parameters stand before the blocks. A load or store of `r1.#12` is of a
//! field, of `r1[r2]` of an array's element, and of `#12` of a static.

use core::fmt::{Debug, Display, Formatter, Result};

use crate::{Block, BlockId, Condition, Function, Op, Reg, Type};

impl Display for Reg {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "r{}", self.0)
    }
}

impl Display for BlockId {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "block{}", self.0)
    }
}

impl Display for Condition {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.write_str(match self {
            Condition::Equal => "==",
            Condition::NotEqual => "!=",
            Condition::Less => "<",
            Condition::GreaterEqual => ">=",
            Condition::Greater => ">",
            Condition::LessEqual => "<=",
        })
    }
}

impl Display for Function {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        write!(f, "{}", self.noted(|_, _| None))
    }
}

impl Function {
    /// As text with what `note` says: of a block, or of the instruction at a place in it.
    pub fn noted<N>(&self, note: N) -> impl Display
    where
        N: Fn(BlockId, Option<usize>) -> Option<String>,
    {
        let function = self;
        Noted { function, note }
    }
}

struct Noted<'a, N> {
    function: &'a Function,
    note: N,
}

impl<N: Fn(BlockId, Option<usize>) -> Option<String>> Display for Noted<'_, N> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        head(self.function, f)?;
        for (id, block) in (0..).map(BlockId).zip(&self.function.blocks) {
            write!(f, "{id}")?;
            if let Some(handler) = block.handler {
                write!(f, " handler {handler}")?;
            }
            f.write_str(":")?;
            self.block(id, block, f)?;
        }
        Ok(())
    }
}

impl<N: Fn(BlockId, Option<usize>) -> Option<String>> Noted<'_, N> {
    fn block(&self, id: BlockId, block: &Block, f: &mut Formatter<'_>) -> Result {
        self.end_line(id, None, f)?;
        for (place, inst) in block.insts.iter().enumerate() {
            write!(f, "{:6}: {}", inst.at, inst.op)?;
            self.end_line(id, Some(place), f)?;
        }
        Ok(())
    }

    fn end_line(&self, id: BlockId, place: Option<usize>, f: &mut Formatter<'_>) -> Result {
        if let Some(note) = (self.note)(id, place) {
            write!(f, "  ; {note}")?;
        }
        f.write_str("\n")
    }
}

/// Parameters and result, and what the other registers are.
fn head(function: &Function, f: &mut Formatter<'_>) -> Result {
    let params = function.params.iter().enumerate().map(|(place, reg)| {
        let is_receiver = place == 0 && function.has_receiver;
        let ty = function.registers.get(reg.0 as usize).map(Words);
        match ty.filter(|_| !is_receiver) {
            Some(ty) => format!("{ty} {reg}"),
            None => format!("this {reg}"),
        }
    });
    write!(f, "function ({})", params.collect::<Vec<_>>().join(", "))?;
    if let Some(result) = &function.result {
        write!(f, " -> {}", Words(result))?;
    }
    f.write_str("\n")?;
    for ty in [Type::Int, Type::Long, Type::Float, Type::Double, Type::Ref] {
        let all = (0..).map(Reg).zip(&function.registers);
        let own = all.filter(|(reg, own)| **own == ty && !function.params.contains(reg));
        let own: Vec<_> = own.map(|(reg, _)| format!(" {reg}")).collect();
        if !own.is_empty() {
            writeln!(f, "    {}{}", Words(&ty), own.concat())?;
        }
    }
    // Else nothing is made of them.
    if function.keeps_references {
        let variables = function.variables.iter();
        let variables: Vec<_> = variables.map(|(reg, it)| format!(" {reg}={it}")).collect();
        writeln!(f, "    keeps references{}", variables.concat())?;
    }
    Ok(())
}

/// A name in Rust's code as words: `IntToLong` is `int-to-long`.
struct Words<'a, T>(&'a T);

impl<T: Debug> Display for Words<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        for (place, letter) in format!("{:?}", self.0).char_indices() {
            if place > 0 && letter.is_uppercase() {
                f.write_str("-")?;
            }
            write!(f, "{}", letter.to_ascii_lowercase())?;
        }
        Ok(())
    }
}

/// Registers between commas.
struct List<'a>(&'a [Reg]);

impl Display for List<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let regs: Vec<_> = self.0.iter().map(Reg::to_string).collect();
        f.write_str(&regs.join(", "))
    }
}

impl Display for Op {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        if let Some(dst) = self.written() {
            write!(f, "{dst} = ")?;
        }
        match self {
            Op::Int { value, .. } => write!(f, "int {value}"),
            Op::Long { value, .. } => write!(f, "long {value}"),
            Op::Float { bits, .. } => write!(f, "float {:?}", f32::from_bits(*bits)),
            Op::Double { bits, .. } => write!(f, "double {:?}", f64::from_bits(*bits)),
            Op::Null { .. } => f.write_str("null"),
            Op::Load {
                constant, index, ..
            } => write!(f, "{} #{index}", Words(constant)),
            Op::OwnClass { .. } => f.write_str("own-class"),
            Op::Move { src, .. } => write!(f, "{src}"),
            Op::Unary { op, src, .. } => write!(f, "{} {src}", Words(op)),
            Op::Binary { op, lhs, rhs, .. } => write!(f, "{} {lhs}, {rhs}", Words(op)),
            Op::Compare { op, lhs, rhs, .. } => {
                write!(f, "compare {} {lhs}, {rhs}", Words(op))
            }
            Op::Invoke {
                kind, index, args, ..
            } => write!(f, "call {} #{index}({})", Words(kind), List(args)),
            Op::InvokeDynamic { index, args, .. } => {
                write!(f, "call dynamic #{index}({})", List(args))
            }
            Op::Caught { .. } => f.write_str("caught"),
            op if op.is_terminator() => terminator(op, f),
            op => access(op, f),
        }
    }
}

fn terminator(op: &Op, f: &mut Formatter<'_>) -> Result {
    match op {
        Op::Jump { target } => write!(f, "jump {target}"),
        Op::Branch {
            condition,
            lhs,
            rhs,
            then,
            otherwise,
        } => write!(f, "if {lhs} {condition} {rhs} {then} else {otherwise}"),
        Op::BranchZero {
            condition,
            src,
            then,
            otherwise,
        } => write!(f, "if {src} {condition} 0 {then} else {otherwise}"),
        Op::Switch {
            src,
            cases,
            default,
        } => {
            write!(f, "switch {src}")?;
            for (value, target) in cases {
                write!(f, " {value}: {target},")?;
            }
            write!(f, " else {default}")
        }
        Op::Return { src: None } => f.write_str("return"),
        Op::Return { src: Some(src) } => write!(f, "return {src}"),
        Op::Throw { src } => write!(f, "throw {src}"),
        other => write!(f, "{other:?}"),
    }
}

/// What reads or makes objects, and locks.
fn access(op: &Op, f: &mut Formatter<'_>) -> Result {
    match op {
        Op::GetField {
            object,
            index,
            kind,
            ..
        } => write!(f, "load {} {object}.#{index}", Words(kind)),
        Op::PutField {
            object,
            src,
            index,
            kind,
        } => write!(f, "store {} {object}.#{index} = {src}", Words(kind)),
        Op::GetStatic { index, kind, .. } => write!(f, "load {} #{index}", Words(kind)),
        Op::PutStatic { src, index, kind } => write!(f, "store {} #{index} = {src}", Words(kind)),
        Op::ArrayLength { array, .. } => write!(f, "length {array}"),
        Op::ArrayLoad {
            array,
            element,
            kind,
            ..
        } => write!(f, "load {} {array}[{element}]", Words(kind)),
        Op::ArrayStore {
            array,
            element,
            src,
            kind,
        } => write!(f, "store {} {array}[{element}] = {src}", Words(kind)),
        Op::FillArray {
            array,
            kind,
            first,
            data,
        } => {
            let count = data.len() >> kind.size_log2();
            write!(f, "fill {} {array}[{first}] {count}", Words(kind))
        }
        Op::New { index, .. } => write!(f, "new #{index}"),
        Op::NewPrimitiveArray { length, kind, .. } => {
            write!(f, "new-array {}[{length}]", Words(kind))
        }
        Op::NewArray { length, index, .. } => write!(f, "new-array #{index}[{length}]"),
        Op::NewMultiArray { lengths, index, .. } => {
            write!(f, "new-multi-array #{index}[{}]", List(lengths))
        }
        Op::CheckCast { object, index } => write!(f, "cast {object} #{index}"),
        Op::InstanceOf { object, index, .. } => write!(f, "instance-of {object} #{index}"),
        Op::CheckReceiver { object, index } => write!(f, "check-receiver {object} #{index}"),
        Op::MonitorEnter { object } => write!(f, "monitor-enter {object}"),
        Op::MonitorExit { object } => write!(f, "monitor-exit {object}"),
        Op::LocksBegin { .. } => f.write_str("locks-begin"),
        Op::LockNoted { object } => write!(f, "lock-noted {object}"),
        Op::UnlockNoted { object, begin } => write!(f, "unlock-noted {object}, {begin}"),
        Op::LocksReturn { begin } => write!(f, "locks-return {begin}"),
        Op::LocksUnwind { begin } => write!(f, "locks-unwind {begin}"),
        other => write!(f, "{other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Inst, InvokeKind, MemoryKind};

    #[test]
    fn a_function_has_a_head_and_blocks() {
        let mut function = Function::default();
        let [object, number] = [Type::Ref, Type::Int].map(|ty| function.register(ty));
        let [found, caught] = [Type::Int, Type::Ref].map(|ty| function.register(ty));
        function.params = vec![object, number];
        function.has_receiver = true;
        function.result = Some(Type::Int);
        let [entry, next, handler] = [(); 3].map(|()| function.block());
        let load = Op::GetField {
            dst: found,
            object,
            index: 12,
            kind: MemoryKind::Short,
        };
        let branch = Op::Branch {
            condition: Condition::LessEqual,
            lhs: found,
            rhs: number,
            then: next,
            otherwise: next,
        };
        let call = Op::Invoke {
            kind: InvokeKind::Virtual,
            dst: Some(found),
            index: 3,
            args: vec![object, number],
        };
        let all = [
            (entry, vec![load, branch]),
            (next, vec![call, Op::Return { src: Some(found) }]),
            (
                handler,
                vec![Op::Caught { dst: caught }, Op::Throw { src: caught }],
            ),
        ];
        for (block, ops) in all {
            let insts = (7..).zip(ops).map(|(at, op)| Inst { at, op });
            function.blocks[block.0 as usize].insts = insts.collect();
        }
        function.blocks[0].handler = Some(handler);
        let expected = "\
function (this r0, int r1) -> int
    int r2
    ref r3
block0 handler block2:
     7: r2 = load short r0.#12
     8: if r2 <= r1 block1 else block1
block1:  ; here
     7: r2 = call virtual #3(r0, r1)
     8: return r2  ; end
block2:
     7: r3 = caught
     8: throw r3
";
        let note = |block, place| match (block, place) {
            (BlockId(1), None) => Some("here".to_owned()),
            (BlockId(1), Some(1)) => Some("end".to_owned()),
            _ => None,
        };
        assert_eq!(function.noted(note).to_string(), expected);
        let plain = expected.replace("  ; here", "").replace("  ; end", "");
        assert_eq!(function.to_string(), plain);
    }
}
