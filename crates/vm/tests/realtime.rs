// SPDX-License-Identifier: Apache-2.0
//! `javax.realtime` on this machine: programs of tests/java/realtime say what holds, ledgers say what was late.
//!
//! Without a JDK 17 a test says so and passes; without the right to use SCHED_FIFO the threads are ordinary ones, and
//! what only real-time threads show is not looked at.

mod programs;

use std::process::Output;

use programs::{JDKS, compile_realtime, jdk, run_takt_by, shown};

fn is_permitted() -> bool {
    let is_permitted = rt::policy::Policy::fifo(1).enter().is_ok();
    if !is_permitted {
        eprintln!("SKIPPED in part: no right to use SCHED_FIFO");
    }
    is_permitted
}

/// Classes of the programs, an empty code cache, and how to run one with the other.
fn machine(launcher: &[&'static str]) -> Option<impl Fn(&[&str]) -> Output> {
    let Some(jdk) = jdk() else {
        eprintln!("skipped: no JDK 17 found in JAVA_HOME or {JDKS:?}");
        return None;
    };
    let classes = compile_realtime(&jdk);
    let cache = tempfile::tempdir().expect("a directory for code");
    let launcher = launcher.to_vec();
    Some(move |arguments: &[&str]| {
        run_takt_by(&launcher, &jdk, classes.path(), cache.path(), arguments)
    })
}

#[test]
fn releases_deadlines_and_events_come_in_order() {
    let Some(run) = machine(&[]) else { return };
    let output = run(&["-Xtakt:verify", "Releases"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    assert!(!text.contains("WRONG"), "{text}");
    assert_eq!(
        text.lines().filter(|line| line.starts_with("ok ")).count(),
        18,
        "{text}"
    );
}

/// Without the right to it a thread runs as an ordinary one and says so once, or is refused.
#[test]
fn what_is_not_granted_is_said_or_refused() {
    if !is_permitted() {
        return;
    }
    let Some(run) = machine(&["setpriv", "--bounding-set", "-sys_nice"]) else {
        return;
    };
    let file = tempfile::NamedTempFile::new().expect("a file for the report");
    let report = format!("-Xtakt:report={}", file.path().display());
    let output = run(&[&report, "Releases"]);
    let text = shown(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(!text.contains("WRONG"), "{text}");
    assert_eq!(text.matches("DEGRADED").count(), 1, "{text}");
    let json = std::fs::read_to_string(file.path()).expect("the report is written");
    let degraded = "\"priority_granted\": 0,\n \"degraded\": \"FIFO 60 refused";
    assert!(json.contains(degraded), "{json}");
    let refused = run(&["-Xtakt:realtime-strict", "Releases"]);
    let text = shown(&refused);
    assert_eq!(refused.status.code(), Some(1), "{text}");
    assert!(text.contains("java.lang.IllegalStateException: "), "{text}");
    assert!(text.contains("CAP_SYS_NICE"), "{text}");
}
