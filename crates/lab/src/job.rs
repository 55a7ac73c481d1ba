// SPDX-License-Identifier: Apache-2.0
//! [`Job`]: what to run, and in what kind of guest.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::kernel::Flavour;
use crate::module::ModuleRequest;

/// How the guest sees the command's files, and whose time it lives in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The host's root by 9p, read-only under a throw-away overlay; real time.
    HostRoot,
    /// Everything in an initramfs, one CPU, QEMU's instruction clock: 1 virtual ns = 1 instruction.
    Deterministic,
}

impl Mode {
    /// The value of TAKT_LAB in the guest: a program that reads `deterministic` labels its figures
    /// "virtual".
    pub fn name(self) -> &'static str {
        match self {
            Mode::HostRoot => "9p",
            Mode::Deterministic => "deterministic",
        }
    }
}

/// What the guest's real-time clock follows in deterministic mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RtcSource {
    /// A fixed date, advanced by the guest's own clock.
    #[default]
    Virtual,
    /// The host's clock: a deliberate leak, so that a test can show that the check catches it.
    Host,
}

/// One command and its guest. No default: a forgotten field would be a different experiment.
#[derive(Clone, Debug)]
pub struct Job {
    /// The command and its arguments, as on the host.
    pub command: Vec<OsString>,
    /// Where it runs; relative paths in `command` and `with` start here, on the host as in the
    /// guest.
    pub directory: PathBuf,
    /// Host root or deterministic.
    pub mode: Mode,
    /// Which of Debian's kernels.
    pub kernel: Flavour,
    /// Virtual CPUs; exactly one in deterministic mode.
    pub cpu_count: u32,
    /// Guest memory; `None` fits it to the initramfs.
    pub memory_mib: Option<u32>,
    /// Kernel modules, loaded with their dependencies in this order.
    pub modules: Vec<ModuleRequest>,
    /// Files, directories or names on PATH that travel along in deterministic mode.
    pub with: Vec<OsString>,
    /// Java modules of the trimmed image when the command is a JDK's `java` in deterministic mode.
    pub java_modules: String,
    /// Further environment; the host's own never enters, since it would change the command's stack.
    pub environment: Vec<(String, String)>,
    /// Where files that the command leaves in $TAKT_OUT are put; `None` throws them away.
    pub out: Option<PathBuf>,
    /// Start offset and guest entropy; exported as TAKT_SEED.
    pub seed: u64,
    /// How long the guest may take by the host's clock.
    pub time_limit: Option<Duration>,
    /// The guest's real-time clock.
    pub rtc: RtcSource,
    /// Where to keep the guest's console; `None` shows its end when the guest fails.
    pub console: Option<PathBuf>,
}
