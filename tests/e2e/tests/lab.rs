// SPDX-License-Identifier: Apache-2.0
//! `takt` inside `takt lab`: the guest's truth, and figures that repeat to the last digit.
#![forbid(unsafe_code)]

use std::path::Path;

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

/// A FIFO-80 thread with a stack of 100 frames, garbage beside it, one processor: no release is later because of the
/// collector than the thread's own handshake, and that is at most 50 µs; the collector that stops the world fails this.
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
