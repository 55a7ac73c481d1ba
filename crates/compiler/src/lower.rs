// SPDX-License-Identifier: Apache-2.0
//! [`Lowering`]: one IR function becomes one CLIF function.

use std::borrow::Cow;
use std::collections::HashMap;

use cranelift_codegen::ir::{
    self as clif, InstBuilder, MemFlagsData,
    condcodes::IntCC,
    types::{F32, F64, I32, I64},
};
use cranelift_frontend::{FunctionBuilder, Switch, Variable};
use ir::{Block, BlockId, CompareOp, Condition, Function, InvokeKind, Op, Reg, Type};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    Address, CompileError, CompiledCode, Compiler, FieldLink, Linker, NewLink,
    barrier::Barrier,
    body::{Heat, Outer, heats},
    code::{Effort, address_value, managed},
    fact::Facts,
    home::Homes,
    passes::{Access, Asked, FieldUse, Marks, Passes, has_loop, improve},
    pieces::{Plan, is_large},
    piecewise::Memory,
    place::place,
    received::{Classes, Known},
    safepoint::References,
};

/// The machine type of a register.
pub(crate) fn machine_type(ty: Type) -> clif::Type {
    match ty {
        Type::Int | Type::Ref => I32,
        Type::Long => I64,
        Type::Float => F32,
        Type::Double => F64,
    }
}

/// Places of bodies, of calls that are counted, of calls with a profile.
type Places = (Vec<u32>, Vec<u32>, Vec<u32>);

pub(crate) struct Lowering<'a, 'b> {
    pub(crate) function: &'a Function,
    pub(crate) linker: &'a mut dyn Linker,
    pub(crate) b: &'a mut FunctionBuilder<'b>,
    pub(crate) references: &'a mut References,
    variables: Vec<Variable>,
    pub(crate) types: Cow<'a, [Type]>,
    pub(crate) blocks: Vec<clif::Block>,
    /// Set in a piece of a large method: where its registers lie.
    pub(crate) memory: Option<Memory<'a>>,
    /// Where references lie that outlive their last use.
    pub(crate) homes: Option<Homes>,
    /// Those of the bodies around the one that is lowered.
    pub(crate) outer_homes: Vec<Homes>,
    /// Where exceptions land, by handler block.
    pub(crate) pads: FxHashMap<BlockId, clif::Block>,
    pub(crate) signatures: HashMap<clif::Signature, clif::SigRef>,
    /// Registers proven non-null here.
    pub(crate) non_null: FxHashSet<Reg>,
    /// What a block may take over from its only predecessor, which ends with these.
    pub(crate) inherited: FxHashMap<BlockId, FxHashSet<Reg>>,
    /// What else was known where they were led to.
    pub(crate) handed: FxHashMap<BlockId, Handed>,
    /// Blocks of which all is known that leads to them.
    pub(crate) sealed: FxHashSet<clif::Block>,
    /// Blocks that one branch leads to, and no exception.
    pub(crate) single: Cow<'a, FxHashSet<BlockId>>,
    /// Registers that hold the outcome of a comparison made in this block.
    pub(crate) compared: FxHashMap<Reg, (CompareOp, clif::Value, clif::Value)>,
    /// The receiver, if no instruction writes its register.
    pub(crate) receiver: Option<Reg>,
    /// What this block has found out of values, and which registers hold them.
    pub(crate) facts: Facts,
    pub(crate) holds: FxHashMap<Reg, clif::Value>,
    /// Registers that hold a constant integer but 0 and -1, set in this block.
    pub(crate) safe_divisors: FxHashSet<Reg>,
    pub(crate) current: BlockId,
    pub(crate) handler: Option<BlockId>,
    /// What a landing pad was given.
    pub(crate) caught: Option<clif::Value>,
    /// Where an inlined body goes back to.
    pub(crate) outer: Option<Outer>,
    /// Whose body this is: 0 for the method's own, then the inlined callees'.
    pub(crate) scope: u16,
    /// The place of the instruction being lowered (`place::Place`).
    pub(crate) at: u32,
    /// By scope but the first: the place of the call that it stands for.
    pub(crate) inlined: Vec<u32>,
    /// The places of calls whose receivers are counted, and of those whose likely ones are known.
    pub(crate) counted: Vec<u32>,
    pub(crate) profiled: Vec<u32>,
    /// How often each block may run.
    pub(crate) heats: Vec<Heat>,
    /// Which classes references have, and that of what the instruction writes.
    pub(crate) classes: Classes,
    pub(crate) made: Option<Known>,
    /// What passes have proven of the body that is lowered, and of the instruction.
    pub(crate) marks: Marks,
    pub(crate) access: Option<Access>,
    /// The call that was lowered last has become a straight body, and nothing else.
    pub(crate) was_straight: bool,
    pub(crate) passes: Passes,
    /// Tests of stores whose cold blocks are still to be filled.
    pub(crate) barriers: Vec<Barrier>,
}

/// Instructions up to which a method may get the least effort. Its frame has a place for nearly
/// every value then: less than 40 KB, as far as tried, of the 640 KiB that a stack has below
/// its limit.
const LEAST_INSTS_MAX: usize = 2_000;

fn effort_for(function: &Function, linker: &dyn Linker) -> Effort {
    let insts: usize = function.blocks.iter().map(|it| it.insts.len()).sum();
    match linker.runs_once() && !has_loop(function) && insts <= LEAST_INSTS_MAX {
        true => Effort::Least,
        false => Effort::Usual,
    }
}

impl Compiler {
    /// Lowers a function that [`ir::verify`] has passed.
    pub fn method(
        &mut self,
        function: &Function,
        linker: &mut dyn Linker,
    ) -> Result<CompiledCode, CompileError> {
        linker.show("IR", function);
        if self.cuts_all || is_large(function) {
            return self.in_pieces(function, linker);
        }
        let passes = self.passes;
        let effort = effort_for(function, linker);
        let (mut improved, mut marks) = (None, Marks::default());
        if effort == Effort::Usual {
            let (known, asked) = (receiver_of(function), &mut ByLinker(linker));
            (improved, marks) = improve(function, passes, known.as_slice(), asked);
            let function = improved.as_ref().unwrap_or(function);
            linker.show("IR behind the passes", &marks.shown(function));
        }
        let function = improved.as_ref().unwrap_or(function);
        let params = function
            .params
            .iter()
            .map(|&reg| machine_type(function.type_of(reg)));
        let signature = managed(params, function.result.map(machine_type));
        let mut places = Places::default();
        self.build(signature, |b, references| {
            let lowering = Lowering::new(function, &mut *linker, b, references);
            let lowering = Lowering {
                marks,
                passes,
                ..lowering
            };
            places = lowering.run();
        });
        self.show(linker);
        let mut code = self.whole(effort)?;
        (code.inlined, code.counted, code.profiled) = places;
        Ok(code)
    }
}

impl<'a, 'b> Lowering<'a, 'b> {
    fn new(
        function: &'a Function,
        linker: &'a mut dyn Linker,
        b: &'a mut FunctionBuilder<'b>,
        references: &'a mut References,
    ) -> Self {
        let variables = declare(b, function);
        let blocks = function.blocks.iter().map(|_| b.create_block()).collect();
        let homes = Homes::new(function, b);
        references.know_homes(homes.as_ref());
        Lowering {
            variables,
            blocks,
            single: Cow::Owned(single_targets(function)),
            receiver: receiver_of(function),
            homes,
            heats: heats(function, Heat::Usual),
            classes: Classes::of(function, &[]),
            ..Self::bare(function, linker, b, references)
        }
    }

    /// For a part of a large method.
    pub(crate) fn in_piece(
        function: &'a Function,
        plan: &'a Plan,
        linker: &'a mut dyn Linker,
        b: &'a mut FunctionBuilder<'b>,
        references: &'a mut References,
    ) -> Self {
        Lowering {
            receiver: plan.receiver,
            ..Self::bare(function, linker, b, references)
        }
    }

    fn bare(
        function: &'a Function,
        linker: &'a mut dyn Linker,
        b: &'a mut FunctionBuilder<'b>,
        references: &'a mut References,
    ) -> Self {
        Lowering {
            function,
            linker,
            b,
            references,
            variables: Vec::new(),
            types: Cow::Borrowed(&function.registers),
            blocks: Vec::new(),
            memory: None,
            homes: None,
            outer_homes: Vec::new(),
            pads: FxHashMap::default(),
            signatures: HashMap::new(),
            non_null: FxHashSet::default(),
            inherited: FxHashMap::default(),
            handed: FxHashMap::default(),
            sealed: FxHashSet::default(),
            single: Cow::Owned(FxHashSet::default()),
            compared: FxHashMap::default(),
            facts: Facts::default(),
            holds: FxHashMap::default(),
            safe_divisors: FxHashSet::default(),
            receiver: None,
            current: BlockId(0),
            handler: None,
            caught: None,
            outer: None,
            scope: 0,
            at: 0,
            inlined: Vec::new(),
            counted: Vec::new(),
            profiled: Vec::new(),
            heats: Vec::new(),
            classes: Classes::default(),
            made: None,
            marks: Marks::default(),
            access: None,
            was_straight: false,
            passes: Passes::ALL,
            barriers: Vec::new(),
        }
    }

    /// Gives back what [`Self::inlined`] has, then what is counted and profiled.
    fn run(mut self) -> Places {
        let entry = self.blocks[0];
        self.b.append_block_params_for_function_params(entry);
        self.b.switch_to_block(entry);
        let values = self.b.block_params(entry).to_vec();
        for (&param, value) in self.function.params.iter().zip(values) {
            self.set(param, value);
        }
        self.go_to(0);
        self.enter();
        self.all_blocks(self.function);
        self.fill_barriers();
        (self.inlined, self.counted, self.profiled)
    }

    /// All blocks of the body that registers and blocks are of by now.
    pub(crate) fn all_blocks(&mut self, function: &Function) {
        for (id, block) in (0..).zip(&function.blocks) {
            self.block(BlockId(id), block);
        }
        self.fill_pads();
    }

    fn block(&mut self, id: BlockId, block: &Block) {
        self.current = id;
        if let Some(homes) = &mut self.homes {
            homes.begin(id);
        }
        self.handler = block.handler;
        self.non_null = self.inherited.remove(&id).unwrap_or_default();
        self.non_null.extend(self.marks.non_null(id));
        self.compared.clear();
        self.safe_divisors.clear();
        let handed = self.handed.remove(&id);
        let is_led_to = handed.is_some();
        // An inlined body begins where its call stood.
        if id.0 != 0 || self.outer.is_none() {
            self.know_nothing();
            if let Some(handed) = handed {
                (self.facts, self.holds) = (handed.facts, handed.holds);
            }
        }
        self.caught = None;
        self.classes.begin(id);
        let target = self.blocks[id.0 as usize];
        // The method's own first block goes on behind what its entry needs.
        if id.0 != 0 || self.outer.is_some() {
            self.b.switch_to_block(target);
        }
        if is_led_to {
            // So registers hold the same values here as there.
            self.b.seal_block(target);
            self.sealed.insert(target);
        }
        if self.heats[id.0 as usize] == Heat::Cold || self.marks.is_rare(id) {
            self.b.set_cold_block(target);
        }
        if matches!(block.insts[0].op, Op::Caught { .. }) {
            self.b.append_block_param(target, I32);
            self.caught = Some(self.b.block_params(target)[0]);
        }
        for (index, inst) in block.insts.iter().enumerate() {
            self.go_to(place(self.scope, inst.at));
            self.access = self.marks.access(id, index);
            self.inst_of(&inst.op);
        }
    }

    /// An instruction of a body, and what is known of its result.
    pub(crate) fn inst_of(&mut self, op: &Op) {
        self.made = self.made_by(op);
        self.inst(op);
        let made = self.made.take();
        self.note_class(op, made);
        if let Some(homes) = &mut self.homes {
            homes.done(op);
        }
    }

    /// What is made now is of the instruction at a place.
    pub(crate) fn go_to(&mut self, place: u32) {
        self.at = place;
        self.b.set_srcloc(clif::SourceLoc::new(place));
    }

    /// Registers are `callee`'s from here on; gives back the caller's.
    pub(crate) fn registers_of(&mut self, callee: &Function) -> Registers<'a> {
        let variables = declare(self.b, callee);
        let homes = Homes::new(callee, self.b);
        self.references.know_homes(homes.as_ref());
        let outer_homes = core::mem::replace(&mut self.homes, homes);
        let has_homes = outer_homes.is_some();
        self.outer_homes.extend(outer_homes);
        Registers {
            variables: core::mem::replace(&mut self.variables, variables),
            types: core::mem::replace(&mut self.types, Cow::Owned(callee.registers.clone())),
            non_null: core::mem::take(&mut self.non_null),
            compared: core::mem::take(&mut self.compared),
            holds: core::mem::take(&mut self.holds),
            safe_divisors: core::mem::take(&mut self.safe_divisors),
            receiver: self.receiver.take(),
            has_homes,
        }
    }

    /// Back to the caller's registers.
    pub(crate) fn restore(&mut self, own: Registers<'a>) {
        self.variables = own.variables;
        self.types = own.types;
        self.non_null = own.non_null;
        self.compared = own.compared;
        self.holds = own.holds;
        self.safe_divisors = own.safe_divisors;
        self.receiver = own.receiver;
        self.homes = own.has_homes.then(|| self.outer_homes.pop()).flatten();
    }

    pub(crate) fn type_of(&self, reg: Reg) -> Type {
        self.types[reg.0 as usize]
    }

    /// The value of a register.
    pub(crate) fn get(&mut self, reg: Reg) -> clif::Value {
        if self.memory.is_some() {
            return self.get_in_piece(reg);
        }
        if let Some(value) = self.get_at_home(reg) {
            return value;
        }
        let value = self.b.use_var(self.variables[reg.0 as usize]);
        self.note_reference(reg, value);
        self.note_held(reg, value);
        value
    }

    /// Writes a register.
    pub(crate) fn set(&mut self, reg: Reg, value: clif::Value) {
        self.non_null.remove(&reg);
        self.compared.remove(&reg);
        self.safe_divisors.remove(&reg);
        if self.memory.is_some() {
            return self.set_in_piece(reg, value);
        }
        if self.set_at_home(reg, value) {
            return;
        }
        self.note_reference(reg, value);
        self.note_held(reg, value);
        if self.is_known_non_null(value) {
            self.non_null.insert(reg);
        }
        self.b.def_var(self.variables[reg.0 as usize], value);
    }

    /// Has calls name the value of a register, if it is a reference.
    pub(crate) fn note_reference(&mut self, reg: Reg, value: clif::Value) {
        if self.type_of(reg) == Type::Ref {
            self.references.add(value);
        }
    }

    pub(crate) fn int(&mut self, value: i64) -> clif::Value {
        self.b.ins().iconst(I32, value & 0xffff_ffff)
    }

    pub(crate) fn long(&mut self, value: i64) -> clif::Value {
        self.b.ins().iconst(I64, value)
    }

    /// An address that is known when the code is installed.
    pub(crate) fn long_at(&mut self, address: Address) -> clif::Value {
        address_value(self.b, address)
    }

    /// As [`Self::long_at`], of something below 4 GiB.
    pub(crate) fn word_at(&mut self, address: Address) -> clif::Value {
        let long = self.long_at(address);
        self.b.ins().ireduce(I32, long)
    }

    /// Plain access to memory that is known to be there.
    pub(crate) fn plain() -> MemFlagsData {
        MemFlagsData::trusted()
    }

    /// A reference as an address.
    pub(crate) fn address(&mut self, reference: clif::Value) -> clif::Value {
        self.b.ins().uextend(I64, reference)
    }

    pub(crate) fn context(&mut self) -> clif::Value {
        self.b.ins().get_pinned_reg(I64)
    }

    pub(crate) fn is_non_null(&self, reg: Reg) -> bool {
        self.receiver == Some(reg) || self.non_null.contains(&reg)
    }

    fn note_divisor(&mut self, reg: Reg, is_safe: bool) {
        if is_safe {
            self.safe_divisors.insert(reg);
        }
    }

    pub(crate) fn set_non_null(&mut self, reg: Reg) {
        self.non_null.insert(reg);
    }

    pub(crate) fn inst(&mut self, op: &Op) {
        match op {
            Op::Int { dst, value } => {
                let is_safe_divisor = !matches!(value, -1 | 0);
                let value = self.known_int(*value);
                self.set(*dst, value);
                self.note_divisor(*dst, is_safe_divisor);
            }
            Op::Long { dst, value } => {
                let is_safe_divisor = !matches!(value, -1 | 0);
                let value = self.long(*value);
                self.set(*dst, value);
                self.note_divisor(*dst, is_safe_divisor);
            }
            Op::Float { dst, bits } => {
                let value = self
                    .b
                    .ins()
                    .f32const(clif::immediates::Ieee32::with_bits(*bits));
                self.set(*dst, value);
            }
            Op::Double { dst, bits } => {
                let value = self
                    .b
                    .ins()
                    .f64const(clif::immediates::Ieee64::with_bits(*bits));
                self.set(*dst, value);
            }
            Op::Null { dst } => {
                let value = self.int(0);
                self.set(*dst, value);
            }
            Op::OwnClass { dst } => {
                let class = self.linker.own_class();
                let value = self.word_at(class);
                self.set(*dst, value);
                self.set_non_null(*dst);
            }
            Op::Move { dst, src } => {
                let value = self.get(*src);
                let is_non_null = self.is_non_null(*src);
                self.set(*dst, value);
                if is_non_null {
                    self.set_non_null(*dst);
                }
            }
            Op::Caught { dst } => {
                let value = self.caught.expect("a landing pad leads to `Caught`");
                self.set(*dst, value);
                self.set_non_null(*dst);
            }
            Op::Unary { .. } | Op::Binary { .. } | Op::Compare { .. } => self.arithmetic(op),
            Op::Invoke {
                kind,
                dst,
                index,
                args,
            } => self.invoke_or_inline(*kind, *dst, *index, args),
            Op::InvokeDynamic { dst, index, args } => self.invoke_dynamic(*dst, *index, args),
            _ if op.is_terminator() => self.terminator(op),
            _ => self.object(op),
        }
        self.forget_behind(op);
    }

    fn invoke_or_inline(&mut self, kind: InvokeKind, dst: Option<Reg>, index: u32, args: &[Reg]) {
        self.was_straight = false;
        self.invoke(kind, dst, index, args);
        // What a straight body does, it says itself.
        if !self.was_straight {
            self.forget_fields();
        }
    }

    /// What is known at the end of a block is known where only it leads.
    fn hand_down(&mut self, op: &Op) {
        // Pieces take nothing over: sets would be as many as targets.
        if self.memory.is_some() {
            return;
        }
        op.for_each_target(|target| {
            if self.single.contains(&target) && target > self.current {
                self.inherited.insert(target, self.non_null.clone());
                if self.passes.fields && self.facts.is_small() {
                    let (facts, holds) = (self.facts.clone(), self.holds.clone());
                    self.handed.insert(target, Handed { facts, holds });
                }
            }
        });
        let Op::BranchZero {
            condition,
            src,
            then,
            otherwise,
        } = op
        else {
            return;
        };
        let some = match condition {
            Condition::NotEqual => then,
            Condition::Equal => otherwise,
            _ => return,
        };
        if let Some(known) = self.inherited.get_mut(some) {
            known.insert(*src);
        }
        let value = self.holds.get(src).copied();
        if let (Some(handed), Some(value)) = (self.handed.get_mut(some), value) {
            handed.facts.not_null(value);
        }
    }

    /// Where a test for null leads of what is known not to be.
    fn decided(&self, op: &Op) -> Option<BlockId> {
        match *op {
            Op::BranchZero {
                condition,
                src,
                then,
                otherwise,
            } if self.type_of(src) == Type::Ref && self.is_non_null(src) => match condition {
                Condition::Equal => Some(otherwise),
                _ => Some(then),
            },
            _ => None,
        }
    }

    fn jump_to(&mut self, target: BlockId) {
        self.poll_before(&[target]);
        let target = self.target(target);
        self.b.ins().jump(target, &[]);
    }

    fn terminator(&mut self, op: &Op) {
        self.hand_down(op);
        if let Some(target) = self.decided(op) {
            return self.jump_to(target);
        }
        match op {
            Op::Jump { target } => self.jump_to(*target),
            Op::Branch {
                condition,
                lhs,
                rhs,
                then,
                otherwise,
            } => {
                self.poll_before(&[*then, *otherwise]);
                let (lhs, rhs) = (self.get(*lhs), self.get(*rhs));
                let test = self.b.ins().icmp(int_condition(*condition), lhs, rhs);
                let (then, otherwise) = (self.target(*then), self.target(*otherwise));
                self.b.ins().brif(test, then, &[], otherwise, &[]);
            }
            Op::BranchZero {
                condition,
                src,
                then,
                otherwise,
            } => {
                self.poll_before(&[*then, *otherwise]);
                let test = self.zero_test(*condition, *src);
                let (then, otherwise) = (self.target(*then), self.target(*otherwise));
                self.b.ins().brif(test, then, &[], otherwise, &[]);
            }
            Op::Switch {
                src,
                cases,
                default,
            } => {
                let targets: Vec<_> = cases.iter().map(|&(_, t)| t).chain([*default]).collect();
                self.poll_before(&targets);
                let src = self.get(*src);
                let mut switch = Switch::new();
                for &(key, target) in cases {
                    switch.set_entry(u128::from(key as u32), self.target(target));
                }
                let default = self.target(*default);
                switch.emit(self.b, src, default);
            }
            Op::Return { src } => {
                let values: Vec<_> = src.iter().map(|&src| self.get(src)).collect();
                if let Some(outer) = &self.outer {
                    let (next, has_result) = (outer.next, outer.has_result);
                    let values: Vec<_> = values.into_iter().map(Into::into).collect();
                    let values = if has_result { &values[..] } else { &[] };
                    self.b.ins().jump(next, values);
                    return;
                }
                self.b.ins().return_(&values);
            }
            Op::Throw { src } => {
                let exception = self.get_non_null(*src);
                self.throw_by(crate::Entry::Throw, &[exception]);
            }
            _ => unreachable!("terminators only"),
        }
    }

    fn target(&mut self, target: BlockId) -> clif::Block {
        if self.memory.is_some() {
            return self.target_in_piece(target);
        }
        self.blocks[target.0 as usize]
    }

    /// Landing pads: the payload becomes the handler's parameter.
    pub(crate) fn fill_pads(&mut self) {
        let mut pads: Vec<_> = std::mem::take(&mut self.pads).into_iter().collect();
        // The same code each time.
        pads.sort_unstable();
        for (handler, pad) in pads {
            self.b.switch_to_block(pad);
            self.b.set_cold_block(pad);
            self.b.append_block_param(pad, I64);
            let payload = self.b.block_params(pad)[0];
            let exception = self.b.ins().ireduce(I32, payload);
            if self.memory.is_some() {
                self.handle_in_piece(handler, exception);
                continue;
            }
            let target = self.target(handler);
            self.b.ins().jump(target, &[exception.into()]);
        }
    }
}

/// What a block takes over from the only one that leads to it.
pub(crate) struct Handed {
    facts: Facts,
    holds: FxHashMap<Reg, clif::Value>,
}

/// What is known of one function's registers.
pub(crate) struct Registers<'a> {
    variables: Vec<Variable>,
    types: Cow<'a, [Type]>,
    non_null: FxHashSet<Reg>,
    compared: FxHashMap<Reg, (CompareOp, clif::Value, clif::Value)>,
    holds: FxHashMap<Reg, clif::Value>,
    safe_divisors: FxHashSet<Reg>,
    receiver: Option<Reg>,
    has_homes: bool,
}

/// The linker answers what passes ask.
pub(crate) struct ByLinker<'a>(pub(crate) &'a mut dyn Linker);

impl Asked for ByLinker<'_> {
    fn is_plain(&mut self, field: FieldUse) -> bool {
        let link = match field.is_write {
            true => self.0.written_field(field.index, field.is_static),
            false => self.0.field(field.index, field.is_static),
        };
        match link {
            FieldLink::Instance { is_volatile, .. } | FieldLink::Static { is_volatile, .. } => {
                !is_volatile
            }
            FieldLink::Referent(_) | FieldLink::Site(_) => false,
        }
    }

    fn is_ready(&mut self, class: u32) -> bool {
        matches!(self.0.new_object(class), NewLink::Resolved { .. })
    }
}

/// A variable for each register.
fn declare(b: &mut FunctionBuilder<'_>, function: &Function) -> Vec<Variable> {
    let types = function.registers.iter();
    types.map(|&ty| b.declare_var(machine_type(ty))).collect()
}

/// The receiver's register, if no instruction writes it.
pub(crate) fn receiver_of(function: &Function) -> Option<Reg> {
    function.params.first().copied().filter(|&this| {
        let insts = || function.blocks.iter().flat_map(|block| &block.insts);
        function.has_receiver && insts().all(|inst| inst.op.written() != Some(this))
    })
}

/// Blocks that are one branch's target once, and neither the entry nor a handler.
pub(crate) fn single_targets(function: &Function) -> FxHashSet<BlockId> {
    let mut counts = vec![0_u32; function.blocks.len()];
    counts[0] += 1;
    for block in &function.blocks {
        if let Some(handler) = block.handler {
            counts[handler.0 as usize] += 2;
        }
        for inst in &block.insts {
            inst.op
                .for_each_target(|target| counts[target.0 as usize] += 1);
        }
    }
    let all = counts.iter().enumerate();
    all.filter(|&(_, &count)| count == 1)
        .map(|(index, _)| BlockId(index as u32))
        .collect()
}

pub(crate) fn int_condition(condition: Condition) -> IntCC {
    match condition {
        Condition::Equal => IntCC::Equal,
        Condition::NotEqual => IntCC::NotEqual,
        Condition::Less => IntCC::SignedLessThan,
        Condition::GreaterEqual => IntCC::SignedGreaterThanOrEqual,
        Condition::Greater => IntCC::SignedGreaterThan,
        Condition::LessEqual => IntCC::SignedLessThanOrEqual,
    }
}
