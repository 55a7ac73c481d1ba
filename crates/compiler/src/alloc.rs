// SPDX-License-Identifier: Apache-2.0
//! Allocation: see `abi::alloc`.

use abi::{alloc, context, object as header};
use cranelift_codegen::ir::{
    self as clif, InstBuilder,
    condcodes::IntCC,
    types::{I32, I64},
};
use ir::Reg;

use crate::{
    Address, ClassLink, Entry, NewLink, lower::Lowering, received::Known, record::class_record,
    scalar::Making,
};

impl Lowering<'_, '_> {
    pub(crate) fn new_object(&mut self, dst: Reg, index: u32) {
        // What is made when a class is initialised may write anything.
        self.forget_fields();
        let value = match self.linker.new_object(index) {
            NewLink::Resolved {
                class,
                bytes,
                is_chunked,
            } => {
                self.made = Some(Known::Exactly(class));
                match alloc::size_class(bytes).filter(|_| !is_chunked && self.memory.is_none()) {
                    Some(size_class) => {
                        let object = self.bump(class, size_class);
                        if self.passes.fields {
                            self.facts.made(object);
                        }
                        object
                    }
                    None => self.new_by_runtime(class),
                }
            }
            NewLink::Runtime(class) => {
                self.made = Some(Known::Exactly(class));
                self.new_by_runtime(class)
            }
            NewLink::Site(site) => {
                let class = self.resolved(site);
                self.call_entry(Entry::NewObject, &[class])
                    .expect("an object")
            }
        };
        self.set(dst, value);
        self.set_non_null(dst);
    }

    fn new_by_runtime(&mut self, class: Address) -> clif::Value {
        let class = self.long_at(class);
        self.call_entry(Entry::NewObject, &[class])
            .expect("an object")
    }

    /// From the mutator's own run of cells; the runtime gives the next run.
    fn bump(&mut self, class: Address, size_class: usize) -> clif::Value {
        let flags = Self::plain();
        let base = self.context();
        let start = self
            .b
            .ins()
            .load(I32, flags, base, context::bump_next(size_class));
        let limit = self
            .b
            .ins()
            .load(I32, flags, base, context::bump_limit(size_class));
        let end = self
            .b
            .ins()
            .iadd_imm_s(start, i64::from(alloc::SIZE_CLASSES[size_class]));
        let is_full = self.b.ins().icmp(IntCC::UnsignedGreaterThan, end, limit);
        let (cold, fast) = (self.b.create_block(), self.b.create_block());
        let next = self.b.create_block();
        self.b.append_block_param(next, I32);
        self.b.set_cold_block(cold);
        let head = self.b.ins().brif(is_full, cold, &[], fast, &[]);
        if self.passes.scalars {
            let making = Making { head, next, class };
            self.references.objects.made(making);
        }
        self.b.switch_to_block(cold);
        self.b.seal_block(cold);
        let slow = self.new_by_runtime(class);
        self.b.ins().jump(next, &[slow.into()]);
        self.b.switch_to_block(fast);
        self.b.seal_block(fast);
        let base = self.context();
        self.b
            .ins()
            .store(flags, end, base, context::bump_next(size_class));
        let at = self.b.ins().uextend(I64, start);
        let zero = self.int(0);
        self.b
            .ins()
            .store(flags, zero, at, header::LOCK_OFFSET as i32);
        let born = self.b.ins().load(I32, flags, base, context::BORN);
        self.b
            .ins()
            .store(flags, born, at, header::LOG_OFFSET as i32);
        let class = self.word_at(class);
        self.b
            .ins()
            .store(flags, class, at, header::CLASS_OFFSET as i32);
        self.b.ins().jump(next, &[start.into()]);
        self.b.switch_to_block(next);
        self.b.seal_block(next);
        self.b.block_params(next)[0]
    }

    /// `Unsafe.allocateInstance(class)`: by the native method unless the class is ready. `offset`
    /// is where a class object says which class it is of.
    pub(crate) fn allocate_instance(
        &mut self,
        offset: u32,
        method: Address,
        dst: Option<Reg>,
        args: &[Reg],
    ) {
        let flags = Self::plain();
        let mirror = self.get_non_null(args[1]);
        let at = self.address(mirror);
        let class = self.b.ins().load(I32, flags, at, offset as i32);
        let class = self.address(class);
        let is_ready = self.b.ins().load(I32, flags, class, class_record::IS_READY);
        let (fast, slow) = (self.b.create_block(), self.b.create_block());
        let next = self.b.create_block();
        self.b.append_block_param(next, I32);
        self.b.set_cold_block(slow);
        self.b.ins().brif(is_ready, fast, &[], slow, &[]);
        self.b.switch_to_block(fast);
        self.b.seal_block(fast);
        let made = self.call_entry(Entry::NewObject, &[class]);
        self.b.ins().jump(next, &[made.expect("an object").into()]);
        self.b.switch_to_block(slow);
        self.b.seal_block(slow);
        let method = self.long_at(method);
        let made = self.call_for_value(method, Some(I32), args, None);
        self.b.ins().jump(next, &[made.expect("an object").into()]);
        self.b.switch_to_block(next);
        self.b.seal_block(next);
        let made = self.b.block_params(next)[0];
        if let Some(dst) = dst {
            self.set(dst, made);
        }
    }

    pub(crate) fn new_array(&mut self, dst: Reg, length: Reg, class: ClassLink) {
        let class = self.class_record(class);
        let length = self.get(length);
        let array = self
            .call_entry(Entry::NewArray, &[class, length])
            .expect("an array");
        self.set(dst, array);
        self.set_non_null(dst);
    }

    pub(crate) fn new_multi_array(&mut self, dst: Reg, lengths: &[Reg], index: u32) {
        let link = self.linker.class(index);
        let class = self.class_record(link);
        let size = (lengths.len() * 4) as u32;
        let slot = self.b.create_sized_stack_slot(clif::StackSlotData::new(
            clif::StackSlotKind::ExplicitSlot,
            size,
            2,
        ));
        let at = self.b.ins().stack_addr(I64, slot, 0);
        for (place, &length) in lengths.iter().enumerate() {
            let length = self.get(length);
            self.b
                .ins()
                .store(Self::plain(), length, at, place as i32 * 4);
        }
        let count = self.int(lengths.len() as i64);
        let array = self
            .call_entry(Entry::NewMultiArray, &[class, count, at])
            .expect("an array");
        self.set(dst, array);
        self.set_non_null(dst);
    }
}
