// SPDX-License-Identifier: Apache-2.0
//! `takt admit`: what packages declare in their manifests is analysed together.

use e2e::world::World;
use e2e::{Run, apps};

fn package(name: &str) -> String {
    let path = apps::folder().join(format!("{name}.apk"));
    path.display().to_string()
}

#[test]
fn a_periodic_service_gets_its_bound() {
    let pulse = package("pulse");
    let words = [
        "admit",
        &pulse,
        &pulse,
        "--processors",
        "1",
        "--wake-us",
        "50",
        "--json",
    ];
    let run = Run::takt(&words);
    assert_eq!(run.code, 0, "{run:#?}");
    let json = run.json();
    assert_eq!(json["state"], "admitted");
    // Each waits for the other at the most, both of 2 ms, and 50 µs for the machine.
    for task in json["tasks"].as_array().expect("tasks") {
        assert_eq!(task["task"], "org.example.pulse.Pulse");
        assert_eq!(task["response_us"], 4050.0, "{json:#}");
        assert_eq!(task["deadline_us"], 10_000.0);
    }
}

#[test]
fn a_set_that_cannot_be_scheduled_is_refused_with_what_makes_up_the_time() {
    let pulse = package("pulse");
    let six: Vec<&str> = std::iter::repeat_n(pulse.as_str(), 6).collect();
    let words = [
        &["admit"],
        &six[..],
        &["--processors", "1", "--wake-us", "50"],
    ]
    .concat();
    let run = Run::takt(&words);
    assert_eq!(run.code, 2, "{run:#?}");
    let name = "org.example.pulse.Pulse";
    let head = format!(
        "takt: not admitted: a deadline is missed: {name} on processor 0: 10050.000 of 10000.000 µs"
    );
    assert!(run.stderr.starts_with(&head), "{run:#?}");
    // On two processors there is room.
    let words = [&words[..words.len() - 3], &["2"]].concat();
    assert_eq!(Run::takt(&words).code, 0);
}

#[test]
fn what_declares_no_runtime_is_named_and_what_has_no_task_is_admitted() {
    let run = Run::takt(&["admit", &package("trouble")]);
    assert_eq!(run.code, 2);
    let named = "org.example.trouble.Unreleased: <periodic> declares no runtime";
    assert!(run.stderr.contains(named), "{run:#?}");
    let run = Run::takt(&["admit", &package("bare")]);
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (0, "no periodic service in 1 package(s)\n")
    );
}

/// At `takt install` it is judged beside what is there: who does not fit is refused, unless forced.
#[test]
fn an_install_that_breaks_deadlines_is_refused_unless_it_is_forced() {
    let late = ["--processors=1", "--wake-us=8500"];
    let world = World::begin_with(&late);
    let pulse = package("pulse");
    let refused = world.run(&["install", &pulse]);
    assert_eq!(refused.code, 1, "{refused:#?}");
    let name = "org.example.pulse.Pulse";
    let why = format!(
        "--force installs it all the same: 1 real-time task(s) do not fit on 1 processor(s), those \
         of 0 other package(s) among them: a deadline is missed: {name} on processor 0: 10500.000 \
         of 10000.000 µs = itself 2000.000 + machine 8500.000"
    );
    assert!(refused.stderr.contains(&why), "{refused:#?}");
    assert!(world.said(&["dumpsys"]).contains("packages: 0"));
    // What has no real-time task is nobody's concern.
    world.install("bare");
    let forced = world.run(&["install", "--force", &pulse]);
    assert_eq!(forced.code, 0, "{forced:#?}");
    let broken = "forced, so deadlines are not promised any more: 1 real-time task(s) do not fit";
    assert!(forced.stdout.contains(broken), "{forced:#?}");
    let world = World::begin_with(&["--processors=1", "--wake-us=50"]);
    let fits = world.run(&["install", &pulse]);
    let bound = format!("{name} on processor 0: 2050.000 of 10000.000 µs");
    assert!(fits.code == 0 && fits.stdout.contains(&bound), "{fits:#?}");
}

/// Its seventh release computes longer than it has declared, and past its deadline: `takt ps` says
/// so while it runs.
#[test]
fn what_is_late_and_what_overruns_shows_in_ps() {
    let world = World::begin();
    world.install("pulse");
    let start = ["am", "startservice", "-n", "org.example.pulse/.Pulse"];
    world.said(&[&start[..], &["--es", "slow", "7"]].concat());
    let ledger = || {
        world
            .process("org.example.pulse")
            .map(|it| it["ledger"].clone())
    };
    let count = |name: &str| ledger().and_then(|it| it[name].as_u64()).unwrap_or(0);
    world.await_true("it is late", || count("deadline_misses") > 0);
    world.await_true("it overran", || count("cost_overruns") > 0);
    assert!(count("releases") >= 7);
    let text = world.said(&["ps"]);
    assert!(text.contains("MISSED OVERRUNS"), "{text}");
}
