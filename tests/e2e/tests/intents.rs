// SPDX-License-Identifier: Apache-2.0
//! Broadcasts in the order of their priority, with all processes that they go through: the server
//! of `takt system`, senders and a receiver, by `takt bench`.

use e2e::Run;
use e2e::application::Application;
use e2e::apps::{self, Way};
use e2e::world::{World, holds, is_root};
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
        "--realtime=org.example.hearing=60:512M",
        "--realtime=org.example.calling=40:512M",
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
    let world = held(&["--realtime=org.example.calling=40:512M"]);
    std::fs::write(world.data(HEARING).join("end"), "").expect("it is there");
    let expected = "held, nothing came, urgent at 0, ordinary at 0";
    assert_eq!(heard(&world), expected);
}

const CHANNELS: &str = "org.example.channels";

/// What receivers with threads of their own have heard, in order, and the world that they live in.
fn channels(options: &[&str]) -> (World, String) {
    let world = World::begin_with(options);
    world.install("channels");
    let sender = ["am", "startservice", "-n", "org.example.channels/.Sender"];
    world.said(&sender);
    let said = || world.log(CHANNELS, "Channels").first().cloned();
    world.await_true("all has come", || said().is_some());
    let said = said().expect("it is said");
    (world, said)
}

/// Of five that wait for a receiver with room for two, the most urgent stay; each runs at its own
/// priority, or at its sender's.
#[test]
fn real_time_receivers_run_as_declared_and_their_channel_drops_the_least_urgent() {
    let (world, said) = channels(&["--realtime=org.example.channels=60:512M"]);
    let heard = "hold 35 at 30 cleaned 0, e 40 at 30 cleaned 1, b 30 at 30 cleaned 2";
    assert_eq!(said, format!("{heard}, f 20 at 20, g 40 at 40, end 7"));
    let log = world.log(CHANNELS, "Takt").join("\n");
    for (channel, why) in [
        ("fifo", "order FIFO is not supported"),
        ("newest", "drop newest is not supported"),
        (
            "bulk",
            "implementation broadcast_bulk_intent is not supported",
        ),
        ("texts", "it has no attributes order and drop"),
    ] {
        let line = format!("<channel> {channel}: not applied: {why}");
        assert!(log.contains(&line), "{line}: {log}");
    }
    assert!(log.contains("more than 2 of org.example.channels.OWN wait"));
}

/// The same where the server is inside the application's process.
#[test]
fn real_time_receivers_run_under_takt_run() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let mut command = apps::command(Way::Takt, "channels", data.path());
    let mut application = Application::start(command.args(["--service", ".Sender"]));
    let line = application.await_line("end 7");
    assert!(line.contains("hold "), "{line}");
    // As root, or for who may have real-time threads, it is as under the server.
    if is_root() {
        assert!(line.contains("e 40 at 30 cleaned 1, b 30 at 30"), "{line}");
    }
    application.kill();
}

/// Nobody is more urgent than another: the channel keeps the last.
#[test]
fn without_real_time_receivers_are_ordinary_and_say_so() {
    let (world, said) = channels(&[]);
    let heard = "hold 0 at 0 cleaned 0, d 0 at 0 cleaned 1, e 0 at 0 cleaned 2";
    assert_eq!(said, format!("{heard}, f 0 at 0, g 0 at 0, end 7"));
    let refused =
        "org.example.channels.Own: priority 30 is refused, so it runs as an ordinary thread";
    world.await_line(CHANNELS, "Takt", refused);
}

/// All are sent while the main looper is busy. The synchronous one passes those that wait, in the
/// sender's thread; a receiver that is unregistered meanwhile gets no other. The application has a
/// copy of the manager, which is not used.
#[test]
fn local_broadcasts_go_by_priority_and_synchronous_ones_at_once() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let mut command = apps::command(Way::Takt, "local", data.path());
    let mut application = Application::start(command.args(["--service", ".Sender"]));
    let line = application.await_line("1sync! 2sync!");
    let order = match is_root() {
        true => "1c 1d 1e 1a 1b 1f",
        // Nobody is more urgent than another.
        false => "1a 1b 1c 1d 1e 1f",
    };
    assert!(
        line.ends_with(&format!("false 1sync! 2sync! {order}")),
        "{line}"
    );
    application.kill();
}
