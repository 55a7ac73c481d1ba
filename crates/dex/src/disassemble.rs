// SPDX-License-Identifier: Apache-2.0
//! Instructions as text, operands and comments in the form of Android's dexdump.

use core::fmt::Write as _;

use crate::DexFile;
use crate::instruction::{Arguments, Instruction, Operands, Unit};
use crate::opcode::{Format, Opcode, Pool};

/// Writes units of code as lines.
pub struct Listing<'f, 'a> {
    file: &'f DexFile<'a>,
}

impl<'f, 'a> Listing<'f, 'a> {
    /// For code of this file.
    pub fn new(file: &'f DexFile<'a>) -> Self {
        Self { file }
    }

    /// `pc: name operands // comment`.
    pub fn line(&self, pc: usize, unit: &Unit<'_>) -> String {
        match unit {
            Unit::Payload(it) => format!("{pc:04x}: {} ({} units)", it.name(), it.units()),
            Unit::Instruction(it) => {
                let mut line = format!("{pc:04x}: {}", it.opcode.name());
                self.operands(&mut line, pc, it)
                    .expect("writing to a String");
                line
            }
        }
    }

    fn operands(&self, line: &mut String, pc: usize, it: &Instruction) -> core::fmt::Result {
        let format = it.opcode.format();
        match it.operands {
            // Compilers put one in front of a payload that must be aligned.
            Operands::None if it.opcode == Opcode::Nop => write!(line, " // spacer"),
            Operands::None => Ok(()),
            Operands::A { a } => write!(line, " v{a}"),
            Operands::Ab { a, b } => write!(line, " v{a}, v{b}"),
            Operands::Abc { a, b, c } => write!(line, " v{a}, v{b}, v{c}"),
            Operands::Literal { a, literal } => {
                write!(line, " v{a}, ")?;
                literal_text(line, it.opcode, literal)
            }
            Operands::AbLiteral { a, b, literal } => {
                write!(line, " v{a}, v{b}, #int {literal} // #")?;
                match format {
                    Format::F22b => write!(line, "{:02x}", literal as u8),
                    _ => write!(line, "{:04x}", literal as u16),
                }
            }
            Operands::Branch { offset } if format == Format::F30t => write!(line, " #{offset:08x}"),
            Operands::Branch { offset } => jump(line, " ", pc, offset),
            Operands::BranchA { a, offset } if format == Format::F31t => {
                write!(
                    line,
                    " v{a}, {:08x} // +{offset:08x}",
                    pc as i64 + i64::from(offset)
                )
            }
            Operands::BranchA { a, offset } => jump(line, &format!(" v{a}, "), pc, offset),
            Operands::BranchAb { a, b, offset } => {
                jump(line, &format!(" v{a}, v{b}, "), pc, offset)
            }
            Operands::Index { a, index } => {
                let width = if format == Format::F31c { 8 } else { 4 };
                write!(
                    line,
                    " v{a}, {}",
                    self.index(it.opcode.pool(), index, width)
                )
            }
            Operands::AbIndex { a, b, index } => {
                write!(
                    line,
                    " v{a}, v{b}, {}",
                    self.index(it.opcode.pool(), index, 4)
                )
            }
            Operands::Call {
                arguments,
                index,
                proto,
            } => {
                write!(line, " {{{}}}, ", registers(&arguments))?;
                match proto {
                    None => write!(line, "{}", self.index(it.opcode.pool(), index, 4)),
                    Some(proto) => {
                        let (method, text) = (self.method(index), self.proto(proto));
                        write!(
                            line,
                            "{method}, {text} // method@{index:04x}, proto@{proto:04x}"
                        )
                    }
                }
            }
        }
    }

    fn index(&self, pool: Pool, index: u32, width: usize) -> String {
        let (text, kind) = match pool {
            Pool::None => (String::new(), "thing"),
            Pool::String => {
                let text = self.file.text(index);
                (format!("\"{}\"", text.escape_debug()), "string")
            }
            Pool::Type => (self.file.descriptor(index), "type"),
            Pool::Field => (self.field(index), "field"),
            Pool::Method | Pool::MethodAndProto => (self.method(index), "method"),
            Pool::Proto => (self.proto(index), "proto"),
            Pool::CallSite => return format!("call_site@{index:0width$x}"),
            Pool::MethodHandle => return format!("method_handle@{index:0width$x}"),
        };
        format!("{text} // {kind}@{index:0width$x}")
    }

    fn field(&self, index: u32) -> String {
        let field = self.file.field(index);
        let (class, kind) = (
            self.file.descriptor(field.class),
            self.file.descriptor(field.kind),
        );
        format!("{class}.{}:{kind}", self.file.text(field.name))
    }

    /// `Lp/Q;.name:(I)V`
    pub fn method(&self, index: u32) -> String {
        let method = self.file.method(index);
        let (class, proto) = (self.file.descriptor(method.class), self.proto(method.proto));
        format!("{class}.{}:{proto}", self.file.text(method.name))
    }

    /// `(I)V`
    pub fn proto(&self, index: u32) -> String {
        let proto = self.file.proto(index);
        let parameters: String = proto
            .parameters
            .iter()
            .map(|it| self.file.descriptor(it))
            .collect();
        format!("({parameters}){}", self.file.descriptor(proto.return_type))
    }
}

fn registers(arguments: &Arguments) -> String {
    arguments
        .iter()
        .map(|it| format!("v{it}"))
        .collect::<Vec<_>>()
        .join(", ")
}

fn jump(line: &mut String, before: &str, pc: usize, offset: i32) -> core::fmt::Result {
    let target = pc as i64 + i64::from(offset);
    let sign = if offset < 0 { '-' } else { '+' };
    write!(
        line,
        "{before}{target:04x} // {sign}{:04x}",
        offset.unsigned_abs()
    )
}

fn literal_text(line: &mut String, opcode: Opcode, literal: i64) -> core::fmt::Result {
    match opcode.format() {
        Format::F11n => write!(line, "#int {literal} // #{:x}", literal as u8),
        Format::F21s => write!(line, "#int {literal} // #{:x}", literal as u16),
        Format::F21h if opcode == Opcode::ConstHigh16 => {
            write!(line, "#int {literal} // #{:x}", (literal >> 16) as u16)
        }
        Format::F21h => write!(line, "#long {literal} // #{:x}", (literal >> 48) as u16),
        Format::F31i => {
            let bits = literal as u32;
            write!(line, "#float {} // #{bits:08x}", f32::from_bits(bits))
        }
        _ => {
            let bits = literal.cast_unsigned();
            write!(line, "#double {} // #{bits:016x}", f64::from_bits(bits))
        }
    }
}
