// SPDX-License-Identifier: Apache-2.0
//! `takt java`: a Java program on Takt's machine, started by the JDK's own launcher.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use crate::jdk::Jdk;

/// Runs a Java program: options, main class and arguments as for the `java` command
///
/// The class path may hold DEX code (.dex, .apk, or classes.dex in a .jar) beside class files:
/// `takt java -cp app.apk org.example.Main` does what `dalvikvm -cp app.apk org.example.Main` does
/// on a device. The system class loader is then a dalvik.system.PathClassLoader.
#[derive(clap::Args)]
#[command(disable_help_flag = true, after_help = EXAMPLE)]
pub(crate) struct Args {
    /// Options of the machine and of the `java` command, a main class, its arguments:
    /// `takt java --help` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    arguments: Vec<OsString>,
}

impl Args {
    /// What follows `takt java`. Of clap's own there are only `--` and the complaint that nothing
    /// follows: `None`, as for another command.
    pub(crate) fn of_command_line(line: impl Iterator<Item = OsString>) -> Option<Self> {
        let mut words = line.skip(1);
        let arguments: Vec<_> = match words.next() {
            Some(command) if command == "java" => words.collect(),
            _ => return None,
        };
        let is_plain = arguments.first().is_some_and(|first| first != "--");
        is_plain.then_some(Self { arguments })
    }
}

const EXAMPLE: &str = "Example:\n  takt java --report -cp target/classes org.example.Main";

/// Before the launcher's own list.
const OWN_OPTIONS: &str = "\
Usage: takt java [options] <mainclass> [args...]
       takt java [options] -jar <file> [args...]

Options of Takt's machine:
    --gc=rc|stw           the collector: rc stops no thread (default), stw stops all of them
    --realtime            hold the heap in memory; the collector runs at SCHED_FIFO 1
    --realtime-strict     refuse real-time threads that the system gives no such priority
    --realtime-list=FILE  methods that real-time threads need beside what the machine finds
    --report[=FILE]       figures of the machine and of each real-time thread at the end;
                          with a file, as JSON there
    --code-cache=DIR      where compiled code is kept; takt/code under $XDG_CACHE_HOME unless given
    --no-code-cache       keep none, and use none that was delivered
    --code-library=DIR    code that was delivered, and installed by takt compile --install=DIR;
                          the folder code beside libjvm.so unless given
    --no-code-library     use none
    The class path may hold DEX code: .dex, .apk, a .jar with classes.dex.
";

/// The machine, as the launcher looks for it.
pub(crate) const MACHINE: &str = "libjvm.so";

/// What applications read of the machine's folder: itself, the code that was delivered with it, and
/// AAudio for their own libraries.
pub(crate) const OF_MACHINE: [&str; 3] = [MACHINE, "code", "libaaudio.so"];

/// Becomes the launcher; comes back only when that fails.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let options = &args.arguments[..option_count(&args.arguments)];
    // The launcher writes the first to standard output and the others to standard error.
    if options.iter().any(|it| it == "--help") {
        println!("{OWN_OPTIONS}\n{EXAMPLE}\n\nOptions of the JDK's launcher:\n");
    } else if options
        .iter()
        .any(|it| it == "-help" || it == "-h" || it == "-?")
    {
        eprintln!("{OWN_OPTIONS}\n{EXAMPLE}\n\nOptions of the JDK's launcher:\n");
    }
    let jdk = Jdk::find()?;
    let own = std::env::current_exe().context("cannot find this program's own file")?;
    let machine = machine_beside(&own)?;
    let error = Command::new(jdk.home.join("bin/java"))
        .arg(alternative(&machine))
        .args(class_loader(&args.arguments))
        .args(translated(&args.arguments)?)
        .exec();
    Err(error).with_context(|| format!("cannot start {}", jdk.home.join("bin/java").display()))
}

/// The launcher's option for a machine.
pub(crate) fn alternative(machine: &Path) -> OsString {
    let mut option = OsString::from("-XXaltjvm=");
    option.push(machine);
    option
}

/// The directory of the machine's library: that of `takt` itself.
pub(crate) fn machine_beside(own: &Path) -> Result<PathBuf> {
    let directory = own.parent().unwrap_or(Path::new("/"));
    if directory.join(MACHINE).exists() {
        return Ok(directory.to_owned());
    }
    bail!(
        "no {MACHINE} beside {}: build it with `cargo build --release --package vm`",
        own.display()
    );
}

/// Makes Android's class loader the system's if the class path holds DEX code.
fn class_loader(arguments: &[OsString]) -> Option<&'static str> {
    let path = class_path(arguments).or_else(|| std::env::var_os("CLASSPATH"))?;
    class_loader_for(&path)
}

/// The same for a class path.
pub(crate) fn class_loader_for(path: &OsStr) -> Option<&'static str> {
    std::env::split_paths(path)
        .any(|part| has_dex(&part))
        .then_some("-Djava.system.class.loader=dalvik.system.PathClassLoader")
}

/// Does a part of a class path hold DEX code?
pub(crate) fn has_dex(part: &Path) -> bool {
    let extension = part.extension().unwrap_or_default().to_ascii_lowercase();
    match extension.to_str() {
        Some("dex" | "apk") => true,
        Some("jar" | "zip") => holds_code(part),
        _ => false,
    }
}

/// Does an archive hold DEX code? One that does not open is for the launcher to complain of.
fn holds_code(file: &Path) -> bool {
    std::fs::read(file)
        .is_ok_and(|bytes| apk::Archive::parse(&bytes).is_ok_and(|it| it.contains("classes.dex")))
}

/// The launcher's options whose value is an argument of its own.
const WITH_VALUE: [&str; 16] = [
    "-cp",
    "-classpath",
    "--class-path",
    "-p",
    "--module-path",
    "--upgrade-module-path",
    "--add-modules",
    "--limit-modules",
    "--add-exports",
    "--add-opens",
    "--add-reads",
    "--patch-module",
    "--enable-native-access",
    "--source",
    "-d",
    "--describe-module",
];

/// How many of the arguments are options and their values: behind those stand the program and its
/// own.
fn option_count(arguments: &[OsString]) -> usize {
    let mut at = 0;
    while let Some(argument) = arguments.get(at) {
        match argument.to_str() {
            Some("-jar" | "-m" | "--module") => break,
            Some(option) if WITH_VALUE.contains(&option) => at += 2,
            Some(option) if option.starts_with('-') => at += 1,
            _ => break,
        }
    }
    at.min(arguments.len())
}

/// The class path as options give it; the last one counts.
fn class_path(arguments: &[OsString]) -> Option<OsString> {
    let options = &arguments[..option_count(arguments)];
    let value = |at: usize| match options[at].to_str()? {
        "-cp" | "-classpath" | "--class-path" => options.get(at + 1).cloned(),
        option => Some(option.strip_prefix("--class-path=")?.into()),
    };
    (0..options.len()).rev().find_map(value)
}

/// Options that the machine understands but for their form.
fn is_machines(option: &str) -> bool {
    option.contains("-code-cache")
        || option.starts_with("--code-library=")
        || option.starts_with("--report=")
        || option.starts_with("--realtime-list=")
        || matches!(
            option,
            "--no-code-library"
                | "--report"
                | "--realtime"
                | "--realtime-strict"
                | "--gc=rc"
                | "--gc=stw"
        )
}

/// Stack that the first thread of a program needs, KiB: the machine's reserve is part of it.
const STACK_KIB_MIN: u64 = 1024;

/// Takt's own options in the form in which the launcher lets them through.
fn translated(arguments: &[OsString]) -> Result<Vec<OsString>> {
    let (options, program) = arguments.split_at(option_count(arguments));
    let mut translated = Vec::with_capacity(arguments.len());
    for option in options {
        translated.push(match option.to_str() {
            Some(option) if is_machines(option) => {
                format!("-Xtakt:{}", option.trim_start_matches('-')).into()
            }
            Some(option) if option.starts_with("--gc=") => {
                bail!("{option}: there are --gc=rc, which stops no thread, and --gc=stw");
            }
            Some(option) if is_small_stack(option) => {
                eprintln!("Takt warning: {option} is too small: taking -Xss{STACK_KIB_MIN}k");
                format!("-Xss{STACK_KIB_MIN}k").into()
            }
            _ => option.clone(),
        });
    }
    translated.extend_from_slice(program);
    Ok(translated)
}

/// Is it `-Xss` with a size too small for the first thread? 0 stands for the usual one, and what is
/// no size is for the machine to complain of.
fn is_small_stack(option: &str) -> bool {
    let Some(size) = option.strip_prefix("-Xss") else {
        return false;
    };
    let digits = size.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &size[digits.len()..] {
        "" => 1,
        "k" | "K" => 1 << 10,
        "m" | "M" => 1 << 20,
        _ => return false,
    };
    let is_small = |count: u64| count > 0 && count.saturating_mul(unit) < STACK_KIB_MIN << 10;
    digits.parse().is_ok_and(is_small)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn check(arguments: &[&str], expected: &[&str]) {
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        let expected: Vec<OsString> = expected.iter().map(OsString::from).collect();
        assert_eq!(translated(&arguments).unwrap(), expected);
    }

    #[test]
    fn the_short_way_takes_what_clap_takes() {
        let words = |line: &str| -> Vec<OsString> { line.split(' ').map(Into::into).collect() };
        for line in [
            "takt java -cp . Main --help -- x",
            "takt java --help",
            "takt java Main java",
        ] {
            let args = Args::of_command_line(words(line).into_iter()).unwrap();
            let by_clap = crate::Args::parse_from(words(line)).command;
            let crate::Command::Java(by_clap) = by_clap else {
                panic!("{line}: another command");
            };
            assert_eq!(args.arguments, by_clap.arguments, "{line}");
        }
        for line in ["takt", "takt java", "takt java -- Main", "takt run java"] {
            assert!(
                Args::of_command_line(words(line).into_iter()).is_none(),
                "{line}"
            );
        }
    }

    #[test]
    fn only_options_before_the_program_are_ours() {
        check(
            &["--report", "-cp", ".", "Main", "--report"],
            &["-Xtakt:report", "-cp", ".", "Main", "--report"],
        );
        check(
            &["--code-cache=/tmp/x", "--no-code-cache", "Main"],
            &["-Xtakt:code-cache=/tmp/x", "-Xtakt:no-code-cache", "Main"],
        );
        check(
            &[
                "--report=r.json",
                "--realtime-strict",
                "--realtime-list=l",
                "Main",
            ],
            &[
                "-Xtakt:report=r.json",
                "-Xtakt:realtime-strict",
                "-Xtakt:realtime-list=l",
                "Main",
            ],
        );
        check(&["-version"], &["-version"]);
        check(
            &[
                "-cp", "x", "--gc=stw", "-p", "m", "--report", "Main", "--gc=x",
            ],
            &[
                "-cp",
                "x",
                "-Xtakt:gc=stw",
                "-p",
                "m",
                "-Xtakt:report",
                "Main",
                "--gc=x",
            ],
        );
        check(
            &["-jar", "x.jar", "--report"],
            &["-jar", "x.jar", "--report"],
        );
        check(&["-cp"], &["-cp"]);
    }

    #[test]
    fn a_stack_has_room_for_the_machine() {
        check(&["-Xss256k", "Main"], &["-Xss1024k", "Main"]);
        check(&["-Xss65536", "Main"], &["-Xss1024k", "Main"]);
        for fine in ["-Xss1m", "-Xss1g", "-Xss0", "-Xss", "-Xssx", "-Xss5q"] {
            check(&[fine, "Main"], &[fine, "Main"]);
        }
    }

    #[test]
    fn dex_code_on_the_class_path_is_seen() {
        let loads = |arguments: &[&str]| {
            let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
            class_path(&arguments)
                .and_then(|_| class_loader(&arguments))
                .is_some()
        };
        assert!(loads(&["-Xmx1g", "-cp", "lib.jar:app.apk", "Main"]));
        assert!(loads(&["--class-path=classes.dex", "Main"]));
        assert!(!loads(&["-cp", "lib.jar", "Main", "-cp", "app.apk"]));
        assert!(!loads(&["-cp", "classes", "Main"]));
        assert!(loads(&["-cp", "a.jar", "--class-path", "b.dex", "Main"]));
    }

    #[test]
    fn a_collector_is_chosen_or_refused_by_name() {
        check(&["--gc=stw", "Main"], &["-Xtakt:gc=stw", "Main"]);
        let refused = translated(&["--gc=g1".into()]).unwrap_err();
        assert!(refused.to_string().contains("--gc=rc"), "{refused}");
    }

    #[test]
    fn a_missing_machine_says_how_to_build_it() {
        let empty = tempfile::tempdir().unwrap();
        let error = machine_beside(&empty.path().join("takt")).unwrap_err();
        assert!(error.to_string().contains("--package vm"), "{error}");
    }
}
