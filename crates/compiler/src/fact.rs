// SPDX-License-Identifier: Apache-2.0
//! [`Facts`]: what one block has found out, so that it is not checked twice.
//!
//! Facts are about values of Cranelift's. They hold wherever the place is always passed first that
//! found them: for the rest of an IR block, however many of Cranelift's it becomes. Where a path
//! may be left out, what it found is forgotten behind it ([`Lowering::apart`]). Calls change
//! nothing of that: the length of an array never changes, and a value that is not null stays so.
//!
//! What plain fields hold is known too, until something may write them: a write to a field at the
//! same offset, or whatever may run other code or order memory. Elements of arrays are no fields.

use std::collections::HashMap;

use cranelift_codegen::ir::{InstructionData, Opcode, Value, ValueDef};
use ir::{BinaryOp, MemoryKind, Op, Reg, Type};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::Address;
use crate::lower::Lowering;

/// A plain field.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Field {
    pub(crate) holder: Holder,
    pub(crate) offset: u32,
    pub(crate) kind: MemoryKind,
}

/// What a field lies in.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Holder {
    Object(Value),
    Class(Address),
}

/// See the module.
#[derive(Clone, Default)]
pub(crate) struct Facts {
    /// References that are not null.
    non_null: FxHashSet<Value>,
    /// By array: its length.
    lengths: FxHashMap<Value, Value>,
    /// Index and length, where the index is below.
    in_bounds: FxHashSet<(Value, Value)>,
    /// Integers that are written in the code.
    ints: HashMap<i32, Value>,
    /// Sums and differences of ints: an index is often computed anew.
    sums: FxHashMap<(bool, Value, Value), Value>,
    /// What fields hold.
    fields: FxHashMap<Field, Value>,
    /// Objects that were made here, and the offsets at which their fields may be other than zero.
    fresh: Vec<(Value, Vec<u32>)>,
    /// By object: the test of a store into it (`Lowering::barriers`), with no safepoint since.
    tests: Vec<(Value, usize)>,
}

/// Facts of which each block that takes them over has its own.
const SMALL: usize = 96;

impl Facts {
    pub(crate) fn is_small(&self) -> bool {
        let counts = [
            self.non_null.len(),
            self.lengths.len(),
            self.in_bounds.len(),
            self.ints.len(),
            self.sums.len(),
            self.fields.len(),
            self.fresh.len(),
            self.tests.len(),
        ];
        counts.iter().sum::<usize>() <= SMALL
    }

    pub(crate) fn not_null(&mut self, value: Value) {
        self.non_null.insert(value);
    }

    /// A store into `object` has a test.
    pub(crate) fn tested(&mut self, object: Value, number: usize) {
        self.tests.retain(|&(other, _)| other != object);
        self.tests.push((object, number));
    }

    /// The test of the last store into `object`.
    pub(crate) fn test_of(&self, object: Value) -> Option<usize> {
        let found = self.tests.iter().find(|&&(other, _)| other == object);
        found.map(|&(_, number)| number)
    }

    /// Other code may have run: tests say nothing any more.
    pub(crate) fn at_safepoint(&mut self) {
        self.tests.clear();
    }

    /// All tests, to be restored behind a path that comes back here no more.
    pub(crate) fn take_tests(&mut self) -> Vec<(Value, usize)> {
        core::mem::take(&mut self.tests)
    }

    pub(crate) fn restore_tests(&mut self, tests: Vec<(Value, usize)>) {
        self.tests = tests;
    }

    /// An object has been made: its fields are zero.
    pub(crate) fn made(&mut self, object: Value) {
        self.fresh.push((object, Vec::new()));
    }

    /// Whether a field has been zero since its object was made.
    pub(crate) fn is_still_zero(&self, field: Field) -> bool {
        let is_it = |object: Value| field.holder == Holder::Object(object);
        let found = self.fresh.iter().find(|&&(object, _)| is_it(object));
        found.is_some_and(|(_, written)| !written.contains(&field.offset))
    }
}

impl Lowering<'_, '_> {
    /// Nothing is known.
    pub(crate) fn know_nothing(&mut self) {
        self.facts = Facts::default();
        self.holds.clear();
    }

    /// What `act` finds out holds for itself alone.
    pub(crate) fn apart<T>(&mut self, act: impl FnOnce(&mut Self) -> T) -> T {
        let facts = self.facts.clone();
        let result = act(self);
        self.facts = facts;
        self.facts.at_safepoint();
        result
    }

    /// A register of references has been read or written.
    pub(crate) fn note_held(&mut self, reg: Reg, value: Value) {
        if self.memory.is_none() && self.type_of(reg) == Type::Ref {
            self.holds.insert(reg, value);
        }
    }

    pub(crate) fn is_known_non_null(&self, value: Value) -> bool {
        self.facts.non_null.contains(&value)
    }

    /// A value is not null, in whichever registers it is.
    pub(crate) fn note_non_null(&mut self, value: Value) {
        if self.memory.is_some() {
            return;
        }
        self.facts.non_null.insert(value);
        let same = self.holds.iter().filter(|(_, held)| **held == value);
        self.non_null.extend(same.map(|(&reg, _)| reg));
    }

    /// The length of `array`, which `load` loads if nobody has.
    pub(crate) fn known_length(
        &mut self,
        array: Value,
        load: impl FnOnce(&mut Self) -> Value,
    ) -> Value {
        if let Some(&length) = self.facts.lengths.get(&array) {
            return length;
        }
        let length = load(self);
        if self.memory.is_none() {
            self.facts.lengths.insert(array, length);
        }
        length
    }

    /// Whether an index was found to be below a length before; from here on it is.
    pub(crate) fn was_in_bounds(&mut self, element: Value, length: Value) -> bool {
        self.memory.is_none() && !self.facts.in_bounds.insert((element, length))
    }

    /// What a field holds, which `load` loads if nobody has.
    pub(crate) fn known_field(
        &mut self,
        field: Field,
        load: impl FnOnce(&mut Self) -> Value,
    ) -> Value {
        if let Some(&value) = self.facts.fields.get(&field) {
            return value;
        }
        let value = load(self);
        if self.memory.is_none() && self.passes.fields {
            self.facts.fields.insert(field, value);
        }
        value
    }

    /// A field has been written, in whichever object: others may be the same.
    pub(crate) fn note_written(&mut self, field: Field, value: Value) {
        for (_, written) in &mut self.facts.fresh {
            written.push(field.offset);
        }
        self.note_held_by(field, value);
    }

    /// A field holds a value from here on.
    pub(crate) fn note_held_by(&mut self, field: Field, value: Value) {
        let fields = &mut self.facts.fields;
        fields.retain(|other, _| other.offset != field.offset);
        // What is narrower is not what was written.
        let is_whole = matches!(
            field.kind,
            MemoryKind::Int
                | MemoryKind::Ref
                | MemoryKind::Long
                | MemoryKind::Float
                | MemoryKind::Double
        );
        if is_whole && self.memory.is_none() && self.passes.fields {
            fields.insert(field, value);
        }
    }

    /// Fields may hold anything.
    pub(crate) fn forget_fields(&mut self) {
        self.facts.fields.clear();
        self.facts.fresh.clear();
        self.facts.tests.clear();
    }

    /// Whether a value is zero or null wherever the code runs.
    pub(crate) fn is_zero(&self, value: Value) -> bool {
        let ValueDef::Result(inst, _) = self.b.func.dfg.value_def(value) else {
            return false;
        };
        let data = self.b.func.dfg.insts[inst];
        matches!(data, InstructionData::UnaryImm { opcode: Opcode::Iconst, imm } if imm.bits() == 0)
    }

    /// Forgets what an operation may change that says nothing of it itself.
    pub(crate) fn forget_behind(&mut self, op: &Op) {
        let changes = !matches!(
            op,
            Op::GetField { .. }
                | Op::PutField { .. }
                | Op::GetStatic { .. }
                | Op::PutStatic { .. }
                | Op::ArrayLength { .. }
                | Op::ArrayLoad { .. }
                | Op::ArrayStore { .. }
                | Op::FillArray { .. }
                | Op::New { .. }
                | Op::NewPrimitiveArray { .. }
                | Op::Invoke { .. }
        );
        if changes && !op.is_computation() {
            self.forget_fields();
        }
    }

    /// An integer of the code.
    pub(crate) fn known_int(&mut self, int: i32) -> Value {
        if let Some(&value) = self.facts.ints.get(&int) {
            return value;
        }
        let value = self.int(i64::from(int));
        if self.memory.is_none() {
            self.facts.ints.insert(int, value);
        }
        value
    }

    /// A sum or a difference of ints, which `compute` computes if nobody has; or anything else.
    pub(crate) fn known_sum(
        &mut self,
        (op, ty): (BinaryOp, Type),
        (lhs, rhs): (Value, Value),
        compute: impl FnOnce(&mut Self) -> Value,
    ) -> Value {
        let is_sum = matches!(op, BinaryOp::Add | BinaryOp::Sub) && ty == Type::Int;
        if !is_sum || self.memory.is_some() {
            return compute(self);
        }
        let key = (op == BinaryOp::Add, lhs, rhs);
        if let Some(&value) = self.facts.sums.get(&key) {
            return value;
        }
        let value = compute(self);
        self.facts.sums.insert(key, value);
        value
    }
}
