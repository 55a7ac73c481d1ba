// SPDX-License-Identifier: Apache-2.0
//! The thread dump that SIGQUIT and tools ask for, in the form of `java`'s: every Java thread with
//! its stack, the process's other threads by name, deadlocks, and what the heap holds.
//!
//! Each thread is looked at by itself ([`snapshot`]) and printed before the next one, so none waits
//! for another, and a thread that reaches no safepoint in time is named and left out.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::classes::known::{known, offset};
use crate::classes::object::ObjectRef;
use crate::console;
use crate::inspect::backtrace;
use crate::inspect::snapshot::{self, How, Seen, Snapshot};
use crate::link::loader;
use crate::memory;
use crate::monitors::java_thread::{self, STATUS_BLOCKED, STATUS_PARKED};
use crate::objects::handles;
use crate::objects::heap_binding;
use crate::objects::string;
use crate::threads::thread::{self, Thread};

/// How long one thread may take to its next safepoint before the dump goes on without it.
const WAIT_NS: u64 = 500_000_000;

/// Writes the dump, by a thread that is attached for it, has no Java object and is not in it.
pub(crate) fn write(out: &mut dyn std::io::Write) {
    let own = thread::attach(&[]);
    // Whole texts, so that lines of the program's own output do not come between.
    let mut write = |text: String| {
        // Nothing is left to do when standard output is closed.
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    };
    write(header());
    let threads = thread::all();
    for target in &threads {
        if !core::ptr::eq(Arc::as_ptr(target), own) {
            write(thread_text(target));
        }
    }
    write(machine_threads(&threads));
    write(deadlocks());
    write(memory_text());
    thread::detach(own);
}

fn header() -> String {
    format!(
        "{}\nFull thread dump Takt {} ({}):\n\n",
        console::local_time(),
        env!("CARGO_PKG_VERSION"),
        crate::options::collector_name()
    )
}

fn thread_text(target: &Thread) -> String {
    let mut text = String::new();
    // Writing into a string cannot fail.
    let _ = write_thread(&mut text, target);
    text
}

fn write_thread(out: &mut String, target: &Thread) -> std::fmt::Result {
    let Some(object) = target.object().some() else {
        return Ok(());
    };
    let class = known().thread;
    let number: i64 = object.get(offset(class, "tid"));
    let name = quoted_name(target);
    let daemon = match object.get::<u8>(offset(class, "daemon")) {
        0 => "",
        _ => " daemon",
    };
    let priority: i32 = object.get(offset(class, "priority"));
    let status: i32 = object.get(known().thread_status);
    let seen = snapshot::take(
        target,
        snapshot::DEPTH_MAX,
        Some(console::now_ns() + WAIT_NS),
    );
    write!(out, "{name} #{number}{daemon} prio={priority} os_prio=0")?;
    if let Some(cpu_ns) = target.cpu_ns(true) {
        write!(out, " cpu={:.2}ms", cpu_ns as f64 / 1e6)?;
    }
    let elapsed_ns = console::now_ns() - target.attached_ns;
    writeln!(
        out,
        " elapsed={:.2}s tid={:#018x} nid={:#x} {}",
        elapsed_ns as f64 / 1e9,
        core::ptr::from_ref(target) as u64,
        target.tid(),
        activity(status)
    )?;
    writeln!(
        out,
        "   java.lang.Thread.State: {}",
        java_thread::state_name(status)
    )?;
    match seen {
        Ok(seen) => write_frames(out, target, &seen, status)?,
        Err(error) => writeln!(out, "\t({error})")?,
    }
    out.push('\n');
    Ok(())
}

fn write_frames(
    out: &mut String,
    target: &Thread,
    seen: &Snapshot,
    status: i32,
) -> std::fmt::Result {
    for (index, frame) in seen.frames.iter().enumerate() {
        writeln!(out, "\tat {}", backtrace::text_of(*frame))?;
        if index == 0 {
            write_awaited(out, target, seen, status)?;
        }
        for (_, lock) in seen.locks.iter().filter(|(at, _)| *at == index) {
            // A thread that is about to enter a monitor has it in the frame, but not yet.
            if status != STATUS_BLOCKED || Some(lock) != seen.waits_for.as_ref() {
                writeln!(out, "\t- locked {}", shown(lock))?;
            }
        }
    }
    Ok(())
}

/// What the thread waits for, below its innermost frame.
fn write_awaited(
    out: &mut String,
    target: &Thread,
    seen: &Snapshot,
    status: i32,
) -> std::fmt::Result {
    if let Some(awaited) = &seen.waits_for {
        let how = if status == STATUS_BLOCKED {
            "waiting to lock"
        } else {
            "waiting on"
        };
        return writeln!(out, "\t- {how} {}", shown(awaited));
    }
    if status & STATUS_PARKED == 0 {
        return Ok(());
    }
    match snapshot::awaited(target).and_then(|awaited| Seen::of(awaited.object)) {
        Some(blocker) => writeln!(out, "\t- parking to wait for  {}", shown(&blocker)),
        None => Ok(()),
    }
}

/// As HotSpot writes an object.
fn shown(seen: &Seen) -> String {
    let class = seen.class.java_name();
    match seen.mirrored {
        Some(class) => format!(
            "<{:#018x}> (a java.lang.Class for {})",
            seen.address,
            class.java_name()
        ),
        None => format!("<{:#018x}> (a {class})", seen.address),
    }
}

/// What stands behind the numbers of a thread.
fn activity(status: i32) -> &'static str {
    match java_thread::state_name(status) {
        "RUNNABLE" => "runnable",
        "BLOCKED (on object monitor)" => "waiting for monitor entry",
        "WAITING (on object monitor)" | "TIMED_WAITING (on object monitor)" => "in Object.wait()",
        _ => "waiting on condition",
    }
}

fn quoted_name(target: &Thread) -> String {
    let name = |object: ObjectRef| string::text(object.get_ref(offset(known().thread, "name")));
    let name = target.object().some().map(name);
    format!(
        "\"{}\"",
        name.unwrap_or_else(|| format!("thread {}", target.tid()))
    )
}

/// The process's threads that run no Java: the collector and the like.
fn machine_threads(java: &[Arc<Thread>]) -> String {
    let mut text = String::new();
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten();
    let numbers = tasks.filter_map(|task| task.ok()?.file_name().to_str()?.parse::<u32>().ok());
    for tid in numbers {
        let is_java = java
            .iter()
            .any(|thread| thread.tid() == tid && !thread.object().is_null());
        let name = std::fs::read_to_string(format!("/proc/self/task/{tid}/comm"));
        if let (false, Ok(name)) = (is_java, name) {
            let _ = writeln!(text, "\"{}\" os_prio=0 nid={tid:#x}\n", name.trim());
        }
    }
    text
}

fn deadlocks() -> String {
    let circles = snapshot::deadlocks(true);
    let mut text = String::new();
    for circle in &circles {
        text.push_str("\nFound one Java-level deadlock:\n=============================\n");
        for target in circle {
            let Some(awaited) = snapshot::awaited(target) else {
                continue;
            };
            let how = if awaited.how == How::Monitor {
                "lock monitor"
            } else {
                "own synchronizer"
            };
            let object = Seen::of(awaited.object)
                .as_ref()
                .map_or_else(String::new, shown);
            let owner = awaited
                .owner
                .map_or_else(String::new, |owner| quoted_name(&owner));
            let _ = writeln!(
                text,
                "{}:\n  waiting to {how} {object},\n  which is held by {owner}",
                quoted_name(target)
            );
        }
    }
    if !circles.is_empty() {
        let s = if circles.len() == 1 { "" } else { "s" };
        let _ = writeln!(text, "\nFound {} deadlock{s}.\n", circles.len());
    }
    text
}

/// What handles, heap and metadata take.
pub(crate) fn memory_text() -> String {
    let (strong, weak) = handles::counts();
    let kib = |bytes: u64| bytes >> 10;
    let (used, committed) = (heap_binding::used_bytes(), heap_binding::committed_bytes());
    format!(
        "JNI global refs: {strong}, weak refs: {weak}\n\nHeap\n {}   total {}K, used {}K\n Metadata        used {}K, {} classes\n\n",
        crate::options::collector_name(),
        kib(committed),
        kib(used),
        kib(memory::metadata_bytes()),
        loader::defined_count()
    )
}
