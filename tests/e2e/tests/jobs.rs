// SPDX-License-Identifier: Apache-2.0
//! Jobs: an application's, by AOSP's own JobScheduler. Its process is killed, and so is the server.

use std::process::Command;

use e2e::Run;
use e2e::apps::{self, WAYS, said};
use e2e::world::{World, is_root};

const JOBS: &str = "org.example.jobs";

const SAID: [&str; 22] = [
    "at once 1",
    "later 1",
    "pending null -2",
    "waits 9, known 300",
    "at once 2, early false",
    "at once 3, at once 3, at once 3, early false",
    "fails once 4, fails once 4, early false",
    "at once 6",
    "until stopped 7, reason -1",
    "stopped 7 by 1, pending null",
    "at once 8",
    "work 9, item a for the 1., item b for the 1., item c for the 1.",
    "in all 2, here 1",
    "at once 10 of other",
    "IllegalArgumentException: Scheduled service org.example.jobs/org.example.jobs.Open does not \
     require android.permission.BIND_JOB_SERVICE permission",
    "IllegalArgumentException: No such service org.example.jobs/None",
    "UnsupportedOperationException: JobInfo.Builder.setRequiresDeviceIdle (a machine is never idle \
     here) is not supported by Takt yet",
    "UnsupportedOperationException: JobInfo.NETWORK_TYPE_CELLULAR is not supported by Takt yet",
    "IllegalStateException: Apps may not schedule more than 150 distinct jobs",
    "scheduled 150",
    "then 0",
    "done",
];

fn check(said: &[String]) {
    assert_eq!(said, SAID, "{said:#?}");
}

#[test]
fn jobs_come_as_they_were_asked_for() {
    for way in WAYS {
        let run = apps::run(way, "jobs", &["--service", ".Planner"]);
        assert_eq!(run.code, 0, "{run:#?}");
        check(&said(&run.stderr, "Jobs"));
    }
}

/// In a network of its own, which has no interface that is up.
#[test]
fn without_a_network_a_job_waits_for_its_deadline() {
    if !is_root() {
        return;
    }
    let data = tempfile::tempdir().expect("a directory");
    let package = apps::folder().join("jobs.apk");
    let mut command = Command::new("unshare");
    command.arg("--net").arg(e2e::takt_path()).arg("run");
    command.arg(package).arg("--data").arg(data.path());
    command.args(["--service", ".Later", "--extra", "how=network"]);
    let run = Run::of(&mut command);
    // It waits for a network.
    assert_eq!(said(&run.stderr, "Later"), ["reason 6", "scheduled 1"]);
    assert_eq!(said(&run.stderr, "Worker"), ["at once 8 overdue"]);
    assert_eq!(run.code, 0);
}

fn kill(pid: u64) {
    let killed = Command::new("kill").args(["-9", &pid.to_string()]).status();
    assert!(killed.expect("kill is there").success());
}

fn begin(world: &World, how: &str) {
    let words = ["am", "startservice", "-n", "org.example.jobs/.Later"];
    world.said(&[&words[..], &["--es", "how", how]].concat());
    world.await_line(JOBS, "Later", "scheduled 2");
}

fn has(world: &World, text: &str) -> bool {
    world.said(&["dumpsys"]).contains(text)
}

#[test]
fn a_job_outlives_its_process_and_one_that_is_kept_the_server() {
    let mut world = World::begin();
    world.install("jobs");
    world.said(&["am", "startservice", "-n", "org.example.jobs/.Planner"]);
    world.await_line(JOBS, "Jobs", "done");
    check(&world.log(JOBS, "Jobs"));
    begin(&world, "plain");
    let pid = world.pid(JOBS);
    kill(pid);
    world.await_line(JOBS, "Worker", "at once 20");
    assert_ne!(world.pid(JOBS), pid);
    world.await_true("one is left", || has(&world, "\njobs: 1, 0 of them run\n"));
    world.said(&["am", "force-stop", JOBS]);
    assert!(has(&world, "\njobs: 0, 0 of them run\n"));
    begin(&world, "kept");
    let state = world.state().join("state");
    let is_kept = || std::fs::read_to_string(&state).is_ok_and(|it| it.contains("Worker"));
    world.await_true("it is kept", is_kept);
    let pid = world.pid(JOBS);
    world.server.take().expect("it runs").kill_alone();
    world.await_dead(pid);
    world.start();
    assert!(
        has(&world, "\njobs: 1, 0 of them run\n"),
        "the other has ended"
    );
    world.await_line(JOBS, "Worker", "at once 20");
    world.await_true("none is left", || has(&world, "\njobs: 0, 0 of them run\n"));
}
