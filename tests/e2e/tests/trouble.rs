// SPDX-License-Identifier: Apache-2.0
//! `takt run` when applications do what they should not: each kind of trouble has an end of its
//! own, by name (docs/use/run.md).

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Command, Stdio};

use e2e::apps::{WAYS, Way, command, run, said};
use e2e::{Run, bound};

/// Starts an application, sends signals when it says what is waited for, and gives what it did
/// after that.
fn interrupted(way: Way, options: &[&str], until: &str, signals: &[&str]) -> Run {
    let data = tempfile::tempdir().expect("a temporary directory");
    let mut child = command(way, "trouble", data.path())
        .args(options)
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .expect("takt starts");
    let _guard = bound::guard(child.id());
    let pid = child.id().to_string();
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let is_ready = lines.any(|line| line.is_ok_and(|it| it.ends_with(until)));
    assert!(is_ready, "{way:?} {options:?}: never said {until}");
    for signal in signals {
        let outcome = Command::new("kill").args([*signal, &pid]).status();
        assert!(outcome.expect("kill starts").success());
    }
    let rest: Vec<String> = lines.map_while(Result::ok).collect();
    let status = child.wait().expect("it ends");
    Run {
        code: status.code().unwrap_or(128 + status.signal().unwrap_or(0)),
        stdout: String::new(),
        stderr: rest.join("\n"),
    }
}

#[test]
fn an_on_create_that_never_returns_is_an_anr_with_the_main_threads_stack() {
    for way in WAYS {
        let run = run(
            way,
            "trouble",
            &["--activity", ".StuckActivity", "--anr", "10s"],
        );
        let said = said(&run.stderr, "ActivityManager");
        assert_eq!(run.code, 3, "{way:?} {run:#?}");
        assert_eq!(said[0], "ANR in org.example.trouble", "{way:?} {run:#?}");
        let reason = "Reason: resume of activity org.example.trouble/.StuckActivity: no answer within 10000 ms";
        assert_eq!(said[2], reason, "{way:?}");
        let frame = "  at org.example.trouble.StuckActivity.turnForEver(";
        let is_there = said.iter().any(|it| it.starts_with(frame));
        assert!(is_there, "{way:?} {run:#?}");
    }
}

#[test]
fn an_end_that_the_application_holds_up_is_an_anr() {
    for way in WAYS {
        let options = ["--service", ".StuckService", "--anr", "10s"];
        let run = interrupted(way, &options, ": ready", &["-TERM"]);
        let said = said(&run.stderr, "ActivityManager");
        assert_eq!(run.code, 3, "{way:?} {run:#?}");
        let reason = "Reason: executing service org.example.trouble/.StuckService onDestroy: ";
        assert!(said[2].starts_with(reason), "{way:?} {run:#?}");
    }
}

#[test]
fn a_second_signal_ends_what_does_not_respond() {
    for way in WAYS {
        let options = ["--activity", ".StuckActivity"];
        let run = interrupted(way, &options, ": stuck", &["-INT", "-INT"]);
        // One of the two may be lost: signals of one number do not queue. Then the watchdog's time
        // is the end.
        assert!([130, 3].contains(&run.code), "{way:?} {run:#?}");
    }
}

#[test]
fn a_throwing_handler_is_a_fatal_exception_of_its_thread() {
    for way in WAYS {
        for (extra, thread) in [("x=", "main"), ("thread=worker", "worker")] {
            let run = run(way, "trouble", &["--service", ".Thrower", "--extra", extra]);
            let said = said(&run.stderr, "AndroidRuntime");
            assert_eq!(run.code, 1, "{way:?} {run:#?}");
            assert_eq!(said[0], format!("FATAL EXCEPTION: {thread}"), "{way:?}");
            assert!(said[1].starts_with("Process: org.example.trouble, PID: "));
            assert_eq!(said[2], "java.lang.IllegalStateException: message 7");
            let frame = "\tat org.example.trouble.Thrower$Throwing.handleMessage(";
            assert!(said[3].starts_with(frame), "{way:?} {run:#?}");
        }
    }
}

#[test]
fn what_is_sent_to_a_dead_thread_is_refused_once_its_looper_has_quit() {
    for way in WAYS {
        let run = run(way, "trouble", &["--service", ".DeadThread"]);
        let expected = [
            "to the one that quit: false false",
            "dying dies of its own message",
            "to the one that died: true, waiting true",
            "after quit: false, waiting false",
            "onDestroy",
        ];
        assert_eq!(said(&run.stderr, "Trouble"), expected, "{way:?} {run:#?}");
        let warning = " sending message to a Handler on a dead thread";
        let warnings = said(&run.stderr, "MessageQueue");
        let count = warnings
            .iter()
            .filter(|it| it.starts_with("Handler (android.os.Handler) {") && it.ends_with(warning));
        assert_eq!(count.count(), 3, "{way:?} {run:#?}");
        assert_eq!(run.code, 0, "{way:?}");
    }
}

#[test]
fn a_full_queue_refuses_urgent_messages_and_takes_ordinary_ones() {
    for way in WAYS {
        let run = run(way, "trouble", &["--service", ".FullQueue"]);
        let said = said(&run.stderr, "Trouble");
        assert_eq!(said[0], "an ordinary message: true", "{way:?} {run:#?}");
        // Without CAP_SYS_NICE all are ordinary, and those have no such bound.
        let real_time = "real-time: accepted 1024 of 3000, handled 1024";
        let ordinary = "ordinary: accepted 3000 of 3000, handled 3000";
        assert!(
            [real_time, ordinary].contains(&said[1].as_str()),
            "{way:?} {run:#?}"
        );
        assert_eq!(run.code, 0, "{way:?}");
    }
}

#[test]
fn a_storm_of_messages_loses_none_and_lets_the_life_cycle_through() {
    for way in WAYS {
        let run = run(
            way,
            "trouble",
            &["--service", ".Storm", "--extra", "messages=20000"],
        );
        let said = said(&run.stderr, "Trouble");
        assert_eq!(
            said,
            ["storm", "handled 80004, started 5", "onDestroy"],
            "{way:?} {run:#?}"
        );
        assert_eq!(run.code, 0, "{way:?}");
    }
}

#[test]
fn a_storm_without_end_ends_with_ctrl_c_in_order() {
    for way in WAYS {
        let options = ["--service", ".Storm"];
        let run = interrupted(way, &options, "started: service", &["-INT"]);
        let said = said(&run.stderr, "Trouble");
        assert_eq!(
            said.last().map(String::as_str),
            Some("onDestroy"),
            "{way:?} {run:#?}"
        );
        assert_eq!(run.code, 0, "{way:?} {run:#?}");
    }
}

#[test]
fn a_storm_that_nobody_takes_ends_with_the_heap_by_name() {
    // Not on HotSpot: there a handler of exceptions can itself find no memory, and nobody is told.
    for gc in ["rc", "stw"] {
        let options = [
            "--service",
            ".Storm",
            "--extra",
            "heavy=1",
            "--heap",
            "96m",
            "--gc",
            gc,
        ];
        let run = run(Way::Takt, "trouble", &options);
        let said = said(&run.stderr, "AndroidRuntime");
        assert_eq!(run.code, 1, "{gc} {run:#?}");
        assert!(said[0].starts_with("FATAL EXCEPTION: "), "{gc} {run:#?}");
        let text = "java.lang.OutOfMemoryError: Java heap space";
        assert_eq!(said[2], text, "{gc}");
    }
}

#[test]
fn a_service_that_is_declared_periodic_and_cannot_be_released_is_named() {
    for way in WAYS {
        let run = run(way, "trouble", &["--service", ".Unreleased"]);
        assert_eq!(said(&run.stderr, "Trouble"), ["onStartCommand"], "{run:#?}");
        let named = said(&run.stderr, "Takt");
        let is_said = |text: &str| named.iter().any(|it| it.contains(text));
        let name = "org.example.trouble.Unreleased";
        assert!(
            is_said(&format!("{name}: <periodic> releases nothing")),
            "{run:#?}"
        );
        assert!(
            is_said("so not applied: period 2ms, start 0ms, deadline 3ms"),
            "{run:#?}"
        );
        assert_eq!(run.code, 0);
    }
}
