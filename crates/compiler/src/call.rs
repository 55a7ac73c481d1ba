// SPDX-License-Identifier: Apache-2.0
//! Calls: of methods and of the runtime.

use abi::{context, object as header};
use cranelift_codegen::ir::{
    self as clif, BlockArg, BlockCall, ExceptionTableData, ExceptionTableItem, InstBuilder,
    condcodes::IntCC,
    types::{I32, I64},
};
use ir::{InvokeKind, Reg};

use crate::{
    Address, Entry, HandleLayout, Heat, Intrinsic, MethodLink, Received,
    code::{managed, preserving},
    lower::{Lowering, machine_type},
    received::Known,
    record::{class_record, machine_word, method_record, site_record},
};

/// The offset of a machine's word in the context.
pub(crate) fn machine_offset(word: usize) -> i32 {
    context::MACHINE + word as i32 * 8
}

/// Which method a guarded call runs where its test fails.
pub(crate) enum Otherwise {
    Method(clif::Value),
    /// The one that the receiver has.
    Chosen(MethodLink),
}

impl Lowering<'_, '_> {
    pub(crate) fn signature(&mut self, signature: clif::Signature) -> clif::SigRef {
        if let Some(&found) = self.signatures.get(&signature) {
            return found;
        }
        let imported = self.b.import_signature(signature.clone());
        self.signatures.insert(signature, imported);
        imported
    }

    /// Calls `target`; an exception goes to the current handler.
    pub(crate) fn call(
        &mut self,
        signature: clif::SigRef,
        target: clif::Value,
        args: &[clif::Value],
    ) -> Option<clif::Value> {
        self.facts.at_safepoint();
        let Some(pad) = self.pad() else {
            let call = self.b.ins().call_indirect(signature, target, args);
            self.keep_across(call);
            return self.b.inst_results(call).first().copied();
        };
        let result = self.b.func.dfg.signatures[signature]
            .returns
            .first()
            .map(|r| r.value_type);
        let next = self.b.create_block();
        let normal = result.map(|ty| {
            self.b.append_block_param(next, ty);
            BlockArg::TryCallRet(0)
        });
        let pool = &mut self.b.func.dfg.value_lists;
        let normal = BlockCall::new(next, normal, pool);
        let caught = BlockCall::new(pad, [BlockArg::TryCallExn(0)], pool);
        let table =
            ExceptionTableData::new(signature, normal, [ExceptionTableItem::Default(caught)]);
        let table = self.b.func.dfg.exception_tables.push(table);
        let call = self.b.ins().try_call_indirect(target, args, table);
        self.keep_across(call);
        self.b.switch_to_block(next);
        self.b.seal_block(next);
        self.b.block_params(next).first().copied()
    }

    /// Calls an entry point of the runtime.
    pub(crate) fn call_entry(&mut self, entry: Entry, args: &[clif::Value]) -> Option<clif::Value> {
        let (params, result) = entry.types();
        let all = [I64].into_iter().chain(params.iter().copied());
        let signature = if entry.is_preserving() {
            preserving(all)
        } else {
            managed(all, result)
        };
        let signature = self.signature(signature);
        let base = self.context();
        let flags = Self::plain().with_readonly();
        let table = self
            .b
            .ins()
            .load(I64, flags, base, machine_offset(machine_word::ENTRIES));
        let target = self.b.ins().load(I64, flags, table, entry as i32 * 8);
        let all: Vec<_> = [base].into_iter().chain(args.iter().copied()).collect();
        if entry.is_preserving() {
            let call = self.b.ins().call_indirect(signature, target, &all);
            if entry == Entry::Poll {
                self.facts.at_safepoint();
                self.keep_across(call);
            } else {
                self.references.add_quiet(call);
            }
            return None;
        }
        self.call(signature, target, &all)
    }

    fn types_of(&self, args: &[Reg]) -> Vec<clif::Type> {
        args.iter()
            .map(|&arg| machine_type(self.type_of(arg)))
            .collect()
    }

    fn values_of(&mut self, args: &[Reg]) -> Vec<clif::Value> {
        args.iter().map(|&arg| self.get(arg)).collect()
    }

    /// Calls the method whose record is at `method`.
    fn call_method(&mut self, method: clif::Value, dst: Option<Reg>, args: &[Reg]) {
        let result = self.result_type(dst);
        let value = self.call_for_value(method, result, args, None);
        if let (Some(dst), Some(value)) = (dst, value) {
            self.set(dst, value);
        }
    }

    fn jump_with(&mut self, next: clif::Block, value: Option<clif::Value>) {
        let value = value.map(BlockArg::from);
        self.b.ins().jump(next, value.as_slice());
    }

    pub(crate) fn result_type(&self, dst: Option<Reg>) -> Option<clif::Type> {
        dst.map(|dst| machine_type(self.type_of(dst)))
    }

    /// The value of a call, which is in no register yet.
    pub(crate) fn call_for_value(
        &mut self,
        method: clif::Value,
        result: Option<clif::Type>,
        args: &[Reg],
        extra: Option<clif::Value>,
    ) -> Option<clif::Value> {
        let mut types = self.types_of(args);
        let mut values = self.values_of(args);
        if let Some(extra) = extra {
            types.push(I32);
            values.push(extra);
        }
        let signature = self.signature(managed(types, result));
        let target = self
            .b
            .ins()
            .load(I64, Self::plain(), method, method_record::ENTRY);
        self.call(signature, target, &values)
    }

    pub(crate) fn invoke(&mut self, kind: InvokeKind, dst: Option<Reg>, index: u32, args: &[Reg]) {
        let link = self.linker.method(kind, index);
        if self.invoke_received((kind, index), link, dst, args) {
            return;
        }
        match link {
            MethodLink::Direct(method) => {
                if kind != InvokeKind::Static {
                    self.get_non_null(args[0]);
                }
                if self.inline(kind, dst, index, args) {
                    return;
                }
                let method = self.long_at(method);
                self.call_method(method, dst, args);
            }
            MethodLink::Intrinsic(Intrinsic::AllocateInstance(offset), method) => {
                self.get_non_null(args[0]);
                self.allocate_instance(offset, method, dst, args);
            }
            MethodLink::Intrinsic(intrinsic, method) => {
                if kind != InvokeKind::Static {
                    self.get_non_null(args[0]);
                }
                if !self.intrinsic(intrinsic, dst, args) {
                    let method = self.long_at(method);
                    self.call_method(method, dst, args);
                }
            }
            MethodLink::Virtual(_) if self.invoke_guessed(link, dst, index, args) => {}
            MethodLink::Virtual(_) | MethodLink::Interface { .. } => {
                if self.invoke_profiled((kind, index), link, dst, args) {
                    return;
                }
                let method = self.chosen(link, args[0]);
                self.call_method(method, dst, args);
            }
            MethodLink::Site(site) => self.invoke_site(kind, dst, site, args),
            MethodLink::Appending(site) => {
                self.get_non_null(args[0]);
                self.invoke_appending(dst, site, args);
            }
            MethodLink::InvokeBasic(layout) => {
                let handle = self.get_non_null(args[0]);
                let method = self.method_of_handle(handle, layout);
                self.call_method(method, dst, args);
            }
            MethodLink::LinkTo(kind, layout) => self.link_to(kind, layout, dst, args),
        }
    }

    /// Runs the body here that a virtual call is likely to have, if the receiver has it, and calls
    /// the receiver's method otherwise.
    fn invoke_guessed(
        &mut self,
        link: MethodLink,
        dst: Option<Reg>,
        index: u32,
        args: &[Reg],
    ) -> bool {
        let guess = self.warm().and_then(|heat| self.linker.guess(index, heat));
        let Some((expected, body)) = guess else {
            return false;
        };
        let method = self.chosen(link, args[0]);
        let expected = self.long_at(expected);
        let is_expected = self.b.ins().icmp(IntCC::Equal, method, expected);
        let result = self.result_type(dst);
        let otherwise = Otherwise::Method(method);
        let value = self.guarded((is_expected, otherwise), result, args, |lowering| {
            lowering.body(&body, result, args, None)
        });
        self.take_result(dst, value, false);
        true
    }

    /// Calls the callee that a receiver has whose class is known, or runs its body here. Of a
    /// likely class that is behind a test, with the usual call where it fails.
    fn invoke_received(
        &mut self,
        call: (InvokeKind, u32),
        link: MethodLink,
        dst: Option<Reg>,
        args: &[Reg],
    ) -> bool {
        let is_chosen = matches!(link, MethodLink::Virtual(_) | MethodLink::Interface { .. });
        if !is_chosen || self.memory.is_some() {
            return false;
        }
        let heat = self.heat();
        let (class, is_certain) = match self.known_of(args[0]) {
            Some(Known::Exactly(class)) => (Some(class), true),
            _ if heat == Heat::Cold => (None, false),
            Some(Known::Likely(class)) => (Some(class), false),
            Some(Known::FromField {
                scope,
                index,
                is_static,
            }) => (self.linker.field_class(scope, index, is_static), false),
            None => (None, false),
        };
        let Some(class) = class else {
            return false;
        };
        self.get_non_null(args[0]);
        let Some(received) = self.linker.received(call, class, heat) else {
            return false;
        };
        if !is_certain {
            self.run_likely(&received, class, link, dst, args);
            return true;
        }
        let result = self.result_type(dst);
        let value = self.run_received(&received, class, result, args);
        self.take_result(dst, value, true);
        true
    }

    /// A call's value goes to its register, with what is known of it.
    pub(crate) fn take_result(
        &mut self,
        dst: Option<Reg>,
        value: Option<clif::Value>,
        is_certain: bool,
    ) {
        let made = self.made.take();
        if let (Some(dst), Some(value)) = (dst, value) {
            self.set(dst, value);
        }
        self.note_result(made, is_certain);
    }

    /// What `likely` gives where the test holds, or else the call of another method. What is known
    /// of the first one's result is left.
    pub(crate) fn guarded(
        &mut self,
        (test, otherwise): (clif::Value, Otherwise),
        result: Option<clif::Type>,
        args: &[Reg],
        likely: impl FnOnce(&mut Self) -> Option<clif::Value>,
    ) -> Option<clif::Value> {
        let (hit, miss) = (self.b.create_block(), self.b.create_block());
        let next = self.b.create_block();
        if let Some(ty) = result {
            self.b.append_block_param(next, ty);
        }
        self.b.set_cold_block(miss);
        self.b.ins().brif(test, hit, &[], miss, &[]);
        self.b.switch_to_block(hit);
        self.b.seal_block(hit);
        let value = self.apart(likely);
        let made = self.made.take();
        self.jump_with(next, value.filter(|_| result.is_some()));
        self.b.switch_to_block(miss);
        self.b.seal_block(miss);
        let method = match otherwise {
            Otherwise::Method(method) => method,
            Otherwise::Chosen(link) => self.chosen(link, args[0]),
        };
        let value = self.call_for_value(method, result, args, None);
        self.jump_with(next, value);
        self.b.switch_to_block(next);
        self.b.seal_block(next);
        self.made = made;
        self.b.block_params(next).first().copied()
    }

    pub(crate) fn run_received(
        &mut self,
        received: &Received,
        class: Address,
        result: Option<clif::Type>,
        args: &[Reg],
    ) -> Option<clif::Value> {
        if let Some(body) = &received.body {
            return self.body(body, result, args, Some(Known::Exactly(class)));
        }
        let method = self.long_at(received.method);
        self.call_for_value(method, result, args, None)
    }

    /// The method that a receiver has for a virtual or interface call.
    fn chosen(&mut self, link: MethodLink, receiver: Reg) -> clif::Value {
        let receiver = self.get_non_null(receiver);
        match link {
            MethodLink::Virtual(offset) => {
                let class = self.class_of(receiver);
                self.b.ins().load(I64, Self::plain(), class, offset as i32)
            }
            MethodLink::Interface { id, place, method } => {
                self.by_interface(receiver, id, place, method)
            }
            _ => unreachable!("other calls choose nothing by the receiver"),
        }
    }

    pub(crate) fn invoke_dynamic(&mut self, dst: Option<Reg>, index: u32, args: &[Reg]) {
        let site = self.linker.call_site(index);
        self.invoke_appending(dst, site, args);
    }

    /// The method that `receiver` has for place `place` of interface `id`.
    fn by_interface(
        &mut self,
        receiver: clif::Value,
        id: Address,
        place: u32,
        method: Address,
    ) -> clif::Value {
        let class = self.class_of(receiver);
        let row = self.interface_row(class, id);
        let found = self
            .b
            .ins()
            .load(I32, Self::plain(), row, class_record::ROW_ID);
        let id = self.word_at(id);
        let is_there = self.b.ins().icmp(IntCC::Equal, found, id);
        let (fast, slow) = (self.b.create_block(), self.b.create_block());
        let next = self.b.create_block();
        self.b.append_block_param(next, I64);
        self.b.set_cold_block(slow);
        self.b.ins().brif(is_there, fast, &[], slow, &[]);
        self.b.switch_to_block(fast);
        self.b.seal_block(fast);
        let methods = self
            .b
            .ins()
            .load(I64, Self::plain(), row, class_record::ROW_METHODS);
        let found = self
            .b
            .ins()
            .load(I64, Self::plain(), methods, place as i32 * 8);
        self.b.ins().jump(next, &[found.into()]);
        self.b.switch_to_block(slow);
        self.b.seal_block(slow);
        let method = self.long_at(method);
        let class = self.class_of(receiver);
        let found = self
            .call_entry(Entry::SelectInterface, &[class, method])
            .expect("a method record");
        self.b.ins().jump(next, &[found.into()]);
        self.b.switch_to_block(next);
        self.b.seal_block(next);
        self.b.block_params(next)[0]
    }

    fn invoke_site(&mut self, kind: InvokeKind, dst: Option<Reg>, site: Address, args: &[Reg]) {
        let method = self.resolved(site);
        let method = match kind {
            InvokeKind::Static => method,
            InvokeKind::Special => {
                self.get_non_null(args[0]);
                method
            }
            InvokeKind::Virtual => self.by_vtable(args[0], method),
            InvokeKind::Interface => {
                let receiver = self.get_non_null(args[0]);
                let class = self.class_of(receiver);
                self.call_entry(Entry::SelectInterface, &[class, method])
                    .expect("a method record")
            }
        };
        self.call_method(method, dst, args);
    }

    /// The receiver's own version of a method that may be virtual or not.
    fn by_vtable(&mut self, receiver: Reg, method: clif::Value) -> clif::Value {
        let receiver = self.get_non_null(receiver);
        let flags = Self::plain();
        let offset = self
            .b
            .ins()
            .load(I32, flags, method, method_record::VTABLE_OFFSET);
        let (look, vtable) = (self.b.create_block(), self.b.create_block());
        let (ask, next) = (self.b.create_block(), self.b.create_block());
        self.b.append_block_param(next, I64);
        self.b.set_cold_block(ask);
        self.b.ins().brif(offset, look, &[], next, &[method.into()]);
        self.b.switch_to_block(look);
        self.b.seal_block(look);
        let asks = i64::from(method_record::VTABLE_ASK);
        let asks = self.b.ins().icmp_imm_s(IntCC::Equal, offset, asks);
        let class = self.class_of(receiver);
        self.b.ins().brif(asks, ask, &[], vtable, &[]);
        self.b.switch_to_block(ask);
        self.b.seal_block(ask);
        let found = self
            .call_entry(Entry::SelectInterface, &[class, method])
            .expect("a method record");
        self.b.ins().jump(next, &[found.into()]);
        self.b.switch_to_block(vtable);
        self.b.seal_block(vtable);
        let offset = self.b.ins().uextend(I64, offset);
        let at = self.b.ins().iadd(class, offset);
        let found = self.b.ins().load(I64, flags, at, 0);
        self.b.ins().jump(next, &[found.into()]);
        self.b.switch_to_block(next);
        self.b.seal_block(next);
        self.b.block_params(next)[0]
    }

    /// A call site linked by Java code: the appendix is passed unless null.
    fn invoke_appending(&mut self, dst: Option<Reg>, site: Address, args: &[Reg]) {
        let method = self.resolved(site);
        let at = self.long_at(site);
        let appendix = self
            .b
            .ins()
            .load(I32, Self::plain(), at, site_record::EXTRA);
        let (with, without) = (self.b.create_block(), self.b.create_block());
        let next = self.b.create_block();
        let result = self.result_type(dst);
        if let Some(ty) = result {
            self.b.append_block_param(next, ty);
        }
        self.b.ins().brif(appendix, with, &[], without, &[]);
        self.b.switch_to_block(with);
        self.b.seal_block(with);
        let value = self.call_for_value(method, result, args, Some(appendix));
        self.jump_with(next, value);
        self.b.switch_to_block(without);
        self.b.seal_block(without);
        let value = self.call_for_value(method, result, args, None);
        self.jump_with(next, value);
        self.b.switch_to_block(next);
        self.b.seal_block(next);
        if let Some(dst) = dst {
            let value = self.b.block_params(next)[0];
            self.set(dst, value);
        }
    }

    fn load_ref(&mut self, object: clif::Value, offset: u32) -> clif::Value {
        let at = self.address(object);
        self.b.ins().load(I32, Self::plain(), at, offset as i32)
    }

    fn load_long(&mut self, object: clif::Value, offset: u32) -> clif::Value {
        let at = self.address(object);
        self.b.ins().load(I64, Self::plain(), at, offset as i32)
    }

    fn method_of_handle(&mut self, handle: clif::Value, layout: HandleLayout) -> clif::Value {
        let form = self.load_ref(handle, layout.form);
        let member = self.load_ref(form, layout.vmentry);
        let resolved = self.load_ref(member, layout.method);
        self.load_long(resolved, layout.vmtarget)
    }

    fn link_to(&mut self, kind: InvokeKind, layout: HandleLayout, dst: Option<Reg>, args: &[Reg]) {
        let (&member, args) = args.split_last().expect("`linkTo` has a member");
        let member = self.get_non_null(member);
        let resolved = self.load_ref(member, layout.method);
        let target = self.load_long(resolved, layout.vmtarget);
        let method = match kind {
            InvokeKind::Static => target,
            InvokeKind::Special => {
                self.get_non_null(args[0]);
                target
            }
            InvokeKind::Virtual => self.by_vtable(args[0], target),
            InvokeKind::Interface => {
                let receiver = self.get_non_null(args[0]);
                let class = self.class_of(receiver);
                self.call_entry(Entry::SelectInterface, &[class, target])
                    .expect("a method record")
            }
        };
        debug_assert_eq!(header::REFERENCE_BYTES, 4);
        self.call_method(method, dst, args);
    }
}
