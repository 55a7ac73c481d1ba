// SPDX-License-Identifier: Apache-2.0
//! What the experiments on calls between processes share: the transports, the process B that is
//! called (`server`), both in Java (`java`), ordinary callers (`load`), guests in which all live
//! (`guest`).

pub(crate) mod bare;
pub(crate) mod filter;
pub(crate) mod guest;
pub(crate) mod java;
pub(crate) mod load;
pub(crate) mod server;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// What the server answers to, beside what every node knows.
pub(crate) mod codes {
    /// The time of the clock that all processes share.
    pub(crate) const TIMESTAMP: u32 = 1;
    /// Gives back the bytes of a blob.
    pub(crate) const ECHO: u32 = 2;
    /// Computes for so many ns of its thread's time; gives the time at which the call began.
    pub(crate) const COMPUTE: u32 = 3;
    /// Gives the time at which the call began.
    pub(crate) const BEGUN: u32 = 4;
}

/// What carries the calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Transport {
    /// Shared memory, and a PI futex that is lent
    Lent,
    /// The kernel's driver as it is, /dev/binder
    Stock,
    /// The kernel's driver with the patches of kernel/
    Extended,
}

impl Transport {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Lent => "lent",
            Self::Stock => "stock",
            Self::Extended => "extended",
        }
    }

    /// Whether calls go through /dev/binder.
    pub(crate) fn has_driver(self) -> bool {
        self != Self::Lent
    }
}
