// SPDX-License-Identifier: Apache-2.0
//! Which callees' bodies stand in place of their calls, for [`Cx`].
//!
//! A straight body is taken whenever there is one. A whole one may throw and call, and costs code
//! and time, so there are limits on it. All of them are heuristics: code rests on the bodies that
//! it holds, and never on one that it does not.

use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};

use classfile::access;
use compiler::{Address, Body, Heat, Linker};
use ir::{InvokeKind, Op};

use crate::classes::class::{Class, Method};
use crate::classes::library::Library;
use crate::classes::write::Write;
use crate::code::question::{Answer, Form, Question};
use crate::compile::answers::{Cx, Mode, is_only_callee};
use crate::compile::intrinsics;
use crate::link::resolve::{self, OnlyLoaded};

use crate::options::{self, Inlining};

/// Bytes of code beyond which no straight body is looked into.
const STRAIGHT_BYTES_MAX: usize = 32;
/// Constructors call constructors.
const STRAIGHT_DEPTH_MAX: u32 = 4;
/// Bodies in one method.
const SCOPES_MAX: usize = 200;
/// Bytes that a whole body has not: about C1's limit.
const WHOLE_BYTES: usize = 36;
/// The same outside loops while a caller waits, unless it makes an object.
const WHOLE_BYTES_AWAITED: usize = 24;
/// The same in loops, and of a method that calls itself, by how many bodies it lies in.
const WHOLE_BYTES_IN_LOOP: [usize; 3] = [100, 100, 48];
/// The same of a guessed receiver's method outside loops: the usual call stands beside its body.
/// While a caller waits it has to make an object as well.
const GUESSED_BYTES: usize = 16;
/// The same where most of the room is used: a body that is hardly more than its call.
const TINY_BYTES: usize = 20;
/// Whole bodies inside each other; beyond the first number, tiny ones.
const WHOLE_DEPTH: usize = 4;
const WHOLE_DEPTH_MAX: usize = 6;
/// Bytes of all whole bodies in one method but tiny ones.
const WHOLE_BYTES_MAX: usize = 1_000;
/// Blocks of a whole body.
const WHOLE_BLOCKS_MAX: usize = 40;

const _: () = assert!(SCOPES_MAX < compiler::SCOPES_MAX as usize);

/// Whole bodies in code that was compiled.
pub(crate) static WHOLE: AtomicU32 = AtomicU32::new(0);

/// A call whose callee's body is wanted.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    pub(super) kind: InvokeKind,
    pub(super) index: u32,
    pub(super) heat: Heat,
}

type Found = (&'static Method, Rc<ir::Function>);

impl Cx<'_> {
    /// Enters the body of a call with one possible callee.
    pub(super) fn enter_body(&mut self, wanted: Wanted) -> Option<Body> {
        let Wanted { kind, index, .. } = wanted;
        if self.is_closed() {
            return None;
        }
        let callee = callee_of(self.class, kind, index)?;
        if let Some(found) = self.straight(callee, 0) {
            return Some(self.entered(Question::Inline(kind, index), found));
        }
        let found = self.whole(callee, wanted.heat)?;
        Some(self.entered(Question::Whole(kind, index), found))
    }

    /// Enters the body of the method that a virtual call names, if no loaded class overrides it.
    pub(super) fn enter_likely(&mut self, index: u32, heat: Heat) -> Option<(Address, Body)> {
        if self.is_closed() || options::get().inlining < Inlining::Guessed {
            return None;
        }
        let callee = likely_callee(self.class, index).filter(|callee| !callee.is_overridden())?;
        let (question, found) = match self.straight(callee, 0) {
            Some(found) => (Question::Guess(index), found),
            None if heat == Heat::Usual && !callee.is_shorter_than(GUESSED_BYTES) => return None,
            None if heat == Heat::Usual && !self.is_worth_its_time(callee, 0) => return None,
            None => (Question::WholeGuess(index), self.whole(callee, heat)?),
        };
        let body = self.entered(question, found);
        Some((self.last_number(), body))
    }

    /// Whether a callee's whole body outside loops is worth its time. While a caller waits, it has
    /// to be shorter than this, or to make an object: where nobody else sees that, it is not made.
    /// Such code may be linked again; a real-time thread's stays, and what is made ahead has time.
    fn is_worth_its_time(&mut self, callee: &'static Method, awaited_max: usize) -> bool {
        let is_awaited = !self.is_profiled && !self.is_quiet && self.mode == Mode::AsIs;
        if !is_awaited || callee.is_shorter_than(awaited_max) {
            return true;
        }
        let makes_object = |op: &Op| matches!(op, Op::New { .. });
        let function = self.translated(callee);
        function.is_some_and(|it| compiler::usual_ops(&it).any(makes_object))
    }

    pub(super) fn leave_body(&mut self) {
        let caller = self.callers.pop().expect("`enter` comes first");
        self.go_to(caller);
    }

    /// The body that stood in place of a call once, if it may stand there now.
    pub(super) fn body_again(&mut self, question: Question) -> Option<Answer> {
        let (class, index) = (self.class, question.index());
        let callee = match question {
            Question::Inline(kind, _) => callee_of(class, kind, index),
            Question::Whole(kind, _) => callee_of(class, kind, index).filter(|it| self.may_be(it)),
            Question::Guess(_) => likely_callee(class, index),
            Question::Received(call, _, class, form) => self
                .received_callee(call, index, class)
                .filter(|it| is_plain(it) && (form == Form::Straight || self.may_be(it))),
            _ => likely_callee(class, index).filter(|it| self.may_be(it)),
        };
        let callee = callee.filter(|callee| self.is_started(question, callee))?;
        Some(self.open(question, callee))
    }

    /// No body is entered any more.
    pub(super) fn is_closed(&self) -> bool {
        self.mode == Mode::Sites || self.scopes.len() >= SCOPES_MAX
    }

    /// Statics are called when their class is initialised, and code asks for that otherwise.
    fn is_started(&self, question: Question, callee: &'static Method) -> bool {
        let is_static = matches!(
            question,
            Question::Inline(InvokeKind::Static, _) | Question::Whole(InvokeKind::Static, _)
        );
        !is_static || self.is_ready(callee.class())
    }

    pub(super) fn entered(&mut self, question: Question, (callee, function): Found) -> Body {
        let answer = self.open(question, callee);
        self.note(question, answer);
        self.callers.push(self.scope);
        let scope = self.scopes.len() as u16 - 1;
        self.go_to(scope);
        let is_straight = matches!(
            question,
            Question::Inline(..) | Question::Guess(_) | Question::Received(_, _, _, Form::Straight)
        );
        WHOLE.fetch_add(u32::from(!is_straight), Ordering::Relaxed);
        Body {
            scope,
            function,
            is_straight,
        }
    }

    /// Opens a scope for an inlined callee.
    fn open(&mut self, question: Question, callee: &'static Method) -> Answer {
        self.scopes.push(callee);
        let (content, index) = (callee.class().content(), callee.index as u32);
        match question {
            Question::Guess(_) | Question::WholeGuess(_) | Question::Received(..) => {
                Answer::Likely(content, index, self.number(callee.address()))
            }
            _ => Answer::Body(content, index),
        }
    }

    /// The body of a callee, if it cannot throw, call or loop.
    pub(super) fn straight(&mut self, callee: &'static Method, depth: u32) -> Option<Found> {
        if depth > STRAIGHT_DEPTH_MAX || !callee.is_shorter_than(STRAIGHT_BYTES_MAX) {
            return None;
        }
        if callee.is_static() && !self.is_ready(callee.class()) {
            return None;
        }
        let function = self.translated(callee)?;
        let holder = callee.class();
        let body = compiler::inlinable(&function)?;
        let all_fit = body.into_iter().all(|op| match *op {
            Op::GetField { index, .. } => {
                resolve::field_at(OnlyLoaded, holder, index as u16, false).is_ok()
            }
            Op::PutField { index, .. } => {
                let write = Write::by(callee, false);
                resolve::field_at(OnlyLoaded, holder, index as u16, false)
                    .is_ok_and(|(owner, field)| write.is_allowed(holder, owner, field))
            }
            Op::Invoke { kind, index, .. } => callee_of(holder, kind, index)
                .is_some_and(|callee| self.straight(callee, depth + 1).is_some()),
            _ => true,
        });
        all_fit.then_some((callee, function))
    }

    /// How long a callee's whole body may not be.
    fn whole_max(&self, callee: &'static Method, heat: Heat) -> Option<usize> {
        let depth = self.callers.len();
        let usual = match depth < WHOLE_DEPTH {
            true => WHOLE_BYTES,
            false => TINY_BYTES,
        };
        match heat {
            Heat::Cold => None,
            // Most strings have no such characters.
            _ if callee.class().info.file.name == b"java/lang/StringUTF16" => Some(usual),
            Heat::Usual => Some(usual),
            Heat::Loop => Some(WHOLE_BYTES_IN_LOOP.get(depth).copied().unwrap_or(usual)),
        }
    }

    /// The body of a callee that may throw and call, within the limits.
    pub(super) fn whole(&mut self, callee: &'static Method, heat: Heat) -> Option<Found> {
        // A recursion is a loop as well.
        let heat = match heat {
            Heat::Usual if core::ptr::eq(callee, self.method) => Heat::Loop,
            heat => heat,
        };
        let bytes_max = self.whole_max(callee, heat)?;
        let bytes = callee.code_bytes()?;
        if options::get().inlining < Inlining::Direct
            || bytes >= bytes_max
            || self.callers.len() >= WHOLE_DEPTH_MAX
            || self.whole_bytes + bytes > WHOLE_BYTES_MAX && bytes >= TINY_BYTES
            || self.is_open(callee)
            || !self.may_be(callee)
            || self.runs_once()
            || heat == Heat::Usual && !self.is_worth_its_time(callee, WHOLE_BYTES_AWAITED)
        {
            return None;
        }
        let function = self.translated(callee)?;
        if function.blocks.len() > WHOLE_BLOCKS_MAX
            || !compiler::is_whole(&function)
            || !compiler::usual_ops(&function).all(|op| self.is_warm(callee, op))
            || self.counts_in_loop(callee, &function)
        {
            return None;
        }
        self.whole_bytes += bytes;
        Some((callee, function))
    }

    /// Whether what an instruction names is there by now. A body with sites is better called: its
    /// method may be linked again, and a loop that holds the body may not (`again`).
    fn is_warm(&self, callee: &'static Method, op: &Op) -> bool {
        let class = callee.class();
        let field = |index: u32, is_static| {
            let found = resolve::field_at(OnlyLoaded, class, index as u16, is_static);
            found.is_ok_and(|(holder, _)| !is_static || self.is_ready(holder))
        };
        let named = |index: u32| resolve::class_at(OnlyLoaded, class, index as u16).ok();
        match *op {
            Op::GetField { index, .. } | Op::PutField { index, .. } => field(index, false),
            Op::GetStatic { index, .. } | Op::PutStatic { index, .. } => field(index, true),
            Op::New { index, .. } => named(index).is_some_and(|it| self.is_ready(it)),
            Op::NewArray { index, .. }
            | Op::CheckCast { index, .. }
            | Op::InstanceOf { index, .. } => named(index).is_some(),
            Op::Invoke { kind, index, .. } => {
                let method = resolve::method_at(OnlyLoaded, class, index as u16, kind).ok();
                method.is_some_and(|it| kind != InvokeKind::Static || self.is_ready(it.class()))
            }
            _ => true,
        }
    }

    /// Whether a body has a loop that counts receivers: its method is linked again as soon as they
    /// are known, and a loop that holds the body may not be. A real-time thread's code stays.
    fn counts_in_loop(&self, callee: &'static Method, function: &ir::Function) -> bool {
        let class = callee.class();
        let counts = |op: &Op| match *op {
            Op::Invoke { kind, index, .. } => self.is_worth_counting(class, (kind, index)),
            _ => false,
        };
        let profiles = options::get().inlining == Inlining::Profiled;
        let may_be_told = profiles && !self.is_profiled && !self.is_quiet;
        may_be_told && compiler::looped_ops(function).any(counts)
    }

    /// Whether the callee's body stands in itself already. Once it may: most calls of a recursion
    /// are its last ones.
    fn is_open(&self, callee: &'static Method) -> bool {
        let is_it = |&scope: &u16| core::ptr::eq(self.scopes[usize::from(scope)], callee);
        self.callers.iter().any(is_it)
    }

    /// Whether a callee's whole body may stand in another frame: it is proven, nobody looks for its
    /// own frame, and no frame is looked for that holds it.
    pub(super) fn may_be(&self, callee: &'static Method) -> bool {
        let is_apart = |method: &Method| {
            method.flags.is_caller_sensitive
                || method.flags.is_form
                || method.class().is(Library::AccessController)
        };
        self.is_ready(callee.class()) && !is_apart(callee) && !is_apart(self.scopes[0])
    }

    fn translated(&mut self, callee: &'static Method) -> Option<Rc<ir::Function>> {
        let known = self.translated.entry(callee.address());
        let known = known.or_insert_with(|| callee.translate().ok().map(Rc::new));
        known.clone()
    }
}

/// The only callee of a call, if its code may be looked into.
fn callee_of(class: &'static Class, kind: InvokeKind, index: u32) -> Option<&'static Method> {
    let callee = resolve::method_at(OnlyLoaded, class, index as u16, kind).ok()?;
    (is_plain(callee) && is_only_callee(callee, kind)).then_some(callee)
}

/// The callee that a virtual call names, if its code may be looked into. A receiver may have
/// another one.
fn likely_callee(class: &'static Class, index: u32) -> Option<&'static Method> {
    let kind = InvokeKind::Virtual;
    let callee = resolve::method_at(OnlyLoaded, class, index as u16, kind).ok()?;
    let is_virtual = callee.vtable_offset().is_some() && !callee.class().is_interface();
    (is_virtual && is_plain(callee)).then_some(callee)
}

pub(super) fn is_plain(callee: &'static Method) -> bool {
    callee.access & (access::SYNCHRONIZED | access::NATIVE | access::ABSTRACT) == 0
        && !callee.flags.is_signature_polymorphic
        && !callee.class().info.bytes.is_empty()
        && !is_fence(callee)
        && intrinsics::of(callee).is_none()
}

/// Its body is empty, and the call is what it is for: the argument lives until then. Stack maps
/// know no other reason.
fn is_fence(callee: &'static Method) -> bool {
    callee.name.is("reachabilityFence") && callee.class().is(Library::Reference)
}
