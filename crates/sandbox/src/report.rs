// SPDX-License-Identifier: Apache-2.0
//! [`Report`]: which [`Bound`]s hold, and which this kernel or user does not offer.

use std::fmt;

/// One thing that a sandbox bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bound {
    /// A user and group of its own, no supplementary groups.
    Identity,
    /// No program that it starts gives it more rights.
    NewPrivileges,
    /// No capabilities, but those that real time was left.
    Capabilities,
    /// Files that were not granted.
    Files,
    /// Cutting off files that were granted for reading, or not at all.
    Truncation,
    /// Calls of devices' own (ioctl) on devices that were not granted.
    DeviceCalls,
    /// Signals to processes outside.
    Signals,
    /// The network.
    Network,
    /// Sockets to other processes, by a path.
    LocalSockets,
    /// Sockets to other processes, by a name outside of the file system.
    AbstractSockets,
    /// Files of other processes in /proc.
    OtherProcesses,
    /// System calls that reach the machine, other processes or rarely tried parts of the kernel.
    SystemCalls,
    /// Memory that processes share by System V's or POSIX's names.
    Ipc,
    /// How many processes and threads there are.
    Tasks,
    /// How many files are open.
    OpenFiles,
    /// Images of memory that a crash leaves.
    CoreFiles,
    /// Real-time policies.
    RealTime,
    /// How long a real-time thread runs without a wait.
    RealTimeRun,
    /// Locked memory.
    LockedMemory,
    /// Memory in all.
    Memory,
    /// Who is ended first when memory runs out.
    KillOrder,
    /// What it keeps on disks.
    Disk,
}

impl Bound {
    /// What a person reads, and a program selects by.
    pub fn name(self) -> &'static str {
        match self {
            Self::Identity => "own user",
            Self::NewPrivileges => "no new privileges",
            Self::Capabilities => "capabilities",
            Self::Files => "files",
            Self::Truncation => "truncation",
            Self::DeviceCalls => "device calls",
            Self::Signals => "signals",
            Self::Network => "network",
            Self::LocalSockets => "local sockets",
            Self::AbstractSockets => "abstract sockets",
            Self::OtherProcesses => "other processes",
            Self::SystemCalls => "system calls",
            Self::Ipc => "shared names",
            Self::Tasks => "tasks",
            Self::OpenFiles => "open files",
            Self::CoreFiles => "core files",
            Self::RealTime => "real-time policies",
            Self::RealTimeRun => "real-time run",
            Self::LockedMemory => "locked memory",
            Self::Memory => "memory",
            Self::KillOrder => "kill order",
            Self::Disk => "disk",
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Whether a bound holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// It does, by this.
    Holds(String),
    /// It was asked for and is not there, for this reason.
    Missing(String),
}

/// What holds and what does not, of what was asked for; a bound that was not asked for is not in
/// it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report(Vec<(Bound, State)>);

impl Report {
    /// All bounds that were asked for.
    pub fn bounds(&self) -> &[(Bound, State)] {
        &self.0
    }

    /// Whether a bound was asked for and holds.
    pub fn holds(&self, bound: Bound) -> bool {
        let of = |(it, state): &(Bound, State)| *it == bound && matches!(state, State::Holds(_));
        self.0.iter().any(of)
    }

    /// What was asked for and does not hold, with the reason.
    pub fn missing(&self) -> impl Iterator<Item = (Bound, &str)> {
        self.0.iter().filter_map(|(bound, state)| match state {
            State::Holds(_) => None,
            State::Missing(why) => Some((*bound, why.as_str())),
        })
    }

    pub(crate) fn add(&mut self, bound: Bound, state: State) {
        debug_assert!(self.0.iter().all(|(it, _)| *it != bound), "{bound} twice");
        self.0.push((bound, state));
    }

    /// What was tried and refused.
    pub(crate) fn lose(&mut self, bound: Bound, why: &str) {
        for (it, state) in &mut self.0 {
            if *it == bound && matches!(state, State::Holds(_)) {
                *state = State::Missing(why.to_owned());
            }
        }
    }

    pub(crate) fn sort(&mut self) {
        self.0.sort_by_key(|(bound, _)| *bound);
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (bound, state) in &self.0 {
            match state {
                State::Holds(how) => writeln!(f, "holds    {bound}: {how}")?,
                State::Missing(why) => writeln!(f, "MISSING  {bound}: {why}")?,
            }
        }
        Ok(())
    }
}
