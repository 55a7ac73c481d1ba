// SPDX-License-Identifier: Apache-2.0
//! What the machine says on standard error, and what time it is.
//!
//! The lowest room: it knows nothing of Java, and every other one may use it. Figures that are
//! gathered from all rooms are in [`crate::inspect::figures`].

use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rt::clock::{Clock, Monotonic};

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

/// A line of progress. A real-time thread leaves the writing to another: standard error may be a
/// pipe that nobody reads.
pub(crate) fn note(text: &str) {
    rt::lines::say(&format!("{text}\n"));
}

/// Before the end: no matter by whom, at once.
fn say_last(text: &str) {
    // Nothing is left to do when standard error is closed.
    let _ = std::io::stderr().write_all(format!("{text}\n").as_bytes());
}

/// A warning in the launcher's form.
pub(crate) fn warn(text: &str) {
    note(&format!("Takt warning: {text}"));
}

/// What the calling thread is in, one line for each frame.
static FRAMES: OnceLock<fn() -> Vec<String>> = OnceLock::new();

/// `frames` says from now on where a thread was that could not go on.
pub(crate) fn tell_frames_by(frames: fn() -> Vec<String>) {
    let _ = FRAMES.set(frames);
}

/// The machine cannot go on: says why and where, and ends the process.
pub(crate) fn fatal(text: &str) -> ! {
    say_last(&format!("Takt: fatal: {text}"));
    for frame in FRAMES.get().map(|frames| frames()).unwrap_or_default() {
        say_last(&format!("  at {frame}"));
    }
    std::process::abort()
}
