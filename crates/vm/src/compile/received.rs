// SPDX-License-Identifier: Apache-2.0
//! Callees of receivers whose class is known or likely, for [`Cx`].
//!
//! A class is known where the object is made. It is likely where a field holds it: of all classes
//! whose objects the constructors of the field's own class put there, the only one. That is a
//! heuristic, found in the IR of the constructors once for each field.

use std::collections::HashMap;

use compiler::{Address, Received};
use ir::{Function, InvokeKind, Op, Reg};

use crate::classes::class::{Class, Field, Method};
use crate::code::question::{Answer, Call, Form, Question};
use crate::compile::answers::Cx;
use crate::compile::bodies::{Wanted, is_plain};
use crate::link::resolve::{self, OnlyLoaded};
use crate::link::tables;
use crate::options::{self, Inlining};
use crate::sync::lock::Lock;

/// Bytes of a constructor beyond which nobody looks for what it puts into fields.
const CONSTRUCTOR_BYTES_MAX: usize = 2_000;
/// Classes are numbered by 16 bits in questions.
const NUMBERS: u32 = 1 << 16;

/// By a field's address: the class of what it holds, if one alone was found. Fields stay as long
/// as the machine.
static FIELDS: Lock<Option<HashMap<usize, Option<&'static Class>>>> = Lock::new(None);

impl Cx<'_> {
    /// The likely class of a field's objects. The constant is of body `scope`.
    pub(super) fn class_of_field(
        &mut self,
        scope: u16,
        index: u32,
        is_static: bool,
    ) -> Option<Address> {
        if self.is_closed() || options::get().inlining < Inlining::Received {
            return None;
        }
        let here = self.scope;
        self.go_to(scope);
        let is_found = self.find_class(index, is_static).is_some();
        let question = match is_static {
            true => Question::StaticFieldClass(index),
            false => Question::FieldClass(index),
        };
        let answer = is_found.then(|| self.ask(question));
        self.go_to(here);
        match answer? {
            Answer::Address(class) => Some(class),
            _ => None,
        }
    }

    /// The answer to a question about that class.
    pub(super) fn likely_class(&mut self, index: u32, is_static: bool) -> Answer {
        match self.find_class(index, is_static) {
            Some(class) => Answer::Address(self.class_number(class)),
            None => Answer::Nothing,
        }
    }

    fn find_class(&self, index: u32, is_static: bool) -> Option<&'static Class> {
        let found = resolve::field_at(OnlyLoaded, self.class, index as u16, is_static);
        let (holder, field) = found.ok()?;
        let class = class_of_objects(holder, field)?;
        self.is_ready(class).then_some(class)
    }

    /// Enters the body of the method that a receiver of a class has, or says which one to call.
    pub(super) fn enter_received(&mut self, wanted: Wanted, class: Address) -> Option<Received> {
        let is_usable = class.0 < NUMBERS && wanted.index < NUMBERS;
        if self.is_closed() || !is_usable || options::get().inlining < Inlining::Received {
            return None;
        }
        let call = match wanted.kind {
            InvokeKind::Virtual => Call::Virtual,
            InvokeKind::Interface => Call::Interface,
            _ => return None,
        };
        let (index, class) = (wanted.index as u16, class.0 as u16);
        let callee = self.received_callee(call, wanted.index, class)?;
        let question = |form| Question::Received(call, index, class, form);
        let straight = |cx: &mut Self| Some((Form::Straight, cx.straight(callee, 0)?));
        let whole = |cx: &mut Self| Some((Form::Whole, cx.whole(callee, wanted.heat)?));
        let found = match is_plain(callee) {
            true => straight(self).or_else(|| whole(self)),
            false => None,
        };
        let Some((form, found)) = found else {
            let Answer::Address(method) = self.ask(question(Form::Direct)) else {
                return None;
            };
            return Some(Received { method, body: None });
        };
        let body = self.entered(question(form), found);
        let method = self.last_number();
        Some(Received {
            method,
            body: Some(body),
        })
    }

    /// The answer that names the method to call.
    pub(super) fn received_directly(&mut self, call: Call, index: u16, class: u16) -> Answer {
        match self.received_callee(call, index.into(), class) {
            Some(callee) => Answer::Address(self.number(callee.address())),
            None => Answer::Nothing,
        }
    }

    /// What a receiver of the class with this number runs; nothing if that is an error.
    pub(super) fn received_callee(
        &self,
        call: Call,
        index: u32,
        class: u16,
    ) -> Option<&'static Method> {
        let class = self.numbered_class(class.into())?;
        let kind = match call {
            Call::Virtual => InvokeKind::Virtual,
            Call::Interface => InvokeKind::Interface,
        };
        let named = resolve::method_at(OnlyLoaded, self.class, index as u16, kind).ok()?;
        let is_usual = !named.flags.is_signature_polymorphic && class.is_subtype_of(named.class());
        if !is_usual {
            return None;
        }
        let callee = match named.vtable_offset() {
            Some(offset) => Some(class.vtable_entry(offset)),
            None if named.class().is_interface() => tables::selected_method(class, named),
            None => None,
        };
        callee.filter(|it| !it.is_abstract())
    }
}

/// What the constructors of a field's class put there, or its initialiser: the only class of
/// objects that they make for it.
fn class_of_objects(holder: &'static Class, field: &'static Field) -> Option<&'static Class> {
    let key = core::ptr::from_ref(field).addr();
    if let Some(&known) = FIELDS.lock().get_or_insert_default().get(&key) {
        return known;
    }
    let name = match field.is_static() {
        true => "<clinit>",
        false => "<init>",
    };
    let mut found = None;
    for &method in &holder.info.methods {
        let is_short = || method.is_shorter_than(CONSTRUCTOR_BYTES_MAX);
        if !method.name.is(name) || !is_short() {
            continue;
        }
        let Ok(function) = method.translate() else {
            continue;
        };
        for index in made_for(holder, field, &function) {
            // Nothing is remembered of classes that are not there yet.
            let class = resolve::class_at(OnlyLoaded, holder, index as u16).ok()?;
            let is_other = |it: &'static Class| !core::ptr::eq(it, class);
            if found.replace(class).is_some_and(is_other) {
                FIELDS.lock().get_or_insert_default().insert(key, None);
                return None;
            }
        }
    }
    FIELDS.lock().get_or_insert_default().insert(key, found);
    found
}

/// The constants of the classes whose new objects a function puts into a field.
fn made_for(holder: &'static Class, field: &'static Field, function: &Function) -> Vec<u32> {
    let mut all = Vec::new();
    for block in &function.blocks {
        for (place, inst) in block.insts.iter().enumerate() {
            let (Op::PutField { src, index, .. } | Op::PutStatic { src, index, .. }) = inst.op
            else {
                continue;
            };
            let named = resolve::field_at(OnlyLoaded, holder, index as u16, field.is_static());
            if named.is_ok_and(|(_, named)| core::ptr::eq(named, field)) {
                all.extend(made(&block.insts[..place], src));
            }
        }
    }
    all
}

/// The class of the object that the last write of a register made.
fn made(insts: &[ir::Inst], mut reg: Reg) -> Option<u32> {
    for inst in insts.iter().rev() {
        match inst.op {
            Op::New { dst, index } if dst == reg => return Some(index),
            Op::Move { dst, src } if dst == reg => reg = src,
            ref op if op.written() == Some(reg) => return None,
            _ => {}
        }
    }
    None
}
