// SPDX-License-Identifier: Apache-2.0
//! Figures about the machine, gathered from all rooms.

use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::code::cache;
use crate::code::store;
use crate::compile::{again, bodies};
use crate::console;
use crate::inspect::superpages::Superpages;
use crate::link::loader;
use crate::link::verification;
use crate::memory;
use crate::objects::heap_binding;
use crate::realtime::table;
use crate::threads::thread;

fn ms(ns: &AtomicU64) -> f64 {
    ns.load(Ordering::Relaxed) as f64 / 1e6
}

/// Figures so far, for `-Xtakt:report` and tools that ask.
pub(crate) fn figures() -> String {
    let mut text = String::new();
    let mut say = |line: &str| {
        text.push_str(line);
        text.push('\n');
    };
    let compiled = cache::COMPILED.load(Ordering::Relaxed);
    let (compile_ms, load_ms) = (ms(&cache::COMPILE_NS), ms(&cache::LOAD_NS));
    let loaded = cache::LOADED.load(Ordering::Relaxed);
    let unfit = cache::UNFIT.load(Ordering::Relaxed);
    let verified = verification::VERIFIED.load(Ordering::Relaxed);
    let verify_ms = ms(&verification::VERIFY_NS);
    let held = verification::PROOFS_HELD.load(Ordering::Relaxed);
    say(&format!(
        "methods verified: {verified}, and {held} classes by a kept proof, in {verify_ms:.1} ms"
    ));
    let assumed = crate::link::constraint::assumption_count();
    let refused = crate::link::constraint::ASSUMPTIONS_REFUSED.load(Ordering::Relaxed);
    say(&format!(
        "assumptions about classes that were not there: {assumed}, {refused} proofs refused for want of room"
    ));
    say(&format!("heap: {}", crate::options::collector_name()));
    for (name, value) in heap_binding::heap().counters().each() {
        say(&format!("  {name}: {value}"));
    }
    let stacks = crate::objects::roots::Counts::total();
    say(&format!(
        "stack scans: {}, {} managed frames with {} references, {} other words",
        stacks.scans, stacks.frames, stacks.slots, stacks.words
    ));
    let (records, records_max) = thread::record_counts();
    say(&format!("thread records: {records}, {records_max} at most"));
    let late = crate::monitors::monitor::late_chunks();
    say(&format!(
        "tables of monitors that a locking thread made: {late}"
    ));
    for answers in heap_binding::heap().answers() {
        let [n, ..] = answers.count;
        let each = (0..3).map(|round| {
            let (mean, max) = (answers.ns_mean[round], answers.ns_max[round]);
            format!("H{} {mean}/{max}", round + 1)
        });
        let each = each.collect::<Vec<_>>().join(", ");
        say(&format!(
            "  thread {}: {n} handshakes, mean/longest in ns: {each}",
            answers.tid
        ));
    }
    say(&format!(
        "classes: {} in {} metadata bytes",
        loader::defined_count(),
        memory::metadata_bytes()
    ));
    say(&growth());
    say(&format!(
        "compiled: {compiled} methods in {compile_ms:.1} ms, {} code bytes",
        cache::used_bytes()
    ));
    say(&format!(
        "from the code cache: {loaded} methods in {load_ms:.1} ms, {unfit} did not fit, {} not kept",
        store::DROPPED.load(Ordering::Relaxed)
    ));
    say(&sources(loaded));
    say(&linked_again());
    say(&format!("code cache: {}", store::describe()));
    let dropped = rt::lines::dropped_count();
    say(&format!("lines of real-time threads dropped: {dropped}"));
    say(&table::text());
    text
}

/// Classes, metadata and code when the class library was there.
static AT_START: OnceLock<[u64; 3]> = OnceLock::new();

/// What only grows.
fn spans() -> [u64; 3] {
    [
        u64::from(loader::defined_count()),
        memory::metadata_bytes(),
        cache::used_bytes(),
    ]
}

/// The program begins: what comes from now on is its own.
pub(crate) fn begin() {
    let _ = AT_START.set(spans());
}

/// What the program has added and nobody gives back: see docs/decisions/0008-unloading.md.
fn growth() -> String {
    let before = AT_START.get().copied().unwrap_or_default();
    let now = spans();
    let [classes, metadata, code] = [0, 1, 2].map(|it| now[it].saturating_sub(before[it]));
    let (loaders, of_loaders) = crate::classes::loader::of_program();
    format!(
        "since the program began, never given back: {classes} classes in {metadata} metadata \
         bytes, {code} code bytes; {loaders} class loaders of its own with {of_loaders} classes"
    )
}

/// Who had the methods that were loaded, and what was compiled of what comes with the machine.
fn sources(loaded: u32) -> String {
    let delivered = cache::LOADED_DELIVERED.load(Ordering::Relaxed);
    let own = loaded.saturating_sub(delivered);
    let of_platform = cache::COMPILED_OF_PLATFORM.load(Ordering::Relaxed);
    format!(
        "of these, delivered with the machine: {delivered} methods, kept by this user: {own}\n\
         compiled of the class library and the framework: {of_platform} methods"
    )
}

/// Methods that got newer code while the program ran, and what new code holds of others.
fn linked_again() -> String {
    let [linked, dropped] = [&again::LINKED, &again::DROPPED].map(|it| it.load(Ordering::Relaxed));
    let link_ms = ms(&again::LINK_NS);
    let bodies = bodies::WHOLE.load(Ordering::Relaxed);
    format!(
        "linked again: {linked} methods in {link_ms:.1} ms, {dropped} not looked after\n\
         bodies in place of calls: {bodies}, beside the smallest"
    )
}

/// The same at the program's end, with what is read only then.
pub(crate) fn last_figures() -> String {
    let superpages = Superpages::of_process().map(|it| it.text() + "\n");
    superpages.unwrap_or_default() + &figures()
}

/// The same figures as JSON, for `-Xtakt:report=FILE`.
pub(crate) fn write(file: &Path) {
    let counts = [
        ("methods_compiled", &cache::COMPILED),
        ("methods_compiled_of_platform", &cache::COMPILED_OF_PLATFORM),
        ("methods_from_cache", &cache::LOADED),
        ("methods_delivered", &cache::LOADED_DELIVERED),
        ("methods_linked_again", &again::LINKED),
        ("bodies_in_place_of_calls", &bodies::WHOLE),
    ];
    let mut text = format!(
        "{{\n\"collector\": {},\n",
        table::quoted(crate::options::collector_name())
    );
    for (name, count) in counts {
        text += &format!("\"{name}\": {},\n", count.load(Ordering::Relaxed));
    }
    let counters = heap_binding::heap().counters().each();
    let counters: Vec<String> = counters
        .map(|(name, value)| format!("\"{name}\": {value}"))
        .collect();
    text += &format!("\"heap\": {{{}}},\n", counters.join(", "));
    if let Some(superpages) = Superpages::of_process() {
        text += &superpages.json();
    }
    text += &format!("\"realtime_threads\": {}\n}}\n", table::json());
    if let Err(error) = std::fs::write(file, text) {
        console::warn(&format!("cannot write {}: {error}", file.display()));
    }
}
