// SPDX-License-Identifier: Apache-2.0
//! Lines for standard error that no real-time thread waits for: a bounded queue, which an ordinary
//! thread empties.
//!
//! Standard error may be a pipe that nobody reads, and its lock may be held by who waits for that.
//! So [`say`] writes at once for an ordinary thread; for a real-time one it copies the line into a
//! [`Lines`] and goes on. A line that finds the queue full is dropped and counted, and the count is
//! said before the next line. [`prepare`] starts the thread that writes.
//!
//! Bounds: for a real-time thread two system calls that do not wait, and a copy of at most
//! [`LINE_BYTES_MAX`]; no allocation and no lock. What is left when the process ends is waited for,
//! 200 ms at most.

use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::clock::{Clock, Monotonic};
use crate::policy::Policy;
use crate::sync::{Event, mpsc};
use crate::thread::Builder;

/// Longer lines are cut: as long as a message of Android's log usually is.
pub const LINE_BYTES_MAX: usize = 1000;
/// Lines of a quarter of a second, one each millisecond: a quarter of a megabyte.
pub const LINES_MAX: usize = 256;
/// What is left when the process ends is waited for so long, in steps.
const END_WAIT_NS: u64 = 200_000_000;
const END_STEP_NS: u64 = 1_000_000;
/// The writer calls little, and its stack is in memory from its start.
const STACK_BYTES: usize = 64 << 10;

struct Line {
    length: usize,
    bytes: [u8; LINE_BYTES_MAX],
}

/// See the module.
struct Lines {
    sender: mpsc::Sender<Line>,
    arrived: Event,
    pushed: AtomicU64,
    written: AtomicU64,
    dropped: AtomicU64,
    /// Of those, how many were said.
    told: AtomicU64,
}

static LINES: OnceLock<Lines> = OnceLock::new();

/// Starts the thread that writes for real-time threads. For an ordinary thread, before real-time
/// ones have anything to say. Where it cannot start, their lines are dropped.
pub fn prepare() {
    let mut receiver = None;
    let lines = LINES.get_or_init(|| {
        let (lines, own) = Lines::new(LINES_MAX);
        receiver = Some(own);
        lines
    });
    let Some(mut receiver) = receiver else { return };
    let writer = Builder::new("takt-lines")
        .policy(Policy::ordinary())
        .stack_bytes(STACK_BYTES)
        .spawn::<(), _>(move || {
            loop {
                lines.arrived.wait();
                lines.write_all(&mut receiver, &mut std::io::stderr());
            }
        });
    if let Ok(writer) = writer {
        // It ends with the process.
        drop(writer);
        // SAFETY: 1. `finish` takes nothing and does not unwind. 2. The library that holds it is
        // never unloaded.
        unsafe {
            libc::atexit(finish);
            at_quick_exit(finish);
        }
    }
}

// SAFETY: as C11 declares them (7.22.4).
unsafe extern "C" {
    safe fn quick_exit(code: libc::c_int) -> !;
    fn at_quick_exit(finish: extern "C" fn()) -> libc::c_int;
}

/// Ends the process when what real-time threads had to say is written, by every library of the
/// process that has lines: nothing else is tidied up, since other threads still run.
pub fn leave(code: i32) -> ! {
    quick_exit(code)
}

/// Writes text of whole lines to standard error: at once, or, for a real-time thread, soon.
pub fn say(text: &str) {
    let is_real_time = Policy::of_current().is_ok_and(Policy::is_real_time);
    match LINES.get() {
        Some(lines) if is_real_time => lines.push(text),
        // Closed: nothing is left to do.
        _ => drop(std::io::stderr().write_all(text.as_bytes())),
    }
}

/// Writes text of any length at the end of the process, behind what real-time threads had to say
/// through this library. It waits for those lines, so only a thread at its end calls it. Another
/// library of the process has a queue of its own, whose lines may come later.
pub fn say_last(text: &str) {
    finish();
    // Closed: nothing is left to do.
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// Lines of real-time threads that found no room so far.
pub fn dropped_count() -> u64 {
    let lines = LINES.get();
    lines.map_or(0, |it| it.dropped.load(Ordering::Relaxed))
}

extern "C" fn finish() {
    let Some(lines) = LINES.get() else { return };
    let until_ns = Monotonic.now_ns() + END_WAIT_NS;
    let is_left = || lines.written.load(Ordering::Acquire) < lines.pushed.load(Ordering::Acquire);
    while is_left() && Monotonic.now_ns() < until_ns {
        Monotonic.sleep_until(Monotonic.now_ns() + END_STEP_NS);
    }
}

impl Lines {
    fn new(room: usize) -> (Self, mpsc::Receiver<Line>) {
        let (sender, receiver) = mpsc::queue(room);
        let lines = Self {
            sender,
            arrived: Event::new(),
            pushed: AtomicU64::new(0),
            written: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            told: AtomicU64::new(0),
        };
        (lines, receiver)
    }

    fn push(&self, text: &str) {
        let length = text.floor_char_boundary(LINE_BYTES_MAX - 1);
        let mut line = Line {
            length,
            bytes: [0; LINE_BYTES_MAX],
        };
        line.bytes[..length].copy_from_slice(&text.as_bytes()[..length]);
        if length < text.len() {
            line.bytes[length] = b'\n';
            line.length += 1;
        }
        let count = match self.sender.try_push(line) {
            Ok(()) => &self.pushed,
            Err(_) => &self.dropped,
        };
        // Pairs with Acquire in `finish`.
        count.fetch_add(1, Ordering::Release);
        self.arrived.set();
    }

    /// All that have arrived; before a line, how many were dropped since the last one.
    fn write_all(&self, receiver: &mut mpsc::Receiver<Line>, out: &mut dyn Write) {
        while let Some(line) = receiver.try_pop() {
            let dropped = self.dropped.load(Ordering::Relaxed);
            let count = dropped - self.told.swap(dropped, Ordering::Relaxed);
            if count > 0 {
                let text =
                    format!("Takt warning: {count} lines of real-time threads were dropped\n");
                let _ = out.write_all(text.as_bytes());
            }
            // Closed: nothing is left to do.
            let _ = out.write_all(&line.bytes[..line.length]);
            // Pairs with Acquire in `finish`.
            self.written.fetch_add(1, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(lines: &Lines, receiver: &mut mpsc::Receiver<Line>) -> String {
        let mut out = Vec::new();
        lines.write_all(receiver, &mut out);
        String::from_utf8(out).unwrap()
    }

    /// Nobody writes: who pushes goes on all the same.
    #[test]
    fn lines_beyond_the_room_are_dropped_and_counted_once() {
        let (lines, mut receiver) = Lines::new(3);
        (0..5).for_each(|it| lines.push(&format!("line {it}\n")));
        let text = written(&lines, &mut receiver);
        let said = "Takt warning: 2 lines of real-time threads were dropped\n";
        assert_eq!(text, format!("{said}line 0\nline 1\nline 2\n"));
        lines.push("line 5\n");
        assert_eq!(written(&lines, &mut receiver), "line 5\n");
        assert_eq!(lines.written.load(Ordering::Relaxed), 4);
    }

    #[test]
    fn long_lines_are_cut_between_characters() {
        let (lines, mut receiver) = Lines::new(1);
        lines.push(&"ä".repeat(LINE_BYTES_MAX));
        let text = written(&lines, &mut receiver);
        let (characters, end) = text.split_at(text.len() - 1);
        assert_eq!(end, "\n");
        assert_eq!(characters.chars().count(), (LINE_BYTES_MAX - 1) / 2);
    }
}
