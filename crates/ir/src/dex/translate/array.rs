// SPDX-License-Identifier: Apache-2.0
//! Arrays.

use dex::{Instruction, Operands, Payload, Unit, decode};

use super::super::outline::{Key, OBJECT, RUNTIME_EXCEPTION};
use super::super::state::{Refers, Value};
use super::{Result, Translator, descriptor, kind_of, value_of};
use crate::{InvokeKind, LoadedConstant, MemoryKind, Op, Reg, Type};

/// Element kinds in the order of array and field instructions; the first also stands for float.
pub(super) const KINDS: [MemoryKind; 7] = [
    MemoryKind::Int,
    MemoryKind::Long,
    MemoryKind::Ref,
    MemoryKind::Boolean,
    MemoryKind::Byte,
    MemoryKind::Char,
    MemoryKind::Short,
];

/// Bytes of one instruction that fills: many stores, so that more would make a large block. A
/// multiple of every width.
const FILL_BYTES: usize = 1024;
/// Bytes in all of a method: several instructions may name the same payload. A method at its limit
/// has half of that.
const FILLED_BYTES_MAX: usize = 4 << 20;

/// Whether an instruction for `kind` may access values of `own`.
pub(super) fn fits(kind: MemoryKind, own: MemoryKind) -> bool {
    match kind {
        MemoryKind::Int => matches!(own, MemoryKind::Int | MemoryKind::Float),
        MemoryKind::Long => matches!(own, MemoryKind::Long | MemoryKind::Double),
        kind => own == kind,
    }
}

impl<'a> Translator<'_, 'a> {
    pub(super) fn array(&mut self, it: &Instruction) -> Result<()> {
        let opcode = it.opcode as u8;
        match it.operands {
            Operands::Ab { a, b } => {
                let array = self.read(b, Type::Ref)?;
                let dst = self.write_number(a, Type::Int);
                self.emit(Op::ArrayLength { dst, array });
                Ok(())
            }
            Operands::AbIndex { a, b, index } => {
                let length = self.read(b, Type::Int)?;
                let ty = descriptor(self.file, index);
                let dst = self.scratch(Type::Ref);
                self.new_array(dst, length, ty)?;
                let array = self.write_ref(a.into(), ty);
                let (dst, src) = (array, dst);
                self.emit(Op::Move { dst, src });
                Ok(())
            }
            Operands::Call {
                arguments, index, ..
            } => {
                let registers: Vec<u16> = arguments.iter().collect();
                match self.outline.index(Key::BadFill(index)) {
                    Ok(words) => self.refuse(words),
                    Err(_) => self.filled_array(descriptor(self.file, index), &registers),
                }
            }
            Operands::BranchA { a, offset } => self.fill(a, offset),
            Operands::Abc { a, b, c } if opcode < 0x4b => {
                self.load(KINDS[usize::from(opcode - 0x44)], a, b, c)
            }
            Operands::Abc { a, b, c } => self.store(KINDS[usize::from(opcode - 0x4b)], a, b, c),
            _ => Err("operands of another instruction".into()),
        }
    }

    /// Descriptor of the elements of the array in `register`, if one is known.
    fn element_of(&self, register: u16) -> Option<&'a [u8]> {
        match self.state.get(register.into()).refers {
            Refers::Array(descriptor) => descriptor.get(1..),
            _ => None,
        }
    }

    /// How the elements lie that an instruction for `kind` accesses; none if the array is null.
    fn element_kind(&self, register: u16, kind: MemoryKind) -> Result<Option<MemoryKind>> {
        let own = match self.state.get(register.into()).refers {
            Refers::Null => return Ok(None),
            Refers::Array(descriptor) => kind_of(&descriptor[1..])?,
            // Instructions for other kinds fit arrays of one type only.
            Refers::Any if !matches!(kind, MemoryKind::Int | MemoryKind::Long) => kind,
            Refers::Any => return Err(format!("v{register} holds no array of known elements")),
        };
        if fits(kind, own) {
            return Ok(Some(own));
        }
        Err(format!("v{register} holds an array of other elements"))
    }

    fn new_array(&mut self, dst: Reg, length: Reg, ty: &'a [u8]) -> Result<()> {
        let Some(element) = ty.strip_prefix(b"[") else {
            return Err("a new array of a type that is no array".into());
        };
        self.emit(match kind_of(element)? {
            MemoryKind::Ref => Op::NewArray {
                dst,
                length,
                index: self.outline.class_index(element)?,
            },
            kind => Op::NewPrimitiveArray { dst, length, kind },
        });
        Ok(())
    }

    fn filled_array(&mut self, ty: &'a [u8], registers: &[u16]) -> Result<()> {
        let length = self.int(registers.len() as i32);
        let array = self.scratch(Type::Ref);
        self.new_array(array, length, ty)?;
        let kind = kind_of(&ty[1..])?;
        if kind.size_log2() == 3 {
            return Err("filled-new-array of wide elements".into());
        }
        for (place, &register) in registers.iter().enumerate() {
            let src = self.read(register, kind.register_type())?;
            let element = self.int(place as i32);
            self.emit(Op::ArrayStore {
                array,
                element,
                src,
                kind,
            });
        }
        let (dst, src) = (self.write_ref(self.result_place(), ty), array);
        self.emit(Op::Move { dst, src });
        Ok(())
    }

    /// Ends the block with a RuntimeException that says the `words`.
    fn refuse(&mut self, words: u32) -> Result<()> {
        let (dst, index) = (
            self.scratch(Type::Ref),
            self.outline.class_index(RUNTIME_EXCEPTION)?,
        );
        self.emit(Op::New { dst, index });
        let (exception, text) = (dst, self.scratch(Type::Ref));
        self.emit(Op::Load {
            dst: text,
            constant: LoadedConstant::String,
            index: words,
        });
        self.emit(Op::Invoke {
            kind: InvokeKind::Special,
            dst: None,
            index: self.outline.index(Key::Thrown)?,
            args: vec![exception, text],
        });
        self.emit(Op::Throw { src: exception });
        Ok(())
    }

    /// The last element goes first: what does not fit is refused before anything is stored.
    fn fill(&mut self, register: u16, offset: i32) -> Result<()> {
        let array = self.read(register, Type::Ref)?;
        let at = i64::from(self.at) + i64::from(offset);
        let payload = decode(self.code.instructions, at as usize);
        let Ok(Unit::Payload(Payload::ArrayData { width, data })) = payload else {
            return Err("fill-array-data without its payload".into());
        };
        if self.state.get(register.into()).refers == Refers::Null {
            return self.fail_on_null(array);
        }
        let element = self
            .element_of(register)
            .ok_or("fill-array-data of no known array")?;
        let kind = kind_of(element)?;
        if kind == MemoryKind::Ref || usize::from(width) != 1 << kind.size_log2() {
            return Err("fill-array-data of another element size".into());
        }
        if data.is_empty() {
            return self.fail_on_null(array);
        }
        self.filled += data.len();
        if self.filled > FILLED_BYTES_MAX {
            return Err("arrays are filled with too much data".into());
        }
        for (place, data) in data.chunks(FILL_BYTES).enumerate().rev() {
            self.emit(Op::FillArray {
                array,
                kind,
                first: (place * FILL_BYTES / usize::from(width)) as u32,
                data: data.to_vec(),
            });
        }
        Ok(())
    }

    /// Throws if `array` is null, which asking for its length does.
    fn fail_on_null(&mut self, array: Reg) -> Result<()> {
        let dst = self.scratch(Type::Int);
        self.emit(Op::ArrayLength { dst, array });
        Ok(())
    }

    fn load(&mut self, kind: MemoryKind, a: u16, b: u16, c: u16) -> Result<()> {
        let (array, element) = (self.read(b, Type::Ref)?, self.read(c, Type::Int)?);
        let Some(own) = self.element_kind(b, kind)? else {
            self.fail_on_null(array)?;
            return self.nothing(kind, a.into());
        };
        let value = match self.element_of(b) {
            Some(element) => value_of(element)?,
            None if own == MemoryKind::Ref => Value::reference(OBJECT),
            None => Value::number(own.register_type()),
        };
        let dst = self.write(a.into(), value, own.register_type());
        self.emit(Op::ArrayLoad {
            dst,
            array,
            element,
            kind: own,
        });
        Ok(())
    }

    /// What an instruction that always throws leaves behind.
    fn nothing(&mut self, kind: MemoryKind, register: usize) -> Result<()> {
        if kind != MemoryKind::Long {
            self.write_zero(register);
            return Ok(());
        }
        self.state.set(register, Value::WIDE);
        let dst = self.reg(register, Type::Long);
        self.emit(Op::Long { dst, value: 0 });
        let dst = self.reg(register, Type::Double);
        self.emit(Op::Double { dst, bits: 0 });
        Ok(())
    }

    fn store(&mut self, kind: MemoryKind, a: u16, b: u16, c: u16) -> Result<()> {
        let (array, element) = (self.read(b, Type::Ref)?, self.read(c, Type::Int)?);
        let Some(own) = self.element_kind(b, kind)? else {
            return self.fail_on_null(array);
        };
        let src = self.read(a, own.register_type())?;
        self.emit(Op::ArrayStore {
            array,
            element,
            src,
            kind: own,
        });
        Ok(())
    }
}
