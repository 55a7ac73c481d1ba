// SPDX-License-Identifier: Apache-2.0
//! Objects: classes, casts, tests and locks.

use abi::context;
use abi::object::{self as header, LOCK_OFFSET};
use cranelift_codegen::ir::{
    self as clif, InstBuilder,
    condcodes::IntCC,
    types::{I8, I32, I64},
};
use ir::{LoadedConstant, Op, Reg};

use crate::{
    Address, ClassLink, ConstantLink, Entry, SubtypeTest,
    lower::{Lowering, machine_type},
    record::{class_record, site_record},
    scalar::Formality,
};

impl Lowering<'_, '_> {
    pub(crate) fn object(&mut self, op: &Op) {
        match op {
            Op::Load {
                dst,
                constant,
                index,
            } => self.load_constant(*dst, *constant, *index),
            Op::GetField {
                dst,
                object,
                index,
                kind,
            } => {
                self.get_field(*dst, *object, *index, *kind);
            }
            Op::PutField {
                object,
                src,
                index,
                kind,
            } => {
                self.put_field(*object, *src, *index, *kind);
            }
            Op::GetStatic { dst, index, kind } => self.get_static(*dst, *index, *kind),
            Op::PutStatic { src, index, kind } => self.put_static(*src, *index, *kind),
            Op::ArrayLength { .. }
            | Op::ArrayLoad { .. }
            | Op::ArrayStore { .. }
            | Op::FillArray { .. } => self.array(op),
            Op::New { dst, index } => self.new_object(*dst, *index),
            Op::NewPrimitiveArray { dst, length, kind } => {
                let class = self.linker.primitive_array(*kind);
                self.new_array(
                    *dst,
                    *length,
                    ClassLink::Resolved(class, SubtypeTest::Exact),
                );
            }
            Op::NewArray { dst, length, index } => {
                let class = self.linker.array_of(*index);
                self.new_array(*dst, *length, class);
            }
            Op::NewMultiArray {
                dst,
                lengths,
                index,
            } => {
                self.new_multi_array(*dst, lengths, *index);
            }
            Op::CheckCast { object, index } => self.check_cast(*object, *index),
            Op::InstanceOf { dst, object, index } => self.instance_of(*dst, *object, *index),
            Op::CheckReceiver { object, index } => self.check_receiver(*object, *index),
            _ => self.locks(op),
        }
    }

    fn array(&mut self, op: &Op) {
        match op {
            Op::ArrayLength { dst, array } => self.array_length(*dst, *array),
            Op::ArrayLoad {
                dst,
                array,
                element,
                kind,
            } => {
                self.array_load(*dst, *array, *element, *kind);
            }
            Op::ArrayStore {
                array,
                element,
                src,
                kind,
            } => {
                self.array_store(*array, *element, *src, *kind);
            }
            Op::FillArray {
                array,
                kind,
                first,
                data,
            } => self.fill_array(*array, *kind, *first, data),
            _ => unreachable!("operations on arrays only"),
        }
    }

    fn locks(&mut self, op: &Op) {
        match op {
            Op::MonitorEnter { object } => self.thin_lock(Entry::MonitorEnter, *object),
            Op::MonitorExit { object } => self.thin_lock(Entry::MonitorExit, *object),
            Op::LocksBegin { dst } => {
                let count = self.call_entry(Entry::LocksBegin, &[]).expect("a count");
                self.set(*dst, count);
            }
            Op::LockNoted { object } => self.monitor(Entry::LockNoted, *object),
            Op::UnlockNoted { object, begin } => {
                let object = self.get_non_null(*object);
                let begin = self.get(*begin);
                self.call_entry(Entry::UnlockNoted, &[object, begin]);
            }
            Op::LocksReturn { begin } => self.noted_locks(Entry::LocksReturn, *begin),
            Op::LocksUnwind { begin } => self.noted_locks(Entry::LocksUnwind, *begin),
            _ => unreachable!("operations on objects only"),
        }
    }

    /// Takes a lock that is free, or gives back one that this thread holds once and nobody waits
    /// for: a look, and one exchange. The runtime does the rest.
    fn thin_lock(&mut self, entry: Entry, object: Reg) {
        let object = self.get_non_null(object);
        let context = self.context();
        let held = self
            .b
            .ins()
            .load(I32, Self::plain(), context, context::THIN_LOCK);
        let free = self.b.ins().iconst(I32, 0);
        let (expected, new) = match entry {
            Entry::MonitorEnter => (free, held),
            _ => (held, free),
        };
        let header = self.address(object);
        let word = self.b.ins().iadd_imm_s(header, i64::from(LOCK_OFFSET));
        let (exchange, cold) = (self.b.create_block(), self.b.create_block());
        let next = self.b.create_block();
        self.b.set_cold_block(cold);
        // An exchange that fails costs more than the look: who locks again, and who contends.
        let seen = self.b.ins().load(I32, Self::plain(), word, 0);
        let may_do = self.b.ins().icmp(IntCC::Equal, seen, expected);
        let head = self.b.ins().brif(may_do, exchange, &[], cold, &[]);
        self.formality(head, next, object);
        self.b.switch_to_block(exchange);
        self.b.seal_block(exchange);
        let found = self.b.ins().atomic_cas(Self::plain(), word, expected, new);
        let is_done = self.b.ins().icmp(IntCC::Equal, found, expected);
        self.b.ins().brif(is_done, next, &[], cold, &[]);
        self.b.switch_to_block(cold);
        self.b.seal_block(cold);
        self.call_entry(entry, &[object]);
        self.b.ins().jump(next, &[]);
        self.b.switch_to_block(next);
        self.b.seal_block(next);
    }

    /// What follows a branch is not needed if nobody else sees the object.
    pub(crate) fn formality(&mut self, head: clif::Inst, next: clif::Block, object: clif::Value) {
        self.references
            .objects
            .formality(Formality { head, next, object });
    }

    fn monitor(&mut self, entry: Entry, object: Reg) {
        let object = self.get_non_null(object);
        self.call_entry(entry, &[object]);
    }

    fn noted_locks(&mut self, entry: Entry, begin: Reg) {
        let begin = self.get(begin);
        self.call_entry(entry, &[begin]);
    }

    fn load_constant(&mut self, dst: Reg, constant: LoadedConstant, index: u32) {
        let value = match self.linker.constant(constant, index) {
            ConstantLink::Reference(object) => self.word_at(object),
            ConstantLink::Site(site) => {
                self.resolved(site);
                let ty = machine_type(self.type_of(dst));
                let at = self.long_at(site);
                self.b.ins().load(ty, Self::plain(), at, site_record::EXTRA)
            }
        };
        self.set(dst, value);
        if constant != LoadedConstant::Computed {
            self.set_non_null(dst);
        }
    }

    /// A class's record as an address.
    pub(crate) fn class_record(&mut self, link: ClassLink) -> clif::Value {
        match link {
            ClassLink::Resolved(class, _) => self.long_at(class),
            ClassLink::Site(site) => self.resolved(site),
        }
    }

    /// The class record of a non-null object.
    pub(crate) fn class_of(&mut self, object: clif::Value) -> clif::Value {
        let class = self.class_word(object);
        self.address(class)
    }

    /// The class word of an object that is not null.
    pub(crate) fn class_word(&mut self, object: clif::Value) -> clif::Value {
        let at = self.address(object);
        let offset = header::CLASS_OFFSET as i32;
        self.b.ins().load(I32, Self::plain(), at, offset)
    }

    fn check_cast(&mut self, object: Reg, index: u32) {
        let (some, fail) = (self.b.create_block(), self.b.create_block());
        let next = self.b.create_block();
        self.b.set_cold_block(fail);
        let value = self.get(object);
        self.b.ins().brif(value, some, &[], next, &[]);
        self.b.switch_to_block(some);
        self.b.seal_block(some);
        let link = self.linker.class(index);
        let class = self.class_record(link);
        if self.memory.is_some() {
            self.call_entry(Entry::CheckCast, &[value, class]);
            self.b.ins().jump(next, &[]);
        } else {
            let is_subtype = self.subtype_test(value, class, link);
            self.b.ins().brif(is_subtype, next, &[], fail, &[]);
        }
        self.fail_or_go_on(fail, Entry::ThrowCast, &[value, class], next);
    }

    /// A call follows, which refuses null itself.
    fn check_receiver(&mut self, object: Reg, index: u32) {
        let (some, fail) = (self.b.create_block(), self.b.create_block());
        let next = self.b.create_block();
        self.b.set_cold_block(fail);
        let value = self.get(object);
        self.b.ins().brif(value, some, &[], next, &[]);
        self.b.switch_to_block(some);
        self.b.seal_block(some);
        let link = self.linker.class(index);
        let class = self.class_record(link);
        let is_subtype = self.subtype_test(value, class, link);
        self.b.ins().brif(is_subtype, next, &[], fail, &[]);
        self.fail_or_go_on(fail, Entry::ThrowReceiver, &[value, class], next);
    }

    /// The block of what fails a check, then the one of what passes.
    fn fail_or_go_on(
        &mut self,
        fail: clif::Block,
        entry: Entry,
        args: &[clif::Value],
        next: clif::Block,
    ) {
        self.b.switch_to_block(fail);
        self.b.seal_block(fail);
        self.throw_by(entry, args);
        self.b.switch_to_block(next);
        self.b.seal_block(next);
    }

    fn instance_of(&mut self, dst: Reg, object: Reg, index: u32) {
        let (some, next) = (self.b.create_block(), self.b.create_block());
        self.b.append_block_param(next, I32);
        let value = self.get(object);
        let zero = self.int(0);
        self.b.ins().brif(value, some, &[], next, &[zero.into()]);
        self.b.switch_to_block(some);
        self.b.seal_block(some);
        let link = self.linker.class(index);
        let class = self.class_record(link);
        let is_subtype = self.subtype_test(value, class, link);
        let found = self.b.ins().uextend(I32, is_subtype);
        self.b.ins().jump(next, &[found.into()]);
        self.b.switch_to_block(next);
        self.b.seal_block(next);
        let found = self.b.block_params(next)[0];
        self.set(dst, found);
    }

    /// Whether a non-null object is of `class`: one byte, zero or one.
    fn subtype_test(
        &mut self,
        object: clif::Value,
        class: clif::Value,
        link: ClassLink,
    ) -> clif::Value {
        let own = self.class_of(object);
        let test = match link {
            ClassLink::Resolved(_, test) => test,
            ClassLink::Site(_) => SubtypeTest::Ask,
        };
        match test {
            SubtypeTest::Exact => self.b.ins().icmp(IntCC::Equal, own, class),
            SubtypeTest::Display(depth) => {
                let at = class_record::DISPLAY + depth as i32 * 4;
                let found = self.b.ins().load(I32, Self::plain(), own, at);
                let found = self.address(found);
                self.b.ins().icmp(IntCC::Equal, found, class)
            }
            SubtypeTest::Interface(id) => {
                let row = self.interface_row(own, id);
                let found = self
                    .b
                    .ins()
                    .load(I32, Self::plain(), row, class_record::ROW_ID);
                let id = self.word_at(id);
                self.b.ins().icmp(IntCC::Equal, found, id)
            }
            SubtypeTest::Ask => self.ask_subtype(own, class),
        }
    }

    fn ask_subtype(&mut self, own: clif::Value, class: clif::Value) -> clif::Value {
        let (ask, next) = (self.b.create_block(), self.b.create_block());
        self.b.append_block_param(next, I8);
        let is_same = self.b.ins().icmp(IntCC::Equal, own, class);
        self.b
            .ins()
            .brif(is_same, next, &[is_same.into()], ask, &[]);
        self.b.switch_to_block(ask);
        self.b.seal_block(ask);
        let found = self
            .call_entry(Entry::IsSubtype, &[own, class])
            .expect("an answer");
        let found = self.b.ins().ireduce(I8, found);
        self.b.ins().jump(next, &[found.into()]);
        self.b.switch_to_block(next);
        self.b.seal_block(next);
        self.b.block_params(next)[0]
    }

    /// The end of the row of a class's interface table where interface `id` would be.
    pub(crate) fn interface_row(&mut self, class: clif::Value, id: Address) -> clif::Value {
        let flags = Self::plain();
        let table = self
            .b
            .ins()
            .load(I64, flags, class, class_record::INTERFACES);
        let mask = self
            .b
            .ins()
            .load(I32, flags, class, class_record::INTERFACES_MASK);
        let id = self.word_at(id);
        let place = self.b.ins().band(mask, id);
        let place = self.b.ins().uextend(I64, place);
        let offset = self
            .b
            .ins()
            .ishl_imm_u(place, class_record::ROW_NUMBER_SHIFT);
        let at = self.b.ins().iadd(table, offset);
        let number = self.b.ins().uload16(I64, flags, at, 0);
        let offset = self.b.ins().ishl_imm_u(number, class_record::ROW_SHIFT);
        self.b.ins().isub(table, offset)
    }
}
