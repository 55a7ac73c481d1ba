// SPDX-License-Identifier: Apache-2.0
//! Guests in which both ends of an experiment live: this program again, for one window each.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use lab::{Cache, Flavour, Job, Lab, Mode, ModuleRequest, RtcSource, Sweep};
use rt::stop::StopFlag;
use serde::de::DeserializeOwned;

use super::Transport;
use super::java::{self, Java};
use crate::jdk::Jdk;

/// Kernel's limit on real-time threads; see [`unthrottled`].
const THROTTLE: &str = "/proc/sys/kernel/sched_rt_runtime_us";
/// A guest whose threads wait for each other would never end.
const TIME_MAX: Duration = Duration::from_secs(1800);

/// Guests are made by this.
pub(crate) struct Guests {
    lab: Lab,
    kernel: Flavour,
}

impl Guests {
    /// With PREEMPT_RT.
    pub(crate) fn open() -> Result<Self> {
        Self::with(Flavour::Rt)
    }

    /// With Debian's standard kernel.
    pub(crate) fn standard() -> Result<Self> {
        Self::with(Flavour::Standard)
    }

    fn with(kernel: Flavour) -> Result<Self> {
        let stop = StopFlag::on_signals().context("cannot catch Ctrl-C")?;
        let lab = Lab::open(Cache::of_user()?, stop)?;
        Ok(Self { lab, kernel })
    }

    /// `takt` with these words under each of the seeds from 1 on; gives what each said, as JSON.
    pub(crate) fn sweep<T: DeserializeOwned>(
        &self,
        words: &[String],
        transport: Transport,
        seeds: u64,
    ) -> Result<Vec<(u64, T)>> {
        self.sweep_job(&self.job(words, transport)?, seeds)
    }

    /// The same with Java in the guest, made before.
    pub(crate) fn sweep_java<T: DeserializeOwned>(
        &self,
        words: &[String],
        java: &Java,
        seeds: u64,
    ) -> Result<Vec<(u64, T)>> {
        let job = Job {
            with: java.travels(),
            java_modules: java::MODULES.to_owned(),
            memory_mib: Some(java::MEMORY_MIB),
            ..self.job(words, Transport::Lent)?
        };
        self.sweep_job(&job, seeds)
    }

    /// `java` of the image that a guest has, to make code with.
    pub(crate) fn java(&self) -> Result<PathBuf> {
        Ok(self.java_home(java::MODULES)?.join("bin/java"))
    }

    /// The image of the JDK that a guest has.
    pub(crate) fn java_home(&self, modules: &str) -> Result<PathBuf> {
        let jdk = Jdk::find()?.home.join("bin/java");
        Ok(self.lab.java_image(&jdk, modules)?)
    }

    pub(crate) fn sweep_job<T: DeserializeOwned>(
        &self,
        job: &Job,
        seeds: u64,
    ) -> Result<Vec<(u64, T)>> {
        let sweep = Sweep {
            seed_count: seeds,
            jobs: std::thread::available_parallelism().map_or(1, usize::from),
        };
        let (mut found, mut fault) = (Vec::new(), None);
        self.lab.sweep(job, sweep, |sample| {
            let read = || {
                let outcome = sample.outcome?;
                let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
                let streams = &sample.streams;
                if outcome.exit_code != 0 {
                    bail!("exit {}: {}", outcome.exit_code, said(&streams.stderr));
                }
                serde_json::from_slice(&streams.stdout)
                    .with_context(|| format!("no figures: {}", said(&streams.stdout)))
            };
            match read() {
                Ok(it) => found.push((sample.seed, it)),
                Err(error) => fault = Some(error.context(format!("seed {}", sample.seed))),
            }
        });
        match fault {
            Some(error) => Err(error),
            None if found.len() as u64 != seeds => bail!("interrupted"),
            None => Ok(found),
        }
    }

    /// The guest of a window.
    pub(crate) fn job(&self, words: &[String], transport: Transport) -> Result<Job> {
        let own = std::env::current_exe().context("cannot find this program's own file")?;
        let mut command: Vec<OsString> = vec![own.into()];
        command.extend(words.iter().map(OsString::from));
        Ok(Job {
            command,
            directory: PathBuf::from("/"),
            mode: Mode::Deterministic,
            kernel: self.kernel,
            cpu_count: 1,
            memory_mib: None,
            modules: modules(transport)?,
            with: Vec::new(),
            java_modules: String::new(),
            environment: Vec::new(),
            out: None,
            seed: 1,
            time_limit: Some(TIME_MAX),
            rtc: RtcSource::Virtual,
            console: None,
        })
    }
}

fn modules(transport: Transport) -> Result<Vec<ModuleRequest>> {
    match transport {
        Transport::Lent => Ok(Vec::new()),
        Transport::Stock => {
            // Debian's module has no binderfs: the device is made by name.
            let stock = "binder_linux:devices=binder".parse();
            Ok(vec![stock.map_err(anyhow::Error::msg)?])
        }
        Transport::Extended => {
            let module = extended_module()?;
            Ok(vec![ModuleRequest {
                name: "binder_takt".to_owned(),
                file: Some(module),
                parameters: String::new(),
            }])
        }
    }
}

/// Where `cargo xtask kernel` leaves the extended driver: beside this program's own folder.
pub(crate) fn extended_module() -> Result<PathBuf> {
    let own = std::env::current_exe().context("cannot find this program's own file")?;
    let target = own.parent().and_then(Path::parent);
    let module = target.map(|it| it.join("kernel/rt/binder_takt.ko"));
    match module {
        Some(it) if it.is_file() => Ok(it),
        _ => bail!("the extended driver is not built: `cargo xtask kernel` builds it"),
    }
}

/// In a guest: the kernel stops real-time threads for 50 ms of each second when they leave nothing
/// to others. A hog's experiment is not about that.
pub(crate) fn unthrottled() -> Result<()> {
    std::fs::write(THROTTLE, "-1").with_context(|| format!("cannot write {THROTTLE}"))
}
