// SPDX-License-Identifier: Apache-2.0
//! Programs in tests/java print from DEX code what they print on HotSpot from class files.
//!
//! D8 and dx make the DEX files when the test runs; tools/setup fetches both.

mod programs;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use programs::{SOURCES, compile, jdk, names, run, run_takt, shown};

const DEX_SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/dex");

/// The last level whose DEX files are of version 039.
const API: &str = "32";

/// Programs that print something else from DEX code, and why.
const OTHERWISE: [(&str, &str); 13] = [
    ("Access", "changes the bytes of its own class files"),
    (
        "Callers",
        "D8 makes lambdas classes that are not hidden, and callers",
    ),
    ("Constraints", "defines its own class files"),
    ("Defaults", "changes the bytes of its own class files"),
    ("Described", "changes the bytes of its own class files"),
    ("Failures", "defines its own class files"),
    (
        "Inlined",
        "quotes messages of null references, and D8 makes lambdas anew each time",
    ),
    ("Names", "changes the bytes of its own class files"),
    (
        "Nulls",
        "HotSpot's messages quote bytecode: see check_nulls",
    ),
    ("Structured", "changes the bytes of its own class files"),
    ("Statics", "assembles a class file"),
    ("Subroutines", "assembles its own class files"),
    ("Verification", "changes the bytes of its own class files"),
];

/// Programs that javac compiles for Java 8, the last that dx reads.
const OLD: [&str; 4] = ["Arithmetic", "Hello", "Initialization", "Threads"];

fn jar(start: &str) -> PathBuf {
    let home = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let cache = home("TAKT_CACHE").unwrap_or_else(|| {
        let cache = home("XDG_CACHE_HOME").or_else(|| home("HOME").map(|it| it.join(".cache")));
        cache.expect("a home directory").join("takt")
    });
    let entries = std::fs::read_dir(cache.join("maven")).expect("run tools/setup");
    let mut paths = entries.map(|entry| entry.expect("an entry").path());
    let is_it = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default();
        name.to_string_lossy().starts_with(start)
    };
    paths
        .find(is_it)
        .unwrap_or_else(|| panic!("no {start}* in the cache: run tools/setup"))
}

fn classes_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.retain(|path| path.extension().is_some_and(|it| it == "class"));
    paths.sort();
    paths
}

fn java(jdk: &Path, jar: &Path, arguments: &[&str], files: &[PathBuf]) {
    let output = Command::new(jdk.join("bin/java"))
        .arg("-cp")
        .arg(jar)
        .args(arguments)
        .args(files)
        .output()
        .expect("java starts");
    assert!(output.status.success(), "{}", shown(&output));
}

/// D8's output for the classes in `folder`, beside them.
fn d8(jdk: &Path, folder: &Path) -> PathBuf {
    let (out, home) = (folder.display().to_string(), jdk.display().to_string());
    let main = "com.android.tools.r8.D8";
    let arguments = [main, "--min-api", API, "--lib", &home, "--output", &out];
    java(jdk, &jar("r8-"), &arguments, &classes_in(folder));
    folder.join("classes.dex")
}

fn dx(jdk: &Path, folder: &Path) -> PathBuf {
    let out = folder.join("classes.dex");
    let option = format!("--output={}", out.display());
    let main = "com.android.dx.command.Main";
    let arguments = [main, "--dex", "--min-sdk-version=26", &option];
    java(jdk, &jar("dalvik-dx-"), &arguments, &[folder.to_owned()]);
    out
}

/// What is assembled of tests/dex/smali, with the arguments for the program that runs it: the file,
/// and the classes that it starts.
fn assembled(jdk: &Path, folder: &Path) -> Vec<String> {
    const PARTS: [&str; 6] = [
        "smali-",
        "dexlib2-",
        "util-",
        "antlr-runtime-",
        "jcommander-",
        "guava-",
    ];
    let jars = std::env::join_paths(PARTS.map(jar)).expect("paths without colons");
    let code = folder.join("assembled.dex").display().to_string();
    let output = Command::new(jdk.join("bin/java"))
        .arg("-cp")
        .arg(jars)
        .args(["org.jf.smali.Main", "assemble", "--api", API, "-o", &code])
        .arg(format!("{DEX_SOURCES}/smali"))
        .output()
        .expect("java starts");
    assert!(output.status.success(), "{}", shown(&output));
    // `Upper` has nothing to run: it is the superclass of another one.
    let names = STARTED.iter().map(|name| (*name).to_owned());
    std::iter::once(code).chain(names).collect()
}

/// Classes of tests/dex/smali that a program starts by name.
const STARTED: [&str; 19] = [
    "Refine",
    "Unrefined",
    "Lower",
    "DeadCode",
    "OffTheEnd",
    "Stays",
    "LateResult",
    "WrongKind",
    "Fill",
    "FillMissing",
    "CatchMissing",
    "Members",
    "Orphan",
    "ForName",
    "Circle",
    "AbstractFinal",
    "NativeDefault",
    "NewClass",
    "Quotient",
];

/// No compiler of Java writes such code; what it gives follows ART's documented rules.
#[test]
fn assembled_code_is_refused_where_art_refuses_it() {
    let jdk = jdk();
    let folder = tempfile::tempdir().expect("a directory for classes");
    javac(
        &jdk,
        "17",
        folder.path(),
        &[format!("{DEX_SOURCES}/run/Assembled.java")],
    );
    let arguments = assembled(&jdk, folder.path());
    let mut arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    arguments.insert(0, "Assembled");
    let cache = tempfile::tempdir().expect("a directory for code");
    let expected = std::fs::read_to_string(format!("{DEX_SOURCES}/run/Assembled.txt"));
    let expected = expected.expect("the expected text is there");
    // The second time with the proofs that the first one kept.
    for _ in 0..2 {
        let found = run_takt(&jdk, folder.path(), cache.path(), &arguments);
        assert!(found.status.success(), "{}", shown(&found));
        assert_eq!(String::from_utf8_lossy(&found.stdout), expected);
    }
}

/// Runs from DEX code.
fn run_dex(jdk: &Path, code: &Path, cache: &Path, arguments: &[&str]) -> Output {
    let loader = "-Djava.system.class.loader=dalvik.system.PathClassLoader";
    run_takt(jdk, code, cache, &[&[loader], arguments].concat())
}

/// The JDK's loader has a name, Android's has none: its class and a number stand for it.
fn without_loader(line: &str) -> String {
    let line = line.replace("app//", "").replace("'app'", "own");
    let mut parts = line.split("dalvik.system.PathClassLoader @");
    let mut named = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        named += "own";
        named += part.trim_start_matches(|it: char| it.is_ascii_hexdigit());
    }
    named
}

/// What a program printed, but for what D8 and the class loader say in their own way.
fn normal(output: &Output) -> String {
    let text = shown(output);
    let mut lines = Vec::new();
    // Frames of the classes that D8 makes of lambdas; the JDK hides those of its own.
    for line in text
        .lines()
        .filter(|line| !line.contains("D8$$SyntheticClass"))
    {
        let missing = line.split_once("Didn't find class \"");
        let name = missing.and_then(|(front, rest)| Some((front, rest.split_once('"')?.0)));
        lines.push(match name {
            Some((front, name)) => format!("{front}{name}"),
            None => without_loader(line),
        });
    }
    lines.join("\n")
}

fn differences(
    jdk: &Path,
    classes: &Path,
    code: &Path,
    cache: &Path,
    names: &[String],
) -> Vec<String> {
    let differs = |name: &String| {
        let expected = normal(&run(jdk, classes, &[name]));
        let found = normal(&run_dex(jdk, code, cache, &[name]));
        (expected != found).then(|| format!("{name}\n--- HotSpot: {expected}\n--- DEX: {found}"))
    };
    names.iter().filter_map(differs).collect()
}

fn javac(jdk: &Path, release: &str, classes: &Path, sources: &[String]) {
    let javac = Command::new(jdk.join("bin/javac"))
        .args(["-nowarn", "--release", release, "-d"])
        .arg(classes)
        .args(sources)
        .output()
        .expect("javac starts");
    assert!(javac.status.success(), "{}", shown(&javac));
}

/// A class with constants and call sites that javac has no source for.
fn generate(jdk: &Path, classes: &Path) {
    let generated = Command::new(jdk.join("bin/java"))
        .arg("--add-exports=java.base/jdk.internal.org.objectweb.asm=ALL-UNNAMED")
        .arg(format!("{DEX_SOURCES}/generate/Generate.java"))
        .arg(classes)
        .output()
        .expect("java starts");
    assert!(generated.status.success(), "{}", shown(&generated));
}

#[test]
fn programs_from_d8_print_what_they_print_on_hotspot() {
    let jdk = jdk();
    let mut names = names();
    let classes = compile(&jdk, &names);
    let own = ["Machine", "Loaders"].map(|name| format!("{DEX_SOURCES}/run/{name}.java"));
    javac(&jdk, "17", classes.path(), &own);
    generate(&jdk, classes.path());
    let code = d8(&jdk, classes.path());
    names.retain(|name| !OTHERWISE.iter().any(|(own, _)| name == own));
    names.extend(["Machine", "Computed"].map(str::to_owned));
    assert!(names.len() >= 10, "the programs are there");
    let cache = tempfile::tempdir().expect("a directory for code");
    let differences = differences(&jdk, classes.path(), &code, cache.path(), &names);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    check_loaders(&jdk, &code, cache.path());
    check_nulls(&jdk, &code, cache.path());
    check_scopes(&jdk, cache.path());
}

#[test]
fn programs_from_dx_print_what_they_print_on_hotspot() {
    let jdk = jdk();
    let classes = tempfile::tempdir().expect("a directory for classes");
    let mut sources = OLD.map(|name| format!("{SOURCES}/{name}.java")).to_vec();
    sources.push(format!("{DEX_SOURCES}/old/Kept.java"));
    javac(&jdk, "8", classes.path(), &sources);
    let code = dx(&jdk, classes.path());
    let names = [&OLD[..], &["Kept"]].concat();
    let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
    let cache = tempfile::tempdir().expect("a directory for code");
    let differences = differences(&jdk, classes.path(), &code, cache.path(), &names);
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// The package with this DEX file and one more entry.
fn package(jdk: &Path, code: &Path) -> PathBuf {
    let folder = code.parent().expect("a file in a folder");
    std::fs::write(folder.join("note.txt"), "note").expect("the folder takes a file");
    let jar = Command::new(jdk.join("bin/jar"))
        .current_dir(folder)
        .args(["cfM", "app.apk", "classes.dex", "note.txt"])
        .output()
        .expect("jar starts");
    assert!(jar.status.success(), "{}", shown(&jar));
    folder.join("app.apk")
}

/// Messages of implicit NullPointerExceptions have ART's words.
fn check_nulls(jdk: &Path, code: &Path, cache: &Path) {
    let found = run_dex(jdk, code, cache, &["Nulls"]);
    let found = String::from_utf8_lossy(&found.stdout).into_owned();
    let expected = std::fs::read_to_string(format!("{DEX_SOURCES}/run/Nulls.txt"));
    assert_eq!(found, expected.expect("the expected text is there"));
}

/// Android's class loaders, started from a file and from a package.
fn check_loaders(jdk: &Path, code: &Path, cache: &Path) {
    let package = package(jdk, code);
    let (code_name, package_name) = (code.display().to_string(), package.display().to_string());
    let expected = std::fs::read_to_string(format!("{DEX_SOURCES}/run/Loaders.txt"));
    let expected = expected.expect("the expected text is there");
    for start in [code, &package] {
        let arguments = ["Loaders", &code_name, &package_name];
        let found = run_dex(jdk, start, cache, &arguments);
        assert!(found.status.success(), "{}", shown(&found));
        let found = String::from_utf8_lossy(&found.stdout).into_owned();
        // Checksums depend on the compiler that made the file.
        let lines = found
            .lines()
            .map(|line| line.split(" says 0x").next().unwrap_or(line));
        assert_eq!(lines.collect::<Vec<_>>().join("\n"), expected.trim_end());
    }
}

/// Programs that ask whether an object is freed while something of its own is in use: Scopes, and
/// the same in large methods.
fn scopes(jdk: &Path) -> tempfile::TempDir {
    let classes = tempfile::tempdir().expect("a directory for classes");
    // Some 10,000 instructions that are never run.
    let long = "x = x * 31 + 7; ".repeat(2_000);
    let large = format!(
        "class Large {{
            static boolean local(int x) {{
                Scopes.Canvas canvas = new Scopes.Canvas();
                int number = canvas.number;
                if (x < 0) {{ {long} }}
                return Scopes.isFreedInUse(number);
            }}
            static boolean parameter(Scopes.Canvas canvas, int x) {{
                int number = canvas.number;
                if (x < 0) {{ {long} }}
                return Scopes.isFreedInUse(number);
            }}
            public static void main(String[] arguments) {{
                Scopes.say(\"large local\", local(1));
                Scopes.say(\"large parameter\", parameter(new Scopes.Canvas(), 1));
                Scopes.main(arguments);
            }}
        }}"
    );
    let source = classes.path().join("Large.java");
    std::fs::write(&source, large).expect("the source is written");
    // With names of locals: or else D8 gives the register of a dead one to the next.
    let arguments = [
        "-g".to_owned(),
        format!("{SOURCES}/memory/Scopes.java"),
        source.display().to_string(),
    ];
    javac(jdk, "17", classes.path(), &arguments);
    classes
}

/// What frees natives in use: code for ART keeps what ART keeps, from DEX and from class files that
/// are said to be Android's. Others keep today's rule, with the same bytes and the same code cache.
fn check_scopes(jdk: &Path, cache: &Path) {
    let classes = scopes(jdk);
    let (code, path) = (d8(jdk, classes.path()), classes.path());
    let android = format!("-Dtakt.android.path=/nowhere:{}", path.display());
    let counts = |output: &Output| {
        assert!(output.status.success(), "{}", shown(output));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let ends = |end: &str| text.lines().filter(|line| line.ends_with(end)).count();
        assert_eq!(ends("all freed in the end"), 1, "{text}");
        (ends(": kept"), ends(": freed in use"))
    };
    let run = |collector, by: &dyn Fn(&[&str]) -> Output, expected| {
        let found = by(&[collector, "-Xtakt:verify", "-Xmx48m", "Large"]);
        assert_eq!(counts(&found), expected, "{}", shown(&found));
    };
    for collector in ["-Xtakt:gc=rc", "-Xtakt:gc=stw"] {
        let by_dex = |arguments: &[&str]| run_dex(jdk, &code, cache, arguments);
        run(collector, &by_dex, (15, 0));
        let by_android = |arguments: &[&str]| {
            run_takt(jdk, path, cache, &[&[android.as_str()], arguments].concat())
        };
        run(collector, &by_android, (15, 0));
    }
    // A large method's frame keeps its parameters.
    let by_others = |arguments: &[&str]| run_takt(jdk, path, cache, arguments);
    run("-Xtakt:gc=rc", &by_others, (1, 14));
    check_framework(jdk, cache);
}

/// AOSP's own class files: by the place that the property names, not by the class path.
fn check_framework(jdk: &Path, cache: &Path) {
    let android = jar("android-all-").display().to_string();
    let classes = tempfile::tempdir().expect("a directory for classes");
    let arguments = [
        "-cp".to_owned(),
        android.clone(),
        format!("{SOURCES}/memory/Scopes.java"),
        format!("{DEX_SOURCES}/run/Joined.java"),
    ];
    javac(jdk, "17", classes.path(), &arguments);
    let path = PathBuf::from(format!("{}:{android}", classes.path().display()));
    let run = |options: &[&str]| {
        let arguments = [options, &["-Xtakt:verify", "-Xmx48m", "Joined"]].concat();
        shown(&run_takt(jdk, &path, cache, &arguments))
    };
    let expected = |state: &str| format!("Some(0)\none: {state}\ntwo: {state}\n");
    assert_eq!(run(&[]), expected("freed in use"));
    let property = format!("-Dtakt.android.path={android}");
    assert_eq!(run(&[&property]), expected("kept"));
}

#[test]
fn changed_code_never_ends_the_machine() {
    let jdk = jdk();
    let source = |name: &str| format!("{DEX_SOURCES}/run/{name}.java");
    let folder = tempfile::tempdir().expect("a directory for classes");
    javac(&jdk, "17", folder.path(), &[source("Victim")]);
    let victim = d8(&jdk, folder.path()).display().to_string();
    let hostile = tempfile::tempdir().expect("a directory for classes");
    javac(&jdk, "17", hostile.path(), &[source("Hostile")]);
    let cache = tempfile::tempdir().expect("a directory for code");
    for seed in ["20261122", "7"] {
        // Class files: Android's loaders are there without DEX code on the class path, too.
        let arguments = ["Hostile", &victim, seed, "1500"];
        let found = run_takt(&jdk, hostile.path(), cache.path(), &arguments);
        assert!(found.status.success(), "{}", shown(&found));
        let outcomes = String::from_utf8_lossy(&found.stdout).into_owned();
        for outcome in ["VerifyError=", "ran=", "refused="] {
            assert!(outcomes.contains(outcome), "{outcomes}");
        }
    }
}
