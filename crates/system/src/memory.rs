// SPDX-License-Identifier: Apache-2.0
//! Who ends when memory runs short. A thread of its own hears of a shortage from the kernel
//! ([`Trigger`]), has applications told, and ends them one after the other while it stays: the
//! state machine says whom. It tells the kernel the same order, which holds where this one comes
//! too late: memory that is taken faster than the kernel measures.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write as _};
use std::sync::Arc;

use rt::bell::Bell;
use rt::clock::{Clock, Monotonic};
use rt::memory::{LockScope, ProcessLock};
use rt::policy::{Policy, Priority};
use rt::thread::{Builder, SpawnError};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use server::ProcessId;
use server::memory::{Left, Standing};

use crate::daemon::Shared;
use crate::pressure::Trigger;

/// Between what applications are told and the first end: for them to give something up.
const GRACE_NS: u64 = 100_000_000;
/// For a process that was ended to be gone, its memory with it.
const GONE_NS: u64 = 2_000_000_000;
/// Between looks for that.
const LOOK_NS: u64 = 2_000_000;
/// Between two looks at the order: what happens meanwhile is seen by the next.
const ORDER_NS: u64 = 50_000_000;
/// Above all ordinary threads, below all others of real time.
const PRIORITY: Priority = Priority::new(1).expect("1 to 99");

/// Of one shortage: each turn ends a process, or is the last.
const ENDS_MAX: usize = server::processes::PROCESSES_MAX;

/// The server's own `oom_score_adj`: it ends after the last real-time process.
const OWN_ORDER: i32 = -950;
/// The template's: what it is for goes on without it, more slowly.
const TEMPLATE_ORDER: i32 = 50;

/// A template is there: it does not have the server's place.
pub(crate) fn place_template(pid: u32) {
    // It is ours and has not been waited for.
    let _ = std::fs::write(order_of(pid), TEMPLATE_ORDER.to_string());
}

fn order_of(pid: u32) -> String {
    format!("/proc/{pid}/oom_score_adj")
}

/// Unless it is low enough: the server's starter may have given it a place.
fn lower(pid: u32, order: i32) -> io::Result<()> {
    let now = std::fs::read_to_string(order_of(pid))?;
    match now.trim().parse::<i32>() {
        Ok(now) if now <= order => Ok(()),
        _ => std::fs::write(order_of(pid), order.to_string()),
    }
}

/// Keeps watch until the program's end. Says what the kernel refuses.
pub(crate) fn begin(shared: &Arc<Shared>) -> Result<(), SpawnError> {
    let trigger = Trigger::set();
    if let Err(error) = &trigger {
        eprintln!(
            "takt system: no warning of a shortage of memory ({error}): the kernel alone ends \
             processes then, in the same order"
        );
    }
    // Its applications end with it, the real-time ones as well. Where it may not, it has the place
    // that it was started with, which is before all applications that are none.
    let _ = lower(std::process::id(), OWN_ORDER);
    let (shared, trigger) = (Arc::clone(shared), trigger.ok());
    let builder = Builder::new("memory").policy(Policy::ordinary());
    builder.spawn(move || watch(&shared, trigger)).map(drop)
}

fn watch(shared: &Shared, trigger: Option<Trigger>) {
    // Without the right to it, it comes when its turn comes.
    let _urgent = Policy::Fifo(PRIORITY).enter();
    // Pages that are there stay there, if a lock may be had: it works when there is no memory.
    let _pages = ProcessLock::acquire(LockScope::OnFault);
    let mut orders = Orders::default();
    loop {
        if wait(trigger.as_ref(), Some(&shared.moved), None) {
            relieve(shared);
        }
        orders.tell(shared);
        // A shortage does not wait for it.
        if wait(trigger.as_ref(), None, Some(ORDER_NS)) {
            relieve(shared);
        }
    }
}

/// Until memory is short, the bell rings, or so much time has passed; whether memory is short.
fn wait(trigger: Option<&Trigger>, bell: Option<&Bell>, ns: Option<u64>) -> bool {
    let trigger = trigger.map(|it| PollFd::new(it, PollFlags::PRI));
    let bell = bell.map(|it| PollFd::new(it, PollFlags::IN));
    let mut fds: Vec<PollFd<'_>> = trigger.into_iter().chain(bell).collect();
    let time = ns.map(|it| Timespec {
        tv_sec: 0,
        tv_nsec: it.cast_signed(),
    });
    if poll(&mut fds, time.as_ref()).is_err() {
        return false;
    }
    if let Some(bell) = fds.iter().find(|it| it.revents().contains(PollFlags::IN)) {
        // It counts its rings; all are heard.
        let _ = rustix::io::read(bell, &mut [0; 8]);
    }
    fds.iter().any(|it| it.revents().contains(PollFlags::PRI))
}

/// Has applications told, and ends some while memory stays short.
fn relieve(shared: &Shared) {
    let Some(left) = left() else { return };
    let now = Monotonic.now_ns();
    if !shared.with(|it| it.server.tell_of_shortage(left, now)) {
        return;
    }
    Monotonic.sleep_until(now + GRACE_NS);
    for _ in 0..ENDS_MAX {
        let Some((name, pid, left, standing)) = end_one(shared) else {
            return;
        };
        eprintln!(
            "takt system: {name} ends for memory ({}): {} of {} MiB were left",
            standing.importance.name(),
            left.available >> 20,
            left.total >> 20
        );
        let until = Monotonic.now_ns() + GONE_NS;
        while pid.is_some_and(has_memory) && Monotonic.now_ns() < until {
            Monotonic.sleep_until(Monotonic.now_ns() + LOOK_NS);
        }
    }
}

/// The one that is missed least: its name and number, and what was left.
fn end_one(shared: &Shared) -> Option<(String, Option<i32>, Left, Standing)> {
    let left = left()?;
    shared.with(|it| {
        let (name, ended) = it.server.end_for_memory(left, Monotonic.now_ns())?;
        let pid = it.running.get(&ended.process).map(|it| it.pid);
        Some((name, pid, left, ended))
    })
}

/// One that has ended has none, whether or not somebody has waited for it.
fn has_memory(pid: i32) -> bool {
    let pages = std::fs::read_to_string(format!("/proc/{pid}/statm"));
    pages.is_ok_and(|it| !it.starts_with("0 "))
}

/// As the kernel reckons; none where it does not.
pub fn left() -> Option<Left> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let bytes = |name: &str| {
        let line = text.lines().find_map(|it| it.strip_prefix(name))?;
        let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
        Some(kib << 10)
    };
    Some(Left {
        available: bytes("MemAvailable:")?,
        total: bytes("MemTotal:")?,
    })
}

/// What the kernel was told of each process.
#[derive(Default)]
struct Orders(BTreeMap<ProcessId, i32>);

impl Orders {
    /// Tells what has changed.
    fn tell(&mut self, shared: &Shared) {
        let now = Monotonic.now_ns();
        let all: Vec<(Standing, i32)> = shared.with(|it| {
            let all = it.server.standings(now).into_iter();
            let pid = |standing: &Standing| Some(it.running.get(&standing.process)?.pid);
            all.filter_map(|standing| Some((standing, pid(&standing)?)))
                .collect()
        });
        self.0
            .retain(|process, _| all.iter().any(|it| it.0.process == *process));
        for (standing, pid) in all {
            let order = standing.kill_order;
            if self.0.insert(standing.process, order) == Some(order) {
                continue;
            }
            if let Err(error) = tell_order(shared, standing.process, pid, order)
                && error.kind() != io::ErrorKind::NotFound
            {
                eprintln!(
                    "takt system: process {pid} keeps its place when the kernel ends processes \
                     for memory: oom_score_adj {order}: {error}"
                );
            }
        }
    }
}

/// The file is opened before the process is looked at: so it is not another's of the same number.
fn tell_order(shared: &Shared, process: ProcessId, pid: i32, order: i32) -> io::Result<()> {
    let path = order_of(pid.unsigned_abs());
    let mut file = File::options().write(true).open(path)?;
    let is_it = shared.with(|it| it.running.get(&process).is_some_and(|it| it.is_alive()));
    match is_it {
        true => file.write_all(order.to_string().as_bytes()),
        false => Ok(()),
    }
}
