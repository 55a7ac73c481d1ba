// SPDX-License-Identifier: Apache-2.0
//! Options of the `java` command mean on this machine what they mean on HotSpot, or are refused by
//! name.

mod programs;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use programs::{compile, jdk, run, run_takt, shown};

const PROGRAMS: [&str; 14] = [
    "options/Appended",
    "options/Asserting",
    "options/Deep",
    "options/Dumped",
    "options/Linked",
    "options/Live",
    "options/Named",
    "options/Once",
    "options/Unseen",
    "options/agent/Agent",
    "options/agent/Attached",
    "options/agent/Main",
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

/// From class files, and as code written for ART has it.
#[test]
fn objects_that_nobody_sees_are_not_made() {
    let programs = Programs::compile();
    let art = format!("-Dtakt.android.path={}", programs.classes.path().display());
    let text = |output: Output| String::from_utf8_lossy(&output.stdout).into_owned();
    let expected = text(programs.hotspot(&["Unseen"]));
    let sum = expected.split(' ').next().expect("a sum");
    let took = |option| text(programs.takt(&[option, "Unseen"]));
    for option in ["-Dplain=", &art] {
        assert_eq!(took(option), format!("{sum} few\n"), "{option}");
    }
    assert_eq!(took("-Xtakt:passes=-scalars"), format!("{sum} many\n"));
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
fn a_method_is_shown_when_it_is_compiled() {
    let programs = Programs::compile();
    // Else the methods would only be bodies in `main`.
    let shown_by = |options: &[&str]| {
        let output = programs.takt(&[&["-Xtakt:inline=straight"], options, &["Dumped"]].concat());
        assert!(output.status.success(), "{}", shown(&output));
        assert_eq!(output.stdout, b"43\n", "{}", shown(&output));
        String::from_utf8(output.stderr).expect("text")
    };
    let option = "-Xtakt:dump=Dumped.sum";
    assert_eq!(shown_by(&["-Xtakt:dump=Dumped.other"]), "");
    // The code is kept by now.
    assert_eq!(shown_by(&[option]), "");
    let text = format!("\n{}", shown_by(&[option, "-Xtakt:no-code-cache"]));
    let stages: Vec<_> = text.split("\n[dump] ").skip(1).collect();
    let heads: Vec<_> = stages.iter().flat_map(|it| it.lines().next()).collect();
    let names = ["Dumped.sum([II)I", "Dumped.sum(JJ)J"];
    let all = ["IR", "IR behind the passes", "Cranelift's form"];
    let expected = names.map(|name| all.map(|stage| format!("{name}: {stage}")));
    assert_eq!(heads, expected.concat(), "{text}");
    for (stage, part) in [
        (0, "\nfunction (ref r"),
        (0, ") -> int\n"),
        (0, ": return "),
        (1, ", in bounds\n"),
        (2, "\nfunction u0:0("),
        (3, " = div "),
    ] {
        assert!(stages[stage].contains(part), "{part} in {text}");
    }
    assert!(!stages[0].contains("in bounds"), "{text}");
}

#[test]
fn what_runs_once_is_compiled_with_the_least_effort_unless_it_loops() {
    let programs = Programs::compile();
    for (class, stages) in [("Once", 2), ("Once$Many", 3)] {
        let dump = format!("-Xtakt:dump={class}.<clinit>");
        let output = programs.takt(&["-Xtakt:no-code-cache", &dump, "Once"]);
        assert_eq!(output.stdout, b"9808\n", "{}", shown(&output));
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(text.matches("[dump] ").count(), stages, "{text}");
        let has_passes = text.contains("IR behind the passes");
        assert_eq!(has_passes, stages == 3, "{text}");
    }
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
        ("-agentlib:jdwp", "Takt has no agents in native code"),
        (
            "-Xbootclasspath/p:x.jar",
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

/// An error of the module system ends the start with the library's own words; the properties that
/// stand for its options are not the user's.
#[test]
fn the_module_system_refuses_as_on_hotspot() {
    let programs = Programs::compile();
    let wrong = [
        &["--add-modules=nosuch", "Named"][..],
        &["--limit-modules=nosuch", "Named"],
        &[
            "-Djdk.module.addmods.0=nosuch",
            "-Djdk.module.addmodsx=1",
            "Appended",
        ],
    ];
    for arguments in wrong {
        let (expected, found) = (programs.hotspot(arguments), programs.takt(arguments));
        let both = format!("{arguments:?}\n{}\n{}", shown(&expected), shown(&found));
        assert_eq!(expected.status.code(), found.status.code(), "{both}");
        assert_eq!(expected.stdout, found.stdout, "{both}");
        let is_warned = |output: &Output| {
            String::from_utf8_lossy(&output.stderr)
                .contains("Ignoring system property options whose names match the '-Djdk.module.*'")
        };
        assert_eq!(is_warned(&expected), is_warned(&found), "{both}");
    }
}

#[test]
fn local_variables_of_frames_are_refused_by_name() {
    let programs = Programs::compile();
    let found = programs.takt(&["--add-opens=java.base/java.lang=ALL-UNNAMED", "Live"]);
    let expected = "LiveStackFrame: not supported by Takt\n";
    assert_eq!(
        String::from_utf8_lossy(&found.stdout),
        expected,
        "{}",
        shown(&found)
    );
}

/// A jar of what lies in `folder`.
fn jar(programs: &Programs, file: &Path, folder: &Path, manifest: Option<&str>) {
    let mut jar = Command::new(programs.jdk.join("bin/jar"));
    jar.arg(if manifest.is_some() { "cfm" } else { "cf" })
        .arg(file);
    if let Some(manifest) = manifest {
        let text = file.with_extension("txt");
        std::fs::write(&text, manifest).expect("the manifest is written");
        jar.arg(text);
    }
    let output = jar
        .arg("-C")
        .arg(folder)
        .arg(".")
        .output()
        .expect("jar starts");
    assert!(output.status.success(), "{}", shown(&output));
}

/// Sources by their path, compiled as a part of java.base.
fn compile_patch(programs: &Programs, folder: &Path, sources: &[(&str, &str)]) {
    let from = folder.join("from");
    let mut javac = Command::new(programs.jdk.join("bin/javac"));
    javac
        .arg("-nowarn")
        .arg("--patch-module")
        .arg(format!("java.base={}", from.display()));
    javac.arg("-d").arg(folder.join("java.base"));
    for (name, text) in sources {
        let source = from.join(name);
        std::fs::create_dir_all(source.parent().expect("in a folder")).expect("a folder");
        std::fs::write(&source, text).expect("the source is written");
        javac.arg(source);
    }
    let output = javac.output().expect("javac starts");
    assert!(output.status.success(), "{}", shown(&output));
}

#[test]
fn the_boot_loader_finds_what_is_appended_and_patched() {
    let programs = Programs::compile();
    let folder = tempfile::tempdir().expect("a folder");
    let far = "package java.extra; public class Far { }";
    let added = "package java.util; public class Added { }";
    compile_patch(
        &programs,
        folder.path(),
        &[
            ("java/extra/Far.java", far),
            ("java/util/Added.java", added),
        ],
    );
    let appended = folder.path().join("appended.jar");
    jar(&programs, &appended, programs.classes.path(), None);
    let append = format!("-Xbootclasspath/a:nosuch.jar:{}", appended.display());
    let patch = format!(
        "--patch-module=java.base={}",
        folder.path().join("java.base").display()
    );
    // There the class path has no classes.
    let elsewhere = folder.path();
    let own = programs.classes.path();
    for (classes, arguments) in [
        (own, &["Appended", "boot"][..]),
        (own, &[patch.as_str(), "Appended", "boot"]),
        (elsewhere, &[append.as_str(), "Appended"]),
        (
            elsewhere,
            &[append.as_str(), patch.as_str(), "Appended", "boot"],
        ),
    ] {
        let expected = run(&programs.jdk, classes, arguments);
        let found = run_takt(&programs.jdk, classes, programs.cache.path(), arguments);
        let both = format!("{arguments:?}\n{}\n{}", shown(&expected), shown(&found));
        assert!(
            expected.status.success() && found.status.success(),
            "{both}"
        );
        assert_eq!(expected.stdout, found.stdout, "{both}");
    }
}

/// An agent sees each class before it is defined; what is not supported is refused by name.
#[test]
fn agents_transform_classes_as_on_hotspot() {
    let programs = Programs::compile();
    let folder = tempfile::tempdir().expect("a folder");
    let agent = folder.path().join("agent.jar");
    let manifest = "Premain-Class: agent.Agent\n";
    jar(&programs, &agent, programs.classes.path(), Some(manifest));
    let told = format!("-javaagent:{}=hello", agent.display());
    let twice = format!("-javaagent:{}", agent.display());
    for arguments in [
        &[told.as_str(), "agent.Main"][..],
        &[twice.as_str(), told.as_str(), "agent.Main"],
    ] {
        let (expected, found) = (programs.hotspot(arguments), programs.takt(arguments));
        let both = format!("{arguments:?}\n{}\n{}", shown(&expected), shown(&found));
        assert!(
            expected.status.success() && found.status.success(),
            "{both}"
        );
        assert_eq!(expected.stdout, found.stdout, "{both}");
    }
    let failing = format!("-javaagent:{}=fail", agent.display());
    let missing = "-javaagent:nosuch.jar".to_owned();
    for (argument, said) in [
        (failing, "told to"),
        (missing, "manifest missing : nosuch.jar"),
    ] {
        let found = programs.takt(&[&argument, "agent.Main"]);
        assert_eq!(found.status.code(), Some(1), "{}", shown(&found));
        assert!(shown(&found).contains(said), "{}", shown(&found));
    }
}

/// A tool has agents loaded while the program runs: they see what is loaded from then on.
#[test]
fn agents_attach_as_on_hotspot() {
    let programs = Programs::compile();
    let folder = tempfile::tempdir().expect("a folder");
    let named = |name: &str| folder.path().join(name).display().to_string();
    let (agent, none) = (named("agent.jar"), named("none.jar"));
    for (path, manifest) in [
        (&agent, "Agent-Class: agent.Agent\n"),
        (&none, "Other: 1\n"),
    ] {
        let path = Path::new(path);
        jar(&programs, path, programs.classes.path(), Some(manifest));
    }
    let own = "-Djdk.attach.allowAttachSelf=true";
    let arguments = [own, "agent.Attached", &agent, &none];
    let (expected, found) = (programs.hotspot(&arguments), programs.takt(&arguments));
    let both = format!("{}\n{}", shown(&expected), shown(&found));
    assert!(
        expected.status.success() && found.status.success(),
        "{both}"
    );
    assert_eq!(expected.stdout, found.stdout, "{both}");
}
