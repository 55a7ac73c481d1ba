// SPDX-License-Identifier: Apache-2.0
//! [`References`]: which values are references, and how each call comes to name those that live
//! across it.
//!
//! No object moves. So a reference stays in its register, and the frame has a copy of it for the
//! collector to read. A reference that lives across a call on the usual way is stored where it is
//! defined. One that lives across calls of cold blocks alone is stored before each of them, and
//! costs nothing elsewhere.
//!
//! This is done before Cranelift optimises, which moves pure operations to where their results are
//! used. So no load from an object may be marked `can_move`: it could move behind a call that does
//! not name the object any more.

use core::ops::Range;

use cranelift_codegen::{
    cursor::{Cursor, CursorPosition, FuncCursor},
    entity::EntitySet,
    ir::{
        AliasRegionData, Block, Function, Inst, InstBuilder, MemFlagsData, StackSlot,
        StackSlotData, StackSlotKind, UserStackMapEntry, Value, ValueDef,
        types::{I32, I64},
    },
    traversals::Dfs,
};

use crate::home::Homes;
use crate::live::{Bits, NONE, Numbers, Point, live_outs, walk};
use crate::scalar::Objects;

/// Bytes of a reference.
const BYTES: u32 = 4;

/// What the maker of a function knows of its references.
#[derive(Default)]
pub(crate) struct References {
    values: EntitySet<Value>,
    /// What it knows of the objects that it makes.
    pub(crate) objects: Objects,
    /// Calls during which no collector looks.
    quiet: EntitySet<Inst>,
}

impl References {
    pub(crate) fn clear(&mut self) {
        self.values.clear();
        self.objects.clear();
        self.quiet.clear();
    }

    /// Calls during which `value` lives are to name it.
    pub(crate) fn add(&mut self, value: Value) {
        self.values.insert(value);
    }

    /// No collector looks at the frame during this call.
    pub(crate) fn add_quiet(&mut self, call: Inst) {
        self.quiet.insert(call);
    }

    /// Variables lie in these homes.
    pub(crate) fn know_homes(&mut self, homes: Option<&Homes>) {
        if let Some(homes) = homes {
            self.objects.homes(homes.slot());
        }
    }

    /// Puts values in place of objects that only this complete function sees; whether it did.
    pub(crate) fn replace_objects(&mut self, function: &mut Function) -> bool {
        self.objects.replace(function, &mut self.values)
    }

    /// Has each call of a complete function name the references that live across it.
    pub(crate) fn name(&self, function: &mut Function) {
        if self.values.is_empty() {
            return;
        }
        let mut values = EntitySet::with_capacity(function.dfg.num_values());
        values.extend(
            self.values
                .iter()
                .map(|it| function.dfg.resolve_aliases(it)),
        );
        // What is an alias has no definition any more.
        function.dfg.resolve_all_aliases();
        let order: Vec<Block> = Dfs::new().post_order_iter(function).collect();
        let numbers = Numbers::new(values, function, &order);
        if numbers.values.is_empty() {
            return;
        }
        let live_outs = live_outs(function, &order, &numbers);
        let calls = Calls::new(self, function, &order, &numbers, &live_outs);
        calls.place(function, &order, &numbers, &live_outs);
    }
}

/// A call and the references that live across it: a range of all names.
struct Call {
    inst: Inst,
    names: Range<usize>,
}

/// Every call that names something.
struct Calls {
    calls: Vec<Call>,
    names: Vec<u32>,
    /// What is stored where it is defined.
    stored: Bits,
}

impl Calls {
    fn new(
        references: &References,
        function: &Function,
        order: &[Block],
        numbers: &Numbers,
        live_outs: &[Bits],
    ) -> Self {
        let (mut calls, mut names) = (Vec::new(), Vec::new());
        let mut stored = Bits::new(numbers.values.len());
        for (&block, live_out) in order.iter().zip(live_outs) {
            let is_cold = function.layout.is_cold(block);
            walk(function, block, numbers, live_out, |point, live| {
                let Point::Call(inst) = point else {
                    return;
                };
                if references.quiet.contains(inst) {
                    return;
                }
                let start = names.len();
                names.extend(live.those(|_, bits| bits).map(|it| it as u32));
                if names.len() > start {
                    let names = start..names.len();
                    calls.push(Call { inst, names });
                }
                if !is_cold {
                    for (word, live) in stored.0.iter_mut().zip(&live.0) {
                        *word |= live;
                    }
                }
            });
        }
        Self {
            calls,
            names,
            stored,
        }
    }

    /// Stores what is named, and names it.
    fn place(
        &self,
        function: &mut Function,
        order: &[Block],
        numbers: &Numbers,
        live_outs: &[Bits],
    ) {
        if self.names.is_empty() {
            return;
        }
        let places = self.places(function, order, numbers, live_outs);
        let count = places.iter().filter(|&&it| it != NONE).max();
        let count = count.map_or(0, |last| last + 1);
        let of_call = |call: &Call| &self.names[call.names.clone()];
        let is_kept = |name: &&u32| self.stored.contains(**name as usize);
        let others = self.calls.iter().map(|call| {
            let names = of_call(call).iter();
            names.filter(|name| !is_kept(name)).count()
        });
        let bytes = (count + others.max().unwrap_or(0) as u32) * BYTES;
        let frame = Frame::new(function, bytes);
        for number in self.stored.those(|_, bits| bits) {
            let value = numbers.values[number];
            frame.store(function, behind(function, value), value, places[number]);
        }
        for call in &self.calls {
            let mut next = count;
            for name in of_call(call) {
                let mut place = places[*name as usize];
                if !is_kept(&name) {
                    place = next;
                    next += 1;
                    let value = numbers.values[*name as usize];
                    frame.store(function, CursorPosition::At(call.inst), value, place);
                }
                let entry = frame.entry(place);
                function.dfg.append_user_stack_map_entry(call.inst, entry);
            }
        }
    }

    /// A place for each stored reference: none for two that live at once.
    fn places(
        &self,
        function: &Function,
        order: &[Block],
        numbers: &Numbers,
        live_outs: &[Bits],
    ) -> Vec<u32> {
        let mut beside = vec![Vec::new(); numbers.values.len()];
        let mut defined = Vec::new();
        for (&block, live_out) in order.iter().zip(live_outs) {
            walk(function, block, numbers, live_out, |point, live| {
                let Point::Definition(number) = point else {
                    return;
                };
                if !self.stored.contains(number) {
                    return;
                }
                defined.push(number);
                let others = live.those(|word, bits| bits & self.stored.0[word]);
                for other in others.filter(|&other| other != number) {
                    beside[number].push(other);
                    beside[other].push(number);
                }
            });
        }
        let mut places = vec![NONE; numbers.values.len()];
        let mut taken = Vec::new();
        // From the entry on: few places do then.
        for number in defined.into_iter().rev() {
            taken.clear();
            taken.extend(beside[number].iter().map(|&other| places[other]));
            taken.sort_unstable();
            taken.dedup();
            let free = (0..).zip(&taken).find(|(place, taken)| place != *taken);
            places[number] = free.map_or(taken.len() as u32, |(place, _)| place);
        }
        places
    }
}

/// Behind the definition of `value`.
fn behind(function: &Function, value: Value) -> CursorPosition {
    let next = match function.dfg.value_def(value) {
        ValueDef::Param(block, _) => function.layout.first_inst(block),
        ValueDef::Result(inst, _) => function.layout.next_inst(inst),
        ValueDef::Union(..) => None,
    };
    CursorPosition::At(next.expect("a block ends with a branch"))
}

/// The words of the frame that the collector reads.
struct Frame {
    slot: StackSlot,
    flags: MemFlagsData,
}

impl Frame {
    fn new(function: &mut Function, bytes: u32) -> Self {
        let data = StackSlotData::new(StackSlotKind::ExplicitSlot, bytes, 2);
        let region = function.dfg.alias_regions.insert(AliasRegionData {
            user_id: 2,
            description: "references".into(),
        });
        Self {
            slot: function.create_sized_stack_slot(data),
            flags: MemFlagsData::trusted().with_alias_region(Some(region)),
        }
    }

    fn store(&self, function: &mut Function, at: CursorPosition, value: Value, place: u32) {
        let mut cursor = FuncCursor::new(function).at_position(at);
        let address = cursor.ins().stack_addr(I64, self.slot, 0);
        let offset = (place * BYTES) as i32;
        cursor.ins().store(self.flags, value, address, offset);
    }

    fn entry(&self, place: u32) -> UserStackMapEntry {
        UserStackMapEntry {
            ty: I32,
            slot: self.slot,
            offset: place * BYTES,
        }
    }
}

#[cfg(test)]
mod tests {
    use cranelift_codegen::ir::{AbiParam, BlockArg, Opcode, Signature, UserFuncName};
    use cranelift_codegen::isa::CallConv;

    use super::*;

    /// A function in the making: values are 32 bits wide, calls take and give one.
    struct Made {
        function: Function,
        references: References,
    }

    impl Made {
        fn new() -> Self {
            let signature = Signature::new(CallConv::Tail);
            Self {
                function: Function::with_name_signature(UserFuncName::default(), signature),
                references: References::default(),
            }
        }

        fn block(&mut self, params: usize) -> (Block, Vec<Value>) {
            let block = self.function.dfg.make_block();
            self.function.layout.append_block(block);
            let params = (0..params).map(|_| self.function.dfg.append_block_param(block, I32));
            (block, params.collect())
        }

        fn at(&mut self, block: Block) -> FuncCursor<'_> {
            FuncCursor::new(&mut self.function).at_bottom(block)
        }

        /// A new reference: what a load gives.
        fn reference(&mut self, block: Block) -> Value {
            let mut cursor = self.at(block);
            let address = cursor.ins().iconst(I64, 16);
            let value = cursor.ins().load(I32, MemFlagsData::trusted(), address, 0);
            self.references.add(value);
            value
        }

        /// A call that reads `args`.
        fn call(&mut self, block: Block, args: &[Value]) -> Inst {
            let mut signature = Signature::new(CallConv::Tail);
            let params = args.iter().map(|_| AbiParam::new(I32));
            signature.params.extend(params);
            let signature = self.function.import_signature(signature);
            let mut cursor = self.at(block);
            let target = cursor.ins().iconst(I64, 64);
            cursor.ins().call_indirect(signature, target, args)
        }

        fn jump(&mut self, from: Block, to: Block, args: &[Value]) {
            let args: Vec<BlockArg> = args.iter().map(|&it| it.into()).collect();
            self.at(from).ins().jump(to, &args);
        }

        fn branch(&mut self, from: Block, then: Block, otherwise: Block) {
            let mut cursor = self.at(from);
            let test = cursor.ins().iconst(I32, 1);
            cursor.ins().brif(test, then, &[], otherwise, &[]);
        }

        fn end(&mut self, block: Block) {
            self.at(block).ins().return_(&[]);
        }

        fn finish(mut self) -> Self {
            self.references.name(&mut self.function);
            self
        }

        /// Places that a call names, lowest first.
        fn named(&self, call: Inst) -> Vec<u32> {
            let entries = self.function.dfg.user_stack_map_entries(call);
            let mut places: Vec<_> = entries
                .unwrap_or_default()
                .iter()
                .map(|it| it.offset)
                .collect();
            places.sort_unstable();
            places
        }

        /// The blocks and places where a value is stored.
        fn stores(&self, value: Value) -> Vec<(Block, i32)> {
            let mut found = Vec::new();
            for block in self.function.layout.blocks() {
                for inst in self.function.layout.block_insts(block) {
                    let data = &self.function.dfg.insts[inst];
                    if data.opcode() == Opcode::Store
                        && self.function.dfg.inst_args(inst)[0] == value
                    {
                        let offset = data.load_store_offset().expect("a store has one");
                        found.push((block, offset));
                    }
                }
            }
            found
        }
    }

    #[test]
    fn what_lives_across_a_usual_call_is_stored_where_it_is_defined() {
        let mut made = Made::new();
        let (entry, _) = made.block(0);
        let value = made.reference(entry);
        let dead = made.reference(entry);
        let first = made.call(entry, &[dead]);
        let second = made.call(entry, &[value]);
        made.end(entry);
        let made = made.finish();
        assert_eq!(made.stores(value), [(entry, 0)]);
        assert_eq!(made.stores(dead), []);
        assert_eq!((made.named(first), made.named(second)), (vec![0], vec![]));
    }

    #[test]
    fn what_lives_across_cold_calls_alone_is_stored_before_them() {
        let mut made = Made::new();
        let (entry, _) = made.block(0);
        let (cold, _) = made.block(0);
        let (next, _) = made.block(0);
        made.function.layout.set_cold(cold);
        let (one, other) = (made.reference(entry), made.reference(entry));
        made.branch(entry, cold, next);
        let poll = made.call(cold, &[]);
        let quiet = made.call(cold, &[]);
        made.references.add_quiet(quiet);
        made.jump(cold, next, &[]);
        made.call(next, &[one, other]);
        made.end(next);
        let made = made.finish();
        assert_eq!(made.named(poll), [0, 4]);
        assert_eq!(made.named(quiet), []);
        let places = [one, other].map(|it| made.stores(it));
        assert_eq!(places.concat(), [(cold, 0), (cold, 4)]);
    }

    /// The one lives around the loop, the other on a way out of it.
    #[test]
    fn two_that_live_at_once_share_no_place() {
        let mut made = Made::new();
        let (entry, _) = made.block(0);
        let (head, _) = made.block(0);
        let (out, _) = made.block(0);
        let outer = made.reference(entry);
        made.jump(entry, head, &[]);
        let first = made.call(head, &[]);
        made.call(head, &[outer]);
        let inner = made.reference(head);
        made.branch(head, head, out);
        let last = made.call(out, &[]);
        made.call(out, &[inner]);
        made.end(out);
        let made = made.finish();
        let [outer, inner] = [outer, inner].map(|it| made.stores(it)[0].1);
        assert_ne!(outer, inner);
        assert_eq!(made.named(first), [outer as u32]);
        assert_eq!(made.named(last), [inner as u32]);
    }

    #[test]
    fn what_becomes_a_reference_at_the_start_of_a_block_is_one() {
        let mut made = Made::new();
        let (entry, _) = made.block(0);
        let (next, params) = made.block(1);
        let mut cursor = made.at(entry);
        let address = cursor.ins().iconst(I64, 16);
        let value = cursor.ins().load(I32, MemFlagsData::trusted(), address, 0);
        let before = made.call(entry, &[]);
        made.jump(entry, next, &[value]);
        made.references.add(params[0]);
        let behind = made.call(next, &[]);
        made.call(next, &[params[0]]);
        made.end(next);
        let made = made.finish();
        assert_eq!((made.named(before).len(), made.named(behind).len()), (1, 1));
        assert_eq!(made.stores(value).len() + made.stores(params[0]).len(), 2);
    }

    #[test]
    fn places_are_used_again() {
        let mut made = Made::new();
        let (entry, _) = made.block(0);
        for _ in 0..3 {
            let value = made.reference(entry);
            made.call(entry, &[]);
            made.call(entry, &[value, value]);
        }
        made.end(entry);
        let made = made.finish();
        let slots = made.function.sized_stack_slots.values();
        assert_eq!(slots.map(|it| it.size).sum::<u32>(), BYTES);
    }
}
