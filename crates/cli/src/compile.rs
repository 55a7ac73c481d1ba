// SPDX-License-Identifier: Apache-2.0
//! `takt compile`: an application's code into the code cache, before it runs.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use ::apk::Archive;
use anyhow::{Context, Result, anyhow, bail};
use serde::Serialize;
use tempfile::NamedTempFile;

use crate::framework::android;
use crate::java::{alternative, machine_beside};
use crate::jdk::Jdk;

/// Compile an application and what it reaches in the class library into the code cache
///
/// Its first start compiles little or nothing then. Classes are loaded, not initialised. What only
/// reflection reaches, and code that is made at run time (lambdas, proxies), is compiled when it is
/// first called, and kept too.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  takt compile app.jar lib/classes")]
pub(crate) struct Args {
    /// JARs and directories of class files: the application's class path
    #[arg(required_unless_present = "install")]
    paths: Vec<PathBuf>,
    /// Give a code cache that was copied here its place in memory, and compile nothing: others run
    /// from it by --code-library=DIR
    #[arg(long, value_name = "DIR", conflicts_with_all = ["paths", "code_cache"])]
    install: Option<PathBuf>,
    /// Where compiled code is kept; takt/code under $XDG_CACHE_HOME unless given
    #[arg(long, value_name = "DIR")]
    code_cache: Option<PathBuf>,
    /// The paths were written for Android, as AOSP's framework is: their code keeps references as
    /// ART does. It is used where takt.android.path names them
    #[arg(long, conflicts_with = "install")]
    android: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What the machine says at the end.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
struct Outcome {
    /// Of the application.
    classes: u64,
    /// Classes that could not be loaded or proven, and why.
    refused: Vec<String>,
    /// Methods reached.
    methods: u64,
    compiled: u64,
    kept_before: u64,
    /// Beyond the machine's bound.
    left_out: u64,
    ms: u64,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if let Some(directory) = &args.install {
        return install(directory);
    }
    let mut names = BTreeSet::new();
    for path in &args.paths {
        match path.is_dir() {
            true => names_in_directory(path, path, &mut names)?,
            false => names_in_archive(path, &mut names)?,
        }
    }
    if names.is_empty() {
        bail!(
            "no classes in {}",
            std::env::join_paths(&args.paths)?.display()
        );
    }
    let list = written(&names)?;
    let jdk = Jdk::find()?;
    let machine = machine_beside(&std::env::current_exe()?)?;
    let mut java = Command::new(jdk.home.join("bin/java"));
    java.arg(alternative(&machine));
    if let Some(directory) = &args.code_cache {
        java.arg(option("-Xtakt:code-cache=", directory));
    }
    let path = std::env::join_paths(&args.paths)?;
    if args.android {
        java.arg(android(&path));
    }
    let output = java
        .arg(option("-Xtakt:compile-list=", list.path()))
        .arg("-cp")
        .arg(path)
        // The machine ends before a main class is looked for.
        .arg("-version")
        .stderr(std::process::Stdio::inherit())
        .output()
        .context("cannot start the JDK's launcher")?;
    if !output.status.success() {
        bail!("the machine ended with {}", output.status);
    }
    let outcome = parse(&String::from_utf8_lossy(&output.stdout))?;
    match args.json {
        true => println!("{}", serde_json::to_string_pretty(&outcome)?),
        false => print!("{}", text(&outcome)),
    }
    Ok(ExitCode::SUCCESS)
}

/// The machine knows which part of the cache is its own. Others run from it as other users.
fn install(directory: &Path) -> Result<ExitCode> {
    let machine = machine_beside(&std::env::current_exe()?)?;
    let status = Command::new(Jdk::find()?.home.join("bin/java"))
        .arg(alternative(&machine))
        .arg(option("-Xtakt:install-code=", directory))
        .arg("-version")
        .status()
        .context("cannot start the JDK's launcher")?;
    if !status.success() {
        bail!("the machine ended with {status}");
    }
    make_read_only(directory)?;
    Ok(ExitCode::SUCCESS)
}

/// Everybody reads, nobody writes. Folders stay the owner's, who removes them one day.
fn make_read_only(store: &Path) -> Result<()> {
    let set = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
            .with_context(|| format!("cannot protect {}", path.display()))
    };
    set(store, 0o755)?;
    for folder in std::fs::read_dir(store)? {
        let folder = folder?.path();
        if !folder.is_dir() {
            // Nothing of the machine's.
            continue;
        }
        set(&folder, 0o755)?;
        for file in std::fs::read_dir(&folder)? {
            set(&file?.path(), 0o444)?;
        }
    }
    Ok(())
}

fn option(name: &str, value: &Path) -> OsString {
    let mut option = OsString::from(name);
    option.push(value);
    option
}

/// `org/example/Name` for a class file's path; descriptors of modules and packages are no classes.
fn class_name(path: &str) -> Option<String> {
    let name = path.strip_suffix(".class")?;
    let is_class = !name.starts_with("META-INF/") && !name.ends_with("-info");
    is_class.then(|| name.to_owned())
}

fn names_in_directory(root: &Path, directory: &Path, names: &mut BTreeSet<String>) -> Result<()> {
    let entries = std::fs::read_dir(directory)
        .with_context(|| format!("cannot read {}", directory.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            names_in_directory(root, &path, names)?;
        } else if let Ok(relative) = path.strip_prefix(root) {
            names.extend(relative.to_str().and_then(class_name));
        }
    }
    Ok(())
}

fn names_in_archive(path: &Path, names: &mut BTreeSet<String>) -> Result<()> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let archive = Archive::parse(&bytes).map_err(|error| anyhow!("{}: {error}", path.display()))?;
    let before = names.len();
    names.extend(archive.entries().filter_map(|(name, _)| class_name(name)));
    let has_dex = archive.entries().any(|(name, _)| name.ends_with(".dex"));
    if has_dex && names.len() == before {
        bail!(
            "{}: DEX code is not supported by `takt compile`, class files are; a package's code is \
             compiled while it runs, and kept",
            path.display()
        );
    }
    Ok(())
}

/// A file of these names, gone when dropped.
fn written(names: &BTreeSet<String>) -> Result<NamedTempFile> {
    let mut list = NamedTempFile::new().context("cannot make a file of names")?;
    for name in names {
        writeln!(list, "{name}")?;
    }
    Ok(list)
}

fn parse(said: &str) -> Result<Outcome> {
    let refused = said
        .lines()
        .filter_map(|line| line.strip_prefix("refused "));
    let last = said.lines().last().unwrap_or_default();
    let number = |name: &str| -> Result<u64> {
        let mut words = last.split_whitespace();
        let found = words.find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
        let found = found.with_context(|| format!("the machine says no {name}: {said}"))?;
        Ok(found.parse()?)
    };
    Ok(Outcome {
        classes: number("classes")?,
        refused: refused.map(str::to_owned).collect(),
        methods: number("methods")?,
        compiled: number("compiled")?,
        kept_before: number("kept_before")?,
        left_out: number("left_out")?,
        ms: number("ms")?,
    })
}

fn text(outcome: &Outcome) -> String {
    let refused = outcome
        .refused
        .iter()
        .map(|text| format!("not compiled: {text}\n"));
    let left_out = match outcome.left_out {
        0 => String::new(),
        count => format!("{count} methods beyond the bound are compiled when they are called\n"),
    };
    format!(
        "{}{left_out}{} classes reach {} methods: {} compiled, {} kept before, {:.1} s\n",
        refused.collect::<String>(),
        outcome.classes,
        outcome.methods,
        outcome.compiled,
        outcome.kept_before,
        outcome.ms as f64 / 1000.0
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machines_words_are_read() {
        let said = "refused a/B: java.lang.NoClassDefFoundError\n\
                    classes=1 refused=1 methods=7 compiled=4 kept_before=3 left_out=0 ms=1500\n";
        let outcome = parse(said).unwrap();
        assert_eq!(outcome.refused, ["a/B: java.lang.NoClassDefFoundError"]);
        assert_eq!(
            (outcome.methods, outcome.compiled, outcome.kept_before),
            (7, 4, 3)
        );
        assert!(text(&outcome).contains("1.5 s"), "{}", text(&outcome));
        assert!(parse("").is_err());
    }

    #[test]
    fn descriptors_are_no_classes() {
        assert_eq!(class_name("a/B$C.class").as_deref(), Some("a/B$C"));
        for other in [
            "module-info.class",
            "a/package-info.class",
            "META-INF/versions/9/a/B.class",
            "a/B.java",
        ] {
            assert_eq!(class_name(other), None, "{other}");
        }
    }
}
