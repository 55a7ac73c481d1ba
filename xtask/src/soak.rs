// SPDX-License-Identifier: Apache-2.0
//! `cargo xtask soak`: the long runs that `make test` only takes excerpts of.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::demo;
use crate::framework;
use crate::fuzz;
use crate::peers;
use crate::sanitize::{self, Length};
use crate::screen;
use crate::stage::{Stages, cargo, cargo_command, command, takt};
use crate::test;

/// Of `bench intents`, which has a fifth of it in a storm.
const STORM: &str = "30000";

/// Stages that are a file of tests/e2e with what it leaves out of `make test`.
const LONG_TESTS: [(&str, &str); 7] = [
    ("binder-java", "binder"),
    ("differential", "differential"),
    ("documents", "documents"),
    ("java-locks", "lab"),
    ("monkey", "monkey"),
    ("stress", "stress"),
    ("mutation", "mutation"),
];

/// What makes the excerpts of `binder`'s tests long: programs killed at random and at steps of a
/// call, calls with references, seconds of a hostile peer. The steps take twenty minutes: each
/// program starts, and is called, beside two others that keep both processors busy.
const BINDER: [(&str, &str); 4] = [
    ("BINDER_TEST_KILLS", "5000"),
    ("BINDER_TEST_STEPS", "10000"),
    ("BINDER_TEST_CALLS", "1000000"),
    ("BINDER_TEST_SECONDS", "600"),
];

/// Runs the long stages whose name contains `only`, or all of them.
pub(crate) fn run(only: Option<String>) -> Result<()> {
    let takt = takt()?;
    std::fs::create_dir_all("out/soak")?;
    let mut stages = Stages::new(only);
    stages.run("latency", || {
        command(
            Command::new(&takt)
                .args(["latency", "--duration", "10m", "--load", "hackbench-like"])
                .args(["--out", "out/soak/latency"]),
        )
    })?;
    stages.run("lab", || {
        cargo([
            "test",
            "--package",
            "lab",
            "--locked",
            "--quiet",
            "--",
            "--ignored",
            "--test-threads",
            "1",
        ])
    })?;
    stages.run("lab-seeds", || lab_seeds(&takt))?;
    stages.run("stock driver in the lab", test::stock_driver_in_lab)?;
    stages.run("peers over the stock driver", peers::over_stock_in_lab)?;
    stages.run("rsbinder's own tests in the lab", peers::own_tests_in_lab)?;
    let whole = Length { steps: 2_000_000 };
    stages.run("asan", || sanitize::address(whole))?;
    stages.run("tsan", || sanitize::thread(whole))?;
    let mixed = ["--live-mb", "100", "--garbage-mb", "100"];
    // Ten minutes of mixed garbage: memory must not grow.
    stages.run("collector", || {
        collector(&[&["--soak", "600", "--heap-mb", "512"][..], &mixed].concat())
    })?;
    // A day at a megabyte per second, as fast as it goes: what holes cost.
    stages.run("day", || collector(&["--day"]))?;
    for (name, test) in LONG_TESTS {
        stages.run(name, || {
            let test = ["test", "--package", "e2e", "--test", test, "--locked"];
            let mut cargo = cargo_command();
            cargo.args(test).args(["--", "--ignored", "--nocapture"]);
            // None of them takes half as long.
            command(cargo.env("E2E_LONGEST_SECONDS", "14400"))
        })?;
    }
    stages.run("passes", passes)?;
    stages.run("console", screen::application_in_lab)?;
    stages.run("binder", binder)?;
    for target in fuzz::targets()? {
        stages.run(&format!("fuzz-{target}"), || fuzz::run(&target))?;
    }
    stages.run("oboe", || {
        let test = ["test", "--package", "aaudio", "--test", "oboe", "--locked"];
        cargo([&test[..], &["--", "--ignored"]].concat())
    })?;
    stages.run("audio-lab", || audio_lab(&takt))?;
    stages.run("handler-lab", || handler_lab(&takt))?;
    stages.run("lateness-lab", || lateness_lab(&takt))?;
    stages.run("stall-lab", || stall_lab(&takt))?;
    stages.run("heartbeat", || heartbeat(&takt))?;
    stages.run("intents", || intents(&takt))?;
    stages.finish()
}

/// What a pass of the compiler that is off must not change: package, file of tests, and which of
/// them. Excerpts, for there is an option for each pass.
const WITHOUT_A_PASS: [(&str, &str, &str); 7] = [
    ("vm", "java", "print_on_hotspot"),
    ("vm", "java", "as_on_hotspot"),
    ("vm", "large", ""),
    ("e2e", "stress", "everything_at_once"),
    ("e2e", "mutation", "changed_classes_are"),
    ("e2e", "programs", "jmh"),
    ("e2e", "programs", "jcstress"),
];

/// An option and a test that does not hold with it: a conservative scan keeps what any dead word
/// of a stack names, so memory does not come back as on HotSpot.
const BY_NATURE: (&str, &str) = (
    "-Xtakt:stack-scan=conservative",
    "memory_comes_back_as_on_hotspot",
);

/// Options that tests start our machine with.
const OPTIONS: &str = "TAKT_TEST_OPTIONS";

/// Lines of options, each of which turns a pass of the compiler off.
fn passes_off() -> Result<Vec<String>> {
    let text = std::fs::read_to_string("tests/passes-off.txt")?;
    let lines = text
        .lines()
        .filter(|it| !it.is_empty() && !it.starts_with('#'));
    Ok(lines.map(str::to_owned).collect())
}

/// Tests of the machine with each line of options that turns one pass off.
fn passes() -> Result<()> {
    for options in passes_off()? {
        println!("-- {options}");
        for (package, file, name) in WITHOUT_A_PASS {
            let test = ["test", "--package", package, "--test", file, "--locked"];
            let mut cargo = cargo_command();
            cargo.args(test).args(["--quiet", "--", name]);
            if options == BY_NATURE.0 {
                cargo.args(["--skip", BY_NATURE.1]);
            }
            command(cargo.env(OPTIONS, &options))?;
        }
    }
    Ok(())
}

/// Two programs, one of them killed or hostile, and references passed around.
fn binder() -> Result<()> {
    command(
        cargo_command()
            .args(["test", "--package", "binder", "--release", "--locked"])
            .envs(BINDER),
    )
}

/// Above a million broadcasts: six thousand urgent ones, none of which may be lost, and those of
/// ordinary threads that make no pause.
fn intents(takt: &Path) -> Result<()> {
    let words = ["bench", "intents", "--order", "storm", "--check"];
    command(Command::new(takt).args(words).args(["--broadcasts", STORM]))
}

fn lab_seeds(takt: &Path) -> Result<()> {
    let lab = "lab --deterministic --seeds 20 --out out/soak/lab-seeds --";
    let latency = "takt latency --quiet --duration 2s --load hackbench-like";
    let words = lab.split(' ').chain(latency.split(' '));
    command(Command::new(takt).args(words))
}

/// A real-time thread beside the worst of ordinary ones: every load in guests of four seeds.
fn stall_lab(takt: &Path) -> Result<()> {
    let words = ["bench", "stall", "--lab", "--seeds", "4", "--check"];
    command(Command::new(takt).args(words))
}

/// A minute of sound and more at 64 frames, whose work jumps, beside many who wake each other:
/// guests of two seeds.
fn audio_lab(takt: &Path) -> Result<()> {
    let words = ["bench", "audio", "--lab", "--check"];
    command(Command::new(takt).args(words))?;
    let beside = ["--only", "ours", "--load", "hackbench-like", "--seeds", "2"];
    command(Command::new(takt).args(words).args(beside))
}

fn heartbeat(takt: &Path) -> Result<()> {
    framework::build()?;
    demo::heartbeat(takt, "5", "out/soak/heartbeat", &["--require", "10"])
}

/// The worst of eight seeds with 300 threads against that with 30, then AOSP's growth over three:
/// some 20 minutes of processor time, 11 for AOSP's queue. The worst of a few hundred releases is
/// one release: fewer seeds say too little.
fn handler_lab(takt: &Path) -> Result<()> {
    framework::build()?;
    let words = ["bench", "handler", "--lab", "--threads", "30,300"];
    let ours = ["--queue", "takt", "--seeds", "8", "--check"];
    command(Command::new(takt).args(words).args(ours))?;
    command(Command::new(takt).args(words).args(["--queue", "aosp"]))
}

/// What the guest of `lateness_lab` runs. A first run makes the code, for the JDK in a guest is not
/// the host's, and code that was made before has its constants resolved. Real-time threads may have
/// all of the time, as `takt doctor` advises: else the kernel stops them in the warm releases,
/// which come one after the other.
const LATENESS: &str = "echo -1 > /proc/sys/kernel/sched_rt_runtime_us && \"$@\" --lateness-max 1e9 > /dev/null && \
                        exec \"$@\" --runs 4 --lateness-max 1.2";

/// A periodic Java thread beside the collector that counts, in the lab, against a native one: two
/// seeds of four windows, some two minutes each. The period is none of the tick's and the
/// garbage's: both threads drift past them and meet each coincidence.
fn lateness_lab(takt: &Path) -> Result<()> {
    let classes = std::env::current_dir()?.join("out/soak/lateness/classes");
    command(
        Command::new("javac")
            .arg("-d")
            .arg(&classes)
            .arg("bench/pause/java/GcLatency.java"),
    )?;
    let machine = takt.with_file_name("libjvm.so");
    for seed in ["0", "1"] {
        let mut lab = Command::new(takt);
        lab.args("lab --deterministic --quiet --with java --seed".split(' '))
            .arg(seed);
        for path in [&classes, &machine, takt] {
            lab.arg("--with").arg(path);
        }
        lab.args(["--", "sh", "-c", LATENESS, "sh"]).arg(takt);
        let words = "bench gc --java --machine rc --skip cost --wait park --period-us 1003 --seconds 1 --warmup 1 --heap-mb 24 --live-mb 4 \
                     --garbage-mb 8 --takt-option=-Xtakt:code-cache=/tmp/code --classes";
        command(lab.args(words.split_whitespace()).arg(&classes))?;
    }
    Ok(())
}

fn collector(words: &[&str]) -> Result<()> {
    let run = ["run", "--release", "--locked", "--quiet"];
    cargo([&run[..], &["--package", "pause", "--"], words].concat())
}
