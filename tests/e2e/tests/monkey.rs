// SPDX-License-Identifier: Apache-2.0
//! `takt run --monkey`: random input. The machine goes on, and windows that are gone leave no
//! buffers. An excerpt; ten minutes over five packages are a stage of `make soak`.
#![allow(
    clippy::disallowed_methods,
    reason = "a test's clock is no real-time thread's"
)]

use std::time::{Duration, Instant};

use e2e::application::Application;
use e2e::apps::{Way, command};

/// Forms, windows above windows, surfaces, a thread that draws, a list beside a task at 1 kHz.
const PACKAGES: [&str; 5] = ["widgets", "dialogs", "surfaces", "lander", "panel"];
/// Three for each window and layer that these packages ever have at once.
const BUFFERS_MAX: usize = 36;
const SOAK_SECONDS: &str = "MONKEY_TEST_SECONDS";

/// Buffers of windows and layers that the process has mapped.
fn buffers(process: u32) -> usize {
    let maps = std::fs::read_to_string(format!("/proc/{process}/maps"));
    let maps = maps.expect("it runs, and is ours");
    maps.lines()
        .filter(|it| it.contains("/memfd:window"))
        .count()
}

/// Twice so many events; what it says of the last ones.
fn play(package: &str, events: u32, seed: u32) -> String {
    let data = tempfile::tempdir().expect("a temporary directory");
    let mut command = command(Way::Takt, package, data.path());
    let monkey = format!("--monkey={events}");
    // The waits are for who counts.
    command.args([&monkey, "--wait=500ms", &monkey, "--wait=500ms"]);
    command.arg(format!("--seed={seed}"));
    let mut application = Application::start(&mut command);
    let counts = [(); 2].map(|()| {
        application.await_line("monkey: nothing took");
        buffers(application.id())
    });
    let log = application.await_end();
    eprintln!("{package}, seed {seed}: {counts:?} buffers");
    for count in counts {
        assert!(count > 0, "{package} shows nothing: {log:#?}");
        assert!(count <= BUFFERS_MAX, "{counts:?} buffers: {log:#?}");
    }
    let done = log.iter().rfind(|it| it.contains("monkey: done"));
    done.expect("it was awaited").clone()
}

/// Windows open and close, and what a seed says is always the same.
#[test]
fn random_input_leaves_no_buffers_and_can_be_repeated() {
    let done = play("dialogs", 150, 1);
    let expected = "monkey: done 55 taps, 37 drags, 33 keys, 25 texts";
    assert!(done.ends_with(expected), "{done}");
}

#[test]
#[ignore = "ten minutes: make soak"]
fn five_packages_for_ten_minutes() {
    let seconds = std::env::var(SOAK_SECONDS).ok();
    let seconds = seconds.map_or(600, |it| it.parse().expect("seconds"));
    let until = Instant::now() + Duration::from_secs(seconds);
    let mut seeds = 1..;
    while Instant::now() < until {
        let seed = seeds.next().expect("there are more");
        for package in PACKAGES {
            play(package, 400, seed);
        }
    }
}
