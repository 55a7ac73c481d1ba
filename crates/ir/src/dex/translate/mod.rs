// SPDX-License-Identifier: Apache-2.0
//! [`translate`]: the abstract interpreter that emits IR.

mod arithmetic;
mod array;
mod call;
mod control;
mod data;
mod member;

use std::collections::{BTreeSet, HashMap};

use dex::{Code, DexFile, Flow, Instruction, Method, Opcode, Operands, Unit, decode};
use rustc_hash::FxHashMap;

use super::outline::{Outline, THROWABLE, descriptor};
use super::state::{State, Value};
use crate::bytecode::TranslateError;
use crate::dispatch::{Chains, Dispatch, fill_unreached};
use crate::{Block, BlockId, Function, Inst, MemoryKind, Op, Reg, Type};

type Result<T> = core::result::Result<T, String>;

/// Code units of a method. The format has room for 2^32; no compiler of Java makes more than 2^18,
/// and the time that a method takes is linear in them.
const UNITS_MAX: u32 = 1 << 20;

/// Translates `method` of the class that `outline` is of. The method must have code.
pub fn translate(
    file: &DexFile<'_>,
    outline: &Outline<'_>,
    method: &Method,
) -> core::result::Result<Function, TranslateError> {
    let fail = |at, what| TranslateError { at, what };
    if let Some(fault) = outline.faults.get(&method.method) {
        return Err(fail(None, fault.clone()));
    }
    let code = method.code(file);
    let code = code.as_ref().ok_or_else(|| fail(None, "no code".into()))?;
    if code.unit_count() > UNITS_MAX {
        let what = format!(
            "code of {} units, where {UNITS_MAX} are allowed",
            code.unit_count()
        );
        return Err(fail(None, what));
    }
    let mut translator =
        Translator::new(file, outline, method, code).map_err(|what| fail(None, what))?;
    // What comes first in the code goes first: most blocks are then translated once.
    while let Some(start) = translator.pending.pop_first() {
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

/// Handlers that cover a place: caught type or none for everything, and where the handler starts.
type Handlers = Vec<(Option<u32>, u32)>;

struct Translator<'f, 'a> {
    file: &'f DexFile<'a>,
    outline: &'f Outline<'a>,
    code: &'f Code<'a>,
    function: Function,
    starts: Vec<u32>,
    blocks: FxHashMap<u32, BlockId>,
    registers: FxHashMap<(usize, Type), Reg>,
    entries: FxHashMap<u32, State<'a>>,
    dispatchers: HashMap<Handlers, BlockId>,
    chains: Chains,
    pending: BTreeSet<u32>,
    /// Bytes that arrays are filled with, so far.
    filled: usize,
    /// State of the block being translated.
    state: State<'a>,
    handlers: Handlers,
    insts: Vec<Inst>,
    at: u32,
}

impl<'f, 'a> Translator<'f, 'a> {
    fn new(
        file: &'f DexFile<'a>,
        outline: &'f Outline<'a>,
        method: &Method,
        code: &'f Code<'a>,
    ) -> Result<Self> {
        let id = file.method(method.method);
        let proto = file.proto(id.proto);
        let mut translator = Self {
            file,
            outline,
            code,
            function: Function::default(),
            starts: starts_of(code)?,
            blocks: FxHashMap::default(),
            registers: FxHashMap::default(),
            entries: FxHashMap::default(),
            dispatchers: HashMap::new(),
            chains: Chains::default(),
            pending: BTreeSet::new(),
            filled: 0,
            state: State::new(code.registers.into()),
            handlers: Vec::new(),
            insts: Vec::new(),
            at: 0,
        };
        let parameters: Vec<&'a [u8]> = proto
            .parameters
            .iter()
            .map(|index| descriptor(file, index))
            .collect();
        let result = descriptor(file, proto.return_type);
        if result != b"V" {
            translator.function.result = Some(kind_of(result)?.register_type());
        }
        translator.enter(method.access & dex::access::STATIC != 0, &parameters)?;
        Ok(translator)
    }

    /// Parameters and the entry block.
    fn enter(&mut self, is_static: bool, parameters: &[&'a [u8]]) -> Result<()> {
        let count = usize::from(self.code.registers);
        let mut register = count - usize::from(self.code.ins);
        let mut pass = |this: &mut Self, value: Value<'a>, ty: Type| {
            let size = if value.is_wide() { 2 } else { 1 };
            if register + size > count {
                return Err("more parameters than registers for them".to_owned());
            }
            this.state.set(register, value);
            let reg = this.reg(register, ty);
            this.function.params.push(reg);
            register += size;
            Ok(())
        };
        if !is_static {
            pass(self, Value::reference(self.outline.class), Type::Ref)?;
        }
        for &parameter in parameters {
            let kind = kind_of(parameter)?;
            let value = value_of(parameter)?;
            pass(self, value, kind.register_type())?;
        }
        if register != count {
            return Err("fewer parameters than registers for them".into());
        }
        self.function.has_receiver = !is_static;
        let entry = self.function.block();
        for start in self.starts.clone() {
            let block = self.function.block();
            self.blocks.insert(start, block);
        }
        let op = Op::Jump {
            target: *self.blocks.get(&0).ok_or("no instructions")?,
        };
        self.function.blocks[entry.0 as usize].insts = vec![Inst { at: 0, op }];
        self.entries.insert(0, self.state.clone());
        self.pending.insert(0);
        Ok(())
    }

    // Registers behind the method's own: see `state::EXTRA`.

    fn result_place(&self) -> usize {
        self.code.registers.into()
    }

    fn caught_place(&self) -> usize {
        self.result_place() + 2
    }

    /// The register that holds `register` when it is of type `ty`.
    fn reg(&mut self, register: usize, ty: Type) -> Reg {
        let (function, count) = (&mut self.function, usize::from(self.code.registers));
        *self.registers.entry((register, ty)).or_insert_with(|| {
            let reg = function.register(ty);
            // What only exists between instructions is no variable.
            if register < count {
                function.variables.push((reg, register as u32));
            }
            reg
        })
    }

    fn emit(&mut self, op: Op) {
        self.insts.push(Inst { at: self.at, op });
    }

    fn scratch(&mut self, ty: Type) -> Reg {
        self.function.register(ty)
    }

    fn int(&mut self, value: i32) -> Reg {
        let dst = self.scratch(Type::Int);
        self.emit(Op::Int { dst, value });
        dst
    }

    /// Reads `register` at `ty`.
    fn read(&mut self, register: u16, ty: Type) -> Result<Reg> {
        let register = usize::from(register);
        if !self.state.has(register, ty) {
            return Err(format!("v{register} does not hold {ty:?}"));
        }
        Ok(self.reg(register, ty))
    }

    /// Says that `register` holds `value` now; gives where to write it.
    fn write(&mut self, register: usize, value: Value<'a>, ty: Type) -> Reg {
        self.state.set(register, value);
        self.reg(register, ty)
    }

    fn write_number(&mut self, register: u16, ty: Type) -> Reg {
        self.write(register.into(), Value::number(ty), ty)
    }

    fn write_ref(&mut self, register: usize, ty: &'a [u8]) -> Reg {
        self.write(register, Value::reference(ty), Type::Ref)
    }

    /// Makes `register` zero: an int, a float and null.
    fn write_zero(&mut self, register: usize) {
        self.state.set(register, Value::ZERO);
        let dst = self.reg(register, Type::Int);
        self.emit(Op::Int { dst, value: 0 });
        let dst = self.reg(register, Type::Float);
        self.emit(Op::Float { dst, bits: 0 });
        let dst = self.reg(register, Type::Ref);
        self.emit(Op::Null { dst });
    }

    /// Translates the block that starts at `start`.
    fn block(&mut self, start: u32) -> Result<()> {
        self.at = start;
        self.state = self.entries[&start].clone();
        self.insts.clear();
        self.handlers = covering(self.code, start);
        let handler = self.dispatcher()?;
        let next = self.starts.partition_point(|&it| it <= start);
        let end = self.starts.get(next).copied();
        let end = end.unwrap_or_else(|| self.code.unit_count());
        while self.at < end {
            let Ok(Unit::Instruction(it)) = decode(self.code.instructions, self.at as usize) else {
                return Err("control runs into data".into());
            };
            let (before, count) = (self.state.clone(), self.insts.len());
            self.instruction(&it)?;
            let may_throw = |it: &Inst| self.function.may_throw(&it.op);
            if self.insts[count..].iter().any(may_throw) {
                self.flow_to_handlers(&before);
            }
            if it.opcode != Opcode::MoveException {
                self.state.set(self.caught_place(), Value::UNUSABLE);
            }
            // A result is taken at once.
            if !it.opcode.has_result() {
                self.state.set(self.result_place(), Value::UNUSABLE);
            }
            self.at += it.opcode.format().units() as u32;
            let is_ended = self.insts.last().is_some_and(|it| it.op.is_terminator());
            if is_ended || it.opcode.flow() == Flow::End {
                break;
            }
        }
        let is_ended = |inst: &Inst| inst.op.is_terminator();
        if !self.insts.last().is_some_and(is_ended) {
            let target = self.jump_target(i64::from(self.at))?;
            self.emit(Op::Jump { target });
        }
        let id = self.blocks[&start];
        let insts = core::mem::take(&mut self.insts);
        self.function.blocks[id.0 as usize] = Block { insts, handler };
        Ok(())
    }

    fn instruction(&mut self, it: &Instruction) -> Result<()> {
        match it.opcode as u8 {
            0x00 => Ok(()),
            0x01..=0x0d | 0x12..=0x1c | 0xfe | 0xff => self.data(it),
            0x0e..=0x11 | 0x27..=0x2c | 0x32..=0x3d => self.control(it),
            0x1d..=0x20 | 0x22 | 0x52..=0x6d => self.member(it),
            0x21 | 0x23..=0x26 | 0x44..=0x51 => self.array(it),
            0x6e..=0x78 | 0xfa..=0xfd => self.call(it),
            _ => self.arithmetic(it),
        }
    }

    /// The block for a jump to `target`, which gets the current state.
    fn jump_target(&mut self, target: i64) -> Result<BlockId> {
        let start = u32::try_from(target).map_err(|_| "jump out of the code")?;
        let block = *self.blocks.get(&start).ok_or("jump out of the code")?;
        let state = self.state.clone();
        self.flow(start, &state);
        Ok(block)
    }

    fn flow(&mut self, start: u32, state: &State<'a>) {
        let changed = match self.entries.get_mut(&start) {
            Some(entry) => entry.join(state),
            None => {
                self.entries.insert(start, state.clone());
                true
            }
        };
        if changed {
            self.pending.insert(start);
        }
    }

    /// Handlers see the registers as they are before the instruction that throws.
    fn flow_to_handlers(&mut self, before: &State<'a>) {
        for (_, handler) in self.handlers.clone() {
            let mut state = before.clone();
            state.set(self.result_place(), Value::UNUSABLE);
            state.set(self.caught_place(), Value::reference(THROWABLE));
            self.flow(handler, &state);
        }
    }

    fn dispatcher(&mut self) -> Result<Option<BlockId>> {
        if self.handlers.is_empty() {
            return Ok(None);
        }
        if let Some(&block) = self.dispatchers.get(&self.handlers) {
            return Ok(Some(block));
        }
        let mut handlers = Vec::new();
        for (kind, handler) in &self.handlers {
            let index = match kind {
                Some(kind) => Some(self.outline.class_index(descriptor(self.file, *kind))?),
                None => None,
            };
            let block = self
                .blocks
                .get(handler)
                .ok_or("a handler out of the code")?;
            handlers.push((index, *block));
        }
        let dispatch = Dispatch {
            at: self.at,
            handlers: &handlers,
            landing: self.reg(self.caught_place(), Type::Ref),
            leave: None,
            outer: None,
            passes_over: true,
        };
        let first = dispatch.build(&mut self.function, &mut self.chains);
        self.dispatchers.insert(self.handlers.clone(), first);
        Ok(Some(first))
    }
}

/// Where blocks start, in order.
fn starts_of(code: &Code<'_>) -> Result<Vec<u32>> {
    let mut starts = BTreeSet::from([0]);
    let mut add = |pc: usize, offset: i32| {
        let target = u32::try_from(pc as i64 + i64::from(offset));
        starts.insert(target.map_err(|_| "jump out of the code")?);
        Ok::<_, &str>(())
    };
    for (pc, unit) in code.units() {
        let Ok(Unit::Instruction(it)) = unit else {
            continue;
        };
        match (it.opcode, it.operands) {
            (Opcode::FillArrayData, _) => continue,
            (Opcode::PackedSwitch | Opcode::SparseSwitch, Operands::BranchA { offset, .. }) => {
                let at = pc as i64 + i64::from(offset);
                if let Ok(Unit::Payload(payload)) = decode(code.instructions, at as usize) {
                    payload.targets().try_for_each(|target| add(pc, target))?;
                }
            }
            (
                _,
                Operands::Branch { offset }
                | Operands::BranchA { offset, .. }
                | Operands::BranchAb { offset, .. },
            ) => add(pc, offset)?,
            _ if it.opcode.flow() == Flow::Next => continue,
            _ => {}
        }
        add(pc, it.opcode.format().units() as i32)?;
    }
    for it in &code.tries {
        add(it.start as usize, 0)?;
        add(it.start as usize + usize::from(it.count), 0)?;
    }
    for handlers in &code.handlers {
        let typed = handlers.typed.iter().map(|(_, at)| *at);
        for at in typed.chain(handlers.catch_all) {
            add(at as usize, 0)?;
        }
    }
    Ok(starts
        .into_iter()
        .filter(|&it| it < code.unit_count())
        .collect())
}

/// The handlers of the try that `pc` lies in, in the order they are asked.
fn covering(code: &Code<'_>, pc: u32) -> Handlers {
    // They lie one behind the other: the file was looked at.
    let behind = code.tries.partition_point(|it| it.start <= pc);
    let last = behind.checked_sub(1).map(|index| &code.tries[index]);
    let covers = |it: &&dex::Try| pc < it.start + u32::from(it.count);
    let Some(found) = last.filter(covers) else {
        return Vec::new();
    };
    let handlers = &code.handlers[found.handlers];
    let typed = handlers.typed.iter().map(|&(kind, at)| (Some(kind), at));
    typed
        .chain(handlers.catch_all.map(|at| (None, at)))
        .collect()
}

/// How values of a descriptor's type lie in memory.
fn kind_of(descriptor: &[u8]) -> Result<MemoryKind> {
    Ok(match descriptor.first() {
        Some(b'Z') => MemoryKind::Boolean,
        Some(b'B') => MemoryKind::Byte,
        Some(b'C') => MemoryKind::Char,
        Some(b'S') => MemoryKind::Short,
        Some(b'I') => MemoryKind::Int,
        Some(b'J') => MemoryKind::Long,
        Some(b'F') => MemoryKind::Float,
        Some(b'D') => MemoryKind::Double,
        Some(b'L' | b'[') => MemoryKind::Ref,
        _ => return Err("void where a value is".into()),
    })
}

/// What a value of the type `descriptor` is.
fn value_of(descriptor: &[u8]) -> Result<Value<'_>> {
    Ok(match kind_of(descriptor)? {
        MemoryKind::Ref => Value::reference(descriptor),
        kind => Value::number(kind.register_type()),
    })
}
