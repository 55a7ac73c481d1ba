// SPDX-License-Identifier: Apache-2.0
//! What this program holds of the machine: whether a dead peer left something here.
//!
//! It counts what the whole program has, so a test that counts runs [`alone`]: others beside it
//! open descriptors and start threads as well.

#![allow(dead_code, reason = "each test program uses its part")]

use std::process::Command;

use rt::clock::{Clock, Monotonic};

const ALONE: &str = "BINDER_TEST_ALONE";
const WAIT_NS: u64 = 10_000_000_000;
const LOOK_NS: u64 = 200_000;
/// So many looks at least: the machine may stand still for most of the time.
const LOOKS_MIN: u32 = 2_000;

/// Runs `body`, a test's, in a program where no other test runs. `name` is the test's.
pub(crate) fn alone(name: &str, body: impl FnOnce()) {
    if std::env::var(ALONE).is_ok_and(|it| it == name) {
        return body();
    }
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--quiet"])
        .env(ALONE, name)
        .status();
    assert!(status.unwrap().success(), "{name}, in a program of its own");
}

/// Tells a person how far a long run is.
pub(crate) struct Progress {
    what: &'static str,
    count: u64,
    start_ns: u64,
}

impl Progress {
    /// Rounds between what it says; an excerpt is over before.
    const EACH: u64 = 500;

    pub(crate) fn of(what: &'static str, count: u64) -> Self {
        let start_ns = Monotonic.now_ns();
        Self {
            what,
            count,
            start_ns,
        }
    }

    /// So many rounds are done.
    pub(crate) fn tell(&self, done: u64) {
        let Self {
            what,
            count,
            start_ns,
        } = self;
        if done.is_multiple_of(Self::EACH) || done == *count && done > Self::EACH {
            let seconds = (Monotonic.now_ns() - start_ns) / 1_000_000_000;
            eprintln!("{what}: {done} of {count} in {seconds} s");
        }
    }
}

/// Descriptors, threads, and files of links that are mapped.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Left {
    fds: usize,
    threads: usize,
    mapped: usize,
}

impl Left {
    pub(crate) fn now() -> Self {
        let count = |folder| std::fs::read_dir(folder).unwrap().count();
        Self {
            fds: count("/proc/self/fd"),
            threads: count("/proc/self/task"),
            mapped: mapped().len(),
        }
    }

    /// Waits until nothing is more than it was; `of` says after what. `let_go` drops what a call
    /// may have kept that a looper still serves: it goes on for a moment behind a caller's death.
    #[track_caller]
    pub(crate) fn await_no_more(self, of: &dyn std::fmt::Debug, let_go: impl Fn()) {
        let end_ns = Monotonic.now_ns() + WAIT_NS;
        let mut looks = 0;
        while !self.is_no_more() {
            let_go();
            looks += 1;
            let now = Self::now();
            let is_over = looks > LOOKS_MIN && Monotonic.now_ns() >= end_ns;
            assert!(!is_over, "{of:?}: {self:?} became {now:?}\n{}", details());
            Monotonic.sleep_until(Monotonic.now_ns() + LOOK_NS);
        }
    }

    fn is_no_more(self) -> bool {
        let now = Self::now();
        now.fds <= self.fds && now.threads <= self.threads && now.mapped <= self.mapped
    }
}

fn mapped() -> Vec<String> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let lines = maps.lines().filter(|it| it.contains("memfd:"));
    lines.map(str::to_owned).collect()
}

/// All of it by name.
fn details() -> String {
    let entries = |folder| std::fs::read_dir(folder).unwrap().flatten();
    let fds = entries("/proc/self/fd").map(|it| {
        let target = std::fs::read_link(it.path()).unwrap_or_default();
        format!("{} {}", it.path().display(), target.display())
    });
    let threads = entries("/proc/self/task").map(|it| {
        let text = |name| std::fs::read_to_string(it.path().join(name)).unwrap_or_default();
        let (name, call) = (text("comm"), text("syscall"));
        format!("{} {} in {}", it.path().display(), name.trim(), call.trim())
    });
    let lines: Vec<String> = fds.chain(threads).chain(mapped()).collect();
    lines.join("\n")
}
