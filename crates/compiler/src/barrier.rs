// SPDX-License-Identifier: Apache-2.0
//! The write barrier: see `abi::barrier`.

use abi::{context, object as header};
use cranelift_codegen::ir::{
    self as clif, InstBuilder,
    condcodes::IntCC,
    types::{I8, I32, I64},
};

use crate::{Entry, field::Place, lower::Lowering};

impl Lowering<'_, '_> {
    /// Before a reference is stored at `place` in `object`.
    pub(crate) fn write_barrier(
        &mut self,
        object: clif::Value,
        place: Place,
        value: clif::Value,
        is_chunked: bool,
    ) {
        let log_word = if is_chunked {
            self.chunk_log_word(place)
        } else {
            let base = self.address(object);
            self.b.ins().iadd_imm_s(base, i64::from(header::LOG_OFFSET))
        };
        self.write_fast(object, log_word, place, value);
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
        let base = self.context();
        let epoch = self.b.ins().load(I8, Self::plain(), log_word, 0);
        let fast = self
            .b
            .ins()
            .load(I8, Self::plain(), base, context::FAST_EPOCH);
        let is_recorded = self.b.ins().icmp(IntCC::Equal, epoch, fast);
        let (cold, next) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(cold);
        self.b.ins().brif(is_recorded, next, &[], cold, &[]);
        self.b.switch_to_block(cold);
        self.b.seal_block(cold);
        debug_assert_eq!(self.b.func.dfg.value_type(log_word), I64);
        let slot = self.slot_address(place);
        self.call_entry(Entry::WriteSlow, &[object, log_word, value, slot]);
        self.b.ins().jump(next, &[]);
        self.b.switch_to_block(next);
        self.b.seal_block(next);
    }
}
