// SPDX-License-Identifier: Apache-2.0
//! `takt java`: a Java program on Takt's machine, started by the JDK's own launcher.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use crate::jdk::Jdk;

/// Runs a Java program: options, main class and arguments as for the `java` command
///
/// The class path may hold DEX code (.dex, .apk, or classes.dex in a .jar) beside class files: `takt java -cp app.apk org.example.Main` does
/// what `dalvikvm -cp app.apk org.example.Main` does on a device. The system class loader is then a
/// dalvik.system.PathClassLoader.
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Args {
    /// Options of the `java` command; `--gc=rc|stw` for the collector; `--realtime` for a heap that is locked in memory
    /// and a collector of SCHED_FIFO 1; `--realtime-strict` to refuse real-time threads that the system gives no
    /// real-time priority; `--realtime-list=FILE` for what those need beside what the machine finds; `--report` for figures of the machine and of each real-time thread at the end,
    /// `--report=FILE` for the same as JSON; `--code-cache=DIR` for where compiled code is kept (default: takt/code
    /// under $XDG_CACHE_HOME), `--no-code-cache` for nowhere
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    arguments: Vec<OsString>,
}

/// The machine, as the launcher looks for it.
const MACHINE: &str = "libjvm.so";

/// Becomes the launcher; comes back only when that fails.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
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
    let has_code = |part: PathBuf| {
        let extension = part.extension().unwrap_or_default().to_ascii_lowercase();
        match extension.to_str() {
            Some("dex" | "apk") => true,
            Some("jar" | "zip") => holds_code(&part),
            _ => false,
        }
    };
    std::env::split_paths(&path)
        .any(has_code)
        .then_some("-Djava.system.class.loader=dalvik.system.PathClassLoader")
}

/// Does an archive hold DEX code? One that does not open is for the launcher to complain of.
fn holds_code(file: &Path) -> bool {
    std::fs::read(file)
        .is_ok_and(|bytes| apk::Archive::parse(&bytes).is_ok_and(|it| it.contains("classes.dex")))
}

/// The class path as options give it; the last one counts.
fn class_path(arguments: &[OsString]) -> Option<OsString> {
    let mut found = None;
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.to_str() {
            Some("-cp" | "-classpath" | "--class-path") => found = arguments.next().cloned(),
            // Other options whose value is an argument of its own.
            Some("-p" | "--module-path" | "--add-modules" | "--add-exports" | "--add-opens") => {
                arguments.next();
            }
            Some(option) if option.starts_with("--class-path=") => {
                found = option.split_once('=').map(|(_, path)| path.into());
            }
            Some(option) if option.starts_with('-') => {}
            _ => break,
        }
    }
    found
}

/// Options that the machine understands but for their form.
fn is_machines(option: &str) -> bool {
    option.contains("-code-cache")
        || option.starts_with("--report=")
        || option.starts_with("--realtime-list=")
        || option == "--realtime"
        || option == "--realtime-strict"
}

/// Takt's own options in the form in which the launcher lets them through.
fn translated(arguments: &[OsString]) -> Result<Vec<OsString>> {
    let is_option = |argument: &&OsString| argument.to_string_lossy().starts_with('-');
    let mut translated = Vec::with_capacity(arguments.len());
    // Behind the first argument that is no option may stand the program's own.
    let option_count = arguments.iter().take_while(is_option).count();
    for (index, argument) in arguments.iter().enumerate() {
        match argument.to_str() {
            Some("--report") if index < option_count => translated.push("-Xtakt:report".into()),
            Some(option) if index < option_count && is_machines(option) => {
                translated.push(format!("-Xtakt:{}", option.trim_start_matches('-')).into());
            }
            Some(option @ ("--gc=rc" | "--gc=stw")) if index < option_count => {
                translated.push(format!("-Xtakt:{}", &option[2..]).into());
            }
            Some(option) if index < option_count && option.starts_with("--gc=") => {
                bail!("{option}: there are --gc=rc, which stops no thread, and --gc=stw");
            }
            _ => translated.push(argument.clone()),
        }
    }
    Ok(translated)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(arguments: &[&str], expected: &[&str]) {
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        let expected: Vec<OsString> = expected.iter().map(OsString::from).collect();
        assert_eq!(translated(&arguments).unwrap(), expected);
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
