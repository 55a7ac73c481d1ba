// SPDX-License-Identifier: Apache-2.0
//! `javax.realtime` on this machine: programs of tests/java/realtime say what holds, ledgers say
//! what was late.
//!
//! They need the right to use SCHED_FIFO.

mod programs;

use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::OnceLock;

use programs::{compile_realtime, jdk, run_takt_by, shown};

/// Without it threads are ordinary ones, and what only real-time threads show would not be looked
/// at.
fn assert_permitted() {
    let refusal = rt::policy::Policy::fifo(1).enter().err();
    assert!(
        refusal.is_none(),
        "`takt doctor` tells how to get the right: {refusal:?}"
    );
}

/// One code cache for all tests, empty but for the start of the machine.
fn cache(jdk: &Path, classes: &Path) -> &'static Path {
    static CACHE: OnceLock<PathBuf> = OnceLock::new();
    CACHE.get_or_init(|| {
        let cache = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("realtime-code");
        let _ = std::fs::remove_dir_all(&cache);
        run_takt_by(&[], jdk, classes, &cache, &["-version"]);
        cache
    })
}

/// Classes of the programs, the code cache, and how to run one with the other.
fn machine(launcher: &[&'static str]) -> impl Fn(&[&str]) -> Output {
    let jdk = jdk();
    let classes = compile_realtime(&jdk);
    let cache = cache(&jdk, classes.path());
    let launcher = launcher.to_vec();
    move |arguments: &[&str]| run_takt_by(&launcher, &jdk, classes.path(), cache, arguments)
}

#[test]
fn releases_deadlines_and_events_come_in_order() {
    let run = machine(&[]);
    let output = run(&["-Xtakt:verify", "Releases"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    assert!(!text.contains("WRONG"), "{text}");
    assert_eq!(
        text.lines().filter(|line| line.starts_with("ok ")).count(),
        18,
        "{text}"
    );
}

/// Without the right to it a thread runs as an ordinary one and says so once, or is refused.
#[test]
fn what_is_not_granted_is_said_or_refused() {
    assert_permitted();
    let run = machine(&["setpriv", "--bounding-set", "-sys_nice"]);
    let file = tempfile::NamedTempFile::new().expect("a file for the report");
    let report = format!("-Xtakt:report={}", file.path().display());
    let output = run(&[&report, "Releases"]);
    let text = shown(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(!text.contains("WRONG"), "{text}");
    assert_eq!(text.matches("DEGRADED").count(), 1, "{text}");
    let json = std::fs::read_to_string(file.path()).expect("the report is written");
    let degraded = "\"priority_granted\": 0,\n \"degraded\": \"FIFO 60 refused";
    assert!(json.contains(degraded), "{json}");
    let refused = run(&["-Xtakt:realtime-strict", "Releases"]);
    let text = shown(&refused);
    assert_eq!(refused.status.code(), Some(1), "{text}");
    assert!(text.contains("java.lang.IllegalStateException: "), "{text}");
    assert!(text.contains("CAP_SYS_NICE"), "{text}");
}

/// The object of one thread in a JSON report, as text.
fn ledger_of(file: &std::path::Path, thread: &str) -> String {
    let report = std::fs::read_to_string(file).expect("the report is written");
    let start = report.find(&format!("{{\"name\": \"{thread}\""));
    let rest = &report[start.unwrap_or_else(|| panic!("no thread {thread} in {report}"))..];
    rest.split("}},").next().unwrap_or(rest).to_owned()
}

/// A number of a ledger.
fn count_of(ledger: &str, name: &str) -> u64 {
    let at = ledger.split(&format!("\"{name}\": ")).nth(1);
    let digits = at.and_then(|it| it.split(|c: char| !c.is_ascii_digit()).next());
    digits
        .and_then(|it| it.parse().ok())
        .unwrap_or_else(|| panic!("no {name} in {ledger}"))
}

/// What a control loop needs is compiled and linked before it starts, at the latest the second
/// time; an initialiser that can be seen runs when the loop gets there; what only a name leads to
/// is named.
#[test]
fn a_thread_compiles_and_initialises_nothing() {
    let run = machine(&[]);
    let file = tempfile::NamedTempFile::new().expect("a file for the report");
    let report = format!("-Xtakt:report={}", file.path().display());
    let none = |kind: &str| format!("\"late_{kind}\": {{\"count\": 0, ");
    let mut ledgers = Vec::new();
    for expected in [
        "[started, half, initialised]",
        "[started, initialised, half]",
    ] {
        let output = run(&[&report, "Late"]);
        let text = shown(&output);
        assert!(output.status.success() && text.contains(expected), "{text}");
        ledgers.push(ledger_of(file.path(), "control"));
    }
    let [first, second] = &ledgers[..] else {
        unreachable!("two runs")
    };
    // The first time the loop met an initialiser that nobody may run early.
    assert!(first.contains("\"names\": [\"Late$Loud\"]"), "{first}");
    for kind in ["methods", "classes", "initializations"] {
        assert!(second.contains(&none(kind)), "{kind}: {second}");
    }
    // The loop goes round a hundred times, whether the machine lets it be on time or not.
    let [releases, misses] = ["releases", "deadline_misses"].map(|name| count_of(second, name));
    assert_eq!(releases + misses, 101, "{second}");
    let output = run(&[&report, "Late", "surprise"]);
    let surprised = ledger_of(file.path(), "control");
    assert!(output.status.success(), "{}", shown(&output));
    for name in ["Late$Surprise\"", "Late$Surprise.value()I"] {
        assert!(surprised.contains(name), "{name}: {surprised}");
    }
}

/// What a list names is initialised before the thread starts.
#[test]
fn a_list_says_what_a_thread_needs() {
    let run = machine(&[]);
    let list = tempfile::NamedTempFile::new().expect("a file for the list");
    std::fs::write(list.path(), "# of the loop\ninit Late$Loud\n").expect("ours");
    let option = format!("-Xtakt:realtime-list={}", list.path().display());
    let output = run(&[&option, "Late"]);
    let text = shown(&output);
    // Initialised by the thread that starts the loop, so before it says that it has.
    assert!(text.contains("[started, initialised, half]"), "{text}");
}

/// On one processor with a hog at FIFO 50: who holds what a FIFO 80 thread waits for runs at FIFO
/// 80, the kernel says.
#[test]
fn priority_reaches_who_holds_a_lock() {
    assert_permitted();
    let cpu = rt::affinity::CpuSet::of(rt::policy::Tid::current()).expect("it is ours");
    let cpu = cpu.iter().next().expect("we run somewhere").to_string();
    let cpu: &'static str = Box::leak(cpu.into_boxed_str());
    let launcher = ["taskset", "-c", cpu];
    let run = machine(&launcher);
    let output = run(&["Inversion"]);
    let text = shown(&output);
    for lock in ["monitor", "lock", "queue", "chain"] {
        assert!(
            text.contains(&format!("\n{lock} first lent -81 ")),
            "{lock}: {text}"
        );
    }
}

/// A thread object holds a number, which is looked up, and no address.
#[test]
fn a_forged_number_names_no_record() {
    let run = machine(&[]);
    let output = run(&["Forged"]);
    assert_eq!(output.stdout, b"closed\nrefused 21\n", "{}", shown(&output));
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
}
