// SPDX-License-Identifier: Apache-2.0
//! `cargo xtask test`: excerpts of at most 60 s each, with fixed seeds.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::beside::{Beside, end_with_the_first};
use crate::check;
use crate::programs::{self, Program};
use crate::sanitize::{self, Length};
use crate::stage::{Stages, cargo_command, command, takt, target_dir};
use crate::{examples, framework, kernel, peers, screen};

/// Of the random graphs, what a sanitizer plays in some ten seconds.
const EXCERPT: Length = Length { steps: 30_000 };

/// No stage needs half of it on a cold machine. The longest by far are builds.
const LONGEST: Duration = Duration::from_secs(30 * 60);

/// What a stage does.
type Body = fn() -> Result<()>;

/// Stages that wait for nothing but a processor, neither for another process nor for a clock of
/// this machine. A deterministic guest has a clock of its own.
const PATIENT: [(&str, Body); 15] = [
    ("lints", check::lints),
    ("loom", loom),
    ("asan", || sanitize::address(EXCERPT)),
    ("tsan", || sanitize::thread(EXCERPT)),
    ("miri", sanitize::miri),
    ("admission in the lab", admission_in_lab),
    ("sound in the lab", sound_in_lab),
    ("screen in the lab", screen::in_lab),
    ("differential", || end_to_end("differential", &[])),
    ("javac by others' sources", || program("javac")),
    ("ecj", || program("ecj")),
    ("D8", || program("d8")),
    ("libraries", || program("libraries")),
    ("JUnit", || program("junit")),
    ("jcstress", || program("jcstress")),
];

/// One of the programs by others, over the class library's code as it is delivered.
fn program(name: &str) -> Result<()> {
    framework::build()?;
    end_to_end("programs", &[name])
}

/// Runs the patient stages, as long as the `xtask` runs that started this one.
pub(crate) fn beside() -> Result<()> {
    end_with_the_first();
    patient(Stages::new(None))?.finish()
}

fn patient(mut stages: Stages) -> Result<Stages> {
    for (name, body) in PATIENT {
        stages.run(name, body)?;
    }
    Ok(stages)
}

/// Runs the stages whose name contains `only`, or all of them: the patient ones beside the others.
pub(crate) fn run(only: Option<String>) -> Result<()> {
    let is_whole = only.is_none();
    let mut stages = Stages::new(only).bounded_by(LONGEST);
    stages = match is_whole {
        true => stages.beside(Beside::start(&["test", "--beside"])?),
        false => patient(stages)?,
    };
    check::quick(&mut stages)?;
    // The lints have the other folder meanwhile.
    stages.run("build for release", || takt().map(drop))?;
    stages.run("build of tests", || programs::all().map(drop))?;
    stages.run("unit", || {
        programs::run(&[], |it| !["e2e", "lab", "vm"].contains(&it.package()))?;
        examples::run()
    })?;
    stages.run("machine", || programs::run(&[], |it| it.package() == "vm"))?;
    stages.run("lab", || programs::run(&[], |it| it.package() == "lab"))?;
    stages.run("locks on PREEMPT_RT", locks_in_lab)?;
    stages.run("sandbox in the lab", sandbox_in_lab)?;
    stages.run("a clock that jumps", clock_in_lab)?;
    stages.run("two kinds of core in the lab", kinds_of_core_in_lab)?;
    stages.run("binder in the lab", driver_in_lab)?;
    stages.run("extended driver in the lab", extended_driver_in_lab)?;
    stages.run("peers in the lab", peers::in_lab)?;
    stages.run("framework", framework::test)?;
    stages.run("code", framework::build)?;
    stages.run("e2e", e2e)?;
    stages.run("applications", || {
        end_to_end("run", &[])?;
        end_to_end("documents", &[])
    })?;
    for (name, test) in [
        ("applications in trouble", "trouble"),
        ("others' packages", "packages"),
    ] {
        stages.run(name, || end_to_end(test, &[]))?;
    }
    stages.run("JMH", || program("jmh"))?;
    stages.run("stress", || end_to_end("stress", &[]))?;
    stages.run("mutation", || end_to_end("mutation", &[]))?;
    stages.run("e2e in the lab", || end_to_end("lab", &[]))?;
    stages.finish()
}

/// Files of tests/e2e with stages of their own, and the guests'.
const APART: [&str; 9] = [
    "differential",
    "documents",
    "lab",
    "mutation",
    "packages",
    "programs",
    "run",
    "stress",
    "trouble",
];

/// The command on this machine: all other files of tests/e2e.
fn e2e() -> Result<()> {
    let is_apart = |it: &Program| APART.contains(&it.name.as_str());
    programs::run(&[], |it| it.package() == "e2e" && !is_apart(it))
}

/// One file of tests/e2e, or those of its tests that these words name.
fn end_to_end(test: &str, words: &[&str]) -> Result<()> {
    programs::run(words, |it| it.package() == "e2e" && it.name == test)
}

/// The lock tests against a hog once more, on the kernel that matters most.
fn locks_in_lab() -> Result<()> {
    let takt = takt()?;
    for (package, test) in [
        ("rt", "inherit"),
        ("rt", "shared"),
        ("binder", "priorities"),
    ] {
        let program = programs::path(package, test)?;
        command(
            Command::new(&takt)
                .args(["lab", "--cpus", "2", "--quiet", "--"])
                .arg(program),
        )?;
    }
    Ok(())
}

/// What is otherwise on Debian's kernel: an older Landlock, cgroup v2, and quotas of users.
fn sandbox_in_lab() -> Result<()> {
    let program = programs::path("sandbox", "confined")?;
    command(
        Command::new(takt()?)
            .args(["lab", "--cpus", "2", "--quiet"])
            .args(["ext4", "crc32c_generic", "loop", "quota_v2"].map(|it| format!("--module={it}")))
            .arg("--")
            .arg(program)
            .args([
                "group",
                "ends_last",
                "quota",
                "report",
                "lent",
                "local_sockets",
            ]),
    )
}

/// Only a guest's clock may be set.
fn clock_in_lab() -> Result<()> {
    let program = programs::path("timer", "clock")?;
    command(
        Command::new(takt()?)
            .args(["lab", "--quiet", "--"])
            .arg(program)
            .arg("--ignored"),
    )
}

/// Sets of tasks that are admitted, on a processor of their own.
fn admission_in_lab() -> Result<()> {
    let program = programs::path("admission", "guest")?;
    command(
        Command::new(takt()?)
            .args([
                "lab",
                "--deterministic",
                "--quiet",
                "--timeout",
                "600s",
                "--",
            ])
            .arg(program)
            .args(["--include-ignored", "--test-threads", "1"]),
    )
}

/// Tests of sound that want two kinds of core, and a program that one of the others starts.
const KINDS_OF_CORE: [&str; 2] = ["each_kind_of_core", "a_partition_of_the_little_core"];
const STARTED: &str = "plays_until_it_is_killed";

/// A card that goes away, and the processors' speed over a cpufreq driver without hardware.
fn sound_in_lab() -> Result<()> {
    let elsewhere = KINDS_OF_CORE.into_iter().chain([STARTED]);
    let elsewhere: Vec<&str> = elsewhere.flat_map(|it| ["--skip", it]).collect();
    with_sound(&["--deterministic"], "", &elsewhere)
}

fn kinds_of_core_in_lab() -> Result<()> {
    with_sound(&["--cpus", "2"], ":little=1", &KINDS_OF_CORE)
}

/// Tests of sound in a guest with these options, over the cpufreq driver with these parameters.
fn with_sound(options: &[&str], parameters: &str, tests: &[&str]) -> Result<()> {
    let mut module = kernel::frequency()?.into_os_string();
    module.push(parameters);
    command(
        Command::new(takt()?)
            .args(["lab", "--quiet", "--timeout", "600s"])
            .args(options)
            .arg("--module")
            .arg(module)
            .args(["--module", "cpufreq_userspace", "--module", "snd-dummy"])
            .args(["--with", "/usr/share/alsa", "--"])
            .arg(programs::path("sound", "guest")?)
            .args(["--include-ignored", "--test-threads", "1"])
            .args(tests),
    )
}

/// Debian's /dev/binder in a guest: the host has none.
fn driver_in_lab() -> Result<()> {
    let program = programs::path("binder", "driver")?;
    driver_tests(STOCK, program, &["--cpus", "2"], &[])
}

/// The same with the extended driver; and priorities over both, in deterministic guests. Of what
/// Debian's does not do, two tests stand for all; `soak` runs them.
fn extended_driver_in_lab() -> Result<()> {
    let module = kernel::build()?;
    let extended = module.to_str().context("a path that is not UTF-8")?;
    let calls = programs::path("binder", "driver")?;
    let priorities = programs::path("binder", "extended")?;
    takt()?;
    std::thread::scope(|scope| {
        let ours = scope.spawn(|| driver_tests(extended, priorities, &EXTENDED, &[]));
        driver_tests(extended, calls, &["--cpus", "2"], &[])?;
        driver_tests(
            STOCK,
            priorities,
            &CONTROL,
            &["a_call_does_not", "of_several"],
        )?;
        ours.join().expect("a stage does not panic")
    })
}

/// All of the control: what the extended driver does, Debian's does not.
pub(crate) fn stock_driver_in_lab() -> Result<()> {
    driver_tests(STOCK, programs::path("binder", "extended")?, &CONTROL, &[])
}

pub(crate) const STOCK: &str = "binder_linux:devices=binder";
const EXTENDED: [&str; 3] = ["--deterministic", "--env", "TAKT_TEST_DRIVER=extended"];
const CONTROL: [&str; 3] = ["--deterministic", "--env", "TAKT_TEST_DRIVER=stock"];

/// A test program in a guest with a driver. The kernel must not complain of anything.
pub(crate) fn driver_tests(
    module: &str,
    program: &Path,
    options: &[&str],
    tests: &[&str],
) -> Result<()> {
    let guest = std::fs::canonicalize("kernel/tests/guest.sh")?;
    command(
        Command::new(takt()?)
            .args(["lab", "--quiet", "--timeout", "600s"])
            .args(["--module", module])
            .args(options)
            .arg("--")
            .arg(guest)
            .arg(program)
            .args(["--include-ignored", "--test-threads", "1"])
            .args(tests),
    )
}

/// The locks' state machines under every interleaving, on a modelled kernel. Built apart: the flag
/// changes `rt`.
fn loom() -> Result<()> {
    let target = target_dir()?.join("loom");
    command(
        cargo_command()
            .args([
                "test",
                "--package",
                "rt",
                "--package",
                "heap",
                "--package",
                "binder",
                "--package",
                "screen",
                "--lib",
            ])
            .args(["--profile", "loom", "--locked", "--quiet"])
            .arg("--target-dir")
            .arg(target)
            .args(["--", "models::"])
            .env("RUSTFLAGS", "--cfg loom"),
    )
}
