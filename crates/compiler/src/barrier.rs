// SPDX-License-Identifier: Apache-2.0
//! The write barrier: see `abi::barrier`.
//!
//! Stores into one object with no safepoint between them have one test. Between them neither the
//! object's log word nor the epoch can change in favour of the slow path. So the second store goes
//! through it exactly if the first does, and the cold block of the first does it for both. That is
//! before the second store's place in the program, and harmless: its value is there already, and
//! what the slow path does to it (`Mutator::write_slow`) only keeps it alive.

use abi::{context, object as header};
use cranelift_codegen::ir::{
    self as clif, InstBuilder,
    condcodes::IntCC,
    types::{I8, I32, I64},
};

use crate::{Entry, field::Place, lower::Lowering};

/// A test whose cold block is filled at the end: there may be more stores for it.
pub(crate) struct Barrier {
    cold: clif::Block,
    next: clif::Block,
    /// The place of the first store's instruction.
    at: u32,
    object: clif::Value,
    log_word: clif::Value,
    /// Where in the object, and what.
    stores: Vec<(i32, clif::Value)>,
    /// How many values there were when the test was made.
    values: usize,
}

impl Lowering<'_, '_> {
    /// Before a reference is stored at `place` in `object`.
    pub(crate) fn write_barrier(
        &mut self,
        object: clif::Value,
        place: Place,
        value: clif::Value,
        is_chunked: bool,
    ) {
        if is_chunked {
            let log_word = self.chunk_log_word(place);
            return self.write_fast(object, log_word, place, value);
        }
        if self.joins_barrier(object, place.offset, value) {
            return;
        }
        let base = self.address(object);
        let log_word = self.b.ins().iadd_imm_s(base, i64::from(header::LOG_OFFSET));
        if self.memory.is_some() {
            return self.write_fast(object, log_word, place, value);
        }
        let values = self.b.func.dfg.num_values();
        let (cold, next) = self.write_test(object, log_word);
        self.b.switch_to_block(next);
        self.b.seal_block(next);
        self.facts.tested(object, self.barriers.len());
        self.barriers.push(Barrier {
            cold,
            next,
            at: self.at,
            object,
            log_word,
            stores: vec![(place.offset, value)],
            values,
        });
    }

    /// Leaves a store to the test of an earlier one, if that is as good.
    fn joins_barrier(&mut self, object: clif::Value, offset: i32, value: clif::Value) -> bool {
        let Some(number) = self.facts.test_of(object) else {
            return false;
        };
        let barrier = &mut self.barriers[number];
        // What was there before the test is there in its cold block: both lie before here.
        let is_there = (value.as_u32() as usize) < barrier.values;
        if is_there {
            barrier.stores.push((offset, value));
        }
        is_there
    }

    /// Fills the cold blocks of all tests.
    pub(crate) fn fill_barriers(&mut self) {
        for barrier in core::mem::take(&mut self.barriers) {
            self.b.switch_to_block(barrier.cold);
            self.go_to(barrier.at);
            let base = self.address(barrier.object);
            for (offset, value) in barrier.stores {
                let slot = self.slot_address(Place { base, offset });
                let args = [barrier.object, barrier.log_word, value, slot];
                self.call_entry(Entry::WriteSlow, &args);
            }
            self.b.ins().jump(barrier.next, &[]);
        }
    }

    /// As [`Self::write_barrier`], for an object of unknown size or none: the
    /// runtime finds the log word.
    pub(crate) fn write_barrier_any(
        &mut self,
        object: clif::Value,
        place: Place,
        value: clif::Value,
    ) {
        let unknown = self.b.ins().iconst(I64, 0);
        let slot = self.slot_address(place);
        self.call_entry(Entry::WriteSlow, &[object, unknown, value, slot]);
    }

    fn slot_address(&mut self, place: Place) -> clif::Value {
        self.b.ins().iadd_imm_s(place.base, i64::from(place.offset))
    }

    /// The log word of the chunk that holds `place`.
    pub(crate) fn chunk_log_word(&mut self, place: Place) -> clif::Value {
        let slot = self.slot_address(place);
        let chunk = self
            .b
            .ins()
            .ushr_imm_u(slot, i64::from(header::CHUNK_SHIFT));
        let offset = self.b.ins().ishl_imm_u(chunk, 2);
        let base = self.context();
        let table = self
            .b
            .ins()
            .load(I64, Self::plain(), base, context::CHUNK_LOG_BASE);
        self.b.ins().iadd(table, offset)
    }

    /// One byte load, one compare; the slow path records.
    pub(crate) fn write_fast(
        &mut self,
        object: clif::Value,
        log_word: clif::Value,
        place: Place,
        value: clif::Value,
    ) {
        debug_assert_eq!(self.b.func.dfg.value_type(value), I32);
        let (cold, next) = self.write_test(object, log_word);
        self.b.switch_to_block(cold);
        let slot = self.slot_address(place);
        self.call_entry(Entry::WriteSlow, &[object, log_word, value, slot]);
        self.b.ins().jump(next, &[]);
        self.b.switch_to_block(next);
        self.b.seal_block(next);
    }

    /// Where the slow path goes, and what lies behind it.
    fn write_test(
        &mut self,
        object: clif::Value,
        log_word: clif::Value,
    ) -> (clif::Block, clif::Block) {
        debug_assert_eq!(self.b.func.dfg.value_type(log_word), I64);
        let base = self.context();
        let epoch = self.b.ins().load(I8, Self::plain(), log_word, 0);
        let fast = self
            .b
            .ins()
            .load(I8, Self::plain(), base, context::FAST_EPOCH);
        let is_recorded = self.b.ins().icmp(IntCC::Equal, epoch, fast);
        let (cold, next) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(cold);
        let head = self.b.ins().brif(is_recorded, next, &[], cold, &[]);
        self.formality(head, next, object);
        self.b.seal_block(cold);
        (cold, next)
    }
}
