// SPDX-License-Identifier: Apache-2.0
//! Code of one method. Its frame is part of the file: arguments fit into registers, tries and
//! handlers lie in the code. Of its instructions the class depends: they decode, name registers and
//! indices that exist, and lead to instructions. What only control flow tells is left to `ir`: that
//! results are taken at once, and that nothing runs into a payload or off the end.

use crate::code::Code;
use crate::instruction::{Arguments, Instruction, Operands, Payload, Unit, decode};
use crate::opcode::{Opcode, Pool, WIDE_A, WIDE_B, WIDE_C};
use crate::{DexFile, Error, Fault};

/// Offset of the first code unit in a code_item.
const CODE_START: usize = 16;

/// What begins at a code unit.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Start {
    Nothing,
    Instruction,
    Payload,
    /// A switch's payload that a switch has claimed: targets are relative to one switch.
    Claimed,
}

struct Checker<'f, 'a> {
    file: &'f DexFile<'a>,
    code: &'f Code<'a>,
    offset: usize,
    starts: Vec<Start>,
}

/// What must hold of every code in a file.
pub(super) fn check_frame(file: &DexFile<'_>, code: &Code<'_>, offset: usize) -> Result<(), Error> {
    let checker = Checker::new(file, code, offset);
    if code.ins > code.registers {
        let text = format!(
            "{} words of arguments in {} registers",
            code.ins, code.registers
        );
        return Err(checker.wrong(0, text));
    }
    checker.frame_of_tries()
}

/// Says what is wrong with instructions in a frame that was checked.
pub(crate) fn check(file: &DexFile<'_>, code: &Code<'_>, offset: usize) -> Result<(), Error> {
    let mut checker = Checker::new(file, code, offset);
    checker.find_starts()?;
    for (pc, unit) in code.units() {
        if let Ok(Unit::Instruction(instruction)) = unit {
            checker.instruction(pc, &instruction)?;
        }
    }
    checker.tries()
}

impl<'f, 'a> Checker<'f, 'a> {
    fn new(file: &'f DexFile<'a>, code: &'f Code<'a>, offset: usize) -> Self {
        Self {
            file,
            code,
            offset,
            starts: Vec::new(),
        }
    }
}

impl Checker<'_, '_> {
    fn fault(&self, pc: usize, fault: Fault) -> Error {
        Error {
            offset: self.offset + CODE_START + pc * 2,
            item: "instruction",
            fault,
        }
    }

    fn wrong(&self, pc: usize, text: impl Into<String>) -> Error {
        self.fault(pc, Fault::Malformed(text.into()))
    }

    /// Everything decodes.
    fn find_starts(&mut self) -> Result<(), Error> {
        self.starts = vec![Start::Nothing; self.code.unit_count() as usize];
        for (pc, unit) in self.code.units() {
            let unit = unit.map_err(|it| self.wrong(pc, it.to_string()))?;
            match unit {
                Unit::Instruction(Instruction { opcode, .. }) => {
                    if opcode.since() > self.file.version() {
                        let text = format!("{} in version 0{}", opcode.name(), self.file.version());
                        return Err(self.wrong(pc, text));
                    }
                    self.starts[pc] = Start::Instruction;
                }
                Unit::Payload(_) if !pc.is_multiple_of(2) => {
                    return Err(self.wrong(pc, "a payload at an odd code unit"));
                }
                Unit::Payload(_) => self.starts[pc] = Start::Payload,
            }
        }
        Ok(())
    }

    fn instruction(&mut self, pc: usize, it: &Instruction) -> Result<(), Error> {
        let wide = it.opcode.wide();
        match it.operands {
            Operands::None => Ok(()),
            Operands::A { a } => self.register(pc, a, wide & WIDE_A),
            Operands::Ab { a, b } => {
                self.register(pc, a, wide & WIDE_A)?;
                self.register(pc, b, wide & WIDE_B)
            }
            Operands::Abc { a, b, c } => {
                self.register(pc, a, wide & WIDE_A)?;
                self.register(pc, b, wide & WIDE_B)?;
                self.register(pc, c, wide & WIDE_C)
            }
            Operands::Literal { a, .. } => self.register(pc, a, wide & WIDE_A),
            Operands::AbLiteral { a, b, .. } => {
                self.register(pc, a, 0)?;
                self.register(pc, b, 0)
            }
            Operands::Branch { offset } => {
                // Only the widest form may lead to itself.
                self.branch(pc, offset, it.opcode == Opcode::Goto32)
            }
            Operands::BranchA { a, offset } => {
                self.register(pc, a, 0)?;
                match it.opcode {
                    Opcode::PackedSwitch | Opcode::SparseSwitch | Opcode::FillArrayData => {
                        self.payload(pc, it.opcode, offset)
                    }
                    _ => self.branch(pc, offset, false),
                }
            }
            Operands::BranchAb { a, b, offset } => {
                self.register(pc, a, 0)?;
                self.register(pc, b, 0)?;
                self.branch(pc, offset, false)
            }
            Operands::Index { a, index } => {
                self.register(pc, a, wide & WIDE_A)?;
                self.index(pc, it.opcode.pool(), index)
            }
            Operands::AbIndex { a, b, index } => {
                self.register(pc, a, wide & WIDE_A)?;
                self.register(pc, b, 0)?;
                self.index(pc, it.opcode.pool(), index)
            }
            Operands::Call {
                arguments,
                index,
                proto,
            } => {
                self.arguments(pc, it.opcode, arguments)?;
                self.index(pc, it.opcode.pool(), index)?;
                proto.map_or(Ok(()), |proto| self.index(pc, Pool::Proto, proto))
            }
        }
    }

    fn register(&self, pc: usize, register: u16, wide: u8) -> Result<(), Error> {
        let last = u32::from(register) + u32::from(wide != 0);
        if last < u32::from(self.code.registers) {
            return Ok(());
        }
        let limit = self.code.registers.into();
        Err(self.fault(
            pc,
            Fault::Range {
                what: "register",
                value: last.into(),
                limit,
            },
        ))
    }

    fn arguments(&self, pc: usize, opcode: Opcode, arguments: Arguments) -> Result<(), Error> {
        if let Arguments::Range { first, count } = arguments
            && count > 0
        {
            // The last one decides, computed without wrapping.
            let last = u32::from(first) + u32::from(count) - 1;
            let last = u16::try_from(last).unwrap_or(u16::MAX);
            self.register(pc, last, 0)?;
        }
        for register in arguments.iter() {
            self.register(pc, register, 0)?;
        }
        let is_array = matches!(opcode, Opcode::FilledNewArray | Opcode::FilledNewArrayRange);
        if !is_array && u16::from(arguments.count()) > self.code.outs {
            let text = format!(
                "a call with {} words where the code reserves {}",
                arguments.count(),
                self.code.outs
            );
            return Err(self.wrong(pc, text));
        }
        Ok(())
    }

    fn index(&self, pc: usize, pool: Pool, index: u32) -> Result<(), Error> {
        let file = self.file;
        let (what, limit) = match pool {
            Pool::None => return Ok(()),
            Pool::String => ("string index", file.string_count()),
            Pool::Type => ("type index", file.type_count()),
            Pool::Field => ("field index", file.field_count()),
            Pool::Method | Pool::MethodAndProto => ("method index", file.method_count()),
            Pool::Proto => ("proto index", file.proto_count()),
            Pool::CallSite => ("call site index", file.call_site_count()),
            Pool::MethodHandle => ("method handle index", file.method_handle_count()),
        };
        if index < limit {
            return Ok(());
        }
        Err(self.fault(
            pc,
            Fault::Range {
                what,
                value: index.into(),
                limit: limit.into(),
            },
        ))
    }

    /// Where `offset` from `pc` leads, if anything begins there.
    fn target(&self, pc: usize, offset: i32) -> Option<(usize, Start)> {
        let target = usize::try_from(pc as i64 + i64::from(offset)).ok()?;
        Some((target, *self.starts.get(target)?))
    }

    fn branch(&self, pc: usize, offset: i32, may_stay: bool) -> Result<(), Error> {
        let is_good = matches!(self.target(pc, offset), Some((_, Start::Instruction)));
        if is_good && (offset != 0 || may_stay) {
            return Ok(());
        }
        Err(self.wrong(
            pc,
            format!("a jump by {offset} code units leads to no instruction"),
        ))
    }

    fn payload(&mut self, pc: usize, opcode: Opcode, offset: i32) -> Result<(), Error> {
        let found = match self.target(pc, offset) {
            Some((target, Start::Payload)) => Some(target),
            Some((_, Start::Claimed)) => {
                return Err(self.wrong(pc, "two switches share one payload"));
            }
            _ => None,
        };
        let payload = found.and_then(|it| match decode(self.code.instructions, it) {
            Ok(Unit::Payload(payload)) => Some((it, payload)),
            _ => None,
        });
        match (opcode, payload) {
            (Opcode::FillArrayData, Some((_, Payload::ArrayData { .. }))) => Ok(()),
            (Opcode::PackedSwitch, Some((at, it @ Payload::PackedSwitch { .. })))
            | (Opcode::SparseSwitch, Some((at, it @ Payload::SparseSwitch { .. }))) => {
                self.starts[at] = Start::Claimed;
                if opcode == Opcode::SparseSwitch && !it.keys().is_sorted_by(|a, b| a < b) {
                    return Err(self.fault(at, Fault::Order("keys of a sparse switch")));
                }
                it.targets()
                    .try_for_each(|offset| self.branch(pc, offset, false))
            }
            _ => Err(self.wrong(pc, format!("{} without its payload", opcode.name()))),
        }
    }

    /// Tries lie in the code, one behind the other, and so do handlers.
    fn frame_of_tries(&self) -> Result<(), Error> {
        let mut last_end = 0;
        for it in &self.code.tries {
            let (start, end) = (it.start as usize, it.start as usize + usize::from(it.count));
            if it.count == 0 || start < last_end {
                return Err(self.fault(
                    start,
                    Fault::Order("tries, not empty, one behind the other"),
                ));
            }
            last_end = end;
        }
        let size = self.code.unit_count();
        let handlers = &self.code.handlers;
        let all = handlers.iter().flat_map(|it| {
            let typed = it.typed.iter().map(|(_, address)| *address);
            typed.chain(it.catch_all)
        });
        if last_end > size as usize || all.clone().any(|address| address >= size) {
            return Err(self.wrong(size as usize, "a try or a handler lies outside of the code"));
        }
        Ok(())
    }

    fn tries(&self) -> Result<(), Error> {
        for it in &self.code.tries {
            let (start, end) = (it.start as usize, it.start as usize + usize::from(it.count));
            let begins = |at: usize| self.starts.get(at).is_some_and(|it| *it != Start::Nothing);
            if !begins(start) || (end != self.starts.len() && !begins(end)) {
                return Err(self.wrong(start, "a try does not begin and end at instructions"));
            }
        }
        for handlers in &self.code.handlers {
            let typed = handlers.typed.iter().copied();
            for (kind, address) in typed {
                self.index(address as usize, Pool::Type, kind)?;
                self.handler(address)?;
            }
            handlers.catch_all.map_or(Ok(()), |it| self.handler(it))?;
        }
        Ok(())
    }

    fn handler(&self, address: u32) -> Result<(), Error> {
        match self.starts.get(address as usize) {
            Some(Start::Instruction) => Ok(()),
            _ => Err(self.wrong(address as usize, "a handler that is no instruction")),
        }
    }
}
