// SPDX-License-Identifier: Apache-2.0
//! From Java to native code: one bridge per native method.
//!
//! References become local references: their slots lie above the thread's mark
//! of local references, which falls back when the native method returns.

use abi::context;
use abi::object::LOCK_OFFSET;
use cranelift_codegen::ir::{
    self as clif, InstBuilder, MemFlagsData, TrapCode,
    condcodes::IntCC,
    types::{I8, I16, I32, I64},
};
use cranelift_frontend::FunctionBuilder;
use ir::MemoryKind;

use crate::{
    Address, CompileError, CompiledCode, Compiler, Entry, NativeMethod,
    call::machine_offset,
    code::{address_value, foreign, managed},
    lower::machine_type,
    record::{lock_word, machine_word, method_record},
    safepoint::References,
};

/// Bytes from one local reference's slot to the next.
const LOCAL_BYTES: i32 = 8;

fn plain() -> MemFlagsData {
    MemFlagsData::trusted()
}

impl Compiler {
    /// The managed code of a native method.
    pub fn native(&mut self, native: &NativeMethod) -> Result<CompiledCode, CompileError> {
        let receiver = native.class.is_none().then_some(I32);
        let kinds = native.parameters.iter();
        let params = receiver
            .into_iter()
            .chain(kinds.map(|kind| machine_type(kind.register_type())));
        let result = native.result.map(|kind| machine_type(kind.register_type()));
        self.compile(managed(params, result), |b, references| {
            if native.is_identity_hash {
                identity_hash(b);
            } else {
                bridge(b, references, native);
            }
        })
    }
}

/// The hash is read where it lies, and made by the machine if it does not yet. Null has 0.
fn identity_hash(b: &mut FunctionBuilder<'_>) {
    let entry = b.create_block();
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    let object = b.block_params(entry)[0];
    let [some, here, make, null] = core::array::from_fn(|_| b.create_block());
    b.ins().brif(object, some, &[], null, &[]);
    b.switch_to_block(some);
    let at = b.ins().uextend(I64, object);
    let word = b.ins().load(I32, plain(), at, LOCK_OFFSET as i32);
    let tag = b.ins().band_imm_u(word, i64::from(lock_word::TAG));
    let is_hash = b
        .ins()
        .icmp_imm_u(IntCC::Equal, tag, i64::from(lock_word::HASH));
    b.ins().brif(is_hash, here, &[], make, &[]);
    b.switch_to_block(here);
    let hash = b.ins().band_imm_u(word, i64::from(!lock_word::TAG));
    b.ins().return_(&[hash]);
    b.switch_to_block(make);
    let hash = call_entry(b, Entry::IdentityHash, &[object]);
    b.ins().return_(hash.as_slice());
    b.switch_to_block(null);
    let zero = b.ins().iconst(I32, 0);
    b.ins().return_(&[zero]);
}

fn bridge(b: &mut FunctionBuilder<'_>, kept: &mut References, native: &NativeMethod) {
    let entry = b.create_block();
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    let params = b.block_params(entry).to_vec();
    let base = b.ins().get_pinned_reg(I64);
    let holder = match native.class {
        Some(class) => class_object(b, class),
        None => params[0],
    };
    add_references(kept, native, holder, &params);
    check_room(b, base, native);
    if native.is_synchronized {
        call_entry(b, Entry::MonitorEnter, &[holder]);
    }
    let function = bound_function(b, native.method);
    let mark = b
        .ins()
        .load(I64, plain(), base, machine_offset(machine_word::LOCALS_TOP));
    let mut locals = Locals { mark, count: 0 };
    let mut args = vec![
        b.ins()
            .iadd_imm_s(base, i64::from(machine_offset(machine_word::JNI_TABLE))),
    ];
    args.extend(references(b, native, &mut locals, holder, &params));
    let top = b
        .ins()
        .iadd_imm_s(mark, i64::from(locals.count * LOCAL_BYTES));
    b.ins()
        .store(plain(), top, base, machine_offset(machine_word::LOCALS_TOP));
    leave(b, base, native.method);
    call_entry(b, Entry::EnterNative, &[]);
    let types: Vec<_> = args.iter().map(|&arg| b.func.dfg.value_type(arg)).collect();
    let result = native.result.map(|kind| match kind {
        MemoryKind::Ref => I64,
        _ => machine_type(kind.register_type()),
    });
    let signature = b.import_signature(foreign(types, result));
    let call = b.ins().call_indirect(signature, function, &args);
    let raw = b.inst_results(call).first().copied();
    call_entry(b, Entry::LeaveNative, &[]);
    let value = raw
        .zip(native.result)
        .map(|(raw, kind)| result_of(b, raw, kind));
    b.ins().store(
        plain(),
        mark,
        base,
        machine_offset(machine_word::LOCALS_TOP),
    );
    if let (Some(value), Some(MemoryKind::Ref)) = (value, native.result) {
        kept.add(value);
    }
    if native.is_synchronized {
        call_entry(b, Entry::MonitorExit, &[holder]);
    }
    throw_pending(b, base);
    b.ins().return_(value.as_slice());
}

/// Throws unless there is room for the call's local references: recursion through native methods
/// ends there.
fn check_room(b: &mut FunctionBuilder<'_>, base: clif::Value, native: &NativeMethod) {
    let is_ref = |kind: &&MemoryKind| **kind == MemoryKind::Ref;
    let parameters = native.parameters.iter().filter(is_ref).count();
    let count = 1 + usize::from(native.is_synchronized) + parameters;
    let [top, limit] = [machine_word::LOCALS_TOP, machine_word::LOCALS_LIMIT]
        .map(|word| b.ins().load(I64, plain(), base, machine_offset(word)));
    let needed = b
        .ins()
        .iadd_imm_s(top, count as i64 * i64::from(LOCAL_BYTES));
    let is_full = b.ins().icmp(IntCC::UnsignedGreaterThan, needed, limit);
    let (cold, next) = (b.create_block(), b.create_block());
    b.set_cold_block(cold);
    b.ins().brif(is_full, cold, &[], next, &[]);
    b.switch_to_block(cold);
    call_entry(b, Entry::ThrowLocalsFull, &[]);
    b.ins().trap(TrapCode::unwrap_user(1));
    b.switch_to_block(next);
}

/// What a native method gets behind the environment, references in slots.
fn references(
    b: &mut FunctionBuilder<'_>,
    native: &NativeMethod,
    locals: &mut Locals,
    holder: clif::Value,
    params: &[clif::Value],
) -> Vec<clif::Value> {
    let mut args = vec![locals.push(b, holder)];
    if native.is_synchronized {
        // Native code may delete what it was given; this one is to be unlocked.
        locals.push(b, holder);
    }
    let behind = usize::from(native.class.is_none());
    for (&param, kind) in params[behind..].iter().zip(&native.parameters) {
        args.push(if *kind == MemoryKind::Ref {
            locals.push(b, param)
        } else {
            param
        });
    }
    args
}

fn class_object(b: &mut FunctionBuilder<'_>, class: Address) -> clif::Value {
    let class = address_value(b, class);
    b.ins().ireduce(I32, class)
}

fn add_references(
    kept: &mut References,
    native: &NativeMethod,
    holder: clif::Value,
    params: &[clif::Value],
) {
    kept.add(holder);
    for (&param, kind) in params.iter().rev().zip(native.parameters.iter().rev()) {
        if *kind == MemoryKind::Ref {
            kept.add(param);
        }
    }
}

/// The slots taken for one call.
struct Locals {
    mark: clif::Value,
    count: i32,
}

impl Locals {
    /// A local reference for `object`: null for null.
    fn push(&mut self, b: &mut FunctionBuilder<'_>, object: clif::Value) -> clif::Value {
        let offset = self.count * LOCAL_BYTES;
        self.count += 1;
        b.ins().store(plain(), object, self.mark, offset);
        let at = b.ins().iadd_imm_s(self.mark, i64::from(offset));
        let null = b.ins().iconst(I64, 0);
        let is_null = b.ins().icmp_imm_s(IntCC::Equal, object, 0);
        b.ins().select(is_null, null, at)
    }
}

fn bound_function(b: &mut FunctionBuilder<'_>, method: Address) -> clif::Value {
    let at = address_value(b, method);
    let function = b.ins().load(I64, plain(), at, method_record::NATIVE);
    let (cold, next) = (b.create_block(), b.create_block());
    b.append_block_param(next, I64);
    b.set_cold_block(cold);
    b.ins().brif(function, next, &[function.into()], cold, &[]);
    b.switch_to_block(cold);
    let found = call_entry(b, Entry::BindNative, &[at]).expect("a function");
    b.ins().jump(next, &[found.into()]);
    b.switch_to_block(next);
    b.block_params(next)[0]
}

/// Remembers where managed code was left.
fn leave(b: &mut FunctionBuilder<'_>, base: clif::Value, method: Address) {
    let frame = b.ins().get_frame_pointer(I64);
    b.ins().store(plain(), frame, base, context::LAST_FRAME);
    let method = address_value(b, method);
    b.ins().store(
        plain(),
        method,
        base,
        machine_offset(machine_word::LAST_METHOD),
    );
}

/// Native code may leave anything in the high bits of a small value.
fn result_of(b: &mut FunctionBuilder<'_>, raw: clif::Value, kind: MemoryKind) -> clif::Value {
    match kind {
        MemoryKind::Boolean => {
            let low = b.ins().band_imm_u(raw, 0xff);
            let is_true = b.ins().icmp_imm_s(IntCC::NotEqual, low, 0);
            b.ins().uextend(I32, is_true)
        }
        MemoryKind::Byte => {
            let low = b.ins().ireduce(I8, raw);
            b.ins().sextend(I32, low)
        }
        MemoryKind::Short => {
            let low = b.ins().ireduce(I16, raw);
            b.ins().sextend(I32, low)
        }
        MemoryKind::Char => {
            let low = b.ins().ireduce(I16, raw);
            b.ins().uextend(I32, low)
        }
        MemoryKind::Ref => {
            let (some, next) = (b.create_block(), b.create_block());
            b.append_block_param(next, I32);
            let null = b.ins().iconst(I32, 0);
            b.ins().brif(raw, some, &[], next, &[null.into()]);
            b.switch_to_block(some);
            let object = call_entry(b, Entry::ObjectOf, &[raw]).expect("an object");
            b.ins().jump(next, &[object.into()]);
            b.switch_to_block(next);
            b.block_params(next)[0]
        }
        _ => raw,
    }
}

fn throw_pending(b: &mut FunctionBuilder<'_>, base: clif::Value) {
    let pending = b.ins().load(I32, plain(), base, context::EXCEPTION);
    let (cold, next) = (b.create_block(), b.create_block());
    b.set_cold_block(cold);
    b.ins().brif(pending, cold, &[], next, &[]);
    b.switch_to_block(cold);
    call_entry(b, Entry::ThrowPending, &[]);
    b.ins().trap(TrapCode::unwrap_user(1));
    b.switch_to_block(next);
}

fn call_entry(
    b: &mut FunctionBuilder<'_>,
    entry: Entry,
    args: &[clif::Value],
) -> Option<clif::Value> {
    let (params, result) = entry.types();
    let signature = managed([I64].into_iter().chain(params.iter().copied()), result);
    let signature = b.import_signature(signature);
    let base = b.ins().get_pinned_reg(I64);
    let table = b
        .ins()
        .load(I64, plain(), base, machine_offset(machine_word::ENTRIES));
    let target = b.ins().load(I64, plain(), table, entry as i32 * 8);
    let all: Vec<_> = [base].into_iter().chain(args.iter().copied()).collect();
    let call = b.ins().call_indirect(signature, target, &all);
    b.inst_results(call).first().copied()
}
