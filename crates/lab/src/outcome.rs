// SPDX-License-Identifier: Apache-2.0
//! [`Outcome`]: how a command ended, and exactly what it ran on.

use std::fmt;
use std::time::Duration;

use crate::job::Mode;

/// A command that ran to its end.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// As a shell gives it: 128 + n after signal n.
    pub exit_code: u8,
    /// What it ran on.
    pub fingerprint: Fingerprint,
    /// Remarks on the guest, such as a process that its kernel killed for lack of memory.
    pub remarks: Vec<String>,
    /// How many files came back.
    pub out_count: usize,
    /// How long it all took by the host's clock.
    pub elapsed: Duration,
}

/// What must be equal for two runs to be comparable bit by bit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// Deterministic or host root.
    pub mode: Mode,
    /// The kernel's release.
    pub kernel: String,
    /// The emulator's version.
    pub qemu: String,
    /// `tcg` or `kvm`.
    pub accelerator: &'static str,
    /// Digest over emulator, machine, kernel and initramfs, the seed left out.
    pub machine: String,
    /// The seed.
    pub seed: u64,
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(
            out,
            "{}, kernel {}, QEMU {} ({})",
            self.mode.name(),
            self.kernel,
            self.qemu,
            self.accelerator
        )?;
        match self.mode {
            Mode::Deterministic => write!(
                out,
                ", machine {}, seed {}; times are virtual",
                self.machine, self.seed
            ),
            Mode::HostRoot => write!(out, "; times are an emulator's"),
        }
    }
}
