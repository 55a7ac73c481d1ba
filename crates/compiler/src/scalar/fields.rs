// SPDX-License-Identifier: Apache-2.0
//! Puts values in place of unseen objects: [`replace`].
//!
//! A load becomes the value that was stored last on the way, or zero. Where ways meet that stored
//! different ones, the block gets a parameter. This is the construction of Braun et al., "Simple
//! and Efficient Construction of Static Single Assignment Form" (2013), with all blocks known.

use cranelift_codegen::{
    cursor::{Cursor, FuncCursor},
    entity::EntitySet,
    ir::{
        Block, Function, Inst, InstBuilder, InstructionData, Opcode, Type, Value,
        types::{F32, F64, I8, I16, I32, I64},
    },
};
use rustc_hash::FxHashMap;

use super::{
    Making, Objects,
    escape::{Found, Kind, Way},
    homes,
};
use crate::code::address_symbol;

/// Where a block is led to from: a branch, and which of its destinations.
type Edges = FxHashMap<Block, Vec<(Inst, usize)>>;

/// A field: an unseen object and an offset.
type Field = (usize, i32);

pub(super) fn replace(
    function: &mut Function,
    objects: &Objects,
    found: &Found,
    references: &mut EntitySet<Value>,
) {
    let accesses = accesses(function, found);
    let of_references = fields_of_references(function, objects, &accesses, references);
    for access in accesses
        .iter()
        .filter(|it| of_references.contains(&it.field))
    {
        references.extend(access.stored);
    }
    decide(function, objects, found);
    remove_unreached(function, &found.order);
    let edges = edges(function, &found.order);
    replace_reads(function, objects, found);
    let mut values = Values {
        found,
        starts: starts(function, objects, found),
        at_end: FxHashMap::default(),
        at_start: FxHashMap::default(),
        made: Vec::new(),
    };
    let loads = values.within_blocks(function, &accesses);
    values.across_blocks(function, &edges, loads.iter().filter_map(|it| it.from));
    for &(param, field) in &values.made {
        if of_references.contains(&field) {
            references.insert(param);
        }
    }
    for load in loads {
        let value = load.value.unwrap_or_else(|| {
            let start = load.from.expect("from another block, then");
            values.at_start[&start]
        });
        load.become_value(function, value);
    }
    for access in accesses.iter().filter(|it| it.stored.is_some()) {
        function.layout.remove_inst(access.inst);
    }
    remove_single(function, &edges, &values.made);
    remove_objects(function, objects, found, &edges);
}

/// A load from a field, or a store into it.
struct Access {
    inst: Inst,
    block: Block,
    field: Field,
    stored: Option<Value>,
}

fn accesses(function: &Function, found: &Found) -> Vec<Access> {
    let mut accesses = Vec::new();
    for &block in &found.order {
        for inst in function.layout.block_insts(block) {
            let (at, offset, stored) = match function.dfg.insts[inst] {
                InstructionData::Load { arg, offset, .. } => (arg, offset, None),
                InstructionData::Store {
                    args: [value, at],
                    offset,
                    ..
                } => (at, offset, Some(value)),
                _ => continue,
            };
            let at = function.dfg.resolve_aliases(at);
            let field = found.owners.get(&at).map(|&object| (object, offset.into()));
            let field = field.filter(|it| found.fields.contains_key(it));
            accesses.extend(field.map(|field| Access {
                inst,
                block,
                field,
                stored,
            }));
        }
    }
    accesses
}

/// Fields that hold references: one that was stored or loaded is known to be one, or comes from a
/// variable's home.
fn fields_of_references(
    function: &Function,
    objects: &Objects,
    accesses: &[Access],
    references: &EntitySet<Value>,
) -> Vec<Field> {
    let dfg = &function.dfg;
    let mut all = EntitySet::with_capacity(dfg.num_values());
    all.extend(references.iter().map(|it| dfg.resolve_aliases(it)));
    let holds = |access: &&Access| {
        let value = access
            .stored
            .unwrap_or_else(|| dfg.first_result(access.inst));
        let value = dfg.resolve_aliases(value);
        let defined = dfg.value_def(value).inst();
        let is_at_home = |inst| homes::word(function, &objects.homes, inst).is_some();
        all.contains(value) || defined.is_some_and(is_at_home)
    };
    let mut fields: Vec<_> = accesses.iter().filter(holds).map(|it| it.field).collect();
    fields.sort_unstable();
    fields.dedup();
    fields
}

/// Leads branches where they go now.
fn decide(function: &mut Function, objects: &Objects, found: &Found) {
    let makings = objects.makings.iter().zip(&found.is_unseen);
    for (making, _) in makings.filter(|(_, is_unseen)| **is_unseen) {
        let mut cursor = FuncCursor::new(function).at_inst(making.head);
        let null = cursor.ins().iconst(I32, 0);
        function
            .replace(making.head)
            .jump(making.next, &[null.into()]);
    }
    for formality in &objects.formalities {
        if found.ways.contains_key(&formality.head) {
            function.replace(formality.head).jump(formality.next, &[]);
        }
    }
    for (&inst, &way) in &found.ways {
        let (Way::Destination(number), InstructionData::Brif { blocks, .. }) =
            (way, function.dfg.insts[inst])
        else {
            continue;
        };
        function.dfg.insts[inst] = InstructionData::Jump {
            opcode: Opcode::Jump,
            destination: blocks[number],
        };
    }
}

/// Blocks that nothing leads to would still hand parameters on.
fn remove_unreached(function: &mut Function, order: &[Block]) {
    let mut is_reached = EntitySet::with_capacity(function.dfg.num_blocks());
    is_reached.extend(order.iter().copied());
    let all: Vec<Block> = function.layout.blocks().collect();
    for block in all.into_iter().filter(|&it| !is_reached.contains(it)) {
        function.layout.remove_block_and_insts(block);
    }
}

fn edges(function: &Function, order: &[Block]) -> Edges {
    let (dfg, mut edges) = (&function.dfg, Edges::default());
    for &block in order {
        let Some(last) = function.layout.last_inst(block) else {
            continue;
        };
        let calls = dfg.insts[last].branch_destination(&dfg.jump_tables, &dfg.exception_tables);
        for (number, call) in calls.iter().enumerate() {
            let target = call.block(&dfg.value_lists);
            edges.entry(target).or_default().push((last, number));
        }
    }
    edges
}

/// What is known without any field: comparisons, class words, and words that nobody looks at.
fn replace_reads(function: &mut Function, objects: &Objects, found: &Found) {
    for &block in &found.order {
        let insts: Vec<Inst> = function.layout.block_insts(block).collect();
        for inst in insts {
            if let Some(&outcome) = found.outcomes.get(&inst) {
                function.replace(inst).iconst(I8, i64::from(outcome));
                continue;
            }
            let InstructionData::Load { arg, offset, .. } = function.dfg.insts[inst] else {
                continue;
            };
            let at = function.dfg.resolve_aliases(arg);
            if found.words.contains_key(&at) {
                let ty = function.dfg.value_type(function.dfg.first_result(inst));
                function.replace(inst).iconst(ty, 0);
            } else if let Some(&object) = found.owners.get(&at)
                && !found.fields.contains_key(&(object, offset.into()))
            {
                let symbol = address_symbol(function, objects.makings[object].class);
                let mut cursor = FuncCursor::new(function).at_inst(inst);
                let class = cursor.ins().symbol_value(I64, symbol);
                function.replace(inst).ireduce(I32, class);
            }
        }
    }
}

/// By block: the fields that are zero at its start, since it is where their object is made.
fn starts(
    function: &mut Function,
    objects: &Objects,
    found: &Found,
) -> FxHashMap<Block, Vec<(Field, Value)>> {
    let mut starts: FxHashMap<Block, Vec<(Field, Value)>> = FxHashMap::default();
    for (&field, kind) in &found.fields {
        let Making { head, next, .. } = objects.makings[field.0];
        let mut cursor = FuncCursor::new(function).at_inst(head);
        let zero = zero(&mut cursor, kind.value_type());
        starts.entry(next).or_default().push((field, zero));
    }
    starts
}

fn zero(cursor: &mut FuncCursor<'_>, ty: Type) -> Value {
    match ty {
        F32 => cursor.ins().f32const(0.0),
        F64 => cursor.ins().f64const(0.0),
        ty => cursor.ins().iconst(ty, 0),
    }
}

/// A load of a field, and what it gives.
struct Load {
    inst: Inst,
    kind: Kind,
    /// What its own block has stored.
    value: Option<Value>,
    /// Or else where it comes from: the start of this block.
    from: Option<(Block, Field)>,
}

impl Load {
    /// The loaded value is this one from here on.
    fn become_value(&self, function: &mut Function, value: Value) {
        let Kind::Narrow(bytes) = self.kind else {
            let result = function.dfg.first_result(self.inst);
            function.dfg.clear_results(self.inst);
            function.dfg.change_to_alias(result, value);
            function.layout.remove_inst(self.inst);
            return;
        };
        let ty = if bytes == 1 { I8 } else { I16 };
        let opcode = function.dfg.insts[self.inst].opcode();
        let mut cursor = FuncCursor::new(function).at_inst(self.inst);
        let narrow = cursor.ins().ireduce(ty, value);
        let replaced = function.replace(self.inst);
        match opcode {
            Opcode::Sload8 | Opcode::Sload16 => replaced.sextend(I32, narrow),
            _ => replaced.uextend(I32, narrow),
        };
    }
}

/// What fields hold where.
struct Values<'a> {
    found: &'a Found,
    starts: FxHashMap<Block, Vec<(Field, Value)>>,
    /// At the end of a block that says it.
    at_end: FxHashMap<(Block, Field), Value>,
    /// At the start of one, where that is needed.
    at_start: FxHashMap<(Block, Field), Value>,
    /// Parameters that were added, in the order of blocks.
    made: Vec<(Value, Field)>,
}

impl Values<'_> {
    /// What loads give by what stands before them in their block.
    fn within_blocks(&mut self, function: &Function, accesses: &[Access]) -> Vec<Load> {
        for (&block, fields) in &self.starts {
            for &(field, value) in fields {
                self.at_end.insert((block, field), value);
            }
        }
        let mut loads = Vec::new();
        for access in accesses {
            let place = (access.block, access.field);
            if let Some(stored) = access.stored {
                self.at_end
                    .insert(place, function.dfg.resolve_aliases(stored));
                continue;
            }
            let value = self.at_end.get(&place).copied();
            loads.push(Load {
                inst: access.inst,
                kind: self.found.fields[&access.field],
                value,
                from: value.is_none().then_some(place),
            });
        }
        loads
    }

    /// What these fields hold at the start of these blocks.
    fn across_blocks(
        &mut self,
        function: &mut Function,
        edges: &Edges,
        wanted: impl Iterator<Item = (Block, Field)>,
    ) {
        let block_of = |function: &Function, inst| {
            let block = function.layout.inst_block(inst);
            block.expect("a branch is in a block")
        };
        let mut stack: Vec<_> = wanted.collect();
        let mut needed: FxHashMap<Block, Vec<Field>> = FxHashMap::default();
        while let Some((block, field)) = stack.pop() {
            let fields = needed.entry(block).or_default();
            if fields.contains(&field) {
                continue;
            }
            fields.push(field);
            for &(inst, _) in &edges[&block] {
                let before = (block_of(function, inst), field);
                if !self.at_end.contains_key(&before) {
                    stack.push(before);
                }
            }
        }
        // A block's only predecessor comes before it.
        for &block in &self.found.order {
            let Some(fields) = needed.get_mut(&block) else {
                continue;
            };
            fields.sort_unstable();
            for &field in &*fields {
                let value = match edges[&block][..] {
                    [(inst, _)] => self.after((block_of(function, inst), field)),
                    _ => {
                        let ty = self.found.fields[&field].value_type();
                        let param = function.dfg.append_block_param(block, ty);
                        self.made.push((param, field));
                        param
                    }
                };
                self.at_start.insert((block, field), value);
            }
        }
        for &(param, field) in &self.made {
            let block = function.dfg.value_def(param).unwrap_block();
            for &(inst, number) in &edges[&block] {
                let value = self.after((block_of(function, inst), field));
                let dfg = &mut function.dfg;
                let (tables, exceptions) = (&mut dfg.jump_tables, &mut dfg.exception_tables);
                let calls = dfg.insts[inst].branch_destination_mut(tables, exceptions);
                calls[number].append_argument(value, &mut dfg.value_lists);
            }
        }
    }

    fn after(&self, place: (Block, Field)) -> Value {
        let value = self
            .at_end
            .get(&place)
            .or_else(|| self.at_start.get(&place));
        *value.expect("an object is made before it is used")
    }
}

/// Parameters that can be one other value alone become that.
fn remove_single(function: &mut Function, edges: &Edges, made: &[(Value, Field)]) {
    let mut left: Vec<Value> = made.iter().map(|&(param, _)| param).collect();
    loop {
        let before = left.len();
        left.retain(|&param| {
            let Some(value) = only_value(function, edges, param) else {
                return true;
            };
            remove_param(function, edges, param, value);
            false
        });
        if left.len() == before {
            return;
        }
    }
}

/// The value that a parameter has whatever way is taken.
fn only_value(function: &Function, edges: &Edges, param: Value) -> Option<Value> {
    let (block, place) = place_of(function, param);
    let dfg = &function.dfg;
    let mut only = None;
    for &(inst, number) in &edges[&block] {
        let calls = dfg.insts[inst].branch_destination(&dfg.jump_tables, &dfg.exception_tables);
        let arg = calls[number].args(&dfg.value_lists).nth(place)?;
        let arg = dfg.resolve_aliases(arg.as_value()?);
        if arg != param && *only.get_or_insert(arg) != arg {
            return None;
        }
    }
    only
}

fn place_of(function: &Function, param: Value) -> (Block, usize) {
    let block = function.dfg.value_def(param).unwrap_block();
    let params = function.dfg.block_params(block).iter();
    let place = { params }.position(|&it| it == param);
    (block, place.expect("it is one of them"))
}

/// A parameter is another value from here on, which is there wherever it is.
fn remove_param(function: &mut Function, edges: &Edges, param: Value, value: Value) {
    let (block, place) = place_of(function, param);
    let dfg = &mut function.dfg;
    for &(inst, number) in &edges[&block] {
        let (tables, exceptions) = (&mut dfg.jump_tables, &mut dfg.exception_tables);
        let calls = dfg.insts[inst].branch_destination_mut(tables, exceptions);
        calls[number].remove(place, &mut dfg.value_lists);
    }
    dfg.remove_block_param(param);
    dfg.change_to_alias(param, value);
}

/// What was an object is null, and no parameter any more.
fn remove_objects(function: &mut Function, objects: &Objects, found: &Found, edges: &Edges) {
    let mut params: Vec<(Value, usize)> = Vec::new();
    for &block in &found.order {
        for &param in function.dfg.block_params(block) {
            params.extend(found.owners.get(&param).map(|&object| (param, object)));
        }
    }
    for (param, object) in params {
        let making = &objects.makings[object];
        let mut cursor = FuncCursor::new(function).at_inst(making.head);
        let null = cursor.ins().iconst(I32, 0);
        remove_param(function, edges, param, null);
    }
}
