// SPDX-License-Identifier: Apache-2.0
//! Compiling an application before it runs: `takt compile`.
//!
//! Loads the classes of a list, compiles all their methods, and whatever methods
//! those can reach as far as calls, instances and initialisers tell; what only
//! reflection or a lambda reaches is compiled when it is called. Every method is
//! kept in two versions: one for when all it refers to is initialised, and one
//! made of sites, which fits at any time. No initialiser runs.

use std::collections::{HashMap, HashSet, VecDeque};
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
use crate::link::failure::message_of;
use crate::link::loader::{self, Loader};
use crate::link::resolve;
use crate::link::verification;
use crate::memory::symbol::Symbol;
use crate::objects::string;
use crate::start::boot;
use crate::threads::thread::{Thread, Thrown};

/// Methods beyond this many are left to be compiled when they are called: a large application has
/// some 30,000.
const METHODS_MAX: usize = 100_000;
/// A line of progress for every so many classes and methods.
const PROGRESS_STEP: usize = 500;

type Signature = (Symbol, Symbol);

struct Ahead<'a> {
    thread: &'a Thread,
    /// Of the classes that are named.
    loader: &'static Loader,
    found: HashSet<u64>,
    /// The application's own first: there is room for so much in a store.
    work: VecDeque<&'static Method>,
    /// Classes that have instances, what is called on any of them, and what may run then.
    is_instantiated: HashSet<u32>,
    called: HashSet<Signature>,
    versions: HashMap<Signature, Vec<&'static Method>>,
    is_version: HashSet<u64>,
    /// Classes whose methods were proven, or could not be.
    is_proven: HashSet<u32>,
    refused: Vec<String>,
    class_count: usize,
    compiled_count: usize,
    kept_before_count: usize,
    left_out_count: usize,
}

/// Compiles what the names in `list` reach, says what was done on standard output, and ends the
/// process. They are classes of the DEX code in `package`, or else of the class path.
pub(crate) fn run(thread: &Thread, list: &Path, package: Option<&Path>) -> ! {
    let names = std::fs::read_to_string(list);
    let names =
        names.unwrap_or_else(|error| console::fatal(&format!("{}: {error}", list.display())));
    let (started_ns, cpu_before) = (console::now_ns(), thread.cpu_ns(true));
    let mut ahead = Ahead::new(thread, loader_over(thread, package));
    ahead.add_all(&names);
    let own_count = ahead.found.len();
    while let Some(method) = ahead.work.pop_front() {
        ahead.compile(method);
    }
    store::finish();
    let cpu_ns = thread.cpu_ns(true).zip(cpu_before);
    let ns_of = [
        ("ms", (console::now_ns() - started_ns) as i64),
        ("cpu_ms", cpu_ns.map_or(0, |(now, before)| now - before)),
    ];
    let counts = [
        ("classes", ahead.class_count),
        ("refused", ahead.refused.len()),
        ("own_methods", own_count),
        ("methods", ahead.found.len()),
        ("compiled", ahead.compiled_count),
        ("kept_before", ahead.kept_before_count),
        ("left_out", ahead.left_out_count),
        ("not_kept", store::DROPPED.load(Ordering::Relaxed) as usize),
        (
            "kept_bytes",
            store::KEPT_BYTES.load(Ordering::Relaxed) as usize,
        ),
    ];
    let mut text = String::new();
    for refused in &ahead.refused {
        text += &format!("refused {}\n", refused.replace('\n', " "));
    }
    for (name, count) in counts {
        text += &format!("{name}={count} ");
    }
    for (name, ns) in ns_of {
        text += &format!("{name}={} ", ns / 1_000_000);
    }
    let told = writeln!(std::io::stdout().lock(), "{}", text.trim_end());
    boot::leave(i32::from(told.is_err()))
}

/// The loader of the classes to be compiled. A package has one over the class path, as
/// `takt.server.ApplicationCode` makes it.
fn loader_over(thread: &Thread, package: Option<&Path>) -> &'static Loader {
    let system = boot::system_loader().unwrap_or_else(loader::boot);
    let Some(package) = package else {
        return system;
    };
    let make = || {
        let scope = thread.scope();
        let class = thread.boot_class("dalvik/system/PathClassLoader")?;
        let path = scope.hold(string::new_string(thread, &package.to_string_lossy())?);
        let signature = "(Ljava/lang/String;Ljava/lang/ClassLoader;)V";
        let constructor = class.method_named("<init>", signature);
        let arguments = [path.0.into(), system.object().0.into()];
        thread.new_instance(class, constructor, &arguments)
    };
    match make() {
        Ok(object) => loader::of(object),
        Err(_) => {
            boot::print_uncaught(thread, thread.take_exception());
            console::fatal(&format!("no class loader for {}", package.display()))
        }
    }
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
    if method::kept_for(method, &mut cx).is_some() {
        return false;
    }
    let Ok(function) = method.translate() else {
        // It throws VerifyError when it is called.
        return false;
    };
    cx.forget();
    let piece = method::compile_apart(&function, &mut cx);
    piece.inspect(|piece| method::keep(method, piece)).is_ok()
}

impl<'a> Ahead<'a> {
    fn new(thread: &'a Thread, loader: &'static Loader) -> Self {
        Self {
            thread,
            loader,
            found: HashSet::new(),
            work: VecDeque::new(),
            is_instantiated: HashSet::new(),
            called: HashSet::new(),
            versions: HashMap::new(),
            is_version: HashSet::new(),
            is_proven: HashSet::new(),
            refused: Vec::new(),
            class_count: 0,
            compiled_count: 0,
            kept_before_count: 0,
            left_out_count: 0,
        }
    }

    /// Nothing reaches what cannot be loaded: a program may name classes that it never needs.
    fn try_to<T>(&self, act: impl FnOnce(&Thread) -> Result<T, Thrown>) -> Result<T, String> {
        act(self.thread).map_err(|_| {
            let exception = self.thread.take_exception();
            let name = exception.class().java_name();
            let message = message_of(exception);
            message.map_or_else(|| name.clone(), |message| format!("{name}: {message}"))
        })
    }

    fn add_all(&mut self, names: &str) {
        let count = names.lines().count();
        for (index, name) in names.lines().enumerate() {
            if index > 0 && index.is_multiple_of(PROGRESS_STEP) {
                console::note(&format!("{index} of {count} classes"));
            }
            self.add_class(name);
        }
    }

    fn add_class(&mut self, name: &str) {
        let loader = self.loader;
        let loaded = self.try_to(|thread| {
            let class = resolve::class_by_name(thread, loader, Symbol::new(name.as_bytes()))?;
            verification::verify(thread, class)?;
            Ok(class)
        });
        match loaded {
            Ok(class) => {
                self.class_count += 1;
                self.is_proven.insert(class.address());
                for method in &class.info.methods {
                    self.add(method);
                }
            }
            Err(error) => self.refused.push(format!("{name}: {error}")),
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
        self.work.push_back(method);
    }

    fn compile(&mut self, method: &'static Method) {
        let count = self.compiled_count + self.kept_before_count;
        if count > 0 && count.is_multiple_of(PROGRESS_STEP) {
            console::note(&format!("{count} of {} methods", self.found.len()));
        }
        if method.is_native() {
            return self.bridge(method);
        }
        let mut cx = Cx::new(self.thread, method).in_mode(Mode::Sites);
        if let Some(kept) = method::kept_for(method, &mut cx) {
            let asked = kept.asked.iter().map(|asked| asked.question);
            self.follow_all(method, asked);
            self.kept_before_count += 1;
            return;
        }
        cx.forget();
        if let Err(error) = self.compile_both(method, &mut cx) {
            // Its first call throws.
            self.refused
                .push(format!("{}: {error}", method.full_name()));
        }
    }

    /// Bridges are shared: most are kept from the start of the machine.
    fn bridge(&mut self, method: &'static Method) {
        let before = cache::COMPILED.load(Ordering::Relaxed);
        method::native_ahead(method);
        let is_new = cache::COMPILED.load(Ordering::Relaxed) != before;
        match is_new {
            true => self.compiled_count += 1,
            false => self.kept_before_count += 1,
        }
    }

    /// `cx` answers by sites alone.
    fn compile_both(&mut self, method: &'static Method, cx: &mut Cx<'_>) -> Result<(), String> {
        let function = method.translate().map_err(|error| error.to_string())?;
        let general = method::compile_apart(&function, cx);
        let general = general.map_err(|error| error.to_string())?;
        self.follow_all(method, cx.asked().iter().map(|asked| asked.question));
        let mut cx = Cx::new(self.thread, method).in_mode(Mode::Ready);
        // The better one is looked at first. Bodies in it may be too much for the compiler.
        if let Ok(best) = method::compile_apart(&function, &mut cx) {
            method::keep(method, &best);
        }
        method::keep(method, &general);
        self.compiled_count += 1;
        Ok(())
    }

    fn follow_all(&mut self, method: &'static Method, asked: impl Iterator<Item = Question>) {
        for question in asked {
            self.follow(method.class(), question);
        }
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

    /// Keeps the proof of a class that the application needs, so that its start finds it.
    fn prove(&mut self, class: &'static Class) {
        if self.is_proven.insert(class.address()) {
            // Where it fails, the class's first use throws.
            let _ = self.try_to(|thread| verification::verify(thread, class));
        }
    }

    fn initialize(&mut self, class: &'static Class) {
        self.prove(class);
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
            let versions = self.versions.get(&signature).cloned();
            for method in versions.unwrap_or_default() {
                self.add(method);
            }
        }
    }

    fn instantiate(&mut self, class: &'static Class) {
        if !self.is_instantiated.insert(class.address()) {
            return;
        }
        let info = class.info;
        let defaults = info.all_interfaces.iter().flat_map(|it| &it.info.methods);
        for method in info.vtable.iter().chain(defaults).copied() {
            // Most are inherited from a class that was here before.
            if !self.is_version.insert(method.address()) {
                continue;
            }
            let signature = (method.name, method.descriptor);
            self.versions.entry(signature).or_default().push(method);
            if self.called.contains(&signature) {
                self.add(method);
            }
        }
    }
}
