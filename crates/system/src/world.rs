// SPDX-License-Identifier: Apache-2.0
//! [`World`]: a server's state, and what is known of its processes beside that.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};

use agent::State;
use rt::peer::PidFd;
use rt::policy::Priority;
use server::{Death, ProcessId};

use crate::logs::Logs;
use crate::protocol::BoundRow;

/// See the module. One lock covers it.
#[derive(Default)]
pub(crate) struct World {
    state: State,
    pub(crate) logs: Logs,
    /// One for each of the kernel's processes.
    bounds: BTreeMap<ProcessId, Bounds>,
    /// The process that applications are copies of, when it may be copied.
    pub(crate) template: Option<u32>,
}

/// What a process is confined by.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bounds {
    pub(crate) sandbox: Option<Vec<BoundRow>>,
    /// The most urgent real-time priority that the server grants its threads.
    pub(crate) granted: Option<Priority>,
}

impl World {
    /// Carries out what an event has left.
    pub(crate) fn settle(&mut self, now: u64) {
        self.state.settle(now);
        for (pid, why) in std::mem::take(&mut self.state.ended) {
            let text = format!("takt system ends this process: {why:?}\n");
            self.logs.hear(pid.unsigned_abs(), text.as_bytes());
        }
    }

    /// What the loop has to look at when it changes.
    pub(crate) fn jobs_stand(&self) -> (u64, u64) {
        let jobs = &self.server.jobs;
        (jobs.kept_changes(), jobs.wishes())
    }

    /// A process of the kernel's is there; it has not attached.
    pub(crate) fn began(
        &mut self,
        process: ProcessId,
        pidfd: PidFd,
        sandbox: Option<Vec<BoundRow>>,
    ) {
        let granted = None;
        self.bounds.insert(process, Bounds { sandbox, granted });
        self.state.began(process, pidfd);
    }

    /// What the server grants its threads.
    pub(crate) fn granted(&mut self, process: ProcessId, most: Option<Priority>) {
        if let Some(bounds) = self.bounds.get_mut(&process) {
            bounds.granted = most;
        }
    }

    /// A process is gone.
    pub(crate) fn died(&mut self, process: ProcessId, how: Death, now: u64) {
        self.bounds.remove(&process);
        self.state.died(process, how, now);
    }

    /// What a process is confined by; none if the kernel does not have it.
    pub(crate) fn bounds(&self, process: ProcessId) -> Option<&Bounds> {
        self.bounds.get(&process)
    }
}

/// Most events are the state's alone.
impl Deref for World {
    type Target = State;

    fn deref(&self) -> &State {
        &self.state
    }
}

impl DerefMut for World {
    fn deref_mut(&mut self) -> &mut State {
        &mut self.state
    }
}
