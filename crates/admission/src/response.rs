// SPDX-License-Identifier: Apache-2.0
//! Response-time analysis of a FIFO task on its processor.

use core::fmt;

use crate::machine::Machine;
use crate::task::Task;

/// What an analysis may still cost, in terms of its sums: so it ends, whatever the set.
#[derive(Debug)]
pub(crate) struct Budget(u64);

/// The budget is spent.
#[derive(Debug)]
pub(crate) struct Spent;

impl Budget {
    /// Less than a second on any machine, and far more than the sets of the tests need.
    pub(crate) fn new() -> Self {
        Self(50_000_000)
    }

    fn spend(&mut self, terms: usize) -> Result<(), Spent> {
        self.0 = self.0.checked_sub(terms as u64).ok_or(Spent)?;
        Ok(())
    }
}

/// How long a task takes at the most, and because of what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// Whose.
    pub task: String,
    /// Where; none for DEADLINE tasks, which move.
    pub processor: Option<u32>,
    /// From its release until it is done. In a refusal: at least.
    pub response_ns: u64,
    /// What it has.
    pub deadline_ns: u64,
    /// What makes up the response.
    pub charges: Vec<Charge>,
}

/// A part of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Charge {
    /// A task's name, `itself`, `locks` or `machine`.
    pub by: String,
    /// How long.
    pub ns: u64,
}

impl Response {
    /// Whether the task is done in time.
    pub fn is_in_time(&self) -> bool {
        self.response_ns <= self.deadline_ns
    }
}

impl fmt::Display for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = |ns: u64| format!("{}.{:03}", ns / 1000, ns % 1000);
        write!(f, "{}", self.task)?;
        if let Some(processor) = self.processor {
            write!(f, " on processor {processor}")?;
        }
        write!(
            f,
            ": {} of {} µs",
            at(self.response_ns),
            at(self.deadline_ns)
        )?;
        for (index, charge) in self.charges.iter().enumerate() {
            let sign = if index == 0 { " =" } else { " +" };
            write!(f, "{sign} {} {}", charge.by, at(charge.ns))?;
        }
        Ok(())
    }
}

/// Who else computes where a task does.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Others<'a> {
    /// FIFO tasks of its processor that are no less urgent. One of the same priority counts: each
    /// may wait for the other, whichever comes first.
    pub(crate) fifo: &'a [&'a Task],
    /// All DEADLINE tasks.
    pub(crate) deadline: &'a [&'a Task],
}

impl<'a> Others<'a> {
    /// Each one's most work within a busy window of this length.
    fn work(self, window_ns: u64, wake_ns: u64) -> impl Iterator<Item = (&'a Task, u64)> {
        let fifo = self.fifo.iter().map(move |it| {
            // A release that the machine starts late is that much nearer to the next.
            let releases = (window_ns + wake_ns).div_ceil(it.period_ns);
            (*it, releases.saturating_mul(it.runtime_ns))
        });
        let deadline = self.deadline.iter();
        fifo.chain(deadline.map(move |it| (*it, it.work_within(window_ns))))
    }
}

/// The least window with `window = runtime + blocking + work of others within it`, or the first one
/// that ends behind the deadline.
pub(crate) fn response(
    machine: &Machine,
    task: &Task,
    processor: u32,
    others: Others<'_>,
    budget: &mut Budget,
) -> Result<Response, Spent> {
    let own_ns = task.runtime_ns.saturating_add(task.blocking_ns);
    let left_ns = task.deadline_ns.saturating_sub(machine.wake_ns);
    let mut window_ns = own_ns;
    // Where the last sum was taken.
    let mut within_ns = 0;
    while window_ns != within_ns && window_ns <= left_ns {
        budget.spend(1 + others.fifo.len() + others.deadline.len())?;
        within_ns = window_ns;
        let work = others.work(within_ns, machine.wake_ns);
        window_ns = work.fold(own_ns, |sum, (_, ns)| sum.saturating_add(ns));
    }
    let own = [
        ("itself", task.runtime_ns),
        ("locks", task.blocking_ns),
        ("machine", machine.wake_ns),
    ];
    let own = own.into_iter().map(|(by, ns)| (by.to_owned(), ns));
    let work = others.work(within_ns, machine.wake_ns);
    let charges = own.chain(work.map(|(it, ns)| (it.name.clone(), ns)));
    let charges = charges.filter(|(_, ns)| *ns > 0);
    Ok(Response {
        task: task.name.clone(),
        processor: Some(processor),
        response_ns: window_ns.saturating_add(machine.wake_ns),
        deadline_ns: task.deadline_ns,
        charges: charges.map(|(by, ns)| Charge { by, ns }).collect(),
    })
}
