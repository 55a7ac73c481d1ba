// SPDX-License-Identifier: Apache-2.0
//! What the machine says about itself, on standard error.

use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use rt::clock::{Clock, Monotonic};

use crate::classes::class::{Class, Method};
use crate::code::cache;
use crate::code::store;
use crate::link::loader;
use crate::link::verification;
use crate::memory;
use crate::objects::heap_binding;
use crate::options;
use crate::realtime::table;
use crate::threads::thread;

pub(crate) fn now_ns() -> u64 {
    Monotonic.now_ns()
}

static STARTED_NS: AtomicU64 = AtomicU64::new(0);

/// The machine begins now.
pub(crate) fn mark_start() {
    STARTED_NS.store(now_ns(), Ordering::Relaxed);
}

/// Milliseconds since [`mark_start`].
pub(crate) fn uptime_ms() -> i64 {
    ((now_ns() - STARTED_NS.load(Ordering::Relaxed)) / 1_000_000) as i64
}

/// Date and time of day here, as thread dumps begin.
pub(crate) fn local_time() -> String {
    let mut parts: core::mem::MaybeUninit<libc::tm> = core::mem::MaybeUninit::zeroed();
    // SAFETY: 1. Both structures are ours, and all-zero bytes are a time.
    let parts = unsafe {
        let now = libc::time(core::ptr::null_mut());
        libc::localtime_r(&now, parts.as_mut_ptr());
        parts.assume_init()
    };
    format!(
        "{}-{:02}-{:02} {:02}:{:02}:{:02}",
        parts.tm_year + 1900,
        parts.tm_mon + 1,
        parts.tm_mday,
        parts.tm_hour,
        parts.tm_min,
        parts.tm_sec
    )
}

/// A real-time thread leaves the writing to another: standard error may be a pipe that nobody
/// reads.
fn say(text: &str) {
    rt::lines::say(&format!("{text}\n"));
}

/// Before the end: by whoever it is, at once.
fn say_last(text: &str) {
    // Nothing is left to do when standard error is closed.
    let _ = std::io::stderr().write_all(format!("{text}\n").as_bytes());
}

/// A line of progress.
pub(crate) fn note(text: &str) {
    say(text);
}

/// A warning in the launcher's form.
pub(crate) fn warn(text: &str) {
    say(&format!("Takt warning: {text}"));
}

/// The machine cannot go on: says why and where, and ends the process.
pub(crate) fn fatal(text: &str) -> ! {
    say_last(&format!("Takt: fatal: {text}"));
    if let Some(thread) = crate::threads::thread::current() {
        for frame in crate::threads::unwind::frames(thread).iter().take(40) {
            say_last(&format!(
                "  at {} @{:?}",
                frame.method.full_name(),
                frame.at
            ));
        }
    }
    std::process::abort()
}

/// One line per class for `-verbose:class`.
pub(crate) fn class_loaded(class: &'static Class) {
    say(&format!("[class,load] {}", class.java_name()));
}

/// One line per method for `-Xtakt:compile`.
pub(crate) fn installed(how: &str, method: &'static Method, entry: u64) {
    say(&format!("[{how}] {entry:#x} {}", method.full_name()));
}

fn ms(ns: &AtomicU64) -> f64 {
    ns.load(Ordering::Relaxed) as f64 / 1e6
}

/// What the heap's verifier found in order, for `-Xtakt:verify`.
pub(crate) fn verified(verdict: &heap::Verdict) {
    if options::get().is_reporting {
        say(&format!(
            "heap verified: {} objects, {} reachable, {} with stuck counts",
            verdict.objects, verdict.reachable, verdict.stuck
        ));
    }
}

/// One line per collection for `-verbose:gc`.
pub(crate) fn collected(counters: &heap::Counters) {
    if !options::get().is_verbose_gc {
        return;
    }
    let mebibytes = |bytes: u64| bytes >> 20;
    say(&format!(
        "[gc] GC({}) {}M in use, {}M freed so far, {} traces, {} pauses",
        counters.epochs.get() - 1,
        mebibytes(counters.used_bytes.get()),
        mebibytes(counters.freed_bytes.get()),
        counters.traces.get(),
        counters.pauses.get(),
    ));
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
    say(&format!("heap: {}", heap_binding::name()));
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
    say(&format!(
        "compiled: {compiled} methods in {compile_ms:.1} ms, {} code bytes",
        cache::used_bytes()
    ));
    say(&format!(
        "from the code cache: {loaded} methods in {load_ms:.1} ms, {unfit} did not fit, {} not kept",
        store::DROPPED.load(Ordering::Relaxed)
    ));
    say(&format!("code cache: {}", store::describe()));
    let dropped = rt::lines::dropped_count();
    say(&format!("lines of real-time threads dropped: {dropped}"));
    say(&table::text());
    text
}

/// The same figures as JSON, for `-Xtakt:report=FILE`.
pub(crate) fn write(file: &Path) {
    let counts = [
        ("methods_compiled", &cache::COMPILED),
        ("methods_from_cache", &cache::LOADED),
    ];
    let mut text = format!(
        "{{\n\"collector\": {},\n",
        table::quoted(heap_binding::name())
    );
    for (name, count) in counts {
        text += &format!("\"{name}\": {},\n", count.load(Ordering::Relaxed));
    }
    let counters = heap_binding::heap().counters().each();
    let counters: Vec<String> = counters
        .map(|(name, value)| format!("\"{name}\": {value}"))
        .collect();
    text += &format!("\"heap\": {{{}}},\n", counters.join(", "));
    text += &format!("\"realtime_threads\": {}\n}}\n", table::json());
    if let Err(error) = std::fs::write(file, text) {
        warn(&format!("cannot write {}: {error}", file.display()));
    }
}
