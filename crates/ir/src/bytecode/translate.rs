// SPDX-License-Identifier: Apache-2.0
//! [`translate`]: the abstract interpreter that emits IR.

mod arithmetic;
mod control;
mod data;
mod member;

use core::fmt;
use std::collections::HashMap;

use classfile::{ClassFile, Code, FieldType, Method, MethodDescriptor, Primitive, access};

use super::frame::{Frame, Local, is_wide};
use super::instruction::Cursor;
use super::layout::{Layout, covering};
use crate::dispatch::{Dispatch, fill_unreached};
use crate::{Block, BlockId, Function, Inst, MemoryKind, Op, Reg, Type};

/// Why a method could not be translated: it does not verify.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranslateError {
    /// Bytecode offset or DEX code unit, when known.
    pub at: Option<u32>,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for TranslateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.at {
            Some(at) => write!(f, "{} at offset {at}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

impl std::error::Error for TranslateError {}

type Result<T> = core::result::Result<T, String>;

/// What a register stands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Place {
    Local(usize, Type),
    Stack(usize, Type),
}

/// How values of `ty` lie in memory; `None` for void.
pub fn memory_kind(ty: &FieldType<'_>) -> Option<MemoryKind> {
    Some(match ty {
        FieldType::Void => return None,
        FieldType::Class(_) | FieldType::Array(_) => MemoryKind::Ref,
        FieldType::Primitive(primitive) => match primitive {
            Primitive::Boolean => MemoryKind::Boolean,
            Primitive::Byte => MemoryKind::Byte,
            Primitive::Char => MemoryKind::Char,
            Primitive::Short => MemoryKind::Short,
            Primitive::Int => MemoryKind::Int,
            Primitive::Long => MemoryKind::Long,
            Primitive::Float => MemoryKind::Float,
            Primitive::Double => MemoryKind::Double,
        },
    })
}

/// Translates one method of `class`. The method must have code.
pub fn translate(
    class: &ClassFile<'_>,
    method: &Method<'_>,
) -> core::result::Result<Function, TranslateError> {
    let fail = |at, what| TranslateError { at, what };
    let code = method
        .code
        .as_ref()
        .ok_or_else(|| fail(None, "no code".into()))?;
    let mut translator = Translator::new(class, method, code).map_err(|what| fail(None, what))?;
    while let Some(start) = translator.pending.pop() {
        translator.is_pending.insert(start, false);
        translator
            .block(start)
            .map_err(|what| fail(Some(translator.at), what))?;
    }
    fill_unreached(&mut translator.function);
    crate::locks::structure(&mut translator.function);
    crate::verify(&translator.function)
        .map_err(|wrong| fail(wrong.at, wrong.what))
        .map(|()| translator.function)
}

/// A synchronized method's lock and the blocks that give it back.
#[derive(Clone, Copy)]
struct Synchronized {
    lock: Reg,
    result: Option<Reg>,
    on_return: BlockId,
    on_exception: BlockId,
}

struct Translator<'a, 'b> {
    class: &'b ClassFile<'a>,
    code: &'b Code<'a>,
    function: Function,
    layout: Layout,
    blocks: HashMap<u32, BlockId>,
    registers: HashMap<Place, Reg>,
    entries: HashMap<u32, Frame>,
    dispatchers: HashMap<Vec<(u16, u32)>, BlockId>,
    pending: Vec<u32>,
    is_pending: HashMap<u32, bool>,
    synchronized: Option<Synchronized>,
    /// State of the block being translated.
    frame: Frame,
    handlers: Vec<(u16, u32)>,
    insts: Vec<Inst>,
    at: u32,
}

impl<'a, 'b> Translator<'a, 'b> {
    fn new(class: &'b ClassFile<'a>, method: &Method<'a>, code: &'b Code<'a>) -> Result<Self> {
        let layout = Layout::new(code)?;
        let frame = Frame::new(usize::from(code.local_count));
        let mut translator = Translator {
            class,
            code,
            function: Function::default(),
            layout,
            blocks: HashMap::new(),
            registers: HashMap::new(),
            entries: HashMap::new(),
            dispatchers: HashMap::new(),
            pending: Vec::new(),
            is_pending: HashMap::new(),
            synchronized: None,
            frame,
            handlers: Vec::new(),
            insts: Vec::new(),
            at: 0,
        };
        translator.enter(method)?;
        Ok(translator)
    }

    /// Parameters, entry block and, if synchronized, the lock.
    fn enter(&mut self, method: &Method<'a>) -> Result<()> {
        let descriptor =
            MethodDescriptor::parse(method.descriptor).map_err(|error| error.to_string())?;
        let is_static = method.access & access::STATIC != 0;
        let mut types: Vec<Type> = if is_static {
            Vec::new()
        } else {
            vec![Type::Ref]
        };
        let kinds = descriptor.parameters.iter().filter_map(memory_kind);
        types.extend(kinds.map(MemoryKind::register_type));
        let mut frame = Frame::new(usize::from(self.code.local_count));
        let mut local = 0;
        for ty in types {
            frame.store(local, ty)?;
            let reg = self.reg(Place::Local(local, ty));
            self.function.params.push(reg);
            local += if is_wide(ty) { 2 } else { 1 };
        }
        self.function.result = memory_kind(&descriptor.result).map(MemoryKind::register_type);
        self.function.has_receiver = !is_static;
        let entry = self.function.block();
        for start in self.layout.starts.clone() {
            let block = self.function.block();
            self.blocks.insert(start, block);
        }
        if method.access & access::SYNCHRONIZED != 0 {
            self.lock_on_entry(entry, is_static);
        }
        let target = self.blocks[&0];
        self.function.blocks[entry.0 as usize].insts.push(Inst {
            at: 0,
            op: Op::Jump { target },
        });
        self.entries.insert(0, frame);
        self.pending.push(0);
        Ok(())
    }

    fn lock_on_entry(&mut self, entry: BlockId, is_static: bool) {
        let lock = self.function.register(Type::Ref);
        let take = match self.function.params.first() {
            Some(&this) if !is_static => Op::Move {
                dst: lock,
                src: this,
            },
            _ => Op::OwnClass { dst: lock },
        };
        let inst = |op| Inst { at: 0, op };
        let insts = vec![inst(take), inst(Op::MonitorEnter { object: lock })];
        self.function.blocks[entry.0 as usize].insts = insts;
        let result = self.function.result.map(|ty| self.function.register(ty));
        let on_return = self.function.block();
        let insts = vec![
            inst(Op::MonitorExit { object: lock }),
            inst(Op::Return { src: result }),
        ];
        self.function.blocks[on_return.0 as usize].insts = insts;
        let caught = self.function.register(Type::Ref);
        let on_exception = self.function.block();
        let insts = vec![
            inst(Op::Caught { dst: caught }),
            inst(Op::MonitorExit { object: lock }),
            inst(Op::Throw { src: caught }),
        ];
        self.function.blocks[on_exception.0 as usize].insts = insts;
        self.synchronized = Some(Synchronized {
            lock,
            result,
            on_return,
            on_exception,
        });
    }

    fn reg(&mut self, place: Place) -> Reg {
        if let Some(&reg) = self.registers.get(&place) {
            return reg;
        }
        let (Place::Local(_, ty) | Place::Stack(_, ty)) = place;
        let reg = self.function.register(ty);
        self.registers.insert(place, reg);
        reg
    }

    fn emit(&mut self, op: Op) {
        self.insts.push(Inst { at: self.at, op });
    }

    /// Makes room on the stack and gives the new top's register.
    fn push(&mut self, ty: Type) -> Result<Reg> {
        self.frame.stack.push(ty);
        if self.frame.stack_words() > usize::from(self.code.stack_max) {
            return Err("operand stack overflow".into());
        }
        Ok(self.reg(Place::Stack(self.frame.stack.len() - 1, ty)))
    }

    fn pop_any(&mut self) -> Result<Reg> {
        let ty = self.frame.stack.pop().ok_or("operand stack underflow")?;
        Ok(self.reg(Place::Stack(self.frame.stack.len(), ty)))
    }

    fn pop(&mut self, ty: Type) -> Result<Reg> {
        let reg = self.pop_any()?;
        let own = self.function.type_of(reg);
        if own != ty {
            return Err(format!(
                "{ty:?} expected on the operand stack, {own:?} found"
            ));
        }
        Ok(reg)
    }

    /// Translates the block that starts at `start`.
    fn block(&mut self, start: u32) -> Result<()> {
        self.at = start;
        self.frame = self.entries[&start].clone();
        self.insts.clear();
        self.handlers = covering(&self.code.exceptions, start);
        let handler = self.dispatcher()?;
        self.flow_to_handlers()?;
        let end = self.layout.end_of(start, self.code.bytes.len());
        let mut cursor = Cursor::new(self.code.bytes, start as usize);
        while cursor.at < end {
            self.at = cursor.at as u32;
            self.instruction(&mut cursor)?;
        }
        if !self
            .insts
            .last()
            .is_some_and(|inst| inst.op.is_terminator())
        {
            if end == self.code.bytes.len() {
                return Err("control falls off the end of the code".into());
            }
            let target = self.jump_target(end as i64)?;
            self.emit(Op::Jump { target });
        }
        let id = self.blocks[&start];
        let insts = core::mem::take(&mut self.insts);
        self.function.blocks[id.0 as usize] = Block { insts, handler };
        Ok(())
    }

    fn instruction(&mut self, cursor: &mut Cursor<'a>) -> Result<()> {
        let opcode = cursor.u8()?;
        match opcode {
            0x00..=0x35 | 0x36..=0x5f | 0x84 | 0xc4 => self.data(opcode, cursor),
            0x60..=0x83 | 0x85..=0x98 => self.arithmetic(opcode),
            0x99..=0xb1 | 0xbf | 0xc6..=0xc8 => self.control(opcode, cursor),
            0xb2..=0xbe | 0xc0..=0xc3 | 0xc5 => self.member(opcode, cursor),
            _ => Err(format!("no such instruction {opcode:#x}")),
        }
    }

    /// The block for a jump to `target`, which gets the current frame.
    fn jump_target(&mut self, target: i64) -> Result<BlockId> {
        let start = u32::try_from(target).map_err(|_| "jump out of the code")?;
        let block = *self.blocks.get(&start).ok_or("jump out of the code")?;
        let (locals, stack) = (self.frame.locals.clone(), self.frame.stack.clone());
        self.flow(start, &locals, stack)?;
        Ok(block)
    }

    fn flow(&mut self, start: u32, locals: &[Local], stack: Vec<Type>) -> Result<()> {
        let changed = match self.entries.get_mut(&start) {
            Some(entry) if entry.stack != stack => {
                return Err("operand stacks differ where paths meet".into());
            }
            Some(entry) => entry.join_locals(locals),
            None => {
                self.entries.insert(
                    start,
                    Frame {
                        locals: locals.to_vec(),
                        stack,
                    },
                );
                true
            }
        };
        if changed && !self.is_pending.insert(start, true).unwrap_or(false) {
            self.pending.push(start);
        }
        Ok(())
    }

    /// Handlers see the locals as they are at every instruction.
    fn flow_to_handlers(&mut self) -> Result<()> {
        for (_, handler) in self.handlers.clone() {
            let locals = self.frame.locals.clone();
            self.flow(handler, &locals, vec![Type::Ref])?;
        }
        Ok(())
    }

    /// The block that tests which of the current handlers takes an exception.
    fn dispatcher(&mut self) -> Result<Option<BlockId>> {
        let outer = self.synchronized.map(|s| s.on_exception);
        if self.handlers.is_empty() {
            return Ok(outer);
        }
        if let Some(&block) = self.dispatchers.get(&self.handlers) {
            return Ok(Some(block));
        }
        let handlers: Vec<(Option<u32>, BlockId)> = self
            .handlers
            .iter()
            .map(|(class, handler)| {
                let class = (*class != 0).then_some(u32::from(*class));
                (class, self.blocks[handler])
            })
            .collect();
        let landing = self.reg(Place::Stack(0, Type::Ref));
        let dispatch = Dispatch {
            at: self.at,
            handlers: &handlers,
            landing,
            leave: self
                .synchronized
                .map(|it| Op::MonitorExit { object: it.lock }),
            outer,
        };
        let first = dispatch.build(&mut self.function);
        self.dispatchers.insert(self.handlers.clone(), first);
        Ok(Some(first))
    }
}
