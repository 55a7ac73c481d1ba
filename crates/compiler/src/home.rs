// SPDX-License-Identifier: Apache-2.0
//! [`Homes`]: references that live until their variable is written again, or the method is left.
//!
//! In code that keeps its references (`Function::keeps_references`), each variable that may hold
//! one has a word of the frame, its home. The variable's register lies there: it is stored where
//! the variable is written, and loaded where it is read. Each call names the homes whose variables
//! hold a reference on all paths that lead there, whether anything reads them later or not. Where
//! one path has a reference and another has none, the home is not named.

use cranelift_codegen::ir::{
    self as clif, AliasRegion, AliasRegionData, InstBuilder, MemFlagsData,
    types::{I32, I64},
};
use cranelift_frontend::FunctionBuilder;
use ir::{Block, BlockId, Function, Op, Reg, Type, Worklist};

use crate::inline::inlinable;
use crate::lower::Lowering;

/// Bytes of a home.
const HOME_BYTES: u32 = 4;
/// No home.
const NONE: u32 = u32::MAX;

/// Homes that are named, a bit for each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Named(Vec<u64>);

impl Named {
    fn set(&mut self, home: u32, is_named: bool) {
        let (word, bit) = (&mut self.0[home as usize / 64], 1 << (home % 64));
        *word = if is_named { *word | bit } else { *word & !bit };
    }

    /// Keeps what the other has too; says whether this changed anything.
    fn keep(&mut self, other: &Self) -> bool {
        let mut has_changed = false;
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            has_changed |= *own & !other != 0;
            *own &= other;
        }
        has_changed
    }

    fn all(&self) -> impl Iterator<Item = u32> {
        let words = (0..).zip(&self.0);
        words.flat_map(|(word, &bits)| {
            (0..64).filter_map(move |bit| (bits >> bit & 1 != 0).then_some(word * 64 + bit))
        })
    }
}

/// Which variables have a home, and what a write does to it.
#[derive(Debug)]
struct Places {
    /// By register: the home it lies in.
    homes: Vec<u32>,
    /// By register: homes whose variables it takes when it is written, its own among them.
    taken: Vec<[u32; 2]>,
    count: u32,
}

impl Places {
    fn new(function: &Function) -> Self {
        let variables = function.variables.iter().map(|&(_, variable)| variable);
        let mut by_variable = vec![NONE; variables.max().map_or(0, |it| it as usize + 2)];
        let mut homes = vec![NONE; function.registers.len()];
        let mut count = 0;
        for &(reg, variable) in &function.variables {
            if function.type_of(reg) == Type::Ref {
                by_variable[variable as usize] = count;
                homes[reg.0 as usize] = count;
                count += 1;
            }
        }
        let mut taken = vec![[NONE; 2]; function.registers.len()];
        for &(reg, variable) in &function.variables {
            let is_wide = matches!(function.type_of(reg), Type::Long | Type::Double);
            let second = if is_wide { variable + 1 } else { variable };
            taken[reg.0 as usize] = [variable, second].map(|it| by_variable[it as usize]);
        }
        Self {
            homes,
            taken,
            count,
        }
    }

    fn of(&self, reg: Reg) -> Option<u32> {
        let home = self.homes.get(reg.0 as usize).copied();
        home.filter(|&home| home != NONE)
    }

    fn write(&self, reg: Reg, named: &mut Named) {
        for &home in self.taken[reg.0 as usize]
            .iter()
            .filter(|&&home| home != NONE)
        {
            named.set(home, false);
        }
        if let Some(home) = self.of(reg) {
            named.set(home, true);
        }
    }

    /// What is named at the start of each block; of one that nothing leads to, nothing.
    fn entries(&self, function: &Function) -> Vec<Named> {
        let nothing = Named(vec![0; (self.count as usize).div_ceil(64)]);
        let mut entry = nothing.clone();
        for &param in &function.params {
            self.write(param, &mut entry);
        }
        let mut entries = vec![None; function.blocks.len()];
        entries[0] = Some(entry);
        let mut pending = Worklist::new(function);
        while let Some(id) = pending.pop() {
            let start = entries[id.0 as usize].clone().expect("it was led to");
            self.flow(&function.blocks[id.0 as usize], start, |target, named| {
                let has_changed = match &mut entries[target.0 as usize] {
                    Some(known) => known.keep(named),
                    unknown => {
                        *unknown = Some(named.clone());
                        true
                    }
                };
                if has_changed {
                    pending.push(target);
                }
            });
        }
        entries
            .into_iter()
            .map(|it| it.unwrap_or_else(|| nothing.clone()))
            .collect()
    }

    /// Handlers have what is named before an instruction that throws.
    fn flow(&self, block: &Block, mut named: Named, mut lead: impl FnMut(BlockId, &Named)) {
        for inst in &block.insts {
            if let Some(handler) = block.handler.filter(|_| inst.op.may_throw()) {
                lead(handler, &named);
            }
            if let Some(written) = inst.op.written() {
                self.write(written, &mut named);
            }
            inst.op.for_each_target(|target| lead(target, &named));
        }
    }
}

/// Homes of the body being lowered.
pub(crate) struct Homes {
    places: Places,
    /// By block.
    entries: Vec<Named>,
    /// At the instruction being lowered.
    named: Named,
    slot: clif::StackSlot,
    region: AliasRegion,
}

impl Homes {
    /// None if the function lets go, has nothing to keep, or calls nothing during which it could
    /// be taken away.
    pub(crate) fn new(function: &Function, b: &mut FunctionBuilder<'_>) -> Option<Self> {
        if !function.keeps_references || is_quiet(function) {
            return None;
        }
        let places = Places::new(function);
        if places.count == 0 {
            return None;
        }
        let entries = places.entries(function);
        let bytes = places.count * HOME_BYTES;
        let data = clif::StackSlotData::new(clif::StackSlotKind::ExplicitSlot, bytes, 2);
        let slot = b.create_sized_stack_slot(data);
        let region = b.func.dfg.alias_regions.insert(AliasRegionData {
            user_id: 1,
            description: "homes".into(),
        });
        Some(Self {
            named: entries[0].clone(),
            places,
            entries,
            slot,
            region,
        })
    }

    pub(crate) fn begin(&mut self, block: BlockId) {
        self.named = self.entries[block.0 as usize].clone();
    }

    /// An instruction is done.
    pub(crate) fn done(&mut self, op: &Op) {
        if let Some(written) = op.written() {
            self.places.write(written, &mut self.named);
        }
    }

    /// Where they lie.
    pub(crate) fn slot(&self) -> clif::StackSlot {
        self.slot
    }

    fn flags(&self) -> MemFlagsData {
        MemFlagsData::trusted().with_alias_region(Some(self.region))
    }

    fn offset(&self, reg: Reg) -> Option<i32> {
        let home = self.places.of(reg)?;
        Some((home * HOME_BYTES) as i32)
    }
}

/// A body in which nothing is called: no collection can see its frame.
fn is_quiet(function: &Function) -> bool {
    inlinable(function).is_some_and(|body| {
        let is_call = |op: &&Op| matches!(op, Op::Invoke { .. });
        !body.iter().any(is_call)
    })
}

impl Lowering<'_, '_> {
    /// The value in a register's home, if it has one.
    pub(crate) fn get_at_home(&mut self, reg: Reg) -> Option<clif::Value> {
        let homes = self.homes.as_ref()?;
        let (offset, flags, slot) = (homes.offset(reg)?, homes.flags(), homes.slot);
        let at = self.b.ins().stack_addr(I64, slot, 0);
        Some(self.b.ins().load(I32, flags, at, offset))
    }

    /// Writes a register's home, if it has one.
    pub(crate) fn set_at_home(&mut self, reg: Reg, value: clif::Value) -> bool {
        let Some(homes) = &self.homes else {
            return false;
        };
        let (flags, slot) = (homes.flags(), homes.slot);
        let Some(offset) = homes.offset(reg) else {
            return false;
        };
        // Until it is stored.
        self.references.add(value);
        let at = self.b.ins().stack_addr(I64, slot, 0);
        self.b.ins().store(flags, value, at, offset);
        true
    }

    /// Has a call name what must outlive it.
    pub(crate) fn keep_across(&mut self, call: clif::Inst) {
        for homes in self.outer_homes.iter().chain(&self.homes) {
            let entries = homes.named.all().map(|home| clif::UserStackMapEntry {
                ty: I32,
                slot: homes.slot,
                offset: home * HOME_BYTES,
            });
            self.b.func.dfg.append_user_stack_map_entries(call, entries);
        }
    }
}

#[cfg(test)]
mod tests {
    use ir::{Inst, Op};

    use super::*;

    /// A function of one block each, with what is done in it.
    fn function(registers: &[(Type, u32)], blocks: Vec<Vec<Op>>) -> Function {
        let mut function = Function::default();
        for &(ty, variable) in registers {
            let reg = function.register(ty);
            function.variables.push((reg, variable));
        }
        for ops in blocks {
            let block = function.block();
            let insts = ops.into_iter().map(|op| Inst { at: 0, op });
            function.blocks[block.0 as usize].insts = insts.collect();
        }
        function
    }

    fn named(function: &Function, block: usize) -> Vec<u32> {
        Places::new(function).entries(function)[block]
            .all()
            .collect()
    }

    #[test]
    fn a_home_is_named_where_all_paths_have_a_reference() {
        let (one, other, int) = (Reg(0), Reg(1), Reg(2));
        let null = |dst| Op::Null { dst };
        let jump = || Op::Jump { target: BlockId(3) };
        let choice = Op::BranchZero {
            condition: ir::Condition::Equal,
            src: int,
            then: BlockId(1),
            otherwise: BlockId(2),
        };
        let blocks = vec![
            vec![Op::Int { dst: int, value: 0 }, choice],
            vec![null(one), null(other), jump()],
            vec![null(one), jump()],
            vec![Op::Return { src: None }],
        ];
        let registers = [(Type::Ref, 0), (Type::Ref, 1), (Type::Int, 2)];
        let found = named(&function(&registers, blocks), 3);
        assert_eq!(found, [0]);
    }

    #[test]
    fn a_number_in_its_variable_takes_the_name_away() {
        let written = |registers: &[(Type, u32)], last: Op| {
            let null = |dst| Op::Null { dst: Reg(dst) };
            let jump = Op::Jump { target: BlockId(1) };
            let first = vec![null(0), null(1), null(2), last, jump];
            named(
                &function(registers, vec![first, vec![Op::Return { src: None }]]),
                1,
            )
        };
        let references = [(Type::Ref, 4), (Type::Ref, 5), (Type::Ref, 7)];
        let with = |ty, variable| [&references[..], &[(ty, variable)]].concat();
        let (int, long) = (
            Op::Int {
                dst: Reg(3),
                value: 0,
            },
            Op::Long {
                dst: Reg(3),
                value: 0,
            },
        );
        assert_eq!(written(&with(Type::Int, 4), int.clone()), [1, 2]);
        assert_eq!(written(&with(Type::Int, 6), int), [0, 1, 2]);
        assert_eq!(written(&with(Type::Long, 4), long.clone()), [2]);
        assert_eq!(written(&with(Type::Long, 6), long), [0, 1]);
    }

    #[test]
    fn a_handler_has_what_is_there_before_each_throw() {
        let throws = |dst| Op::NewPrimitiveArray {
            dst: Reg(dst),
            length: Reg(2),
            kind: ir::MemoryKind::Int,
        };
        let first = vec![
            Op::Null { dst: Reg(0) },
            throws(1),
            throws(0),
            Op::Return { src: None },
        ];
        let caught = vec![Op::Caught { dst: Reg(1) }, Op::Return { src: None }];
        let registers = [(Type::Ref, 0), (Type::Ref, 1), (Type::Int, 2)];
        let mut function = function(&registers, vec![first, caught]);
        function.blocks[0].handler = Some(BlockId(1));
        assert_eq!(named(&function, 1), [0]);
    }
}
