// SPDX-License-Identifier: Apache-2.0
//! Programs in tests/java print on this machine what they print on HotSpot.
//!
//! Sources are compiled by the installed javac when the test runs. All runs of
//! one test share a code cache, which is empty at first: what is printed must
//! not depend on it.

mod programs;

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;

use programs::{compile, figures, jdk, machine, names, run, run_takt, run_takt_by, shown};

/// Each program runs under both collectors, in a heap so small that they have work, and the heap is
/// checked at the end: a heap out of order ends the process. One of them with the class library's
/// own assertions, which say what it expects of a machine.
const COLLECTORS: [&[&str]; 2] = [
    &["-Xtakt:gc=rc", "-Xtakt:verify", "-Xmx48m"],
    &["-Xtakt:gc=stw", "-Xtakt:verify", "-Xmx48m", "-esa"],
];

/// The programs among `names` that do not print under each collector what they print on HotSpot.
fn differences(jdk: &Path, classes: &Path, names: &[&str]) -> Vec<String> {
    let cache = tempfile::tempdir().expect("a directory for code");
    // So that the two halves below need not compile the start twice.
    run_takt(jdk, classes, cache.path(), &["-version"]);
    let difference = |name: &&str| {
        let expected = run(jdk, classes, &["-Xmx48m", name]);
        // Both collectors run the same code: the second takes it from the cache.
        let found = COLLECTORS.map(|collector| {
            let arguments = [collector, &[*name]].concat();
            run_takt(jdk, classes, cache.path(), &arguments)
        });
        let is_same = found.iter().all(|found| said(found) == said(&expected));
        let [expected, counting, stopping] = [&expected, &found[0], &found[1]].map(shown);
        (!is_same).then(|| {
            let others = [("rc", counting), ("stw", stopping)];
            let others = others.map(|(name, it)| {
                format!(
                    "--- Takt, {name}: {it}--- it differs first {}\n",
                    departure(&expected, &it)
                )
            });
            format!("{name}\n--- HotSpot: {expected}{}", others.concat())
        })
    };
    let (one, other) = names.split_at(names.len() / 2);
    std::thread::scope(|scope| {
        let one = scope.spawn(|| one.iter().filter_map(difference).collect::<Vec<_>>());
        let mut all: Vec<String> = other.iter().filter_map(difference).collect();
        all.extend(one.join().expect("the other half ends"));
        all
    })
}

/// What a program says and how it ends, without the lines of collections: one that turns them on
/// for a moment may meet a collection then, on each machine.
fn said(output: &std::process::Output) -> (std::process::ExitStatus, [Vec<String>; 2]) {
    let is_of_program = |line: &&str| !(line.starts_with('[') && line.contains("[gc]"));
    // HotSpot says them on standard output, Takt on standard error.
    let streams = [&output.stdout, &output.stderr].map(|bytes| {
        let text = String::from_utf8_lossy(bytes);
        let lines = text.split('\n').filter(is_of_program);
        lines.map(str::to_owned).collect()
    });
    (output.status, streams)
}

/// The first line of `found` that is not as it was expected: the end of a long report, where a
/// reader looks first.
fn departure(expected: &str, found: &str) -> String {
    let end = "(the end)";
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let (expected, found) = (lines(expected), lines(found));
    let pairs = (0..expected.len().max(found.len())).map(|at| {
        let of = |lines: &[String]| lines.get(at).cloned().unwrap_or_else(|| end.to_owned());
        (at + 1, of(&expected), of(&found))
    });
    let first = pairs
        .into_iter()
        .find(|(_, expected, found)| expected != found);
    first.map_or("nowhere".to_owned(), |(at, expected, found)| {
        format!("in line {at}: {found}, expected {expected}")
    })
}

#[test]
fn programs_print_what_they_print_on_hotspot() {
    let jdk = jdk();
    let names = names();
    let classes = compile(&jdk, &names);
    assert!(names.len() >= 10, "the programs are there");
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let differences = differences(&jdk, classes.path(), &names);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Memory comes back under threads that do everything at once; references are cleared, finalisers
/// and cleaners run.
#[test]
fn memory_comes_back_as_on_hotspot() {
    let jdk = jdk();
    let names = [
        "Exhausted",
        "Cleared",
        "Chained",
        "Reclaim",
        "References",
        "Wide",
    ];
    let classes = compile(&jdk, &names.map(|name| format!("memory/{name}")));
    let differences = differences(&jdk, classes.path(), &names);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// 20,000 threads end while others still wake them; the most records at once is what ran at once,
/// and some that were held.
#[test]
fn records_of_ended_threads_come_back() {
    let jdk = jdk();
    let classes = compile(&jdk, &["memory/Ended".to_owned()]);
    let cache = tempfile::tempdir().expect("a directory for code");
    let options = ["-Xtakt:report", "-Xtakt:verify", "-Xmx48m", "Ended"];
    let output = run_takt(&jdk, classes.path(), cache.path(), &options);
    assert_eq!(
        output.stdout,
        b"20000 ran, 0 strange\n",
        "{}",
        shown(&output)
    );
    let report = String::from_utf8_lossy(&output.stderr).into_owned();
    let counts = report.split("thread records: ").nth(1).and_then(|rest| {
        let mut numbers = rest
            .split([' ', ','])
            .filter_map(|word| word.parse::<u32>().ok());
        Some((numbers.next()?, numbers.next()?))
    });
    let (left, most) = counts.unwrap_or_else(|| panic!("no count of records in {report}"));
    assert!(left <= most && (10..100).contains(&most), "{left} {most}");
}

/// More classes than there is room for.
#[test]
fn full_spans_are_errors_of_the_program() {
    let jdk = jdk();
    let classes = compile(&jdk, &["memory/Full".to_owned()]);
    let cache = tempfile::tempdir().expect("a directory for code");
    for (option, said) in [
        ("-Xtakt:metadata=5m", "Metaspace true\n"),
        ("-Xtakt:code=6m", "Code cache true\n"),
    ] {
        let output = run_takt(&jdk, classes.path(), cache.path(), &[option, "Full"]);
        assert_eq!(
            shown(&output),
            format!("Some(0)\nbegun true\n{said}"),
            "{option}"
        );
    }
}

/// As many threads as the heap has room for, twice; one more is an OutOfMemoryError and harms
/// nobody.
#[test]
fn a_crowd_of_threads_has_an_end() {
    let jdk = jdk();
    let classes = compile(&jdk, &["memory/Crowded".to_owned()]);
    let cache = tempfile::tempdir().expect("a directory for code");
    // Each thread has a block of its own, and one that was joined may still have it: on a busy
    // machine 96 MB were too few for 2032 of them twice.
    let options = ["-Xtakt:verify", "-Xmx160m", "Crowded"];
    let output = run_takt(&jdk, classes.path(), cache.path(), &options);
    let refused = "unable to create native thread: 2032 at most at once\n";
    let expected = format!("{refused}{refused}thousands of threads, twice\n");
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        expected,
        "{}",
        shown(&output)
    );
    assert!(output.status.success());
}

/// What the launcher says of a machine, and the libraries that a process on ours has mapped.
#[test]
fn no_other_machine_stands_behind() {
    let jdk = jdk();
    let classes = tempfile::tempdir().expect("a directory for classes");
    let cache = tempfile::tempdir().expect("a directory for code");
    let version = run_takt(&jdk, classes.path(), cache.path(), &["-version"]);
    let version = String::from_utf8_lossy(&version.stderr).into_owned();
    assert!(version.starts_with("openjdk version \"17."), "{version}");
    assert!(version.contains("\nTakt "), "{version}");
    assert!(version.contains("rc: on-the-fly"), "{version}");
    let source = classes.path().join("Maps.java");
    let program = "import java.nio.file.*; class Maps { public static void main(String[] a) \
        throws Exception { Files.lines(Path.of(\"/proc/self/maps\")).filter(l -> \
        l.endsWith(\"libjvm.so\")).map(l -> l.substring(l.indexOf('/'))).distinct() \
        .forEach(System.out::println); } }";
    std::fs::write(&source, program).expect("the source is written");
    let javac = Command::new(jdk.join("bin/javac")).arg(&source).status();
    assert!(javac.expect("javac starts").success());
    let maps = run_takt(&jdk, classes.path(), cache.path(), &["Maps"]);
    let mapped = String::from_utf8_lossy(&maps.stdout).into_owned();
    let own = machine().canonicalize().expect("the directory is there");
    assert_eq!(mapped.trim(), own.join("libjvm.so").to_string_lossy());
}

fn hello(jdk: &Path) -> (tempfile::TempDir, impl Fn(&Path) -> (u32, u32, u32)) {
    let classes = compile(jdk, &["Hello".to_owned()]);
    let (jdk, directory) = (jdk.to_owned(), classes.path().to_owned());
    let run = move |cache: &Path| {
        let output = run_takt(&jdk, &directory, cache, &["-Xtakt:report", "Hello"]);
        assert_eq!(output.stdout, b"Hello World\n", "{}", shown(&output));
        assert_eq!(output.status.code(), Some(0));
        figures(&output)
    };
    (classes, run)
}

#[test]
fn a_second_start_compiles_nothing() {
    let jdk = jdk();
    let (_classes, hello) = hello(&jdk);
    let cache = tempfile::tempdir().expect("a directory for code");
    let (first, loaded, _) = hello(cache.path());
    assert!(first > 1000 && loaded == 0, "{first} {loaded}");
    // Where threads race through start-up, a method may meet a class before or after its
    // initialisation, and needs a version for each.
    let starts: Vec<_> = (0..4).map(|_| hello(cache.path())).collect();
    assert!(starts.iter().all(|start| start.0 < 10), "{starts:?}");
    assert!(starts.iter().any(|start| start.0 == 0), "{starts:?}");
    assert!(starts.iter().all(|start| start.1 > 1000), "{starts:?}");
}

/// The program whose frames are looked at has bodies of others in its code, unless it may not.
#[test]
fn bodies_stand_in_place_of_calls() {
    let jdk = jdk();
    let classes = compile(&jdk, &["Inlined".to_owned()]);
    let cache = tempfile::tempdir().expect("a directory for code");
    let bodies = |option: &str| {
        let arguments = [option, "-Xtakt:report", "Inlined"];
        let output = run_takt(&jdk, classes.path(), cache.path(), &arguments);
        let report = String::from_utf8_lossy(&output.stderr).into_owned();
        let rest = report.split("bodies in place of calls: ").nth(1);
        let count = rest.and_then(|rest| rest.split(',').next()?.parse::<u32>().ok());
        (
            output.stdout,
            count.unwrap_or_else(|| panic!("no count in {report}")),
        )
    };
    let [straight, guessed] = ["straight", "guessed"].map(|which| {
        let option = format!("-Xtakt:inline={which}");
        bodies(&option)
    });
    assert_eq!(straight.1, 0);
    assert!(guessed.1 > 100 && straight.0 == guessed.0, "{}", guessed.1);
    // The same code once more, from the cache; threads that race need other versions of some.
    let again = bodies("-Xtakt:inline=guessed");
    assert!(
        again.0 == guessed.0 && again.1 * 10 < guessed.1,
        "{}",
        again.1
    );
}

/// `nodes` calls itself twice: both bodies stand in it, and their calls stay calls.
#[test]
fn a_recursion_holds_its_own_body_once() {
    let jdk = jdk();
    let classes = compile(&jdk, &["Inlined".to_owned()]);
    let cache = tempfile::tempdir().expect("a directory for code");
    let arguments = ["-Xtakt:dump=Inlined.nodes", "Inlined"];
    let output = run_takt(&jdk, classes.path(), cache.path(), &arguments);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let form = text.split("nodes(I)I: Cranelift's form").nth(1);
    let form = form.unwrap_or_else(|| panic!("{text}"));
    // The place of a call in an inlined body has its highest bit set (`compiler/place`).
    let is_in_body = |line: &&str| line.starts_with("@8") && line.contains(" call_indirect ");
    assert_eq!(form.lines().filter(is_in_body).count(), 4, "{form}");
}

/// The proof of `Uses` rests on `Part` being a `Whole`; its own file never changes.
#[test]
fn a_kept_proof_holds_until_an_answer_changes() {
    let jdk = jdk();
    let directory = tempfile::tempdir().expect("a directory");
    let write = |name: &str, text: &str| {
        let source = directory.path().join(format!("{name}.java"));
        std::fs::write(&source, text).expect("the source is written");
        let mut javac = Command::new(jdk.join("bin/javac"));
        javac.arg("-cp").arg(directory.path()).arg(&source);
        assert!(javac.status().expect("javac starts").success());
    };
    write("Whole", "public class Whole { }");
    write("Part", "public class Part extends Whole { }");
    write(
        "Uses",
        "class Uses { static Whole whole() { return new Part(); } \
         public static void main(String[] a) { System.out.println(whole() != null); } }",
    );
    let cache = tempfile::tempdir().expect("a directory for code");
    let proven = |by: &str| {
        let arguments = ["-Xtakt:report", "Uses"];
        let output = run_takt(&jdk, directory.path(), cache.path(), &arguments);
        assert_eq!(output.stdout, b"true\n", "{}", shown(&output));
        let report = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(report.contains(by), "no {by:?} in {report}");
    };
    // Of Uses, two methods and the constructor; Part has one, Whole one.
    proven("methods verified: 5, and 0 classes by a kept proof");
    proven("methods verified: 0, and 3 classes by a kept proof");
    write("Part", "public class Part { }");
    let expected = run(&jdk, directory.path(), &["Uses"]);
    assert!(String::from_utf8_lossy(&expected.stderr).contains("VerifyError"));
    let found = run_takt(&jdk, directory.path(), cache.path(), &["Uses"]);
    assert!(found.stdout.is_empty() && found.status.code() == Some(1));
    let said = String::from_utf8_lossy(&found.stderr).into_owned();
    assert!(said.contains("java.lang.VerifyError"), "{said}");
}

/// A fault in the machine or in native code is reported with the Java methods that led there.
#[test]
fn a_crash_says_where() {
    let jdk = jdk();
    let classes = tempfile::tempdir().expect("a directory for classes");
    let source = classes.path().join("Crash.java");
    let program = "class Crash { public static void main(String[] a) throws Exception { \
        var field = sun.misc.Unsafe.class.getDeclaredField(\"theUnsafe\"); \
        field.setAccessible(true); deep((sun.misc.Unsafe) field.get(null), 4); }\n\
        static void deep(sun.misc.Unsafe unsafe, int n) { \
        if (n == 0) unsafe.putInt(8L, 1); else deep(unsafe, n - 1); } }";
    std::fs::write(&source, program).expect("the source is written");
    let javac = Command::new(jdk.join("bin/javac"))
        .arg("-nowarn")
        .arg(&source)
        .output();
    assert!(javac.expect("javac starts").status.success());
    // Whatever the parent blocked.
    let launcher = ["env", "--block-signal=SEGV"];
    let crash = run_takt_by(&launcher, &jdk, classes.path(), classes.path(), &["Crash"]);
    assert_eq!(crash.status.signal(), Some(libc::SIGSEGV));
    let text = String::from_utf8_lossy(&crash.stderr).into_owned();
    assert!(
        text.contains("crashed: SIGSEGV") && text.contains("address 0x8"),
        "{text}"
    );
    // The innermost one may hold the body of the native's caller, and is where the fault is then.
    // Each other one has the body of the next in it, and both are named.
    let deep = "Crash.deep(Lsun/misc/Unsafe;I)V";
    assert_eq!(text.matches(deep).count(), 5, "{text}");
    let called = format!("#   at {deep} line 2");
    assert!(text.matches(&called).count() >= 4, "{text}");
    assert!(
        text.contains("#   at Crash.main([Ljava/lang/String;)V line 1"),
        "{text}"
    );
}

#[test]
fn an_application_is_compiled_before_it_runs() {
    let jdk = jdk();
    let classes = tempfile::tempdir().expect("a directory for classes");
    let cache = tempfile::tempdir().expect("a directory for code");
    let program = "interface Shape { default int sides() { return 4; } } \
        class Square implements Shape { static int made = 1; Square() { made++; } int area() { return made * sides(); } } \
        class Ahead { public static void main(String[] a) { if (new Square().area() != 8) throw new Error(); } }";
    let source = classes.path().join("Ahead.java");
    std::fs::write(&source, program).expect("the source is written");
    let javac = Command::new(jdk.join("bin/javac")).arg(&source).status();
    assert!(javac.expect("javac starts").success());
    let list = classes.path().join("list");
    std::fs::write(&list, "Ahead\nNoSuchClass\n").expect("the list is written");
    let option = format!("-Xtakt:compile-list={}", list.display());
    let compile = || run_takt(&jdk, classes.path(), cache.path(), &[&option, "-version"]);
    let said = String::from_utf8_lossy(&compile().stdout).into_owned();
    let refused = "refused NoSuchClass: java.lang.NoClassDefFoundError: NoSuchClass\n";
    assert!(said.starts_with(refused), "{said}");
    assert!(
        said.contains("classes=1 refused=1 own_methods=2 ") && !said.contains(" compiled=0 "),
        "{said}"
    );
    let again = String::from_utf8_lossy(&compile().stdout).into_owned();
    assert!(again.contains(" compiled=0 "), "{again}");
    let options = ["-Xtakt:compile", "-Xtakt:report", "Ahead"];
    let first = run_takt(&jdk, classes.path(), cache.path(), &options);
    assert_eq!(first.status.code(), Some(0), "{}", shown(&first));
    let said = String::from_utf8_lossy(&first.stderr).into_owned();
    let loaded = |method: &str| {
        said.lines()
            .any(|l| l.starts_with("[load] ") && l.contains(method))
    };
    for method in [
        "Ahead.main",
        "Square.<clinit>",
        "Square.<init>",
        "Square.area",
        "Shape.sides",
    ] {
        assert!(loaded(method), "{method} in {said}");
    }
}
