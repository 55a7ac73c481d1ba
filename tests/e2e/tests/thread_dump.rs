// SPDX-License-Identifier: Apache-2.0
//! SIGQUIT has a program print what its threads do, and go on.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use e2e::takt_path;

/// Every kind of waiting, and one thread that never waits. `main` says when all is in place, then
/// reads its input.
const PROGRAM: &str = r#"
import java.util.concurrent.locks.*;
public class Dumped {
    static final Object LOCK = new Object();
    static final ReentrantLock OWNED = new ReentrantLock();
    static volatile long count;
    static void start(String name, Thread.State state, Runnable body) {
        Thread thread = new Thread(body, name);
        thread.setDaemon(true);
        thread.start();
        while (thread.getState() != state) Thread.onSpinWait();
    }
    static void waits() { synchronized (LOCK) { try { LOCK.wait(); } catch (InterruptedException e) { } } }
    static void runs() { while (true) count++; }
    static synchronized void reads() throws Exception {
        synchronized (LOCK) {
            start("blocked", Thread.State.BLOCKED, () -> { synchronized (LOCK) { } });
            System.out.println("ready");
            System.in.read();
        }
    }
    public static void main(String[] args) throws Exception {
        OWNED.lock();
        start("waits", Thread.State.WAITING, Dumped::waits);
        start("parked", Thread.State.WAITING, () -> OWNED.lock());
        start("runs", Thread.State.RUNNABLE, Dumped::runs);
        reads();
        System.out.println("over");
    }
}
"#;

/// The block of one thread: its line and what follows up to the next empty one.
fn block<'a>(dump: &'a str, name: &str) -> &'a str {
    let start = dump
        .find(&format!("\"{name}\" "))
        .unwrap_or_else(|| panic!("no {name} in {dump}"));
    dump[start..].split("\n\n").next().expect("split gives one")
}

#[test]
fn sigquit_prints_what_threads_do() {
    let folder = tempfile::tempdir().expect("a directory");
    let source = folder.path().join("Dumped.java");
    std::fs::write(&source, PROGRAM).expect("ours");
    assert!(
        Command::new("javac")
            .arg(&source)
            .status()
            .expect("javac starts")
            .success()
    );
    let mut child = Command::new(takt_path())
        .args(["java", "--no-code-cache", "-cp"])
        .arg(folder.path())
        .arg("Dumped")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("takt starts");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let mut next = || lines.next().expect("it prints on").expect("text");
    while next() != "ready" {}
    let quit = Command::new("kill")
        .args(["-QUIT", &child.id().to_string()])
        .status();
    assert!(quit.expect("kill starts").success());
    let mut dump = String::new();
    while !dump.contains("Metadata") {
        dump.push_str(&next());
        dump.push('\n');
    }
    check(&dump);
    drop(child.stdin.take());
    while next() != "over" {}
    assert!(child.wait().expect("it ends").success());
}

fn check(dump: &str) {
    assert!(dump.contains("Full thread dump Takt"), "{dump}");
    let main = block(dump, "main");
    assert!(main.contains("#1 prio=5 os_prio=0 cpu="), "{main}");
    assert!(main.contains("java.lang.Thread.State: RUNNABLE"), "{main}");
    let place = main
        .find("\tat Dumped.reads(Dumped.java:")
        .expect("its frame");
    let locks: Vec<&str> = main[place..].lines().skip(1).take(2).collect();
    assert!(
        locks.iter().all(|it| it.starts_with("\t- locked <0x")),
        "{main}"
    );
    assert!(
        locks.concat().contains("(a java.lang.Class for Dumped)"),
        "{main}"
    );
    assert!(locks.concat().contains("(a java.lang.Object)"), "{main}");
    let waits = block(dump, "waits");
    assert!(
        waits.contains(" daemon prio=5 ") && waits.contains(" in Object.wait()\n"),
        "{waits}"
    );
    assert!(
        waits.contains("State: WAITING (on object monitor)"),
        "{waits}"
    );
    assert!(
        waits.contains("\tat java.lang.Object.wait(java.base@17."),
        "{waits}"
    );
    assert!(
        waits.contains("Native Method)\n\t- waiting on <0x"),
        "{waits}"
    );
    let parked = block(dump, "parked");
    let blocker = "Native Method)\n\t- parking to wait for  <0x";
    assert!(
        parked.contains("State: WAITING (parking)") && parked.contains(blocker),
        "{parked}"
    );
    assert!(parked.contains("ReentrantLock$NonfairSync)"), "{parked}");
    let runs = block(dump, "runs");
    assert!(
        runs.contains("State: RUNNABLE\n\tat Dumped.runs(Dumped.java:14)"),
        "{runs}"
    );
    let blocked = block(dump, "blocked");
    assert!(
        blocked.contains("State: BLOCKED (on object monitor)"),
        "{blocked}"
    );
    assert!(
        blocked.contains("\t- waiting to lock <0x") && !blocked.contains("- locked"),
        "{blocked}"
    );
    assert!(
        dump.contains("\"collector\" ") && !dump.contains("deadlock"),
        "{dump}"
    );
    assert!(dump.contains("JNI global refs: "), "{dump}");
}
