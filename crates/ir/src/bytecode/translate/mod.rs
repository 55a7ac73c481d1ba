// SPDX-License-Identifier: Apache-2.0
//! [`translate`]: the abstract interpreter that emits IR.

mod arithmetic;
mod control;
mod data;
mod member;

use core::fmt;
use std::collections::{BTreeSet, HashMap};

use classfile::{ClassFile, Code, FieldType, Method, MethodDescriptor, Primitive, access};
use rustc_hash::FxHashMap;

use super::frame::{Content, Frame, Stack, is_wide};
use super::instruction::Cursor;
use super::layout::Layout;
use super::subroutine::Subroutines;
use crate::dispatch::{Chains, Dispatch, fill_unreached};
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

/// The first version without subroutines.
const JAVA_7: u16 = 51;

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
    // What comes first in the code goes first: most blocks are then translated once.
    while let Some((_, block)) = translator.pending.pop_first() {
        translator
            .block(block)
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

/// Where a block starts in the code, and with what.
#[derive(Clone)]
struct Entry {
    start: u32,
    frame: Frame,
}

/// Classes with the blocks that handle them, in search order.
type Handlers = Vec<(u16, BlockId)>;

struct Translator<'a, 'b> {
    class: &'b ClassFile<'a>,
    code: &'b Code<'a>,
    function: Function,
    layout: Layout,
    subroutines: Option<Subroutines>,
    blocks: FxHashMap<u32, BlockId>,
    /// Blocks that are entered with return addresses.
    within_subroutines: HashMap<(u32, Vec<(usize, u16)>), BlockId>,
    registers: FxHashMap<Place, Reg>,
    entries: FxHashMap<BlockId, Entry>,
    dispatchers: HashMap<Handlers, BlockId>,
    chains: Chains,
    /// With their places in the code.
    pending: BTreeSet<(u32, BlockId)>,
    /// The stack at the start of every handler.
    caught: Stack,
    synchronized: Option<Synchronized>,
    /// State of the block being translated.
    frame: Frame,
    covering: Vec<(u16, u32)>,
    handlers: Handlers,
    insts: Vec<Inst>,
    at: u32,
}

impl<'a, 'b> Translator<'a, 'b> {
    fn new(class: &'b ClassFile<'a>, method: &Method<'a>, code: &'b Code<'a>) -> Result<Self> {
        let layout = Layout::new(code)?;
        if layout.has_subroutines && class.major >= JAVA_7 {
            return Err("jsr in a class file of a version that has none".into());
        }
        let subroutines = layout
            .has_subroutines
            .then(|| Subroutines::new(code, &layout));
        let (locals, stack) = (code.local_count.into(), code.stack_max.into());
        let frame = Frame::new(locals, stack);
        let mut translator = Translator {
            class,
            code,
            function: Function::default(),
            layout,
            subroutines: subroutines.transpose()?,
            blocks: FxHashMap::default(),
            within_subroutines: HashMap::new(),
            registers: FxHashMap::default(),
            entries: FxHashMap::default(),
            dispatchers: HashMap::new(),
            chains: Chains::default(),
            pending: BTreeSet::new(),
            caught: frame.stack.clone(),
            synchronized: None,
            frame,
            covering: Vec::new(),
            handlers: Vec::new(),
            insts: Vec::new(),
            at: 0,
        };
        let exception = Content::Value(Type::Ref);
        // A handler of a method without a stack is refused where something is done with it.
        translator.caught.push(exception, usize::MAX);
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
        let mut frame = self.frame.clone();
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
        self.entries.insert(target, Entry { start: 0, frame });
        self.pending.insert((0, target));
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
        if let Place::Local(local, _) = place {
            self.function.variables.push((reg, local as u32));
        }
        reg
    }

    fn emit(&mut self, op: Op) {
        self.insts.push(Inst { at: self.at, op });
    }

    /// Makes room on the stack and gives the new top's register.
    fn push(&mut self, ty: Type) -> Result<Reg> {
        self.push_content(Content::Value(ty))?;
        Ok(self.reg(Place::Stack(self.frame.stack.len() - 1, ty)))
    }

    fn push_content(&mut self, content: Content) -> Result<()> {
        let stack_max = self.code.stack_max.into();
        if !self.frame.stack.push(content, stack_max) {
            return Err("operand stack overflow".into());
        }
        Ok(())
    }

    fn pop_any(&mut self) -> Result<Reg> {
        match self.frame.stack.pop() {
            Some(Content::Value(ty)) => Ok(self.reg(Place::Stack(self.frame.stack.len(), ty))),
            Some(_) => Err("a return address is used as a value".into()),
            None => Err("operand stack underflow".into()),
        }
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

    fn block(&mut self, id: BlockId) -> Result<()> {
        let Entry { start, frame } = self.entries[&id].clone();
        self.at = start;
        self.frame = frame;
        self.insts.clear();
        let ranges = &self.layout.ranges;
        self.covering = ranges.covering(&self.code.exceptions, start);
        self.flow_to_handlers()?;
        let handler = self.dispatcher();
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
        let insts = core::mem::take(&mut self.insts);
        self.function.blocks[id.0 as usize] = Block { insts, handler };
        Ok(())
    }

    fn instruction(&mut self, cursor: &mut Cursor<'a>) -> Result<()> {
        let opcode = cursor.u8()?;
        match opcode {
            0x00..=0x35 | 0x36..=0x5f | 0x84 | 0xc4 => self.data(opcode, cursor),
            0x60..=0x83 | 0x85..=0x98 => self.arithmetic(opcode),
            0x99..=0xb1 | 0xbf | 0xc6..=0xc9 => self.control(opcode, cursor),
            0xb2..=0xbe | 0xc0..=0xc3 | 0xc5 => self.member(opcode, cursor),
            _ => Err(format!("no such instruction {opcode:#x}")),
        }
    }

    /// The block for a jump to `target`, which gets the current frame.
    fn jump_target(&mut self, target: i64) -> Result<BlockId> {
        let start = u32::try_from(target).map_err(|_| "jump out of the code")?;
        self.flow(start, self.frame.clone())
    }

    /// Has `frame` reach the block that starts at `start`.
    fn flow(&mut self, start: u32, mut frame: Frame) -> Result<BlockId> {
        if let Some(subroutines) = &self.subroutines {
            subroutines.forget_dead(start, &mut frame);
        }
        let block = self.block_for(start, &frame)?;
        let changed = match self.entries.get_mut(&block) {
            Some(entry) if entry.frame.stack != frame.stack => {
                return Err("operand stacks differ where paths meet".into());
            }
            Some(entry) => entry.frame.join_locals(&frame),
            None => {
                self.entries.insert(block, Entry { start, frame });
                true
            }
        };
        if changed {
            self.pending.insert((start, block));
        }
        Ok(block)
    }

    fn block_for(&mut self, start: u32, frame: &Frame) -> Result<BlockId> {
        let plain = *self.blocks.get(&start).ok_or("jump out of the code")?;
        let Some(subroutines) = &self.subroutines else {
            return Ok(plain);
        };
        let returns = frame.returns();
        if returns.is_empty() {
            return Ok(plain);
        }
        if let Some(&known) = self.within_subroutines.get(&(start, returns.clone())) {
            return Ok(known);
        }
        if self.within_subroutines.len() >= subroutines.blocks_max {
            return Err("subroutines are nested too deeply".into());
        }
        let block = self.function.block();
        self.within_subroutines.insert((start, returns), block);
        Ok(block)
    }

    /// Handlers see the locals as they are at every instruction.
    fn flow_to_handlers(&mut self) -> Result<()> {
        self.handlers.clear();
        for (class, handler) in self.covering.clone() {
            let mut frame = self.frame.clone();
            frame.stack = self.caught.clone();
            let block = self.flow(handler, frame)?;
            self.handlers.push((class, block));
        }
        Ok(())
    }

    /// The block that tests which of the current handlers takes an exception.
    fn dispatcher(&mut self) -> Option<BlockId> {
        let outer = self.synchronized.map(|s| s.on_exception);
        if self.handlers.is_empty() {
            return outer;
        }
        if let Some(&block) = self.dispatchers.get(&self.handlers) {
            return Some(block);
        }
        let handlers: Vec<(Option<u32>, BlockId)> = self
            .handlers
            .iter()
            .map(|(class, handler)| {
                let class = (*class != 0).then_some(u32::from(*class));
                (class, *handler)
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
            passes_over: false,
        };
        let first = dispatch.build(&mut self.function, &mut self.chains);
        self.dispatchers.insert(self.handlers.clone(), first);
        Some(first)
    }
}
