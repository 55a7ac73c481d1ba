// SPDX-License-Identifier: Apache-2.0
//! Which classes the receivers of a call have: counted by code, and told to later code.
//!
//! A call with no likely callee has a cell: the class of the last receiver, how many came, and how
//! many of them were of the class that the one before had. That takes no branch, lock or call. It
//! is a hint, so threads may lose counts of each other.

use cranelift_codegen::ir::{InstBuilder, condcodes::IntCC, types::I32};
use ir::{InvokeKind, Reg};

use crate::{
    Address, MethodLink, Profile, Received,
    call::Otherwise,
    lower::Lowering,
    place::scope_and_offset,
    record::profile_cell::{BYTES, CLASS, COUNT, SAME},
};

impl Lowering<'_, '_> {
    /// Runs the callee here that most receivers have, behind a test. Counts them where nobody knows
    /// yet, and leaves the call to who asks.
    pub(crate) fn invoke_profiled(
        &mut self,
        call: (InvokeKind, u32),
        link: MethodLink,
        dst: Option<Reg>,
        args: &[Reg],
    ) -> bool {
        let Some(heat) = self.warm() else {
            return false;
        };
        let Some(class) = self.profile(call, args[0]) else {
            return false;
        };
        let Some(received) = self.linker.received(call, class, heat) else {
            return false;
        };
        // A virtual call takes no longer than its test.
        if received.body.is_none() && call.0 == InvokeKind::Virtual {
            return false;
        }
        self.run_likely(&received, class, link, dst, args);
        true
    }

    /// The class of most receivers of the call that is lowered.
    fn profile(&mut self, call: (InvokeKind, u32), receiver: Reg) -> Option<Address> {
        let mut places = vec![self.at];
        while let Some(number) = (scope_and_offset(places[places.len() - 1]).0).checked_sub(1) {
            places.push(self.inlined[usize::from(number)]);
        }
        match self.linker.profile(call, &places) {
            Profile::Unknown => None,
            Profile::Count(cells) => {
                self.count(receiver, cells);
                None
            }
            Profile::Likely(class) => {
                self.profiled.push(self.at);
                Some(class)
            }
        }
    }

    fn count(&mut self, receiver: Reg, cells: Address) {
        let receiver = self.get_non_null(receiver);
        let class = self.class_word(receiver);
        let cells = self.long_at(cells);
        let cell = self.counted.len() as i32 * BYTES;
        self.counted.push(self.at);
        let flags = Self::plain();
        let last = self.b.ins().load(I32, flags, cells, cell + CLASS);
        self.b.ins().store(flags, class, cells, cell + CLASS);
        let is_same = self.b.ins().icmp(IntCC::Equal, class, last);
        let is_same = self.b.ins().uextend(I32, is_same);
        let same = self.b.ins().load(I32, flags, cells, cell + SAME);
        let same = self.b.ins().iadd(same, is_same);
        self.b.ins().store(flags, same, cells, cell + SAME);
        let count = self.b.ins().load(I32, flags, cells, cell + COUNT);
        let count = self.b.ins().iadd_imm_s(count, 1);
        self.b.ins().store(flags, count, cells, cell + COUNT);
    }

    /// Runs the callee of a likely class if the receiver is of it, and chooses one otherwise.
    pub(crate) fn run_likely(
        &mut self,
        received: &Received,
        class: Address,
        link: MethodLink,
        dst: Option<Reg>,
        args: &[Reg],
    ) {
        let receiver = self.get_non_null(args[0]);
        let result = self.result_type(dst);
        let word = self.class_word(receiver);
        let expected = self.word_at(class);
        let is_expected = self.b.ins().icmp(IntCC::Equal, word, expected);
        let value = self.guarded((is_expected, Otherwise::Chosen(link)), result, args, |it| {
            it.run_received(received, class, result, args)
        });
        self.take_result(dst, value, false);
    }
}
