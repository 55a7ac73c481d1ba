// SPDX-License-Identifier: Apache-2.0
//! [`Compiler::in_pieces`]: a large method as a guard, a frame and the pieces of its [`Plan`].
//!
//! The guard looks whether the stack has room for the frame, before there is one, and goes on to
//! the frame by a tail call. The frame has the registers that live across segments, and calls the
//! first piece: the only call with a stack map for all of them. What a piece returns or throws is
//! what the method returns or throws.

use cranelift_codegen::ir::{
    self as clif, InstBuilder,
    condcodes::IntCC,
    types::{I32, I64},
};
use cranelift_frontend::{FunctionBuilder, Switch};
use ir::{BlockId, Function, Op, Reg, Type};
use rustc_hash::FxHashMap;

use crate::{
    CompileError, CompiledCode, Compiler, Entry, Linker,
    code::{Effort, HIDDEN, Part, managed},
    lower::{Lowering, machine_type},
    pieces::Plan,
};

/// What pieces take of the stack beside the frame: room for the values of one, which has a few
/// hundred instructions.
const PIECE_STACK_BYTES: u32 = 32 << 10;
/// Bytes of a method's code. A method of 65,535 bytes has a tenth of it.
const CODE_BYTES_MAX: usize = 32 << 20;
/// Where parts start: what holds for the whole code's start holds for theirs.
const PART_ALIGN: usize = 32;

/// The part with the frame, and the first piece, by their names in jumps.
const FRAME: u32 = 0;
const FIRST_PIECE: u32 = 1;
/// The name space of parts in jumps.
pub(crate) const PARTS: u32 = 1;

/// What a piece knows of the frame.
pub(crate) struct Memory<'a> {
    plan: &'a Plan,
    piece: usize,
    /// Address of the frame's registers.
    base: clif::Value,
    /// Registers with their values in this segment, and whether the frame has another.
    cached: FxHashMap<Reg, (clif::Value, bool)>,
    /// Of those: references that the frame has too.
    references: Vec<Reg>,
    /// Of those: what the frame has not.
    dirty: Vec<Reg>,
    /// Blocks that go on to a segment of another piece.
    exits: FxHashMap<usize, clif::Block>,
}

impl Compiler {
    /// Compiles a method piece by piece: time and memory are linear in its instructions.
    pub(crate) fn in_pieces(
        &mut self,
        function: &Function,
        linker: &mut dyn Linker,
    ) -> Result<CompiledCode, CompileError> {
        let plan = Plan::new(function)?;
        let params = || {
            let types = function.params.iter().map(|&reg| function.type_of(reg));
            types.map(machine_type)
        };
        let result = function.result.map(machine_type);
        let signature = managed(params(), result);
        let mut whole = Whole::default();
        let linker = &mut *linker;
        self.build(signature.clone(), |b, references| {
            Lowering::in_piece(function, &plan, linker, b, references).guard(&plan);
        });
        self.show(linker);
        whole.add(self.part(Effort::Least)?)?;
        self.build(signature, |b, references| {
            Lowering::in_piece(function, &plan, linker, b, references).frame(&plan);
        });
        self.show(linker);
        whole.add(self.part(Effort::Least)?)?;
        for piece in 0..plan.pieces.len() {
            self.build(piece_signature(result), |b, references| {
                Lowering::in_piece(function, &plan, linker, b, references).piece(&plan, piece);
            });
            self.show(linker);
            whole.add(self.part(Effort::Least)?)?;
        }
        Ok(whole.finish())
    }
}

/// Address of the frame, place among the piece's entries, exception.
fn piece_signature(result: Option<clif::Type>) -> clif::Signature {
    managed([I64, I32, I32], result)
}

/// The parts so far.
#[derive(Default)]
struct Whole {
    code: CompiledCode,
    starts: Vec<usize>,
    /// Where the distance to a part goes.
    jumps: Vec<(usize, u32)>,
}

impl Whole {
    fn add(&mut self, part: Part) -> Result<(), CompileError> {
        let code = &mut self.code;
        let start = code.bytes.len().next_multiple_of(PART_ALIGN);
        if start + part.code.bytes.len() > CODE_BYTES_MAX {
            return Err(CompileError(format!("its code has {start} bytes and more")));
        }
        // Never run: `int3`.
        code.bytes.resize(start, 0xcc);
        self.starts.push(start);
        let base = start as u32;
        code.bytes.extend_from_slice(&part.code.bytes);
        code.call_sites
            .extend(part.code.call_sites.iter().map(|site| {
                let mut site = *site;
                site.return_offset += base;
                site.handler = site.handler.map(|handler| handler + base);
                site
            }));
        let maps = part.code.stack_maps.into_iter().map(|mut map| {
            map.return_offset += base;
            map
        });
        code.stack_maps.extend(maps);
        let relocations = part.code.relocations.iter().map(|relocation| {
            let mut relocation = *relocation;
            relocation.offset += base;
            relocation
        });
        code.relocations.extend(relocations);
        let jumps = part.jumps.iter();
        self.jumps
            .extend(jumps.map(|&(at, to)| (start + at as usize, to)));
        Ok(())
    }

    fn finish(mut self) -> CompiledCode {
        for (at, part) in self.jumps {
            // Behind the guard, which nothing jumps to.
            let target = self.starts[part as usize + 1] as i64;
            let distance = (target - (at as i64 + 4)) as i32;
            self.code.bytes[at..at + 4].copy_from_slice(&distance.to_le_bytes());
        }
        self.code
    }
}

/// A reference to a part of the same method.
fn part(b: &mut FunctionBuilder<'_>, number: u32, signature: clif::Signature) -> clif::FuncRef {
    let signature = b.import_signature(signature);
    let name = clif::UserExternalName::new(PARTS, number);
    let name = b.func.declare_imported_user_function(name);
    b.import_function(clif::ExtFuncData {
        name: clif::ExternalName::User(name),
        signature,
        colocated: true,
        patchable: false,
    })
}

impl<'a> Lowering<'a, '_> {
    fn start(&mut self) -> Vec<clif::Value> {
        let entry = self.b.create_block();
        self.b.append_block_params_for_function_params(entry);
        self.b.switch_to_block(entry);
        self.b.block_params(entry).to_vec()
    }

    /// Throws unless the stack has room for the frame, a piece, and what the limit is for.
    fn guard(mut self, plan: &Plan) {
        let params = self.start();
        self.b.set_srcloc(clif::SourceLoc::new(0));
        let limit = self.stack_limit();
        let bytes = plan.slots.bytes + PIECE_STACK_BYTES;
        let limit = self.b.ins().iadd_imm_s(limit, i64::from(bytes));
        let pointer = self.b.ins().get_stack_pointer(I64);
        let is_deep = self.b.ins().icmp(IntCC::UnsignedLessThan, pointer, limit);
        self.throw_if(is_deep, Entry::ThrowStackOverflow, &[]);
        let signature = self.b.func.signature.clone();
        let frame = part(self.b, FRAME, signature);
        self.b.ins().return_call(frame, &params);
    }

    /// Registers that live across segments, references null; then the first piece.
    fn frame(mut self, plan: &Plan) {
        let params = self.start();
        self.b.set_srcloc(clif::SourceLoc::new(HIDDEN));
        let slots = &plan.slots;
        let data =
            clif::StackSlotData::new(clif::StackSlotKind::ExplicitSlot, slots.bytes.max(8), 3);
        let slot = self.b.create_sized_stack_slot(data);
        let base = self.b.ins().stack_addr(I64, slot, 0);
        self.clear(base, slots.reference_bytes);
        for (&reg, &value) in self.function.params.iter().zip(&params) {
            if let Some(offset) = slots.of(reg) {
                self.b.ins().store(Self::plain(), value, base, offset);
            }
        }
        let returns = self
            .b
            .func
            .signature
            .returns
            .first()
            .map(|it| it.value_type);
        let first = part(self.b, FIRST_PIECE, piece_signature(returns));
        let zero = self.int(0);
        let call = self.b.ins().call(first, &[base, zero, zero]);
        let references = (0..slots.reference_bytes).step_by(4);
        let entries = references.map(|offset| clif::UserStackMapEntry {
            ty: I32,
            slot,
            offset,
        });
        self.b.func.dfg.append_user_stack_map_entries(call, entries);
        let values = self.b.inst_results(call).to_vec();
        self.b.ins().return_(&values);
    }

    /// Sets words to zero, eight bytes at once.
    fn clear(&mut self, base: clif::Value, bytes: u32) {
        if bytes == 0 {
            return;
        }
        let (body, next) = (self.b.create_block(), self.b.create_block());
        self.b.append_block_param(body, I64);
        let end = self.b.ins().iadd_imm_s(base, i64::from(bytes));
        self.b.ins().jump(body, &[base.into()]);
        self.b.switch_to_block(body);
        let at = self.b.block_params(body)[0];
        let zero = self.long(0);
        self.b.ins().store(Self::plain(), zero, at, 0);
        let at = self.b.ins().iadd_imm_s(at, 8);
        let is_left = self.b.ins().icmp(IntCC::UnsignedLessThan, at, end);
        self.b.ins().brif(is_left, body, &[at.into()], next, &[]);
        self.b.switch_to_block(next);
    }

    fn piece(mut self, plan: &'a Plan, piece: usize) {
        let params = self.start();
        self.memory = Some(Memory {
            plan,
            piece,
            base: params[0],
            cached: FxHashMap::default(),
            references: Vec::new(),
            dirty: Vec::new(),
            exits: FxHashMap::default(),
        });
        let segments = plan.pieces[piece].clone();
        self.blocks = segments.clone().map(|_| self.b.create_block()).collect();
        for index in segments.clone() {
            let segment = &plan.segments[index];
            if segment.insts.start == 0 && self.begins_with_caught(segment.block) {
                let block = self.blocks[index - segments.start];
                self.b.append_block_param(block, I32);
            }
        }
        self.begin(&plan.entries[piece], segments.start, params[1], params[2]);
        for index in segments {
            self.segment(index);
        }
        self.fill_pads();
        self.fill_exits();
    }

    fn begins_with_caught(&self, block: BlockId) -> bool {
        let block = &self.function.blocks[block.0 as usize];
        matches!(block.insts[0].op, Op::Caught { .. })
    }

    /// Goes on to one of the piece's entries.
    fn begin(
        &mut self,
        entries: &[usize],
        first: usize,
        place: clif::Value,
        exception: clif::Value,
    ) {
        let mut ways = Vec::new();
        for &segment in entries {
            let way = self.b.create_block();
            ways.push((way, self.blocks[segment - first]));
        }
        match ways[..] {
            [] => {
                self.b.ins().trap(clif::TrapCode::unwrap_user(1));
            }
            [(way, _)] => {
                self.b.ins().jump(way, &[]);
            }
            [(first, _), ..] => {
                let mut switch = Switch::new();
                for (number, &(way, _)) in ways.iter().enumerate().skip(1) {
                    switch.set_entry(number as u128, way);
                }
                switch.emit(self.b, place, first);
            }
        }
        for (way, target) in ways {
            self.b.switch_to_block(way);
            if self.b.block_params(target).is_empty() {
                self.b.ins().jump(target, &[]);
            } else {
                self.b.ins().jump(target, &[exception.into()]);
            }
        }
    }

    fn segment(&mut self, index: usize) {
        let plan = self.memory.as_ref().expect("in a piece").plan;
        let piece = plan.pieces[self.memory.as_ref().expect("in a piece").piece].clone();
        let segment = &plan.segments[index];
        let function = self.function;
        let block = &function.blocks[segment.block.0 as usize];
        let is_first = segment.insts.start == 0;
        if is_first || index == piece.start {
            self.non_null.clear();
            self.safe_divisors.clear();
        }
        self.compared.clear();
        self.current = segment.block;
        self.handler = block.handler;
        self.caught = None;
        let target = self.blocks[index - piece.start];
        self.b.switch_to_block(target);
        self.caught = self.b.block_params(target).first().copied();
        self.forget();
        if index == 0 {
            self.poll();
        }
        for inst in &block.insts[segment.insts.clone()] {
            self.b.set_srcloc(clif::SourceLoc::new(inst.at));
            self.inst_of_segment(&inst.op);
        }
        if segment.insts.end < block.insts.len() {
            self.flush();
            let next = self.segment_block(index + 1);
            self.b.ins().jump(next, &[]);
        }
    }

    fn inst_of_segment(&mut self, op: &Op) {
        // What an operation reads in one of its own blocks would not be there in the others.
        let mut reads = Vec::new();
        ir::for_each_read(self.function, op, |reg, _| reads.push(reg));
        for reg in reads {
            self.get(reg);
        }
        let leaves = op.is_terminator() && !matches!(op, Op::Return { .. } | Op::Throw { .. });
        if leaves || (op.may_throw() && self.handler.is_some()) {
            self.flush();
        }
        // What cannot throw calls nothing either, but for the class library's own loads.
        let may_call = op.may_throw() || op.written().is_none();
        self.inst(op);
        if may_call {
            self.let_go();
        }
    }

    /// The block of a segment: here, or one that goes on to it.
    fn segment_block(&mut self, segment: usize) -> clif::Block {
        let memory = self.memory.as_mut().expect("in a piece");
        let piece = &memory.plan.pieces[memory.piece];
        if piece.contains(&segment) {
            return self.blocks[segment - piece.start];
        }
        let b = &mut *self.b;
        *memory
            .exits
            .entry(segment)
            .or_insert_with(|| b.create_block())
    }

    /// Where a jump to a block goes, in pieces.
    pub(crate) fn target_in_piece(&mut self, block: BlockId) -> clif::Block {
        let memory = self.memory.as_ref().expect("in a piece");
        let segment = memory.plan.first_of(block);
        self.segment_block(segment)
    }

    /// Goes on to the handler with an exception.
    pub(crate) fn handle_in_piece(&mut self, handler: BlockId, exception: clif::Value) {
        let memory = self.memory.as_ref().expect("in a piece");
        let segment = memory.plan.first_of(handler);
        let piece = &memory.plan.pieces[memory.piece];
        if piece.contains(&segment) {
            let block = self.blocks[segment - piece.start];
            self.b.ins().jump(block, &[exception.into()]);
        } else {
            self.go_on(segment, exception);
        }
    }

    fn go_on(&mut self, segment: usize, exception: clif::Value) {
        let memory = self.memory.as_ref().expect("in a piece");
        let ((piece, entry), base) = (memory.plan.entry(segment), memory.base);
        let signature = self.b.func.signature.clone();
        let next = part(self.b, FIRST_PIECE + piece, signature);
        let entry = self.int(i64::from(entry));
        self.b.ins().return_call(next, &[base, entry, exception]);
    }

    fn fill_exits(&mut self) {
        let memory = self.memory.as_mut().expect("in a piece");
        let mut exits: Vec<_> = core::mem::take(&mut memory.exits).into_iter().collect();
        // The same code each time.
        exits.sort_unstable();
        for (segment, block) in exits {
            self.b.switch_to_block(block);
            let none = self.int(0);
            self.go_on(segment, none);
        }
    }

    pub(crate) fn get_in_piece(&mut self, reg: Reg) -> clif::Value {
        let ty = self.type_of(reg);
        let memory = self.memory.as_mut().expect("in a piece");
        if let Some(&(value, _)) = memory.cached.get(&reg) {
            return value;
        }
        let offset = memory.plan.slots.of(reg);
        let offset = offset.expect("what a segment reads it wrote, or the frame has it");
        let base = memory.base;
        let value = self
            .b
            .ins()
            .load(machine_type(ty), Self::plain(), base, offset);
        memory.cached.insert(reg, (value, false));
        if ty == Type::Ref {
            memory.references.push(reg);
            self.references.add(value);
        }
        value
    }

    pub(crate) fn set_in_piece(&mut self, reg: Reg, value: clif::Value) {
        self.note_reference(reg, value);
        let plan = self.memory.as_ref().expect("in a piece").plan;
        for &ended in plan.kept.ended_by(reg) {
            let none = self.int(0);
            self.keep_in_piece(ended, none);
        }
        if plan.kept.has(reg) {
            return self.keep_in_piece(reg, value);
        }
        let memory = self.memory.as_mut().expect("in a piece");
        let is_shared = plan.slots.of(reg).is_some();
        memory.cached.insert(reg, (value, is_shared));
        if is_shared {
            memory.dirty.push(reg);
        }
    }

    /// A reference that outlives what reads it: the frame has it before anything is called.
    fn keep_in_piece(&mut self, reg: Reg, value: clif::Value) {
        let memory = self.memory.as_mut().expect("in a piece");
        let offset = memory.plan.slots.of(reg).expect("each of them has a slot");
        self.b
            .ins()
            .store(Self::plain(), value, memory.base, offset);
        memory.cached.insert(reg, (value, false));
        memory.references.push(reg);
    }

    /// Writes to the frame what it does not have yet.
    fn flush(&mut self) {
        let memory = self.memory.as_mut().expect("in a piece");
        for reg in memory.dirty.drain(..) {
            let Some((value, is_dirty)) = memory.cached.get_mut(&reg).filter(|it| it.1) else {
                continue;
            };
            *is_dirty = false;
            let offset = memory.plan.slots.of(reg).expect("only such are dirty");
            self.b
                .ins()
                .store(Self::plain(), *value, memory.base, offset);
            if self.types[reg.0 as usize] == Type::Ref {
                memory.references.push(reg);
            }
        }
    }

    /// Behind a call references are read from the frame again: no stack map need name their values.
    fn let_go(&mut self) {
        let memory = self.memory.as_mut().expect("in a piece");
        for reg in memory.references.drain(..) {
            if memory.cached.get(&reg).is_some_and(|it| !it.1) {
                memory.cached.remove(&reg);
            }
        }
    }

    fn forget(&mut self) {
        let memory = self.memory.as_mut().expect("in a piece");
        memory.cached.clear();
        memory.references.clear();
        memory.dirty.clear();
    }
}
