// SPDX-License-Identifier: Apache-2.0
//! Whether nobody can see that a class is initialised early.
//!
//! So it is where its initialiser, and those it would run before its own, only compute from
//! constants and write to their own statics and to objects that they have made: tables,
//! enumerations, instances of plain classes. An initialiser that calls something else, reads
//! another class's variables or may divide by zero is left for its time.

use ir::{BinaryOp, InvokeKind, LoadedConstant, Op};

use crate::classes::class::{Class, Method};
use crate::classes::library::Library;
use crate::link::resolve::{self, OnlyLoaded};
use crate::memory::symbol::Symbol;

/// Calls within calls that are looked into.
const DEPTH_MAX: u32 = 6;

/// Whether to initialise `class` now has no effect that a program could see. Loads nothing.
pub(super) fn is_unseen(class: &'static Class) -> bool {
    let parents = class.super_class().into_iter();
    let interfaces = class.info.all_interfaces.iter().copied();
    let before = parents
        .chain(interfaces.filter(|interface| !class.is_interface() && has_default(interface)));
    before.chain([class]).all(|one| {
        one.is_initialized()
            || (core::ptr::eq(one, class) || is_unseen(one)) && has_unseen_initializer(one)
    })
}

fn has_default(interface: &'static Class) -> bool {
    let methods = &interface.info.methods;
    methods.iter().any(|m| !m.is_abstract() && !m.is_static())
}

fn has_unseen_initializer(class: &'static Class) -> bool {
    let initializer = class.declared_method(Symbol::new(b"<clinit>"), Symbol::new(b"()V"));
    initializer.is_none_or(|method| is_closed(class, method, 0))
}

/// Whether `method` touches nothing but what belongs to `class` and what it makes.
fn is_closed(class: &'static Class, method: &'static Method, depth: u32) -> bool {
    if depth > DEPTH_MAX || method.is_native() || method.is_abstract() {
        return false;
    }
    let Ok(function) = method.translate() else {
        return false;
    };
    let mut ops = function.blocks.iter().flat_map(|block| &block.insts);
    ops.all(|inst| is_closed_op(class, method.class(), &inst.op, depth))
}

/// `class`: whose initialiser it is; `own`: whose constants the indices name.
fn is_closed_op(class: &'static Class, own: &'static Class, op: &Op, depth: u32) -> bool {
    match *op {
        Op::Binary { op, .. } => !matches!(op, BinaryOp::Div | BinaryOp::Rem),
        Op::Load { constant, .. } => constant == LoadedConstant::String,
        Op::GetStatic { index, .. } | Op::PutStatic { index, .. } => {
            let field = resolve::field_at(OnlyLoaded, own, index as u16, true).ok();
            field.is_some_and(|(holder, _)| core::ptr::eq(holder, class))
        }
        Op::New { index, .. } => {
            let made = resolve::class_at(OnlyLoaded, own, index as u16).ok();
            made.is_some_and(|made| {
                (core::ptr::eq(made, class) || made.is_initialized()) && !made.has_finalizer()
            })
        }
        Op::Invoke { kind, index, .. } => {
            let callee = resolve::method_at(OnlyLoaded, own, index as u16, kind).ok();
            callee.is_some_and(|callee| is_closed_call(class, callee, kind, depth))
        }
        Op::InvokeDynamic { .. }
        | Op::MonitorEnter { .. }
        | Op::MonitorExit { .. }
        | Op::LockNoted { .. }
        | Op::CheckCast { .. }
        | Op::CheckReceiver { .. }
        | Op::Throw { .. } => false,
        _ => true,
    }
}

fn is_closed_call(
    class: &'static Class,
    callee: &'static Method,
    kind: InvokeKind,
    depth: u32,
) -> bool {
    if callee.name.is("desiredAssertionStatus") && callee.class().is(Library::Class) {
        return true;
    }
    let holder = callee.class();
    let is_there = core::ptr::eq(holder, class) || holder.is_initialized();
    let is_certain = matches!(kind, InvokeKind::Static | InvokeKind::Special);
    is_there && is_certain && is_closed(class, callee, depth + 1)
}
