// SPDX-License-Identifier: Apache-2.0
//! `cargo xtask test`: excerpts of at most 60 s each, fixed seeds, 30 minutes in all.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use cargo_metadata::Message;

use crate::sanitize::{self, Length};
use crate::stage::{Stages, cargo, cargo_command, command, takt, target_dir};
use crate::{framework, kernel, peers, screen};

/// Of the random graphs, what a sanitizer plays in some ten seconds.
const EXCERPT: Length = Length { steps: 30_000 };

/// No stage needs a third of it on a cold machine. The longest by far is `build`.
const LONGEST: Duration = Duration::from_secs(30 * 60);

/// Runs the stages whose name contains `only`, or all of them.
pub(crate) fn run(only: Option<String>) -> Result<()> {
    let mut stages = Stages::new(only).bounded_by(LONGEST);
    stages.run("build", || {
        takt()?;
        // Apart and not quiet: it takes minutes, and its progress is seen.
        cargo(["test", "--locked", "--workspace", "--no-run"])
    })?;
    stages.run("unit", || {
        let apart = ["--exclude", "e2e", "--exclude", "lab", "--exclude", "vm"];
        cargo_test(&[&["--workspace"], &apart[..]].concat())
    })?;
    stages.run("machine", || cargo_test(&["--package", "vm"]))?;
    stages.run("loom", loom)?;
    stages.run("asan", || sanitize::address(EXCERPT))?;
    stages.run("tsan", || sanitize::thread(EXCERPT))?;
    stages.run("miri", sanitize::miri)?;
    stages.run("lab", || cargo_test(&["--package", "lab"]))?;
    stages.run("locks on PREEMPT_RT", locks_in_lab)?;
    stages.run("sandbox in the lab", sandbox_in_lab)?;
    stages.run("a clock that jumps", clock_in_lab)?;
    stages.run("admission in the lab", admission_in_lab)?;
    stages.run("sound in the lab", sound_in_lab)?;
    stages.run("screen in the lab", screen::in_lab)?;
    stages.run("binder in the lab", driver_in_lab)?;
    stages.run("extended driver in the lab", extended_driver_in_lab)?;
    stages.run("peers in the lab", peers::in_lab)?;
    stages.run("framework", framework::test)?;
    stages.run("code", framework::build)?;
    stages.run("e2e", e2e)?;
    stages.run("applications", || {
        cargo_test(&["--package", "e2e", "--test", "run"])?;
        cargo_test(&["--package", "e2e", "--test", "documents"])
    })?;
    for (name, test) in [
        ("applications in trouble", "trouble"),
        ("others' packages", "packages"),
    ] {
        stages.run(name, || cargo_test(&["--package", "e2e", "--test", test]))?;
    }
    for (name, test) in [
        ("javac by others' sources", "javac"),
        ("ecj", "ecj"),
        ("D8", "d8"),
        ("libraries", "libraries"),
        ("JUnit", "junit"),
        ("JMH", "jmh"),
        ("jcstress", "jcstress"),
    ] {
        stages.run(name, || {
            cargo_test(&["--package", "e2e", "--test", "programs", test])
        })?;
    }
    stages.run("stress", || {
        cargo_test(&["--package", "e2e", "--test", "stress"])
    })?;
    stages.run("mutation", || {
        cargo_test(&["--package", "e2e", "--test", "mutation"])
    })?;
    stages.run("differential", || {
        cargo_test(&["--package", "e2e", "--test", "differential"])
    })?;
    stages.run("e2e in the lab", || {
        cargo_test(&["--package", "e2e", "--test", "lab"])
    })?;
    stages.finish()
}

/// The command on this machine: every file of tests/e2e but the guests' and those with stages of
/// their own.
fn e2e() -> Result<()> {
    let mut words = vec!["--package".to_owned(), "e2e".to_owned()];
    for entry in std::fs::read_dir("tests/e2e/tests")? {
        let path = entry?.path();
        match path.file_stem().and_then(|it| it.to_str()) {
            Some(
                "differential" | "documents" | "lab" | "mutation" | "packages" | "programs" | "run"
                | "stress" | "trouble",
            )
            | None => {}
            Some(test) => words.extend(["--test".to_owned(), test.to_owned()]),
        }
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    cargo_test(&words)
}

fn cargo_test(selection: &[&str]) -> Result<()> {
    let mut cargo = cargo_command();
    // What a test says is what counts: a stack below each fault buries it in a long log.
    cargo.env("RUST_BACKTRACE", "0");
    command(cargo.args(["test", "--locked", "--quiet"]).args(selection))
}

/// The lock tests against a hog once more, on the kernel that matters most.
fn locks_in_lab() -> Result<()> {
    let takt = takt()?;
    for (package, test) in [
        ("rt", "inherit"),
        ("rt", "shared"),
        ("binder", "priorities"),
    ] {
        let program = test_program(package, test)?;
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
    let program = test_program("sandbox", "confined")?;
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
    let program = test_program("timer", "clock")?;
    command(
        Command::new(takt()?)
            .args(["lab", "--quiet", "--"])
            .arg(program)
            .arg("--ignored"),
    )
}

/// Sets of tasks that are admitted, on a processor of their own.
fn admission_in_lab() -> Result<()> {
    let program = test_program("admission", "guest")?;
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

/// A card that goes away, and the processors' speed over a cpufreq driver without hardware.
fn sound_in_lab() -> Result<()> {
    let module = kernel::frequency()?;
    let program = test_program("sound", "guest")?;
    let in_guest = |options: &[&str], parameters: &str, tests: &[&str]| {
        let mut module = module.clone().into_os_string();
        module.push(parameters);
        command(
            Command::new(takt()?)
                .args(["lab", "--quiet", "--timeout", "600s"])
                .args(options)
                .arg("--module")
                .arg(module)
                .args(["--module", "cpufreq_userspace", "--module", "snd-dummy"])
                .args(["--with", "/usr/share/alsa", "--"])
                .arg(&program)
                .args(["--include-ignored", "--test-threads", "1"])
                .args(tests),
        )
    };
    let two_kinds = ["each_kind_of_core", "a_partition_of_the_little_core"];
    // The last is started by another one.
    let elsewhere = two_kinds.into_iter().chain(["plays_until_it_is_killed"]);
    let elsewhere: Vec<&str> = elsewhere.flat_map(|it| ["--skip", it]).collect();
    in_guest(&["--deterministic"], "", &elsewhere)?;
    in_guest(&["--cpus", "2"], ":little=1", &two_kinds)
}

/// Debian's /dev/binder in a guest: the host has none.
fn driver_in_lab() -> Result<()> {
    let program = test_program("binder", "driver")?;
    driver_tests(STOCK, &program, &["--cpus", "2"], &[])
}

/// The same with the extended driver; and priorities over both, in deterministic guests. Of what
/// Debian's does not do, two tests stand for all; `soak` runs them.
fn extended_driver_in_lab() -> Result<()> {
    let module = kernel::build()?;
    let extended = module.to_str().context("a path that is not UTF-8")?;
    let calls = test_program("binder", "driver")?;
    let priorities = test_program("binder", "extended")?;
    takt()?;
    std::thread::scope(|scope| {
        let ours = scope.spawn(|| driver_tests(extended, &priorities, &EXTENDED, &[]));
        driver_tests(extended, &calls, &["--cpus", "2"], &[])?;
        driver_tests(
            STOCK,
            &priorities,
            &CONTROL,
            &["a_call_does_not", "of_several"],
        )?;
        ours.join().expect("a stage does not panic")
    })
}

/// All of the control: what the extended driver does, Debian's does not.
pub(crate) fn stock_driver_in_lab() -> Result<()> {
    driver_tests(STOCK, &test_program("binder", "extended")?, &CONTROL, &[])
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

/// Builds one test program of a crate and says where it lies.
pub(crate) fn test_program(package: &str, test: &str) -> Result<PathBuf> {
    let mut cargo = cargo_command();
    cargo.args(["test", "--package", package, "--test", test, "--no-run"]);
    cargo.args(["--locked", "--quiet"]);
    let programs = test_programs(cargo)?.into_iter();
    let mut programs = programs.filter(|(name, _)| name == test);
    let (_, program) = programs
        .next()
        .with_context(|| format!("cargo built no test program '{test}' of '{package}'"))?;
    Ok(program)
}

/// Names and places of what a `cargo test --no-run` builds.
pub(crate) fn test_programs(mut cargo: Command) -> Result<Vec<(String, PathBuf)>> {
    let output = cargo
        .args(["--message-format", "json"])
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start cargo")?;
    if !output.status.success() {
        bail!("{cargo:?} ended with {}", output.status);
    }
    let mut programs = Vec::new();
    for message in Message::parse_stream(output.stdout.as_slice()) {
        if let Message::CompilerArtifact(artifact) = message?
            && artifact.profile.test
            && let Some(program) = artifact.executable
        {
            programs.push((artifact.target.name, program.into_std_path_buf()));
        }
    }
    Ok(programs)
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
            .args(["--release", "--locked", "--quiet", "--target-dir"])
            .arg(target)
            .args(["--", "models::"])
            .env("RUSTFLAGS", "--cfg loom"),
    )
}
