// SPDX-License-Identifier: Apache-2.0
//! What a real-time thread can reach, compiled and linked before it starts.
//!
//! From the methods that the thread will run, breadth first over the calls in their IR: static and
//! special calls have one callee; a virtual or interface call has those of the classes that have or
//! may get instances, unless they are too many. Classes that are named are loaded. They are
//! initialised if nobody can see that it happens early, or if a profile or a list says that
//! real-time threads need them. What only an exception leads to is left out.

use std::collections::{HashSet, VecDeque};
use std::sync::atomic::Ordering;

use ir::{InvokeKind, LoadedConstant, Op};

use super::purity;
use crate::classes::class::{Class, ClassKind, Method};
use crate::classes::object::ObjectRef;
use crate::classes::site::SiteKind;
use crate::classes::write::Write;
use crate::compile::method;
use crate::console;
use crate::invoke::method_handle;
use crate::link::loader;
use crate::link::native;
use crate::link::resolve::{self, OnlyLoaded};
use crate::link::verification;
use crate::threads::real_time::Reached;
use crate::threads::thread::{Holds, Thread, Thrown};

/// Methods that one thread's closure holds: some 2 s of compiling at the first start.
pub(super) const METHODS_MAX: usize = 2000;
/// Callees of one virtual call; a call with more is open: a profile tells which of them it needs.
const CALLEES_MAX: usize = 16;

/// See the module.
pub(crate) struct Closure<'a> {
    thread: &'a Thread,
    found: HashSet<u64>,
    /// Methods beyond the limit.
    left_out: HashSet<u64>,
    order: Vec<&'static Method>,
    work: VecDeque<&'static Method>,
    /// Classes that have or may get instances, and what is called on any of them.
    instantiated: Vec<&'static Class>,
    is_instantiated: HashSet<u32>,
    called: HashSet<u64>,
    calls: Vec<&'static Method>,
    /// Constants to resolve once the code is there.
    constants: Vec<(&'static Class, SiteKind, u32)>,
    uninitialized: HashSet<u32>,
    handles: HashSet<u32>,
    reached: Reached,
}

impl<'a> Closure<'a> {
    pub(crate) fn new(thread: &'a Thread) -> Self {
        let mut closure = Self {
            thread,
            found: HashSet::new(),
            left_out: HashSet::new(),
            order: Vec::new(),
            work: VecDeque::new(),
            instantiated: Vec::new(),
            is_instantiated: HashSet::new(),
            called: HashSet::new(),
            calls: Vec::new(),
            constants: Vec::new(),
            uninitialized: HashSet::new(),
            handles: HashSet::new(),
            reached: Reached::default(),
        };
        for class in loader::all_classes() {
            if class.is_initialized() {
                closure.instantiate(class);
            }
        }
        closure
    }

    /// A method that the thread will or may run.
    pub(crate) fn add(&mut self, method: &'static Method) {
        if method.is_abstract() || self.found.contains(&method.address()) {
            return;
        }
        if self.found.len() >= METHODS_MAX {
            self.left_out.insert(method.address());
            return;
        }
        self.found.insert(method.address());
        self.order.push(method);
        self.work.push_back(method);
    }

    /// A class whose instances the thread will meet.
    pub(crate) fn instantiate(&mut self, class: &'static Class) {
        let has_instances = class.info.kind == ClassKind::Instance && !class.is_abstract();
        if !has_instances || !self.is_instantiated.insert(class.address()) {
            return;
        }
        self.instantiated.push(class);
        for index in 0..self.calls.len() {
            if let Some(callee) = version(class, self.calls[index]) {
                self.add(callee);
            }
        }
    }

    /// A class that the thread needs initialised.
    pub(crate) fn initialize(&mut self, class: &'static Class) {
        if class.is_initialized() {
            return;
        }
        if self.attempt(|thread| class.initialize(thread)).is_some() {
            self.reached.initialized += 1;
        }
    }

    /// Does all of it.
    pub(crate) fn run(mut self) -> Reached {
        let started_ns = console::now_ns();
        let loaded_before = loader::defined_count();
        while let Some(method) = self.work.pop_front() {
            self.walk(method);
        }
        for index in 0..self.order.len() {
            self.compile(self.order[index]);
        }
        for (class, kind, index) in std::mem::take(&mut self.constants) {
            self.resolve(class, kind, index);
        }
        // What computed calls lead to was not known before they were linked.
        while let Some(method) = self.work.pop_front() {
            self.walk(method);
            self.compile(method);
        }
        for (class, kind, index) in std::mem::take(&mut self.constants) {
            self.resolve(class, kind, index);
        }
        self.reached.methods = self.order.len() as u32;
        self.reached.left_out = self.left_out.len() as u32;
        self.reached.loaded = loader::defined_count() - loaded_before;
        self.reached.uninitialized = self.uninitialized.len() as u32;
        self.reached.ns = console::now_ns() - started_ns;
        self.reached
    }

    /// What cannot be done early throws when it is needed.
    fn attempt<T>(&self, act: impl FnOnce(&Thread) -> Result<T, Thrown>) -> Option<T> {
        let was_ahead = self.thread.is_ahead.replace(true);
        let outcome = act(self.thread).map_err(|_| self.thread.take_exception());
        self.thread.is_ahead.set(was_ahead);
        outcome.ok()
    }

    fn walk(&mut self, method: &'static Method) {
        let class = method.class();
        self.follow_handle(ObjectRef(class.info.class_data.load(Ordering::Acquire)));
        if method.is_native() {
            self.attempt(|thread| native::bind(thread, method));
            return;
        }
        let Ok(function) = method.translate() else {
            return;
        };
        let is_usual = usual_blocks(&function);
        for (block, _) in function.blocks.iter().zip(is_usual).filter(|(_, is)| *is) {
            for inst in &block.insts {
                self.follow(method, &inst.op);
            }
        }
    }

    fn field(&mut self, class: &'static Class, kind: SiteKind, index: u32) {
        let is_static = is_static_field(kind);
        let field =
            self.attempt(|thread| resolve::field_at(thread, class, index as u16, is_static));
        if is_static {
            self.need(field.map(|(holder, _)| holder));
        }
        self.constants.push((class, kind, index));
    }

    fn follow(&mut self, method: &'static Method, op: &Op) {
        let class = method.class();
        match *op {
            Op::Load {
                constant: LoadedConstant::String,
                index,
                ..
            } => self.constants.push((class, SiteKind::String, index)),
            Op::Load {
                constant: LoadedConstant::Class,
                index,
                ..
            } => {
                self.load(class, index);
                self.constants.push((class, SiteKind::Mirror, index));
            }
            Op::GetField { index, .. } => self.field(class, SiteKind::Field, index),
            Op::GetStatic { index, .. } => self.field(class, SiteKind::Static, index),
            Op::PutField { index, .. } => {
                self.field(class, SiteKind::Written(Write::by(method, false)), index);
            }
            Op::PutStatic { index, .. } => {
                self.field(class, SiteKind::Written(Write::by(method, true)), index);
            }
            Op::New { index, .. } => {
                let found = self.load(class, index);
                self.need(found);
                if let Some(found) = found {
                    self.instantiate(found);
                }
                self.constants.push((class, SiteKind::New, index));
            }
            Op::NewArray { index, .. } => {
                if let Some(element) = self.load(class, index) {
                    self.attempt(|thread| thread.array_class(element));
                }
                self.constants.push((class, SiteKind::ArrayOf, index));
            }
            Op::NewMultiArray { index, .. }
            | Op::CheckCast { index, .. }
            | Op::CheckReceiver { index, .. }
            | Op::InstanceOf { index, .. } => {
                self.load(class, index);
                self.constants.push((class, SiteKind::Class, index));
            }
            Op::Invoke { kind, index, .. } => {
                let method =
                    self.attempt(|thread| resolve::method_at(thread, class, index as u16, kind));
                if let Some(method) = method {
                    self.call(method, kind);
                }
                self.constants.push((class, SiteKind::Method(kind), index));
            }
            Op::InvokeDynamic { index, .. } => {
                self.constants.push((class, SiteKind::CallSite, index));
            }
            _ => {}
        }
    }

    fn load(&self, class: &'static Class, index: u32) -> Option<&'static Class> {
        self.attempt(|thread| resolve::class_at(thread, class, index as u16))
    }

    /// A class that must be initialised when the thread gets there.
    fn need(&mut self, class: Option<&'static Class>) {
        let Some(class) = class.filter(|class| !class.is_initialized()) else {
            return;
        };
        let verified = self.attempt(|thread| verification::verify(thread, class));
        if verified.is_some() && purity::is_unseen(class) {
            self.initialize(class);
        } else {
            self.uninitialized.insert(class.address());
        }
    }

    fn call(&mut self, method: &'static Method, kind: InvokeKind) {
        if method.flags.is_signature_polymorphic {
            return;
        }
        if kind == InvokeKind::Static {
            self.need(Some(method.class()));
        }
        self.add(method);
        let is_selected =
            matches!(kind, InvokeKind::Virtual | InvokeKind::Interface) && !method.is_private();
        if !is_selected || !self.called.insert(method.address()) {
            return;
        }
        let mut callees: Vec<&'static Method> = Vec::new();
        for class in &self.instantiated {
            if let Some(callee) = version(class, method)
                && !callees.iter().any(|other| core::ptr::eq(*other, callee))
            {
                callees.push(callee);
            }
            if callees.len() > CALLEES_MAX {
                self.reached.open_calls += 1;
                return;
            }
        }
        self.calls.push(method);
        callees.into_iter().for_each(|callee| self.add(callee));
    }

    fn compile(&mut self, method: &'static Method) {
        let is_new = self.attempt(|thread| {
            verification::verify(thread, method.class())?;
            method::prepare(thread, method)
        });
        self.reached.compiled += u32::from(is_new == Some(true));
    }

    /// Resolves what code asks for at run time, unless that would initialise something.
    fn resolve(&mut self, class: &'static Class, kind: SiteKind, index: u32) {
        if kind == SiteKind::CallSite {
            return self.link_call_sites(class, index);
        }
        let site = class.info.sites.lock().get(&(kind, index)).copied();
        let Some(site) = site.filter(|site| site.resolved().is_none()) else {
            return;
        };
        let index = index as u16;
        let is_ready = match kind {
            _ if is_static_field(kind) => resolve::field_at(OnlyLoaded, class, index, true)
                .is_ok_and(|(holder, _)| holder.is_initialized()),
            SiteKind::New => {
                resolve::class_at(OnlyLoaded, class, index).is_ok_and(Class::is_initialized)
            }
            SiteKind::Method(InvokeKind::Static) => {
                resolve::method_at(OnlyLoaded, class, index, InvokeKind::Static)
                    .is_ok_and(|method| method.class().is_initialized())
            }
            _ => true,
        };
        if is_ready {
            self.attempt(|thread| site.resolve(thread, Holds::Any));
        }
    }

    /// Calls that the class library itself computes: lambdas, joined strings, records' methods.
    fn link_call_sites(&mut self, class: &'static Class, index: u32) {
        if !method_handle::is_by_class_library(class, index as u16) {
            return;
        }
        let sites = class.info.call_sites.lock().clone();
        for site in sites.iter().filter(|site| site.index() == index) {
            self.attempt(|thread| site.resolve(thread, Holds::Any));
            if let Some((method, appendix)) = site.resolved() {
                self.add(Method::at(method));
                self.follow_handle(ObjectRef(appendix as u32));
            }
        }
    }

    /// What method handles, and the lists of them that generated classes hold, call.
    fn follow_handle(&mut self, object: ObjectRef) {
        let Some(object) = object.some() else {
            return;
        };
        if !self.handles.insert(object.0) {
            return;
        }
        let class = object.class();
        if let Some(method) = method_handle::named_by(object) {
            self.add(method);
            if method.is_constructor() {
                self.instantiate(method.class());
            }
            return;
        }
        if class.info.is_hidden {
            self.instantiate(class);
            return;
        }
        method_handle::parts_of(object)
            .into_iter()
            .for_each(|part| self.follow_handle(part));
    }
}

/// What an instance of `class` runs for `method`, if it is an instance of that one's class.
fn version(class: &'static Class, method: &'static Method) -> Option<&'static Method> {
    if !class.is_subtype_of(method.class()) {
        return None;
    }
    match method.vtable_offset() {
        Some(offset) => Some(class.vtable_entry(offset)),
        None if method.class().is_interface() => {
            crate::link::tables::selected_method(class, method)
        }
        None => Some(method),
    }
}

fn is_static_field(kind: SiteKind) -> bool {
    matches!(kind, SiteKind::Static) || matches!(kind, SiteKind::Written(write) if write.is_static)
}

/// For each block whether it runs without an exception before it, or one to come for certain.
fn usual_blocks(function: &ir::Function) -> Vec<bool> {
    let count = function.blocks.len();
    let targets: Vec<Vec<usize>> = function.blocks.iter().map(targets_of).collect();
    let mut is_reached = vec![false; count];
    let mut work = vec![0];
    while let Some(block) = work.pop() {
        if !std::mem::replace(&mut is_reached[block], true) {
            work.extend(&targets[block]);
        }
    }
    let throws = |block: &ir::Block| {
        matches!(
            block.insts.last().map(|inst| &inst.op),
            Some(Op::Throw { .. })
        )
    };
    let mut is_lost: Vec<bool> = function.blocks.iter().map(throws).collect();
    loop {
        let lost = |block: usize, is_lost: &[bool]| {
            !targets[block].is_empty() && targets[block].iter().all(|&target| is_lost[target])
        };
        let more = (0..count).find(|&block| !is_lost[block] && lost(block, &is_lost));
        let Some(block) = more else { break };
        is_lost[block] = true;
    }
    let both = is_reached.iter().zip(&is_lost);
    both.map(|(reached, lost)| *reached && !lost).collect()
}

fn targets_of(block: &ir::Block) -> Vec<usize> {
    let mut targets = Vec::new();
    if let Some(last) = block.insts.last() {
        last.op
            .for_each_target(|target| targets.push(target.0 as usize));
    }
    targets
}
