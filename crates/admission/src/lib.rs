// SPDX-License-Identifier: Apache-2.0
//! Admission: can these real-time tasks meet their deadlines together, and what shows it?
//!
//! [`admit`] takes a [`Machine`] and all its [`Task`]s and gives each a bound, or refuses by name.
//! It knows Linux's order: SCHED_DEADLINE above SCHED_FIFO, both above ordinary threads.
//!
//! - **DEADLINE tasks** move between processors, earliest deadline first. They are held against the
//!   density bound of Goossens, Funk and Baruah ("Priority-driven scheduling of periodic task
//!   systems on multiprocessors", 2003), with densities as Bertogna, Cirinei and Lipari have it
//!   ("Improved schedulability analysis of EDF on multiprocessor platforms", 2005).
//! - **FIFO tasks** are pinned. Each processor gets a response-time analysis (Audsley, Burns,
//!   Richardson, Tindell and Wellings, "Applying new scheduling theory to static priority
//!   pre-emptive scheduling", 1993), with the DEADLINE tasks' work above it. As nothing says where
//!   that work runs, each processor is charged with all of it.
//! - **The kernel's limits**: the sum of DEADLINE tasks, and the throttle of real-time threads.
//!
//! All times are nanoseconds. Everything ends: the steps of an analysis and of the search for
//! processors are bounded, and who exceeds them is refused by name.
#![forbid(unsafe_code)]

mod deadline;
mod machine;
mod place;
mod response;
mod task;
mod verdict;

pub use machine::{Machine, Throttle};
pub use response::{Charge, Response};
pub use task::{Policy, Task, TaskFault};
pub use verdict::{Admitted, Refusal, Verdict};

/// How many tasks a set may have.
pub const TASKS_MAX: usize = 1024;

/// Analyses a set.
///
/// # Errors
///
/// A [`Refusal`] says which task cannot be promised its deadline, and of what its time consists.
pub fn admit(machine: &Machine, tasks: &[Task]) -> Result<Verdict, Refusal> {
    if tasks.len() > TASKS_MAX {
        return Err(Refusal::TooMany(tasks.len()));
    }
    for task in tasks {
        task.check(machine)
            .map_err(|fault| Refusal::Task(task.name.clone(), fault))?;
    }
    deadline::check(machine, tasks)?;
    let verdict = place::place(machine, tasks)?;
    machine::check_throttle(machine, tasks, &verdict)?;
    Ok(verdict)
}
