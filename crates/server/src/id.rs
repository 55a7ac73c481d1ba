// SPDX-License-Identifier: Apache-2.0
//! Names for what the server keeps. Numbers are given once and never again.

use serde::{Deserialize, Serialize};

macro_rules! number {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u64);
    };
}

number!(
    /// A process, from the wish for it to its end.
    ProcessId
);
number!(
    /// An activity's record.
    ActivityId
);
number!(
    /// A stack of activities.
    TaskId
);
number!(
    /// A service's record.
    ServiceId
);
number!(
    /// A connection of a client to a service.
    ConnectionId
);
number!(
    /// A run of a job.
    RunId
);
number!(
    /// A `PendingIntent`.
    PendingId
);
number!(
    /// An ordered broadcast on its way.
    BroadcastId
);
number!(
    /// What an application sent, kept by whom it passes: extras, a result's data.
    Payload
);

/// What tells a process from others while it is wished for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ProcessKey {
    /// Its user.
    pub uid: u32,
    /// As the manifest has it: the package's name, or another.
    pub name: String,
}

/// Gives numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 += 1;
        self.0
    }
}
