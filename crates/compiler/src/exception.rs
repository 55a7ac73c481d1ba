// SPDX-License-Identifier: Apache-2.0
//! Explicit checks and the cold calls that throw.

use cranelift_codegen::ir::{self as clif, InstBuilder, TrapCode, condcodes::IntCC, types::I32};
use ir::Reg;

use crate::{Entry, lower::Lowering};

/// Behind a call that never returns.
fn unreachable_code() -> TrapCode {
    TrapCode::unwrap_user(1)
}

impl Lowering<'_, '_> {
    /// Calls an entry point that throws; ends the block.
    pub(crate) fn throw_by(&mut self, entry: Entry, args: &[clif::Value]) {
        self.call_entry(entry, args);
        self.b.ins().trap(unreachable_code());
    }

    /// Goes on where `test` is zero; else throws by `entry`.
    pub(crate) fn throw_if(&mut self, test: clif::Value, entry: Entry, args: &[clif::Value]) {
        let (cold, next) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(cold);
        self.b.ins().brif(test, cold, &[], next, &[]);
        self.b.switch_to_block(cold);
        self.b.seal_block(cold);
        let tests = self.facts.take_tests();
        self.throw_by(entry, args);
        self.facts.restore_tests(tests);
        self.b.switch_to_block(next);
        self.b.seal_block(next);
    }

    /// The value of `reg`, proven not to be null from here on.
    pub(crate) fn get_non_null(&mut self, reg: Reg) -> clif::Value {
        let value = self.get(reg);
        if self.is_known_non_null(value) {
            self.set_non_null(reg);
        } else if !self.is_non_null(reg) {
            // The address is what is used next: so only that needs a register of the two.
            let address = self.address(value);
            let is_null = self.b.ins().icmp_imm_s(IntCC::Equal, address, 0);
            self.throw_if(is_null, Entry::ThrowNull, &[]);
            self.set_non_null(reg);
            self.note_non_null(value);
        }
        value
    }

    /// A landing pad for exceptions of the current block.
    pub(crate) fn pad(&mut self) -> Option<clif::Block> {
        let Some(handler) = self.handler else {
            return self.outer_pad();
        };
        if let Some(&pad) = self.pads.get(&handler) {
            return Some(pad);
        }
        let pad = self.b.create_block();
        self.pads.insert(handler, pad);
        Some(pad)
    }

    pub(crate) fn throw_if_zero(&mut self, divisor: clif::Value) {
        let is_zero = self.b.ins().icmp_imm_s(IntCC::Equal, divisor, 0);
        self.throw_if(is_zero, Entry::ThrowDivide, &[]);
    }

    /// Throws unless `element < length`, both unsigned.
    pub(crate) fn check_bounds(&mut self, element: clif::Value, length: clif::Value) {
        debug_assert_eq!(self.b.func.dfg.value_type(element), I32);
        if self.was_in_bounds(element, length) {
            return;
        }
        let is_out = self
            .b
            .ins()
            .icmp(IntCC::UnsignedGreaterThanOrEqual, element, length);
        self.throw_if(is_out, Entry::ThrowBounds, &[element, length]);
    }
}
