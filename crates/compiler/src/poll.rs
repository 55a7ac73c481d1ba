// SPDX-License-Identifier: Apache-2.0
//! Polls at method entry and loop back-edges, and the stack's limit: see `abi::poll`.

use abi::context;
use cranelift_codegen::ir::{
    InstBuilder, Value,
    condcodes::IntCC,
    types::{I8, I64},
};
use ir::{BlockId, Op};

use crate::{Entry, lower::Lowering};

impl Lowering<'_, '_> {
    /// Method entry. A method that neither calls nor loops needs nothing.
    pub(crate) fn enter(&mut self) {
        let mut is_leaf = true;
        for (index, block) in self.function.blocks.iter().enumerate() {
            for inst in &block.insts {
                is_leaf &= !matches!(inst.op, Op::Invoke { .. } | Op::InvokeDynamic { .. });
                inst.op
                    .for_each_target(|target| is_leaf &= target.0 as usize > index);
            }
        }
        if is_leaf {
            return;
        }
        let limit = self.limit_or_poll();
        let pointer = self.b.ins().get_stack_pointer(I64);
        let is_below = self.b.ins().icmp(IntCC::UnsignedLessThan, pointer, limit);
        let (cold, next) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(cold);
        self.b.ins().brif(is_below, cold, &[], next, &[]);
        self.b.switch_to_block(cold);
        self.b.seal_block(cold);
        let limit = self.stack_limit();
        let is_deep = self.b.ins().icmp(IntCC::UnsignedLessThan, pointer, limit);
        self.throw_if(is_deep, Entry::ThrowStackOverflow, &[]);
        self.call_entry(Entry::Poll, &[]);
        self.b.ins().jump(next, &[]);
        self.b.switch_to_block(next);
        self.b.seal_block(next);
    }

    /// The stack's limit, or what is above every stack while the collector asks.
    fn limit_or_poll(&mut self) -> Value {
        let base = self.context();
        let at = context::STACK_LIMIT_OR_POLL;
        self.b.ins().load(I64, Self::plain(), base, at)
    }

    /// The stack's limit.
    pub(crate) fn stack_limit(&mut self) -> Value {
        let word = self.limit_or_poll();
        let is_limit = (1 << context::STACK_LIMIT_BITS) - 1;
        self.b.ins().band_imm_u(word, is_limit)
    }

    /// A poll if one of `targets` may be the head of a loop.
    pub(crate) fn poll_before(&mut self, targets: &[BlockId]) {
        if targets.iter().any(|target| target.0 <= self.current.0) {
            self.poll();
        }
    }

    pub(crate) fn poll(&mut self) {
        let base = self.context();
        let at = self.b.ins().iadd_imm_s(base, i64::from(context::POLL));
        // Atomic, or one poll's load would serve the next as well.
        let asked = self.b.ins().atomic_load(I8, Self::plain(), at);
        let (cold, next) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(cold);
        self.b.ins().brif(asked, cold, &[], next, &[]);
        self.b.switch_to_block(cold);
        self.b.seal_block(cold);
        self.call_entry(Entry::Poll, &[]);
        self.b.ins().jump(next, &[]);
        self.b.switch_to_block(next);
        self.b.seal_block(next);
    }
}
