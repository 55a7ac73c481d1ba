// SPDX-License-Identifier: Apache-2.0
//! What goes from one package to another under `takt system`: content, PendingIntents, binders in
//! extras, ordered and sticky broadcasts.

use e2e::world::World;

const GIVER: &str = "org.example.giver";
const TAKER: &str = "org.example.taker";

#[test]
fn packages_use_what_others_provide_and_send_what_others_gave() {
    let world = World::begin();
    for app in ["giver", "taker"] {
        world.install(app);
    }
    world.said(&["am", "start", "-n", "org.example.taker/.Main"]);
    world.await_line(TAKER, "Taker", "released");
    content(&world);
    pending_intents(&world);
    in_order(&world);
    // The PendingIntent goes on without the process that made it.
    world.said(&["am", "startservice", "-n", "org.example.giver/.Worker"]);
    let giver = world.pid(GIVER);
    let before = world.log(GIVER, "Private").len();
    assert_eq!(kill(giver), 0);
    world.await_true("it ends", || !e2e::world::is_alive(giver));
    world.said(&["am", "start", "-n", "org.example.taker/.Again"]);
    world.await_line(TAKER, "Again", "sent");
    world.await_line(GIVER, "Private", "got mine and again");
    assert_eq!(world.log(GIVER, "Private").len(), before + 1);
    assert_ne!(world.pid(GIVER), giver);
    // It ends with its package.
    world.said(&["uninstall", GIVER]);
    world.said(&["am", "start", "-n", "org.example.taker/.Again"]);
    world.await_line(TAKER, "Again", "cancelled");
    let state = world.said(&["dumpsys"]);
    for line in ["ordered broadcasts: 0, sticky: 0\n", "pending intents: 0\n"] {
        assert!(state.contains(line), "{state}");
    }
}

fn kill(pid: u64) -> i32 {
    use rustix::process::{Pid, Signal, kill_process};
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    kill_process(pid.expect("a number"), Signal::KILL).map_or(1, |()| 0)
}

/// A provider of another process: all its calls, and who may make them.
fn content(world: &World) {
    let said = world.log(TAKER, "Taker");
    let sum: u64 = 1 + (0..30_000_u64).map(|it| 1000 + it).sum::<u64>();
    let many = format!("many 30001 {sum}");
    let expected = [
        "inserted content://org.example.giver.notes/notes/1 and 2",
        "updated 1, deleted 1, again 0",
        "say it by org.example.taker elsewhere true, type vnd.android.cursor.dir/note",
        "row 1 better 0.5 3 true of 5",
        &many,
        "read from a file",
        "hidden is refused",
        "locked is refused",
    ];
    assert_eq!(said[..expected.len()], expected, "{said:#?}");
    // The provider's own changes, those that a caller made and those of a service beside it.
    let heard = world.log(TAKER, "Observer");
    for (number, times) in [(1, 1), (2, 2)] {
        let line = format!("changed {number} by itself false");
        let count = heard.iter().filter(|it| **it == line).count();
        assert_eq!(count, times, "{heard:?}");
    }
}

/// What only their creator reaches, started by another, in the creator's name.
fn pending_intents(world: &World) {
    let said = world.log(TAKER, "Taker");
    for line in [
        "result 7 here is giver",
        "given by org.example.giver",
        "finished 42 from private",
        "once is once",
    ] {
        assert!(said.iter().any(|it| it == line), "{line}: {said:#?}");
    }
    assert_eq!(world.log(GIVER, "Back"), ["started with taker's"]);
    assert_eq!(world.log(GIVER, "Worker"), ["started with taker's"]);
    let private = [
        "got fixed and null",
        "got mine and taker's",
        "got once and null",
    ];
    assert_eq!(world.log(GIVER, "Private"), private);
}

/// By priority, through both packages; one aborts; one comes later and finds what stays.
fn in_order(world: &World) {
    world.said(&["am", "start", "-n", "org.example.taker/.Order"]);
    let aborted = "end 8123 aborted First Middle";
    world.await_line(TAKER, "Order", aborted);
    let mut said = world.log(TAKER, "Order");
    said.sort();
    let expected = [
        aborted,
        "end 91234 begun First Middle",
        "found stays",
        "heard stays sticky true",
        "sticky is refused",
    ];
    assert_eq!(said, expected);
    assert_eq!(world.log(GIVER, "First"), ["found 9", "found 8"]);
    assert_eq!(world.log(GIVER, "Middle"), ["found 912", "found 812"]);
}

/// On over the server's end; off, its process ends.
#[test]
fn a_package_switches_its_components() {
    let mut world = World::begin();
    for app in ["giver", "taker"] {
        world.install(app);
    }
    let dark = ["am", "start", "-n", "org.example.taker/.Dark"];
    assert_ne!(world.run(&dark).code, 0);
    let switch = ["am", "start", "-n", "org.example.taker/.Switch"];
    world.said(&switch);
    world.await_line(TAKER, "Switch", "another package's is refused");
    let said = ["is 0, seen false", "is 1, seen true"];
    assert_eq!(world.log(TAKER, "Switch")[..2], said);
    world.said(&dark);
    world.await_line(TAKER, "Dark", "made");
    let is_kept = || {
        let state = std::fs::read_to_string(world.state().join("state"));
        state.is_ok_and(|it| it.contains(r#""org.example.taker.Dark":"Enabled""#))
    };
    world.await_true("it is kept", is_kept);
    world.server.take().expect("it runs").kill_alone();
    world.start();
    world.said(&dark);
    world.await_line(TAKER, "Dark", "made");
    let pid = world.pid(TAKER);
    world.said(&[&switch[..], &["-a", "off"]].concat());
    world.await_dead(pid);
    assert_ne!(world.run(&dark).code, 0);
}

/// Its process is killed while another activity of it lies above: that one is lost, and it is made
/// anew with what it saved.
#[test]
fn what_an_activity_saved_outlives_its_process() {
    let world = World::begin();
    world.install("taker");
    let mut expected = vec!["made 1"];
    let has_said = |all: &[&str]| {
        world.await_true("it says so", || world.log(TAKER, "Counter") == all);
    };
    world.said(&["am", "start", "-n", "org.example.taker/.Counter"]);
    has_said(&expected);
    for made in ["made 2", "made 3"] {
        world.said(&["am", "start", "-n", "org.example.taker/.Above"]);
        expected.push("stopped");
        has_said(&expected);
        // Behind onStop, by the same thread.
        world.await_true("the server keeps it", || {
            world.said(&["dumpsys"]).contains(".Counter Stopped, saved")
        });
        assert_eq!(kill(world.pid(TAKER)), 0);
        expected.extend(["knows .Counter", made]);
        has_said(&expected);
    }
}

/// By an intent, as long as who got it lives; by name, until it is taken back; kept over the
/// server's end.
#[test]
fn an_address_is_lent_and_nothing_beside_it() {
    let mut world = World::begin();
    for app in ["giver", "taker"] {
        world.install(app);
    }
    world.said(&["am", "start", "-n", "org.example.giver/.Lend"]);
    world.await_line(TAKER, "Borrow", "kept /open/kept r");
    let lent = ["secret is not granted", "returned -1"];
    assert_eq!(world.log(GIVER, "Lend"), lent);
    let said = [
        "reads /open/1 true, granted",
        "reads /open/2 true, granted",
        "reads /open/3 not",
        "writes /open/1 not",
        "reads /news/1 true",
        "reads /other not",
        "kept",
        "reads /open/kept true, granted",
        "writes /open/all/below true",
        "keeps /open/all not",
        "keeps /open/kept",
        "kept /open/kept r",
    ];
    assert_eq!(world.log(TAKER, "Borrow"), said);
    world.await_true("a grant ends with its activity", || {
        world.said(&[
            "am",
            "start",
            "-n",
            "org.example.taker/.Borrow",
            "-a",
            "look",
        ]);
        world
            .log(TAKER, "Look")
            .contains(&"it has ended".to_owned())
    });
    let is_kept = || {
        let state = std::fs::read_to_string(world.state().join("state"));
        state.is_ok_and(|it| it.contains("content://org.example.giver.lent/open/kept"))
    };
    world.await_true("it is kept", is_kept);
    world.server.take().expect("it runs").kill_alone();
    world.start();
    let again = [
        "am",
        "start",
        "-n",
        "org.example.taker/.Borrow",
        "-a",
        "after",
    ];
    world.said(&again);
    world.await_line(TAKER, "Borrow", "kept");
    let said = [
        "reads /open/kept true, granted",
        "writes /open/all/below not",
        "reads /open/kept not",
        "kept",
    ];
    assert_eq!(world.log(TAKER, "Borrow"), said);
}
