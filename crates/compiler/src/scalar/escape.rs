// SPDX-License-Identifier: Apache-2.0
//! Which objects nothing leads out of a function: [`unseen`].
//!
//! All objects are thought to be unseen at first. While that is assumed, some branches are decided:
//! such an object is not null, is no other value, and needs no barrier and no lock. What they do
//! not lead to is not looked at. An object that then is used in any way but by its fields, class
//! and identity is seen, and all is looked at again without it.

use std::collections::BTreeMap;

use abi::object::{CLASS_OFFSET, HEADER_BYTES, LOCK_OFFSET, LOG_OFFSET};
use cranelift_codegen::{
    entity::EntitySet,
    ir::{
        Block, BlockCall, Function, GlobalValueData, Inst, InstructionData, Opcode, Type, Value,
        ValueDef, condcodes::IntCC, types::I32,
    },
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    Making, Objects,
    homes::{self, Homes},
};
use crate::code::address_of;

/// How often branches are decided anew, and how often all is looked at without what was seen.
const LOOKS_MAX: usize = 8;
const TRIES_MAX: usize = 8;

/// Where a decided branch leads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    /// Past what an unseen object does not need.
    Past(Block),
    /// To one of its destinations.
    Destination(usize),
}

/// How a field is accessed: all its accesses are alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Whole(Type),
    /// An int of so many bytes.
    Narrow(u8),
}

impl Kind {
    /// The type of its value.
    pub(super) fn value_type(self) -> Type {
        match self {
            Kind::Whole(ty) => ty,
            Kind::Narrow(_) => I32,
        }
    }
}

/// What is found out of a function. An object is named by the place of its making.
#[derive(Default)]
pub(super) struct Found {
    pub(super) is_unseen: Vec<bool>,
    /// Values that are an unseen object or its address.
    pub(super) owners: FxHashMap<Value, usize>,
    /// Branches that are decided.
    pub(super) ways: FxHashMap<Inst, Way>,
    /// Their conditions, as far as they are comparisons.
    pub(super) outcomes: FxHashMap<Inst, bool>,
    /// What is reached then, each block before what it leads to but for loops.
    pub(super) order: Vec<Block>,
    /// By object and offset.
    pub(super) fields: BTreeMap<(usize, i32), Kind>,
    /// Addresses of log and lock words, which nobody reads any more.
    pub(super) words: FxHashMap<Value, usize>,
    /// Class words, and these as addresses.
    classes: FxHashMap<Value, usize>,
}

/// What nobody else sees, if there is anything.
pub(super) fn unseen(function: &Function, objects: &Objects) -> Option<Found> {
    let mut is_unseen = candidates(function, objects);
    if !is_unseen.contains(&true) {
        return None;
    }
    let homes = Homes::of(function, &objects.homes)?;
    for _ in 0..TRIES_MAX {
        let mut look = Look {
            function,
            objects,
            homes: &homes,
            found: Found {
                is_unseen: is_unseen.clone(),
                ..Found::default()
            },
            seen: FxHashSet::default(),
        };
        look.settle()?;
        look.uses();
        if look.seen.is_empty() {
            return Some(look.found);
        }
        for &object in &look.seen {
            is_unseen[object] = false;
        }
        if !is_unseen.contains(&true) {
            return None;
        }
    }
    None
}

/// Objects that no call, return or store takes at first sight, but in cold blocks, which may not be
/// reached. Most are taken, and cost no more.
fn candidates(function: &Function, objects: &Objects) -> Vec<bool> {
    let dfg = &function.dfg;
    let object = |making: &Making| dfg.block_params(making.next)[0];
    let numbers: FxHashMap<Value, usize> =
        { objects.makings.iter().map(object) }.zip(0..).collect();
    let mut is_object = EntitySet::with_capacity(dfg.num_values());
    is_object.extend(numbers.keys().copied());
    let mut is_unseen = vec![true; objects.makings.len()];
    let is_usual = |block: &Block| !function.layout.is_cold(*block);
    for block in function.layout.blocks().filter(is_usual) {
        for inst in function.layout.block_insts(block) {
            let taken = match dfg.insts[inst] {
                InstructionData::Store { args, .. } if objects.homes.is_empty() => &[args[0]],
                InstructionData::CallIndirect { .. }
                | InstructionData::TryCallIndirect { .. }
                | InstructionData::MultiAry { .. } => dfg.inst_args(inst),
                _ => continue,
            };
            for value in taken.iter().map(|&it| dfg.resolve_aliases(it)) {
                if is_object.contains(value) {
                    is_unseen[numbers[&value]] = false;
                }
            }
        }
    }
    is_unseen
}

struct Look<'a> {
    function: &'a Function,
    objects: &'a Objects,
    homes: &'a Homes,
    found: Found,
    /// Objects that are seen after all.
    seen: FxHashSet<usize>,
}

impl Look<'_> {
    fn resolved(&self, value: Value) -> Value {
        self.function.dfg.resolve_aliases(value)
    }

    fn owner(&self, value: Value) -> Option<usize> {
        self.found.owners.get(&self.resolved(value)).copied()
    }

    /// Decides branches until no more are. Nothing if that takes too long.
    fn settle(&mut self) -> Option<()> {
        self.found.ways = self.past_makings();
        for _ in 0..LOOKS_MAX {
            self.found.order = reached(self.function, &self.found.ways);
            self.find_owners();
            let (ways, outcomes) = self.decide();
            self.found.outcomes = outcomes;
            if ways == self.found.ways {
                return Some(());
            }
            self.found.ways = ways;
        }
        None
    }

    /// Follows objects through extensions and parameters of blocks, as far as these can be nothing
    /// else.
    fn find_owners(&mut self) {
        let function = self.function;
        let (mut extensions, mut loads) = (Vec::new(), Vec::new());
        let mut incoming: BTreeMap<Value, Vec<Option<Value>>> = BTreeMap::new();
        for &block in &self.found.order {
            for inst in function.layout.block_insts(block) {
                match function.dfg.insts[inst] {
                    InstructionData::Unary {
                        opcode: Opcode::Uextend,
                        arg,
                    } => extensions.push((self.resolved(arg), function.dfg.first_result(inst))),
                    InstructionData::Load {
                        opcode: Opcode::Load,
                        arg,
                        offset,
                        ..
                    } if i32::from(offset) == CLASS_OFFSET as i32 => {
                        loads.push((self.resolved(arg), function.dfg.first_result(inst)));
                    }
                    _ => {}
                }
            }
            for (param, arg) in edges(function, block, &self.found.ways) {
                incoming.entry(param).or_default().push(arg);
            }
        }
        // A value and what else it is called.
        let ways = &self.found.ways;
        let same = self
            .homes
            .loads(&self.found.order, |block| successors(function, block, ways));
        let names = { extensions.iter().copied() }.chain(same.iter().map(|&(to, from)| (from, to)));
        let names: Vec<_> = names.collect();
        let mut mixed = FxHashSet::default();
        loop {
            self.spread(&names, &incoming, &mixed);
            let is_mixed = |(param, args): &(&Value, &Vec<Option<Value>>)| {
                let owner = self.found.owners.get(param);
                owner.is_some()
                    && args
                        .iter()
                        .any(|arg| arg.and_then(|it| self.owner(it)) != owner.copied())
            };
            let more: Vec<_> = incoming
                .iter()
                .filter(is_mixed)
                .map(|(&it, _)| it)
                .collect();
            if more.is_empty() {
                break;
            }
            mixed.extend(more);
        }
        self.found.classes.clear();
        for (object, word) in loads {
            if let Some(&owner) = self.found.owners.get(&object) {
                self.found.classes.insert(word, owner);
            }
        }
        for (word, address) in extensions {
            if let Some(&owner) = self.found.classes.get(&word) {
                self.found.classes.insert(address, owner);
            }
        }
    }

    /// From the makings on.
    fn spread(
        &mut self,
        names: &[(Value, Value)],
        incoming: &BTreeMap<Value, Vec<Option<Value>>>,
        mixed: &FxHashSet<Value>,
    ) {
        let owners = &mut self.found.owners;
        owners.clear();
        for (number, making) in self.objects.makings.iter().enumerate() {
            if self.found.is_unseen[number] {
                owners.insert(self.function.dfg.block_params(making.next)[0], number);
            }
        }
        let mut has_changed = true;
        while has_changed {
            has_changed = false;
            for &(from, to) in names {
                if let Some(&owner) = owners.get(&from) {
                    has_changed |= owners.insert(to, owner).is_none();
                }
            }
            for (&param, args) in incoming {
                if mixed.contains(&param) || owners.contains_key(&param) {
                    continue;
                }
                let mut args = args.iter().flatten();
                let owner = args.find_map(|&it| owners.get(&self.function.dfg.resolve_aliases(it)));
                if let Some(&owner) = owner {
                    owners.insert(param, owner);
                    has_changed = true;
                }
            }
        }
    }

    /// Unseen objects are not made.
    fn past_makings(&self) -> FxHashMap<Inst, Way> {
        let makings = self.objects.makings.iter().zip(&self.found.is_unseen);
        let unseen = makings.filter(|(_, is_unseen)| **is_unseen);
        unseen
            .map(|(making, _)| (making.head, Way::Past(making.next)))
            .collect()
    }

    /// Where branches lead, and what comparisons give, of unseen objects.
    fn decide(&self) -> (FxHashMap<Inst, Way>, FxHashMap<Inst, bool>) {
        let function = self.function;
        let (mut ways, mut outcomes) = (self.past_makings(), FxHashMap::default());
        for formality in &self.objects.formalities {
            if self.owner(formality.object).is_some() {
                ways.insert(formality.head, Way::Past(formality.next));
            }
        }
        for &block in &self.found.order {
            for inst in function.layout.block_insts(block) {
                if let Some(outcome) = self.outcome(inst) {
                    outcomes.insert(inst, outcome);
                }
            }
        }
        for &block in &self.found.order {
            let Some(last) = function.layout.last_inst(block) else {
                continue;
            };
            if let InstructionData::Brif { arg, .. } = function.dfg.insts[last] {
                let compared = function.dfg.value_def(self.resolved(arg)).inst();
                let outcome = compared.and_then(|it| outcomes.get(&it)).copied();
                let is_taken = outcome.or(self.owner(arg).map(|_| true));
                if let Some(is_taken) = is_taken {
                    let way = Way::Destination(usize::from(!is_taken));
                    ways.entry(last).or_insert(way);
                }
            }
        }
        (ways, outcomes)
    }

    /// What a comparison of an unseen object, or of its class, gives.
    fn outcome(&self, inst: Inst) -> Option<bool> {
        let InstructionData::IntCompare { args, cond, .. } = self.function.dfg.insts[inst] else {
            return None;
        };
        let is_equal = match (self.owner(args[0]), self.owner(args[1])) {
            (None, None) => self.has_class(args[0], args[1])?,
            (one, other) => one == other,
        };
        match cond {
            IntCC::Equal => Some(is_equal),
            IntCC::NotEqual => Some(!is_equal),
            _ => None,
        }
    }

    /// That an unseen object's class is another value, if that is known. One class may have several
    /// numbers, so other numbers say nothing.
    fn has_class(&self, one: Value, other: Value) -> Option<bool> {
        let class = |value| self.found.classes.get(&self.resolved(value));
        let (&object, other) = match (class(one), class(other)) {
            (Some(object), None) => (object, other),
            (None, Some(object)) => (object, one),
            _ => return None,
        };
        let class = self.constant(other)?;
        (class == self.objects.makings[object].class).then_some(true)
    }

    /// The address that a value is, whole or its lower half.
    fn constant(&self, value: Value) -> Option<crate::Address> {
        let dfg = &self.function.dfg;
        let defined = |value| match dfg.value_def(self.resolved(value)) {
            ValueDef::Result(inst, _) => Some(&dfg.insts[inst]),
            _ => None,
        };
        let mut data = defined(value)?;
        if let InstructionData::Unary {
            opcode: Opcode::Ireduce,
            arg,
        } = data
        {
            data = defined(*arg)?;
        }
        let InstructionData::UnaryGlobalValue { global_value, .. } = data else {
            return None;
        };
        let GlobalValueData::Symbol { name, .. } = &self.function.global_values[*global_value]
        else {
            return None;
        };
        address_of(self.function, name)
    }

    /// Finds objects that are used in another way than unseen ones may be, and all fields.
    fn uses(&mut self) {
        let function = self.function;
        for place in 0..self.found.order.len() {
            let block = self.found.order[place];
            for inst in function.layout.block_insts(block) {
                self.used_by(inst);
            }
            for (param, arg) in edges(function, block, &self.found.ways) {
                let Some(arg) = arg else { continue };
                if let Some(object) = self.owner(arg)
                    && self.found.owners.get(&param) != Some(&object)
                {
                    self.seen.insert(object);
                }
                self.sees_word(arg);
            }
        }
        let (order, ways) = (&self.found.order, &self.found.ways);
        let after = |block| successors(function, block, ways);
        let leaks = self.homes.leaks(order, after, |value| self.owner(value));
        let all = 0..self.objects.makings.len();
        self.seen
            .extend(all.filter(|object| leaks >> object & 1 != 0));
    }

    /// The address of a log or lock word goes where it may be used.
    fn sees_word(&mut self, value: Value) {
        if let Some(&object) = self.found.words.get(&self.resolved(value)) {
            self.seen.insert(object);
        }
    }

    fn used_by(&mut self, inst: Inst) {
        let dfg = &self.function.dfg;
        let first = dfg.inst_results(inst).first().copied();
        match dfg.insts[inst] {
            InstructionData::Unary {
                opcode: Opcode::Uextend,
                ..
            } => {}
            InstructionData::Load {
                opcode,
                arg,
                offset,
                ..
            } => {
                let ty = dfg.value_type(first.expect("a load has a result"));
                if let Some(object) = self.owner(arg) {
                    let is_class =
                        opcode == Opcode::Load && i32::from(offset) == CLASS_OFFSET as i32;
                    if !is_class {
                        self.accesses(object, offset.into(), kind(opcode, ty));
                    }
                }
            }
            InstructionData::Store {
                opcode,
                args: [value, at],
                offset,
                ..
            } => {
                let ty = dfg.value_type(value);
                if let Some(object) = self.owner(at) {
                    self.accesses(object, offset.into(), kind(opcode, ty));
                }
                // A variable may hold it.
                if homes::word(self.function, &self.objects.homes, inst).is_none() {
                    self.seen.extend(self.owner(value));
                }
                self.sees_word(value);
                self.sees_word(at);
            }
            InstructionData::Binary {
                opcode: Opcode::Iadd,
                args: [at, offset],
            } if self.owner(at).is_some() && self.owner(offset).is_none() => {
                let object = self.owner(at).expect("just looked");
                match self.integer(offset) {
                    Some(offset) if [LOCK_OFFSET, LOG_OFFSET].contains(&offset) => {
                        self.found.words.insert(first.expect("a sum"), object);
                    }
                    _ => {
                        self.seen.insert(object);
                    }
                }
            }
            _ if self.found.outcomes.contains_key(&inst) || self.found.ways.contains_key(&inst) => {
            }
            _ => {
                for &arg in dfg.inst_args(inst) {
                    self.seen.extend(self.owner(arg));
                    self.sees_word(arg);
                }
            }
        }
    }

    /// The integer that a value is.
    fn integer(&self, value: Value) -> Option<u32> {
        let inst = self.function.dfg.value_def(self.resolved(value)).inst()?;
        match self.function.dfg.insts[inst] {
            InstructionData::UnaryImm {
                opcode: Opcode::Iconst,
                imm,
            } => u32::try_from(imm.bits()).ok(),
            _ => None,
        }
    }

    fn accesses(&mut self, object: usize, offset: i32, kind: Option<Kind>) {
        let kind = kind.filter(|_| offset >= HEADER_BYTES as i32);
        let fields = &mut self.found.fields;
        if kind.is_none_or(|it| *fields.entry((object, offset)).or_insert(it) != it) {
            self.seen.insert(object);
        }
    }
}

/// Nothing of an access that no field has.
fn kind(opcode: Opcode, ty: Type) -> Option<Kind> {
    match opcode {
        Opcode::Uload8 | Opcode::Sload8 | Opcode::Istore8 => Some(Kind::Narrow(1)),
        Opcode::Uload16 | Opcode::Sload16 | Opcode::Istore16 => Some(Kind::Narrow(2)),
        Opcode::Load | Opcode::Store => Some(Kind::Whole(ty)),
        _ => None,
    }
}

/// Blocks that are reached if branches go these ways.
fn reached(function: &Function, ways: &FxHashMap<Inst, Way>) -> Vec<Block> {
    let entry = function.layout.entry_block().expect("a complete function");
    let (mut order, mut met) = (Vec::new(), FxHashSet::from_iter([entry]));
    let mut stack = vec![(entry, successors(function, entry, ways))];
    while let Some((block, next)) = stack.last_mut() {
        if let Some(target) = next.pop() {
            if met.insert(target) {
                let after = successors(function, target, ways);
                stack.push((target, after));
            }
        } else {
            order.push(*block);
            stack.pop();
        }
    }
    order.reverse();
    order
}

fn successors(function: &Function, block: Block, ways: &FxHashMap<Inst, Way>) -> Vec<Block> {
    let Some(last) = function.layout.last_inst(block) else {
        return Vec::new();
    };
    if let Some(&Way::Past(next)) = ways.get(&last) {
        return vec![next];
    }
    let calls = taken(function, last, ways).iter();
    calls
        .map(|call| call.block(&function.dfg.value_lists))
        .collect()
}

/// The destinations that a block's last instruction may lead to.
fn taken<'a>(function: &'a Function, last: Inst, ways: &FxHashMap<Inst, Way>) -> &'a [BlockCall] {
    let dfg = &function.dfg;
    let all = dfg.insts[last].branch_destination(&dfg.jump_tables, &dfg.exception_tables);
    match ways.get(&last) {
        None => all,
        Some(&Way::Destination(number)) => &all[number..=number],
        // It brings nothing that was there before.
        Some(Way::Past(_)) => &[],
    }
}

/// What a block hands to parameters of those that it leads to; nothing for results of its call.
fn edges(
    function: &Function,
    block: Block,
    ways: &FxHashMap<Inst, Way>,
) -> Vec<(Value, Option<Value>)> {
    let (dfg, mut found) = (&function.dfg, Vec::new());
    let Some(last) = function.layout.last_inst(block) else {
        return found;
    };
    for call in taken(function, last, ways) {
        let params = dfg.block_params(call.block(&dfg.value_lists));
        let args = call.args(&dfg.value_lists).map(|arg| arg.as_value());
        found.extend(params.iter().copied().zip(args));
    }
    found
}
