// SPDX-License-Identifier: Apache-2.0
//! `takt` inside `takt lab`: the guest's truth, and figures that repeat to the last digit.
#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::process::Command;

use e2e::{Run, lines, takt_path};
use serde_json::Value;

/// `takt lab LAB_ARGS -- takt TAKT_ARGS`.
fn in_lab(lab_args: &[&str], takt_args: &[&str]) -> Run {
    let takt = takt_path();
    let words = [
        &["lab", "--quiet"],
        lab_args,
        &["--", takt.to_str().unwrap()],
        takt_args,
    ]
    .concat();
    Run::takt(&words)
}

#[test]
fn the_doctor_tells_the_guests_truth() {
    let run = in_lab(&[], &["doctor", "--json"]);
    let doctor = run.json();
    let found = |name: &str| {
        let findings = doctor["findings"].as_array().unwrap();
        findings.iter().find(|it| it["name"] == name).unwrap()["found"].clone()
    };
    assert_eq!(found("preemption"), "PREEMPT_RT");
    assert_eq!(found("CPU frequency"), "no cpufreq");
    assert_eq!(found("frequency limits"), "no cpufreq");
    assert_eq!(found("memory pressure"), "PSI");
    assert_eq!(found("fair server"), "not in this kernel");
    assert_eq!(run.code, 1, "{doctor:#}");
}

#[test]
fn a_binder_module_is_seen_by_the_doctor() {
    let run = in_lab(&["--module", "binder_linux:devices=binder"], &["doctor"]);
    assert!(run.stdout.contains("there (binder)"), "{run:#?}");
}

/// One deterministic measurement under load: its table, its samples, its JSON.
fn measure(lab_args: &[&str]) -> (String, Vec<String>, Value) {
    let out = tempfile::tempdir().unwrap();
    let place = ["--deterministic", "--out", out.path().to_str().unwrap()];
    let run = in_lab(
        &[&place, lab_args].concat(),
        &[
            "latency",
            "--strict",
            "-D",
            "100ms",
            "--load",
            "hackbench-like",
        ],
    );
    assert_eq!(run.code, 0, "{run:#?}");
    let json = std::fs::read_to_string(out.path().join("latency.json")).unwrap();
    (
        run.stdout,
        samples(out.path()),
        serde_json::from_str(&json).unwrap(),
    )
}

fn samples(out: &Path) -> Vec<String> {
    lines(&out.join("samples.csv"))
}

#[test]
fn the_same_command_gives_the_same_figures_and_another_seed_or_kernel_others() {
    let (text, samples, json) = measure(&[]);
    assert!(
        text.contains("virtual µs") && json["time_base"] == "virtual",
        "{text}"
    );
    assert!(samples.len() > 50, "{text}");
    let again = measure(&[]);
    assert_eq!((&text, &samples), (&again.0, &again.1));
    let other_seed = measure(&["--seed", "5"]);
    assert_ne!(samples, other_seed.1);
    let other_kernel = measure(&["--kernel", "standard"]);
    assert_ne!(samples, other_kernel.1);
}

#[test]
fn the_median_is_cyclictests() {
    let lab_args = ["--deterministic", "--with", "cyclictest"];
    for load in ["none", "hackbench-like"] {
        let takt_args = [
            "latency",
            "--json",
            "-D",
            "300ms",
            "--load",
            load,
            "--compare",
            "cyclictest",
        ];
        let json = in_lab(&lab_args, &takt_args).json();
        let median = |value: &Value| value["p50_ns"].as_f64().unwrap();
        let (ours, theirs) = (median(&json["all"]), median(&json["cyclictest"]));
        assert!(
            (ours - theirs).abs() <= f64::max(theirs * 0.15, 1000.0),
            "{json:#}"
        );
    }
}

#[test]
fn lab_failures_have_codes_of_their_own() {
    let code = |args: &[&str]| Run::takt(&[&["lab"], args].concat()).code;
    assert_eq!(code(&["--", "no-such-command"]), 127);
    assert_eq!(code(&["--timeout", "100ms", "--", "true"]), 124);
    assert_eq!(code(&["--deterministic", "--cpus", "2", "--", "true"]), 125);
    assert_eq!(code(&["--memory", "2T", "--", "true"]), 2);
}

/// A FIFO-80 thread with a stack of 100 frames, garbage beside it, one processor: no release is
/// later because of the collector than the thread's own handshake, and that is at most 50 µs; the
/// collector that stops the world fails this.
#[test]
fn a_release_is_late_by_its_own_handshake_at_most() {
    let bench = takt_path().with_file_name("bench-gc");
    let measure = |collector: &str| {
        let words = [
            "lab",
            "--deterministic",
            "--quiet",
            "--",
            bench.to_str().unwrap(),
        ];
        let heap = ["--heap-mb", "24", "--live-mb", "4", "--garbage-mb", "8"];
        let run = [
            "--seconds",
            "1",
            "--warmup",
            "1",
            "--skip",
            "cost",
            "--check",
        ];
        Run::takt(&[&words[..], &heap, &run, &["--collector", collector]].concat())
    };
    let rc = measure("rc");
    assert_eq!(rc.code, 0, "{rc:#?}");
    assert!(
        rc.stdout.contains("own handshake") && rc.stdout.contains(": 0 of 1000"),
        "{rc:#?}"
    );
    let stw = measure("stw");
    assert_eq!(stw.code, 2, "{stw:#?}");
    assert!(stw.stderr.contains("late by the collector"), "{stw:#?}");
}

/// On one processor with a hog at FIFO 50, a FIFO 80 thread waits for a monitor, or for a lock of
/// java.util.concurrent, no longer than its holder needs it: the holder runs at FIFO 80.
#[test]
#[ignore = "three minutes, most of them compiling in the guest: make soak"]
fn a_java_lock_comes_within_its_holders_section() {
    let java = java();
    let place = tempfile::tempdir().unwrap();
    let path = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    let (classes, cache) = (path("classes"), path("code"));
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let javac = Command::new(java.with_file_name("javac"))
        .args(["-implicit:none", "-sourcepath"])
        .arg(format!("{root}/crates/vm/java"))
        .args(["-d", &classes])
        .arg(format!("{root}/tests/java/realtime/Inversion.java"))
        .status();
    assert!(javac.expect("javac starts").success());
    let machine = takt_path().with_file_name("libjvm.so");
    let directory = machine.parent().expect("it lies somewhere");
    // The guest's processor is another: code that both understand is made here, where it is faster.
    let words = [
        java.to_str().unwrap().to_owned(),
        format!("-XXaltjvm={}", directory.display()),
        "-Xtakt:portable-code".to_owned(),
        format!("-Xtakt:code-cache={cache}"),
        "-cp".to_owned(),
        classes,
        "Inversion".to_owned(),
        "1000000".to_owned(),
        "4000".to_owned(),
    ];
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let here = Run::of(Command::new(words[0]).args(&words[1..]));
    assert_eq!(here.code, 0, "{here:#?}");
    let lab = [
        "lab",
        "--deterministic",
        "--quiet",
        "--with",
        &cache,
        "--with",
    ];
    let there = Run::takt(&[&lab[..], &[machine.to_str().unwrap(), "--"], &words].concat());
    assert_eq!(there.code, 0, "{there:#?}");
    for lock in ["monitor", "lock", "queue", "chain"] {
        let line = there.stdout.lines().find(|line| line.starts_with(lock));
        let line = line.unwrap_or_else(|| panic!("{lock}: {there:#?}"));
        assert!(line.contains(" first lent -81 "), "{line}");
        let number = |name: &str| -> u64 {
            let rest = line.split(name).nth(1).expect("it is told");
            rest.split_whitespace().next().unwrap().parse().unwrap()
        };
        let (waited, section) = (number("waited_ns "), number("section_ns "));
        assert!(waited < section + BEYOND_SECTION_NS_MAX, "{line}");
    }
}

/// Handing over, and in a queue or a chain one more thread's turn, in virtual time.
const BEYOND_SECTION_NS_MAX: u64 = 1_000_000;

/// The installed JDK's launcher.
fn java() -> PathBuf {
    let home = std::env::var_os("JAVA_HOME").map(PathBuf::from);
    let homes = home
        .into_iter()
        .chain([PathBuf::from("/usr/lib/jvm/java-17-openjdk-amd64")]);
    let found = homes
        .map(|home| home.join("bin/java"))
        .find(|java| java.exists());
    found.expect("a JDK 17: install openjdk-17-jdk-headless")
}
