// SPDX-License-Identifier: Apache-2.0
//! [`Prepared`]: deterministic guests that run this program with the whole framework: one
//! processor, PREEMPT_RT, virtual time. Compiled code is made here first, over the guest's own
//! image of the JDK.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use lab::{Flavour, Job, Mode, RtcSource};
use serde::de::DeserializeOwned;

use super::calls::guest::Guests;
use crate::framework::Framework;
use crate::java;
use crate::output;

/// What the framework loads of the JDK.
const MODULES: &str = "java.base,java.logging,java.management,java.sql,java.xml,jdk.unsupported";
/// The framework's files twice, packed and not, and applications.
const MEMORY_MIB: u32 = 4096;
/// A guest whose threads wait for each other would never end.
const TIME_MAX: Duration = Duration::from_secs(3600);
/// The JDK's launcher reads options from it.
pub(super) const OPTIONS: &str = "JDK_JAVA_OPTIONS";

/// An experiment in such guests.
pub(super) struct Prepared {
    pub(super) experiment: &'static str,
    /// Where its code lies: a folder beside the framework, always there, for its path is among what
    /// a guest sees.
    pub(super) code: &'static str,
    /// Runs of `takt` that make the code: `APPS` stands for the folder of packages.
    pub(super) runs: &'static [&'static str],
}

impl Prepared {
    /// Options of each machine in a guest.
    pub(super) fn machine_options(&self) -> Result<[String; 2]> {
        let code = Framework::find(None)?.folder(self.code);
        Ok([
            // The guest's processor is another.
            "-Xtakt:portable-code".to_owned(),
            format!("-Xtakt:code-library={}", code.display()),
        ])
    }

    /// What `takt` with these words says under each seed, as JSON.
    pub(super) fn measure<T: DeserializeOwned>(
        &self,
        words: &[String],
        seed: u64,
        seeds: u64,
    ) -> Result<Vec<(u64, T)>> {
        let guests = Guests::open()?;
        let framework = Framework::find(None)?;
        let own = std::env::current_exe().context("cannot find this program's own file")?;
        let java_home = guests.java_home(MODULES)?;
        self.make_code(&own, &framework, &java_home)?;
        eprintln!("bench {}: {seeds} seeds in the lab", self.experiment);
        guests.sweep_job(&job(words, seed, &own, &framework)?, seeds)
    }

    fn make_code(&self, own: &Path, framework: &Framework, java_home: &Path) -> Result<()> {
        let experiment = self.experiment;
        eprintln!("bench {experiment}: compiles what the guests run (minutes)");
        let place = framework.folder(self.code);
        if place.exists() {
            std::fs::remove_dir_all(&place)?;
        }
        std::fs::create_dir_all(&place)?;
        let data = tempfile::tempdir().context("cannot make a directory for data")?;
        let apps = framework.folder("apps");
        let options = format!(
            "-Xtakt:portable-code -Xtakt:no-code-library -Xtakt:compile-loaded -Xtakt:code-cache={}",
            place.display()
        );
        let takt = || {
            let mut command = Command::new(own);
            command
                .env("JAVA_HOME", java_home)
                .env("XDG_DATA_HOME", data.path());
            command
        };
        for words in self.runs {
            let words = words.replace("APPS", &apps.to_string_lossy());
            output::of(takt().args(words.split_whitespace()).env(OPTIONS, &options))?;
        }
        let mut install = takt();
        install.args(["compile", "--install"]).arg(&place);
        output::of(install.env(OPTIONS, "-Xtakt:portable-code")).map(drop)
    }
}

fn job(words: &[String], seed: u64, own: &Path, framework: &Framework) -> Result<Job> {
    let mut command: Vec<OsString> = vec![own.into()];
    command.extend(words.iter().map(OsString::from));
    let machine = java::machine_beside(own)?;
    let mut with: Vec<OsString> = framework.places().into_iter().map(Into::into).collect();
    with.extend([
        machine.join(java::MACHINE).into(),
        "java".into(),
        "sleep".into(),
    ]);
    ensure!(
        framework.folder("apps").exists(),
        "no packages: run `cargo xtask framework`"
    );
    Ok(Job {
        command,
        directory: PathBuf::from("/"),
        mode: Mode::Deterministic,
        kernel: Flavour::Rt,
        cpu_count: 1,
        memory_mib: Some(MEMORY_MIB),
        modules: Vec::new(),
        with,
        java_modules: MODULES.to_owned(),
        environment: Vec::new(),
        out: None,
        seed,
        time_limit: Some(TIME_MAX),
        rtc: RtcSource::Virtual,
        console: None,
    })
}
