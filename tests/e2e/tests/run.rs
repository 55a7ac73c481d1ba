// SPDX-License-Identifier: Apache-2.0
//! `takt run`: the life of applications, told by their own log. Applications come from `cargo xtask
//! framework`.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use e2e::Run;
use e2e::apps::{WAYS, Way, command, folder, run, said};

const BORN: [&str; 2] = ["Facts.onCreate", "App.onCreate in org.example.life"];

#[test]
fn activities_live_as_on_android() {
    for way in WAYS {
        let run = run(way, "life", &[]);
        let expected = [
            "First.onCreate",
            "First.onStart",
            "First.onResume",
            "First.onPause",
            "Second.onCreate",
            "Second.onStart",
            "Second.onResume",
            "Second.onPause",
        ];
        let said = said(&run.stderr, "Life");
        assert_eq!(said[..2], BORN, "{run:#?}");
        assert_eq!(said[2..10], expected, "{run:#?}");
        // First is stopped when the looper is idle, so before or after the answer; the order of
        // each activity is fixed.
        let of = |name: &str| -> Vec<&String> {
            said[10..]
                .iter()
                .filter(|it| it.starts_with(name))
                .collect()
        };
        assert_eq!(
            of("Second"),
            ["Second.onStop", "Second.onDestroy"],
            "{run:#?}"
        );
        assert!(said.contains(&"First.onActivityResult 7 -1 42".to_owned()));
        assert_eq!(said.last().map(String::as_str), Some("First.onDestroy"));
        assert_eq!(run.code, 0);
    }
}

/// Launch modes and flags of intents, as Android's documentation has them: what comes to the front,
/// who gets which intent and which result. When one ends behind another is told apart.
#[test]
fn activities_are_stacked_as_on_android() {
    let expected = [
        "Root.onCreate",
        "Root.onResume in task as root",
        "Top.onCreate",
        "Top.onResume in task above it",
        // singleTop
        "Top.onNewIntent 2",
        "Top.onResume in task above it",
        // FORWARD_RESULT: Middle gives its place away.
        "Middle.onCreate",
        "Middle.onResume in task above it",
        "Last.onCreate",
        "Last.onResume in task above it",
        "Top.onActivityResult 5 42 6",
        "Top.onResume in task above it",
        // recreate()
        "Top.onCreate again",
        "Top.onResume in task above it",
        // CLEAR_TOP with SINGLE_TOP
        "Middle.onCreate",
        "Middle.onResume in task above it",
        "Root.onNewIntent 8",
        "Root.onResume in task as root",
        // NO_HISTORY, then REORDER_TO_FRONT
        "Last.onCreate",
        "Last.onResume in task above it",
        "Middle.onCreate",
        "Middle.onResume in task above it",
        "Root.onNewIntent 11",
        "Root.onResume in task above it",
        // singleInstance
        "Alone.onCreate",
        "Alone.onResume in task as root",
        "Root.onResume in task above it",
    ];
    for way in WAYS {
        let run = run(way, "stacks", &["--for", "60s"]);
        let said = said(&run.stderr, "Stacks");
        let (gone, lived): (Vec<_>, Vec<_>) = said.iter().partition(|it| it.ends_with("onDestroy"));
        assert_eq!(lived, expected, "{run:#?}");
        let count = |name: &str| gone.iter().filter(|it| it.starts_with(name)).count();
        let counts = ["Root", "Top", "Middle", "Last", "Alone"].map(count);
        assert_eq!(counts, [1, 2, 3, 2, 1], "{run:#?}");
        assert_eq!(run.code, 0);
    }
}

/// What AOSP's own library does: pixels, text, an image's format; values by qualifier and theme,
/// compiled XML, drawables; a database in the package's folder.
#[test]
fn an_application_draws_reads_resources_and_keeps_a_database() {
    let expected = [
        "pixels: ffff0000 ffffffff ff0000ff ffffffff",
        "text: true true true",
        "png: true 64x64 true",
        "others: true true",
        "half: 32 ffff0000",
        "arrays: red,green,blue [2, 3, 5]",
        "plurals: 1 sheet, 2 sheets",
        "marked: one bold word, bold from 4",
        "name: org.example.drawing:plurals/sheets, of the framework: OK",
        "qualified: Hello portrait, Hallo landscape",
        "theme: ffb87333 3.0 fffafafa",
        "child: ff101010 3.0",
        "xml: tree=12 branch=left branch=right",
        "disc: 20 ffb87333 0",
        "corner: 20 ff0000ff 0",
        "row: line 4998 2499.0 bytes",
        "rows: 2500 10873350 true",
        "refused: true",
        "parcel: true",
        "done",
    ];
    for way in WAYS {
        let run = run(way, "drawing", &["--service", ".Sheet"]);
        assert_eq!(said(&run.stderr, "Drawing"), expected, "{run:#?}");
        assert_eq!(run.code, 0);
    }
}

/// RTDroid's experiment as a package: every real-time message is handled, at the priority that it
/// was sent with, and the service's own callbacks run at what its manifest declares. Without the
/// permission the same happens at no priority.
#[test]
fn real_time_messages_are_handled_among_ordinary_ones() {
    let options = ["--service", ".HandlerLoad", "--extra", "messages=10"];
    let granted = run(Way::Takt, "handler-load", &options);
    let lines = said(&granted.stderr, "HandlerLoad");
    assert_eq!(lines[0], "onStartCommand at priority 40", "{granted:#?}");
    assert!(
        lines[1].starts_with("30 threads: 10 of 10 messages (FIFO 50)"),
        "{granted:#?}"
    );
    assert!(lines[1].ends_with("; 0 times not raised"), "{granted:#?}");
    assert_eq!((lines[2].as_str(), granted.code), ("ended", 0));

    let data = tempfile::tempdir().expect("a temporary directory");
    let allowed = command(Way::Takt, "handler-load", data.path());
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set=-sys_nice", "--inh-caps=-sys_nice"]);
    let refused = Run::of(
        command
            .arg(allowed.get_program())
            .args(allowed.get_args())
            .args(options),
    );
    let lines = said(&refused.stderr, "HandlerLoad");
    assert_eq!(lines[0], "onStartCommand at priority 0", "{refused:#?}");
    assert!(
        lines[1].starts_with("30 threads: 10 of 10 messages (an ordinary thread"),
        "{refused:#?}"
    );
    assert_eq!((lines[2].as_str(), refused.code), ("ended", 0));
    assert!(
        refused
            .stderr
            .contains("SCHED_FIFO 40 is not permitted (CAP_SYS_NICE"),
        "{refused:#?}"
    );
}

/// A service that its manifest declares periodic is released at its priority from its start to its
/// end, misses the deadline that it works beyond, hears of it before the next release, and its
/// ledger counts the same.
#[test]
fn a_periodic_service_is_released_and_its_misses_are_counted() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let file = place.path().join("report.json");
    let report = format!("--report={}", file.display());
    let options = ["--service", ".Pulse", "--extra", "slow=7", &report];
    let run = run(Way::Takt, "pulse", &options);
    let lines = said(&run.stderr, "Pulse");
    assert_eq!(lines[0], "onStartCommand, released 0 times", "{run:#?}");
    let word = |name: &str| -> u64 {
        let rest = lines[1].split(name).nth(1).expect("it is told");
        let word = rest.split([' ', ',']).find(|it| !it.is_empty());
        word.and_then(|it| it.parse().ok()).expect("a number")
    };
    assert_eq!((lines.len(), run.code), (2, 0), "{run:#?}");
    assert_eq!(word("priority"), 60, "{run:#?}");
    assert!(word("releases") >= 20, "{run:#?}");
    assert_eq!(word("of release 7"), 1, "{run:#?}");
    assert!(word("missed") >= 1, "{run:#?}");
    let report: serde_json::Value =
        serde_json::from_slice(&std::fs::read(file).expect("a report")).expect("JSON");
    let threads = report["realtime_threads"].as_array().expect("ledgers");
    let ledger = threads.iter().find(|it| it["name"] == "Pulse");
    let ledger = ledger.unwrap_or_else(|| panic!("{report:#}"));
    assert_eq!(ledger["releases"], word("releases"), "{ledger:#}");
    assert_eq!(ledger["deadline_misses"], word("missed"), "{ledger:#}");
    let kib = |name: &str| report["heap_memory"][name].as_u64();
    assert!(kib("in_memory_kib") > Some(0), "{report:#}");
    assert!(kib("superpages_kib") <= kib("in_memory_kib"), "{report:#}");
}

/// The first thread is a real-time one here, whose lines are short. Its last lines of the log come
/// from another queue, so they may stand behind the report.
#[test]
fn a_report_is_whole_on_standard_error_too() {
    let run = run(Way::Takt, "pulse", &["--service", ".Pulse", "--report"]);
    let ledger = run.stderr.split("\"Pulse\": FIFO").nth(1);
    let mut lines = ledger.unwrap_or_default().lines().skip(1);
    let end = lines.find(|it| !it.starts_with("  ") || it.starts_with("  handshakes: "));
    assert!(
        end.is_some_and(|it| it.starts_with("  handshakes: ") && it.ends_with(" µs")),
        "{run:#?}"
    );
}

#[test]
fn a_service_binds_asks_sends_and_ends() {
    for way in WAYS {
        let run = run(way, "life", &["--service", ".Worker"]);
        let expected = [
            "Worker.onCreate",
            "Worker.onStartCommand 1",
            "Worker.text OK",
            "Worker.cursor of 3",
            "Bound.onCreate",
            "Bound.onBind",
            "Worker.connected to .Bound, answer 42",
            "Bound.onUnbind",
            "Bound.onDestroy",
            "Worker.received org.example.life.OWN",
            "Worker.onDestroy",
        ];
        let said = said(&run.stderr, "Life");
        assert_eq!(said[..2], BORN, "{run:#?}");
        assert_eq!(said[2..], expected, "{run:#?}");
        assert_eq!(run.code, 0);
    }
}

#[test]
fn a_broadcast_reaches_the_manifests_receiver_with_its_extras() {
    for way in WAYS {
        let options = ["--broadcast", "org.example.life.PING", "--extra", "word=hi"];
        let run = run(way, "life", &options);
        let said = said(&run.stderr, "Life");
        assert_eq!(said.last().map(String::as_str), Some("Ping.onReceive hi"));
        assert_eq!(run.code, 0);
    }
}

#[test]
fn a_signal_ends_components_in_order() {
    for way in WAYS {
        use std::io::{BufRead as _, BufReader};
        let data = tempfile::tempdir().expect("a temporary directory");
        let mut child = command(way, "life", data.path())
            .args(["--service", ".Worker", "--extra", "stay=1"])
            .stderr(Stdio::piped())
            .spawn()
            .expect("takt starts");
        let pid = child.id().to_string();
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let stays = |line: &std::io::Result<String>| {
            line.as_ref().is_ok_and(|it| it.ends_with("Worker.stays"))
        };
        assert!(lines.any(|line| stays(&line)), "the service did not start");
        let outcome = Command::new("kill").args(["-INT", &pid]).status();
        assert!(outcome.expect("kill starts").success());
        let rest: Vec<String> = lines.map_while(Result::ok).collect();
        assert_eq!(said(&rest.join("\n"), "Life"), ["Worker.onDestroy"]);
        assert_eq!(child.wait().expect("it ends").code(), Some(0));
    }
}

#[test]
fn code_comes_from_every_dex_file_and_from_native_libraries() {
    let run = run(Way::Takt, "parts", &["--service", ".Whole"]);
    let expected = [
        "second file: 1099511627804 by PathClassLoader",
        "library: 42",
        "missing: true",
    ];
    assert_eq!(said(&run.stderr, "Parts"), expected, "{run:#?}");
    assert_eq!(run.code, 0);
}

#[test]
fn a_broken_package_is_refused_with_the_fault() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let broken = folder.path().join("broken.apk");
    std::fs::write(&broken, b"PK\x03\x04 and no more").expect("it is ours");
    let run = Run::takt(&["run", &broken.to_string_lossy()]);
    assert_eq!(run.code, 2, "{run:#?}");
    assert!(run.stderr.contains("refused: "), "{run:#?}");
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output().expect("id starts");
    id.stdout == b"0\n"
}

/// Once, and only root: some bounds do not hold for it.
#[test]
fn root_is_warned() {
    let warnings = |run: &Run| run.stderr.matches("takt: running as root").count();
    let expected = usize::from(is_root());
    let as_we_are = run(Way::Hotspot, "life", &["--service", ".Nobody"]);
    assert_eq!(warnings(&as_we_are), expected, "{as_we_are:#?}");
}

/// Root cannot have all of it, and is told what is missing before anything starts.
#[test]
fn a_strict_sandbox_is_whole_or_refused() {
    let run = run(Way::Takt, "life", &["--sandbox", "strict"]);
    if is_root() {
        assert_eq!(run.code, 2, "{run:#?}");
        let reason = "cannot be confined (--sandbox): not offered here: tasks (";
        assert!(run.stderr.contains(reason), "{run:#?}");
        assert!(said(&run.stderr, "Life").is_empty(), "{run:#?}");
    }
    let free = e2e::apps::run(Way::Takt, "life", &["--sandbox", "none"]);
    assert_eq!(free.code, 0, "{free:#?}");
}

#[test]
fn a_component_that_is_not_there_is_named() {
    for way in WAYS {
        let run = run(way, "life", &["--service", ".Nobody"]);
        assert_eq!(run.code, 2, "{way:?} {run:#?}");
        assert!(run.stderr.contains("no service for"), "{way:?} {run:#?}");
    }
}

#[test]
fn the_heartbeat_beats_from_its_package() {
    let options = ["--service", ".Heartbeat", "--extra", "beats=50"];
    // javax.realtime is our machine's.
    let run = run(Way::Takt, "heartbeat", &options);
    let said = said(&run.stderr, "Heartbeat");
    assert_eq!(run.code, 0, "{run:#?}");
    assert!(said[0].starts_with("50 releases ("), "{run:#?}");
    assert!(said[0].contains(" 5 messages, "), "{run:#?}");
    assert_eq!(said[1], "ended", "{run:#?}");
}

/// Runs a service of `life`, or what is unsigned of it, with this data folder and until it has
/// started.
fn run_in(data: &Path, package: &Path) -> Run {
    let mut words = command(Way::Takt, "life", data);
    words.args(["--service", ".Worker", "--until-started"]);
    let arguments: Vec<_> = words.get_args().map(ToOwned::to_owned).collect();
    let mut takt = Command::new(words.get_program());
    Run::of(takt.arg("run").arg(package).args(&arguments[2..]))
}

#[test]
fn only_our_own_folder_in_the_data_folder_is_written() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let elsewhere = tempfile::tempdir().expect("a temporary directory");
    let kept = [data.path().join("lib/kept"), elsewhere.path().join("kept")];
    std::fs::create_dir(data.path().join("lib")).expect("it is ours");
    for file in &kept {
        std::fs::write(file, "kept").expect("it is ours");
    }
    // What an application may leave behind.
    symlink(&kept[1], data.path().join("run.json")).expect("it is ours");
    let life = folder().join("life.apk");
    let run = run_in(data.path(), &life);
    assert_eq!(run.code, 0, "{run:#?}");
    for file in &kept {
        assert_eq!(std::fs::read_to_string(file).expect("it is there"), "kept");
    }
    std::fs::remove_dir_all(data.path().join(".takt")).expect("it is there");
    symlink(elsewhere.path(), data.path().join(".takt")).expect("it is ours");
    let run = run_in(data.path(), &life);
    assert_eq!(run.code, 2, "{run:#?}");
    let text = ".takt is not a folder that takt run has made";
    assert!(run.stderr.contains(text), "{run:#?}");
    let entries = std::fs::read_dir(elsewhere.path()).expect("it is ours");
    assert_eq!(entries.count(), 1);
}

#[test]
fn a_data_folder_belongs_to_a_package_and_its_signer() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let signed = folder().join("life.apk");
    let unsigned = folder().join("life/aligned.apk");
    for _ in 0..2 {
        let run = run_in(data.path(), &signed);
        assert_eq!(run.code, 0, "{run:#?}");
    }
    let run = run_in(data.path(), &unsigned);
    assert_eq!(run.code, 2, "{run:#?}");
    for text in [
        "belong to org.example.life signed by ",
        "this is org.example.life without a verified signature: give another folder by --data",
    ] {
        assert!(run.stderr.contains(text), "{run:#?}");
    }
    assert!(said(&run.stderr, "Life").is_empty(), "{run:#?}");
}

/// The package's file becomes another one after it was checked, right before the Java machine
/// starts.
#[test]
fn what_runs_is_what_was_checked() {
    let place = tempfile::tempdir().expect("a temporary directory");
    let (home, package) = (place.path().join("jdk"), place.path().join("life.apk"));
    std::fs::create_dir_all(home.join("bin")).expect("it is ours");
    std::fs::copy(folder().join("life.apk"), &package).expect("it copies");
    std::fs::write(home.join("release"), "JAVA_VERSION=\"17.0.0\"\n").expect("it is ours");
    let output = Command::new("java")
        .args(["-XshowSettings:properties", "-version"])
        .output();
    let settings = String::from_utf8(output.expect("java starts").stderr).expect("text");
    let is_home = |line: &&str| line.trim().starts_with("java.home = ");
    let line = settings.lines().find(is_home).expect("java names its home");
    let java = line.trim().trim_start_matches("java.home = ");
    let script = format!(
        "#!/bin/sh\necho changed > '{}'\nexec '{java}/bin/java' \"$@\"\n",
        package.display()
    );
    let starter = home.join("bin/java");
    std::fs::write(&starter, script).expect("it is ours");
    std::fs::set_permissions(&starter, PermissionsExt::from_mode(0o755)).expect("it is ours");
    let data = place.path().join("data");
    let mut words = Command::new(e2e::takt_path());
    words.arg("run").arg(&package).arg("--data").arg(&data);
    words.args(["--service", ".Worker", "--until-started"]);
    let run = Run::of(words.env("JAVA_HOME", &home));
    assert_eq!(std::fs::read(&package).expect("it is there"), b"changed\n");
    assert_eq!(run.code, 0, "{run:#?}");
    assert_eq!(said(&run.stderr, "Life")[..2], BORN, "{run:#?}");
}

#[test]
fn a_full_disk_is_named_and_leaves_nothing_behind() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let whole = command(Way::Takt, "parts", data.path());
    let mut limited = Command::new("sh");
    // Files of at most eight blocks: the library has more.
    limited.args(["-c", "trap '' XFSZ; ulimit -f 8; exec \"$@\"", "sh"]);
    limited.arg(whole.get_program()).args(whole.get_args());
    let run = Run::of(limited.args(["--service", ".Whole"]));
    assert_eq!(run.code, 2, "{run:#?}");
    let is_named = run.stderr.contains("cannot write ") && run.stderr.contains("File too large");
    assert!(is_named, "{run:#?}");
    let left = std::fs::read_dir(data.path().join(".takt")).expect("it was made");
    let names: Vec<_> = left.map(|it| it.expect("an entry").file_name()).collect();
    assert_eq!(names, ["owner.json"]);
}

/// What a first start says of its methods; all counts are of `--report=FILE`.
struct FirstStart {
    /// Of the class library and the framework.
    compiled: u64,
    /// Of the package.
    compiled_own: u64,
    delivered: u64,
    run: Run,
}

/// Runs a package for a user who has never run anything.
fn first_start(package: &str, options: &[&str]) -> FirstStart {
    let user = tempfile::tempdir().expect("a temporary directory");
    let report = user.path().join("report.json");
    let mut start = command(Way::Takt, package, &user.path().join("data"));
    start.args(options).env("XDG_CACHE_HOME", user.path());
    start.env("JDK_JAVA_OPTIONS", "-Xtakt:compile");
    start.arg(format!("--report={}", report.display()));
    let run = Run::of(&mut start);
    let report = std::fs::read_to_string(report).unwrap_or_else(|_| panic!("{run:#?}"));
    let count = |name: &str| -> u64 {
        let rest = report.split(&format!("\"{name}\": ")).nth(1);
        let number = rest.and_then(|it| it.split(',').next()?.parse().ok());
        number.unwrap_or_else(|| panic!("no {name} in {report}"))
    };
    let compiled = count("methods_compiled_of_platform");
    FirstStart {
        compiled,
        compiled_own: count("methods_compiled") - compiled,
        delivered: count("methods_delivered"),
        run,
    }
}

impl FirstStart {
    fn compiled_names(&self) -> Vec<&str> {
        let lines = self.run.stdout.lines().chain(self.run.stderr.lines());
        lines.filter(|it| it.starts_with("[compile] ")).collect()
    }
}

/// The build ran `heartbeat` when it made the code that it delivers.
#[test]
fn a_first_start_of_what_the_build_ran_compiles_nothing() {
    for options in [["--extra", "beats=50"], ["--for", "1s"]] {
        let service = ["--service", ".Heartbeat"];
        let start = first_start("heartbeat", &[service, options].concat());
        assert!(start.delivered > 4_000, "{}", start.delivered);
        assert_eq!(start.compiled, 0, "{:#?}", start.compiled_names());
    }
}

/// The build never ran these. Each has a component started, so that code of its own runs.
#[test]
fn a_first_start_of_another_package_finds_the_platform_compiled() {
    let others: [(&str, &[&str]); 3] = [
        ("parts", &["--service", ".Whole"]),
        ("trouble", &["--service", ".DeadThread"]),
        (
            "handler-load",
            &["--service", ".HandlerLoad", "--extra", "messages=10"],
        ),
    ];
    for (package, options) in others {
        let start = first_start(package, options);
        let names = start.compiled_names();
        assert!(start.compiled_own > 0, "{package} did not run: {names:#?}");
        let used = start.compiled + start.delivered;
        assert!(used > 4_000, "{package}: {used}");
        assert!(start.compiled * 20 <= used, "{package}: {names:#?}");
    }
}
