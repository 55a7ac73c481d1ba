// SPDX-License-Identifier: Apache-2.0
//! Which methods and classes real-time threads needed late in earlier runs, and which a list says
//! that they need.
//!
//! A line of the profile is `KEY KIND NAME`, of a list `KIND NAME`; kinds are `method
//! pkg/Class.name(I)V`, `class pkg/Class` and `init pkg/Class`. The key is the thread's class with
//! the sum of its class file: a program that changed starts anew. The profile lies beside the
//! compiled code.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::closure::Closure;
use crate::classes::class::{Class, Method};
use crate::code::store;
use crate::console;
use crate::link::loader::Loader;
use crate::link::resolve;
use crate::memory::symbol::Symbol;
use crate::options;
use crate::threads::real_time::{RealTimeRecord, records};
use crate::threads::thread::Thread;

/// Lines of a profile: beyond them the file begins anew.
const LINES_MAX: usize = 20_000;
const FILE: &str = "realtime.profile";

/// Adds what profile and list say of threads of `class`.
pub(super) fn apply(thread: &Thread, closure: &mut Closure<'_>, class: &'static Class) {
    let key = key_of(class);
    for line in profile().iter().filter_map(|line| line.strip_prefix(&key)) {
        add(thread, closure, class.info.loader, line.trim_start());
    }
    for line in list() {
        add(thread, closure, class.info.loader, line);
    }
}

/// Adds what the threads needed late to the profile.
pub(crate) fn finish() {
    let (records, _) = records();
    let fresh: BTreeSet<String> = records.iter().flat_map(|record| lines_of(record)).collect();
    let Some(path) = path().filter(|_| !fresh.is_empty()) else {
        return;
    };
    // Another process may have written meanwhile.
    let mut all: BTreeSet<String> = read(&path).into_iter().collect();
    if all.len() + fresh.len() > LINES_MAX {
        all.clear();
    }
    let count = all.len();
    all.extend(fresh);
    if all.len() > count
        && let Err(error) = write(&path, &all)
    {
        console::warn(&format!(
            "the profile of real-time threads is not kept: {error}"
        ));
    }
}

fn key_of(class: &'static Class) -> String {
    let sum = class.content();
    let sum: String = sum[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{}:{sum} ", class.name())
}

fn lines_of(record: &RealTimeRecord) -> Vec<String> {
    let key = key_of(record.class);
    let ledger = &record.ledger;
    let methods = ledger.methods.methods();
    let methods = methods.filter(|method| !method.class().info.is_hidden);
    let methods = methods.map(|method| format!("{key}method {}", name_of(method)));
    let class = |kind: &'static str| {
        let key = key.clone();
        move |class: &'static Class| format!("{key}{kind} {}", class.name())
    };
    let is_named = |class: &&'static Class| !class.info.is_hidden;
    let loaded = ledger
        .classes
        .classes()
        .filter(is_named)
        .map(class("class"));
    let initialized = ledger.initializations.classes().filter(is_named);
    methods
        .chain(loaded)
        .chain(initialized.map(class("init")))
        .collect()
}

fn name_of(method: &'static Method) -> String {
    format!(
        "{}.{}{}",
        method.class().name(),
        method.name,
        method.descriptor
    )
}

fn path() -> Option<PathBuf> {
    Some(store::directory()?.join(FILE))
}

fn read(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn write(path: &Path, lines: &BTreeSet<String>) -> std::io::Result<()> {
    let temporary = path.with_extension(format!("{}.new", std::process::id()));
    let mut file = std::fs::File::create(&temporary)?;
    for line in lines {
        writeln!(file, "{line}")?;
    }
    std::fs::rename(temporary, path)
}

/// As it was when the first real-time thread started.
fn profile() -> &'static [String] {
    static PROFILE: OnceLock<Vec<String>> = OnceLock::new();
    PROFILE.get_or_init(|| path().map_or_else(Vec::new, |path| read(&path)))
}

fn list() -> &'static [String] {
    static LIST: OnceLock<Vec<String>> = OnceLock::new();
    LIST.get_or_init(|| {
        let Some(path) = &options::get().real_time_list else {
            return Vec::new();
        };
        let text = std::fs::read_to_string(path);
        let text =
            text.unwrap_or_else(|error| console::fatal(&format!("{}: {error}", path.display())));
        let lines = text.lines().map(str::trim);
        lines
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .map(str::to_owned)
            .collect()
    })
}

/// What is not there any more is no matter.
fn add(thread: &Thread, closure: &mut Closure<'_>, loader: &'static Loader, line: &str) {
    let Some((kind, name)) = line.split_once(' ') else {
        return;
    };
    let (class, member) = match (kind, name.split_once('(')) {
        ("method", Some((front, _))) => {
            let end = front.rfind('.').unwrap_or(0);
            (&name[..end], &name[(end + 1).min(name.len())..])
        }
        _ => (name, ""),
    };
    let found = resolve::class_by_name(thread, loader, Symbol::new(class.as_bytes()));
    let Ok(found) = found else {
        thread.take_exception();
        return;
    };
    if kind == "init" {
        closure.initialize(found);
        closure.instantiate(found);
    }
    let signature = member.find('(').map(|at| member.split_at(at));
    if let Some((name, descriptor)) = signature {
        let (name, descriptor) = (
            Symbol::new(name.as_bytes()),
            Symbol::new(descriptor.as_bytes()),
        );
        if let Some(method) = found.declared_method(name, descriptor) {
            closure.add(method);
        }
    }
}
