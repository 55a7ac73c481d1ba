// SPDX-License-Identifier: Apache-2.0
//! `takt java`: a Java program on Takt's machine, started by the JDK's own launcher.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail};

use crate::jdk::Jdk;

/// Runs a Java program: options, main class and arguments as for the `java` command
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Args {
    /// Options of the `java` command; `--report` for figures of the machine at the end; `--code-cache=DIR` for
    /// where compiled code is kept (default: takt/code under $XDG_CACHE_HOME), `--no-code-cache` for nowhere
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
        .args(translated(&args.arguments)?)
        .exec();
    Err(error).with_context(|| format!("cannot start {}", jdk.home.join("bin/java").display()))
}

fn alternative(machine: &Path) -> OsString {
    let mut option = OsString::from("-XXaltjvm=");
    option.push(machine);
    option
}

/// The directory of the machine's library: that of `takt` itself.
fn machine_beside(own: &Path) -> Result<PathBuf> {
    let directory = own.parent().unwrap_or(Path::new("/"));
    if directory.join(MACHINE).exists() {
        return Ok(directory.to_owned());
    }
    bail!(
        "no {MACHINE} beside {}: build it with `cargo build --release --package vm`",
        own.display()
    );
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
            Some(option) if index < option_count && option.contains("-code-cache") => {
                translated.push(format!("-Xtakt:{}", option.trim_start_matches('-')).into());
            }
            Some(option) if index < option_count && option.starts_with("--gc=") => {
                bail!("{option}: not there yet, see docs/compatibility.md");
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
        check(&["-version"], &["-version"]);
    }

    #[test]
    fn a_collector_is_refused_by_name() {
        let refused = translated(&["--gc=rc".into()]).unwrap_err();
        assert!(refused.to_string().contains("--gc=rc"), "{refused}");
    }

    #[test]
    fn a_missing_machine_says_how_to_build_it() {
        let empty = tempfile::tempdir().unwrap();
        let error = machine_beside(&empty.path().join("takt")).unwrap_err();
        assert!(error.to_string().contains("--package vm"), "{error}");
    }
}
