// SPDX-License-Identifier: Apache-2.0
//! [`LabError`]: why a guest could not run a command to its end, and what mends it.
//!
//! A command that fails in the guest is no error: its exit code comes back in the outcome.

use std::io;
use std::path::{Path, PathBuf};

use crate::kernel::Flavour;

/// What went wrong outside the command.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// No emulator.
    #[error(
        "no qemu-system-x86_64 on PATH: run `make setup`, or `apt-get install qemu-system-x86`"
    )]
    NoQemu,
    /// No kernel of this flavour in the cache.
    #[error(
        "no {} kernel in {}: run `make setup` (or `tools/setup`), which fetches Debian's package and unpacks it there",
        flavour.name(), looked_in.display()
    )]
    NoKernel {
        /// The flavour asked for.
        flavour: Flavour,
        /// Where one was looked for.
        looked_in: PathBuf,
    },
    /// No static busybox.
    #[error("no statically linked busybox at {}: run `make setup`, or `apt-get install busybox-static`", .0.display())]
    NoBusybox(PathBuf),
    /// No place to keep unpacked kernels.
    #[error("no cache directory: set TAKT_CACHE, XDG_CACHE_HOME or HOME")]
    NoCache,
    /// An empty command line.
    #[error("no command to run")]
    NoCommand,
    /// The command is not a file and not on PATH.
    #[error("command not found: {0}")]
    CommandNotFound(String),
    /// A `with` that is neither a path nor a name on PATH.
    #[error("--with {0}: neither a file or directory nor a command on PATH")]
    WithNotFound(String),
    /// A path that an archive of names in UTF-8 cannot hold.
    #[error("the path {} is not UTF-8, so it cannot travel in an initramfs", .0.display())]
    NotUtf8(PathBuf),
    /// A library that the dynamic loader did not find.
    #[error("{} needs {library}, which the dynamic loader does not find", binary.display())]
    LibraryNotFound {
        /// Who needs it.
        binary: PathBuf,
        /// The library's name.
        library: String,
    },
    /// A file over what the archive's format can hold.
    #[error("{} has {bytes} bytes; a file in an initramfs holds at most 4 GiB", path.display())]
    FileTooLarge {
        /// Which file.
        path: PathBuf,
        /// Its size.
        bytes: u64,
    },
    /// A kernel module that this kernel does not have.
    #[error("kernel {kernel} has no module '{name}'")]
    ModuleNotFound {
        /// As asked for.
        name: String,
        /// The kernel's release.
        kernel: String,
    },
    /// A module that was built for another kernel.
    #[error("{} is built for kernel {built_for}, not for {kernel}", file.display())]
    ModuleOfOtherKernel {
        /// The module.
        file: PathBuf,
        /// The release that it names.
        built_for: String,
        /// The guest's.
        kernel: String,
    },
    /// More than one CPU in deterministic mode.
    #[error(
        "--deterministic runs on one CPU, not {0}: the instruction clock serves CPUs in turns, so latencies across them \
         would be an artefact"
    )]
    CpuCount(u32),
    /// The initramfs does not fit into the guest.
    #[error(
        "the initramfs has {image_mib} MiB and is unpacked beside itself: give at least --memory {need_mib}"
    )]
    MemoryTooSmall {
        /// Size of the archive.
        image_mib: u64,
        /// The least that works.
        need_mib: u64,
    },
    /// jlink refused.
    #[error("jlink cannot make an image of {modules}: {reason}")]
    Jlink {
        /// The modules asked for.
        modules: String,
        /// jlink's own words.
        reason: String,
    },
    /// The kernel gave up.
    #[error("the guest's kernel panicked; the end of its console:\n{console_end}")]
    Panicked {
        /// Last lines.
        console_end: String,
    },
    /// The guest could not bring the command up.
    #[error("the guest could not start: {reason}\n{console_end}")]
    SetupFailed {
        /// What its init said.
        reason: String,
        /// Last lines of the console.
        console_end: String,
    },
    /// The guest ended without a word.
    #[error(
        "the guest ended before the command did ({qemu}); the end of its console:\n{console_end}"
    )]
    GuestDied {
        /// QEMU's exit status and last words.
        qemu: String,
        /// Last lines.
        console_end: String,
    },
    /// Not done in time.
    #[error("not done after {seconds} s by the host's clock: the guest was ended")]
    TimedOut {
        /// The limit.
        seconds: u64,
    },
    /// A signal asked us to stop.
    #[error("interrupted: the guest was ended")]
    Interrupted,
    /// A tool of the host failed.
    #[error("{tool}: {reason}")]
    Tool {
        /// Its name.
        tool: &'static str,
        /// Its own words.
        reason: String,
    },
    /// The guest's archive of output files is damaged.
    #[error("the files that the guest sent back are damaged: {0}")]
    OutDamaged(String),
    /// A file of the host.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// With which file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl LabError {
    /// Adds the deed and the file to an I/O error.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> LabError {
        let path = path.to_owned();
        move |source| LabError::Io {
            action,
            path,
            source,
        }
    }

    /// The exit code that a shell would give: 124 too late, 127 not found, 130 interrupted,
    /// otherwise 125.
    pub fn exit_code(&self) -> u8 {
        match self {
            LabError::TimedOut { .. } => 124,
            LabError::CommandNotFound(_) => 127,
            LabError::Interrupted => 130,
            _ => 125,
        }
    }
}
