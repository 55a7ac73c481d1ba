// SPDX-License-Identifier: Apache-2.0
//! Debug information: which line a code unit comes from, and the names of parameters.

use crate::cursor::Cursor;
use crate::{Error, Fault};

const END_SEQUENCE: u8 = 0x00;
const ADVANCE_PC: u8 = 0x01;
const ADVANCE_LINE: u8 = 0x02;
const START_LOCAL: u8 = 0x03;
const START_LOCAL_EXTENDED: u8 = 0x04;
const END_LOCAL: u8 = 0x05;
const RESTART_LOCAL: u8 = 0x06;
const SET_PROLOGUE_END: u8 = 0x07;
const SET_EPILOGUE_BEGIN: u8 = 0x08;
const SET_FILE: u8 = 0x09;
const FIRST_SPECIAL: u8 = 0x0a;
const LINE_BASE: i64 = -4;
const LINE_RANGE: u8 = 15;
/// More than a call can pass.
const PARAMETERS_MAX: u32 = 255;

/// A debug_info_item.
#[derive(Clone)]
pub struct DebugInfo<'a> {
    line_start: u32,
    /// String index of each parameter's name.
    pub parameter_names: Vec<Option<u32>>,
    program: Cursor<'a>,
}

/// The limits that debug information is checked against.
#[derive(Clone, Copy)]
pub(crate) struct Counts {
    pub(crate) strings: u32,
    pub(crate) types: u32,
}

impl<'a> DebugInfo<'a> {
    pub(crate) fn parse(mut at: Cursor<'a>) -> Result<Self, Error> {
        let line_start = at.uleb("first line")?;
        let count = at.uleb("number of parameters")?;
        if count > PARAMETERS_MAX {
            let (what, limit) = ("number of parameters", u64::from(PARAMETERS_MAX) + 1);
            return Err(at.fault(Fault::Range {
                what,
                value: count.into(),
                limit,
            }));
        }
        let parameter_names = (0..count)
            .map(|_| at.uleb_p1("parameter name"))
            .collect::<Result<_, Error>>()?;
        Ok(Self {
            line_start,
            parameter_names,
            program: at,
        })
    }

    /// Runs the whole program; gives the place behind it.
    pub(crate) fn verify(&self, counts: Counts) -> Result<Cursor<'a>, Error> {
        for name in self.parameter_names.iter().flatten() {
            self.program
                .below("parameter name", *name, counts.strings)?;
        }
        let mut at = self.program;
        let string = |at: &mut Cursor<'_>| match at.uleb_p1("string index")? {
            Some(index) => at.below("string index", index, counts.strings).map(drop),
            None => Ok(()),
        };
        loop {
            match at.u8("debug operation")? {
                END_SEQUENCE => return Ok(at),
                ADVANCE_PC | END_LOCAL | RESTART_LOCAL => drop(at.uleb("operand")?),
                ADVANCE_LINE => drop(at.sleb("line step")?),
                operation @ (START_LOCAL | START_LOCAL_EXTENDED) => {
                    at.uleb("register")?;
                    string(&mut at)?;
                    if let Some(index) = at.uleb_p1("type index")? {
                        at.below("type index", index, counts.types)?;
                    }
                    if operation == START_LOCAL_EXTENDED {
                        string(&mut at)?;
                    }
                }
                SET_FILE => string(&mut at)?,
                SET_PROLOGUE_END | SET_EPILOGUE_BEGIN | FIRST_SPECIAL.. => {}
            }
        }
    }

    /// (code unit, line) pairs in the order of the program.
    pub fn lines(&self) -> impl Iterator<Item = (u32, u32)> {
        let mut at = self.program;
        let mut pc = 0u32;
        let mut line = i64::from(self.line_start);
        std::iter::from_fn(move || {
            loop {
                match at.u8("debug operation").ok()? {
                    END_SEQUENCE => return None,
                    ADVANCE_PC => pc = pc.wrapping_add(at.uleb("step").ok()?),
                    ADVANCE_LINE => line += i64::from(at.sleb("step").ok()?),
                    operation @ (START_LOCAL | START_LOCAL_EXTENDED) => {
                        let operands = if operation == START_LOCAL { 3 } else { 4 };
                        for _ in 0..operands {
                            at.uleb("operand").ok()?;
                        }
                    }
                    END_LOCAL | RESTART_LOCAL | SET_FILE => drop(at.uleb("operand").ok()?),
                    SET_PROLOGUE_END | SET_EPILOGUE_BEGIN => {}
                    special => {
                        let adjusted = special - FIRST_SPECIAL;
                        pc = pc.wrapping_add(u32::from(adjusted / LINE_RANGE));
                        line += LINE_BASE + i64::from(adjusted % LINE_RANGE);
                        return Some((pc, line as u32));
                    }
                }
            }
        })
    }

    /// The line of a code unit: that of the last pair at or before it.
    pub fn line_of(&self, pc: u32) -> Option<u32> {
        self.lines()
            .take_while(|(at, _)| *at <= pc)
            .last()
            .map(|(_, line)| line)
    }
}
