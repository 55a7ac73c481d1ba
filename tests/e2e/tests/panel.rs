// SPDX-License-Identifier: Apache-2.0
//! examples/panel: a window beside a control task at 1 kHz, which share no lock.

use e2e::apps::{Way, run, said};

/// Where things lie on a display of 800 by 480.
const START: &str = "--tap=200,100";
const THREE_QUARTERS: &str = "--tap=292,184";

/// How many releases a row of the table has.
fn releases(said: &[String], phase: &str) -> u64 {
    let row = said.iter().find(|it| it.starts_with(phase));
    let row = row.unwrap_or_else(|| panic!("no {phase}: {said:#?}"));
    let mut words = row[phase.len()..].split_whitespace();
    words
        .next()
        .and_then(|it| it.parse().ok())
        .expect("a count")
}

#[test]
fn the_task_follows_the_slider_and_says_how_late_it_was() {
    let run = run(
        Way::Takt,
        "panel",
        &[START, THREE_QUARTERS, "--wait=3s", START],
    );
    assert_eq!(run.code, 0, "{run:#?}");
    let said = said(&run.stderr, "Panel");
    assert_eq!(said[0], "started", "{run:#?}");
    assert_eq!(said[1], "set point 75", "{run:#?}");
    assert_eq!(said[2], "stopped at 75", "{run:#?}");
    assert!(releases(&said, "at rest") > 0, "{run:#?}");
    assert_eq!(releases(&said, "scrolling"), 0, "{run:#?}");
}

#[test]
fn the_list_scrolls_while_the_task_runs() {
    let run = run(Way::Takt, "panel", &["--extra=seconds=1", "--wait=3s"]);
    assert_eq!(run.code, 0, "{run:#?}");
    let said = said(&run.stderr, "Panel");
    for phase in ["at rest", "scrolling"] {
        assert!(releases(&said, phase) > 0, "{run:#?}");
    }
    let last = said.last().expect("a summary");
    assert!(last.ends_with("deadlines missed"), "{run:#?}");
}

#[test]
fn the_task_runs_without_a_window_too() {
    let run = run(
        Way::Takt,
        "panel",
        &["--service=.Alone", "--extra=seconds=1"],
    );
    assert_eq!(run.code, 0, "{run:#?}");
    let said = said(&run.stderr, "Panel");
    assert_eq!(said[1], "alone", "{run:#?}");
    let figures = said
        .iter()
        .find(|it| it.starts_with("figures alone releases "));
    let count = figures.and_then(|it| it.split(' ').nth(3)?.parse::<u64>().ok());
    assert!(count.is_some_and(|it| it > 0), "{run:#?}");
}
