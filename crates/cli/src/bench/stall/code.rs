// SPDX-License-Identifier: Apache-2.0
//! [`Code`]: the program's classes, and the compiled code of the measured thread alone, made once.
//! Each window begins with a copy of it, so that nothing of any load is compiled before.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use super::{Args, Load};
use crate::bench::classes::Classes;
use crate::java;
use crate::jdk::Jdk;
use crate::output;

macro_rules! sources {
    ($folder:literal: $($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../../../../", $folder, "/", $name, ".java")))),*]
    };
}

const SOURCES: [(&str, &str); 8] = sources![
    "bench/stall/java": "Stall", "Measured", "Load", "Generated", "Hoard", "Tool", "android/util/Log", "android/os/Process"
];

/// What the program is compiled against: the machine has its own.
const REALTIME: [(&str, &str); 19] = sources![
    "crates/vm/java/javax/realtime": "AbsoluteTime", "AperiodicParameters", "AsyncEvent", "AsyncEventHandler",
    "BoundAsyncEventHandler", "Clock", "DeadlineMonitor", "HighResolutionTime", "Machine", "PeriodicParameters",
    "PriorityParameters", "PriorityScheduler", "RealtimeThread", "RelativeTime", "ReleaseParameters", "Schedulable",
    "Scheduler", "SchedulingParameters", "Users",
];

/// The heap of every window: javac needs most of it, and it is soon exhausted.
const HEAP_BYTES: u64 = 128 << 20;
/// What of it is set aside for real-time threads (docs/internals/collector.md).
pub(super) const RESERVE_BYTES: u64 = HEAP_BYTES / 32;
const NATIVES: &str = "libnatives.so";
const RELEASES_PREPARED: u32 = 300;

/// See the module.
pub(super) struct Code {
    place: PathBuf,
    /// Gone when dropped.
    _own: Option<TempDir>,
    /// Of our machine and its natives.
    machine: PathBuf,
    pub(super) java: PathBuf,
}

impl Code {
    /// In a folder of its own.
    pub(super) fn make(args: &Args) -> Result<Self> {
        let own = tempfile::tempdir().context("cannot make a directory for code")?;
        let place = own.path().to_owned();
        let java = Jdk::find()?.home.join("bin/java");
        let code = Self::at(place, Some(own), java)?;
        code.fill(args)?;
        Ok(code)
    }

    /// At a place, with the code that another `java` of the same classes makes.
    pub(super) fn make_at(args: &Args, place: &Path, java: &Path) -> Result<Self> {
        if place.exists() {
            fs::remove_dir_all(place)?;
        }
        fs::create_dir_all(place)?;
        let code = Self::at(place.to_owned(), None, java.to_owned())?;
        code.fill(args)?;
        Ok(code)
    }

    /// Made before.
    pub(super) fn made(place: &Path) -> Result<Self> {
        let java = Jdk::find()?.home.join("bin/java");
        Self::at(place.to_owned(), None, java)
    }

    fn at(place: PathBuf, own: Option<TempDir>, java: PathBuf) -> Result<Self> {
        let program = std::env::current_exe().context("cannot find this program's own file")?;
        let machine = java::machine_beside(&program)?;
        let natives = machine.join(NATIVES);
        if !natives.exists() {
            bail!(
                "no {}: build it with `cargo build --release --package natives`",
                natives.display()
            );
        }
        Ok(Self {
            place,
            _own: own,
            machine,
            java,
        })
    }

    fn fill(&self, args: &Args) -> Result<()> {
        eprintln!("bench stall: compiles the measured thread");
        let jdk = Jdk::find()?;
        let api = Classes::compile(&jdk, &REALTIME)?;
        fs::create_dir_all(self.classes())?;
        let options = [
            "-nowarn".into(),
            "-cp".into(),
            api.path().as_os_str().to_owned(),
        ];
        Classes::compile_to(&jdk, &SOURCES, &options, &self.classes())?;
        fs::create_dir_all(self.cache())?;
        let mut command = Command::new(&self.java);
        let samples = self.place.join("samples");
        command.args(self.options(&self.cache(), &self.place.join("report")));
        command.args(self.words(args, Load::None, RELEASES_PREPARED, &samples));
        output::of(&mut command)?;
        Ok(())
    }

    fn classes(&self) -> PathBuf {
        self.place.join("classes")
    }

    fn cache(&self) -> PathBuf {
        self.place.join("code")
    }

    /// Files that a guest needs.
    pub(super) fn travels(&self) -> Vec<OsString> {
        vec![
            self.place.clone().into(),
            self.machine.join("libjvm.so").into(),
            self.machine.join(NATIVES).into(),
        ]
    }

    /// A copy of the compiled code.
    pub(super) fn copy_cache(&self, to: &Path) -> Result<()> {
        copy(&self.cache(), to).with_context(|| format!("cannot copy {}", self.cache().display()))
    }

    /// Options of `java`.
    pub(super) fn options(&self, cache: &Path, report: &Path) -> Vec<OsString> {
        let with = |option: &str, path: &Path| {
            let mut option = OsString::from(option);
            option.push(path);
            option
        };
        vec![
            java::alternative(&self.machine),
            "-Xtakt:realtime".into(),
            // A guest's processor is another.
            "-Xtakt:portable-code".into(),
            with("-Xtakt:code-cache=", cache),
            with("-Xtakt:report=", report),
            format!("-Xmx{HEAP_BYTES}").into(),
            "-cp".into(),
            self.classes().into(),
        ]
    }

    /// The program and its arguments.
    pub(super) fn words(
        &self,
        args: &Args,
        load: Load,
        releases: u32,
        samples: &Path,
    ) -> Vec<OsString> {
        let numbers = [
            u64::from(releases),
            u64::from(args.warmup),
            args.period_us,
            u64::from(args.priority),
        ];
        let mut words: Vec<OsString> = vec!["Stall".into(), load.name().into()];
        words.extend(numbers.map(|it| it.to_string().into()));
        words.push(self.machine.join(NATIVES).into());
        words.push(samples.into());
        words
    }
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    fs::set_permissions(to, fs::metadata(from)?.permissions())?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy(&entry.path(), &to)?,
            false => {
                fs::copy(entry.path(), to)?;
            }
        }
    }
    Ok(())
}
