// SPDX-License-Identifier: Apache-2.0
//! [`Plan`]: how a large method is cut into pieces that are compiled one by one.
//!
//! The time that Cranelift takes for a function grows faster than the function. So a large method
//! becomes many small functions: a piece has a few hundred instructions, and pieces go on to each
//! other by tail calls. Registers that live from one segment to another lie in a frame that all
//! pieces share; no value of Cranelift's crosses a segment. The frame keeps an object until its
//! register is written again: a smaller method lets go after the last use.

use core::ops::Range;

use ir::{BlockId, Function, Op, Reg, Type};
use rustc_hash::FxHashMap;

use crate::{CompileError, lower::receiver_of};

/// Instructions of a segment: values of Cranelift's live no longer.
const SEGMENT_INSTS_MAX: usize = 100;
/// Instructions of a piece; a single segment may have more targets than that.
const PIECE_INSTS_MAX: usize = 300;
/// Bytes of the frame that pieces share: a register takes at most eight.
const FRAME_BYTES_MAX: u32 = 1 << 20;
/// Instructions and blocks from which on a method is cut into pieces. Of methods a little smaller
/// the worst one in tests/java/large takes 0.7 s and 68 MiB as one function.
const INSTS_MAX: usize = 6_000;
const BLOCKS_MAX: usize = 1_500;
/// Registers times the places where they may be needed by a handler or another block.
const CROSSINGS_MAX: usize = 300_000;

/// Whether a method is compiled in pieces: as one it would take long.
pub(crate) fn is_large(function: &Function) -> bool {
    let blocks = function.blocks.len();
    let insts = function.blocks.iter().map(|it| it.insts.len());
    let throwing = function
        .blocks
        .iter()
        .filter(|it| it.handler.is_some())
        .map(|it| it.insts.iter().filter(|inst| inst.op.may_throw()).count());
    let places = blocks + throwing.sum::<usize>();
    insts.sum::<usize>() > INSTS_MAX
        || blocks > BLOCKS_MAX
        || places.saturating_mul(function.registers.len()) > CROSSINGS_MAX
}

/// Consecutive instructions of one block.
pub(crate) struct Segment {
    pub(crate) block: BlockId,
    pub(crate) insts: Range<usize>,
}

/// Where registers lie that live across segments.
pub(crate) struct Slots {
    offsets: Vec<u32>,
    /// References come first, four bytes each.
    pub(crate) reference_bytes: u32,
    pub(crate) bytes: u32,
}

const NO_SLOT: u32 = u32::MAX;

impl Slots {
    pub(crate) fn of(&self, reg: Reg) -> Option<i32> {
        let offset = self.offsets[reg.0 as usize];
        (offset != NO_SLOT).then_some(offset as i32)
    }
}

/// A large method's pieces.
pub(crate) struct Plan {
    pub(crate) segments: Vec<Segment>,
    /// First segment of each block.
    first: Vec<u32>,
    /// The segments of each piece.
    pub(crate) pieces: Vec<Range<usize>>,
    /// By segment.
    piece_of: Vec<u32>,
    /// For each piece the segments that other pieces go on to.
    pub(crate) entries: Vec<Vec<usize>>,
    /// By segment: its place among its piece's entries.
    entry_of: Vec<u32>,
    pub(crate) slots: Slots,
    pub(crate) receiver: Option<Reg>,
    pub(crate) kept: Kept,
}

/// References that live until their variable is written again.
pub(crate) struct Kept {
    /// By register: whether it is such a reference.
    is_kept: Vec<bool>,
    /// By register: those that end when it is written, being the variable's numbers.
    ended: FxHashMap<Reg, Vec<Reg>>,
}

impl Kept {
    fn new(function: &Function) -> Self {
        let mut kept = Self {
            is_kept: vec![false; function.registers.len()],
            ended: FxHashMap::default(),
        };
        if !function.keeps_references {
            return kept;
        }
        let variables = || function.variables.iter().copied();
        let mut references = FxHashMap::default();
        for (reg, variable) in variables().filter(|it| function.type_of(it.0) == Type::Ref) {
            kept.is_kept[reg.0 as usize] = true;
            references.insert(variable, reg);
        }
        for (reg, variable) in variables() {
            let count = match function.type_of(reg) {
                Type::Ref => continue,
                Type::Int | Type::Float => 1,
                Type::Long | Type::Double => 2,
            };
            let ended = (variable..variable + count).filter_map(|it| references.get(&it).copied());
            kept.ended.insert(reg, ended.collect());
        }
        kept
    }

    pub(crate) fn has(&self, reg: Reg) -> bool {
        self.is_kept[reg.0 as usize]
    }

    pub(crate) fn ended_by(&self, reg: Reg) -> &[Reg] {
        self.ended.get(&reg).map_or(&[], Vec::as_slice)
    }
}

impl Plan {
    pub(crate) fn new(function: &Function) -> Result<Self, CompileError> {
        let (segments, first) = segments_of(function);
        let pieces = pieces_of(function, &segments);
        let mut piece_of = vec![0; segments.len()];
        for (number, piece) in pieces.iter().enumerate() {
            piece_of[piece.clone()].fill(number as u32);
        }
        let kept = Kept::new(function);
        let slots = slots_of(function, &segments, &kept)?;
        let mut plan = Self {
            entries: vec![Vec::new(); pieces.len()],
            entry_of: vec![u32::MAX; segments.len()],
            segments,
            first,
            pieces,
            piece_of,
            slots,
            receiver: receiver_of(function),
            kept,
        };
        plan.find_entries(function);
        Ok(plan)
    }

    fn find_entries(&mut self, function: &Function) {
        self.enter(0);
        for index in 0..self.segments.len() {
            let Segment { block, ref insts } = self.segments[index];
            let block = &function.blocks[block.0 as usize];
            let mut targets: Vec<BlockId> = block.handler.into_iter().collect();
            if insts.end < block.insts.len() {
                self.enter_from(index, index + 1);
            } else {
                let last = &block.insts[insts.end - 1];
                last.op.for_each_target(|target| targets.push(target));
            }
            for target in targets {
                self.enter_from(index, self.first_of(target));
            }
        }
    }

    fn enter_from(&mut self, from: usize, to: usize) {
        if self.piece_of[from] != self.piece_of[to] {
            self.enter(to);
        }
    }

    fn enter(&mut self, segment: usize) {
        if self.entry_of[segment] == u32::MAX {
            let entries = &mut self.entries[self.piece_of[segment] as usize];
            self.entry_of[segment] = entries.len() as u32;
            entries.push(segment);
        }
    }

    pub(crate) fn first_of(&self, block: BlockId) -> usize {
        self.first[block.0 as usize] as usize
    }

    /// The piece of a segment that others go on to, and its place among the piece's entries.
    pub(crate) fn entry(&self, segment: usize) -> (u32, u32) {
        debug_assert_ne!(self.entry_of[segment], u32::MAX);
        (self.piece_of[segment], self.entry_of[segment])
    }
}

fn segments_of(function: &Function) -> (Vec<Segment>, Vec<u32>) {
    let (mut segments, mut first) = (Vec::new(), Vec::new());
    for (index, block) in function.blocks.iter().enumerate() {
        first.push(segments.len() as u32);
        let count = block.insts.len();
        for start in (0..count).step_by(SEGMENT_INSTS_MAX) {
            segments.push(Segment {
                block: BlockId(index as u32),
                insts: start..count.min(start + SEGMENT_INSTS_MAX),
            });
        }
    }
    (segments, first)
}

fn pieces_of(function: &Function, segments: &[Segment]) -> Vec<Range<usize>> {
    let weight = |it: &Segment| {
        let block = &function.blocks[it.block.0 as usize];
        let mut weight = it.insts.len();
        for inst in &block.insts[it.insts.clone()] {
            if let Op::FillArray { data, .. } = &inst.op {
                weight += data.len() / 8;
            }
        }
        let last = &block.insts[it.insts.end - 1];
        last.op.for_each_target(|_| weight += 1);
        weight
    };
    let (mut pieces, mut start, mut sum) = (Vec::new(), 0, 0);
    for (index, segment) in segments.iter().enumerate() {
        let weight = weight(segment);
        if index > start && sum + weight > PIECE_INSTS_MAX {
            pieces.push(start..index);
            (start, sum) = (index, 0);
        }
        sum += weight;
    }
    pieces.push(start..segments.len());
    pieces
}

/// A register lives across segments if it is kept, or one of them reads it before writing it.
fn slots_of(function: &Function, segments: &[Segment], kept: &Kept) -> Result<Slots, CompileError> {
    let mut is_shared = kept.is_kept.clone();
    let mut written = vec![u32::MAX; function.registers.len()];
    for (number, segment) in segments.iter().enumerate() {
        let block = &function.blocks[segment.block.0 as usize];
        for inst in &block.insts[segment.insts.clone()] {
            ir::for_each_read(function, &inst.op, |reg, _| {
                is_shared[reg.0 as usize] |= written[reg.0 as usize] != number as u32;
            });
            if let Some(dst) = inst.op.written() {
                written[dst.0 as usize] = number as u32;
            }
        }
    }
    let mut offsets = vec![NO_SLOT; function.registers.len()];
    let mut next = 0_u32;
    let mut place = |bytes: u32, is_wanted: &dyn Fn(Type) -> bool| {
        next = next.next_multiple_of(8);
        for (index, &ty) in function.registers.iter().enumerate() {
            if is_shared[index] && is_wanted(ty) {
                offsets[index] = next;
                next = next.saturating_add(bytes);
            }
        }
        next.next_multiple_of(8)
    };
    let reference_bytes = place(4, &|ty| ty == Type::Ref);
    place(4, &|ty| matches!(ty, Type::Int | Type::Float));
    let bytes = place(8, &|ty| matches!(ty, Type::Long | Type::Double));
    if bytes > FRAME_BYTES_MAX {
        return Err(CompileError(format!("its frame has {bytes} bytes")));
    }
    Ok(Slots {
        offsets,
        reference_bytes,
        bytes,
    })
}
