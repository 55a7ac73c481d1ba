// SPDX-License-Identifier: Apache-2.0
//! [`Lab`]: the tools of this host, found once; each run builds a machine, starts it as a guest and
//! stays to the end.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rt::clock::{Clock, Monotonic};
use rt::stop::StopFlag;

use crate::accel;
use crate::cache::Cache;
use crate::determinism::{Comparison, Traces, compare};
use crate::elf;
use crate::error::LabError;
use crate::guest::Guest;
use crate::java::Jdk;
use crate::job::{Job, Mode};
use crate::kernel::{Flavour, Kernel};
use crate::machine::Machine;
use crate::out::copy_tree;
use crate::outcome::Outcome;
use crate::stream::{Captured, Sink, Tee};

/// Runs jobs. Guests are independent of one another, so threads may share one lab.
#[derive(Clone, Debug)]
pub struct Lab {
    pub(crate) cache: Cache,
    pub(crate) qemu: PathBuf,
    pub(crate) qemu_version: String,
    pub(crate) busybox: PathBuf,
    stop: StopFlag,
}

impl Lab {
    /// Looks for QEMU and busybox. Setting `stop` ends whatever runs.
    pub fn open(cache: Cache, stop: StopFlag) -> Result<Lab, LabError> {
        let qemu = on_path("qemu-system-x86_64").ok_or(LabError::NoQemu)?;
        let output = Command::new(&qemu)
            .arg("--version")
            .output()
            .map_err(LabError::io("start", &qemu))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let qemu_version = text
            .split_whitespace()
            .nth(3)
            .unwrap_or("unknown")
            .to_owned();
        let busybox = on_path("busybox").unwrap_or_else(|| PathBuf::from("/bin/busybox"));
        if elf::linkage(&busybox).is_none_or(|it| it.interpreter.is_some()) {
            return Err(LabError::NoBusybox(busybox));
        }
        Ok(Lab {
            cache,
            qemu,
            qemu_version,
            busybox,
            stop,
        })
    }

    /// The release of the kernel that jobs of this flavour get, or what is missing.
    pub fn find_kernel(&self, flavour: Flavour) -> Result<String, LabError> {
        Kernel::find(&self.cache, flavour).map(|it| it.release)
    }

    /// The trimmed image that travels with a JDK's `java`: its classes are the guest's to the byte.
    pub fn java_image(&self, java: &Path, modules: &str) -> Result<PathBuf, LabError> {
        let jdk = Jdk::of_launcher(java);
        let jdk = jdk.ok_or_else(|| LabError::CommandNotFound(java.display().to_string()))?;
        jdk.trim(&self.cache, modules)
    }

    /// Whether somebody asked to stop.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.is_set()
    }

    /// Runs a job once; its output goes to `sink` while it runs.
    pub fn run(&self, job: &Job, sink: &mut dyn Sink) -> Result<Outcome, LabError> {
        let start_ns = Monotonic.now_ns();
        let directory = scratch()?;
        let kernel = Kernel::find(&self.cache, job.kernel)?;
        let has_kvm = job.mode == Mode::HostRoot && accel::kvm_works(self, &kernel);
        if let Some(out) = &job.out {
            fs::create_dir_all(out).map_err(LabError::io("create", out))?;
        }
        let machine = Machine::build(self, job, &kernel, has_kvm, directory.path())?;
        let mut guest = Guest::start(&self.qemu, &machine, directory.path())?;
        let followed = guest.follow(job.time_limit, &self.stop, sink);
        guest.end();
        if let Some(kept) = &job.console {
            fs::copy(&machine.ports.console, kept).map_err(LabError::io("write", kept))?;
        }
        followed?;
        let end = guest.understand(job)?;
        Ok(Outcome {
            exit_code: end.exit_code,
            fingerprint: machine.fingerprint,
            remarks: end.remarks,
            out_count: end.out_count,
            elapsed: Duration::from_nanos(Monotonic.now_ns() - start_ns),
        })
    }

    /// Runs a job twice, the first time with output to `sink`, and compares everything that came
    /// out.
    pub fn check(&self, job: &Job, sink: &mut dyn Sink) -> Result<Comparison, LabError> {
        let directory = scratch()?;
        let files = ["first", "second"].map(|it| directory.path().join(it));
        let into = |out: &Path| Job {
            out: Some(out.to_owned()),
            ..job.clone()
        };
        let mut streams = [Captured::default(), Captured::default()];
        let first = self.run(&into(&files[0]), &mut Tee(&mut streams[0], sink))?;
        let second = self.run(&into(&files[1]), &mut streams[1])?;
        let traces = |outcome: &Outcome, index: usize| Traces {
            exit_code: outcome.exit_code,
            streams: &streams[index],
            files: &files[index],
        };
        let difference = compare(&traces(&first, 0), &traces(&second, 1))?;
        if let Some(out) = &job.out {
            copy_tree(&files[0], out)?;
        }
        Ok(Comparison {
            first,
            second,
            difference,
        })
    }
}

fn scratch() -> Result<tempfile::TempDir, LabError> {
    tempfile::Builder::new()
        .prefix("takt-lab-")
        .tempdir()
        .map_err(LabError::io("create a directory in", &std::env::temp_dir()))
}

pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|it| it.join(name))
        .find(|it| it.is_file())
}
