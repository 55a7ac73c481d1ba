// SPDX-License-Identifier: Apache-2.0
//! What the server wants done: its only output. An assembler carries effects out, in order.

use crate::activities::Visit;
use crate::broadcasts::{Delivery, Outcome, Standing};
use crate::jobs::JobStep;
use crate::providers::ProviderStep;
use crate::services::ServiceStep;
use crate::{ActivityId, Payload, ProcessId, ProcessKey, RunId, ServiceId};

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Start a process; it says that it is there by `attached`.
    StartProcess {
        /// Which one.
        process: ProcessId,
        /// Whose, and its name.
        key: ProcessKey,
        /// The package whose code it loads.
        package: String,
    },
    /// End a process by force. It counts as gone already.
    EndProcess {
        /// Which one.
        process: ProcessId,
        /// For the log.
        why: EndReason,
    },
    /// One transaction for an activity.
    Activity {
        /// The process that it lives in.
        process: ProcessId,
        /// Which one.
        activity: ActivityId,
        /// What it goes through.
        visit: Visit,
    },
    /// One call for a service.
    Service {
        /// The process that it lives in.
        process: ProcessId,
        /// Which one.
        service: ServiceId,
        /// What is asked of it.
        step: ServiceStep,
    },
    /// One call for a run of a job.
    Job {
        /// The process that it runs in.
        process: ProcessId,
        /// Which one.
        run: RunId,
        /// What is asked of it.
        step: JobStep,
    },
    /// One call about a provider.
    Provider {
        /// Who is called.
        process: ProcessId,
        /// What is said.
        step: ProviderStep,
    },
    /// A broadcast comes to a receiver.
    Broadcast {
        /// The process that it lives in.
        process: ProcessId,
        /// What comes.
        delivery: Delivery,
    },
    /// An ordered broadcast is over.
    BroadcastResult {
        /// Who sent it.
        process: ProcessId,
        /// Its own number of it.
        number: i64,
        /// The broadcast's place among others.
        standing: Standing,
        /// The intent.
        payload: Payload,
        /// What the last receiver has left.
        outcome: Outcome,
    },
    /// A process is to give up what it can do without.
    Trim {
        /// Which one.
        process: ProcessId,
        /// `ComponentCallbacks2.TRIM_MEMORY_…`.
        level: i32,
    },
    /// Call `tick` at this time, or later.
    WakeAt(u64),
    /// The processors are to be held at another level: `frequency.level()`.
    Frequency,
    /// Nothing is in front, and home has no activity: start one.
    Home,
}

/// Why a process ends by force.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// It did not attach in time.
    StartLate,
    /// It did not answer in time.
    NotAnswering,
    /// Its package goes, or is replaced.
    PackageGone,
    /// Somebody asked for it.
    ForceStop,
    /// Something of its package was switched on or off.
    Switched,
    /// Nobody knows it.
    Unknown,
    /// A provider that it uses died.
    ProviderDied,
    /// Memory has run short.
    Memory,
}

/// What each room is given beside its own state.
pub struct Cx<'a> {
    /// The processes.
    pub processes: &'a mut crate::Processes,
    /// Where effects go.
    pub effects: &'a mut Vec<Effect>,
    /// Nanoseconds of a clock that does not go back.
    pub now: u64,
}
