// SPDX-License-Identifier: Apache-2.0
//! Options of the `java` command mean on this machine what they mean on HotSpot, or are refused by
//! name.

mod programs;

use std::path::PathBuf;
use std::process::Output;

use tempfile::TempDir;

use programs::{compile, jdk, run, run_takt, shown};

const PROGRAMS: [&str; 6] = [
    "options/Asserting",
    "options/Deep",
    "options/Linked",
    "options/Named",
    "options/p/A",
    "options/p/q/B",
];

/// The programs of tests/java/options, on HotSpot and on this machine.
struct Programs {
    jdk: PathBuf,
    classes: TempDir,
    cache: TempDir,
}

impl Programs {
    fn compile() -> Self {
        let jdk = jdk();
        Self {
            classes: compile(&jdk, &PROGRAMS.map(str::to_owned)),
            cache: tempfile::tempdir().expect("a directory for code"),
            jdk,
        }
    }

    fn hotspot(&self, arguments: &[&str]) -> Output {
        run(&self.jdk, self.classes.path(), arguments)
    }

    fn takt(&self, arguments: &[&str]) -> Output {
        run_takt(&self.jdk, self.classes.path(), self.cache.path(), arguments)
    }
}

#[test]
fn assertions_are_enabled_as_on_hotspot() {
    let programs = Programs::compile();
    for options in [
        &["-ea"][..],
        &["-ea", "-da:p..."],
        &["-ea:p.A", "-esa"],
        &["-ea:...", "-ea:p.q..."],
        &["-ea:p...", "-da:p.q.B", "-dsa"],
    ] {
        let arguments = [options, &["Asserting"]].concat();
        let (expected, found) = (programs.hotspot(&arguments), programs.takt(&arguments));
        let both = format!("{options:?}\n{}\n{}", shown(&expected), shown(&found));
        assert!(expected.status.success() && expected == found, "{both}");
    }
}

#[test]
fn perf_finds_names_of_compiled_code() {
    let programs = Programs::compile();
    let options = [
        "-XX:+UnlockDiagnosticVMOptions",
        "-XX:+DumpPerfMapAtExit",
        "Named",
    ];
    let output = programs.takt(&options);
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{}",
        shown(&output)
    );
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let (pid, is_anonymous) = said.trim().split_once(' ').expect("two words");
    assert_eq!(
        is_anonymous, "true",
        "perf looks into the file for anonymous memory only"
    );
    let file = PathBuf::from(format!("/tmp/perf-{pid}.map"));
    let map = std::fs::read_to_string(&file).expect("the file");
    // It lies in the directory for temporary files.
    let _ = std::fs::remove_file(&file);
    let mut end = 0;
    let mut names = Vec::new();
    for line in map.lines() {
        let mut words = line.splitn(3, ' ');
        let mut number = || u64::from_str_radix(words.next().unwrap(), 16).expect(line);
        let (start, bytes) = (number(), number());
        assert!(end <= start && bytes > 0, "{line}");
        end = start + bytes;
        names.push(words.next().expect(line));
    }
    assert!(names.contains(&"Named.main([Ljava/lang/String;)V"), "{map}");
}

#[test]
fn a_stack_is_as_large_as_it_was_asked_for() {
    let programs = Programs::compile();
    let depths = |options: &[&str]| {
        let output = programs.takt(&[options, &["Deep"]].concat());
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let numbers: Vec<u32> = text.split_whitespace().flat_map(str::parse).collect();
        <[u32; 3]>::try_from(numbers).unwrap_or_else(|_| panic!("{}", shown(&output)))
    };
    let [main, usual, told] = depths(&["-Xss1m"]);
    let [deep_main, deep, deep_told] = depths(&["-Xss16m"]);
    assert!(main > 1000 && deep_main > 8 * main, "{main} {deep_main}");
    assert!(usual > 1000 && deep > 8 * usual, "{usual} {deep}");
    assert!(
        told > 32 * usual && deep_told > 2 * deep,
        "{told} {deep_told}"
    );
}

#[test]
fn what_is_wrong_or_missing_is_refused_by_name() {
    let programs = Programs::compile();
    let first_line = |output: &Output| {
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        text.lines().next().unwrap_or_default().to_owned()
    };
    for option in ["-Xss", "-Xssx", "-Xss2g", "-Xmxx", "-Xfoo", "--foo=1"] {
        let (expected, found) = (
            programs.hotspot(&[option, "Deep"]),
            programs.takt(&[option, "Deep"]),
        );
        assert_eq!(first_line(&found), first_line(&expected), "{option}");
        assert_eq!(found.status.code(), expected.status.code(), "{option}");
    }
    for (option, reason) in [
        ("-javaagent:x.jar", "Takt has no agents"),
        (
            "-Xbootclasspath/a:x.jar",
            "Takt has no other boot class path",
        ),
        ("-Xss256k", "too small for Takt: give it 1024k"),
    ] {
        let found = programs.takt(&[option, "Deep"]);
        assert!(first_line(&found).contains(reason), "{}", shown(&found));
        assert_eq!(found.status.code(), Some(1), "{option}");
    }
    let ignored = programs.takt(&["-XX:+UseFoo", "-Xmn5m", "Deep"]);
    assert!(ignored.status.success(), "{}", shown(&ignored));
    let said = String::from_utf8_lossy(&ignored.stderr).into_owned();
    assert!(
        said.contains("-XX:+UseFoo") && said.contains("-Xmn5m"),
        "{said}"
    );
}

/// Code that was kept where a package is exported runs where it is not as well, and the other way
/// round.
#[test]
fn packages_are_closed_as_on_hotspot() {
    let programs = Programs::compile();
    let exports = "--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED";
    let opens = "--add-opens=java.base/jdk.internal.misc=ALL-UNNAMED";
    for options in [&[exports][..], &[], &[opens], &[]] {
        let arguments = [options, &["Linked"]].concat();
        let (expected, found) = (programs.hotspot(&arguments), programs.takt(&arguments));
        let both = format!("{options:?}\n{}\n{}", shown(&expected), shown(&found));
        assert!(expected.status.success() && expected == found, "{both}");
    }
}
