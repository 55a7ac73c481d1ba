// SPDX-License-Identifier: Apache-2.0
//! Notifications: what an application finds of its own, and what `takt system` keeps of them.

use e2e::application::Application;
use e2e::apps::{WAYS, command, said};
use e2e::world::World;

const TELLING: &str = "org.example.telling";
const SAID: [&str; 5] = [
    "enabled true, channels 1",
    "shown 1 null one, 2 tag two, 3 null three, 9 null runs ongoing",
    "shown 1 null first, 2 tag two, 9 null runs ongoing",
    "shown ",
    "stays shown 2 tag two, 9 null runs ongoing",
];

#[test]
fn an_application_finds_what_it_shows() {
    for way in WAYS {
        let data = tempfile::tempdir().expect("a temporary directory");
        let mut command = command(way, "telling", data.path());
        let mut application = Application::start(command.args(["--service", ".Telling"]));
        application.await_line(SAID[SAID.len() - 1]);
        let log = application.kill().join("\n");
        assert_eq!(said(&log, "Telling"), SAID, "{way:?}: {log}");
        let missing =
            "No Channel found for pkg=org.example.telling, channelId=none, id=4, tag=null";
        assert!(log.contains(missing), "{log}");
    }
}

/// What is shown outlives its process, but not what says that a service runs.
#[test]
fn the_server_keeps_them_until_their_package_ends() {
    let world = World::begin();
    world.install("telling");
    let start = ["am", "startservice", "-n", "org.example.telling/.Telling"];
    world.said(&start);
    world.await_true("all is said", || {
        world.log(TELLING, "Telling").len() >= SAID.len()
    });
    assert_eq!(world.log(TELLING, "Telling"), SAID);
    let lines = || -> Vec<String> {
        let text = world.said(&["dumpsys"]);
        let own = text.lines().filter(|it| it.contains("in channel"));
        own.map(|it| it.trim().to_owned()).collect()
    };
    let two = "org.example.telling 2 (tag) in channel \"news\": \"two\" \"text of two\"";
    let runs = "org.example.telling 9 (no tag) in channel \"news\", \
                of a service in the foreground: \"runs\" \"text of runs\"";
    assert_eq!(lines(), [two, runs]);
    let pid = world.pid(TELLING).to_string();
    let killed = std::process::Command::new("kill")
        .args(["-9", &pid])
        .status();
    assert!(killed.expect("kill is there").success());
    world.await_true("the service's is gone", || lines() == [two]);
    world.said(&["am", "force-stop", TELLING]);
    assert!(lines().is_empty());
}
