// SPDX-License-Identifier: Apache-2.0
//! Arrays.

use abi::object as header;
use cranelift_codegen::ir::{
    self as clif, InstBuilder,
    condcodes::IntCC,
    types::{I32, I64},
};
use ir::{MemoryKind, Reg};

use crate::{
    Entry,
    field::{Ordering, Place},
    lower::Lowering,
    record::class_record,
};

impl Lowering<'_, '_> {
    pub(crate) fn array_length(&mut self, dst: Reg, array: Reg) {
        let array = self.get_non_null(array);
        let length = self.length_of(array);
        self.set(dst, length);
    }

    pub(crate) fn length_of(&mut self, array: clif::Value) -> clif::Value {
        self.known_length(array, |lowering| {
            let base = lowering.address(array);
            // The length is there before the array is published, and never changes.
            let flags = Self::plain().with_readonly();
            let offset = header::ARRAY_LENGTH_OFFSET as i32;
            lowering.b.ins().load(I32, flags, base, offset)
        })
    }

    /// An array and an index in it.
    fn checked(&mut self, array: Reg, element: Reg) -> (clif::Value, clif::Value) {
        let Some(access) = self.access else {
            let array = self.get_non_null(array);
            let element = self.get(element);
            let length = self.length_of(array);
            self.check_bounds(element, length);
            return (array, element);
        };
        let (array, element) = (self.get(array), self.get(element));
        self.note_non_null(array);
        if !access.is_in_bounds {
            let length = self.get(access.length);
            self.check_bounds(element, length);
        }
        (array, element)
    }

    /// The checked place of an element.
    fn element(&mut self, array: Reg, element: Reg, kind: MemoryKind) -> (clif::Value, Place) {
        let (array, element) = self.checked(array, element);
        let base = self.address(array);
        let wide = self.b.ins().uextend(I64, element);
        let scaled = self.b.ins().ishl_imm_u(wide, i64::from(kind.size_log2()));
        let base = self.b.ins().iadd(base, scaled);
        (
            array,
            Place {
                base,
                offset: header::ARRAY_ELEMENTS_OFFSET as i32,
            },
        )
    }

    pub(crate) fn array_load(&mut self, dst: Reg, array: Reg, element: Reg, kind: MemoryKind) {
        let (_, place) = self.element(array, element, kind);
        let value = self.load(place, kind, Ordering::Plain);
        self.set(dst, value);
    }

    pub(crate) fn array_store(&mut self, array: Reg, element: Reg, src: Reg, kind: MemoryKind) {
        if kind == MemoryKind::Ref && self.memory.is_some() {
            let args = [self.get(array), self.get(element), self.get(src)];
            self.call_entry(Entry::StoreElement, &args);
            return;
        }
        let (object, place) = self.element(array, element, kind);
        let value = self.get(src);
        if kind == MemoryKind::Ref {
            self.check_store(object, value);
            // The check may have called: no address is kept across a call.
            let (object, place) = self.element_again(array, element, kind);
            self.array_barrier(object, place, value);
            let (_, place) = self.element_again(array, element, kind);
            return self.store(place, value, kind, Ordering::Plain);
        }
        self.store(place, value, kind, Ordering::Plain);
    }

    /// Eight bytes at once, behind one check of the last element.
    pub(crate) fn fill_array(&mut self, array: Reg, kind: MemoryKind, first: u32, data: &[u8]) {
        let array = self.get_non_null(array);
        let length = self.length_of(array);
        let count = data.len() as u32 >> kind.size_log2();
        if count == 0 {
            return;
        }
        let last = self.int(i64::from(first + count - 1));
        self.check_bounds(last, length);
        let base = self.address(array);
        let start = header::ARRAY_ELEMENTS_OFFSET + (first << kind.size_log2());
        let (words, rest) = data.as_chunks::<8>();
        for (place, word) in words.iter().enumerate() {
            let value = self.long(i64::from_le_bytes(*word));
            let offset = start as i32 + place as i32 * 8;
            self.b.ins().store(Self::plain(), value, base, offset);
        }
        let start = start as usize + words.len() * 8;
        for (place, &byte) in rest.iter().enumerate() {
            let value = self.int(i64::from(byte));
            let offset = (start + place) as i32;
            self.b.ins().istore8(Self::plain(), value, base, offset);
        }
    }

    /// The place of an element that has been checked before.
    fn element_again(
        &mut self,
        array: Reg,
        element: Reg,
        kind: MemoryKind,
    ) -> (clif::Value, Place) {
        let (array, element) = (self.get(array), self.get(element));
        let base = self.address(array);
        let wide = self.b.ins().uextend(I64, element);
        let scaled = self.b.ins().ishl_imm_u(wide, i64::from(kind.size_log2()));
        let base = self.b.ins().iadd(base, scaled);
        (
            array,
            Place {
                base,
                offset: header::ARRAY_ELEMENTS_OFFSET as i32,
            },
        )
    }

    /// No call is needed for null, values of exactly the element class, and those that have it in
    /// their display.
    fn check_store(&mut self, array: clif::Value, value: clif::Value) {
        let [some, other, shown, slow, next] = core::array::from_fn(|_| self.b.create_block());
        self.b.set_cold_block(slow);
        self.b.ins().brif(value, some, &[], next, &[]);
        self.b.switch_to_block(some);
        self.b.seal_block(some);
        let class = self.class_of(array);
        let element = self
            .b
            .ins()
            .load(I32, Self::plain(), class, class_record::ELEMENT);
        let at = self.address(value);
        let own = self
            .b
            .ins()
            .load(I32, Self::plain(), at, header::CLASS_OFFSET as i32);
        let is_same = self.b.ins().icmp(IntCC::Equal, own, element);
        self.b.ins().brif(is_same, next, &[], other, &[]);
        self.b.switch_to_block(other);
        self.b.seal_block(other);
        let (flags, element_at) = (Self::plain(), self.address(element));
        let depth = self
            .b
            .ins()
            .load(I32, flags, element_at, class_record::DEPTH);
        let count = i64::from(class_record::DISPLAY_COUNT);
        let is_deep = self
            .b
            .ins()
            .icmp_imm_u(IntCC::UnsignedGreaterThanOrEqual, depth, count);
        self.b.ins().brif(is_deep, slow, &[], shown, &[]);
        self.b.switch_to_block(shown);
        self.b.seal_block(shown);
        let own_at = self.address(own);
        let depth = self.b.ins().uextend(I64, depth);
        let offset = self.b.ins().ishl_imm_u(depth, 2);
        let place = self.b.ins().iadd(own_at, offset);
        let found = self.b.ins().load(I32, flags, place, class_record::DISPLAY);
        let is_shown = self.b.ins().icmp(IntCC::Equal, found, element);
        self.b.ins().brif(is_shown, next, &[], slow, &[]);
        self.b.switch_to_block(slow);
        self.b.seal_block(slow);
        self.call_entry(Entry::CheckStore, &[array, value]);
        self.b.ins().jump(next, &[]);
        self.b.switch_to_block(next);
        self.b.seal_block(next);
    }

    /// Large arrays of references have a log word per chunk.
    fn array_barrier(&mut self, array: clif::Value, place: Place, value: clif::Value) {
        let length = self.length_of(array);
        let is_chunked = self.b.ins().icmp_imm_u(
            IntCC::UnsignedGreaterThan,
            length,
            i64::from(header::SLOTS_PER_LOG_WORD),
        );
        let in_chunk = self.chunk_log_word(place);
        let base = self.address(array);
        let in_header = self.b.ins().iadd_imm_s(base, i64::from(header::LOG_OFFSET));
        let log_word = self.b.ins().select(is_chunked, in_chunk, in_header);
        self.write_fast(array, log_word, place, value);
    }
}
