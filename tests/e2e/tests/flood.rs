// SPDX-License-Identifier: Apache-2.0
//! Careless packages under the server: more of everything than it keeps, and a receiver that never
//! returns.

use std::collections::BTreeMap;

use e2e::world::World;

const FLOOD: &str = "org.example.flood";
const LIFE: &str = "org.example.hearing";

/// Taken of 10,000, and what the first refusal says of the bound.
const BOUNDS: [(&str, &str, &str); 3] = [
    (
        "alarms",
        "2000 taken, 8000 refused",
        "IllegalStateException",
    ),
    ("pending", "1024 taken, 8976 refused", "1024"),
    ("receivers", "1000 taken, 9000 refused", "at most 1000"),
];

#[test]
fn what_is_beyond_a_packages_share_is_refused_by_name_and_others_go_on() {
    let world = World::begin();
    for app in ["flood", "hearing"] {
        world.install(app);
    }
    world.said(&["am", "startservice", "-n", "org.example.flood/.Flood"]);
    world.await_line(FLOOD, "Flood", "done");
    let said = world.log(FLOOD, "Flood");
    let said: BTreeMap<&str, &str> = said.iter().filter_map(|it| it.split_once(' ')).collect();
    for (what, taken, names) in BOUNDS {
        let line = said.get(what).copied().unwrap_or_default();
        assert!(line.starts_with(taken) && line.contains(names), "{said:?}");
    }
    // As when memory runs short.
    world.said(&["am", "send-trim-memory", FLOOD, "COMPLETE"]);
    world.await_line(FLOOD, "Flood", "gives up 80");
    world.said(&["am", "startservice", "-n", "org.example.hearing/.Hearing"]);
    world.await_line(LIFE, "Hearing", "ready");
    world.said(&["am", "force-stop", FLOOD]);
    let trim = ["am", "send-trim-memory", FLOOD, "MODERATE"];
    assert_eq!(world.run(&trim).code, 1, "no process of it runs");
    assert!(world.said(&["dumpsys"]).contains("\nalarms: 0\n"));
}

#[test]
fn a_receiver_that_never_returns_ends_its_process_and_nothing_else() {
    let world = World::begin_with(&["--anr=2s"]);
    for app in ["flood", "hearing"] {
        world.install(app);
    }
    world.said(&["am", "startservice", "-n", "org.example.hearing/.Hearing"]);
    world.await_line(LIFE, "Hearing", "ready");
    let other = world.pid(LIFE);
    let turns = ["am", "broadcast", "-a", "org.example.flood.TURNS"];
    world.said(&[&turns[..], &["-p", FLOOD]].concat());
    world.await_line(FLOOD, "Flood", "stuck");
    world.await_dead(world.pid(FLOOD));
    assert_eq!(world.pid(LIFE), other);
}
