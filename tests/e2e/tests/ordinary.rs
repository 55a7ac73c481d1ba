// SPDX-License-Identifier: Apache-2.0
//! `takt system` of an ordinary user: applications talk as root's do, and are confined as far as an
//! ordinary user may confine them.

use e2e::world::{World, holds, is_root};

const ASKER: &str = "org.example.asker";
const METER: &str = "org.example.meter";
const NOBODY: u32 = 65_534;

#[test]
fn applications_of_an_ordinary_user_talk_and_are_confined_as_far_as_that_goes() {
    let world = match is_root() {
        true => World::begin_as(NOBODY),
        false => World::begin(),
    };
    for app in ["meter", "asker"] {
        world.install(app);
    }
    world.said(&["am", "start", "-n", "org.example.asker/.Main"]);
    world.await_line(ASKER, "Asker", "result 7 -1 42");
    let rows = [ASKER, METER].map(|it| world.process(it).expect("it runs"));
    for row in &rows {
        // Only root has users to give.
        assert!(!holds(row, "own user"), "{row:#}");
        for name in [
            "files",
            "capabilities",
            "no new privileges",
            "system calls",
            "network",
            "local sockets",
            "open files",
        ] {
            assert!(holds(row, name), "{name}: {row:#}");
        }
        assert_eq!(row["real_time_max"], 0, "{row:#}");
        assert_eq!(row["policies"].as_array().map(Vec::len), Some(0), "{row:#}");
    }
    let text = world.said(&["ps"]);
    assert!(text.contains("GRANTED") && text.contains("lacks"), "{text}");
    // What ends one leaves the other alone.
    world.said(&["am", "force-stop", METER]);
    world.await_line(ASKER, "Asker", "disconnected from org.example.meter/.Meter");
}
