// SPDX-License-Identifier: Apache-2.0
//! Compiling an application before it runs: `takt compile`.
//!
//! Loads the classes of a list, compiles all their methods, and whatever methods
//! those can reach as far as calls, instances and initialisers tell; what only
//! reflection or a lambda reaches is compiled when it is called. Every method is
//! kept in two versions: one for when all it refers to is initialised, and one
//! made of sites, which fits at any time. No initialiser runs.

use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::Ordering;

use ir::InvokeKind;

use crate::classes::class::{Class, Method};
use crate::classes::loader::all_classes;
use crate::code::cache;
use crate::code::question::Question;
use crate::code::store;
use crate::compile::answers::{Cx, Mode};
use crate::compile::method;
use crate::console;
use crate::link::loader;
use crate::link::resolve;
use crate::link::verification;
use crate::memory::symbol::Symbol;
use crate::start::boot;
use crate::threads::thread::{Thread, Thrown};

/// Methods beyond this many are left to be compiled when they are called: a large application has
/// some 30,000.
const METHODS_MAX: usize = 100_000;
/// A line of progress for every so many methods.
const PROGRESS_STEP: usize = 500;

type Signature = (Symbol, Symbol);

struct Ahead<'a> {
    thread: &'a Thread,
    found: HashSet<u64>,
    work: Vec<&'static Method>,
    /// Classes that have instances, and what is called on any of them.
    instantiated: Vec<&'static Class>,
    is_instantiated: HashSet<u32>,
    called: HashSet<Signature>,
    refused: Vec<String>,
    compiled_count: usize,
    kept_before_count: usize,
    left_out_count: usize,
}

/// Compiles what the names in `list` reach, says what was done on standard output, and ends the
/// process.
pub(crate) fn run(thread: &Thread, list: &Path) -> ! {
    let names = std::fs::read_to_string(list);
    let names =
        names.unwrap_or_else(|error| console::fatal(&format!("{}: {error}", list.display())));
    let started_ns = console::now_ns();
    let mut ahead = Ahead {
        thread,
        found: HashSet::new(),
        work: Vec::new(),
        instantiated: Vec::new(),
        is_instantiated: HashSet::new(),
        called: HashSet::new(),
        refused: Vec::new(),
        compiled_count: 0,
        kept_before_count: 0,
        left_out_count: 0,
    };
    let mut class_count = 0;
    for name in names.lines() {
        class_count += u32::from(ahead.add_class(name));
    }
    while let Some(method) = ahead.work.pop() {
        ahead.compile(method);
    }
    store::finish();
    let mut out = std::io::stdout().lock();
    let told = ahead
        .refused
        .iter()
        .try_for_each(|text| writeln!(out, "refused {text}"));
    let told = told.and_then(|()| {
        writeln!(
            out,
            "classes={class_count} refused={} methods={} compiled={} kept_before={} left_out={} ms={}",
            ahead.refused.len(),
            ahead.found.len(),
            ahead.compiled_count,
            ahead.kept_before_count,
            ahead.left_out_count,
            (console::now_ns() - started_ns) / 1_000_000
        )
    });
    boot::leave(i32::from(told.is_err()))
}

/// For a store that is delivered: compiles all methods of the loaded classes of the platform and of
/// the class path, of sites alone, unless that is kept. Such a piece fits at any time; what an
/// application ran may rest on what was initialised in it.
pub(crate) fn compile_loaded(thread: &Thread) {
    let mut count = 0;
    for class in all_classes().into_iter().filter(|it| is_delivered(it)) {
        for method in class.info.methods.iter().copied() {
            count += u32::from(compile_for_any(thread, method));
        }
    }
    console::note(&format!("compiled for others: {count} methods"));
}

/// Is `class` the same for each application that has this class library and this class path?
fn is_delivered(class: &'static Class) -> bool {
    let info = &class.info;
    info.loader.is_platforms() && info.dex.is_none() && !info.is_hidden && !class.is_array()
}

fn compile_for_any(thread: &Thread, method: &'static Method) -> bool {
    if method.is_abstract() || method.is_native() {
        return false;
    }
    let mut cx = Cx::new(thread, method).in_mode(Mode::Sites);
    if method::is_kept_for(method, &mut cx) {
        return false;
    }
    let Ok(function) = method.translate() else {
        // It throws VerifyError when it is called.
        return false;
    };
    cx.forget();
    let piece = method::compile_apart(&function, &mut cx);
    piece.inspect(|piece| method::keep(method, piece)).is_some()
}

impl Ahead<'_> {
    /// Nothing reaches what cannot be loaded: a program may name classes that it never needs.
    fn try_to<T>(&self, act: impl FnOnce(&Thread) -> Result<T, Thrown>) -> Result<T, String> {
        act(self.thread).map_err(|_| {
            let exception = self.thread.take_exception();
            exception.class().java_name()
        })
    }

    fn add_class(&mut self, name: &str) -> bool {
        let loader = boot::system_loader().unwrap_or_else(loader::boot);
        let loaded = self.try_to(|thread| {
            let class = resolve::class_by_name(thread, loader, Symbol::new(name.as_bytes()))?;
            verification::verify(thread, class)?;
            Ok(class)
        });
        match loaded {
            Ok(class) => {
                class
                    .info
                    .methods
                    .iter()
                    .for_each(|method| self.add(method));
                true
            }
            Err(error) => {
                self.refused.push(format!("{name}: {error}"));
                false
            }
        }
    }

    fn add(&mut self, method: &'static Method) {
        if method.is_abstract() || self.found.contains(&method.address()) {
            return;
        }
        if self.found.len() >= METHODS_MAX {
            self.left_out_count += 1;
            return;
        }
        self.found.insert(method.address());
        self.work.push(method);
    }

    fn compile(&mut self, method: &'static Method) {
        let count = self.compiled_count + self.kept_before_count;
        if count > 0 && count.is_multiple_of(PROGRESS_STEP) {
            console::note(&format!("{count} of {} methods", self.found.len()));
        }
        if method.is_native() {
            // Bridges are shared: most are kept from the start of the machine.
            let before = cache::COMPILED.load(Ordering::Relaxed);
            method::native_ahead(method);
            let is_new = cache::COMPILED.load(Ordering::Relaxed) != before;
            let count = if is_new {
                &mut self.compiled_count
            } else {
                &mut self.kept_before_count
            };
            *count += 1;
            return;
        }
        let class = method.class();
        let Ok(function) = ir::bytecode::translate(&class.info.file, method.file()) else {
            // It throws VerifyError when it is called.
            return;
        };
        let mut cx = Cx::new(self.thread, method).in_mode(Mode::Sites);
        let Some(general) = method::compile_apart(&function, &mut cx) else {
            return;
        };
        let asked: Vec<Question> = cx
            .asked()
            .iter()
            .map(|exchange| exchange.question)
            .collect();
        for question in asked {
            self.follow(class, question);
        }
        if method::is_kept(method, &general) {
            self.kept_before_count += 1;
            return;
        }
        let mut cx = Cx::new(self.thread, method).in_mode(Mode::Ready);
        let best = method::compile_apart(&function, &mut cx);
        // The better one is looked at first.
        if let Some(best) = best {
            method::keep(method, &best);
        }
        method::keep(method, &general);
        self.compiled_count += 1;
    }

    /// Adds what code that asks `question` may reach.
    fn follow(&mut self, class: &'static Class, question: Question) {
        let index = question.index() as u16;
        match question {
            Question::New(_) => {
                if let Ok(found) = self.try_to(|thread| resolve::class_at(thread, class, index)) {
                    self.initialize(found);
                    self.instantiate(found);
                }
            }
            Question::StaticField(_) => {
                let field = self.try_to(|thread| resolve::field_at(thread, class, index, true));
                if let Ok((holder, _)) = field {
                    self.initialize(holder);
                }
            }
            Question::Written(write, _) => {
                let field =
                    self.try_to(|thread| resolve::field_at(thread, class, index, write.is_static));
                if let Ok((holder, _)) = field
                    && write.is_static
                {
                    self.initialize(holder);
                }
            }
            Question::Field(_) => {
                let _ = self.try_to(|thread| resolve::field_at(thread, class, index, false));
            }
            Question::Class(_) | Question::ArrayOf(_) => {
                let _ = self.try_to(|thread| resolve::class_at(thread, class, index));
            }
            Question::Method(kind, _) => {
                let method = self.try_to(|thread| resolve::method_at(thread, class, index, kind));
                if let Ok(method) = method {
                    self.call(method, kind);
                }
            }
            _ => {}
        }
    }

    fn initialize(&mut self, class: &'static Class) {
        let mut next = Some(class);
        while let Some(class) = next {
            let initializer = class
                .info
                .methods
                .iter()
                .find(|method| method.name.is("<clinit>"));
            if let Some(initializer) = initializer {
                self.add(initializer);
            }
            next = class.super_class();
        }
    }

    fn call(&mut self, method: &'static Method, kind: InvokeKind) {
        self.add(method);
        if kind == InvokeKind::Static {
            self.initialize(method.class());
        }
        let is_selected = matches!(kind, InvokeKind::Virtual | InvokeKind::Interface);
        let signature = (method.name, method.descriptor);
        if is_selected && self.called.insert(signature) {
            for class in self.instantiated.clone() {
                let versions = class.info.vtable.iter();
                let versions = versions.filter(|m| (m.name, m.descriptor) == signature);
                versions.for_each(|method| self.add(method));
            }
        }
    }

    fn instantiate(&mut self, class: &'static Class) {
        if !self.is_instantiated.insert(class.address()) {
            return;
        }
        self.instantiated.push(class);
        let defaults = class
            .info
            .all_interfaces
            .iter()
            .flat_map(|i| &i.info.methods);
        let versions: HashMap<u64, &'static Method> = class
            .info
            .vtable
            .iter()
            .chain(defaults)
            .filter(|method| self.called.contains(&(method.name, method.descriptor)))
            .map(|method| (method.address(), *method))
            .collect();
        versions.into_values().for_each(|method| self.add(method));
    }
}
