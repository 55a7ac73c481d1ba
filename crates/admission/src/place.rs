// SPDX-License-Identifier: Apache-2.0
//! A processor for each FIFO task, such that all are in time.

use crate::machine::Machine;
use crate::response::{Budget, Others, Response, Spent, response};
use crate::task::Task;
use crate::verdict::{Admitted, Refusal, Verdict};

/// Places the FIFO tasks, the most urgent first. Those are not changed by what comes later, so a
/// search that goes back finds an assignment if there is one and the budget lasts.
pub(crate) fn place(machine: &Machine, tasks: &[Task]) -> Result<Verdict, Refusal> {
    let mut order: Vec<(usize, u8, Option<u32>)> = Vec::new();
    for (at, task) in tasks.iter().enumerate() {
        if let Some((priority, processor)) = task.fifo() {
            order.push((at, priority, processor));
        }
    }
    // Of equal priority, those that have no choice come first, then those with most to do.
    order.sort_by_key(|&(at, priority, processor)| {
        let share = u128::from(tasks[at].runtime_ns) * 1_000_000_000;
        let share = share / u128::from(tasks[at].period_ns);
        (u8::MAX - priority, processor.is_none(), u128::MAX - share)
    });
    let mut search = Search {
        machine,
        tasks,
        above: tasks.iter().filter(|it| it.is_deadline()).collect(),
        order,
        chosen: Vec::new(),
        nearest: None,
        budget: Budget::new(),
    };
    match search.go() {
        Err(Spent) => Err(Refusal::TooHard),
        Ok(false) => Err(Refusal::Late(search.nearest.map(|(_, it)| it))),
        Ok(true) => search.verdict().map_err(|Spent| Refusal::TooHard),
    }
}

struct Search<'a> {
    machine: &'a Machine,
    tasks: &'a [Task],
    above: Vec<&'a Task>,
    /// Index, priority and pin of each FIFO task, in the order of placing.
    order: Vec<(usize, u8, Option<u32>)>,
    /// Where the first ones are.
    chosen: Vec<u32>,
    /// Of those that are not in time, the one that came farthest, with how far.
    nearest: Option<(usize, Response)>,
    budget: Budget,
}

impl Search<'_> {
    /// First fit, and back where nothing fits. Without recursion, since a set may be long.
    fn go(&mut self) -> Result<bool, Spent> {
        let mut next = 0;
        while self.chosen.len() < self.order.len() {
            match self.fit(next)? {
                Some(processor) => {
                    self.chosen.push(processor);
                    next = 0;
                }
                None => match self.chosen.pop() {
                    Some(before) => next = before + 1,
                    None => return Ok(false),
                },
            }
        }
        Ok(true)
    }

    /// The first processor from `from` on where the next task fits.
    fn fit(&mut self, from: u32) -> Result<Option<u32>, Spent> {
        let depth = self.chosen.len();
        let (_, _, pin) = self.order[depth];
        for processor in from..self.machine.processors {
            if pin.is_some_and(|it| it != processor) {
                continue;
            }
            if self.is_in_time(processor)? {
                return Ok(Some(processor));
            }
            // Empty processors are all alike, unless somebody is still to come who is pinned.
            let is_pinned = |it: &(usize, u8, Option<u32>)| it.2.is_some();
            if !self.chosen.contains(&processor) && !self.order[depth..].iter().any(is_pinned) {
                break;
            }
        }
        Ok(None)
    }

    /// Whether the next task is in time there, and those of its priority that are there already.
    fn is_in_time(&mut self, processor: u32) -> Result<bool, Spent> {
        let depth = self.chosen.len();
        let (_, priority, _) = self.order[depth];
        self.chosen.push(processor);
        let mut is_in_time = true;
        for at in (0..=depth).rev() {
            if self.order[at].1 != priority {
                break;
            }
            if self.chosen[at] != processor {
                continue;
            }
            let found = self.response(at)?;
            if !found.is_in_time() {
                let is_nearer = |(it, before): &(usize, Response)| {
                    (at, before.response_ns) >= (*it, found.response_ns)
                };
                if self.nearest.as_ref().is_none_or(is_nearer) {
                    self.nearest = Some((at, found));
                }
                is_in_time = false;
                break;
            }
        }
        self.chosen.pop();
        Ok(is_in_time)
    }

    /// Of the task at this place of the order, among those that are placed.
    fn response(&mut self, at: usize) -> Result<Response, Spent> {
        let (index, priority, _) = self.order[at];
        let processor = self.chosen[at];
        let there = self.order.iter().zip(&self.chosen).enumerate();
        let others = there.filter(|&(other, (&(_, its, _), &place))| {
            other != at && its >= priority && place == processor
        });
        let fifo: Vec<&Task> = others.map(|(_, (&(it, ..), _))| &self.tasks[it]).collect();
        let others = Others {
            fifo: &fifo,
            deadline: &self.above,
        };
        let task = &self.tasks[index];
        response(self.machine, task, processor, others, &mut self.budget)
    }

    /// All bounds, once everything has its place.
    fn verdict(&mut self) -> Result<Verdict, Spent> {
        let mut admitted: Vec<Option<Admitted>> = vec![None; self.tasks.len()];
        for at in 0..self.order.len() {
            admitted[self.order[at].0] = Some(Admitted::Fifo(self.response(at)?));
        }
        let all = admitted.into_iter().zip(self.tasks);
        let all = all.map(|(it, task)| it.unwrap_or_else(|| Admitted::deadline(task)));
        Ok(Verdict {
            tasks: all.collect(),
        })
    }
}
