// SPDX-License-Identifier: Apache-2.0
//! What commands and the server say to each other over the socket: one JSON value in each message.
//!
//! A client sends one [`Request`]; `Install` carries the package as a sealed memory file. The
//! server answers with any number of [`Answer`]s, the last of which is `Done` or `Refused`.

use serde::{Deserialize, Serialize};

/// Of one message: an intent with its extras, a row of a table, some lines of a log.
pub const FRAME_BYTES_MAX: usize = 64 << 10;
/// Of a text in one answer: JSON may need six bytes for one.
pub const TEXT_BYTES_MAX: usize = 8 << 10;

/// What a command asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Request {
    /// The package that comes with it.
    Install {
        /// Even if its real-time tasks, or others beside them, may miss deadlines.
        is_forced: bool,
    },
    /// A package goes, with its data.
    Uninstall {
        /// Its name.
        package: String,
    },
    /// All processes.
    Processes,
    /// An activity.
    StartActivity(Intention),
    /// A service.
    StartService(Intention),
    /// A broadcast without order.
    Broadcast(Intention),
    /// All that runs of a package ends.
    ForceStop {
        /// Its name.
        package: String,
    },
    /// A package's processes are to give up memory.
    TrimMemory {
        /// Its name.
        package: String,
        /// `ComponentCallbacks2.TRIM_MEMORY_…`.
        level: i32,
    },
    /// What processes have said.
    Logs {
        /// Of this package alone.
        package: Option<String>,
        /// And what they say from now on, until the client goes.
        follow: bool,
    },
    /// The server's state, for a person.
    Dump,
    /// Who has this key may give orders by `adb`.
    AllowKey {
        /// Its line, as `adbkey.pub` has it.
        line: String,
    },
    /// Who has this key may do so no more.
    RevokeKey {
        /// What the server calls it by.
        print: String,
    },
    /// All such keys.
    Keys,
}

/// An intent as a person writes it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Intention {
    /// What is to be done.
    pub action: Option<String>,
    /// With what.
    pub data: Option<String>,
    /// The data's MIME type.
    pub kind: Option<String>,
    /// Who takes it: package and class.
    pub component: Option<(String, String)>,
    /// The package that it is limited to.
    pub package: Option<String>,
    /// What who takes it must be.
    pub categories: Vec<String>,
    /// Android's flags.
    pub flags: u32,
    /// Texts by name.
    pub extras: Vec<(String, String)>,
}

/// One part of what the server answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// A process, or one that is held back.
    Process(ProcessRow),
    /// A line of a log.
    Line(LogLine),
    /// Text for a person, to be printed as it is.
    Text(String),
    /// There is nothing new, and there may be.
    Quiet,
    /// That was all; in words, what was done.
    Done(String),
    /// It is not done, and why.
    Refused(String),
}

/// What a process is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunState {
    /// It is there.
    Running,
    /// It was started, and has not attached.
    Starting,
    /// It failed, and waits until it may start again.
    HeldBack,
}

/// One process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessRow {
    /// Its name.
    pub name: String,
    /// Its package.
    pub package: String,
    /// The server's number for its user.
    pub user: u32,
    /// The kernel's number; none while it does not run.
    pub pid: Option<u32>,
    /// What it is doing.
    pub state: RunState,
    /// Failures in a row.
    pub faults: u32,
    /// Milliseconds until it starts again.
    pub restart_in_ms: Option<u64>,
    /// Resident memory.
    pub memory_kib: Option<u64>,
    /// Its threads.
    pub threads: Option<u32>,
    /// Of these, those with a real-time policy.
    pub real_time_threads: Option<u32>,
    /// Their policies, each with how many have it.
    pub policies: Vec<(String, u32)>,
    /// The priority up to which the kernel or the server grants its threads such policies; 0 for
    /// none.
    pub real_time_max: Option<u32>,
    /// What it says that its real-time threads have done; none if it says nothing.
    pub ledger: Option<LedgerRow>,
    /// What its sandbox bounds; none if it runs without one, or does not run.
    pub sandbox: Option<Vec<BoundRow>>,
}

/// What all real-time threads of a process have done together, by its own word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerRow {
    /// Releases.
    pub releases: u64,
    /// Those that were skipped.
    pub skipped: u64,
    /// Those that were done behind their deadline.
    pub deadline_misses: u64,
    /// Those that computed longer than was declared.
    pub cost_overruns: u64,
}

/// One thing that a sandbox bounds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundRow {
    /// Its name.
    pub name: String,
    /// Whether it is bounded; else it was asked for, and this kernel or user does not offer it.
    pub holds: bool,
    /// By what; else why not.
    pub how: String,
}

/// One line that a process has said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    /// The process that said it, by the kernel's word.
    pub pid: u32,
    /// Its name.
    pub process: String,
    /// V, D, I, W, E or F.
    pub priority: char,
    /// The tag.
    pub tag: String,
    /// The whole line, as it was written.
    pub text: String,
}
