// SPDX-License-Identifier: Apache-2.0
//! The experiment in deterministic guests: one processor, PREEMPT_RT, virtual time, a guest for
//! each seed. The guest runs this program itself, with the whole framework. Compiled code is made
//! here, over the guest's own image of the JDK.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use lab::{Flavour, Job, Mode, RtcSource};

use super::{Args, Outcome};
use crate::bench::calls::guest::Guests;
use crate::framework::Framework;
use crate::java;
use crate::output;

/// What the framework loads of the JDK.
const MODULES: &str = "java.base,java.logging,java.management,java.sql,java.xml,jdk.unsupported";
/// The framework's files twice, packed and not, and three applications.
const MEMORY_MIB: u32 = 4096;
/// Of each application: the hog's is soon full.
const HEAP: &str = "-Xmx128m";
/// A guest whose threads wait for each other would never end.
const TIME_MAX: Duration = Duration::from_secs(3600);
/// The JDK's launcher reads options from it.
const OPTIONS: &str = "JDK_JAVA_OPTIONS";
/// Beside the framework; always there, for its path is among what a guest sees.
const CODE: &str = "lab-code-mixed";
/// Runs that make the code: `APPS` stands for the folder of packages.
const RUNS: [&str; 2] = [
    "run --sandbox none APPS/mixed-control.apk --service .Control --extra releases=100 --extra period=1 \
     --extra window=made --for 3s",
    "run --sandbox none APPS/mixed-panel.apk --service .Panel --for 2s",
];

/// Options of `takt system` in a guest: for each application's machine.
pub(super) fn options() -> Result<[String; 3]> {
    let code = Framework::find(None)?.folder(CODE);
    Ok([
        format!("--java-option={HEAP}"),
        // The guest's processor is another.
        "--java-option=-Xtakt:portable-code".to_owned(),
        format!("--java-option=-Xtakt:code-library={}", code.display()),
    ])
}

/// What each guest found.
pub(super) fn measure(args: &Args) -> Result<Vec<Outcome>> {
    let guests = Guests::open()?;
    let framework = Framework::find(None)?;
    let own = std::env::current_exe().context("cannot find this program's own file")?;
    make_code(&own, &framework, &guests.java_home(MODULES)?)?;
    eprintln!("bench mixed: {} seeds in the lab", args.seeds);
    let found: Vec<(u64, Vec<Outcome>)> =
        guests.sweep_job(&job(args, &own, &framework)?, args.seeds)?;
    let of_guest = |(seed, outcomes): (u64, Vec<Outcome>)| {
        let outcomes = outcomes.into_iter();
        outcomes.map(move |it| Outcome { seed, ..it })
    };
    Ok(found.into_iter().flat_map(of_guest).collect())
}

fn make_code(own: &Path, framework: &Framework, java_home: &Path) -> Result<()> {
    eprintln!("bench mixed: compiles what the guests run (minutes)");
    let place = framework.folder(CODE);
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
    for words in RUNS {
        let words = words.replace("APPS", &apps.to_string_lossy());
        output::of(takt().args(words.split_whitespace()).env(OPTIONS, &options))?;
    }
    let mut install = takt();
    install.args(["compile", "--install"]).arg(&place);
    output::of(install.env(OPTIONS, "-Xtakt:portable-code")).map(drop)
}

fn job(args: &Args, own: &Path, framework: &Framework) -> Result<Job> {
    let mut command: Vec<OsString> = vec![own.into()];
    command.extend(["bench", "mixed", "--json"].map(OsString::from));
    for (option, value) in [("--releases", args.releases), ("--period", args.period)] {
        command.extend([option.into(), value.to_string().into()]);
    }
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
        seed: args.seed,
        time_limit: Some(TIME_MAX),
        rtc: RtcSource::Virtual,
        console: None,
    })
}
