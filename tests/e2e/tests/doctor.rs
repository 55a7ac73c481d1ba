// SPDX-License-Identifier: Apache-2.0
//! `takt doctor` tells the truth about the machine it runs on.
#![forbid(unsafe_code)]

use std::path::Path;
use std::process::Command;

use e2e::Run;
use serde_json::Value;

fn finding<'a>(doctor: &'a Value, name: &str) -> &'a Value {
    let findings = doctor["findings"].as_array().expect("a list of findings");
    findings
        .iter()
        .find(|it| it["name"] == name)
        .unwrap_or_else(|| panic!("no '{name}' in {doctor}"))
}

#[test]
fn the_exit_code_is_the_worst_finding() {
    let run = Run::takt(&["doctor", "--json"]);
    let doctor = run.json();
    let rank = |state: &Value| ["fit", "remark", "unfit"].iter().position(|it| state == it);
    let worst = doctor["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| rank(&it["state"]))
        .max();
    assert_eq!(worst, Some(Some(run.code as usize)));
    assert_eq!(rank(&doctor["state"]), Some(run.code as usize));
}

#[test]
fn it_says_what_the_machine_says() {
    let doctor = Run::takt(&["doctor", "--json"]).json();
    let found = |name| finding(&doctor, name)["found"].as_str().unwrap().to_owned();
    let version = std::fs::read_to_string("/proc/sys/kernel/version").unwrap();
    assert_eq!(
        found("preemption") == "PREEMPT_RT",
        version.contains("PREEMPT_RT")
    );
    let has_cpufreq = Path::new("/sys/devices/system/cpu/cpu0/cpufreq").exists();
    assert_eq!(found("CPU frequency") == "no cpufreq", !has_cpufreq);
    let has_binder = Path::new("/dev/binder").exists() || Path::new("/dev/binderfs").exists();
    assert_eq!(found("kernel Binder") == "not there", !has_binder);
    // The tests of crates/binder run here: `lent` works.
    assert_eq!(found("calls between programs"), "direct, lent");
    let clock = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    assert_eq!(
        found("clock source"),
        std::fs::read_to_string(clock).unwrap().trim()
    );
}

#[test]
fn it_names_the_screens_that_would_work() {
    let doctor = |name, value| {
        let mut doctor = Command::new(e2e::takt_path());
        let doctor = doctor.args(["doctor", "--json"]).env(name, value);
        let doctor = Run::of(doctor).json();
        let screens = finding(&doctor, "screens");
        let text = |name| screens[name].as_str().unwrap().to_owned();
        (text("found"), text("why"))
    };
    let (found, why) = doctor("WAYLAND_DISPLAY", "/nowhere/wayland-9");
    assert!(
        found.starts_with("picture, web") && !found.contains("wayland"),
        "{found}"
    );
    let nobody = "not wayland: cannot connect to the compositor at /nowhere/wayland-9: ";
    assert!(why.contains(nobody), "{why}");
    let says_no_card = why.contains("not drm: ");
    assert_ne!(found.ends_with("drm"), says_no_card, "{found}: {why}");
}

#[test]
fn each_remark_says_why() {
    let text = Run::takt(&["doctor"]).stdout;
    let lines: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).collect();
    assert!(lines.len() >= 20, "{text}");
    for line in lines {
        assert!(line.contains(": "), "no reason in: {line}");
    }
}

#[test]
fn an_ordinary_user_is_told_what_is_missing() {
    let run = Run::takt_as_nobody(&["doctor", "--json"]);
    let doctor = run.json();
    assert_eq!(run.code, 2, "{doctor:#}");
    let why = finding(&doctor, "SCHED_FIFO")["why"].as_str().unwrap();
    assert!(
        why.contains("CAP_SYS_NICE") && why.contains("limits.d"),
        "{why}"
    );
    assert!(
        finding(&doctor, "SCHED_DEADLINE")["why"]
            .as_str()
            .unwrap()
            .contains("setcap")
    );
}
