// SPDX-License-Identifier: Apache-2.0
//! Broadcasts in the order of their priority, with all processes that they go through: the server
//! of `takt system`, senders and a receiver, by `takt bench`.

use e2e::Run;
use e2e::world::{World, holds};
use serde_json::Value;

fn number(row: &Value, name: &str) -> u64 {
    row[name].as_u64().expect(name)
}

#[test]
fn a_less_urgent_broadcast_never_goes_before_one_that_waits_as_well() {
    let rows = Run::takt(&["bench", "intent-order", "--rounds", "60", "--json"]).json();
    let ours = &rows[0]["races"];
    for kind in ["races", "of_turns", "stayed"] {
        assert!(number(ours, kind) > 0, "{kind}: {rows}");
    }
    assert_eq!(number(ours, "failures"), 0, "{rows}");
    assert!(number(&rows[1]["races"], "failures") > 0, "{rows}");
}

/// Ten ordinary threads of one package send without a pause.
#[test]
fn a_storm_of_an_ordinary_package_loses_no_urgent_broadcast_and_ends_nobody() {
    let words = [
        "bench",
        "intents",
        "--order",
        "storm",
        "--broadcasts",
        "500",
    ];
    let rows = Run::takt(&[&words[..], &["--json"]].concat()).json();
    let times = &rows[0]["times"];
    assert_eq!(number(times, "count"), 100, "{rows}");
    assert_eq!(number(times, "at_other_priority"), 0, "{rows}");
    assert!(number(times, "ordinary") > 0, "{rows}");
}

const HEARING: &str = "org.example.hearing";
const CALLING: &str = "org.example.calling";

/// The hearing package's fetching thread is held up, and the other has sent it an ordinary
/// broadcast, then an urgent one.
fn held(options: &[&str]) -> World {
    let world = World::begin_with(options);
    for app in ["hearing", "calling"] {
        world.install(app);
    }
    world.said(&["am", "startservice", "-n", "org.example.hearing/.Hearing"]);
    world.await_line(HEARING, "Hearing", "ready");
    world.said(&["am", "startservice", "-n", "org.example.calling/.Calling"]);
    world.await_line(CALLING, "Calling", "sent URGENT");
    world
}

/// What came, when the ordinary one has.
fn heard(world: &World) -> String {
    let said = || {
        let log = world.log(HEARING, "Hearing");
        let said = log.iter().find_map(|it| it.strip_prefix("in order: "));
        said.map(str::to_owned)
    };
    world.await_true("all has come", || said().is_some());
    said().expect("it is said")
}

/// The ordinary thread waits in what a step does, and the urgent broadcast ends that.
#[test]
fn an_urgent_broadcast_passes_an_ordinary_step_that_does_not_end() {
    let world = held(&[
        "--realtime=org.example.hearing=60",
        "--realtime=org.example.calling=40",
    ]);
    for package in [HEARING, CALLING] {
        let row = world.process(package).expect("it runs");
        assert!(holds(&row, "real-time policies"), "{row}");
    }
    let expected = "held, urgent at 40, let go by it, ordinary at 0";
    assert_eq!(heard(&world), expected);
}

/// Who may have no real-time threads fetches all by its ordinary one, the urgent first.
#[test]
fn without_real_time_an_urgent_broadcast_waits_for_the_step_and_goes_before_the_rest() {
    let world = held(&["--realtime=org.example.calling=40"]);
    std::fs::write(world.data(HEARING).join("end"), "").expect("it is there");
    let expected = "held, nothing came, urgent at 0, ordinary at 0";
    assert_eq!(heard(&world), expected);
}
