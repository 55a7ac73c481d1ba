// SPDX-License-Identifier: Apache-2.0
//! Code of a method: registers, instructions, tries and their handlers.

use crate::cursor::{Cursor, VERIFIED};
use crate::debug::DebugInfo;
use crate::instruction::Units;
use crate::{DexFile, Error};

/// A code_item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code<'a> {
    /// Registers in all.
    pub registers: u16,
    /// Of these, the last hold the arguments.
    pub ins: u16,
    /// Registers that the largest call hands over.
    pub outs: u16,
    /// Little-endian code units.
    pub instructions: &'a [u8],
    /// Guarded ranges, in order.
    pub tries: Vec<Try>,
    /// Handlers of the tries.
    pub handlers: Vec<Handlers>,
    pub(crate) debug_offset: u32,
}

/// A guarded range of code units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Try {
    /// The first unit.
    pub start: u32,
    /// How many units.
    pub count: u16,
    /// Index into [`Code::handlers`].
    pub handlers: usize,
}

/// What catches in a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handlers {
    /// Offset from the start of the list, by which tries name it.
    pub(crate) offset: u32,
    /// Type index and code unit, asked in order.
    pub typed: Vec<(u32, u32)>,
    /// Code unit of the handler for everything else.
    pub catch_all: Option<u32>,
}

impl<'a> Code<'a> {
    pub(crate) fn parse(at: &mut Cursor<'a>) -> Result<Self, Error> {
        let registers = at.u16("number of registers")?;
        let ins = at.u16("number of arguments")?;
        let outs = at.u16("number of outgoing arguments")?;
        let try_count = at.u16("number of tries")?;
        let debug_offset = at.u32("debug info offset")?;
        let unit_count = at.u32("number of code units")?;
        let size = (unit_count as usize).saturating_mul(2);
        let instructions = at.take(size, "instructions")?;
        let mut code = Self {
            registers,
            ins,
            outs,
            instructions,
            tries: Vec::new(),
            handlers: Vec::new(),
            debug_offset,
        };
        if try_count > 0 {
            if !unit_count.is_multiple_of(2) && at.u16("padding")? != 0 {
                return Err(at.malformed("padding that is not zero"));
            }
            code.parse_tries(at, try_count)?;
        }
        Ok(code)
    }

    fn parse_tries(&mut self, at: &mut Cursor<'a>, count: u16) -> Result<(), Error> {
        let mut raw = Vec::new();
        for _ in 0..count {
            let start = at.u32("start of a try")?;
            raw.push((start, at.u16("length of a try")?, at.u16("handler offset")?));
        }
        let list = at.offset();
        let handler_count = at.uleb("number of handlers")?;
        for _ in 0..handler_count {
            let offset = (at.offset() - list) as u32;
            self.handlers.push(Handlers::parse(at, offset)?);
        }
        for (start, count, offset) in raw {
            // In file order, hence sorted.
            let found = self
                .handlers
                .binary_search_by_key(&u32::from(offset), |it| it.offset);
            let handlers = found.map_err(|_| {
                at.malformed(format!(
                    "a try names the handler at {offset:#x}, where none begins"
                ))
            })?;
            self.tries.push(Try {
                start,
                count,
                handlers,
            });
        }
        Ok(())
    }

    /// How many code units.
    pub fn unit_count(&self) -> u32 {
        (self.instructions.len() / 2) as u32
    }

    /// Instructions and payloads from the first on.
    pub fn units(&self) -> Units<'a> {
        Units::new(self.instructions)
    }

    /// Lines and local variables, if the compiler kept them.
    pub fn debug_info(&self, file: &DexFile<'a>) -> Option<DebugInfo<'a>> {
        if self.debug_offset == 0 {
            return None;
        }
        let at = Cursor::new(file.bytes, self.debug_offset as usize, "debug_info_item");
        Some(DebugInfo::parse(at).expect(VERIFIED))
    }
}

impl Handlers {
    fn parse(at: &mut Cursor<'_>, offset: u32) -> Result<Self, Error> {
        let count = at.sleb("number of typed handlers")?;
        let mut typed = Vec::new();
        for _ in 0..count.unsigned_abs() {
            let kind = at.uleb("caught type")?;
            typed.push((kind, at.uleb("handler address")?));
        }
        let catch_all = if count <= 0 {
            Some(at.uleb("handler address")?)
        } else {
            None
        };
        Ok(Self {
            offset,
            typed,
            catch_all,
        })
    }
}
