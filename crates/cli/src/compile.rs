// SPDX-License-Identifier: Apache-2.0
//! `takt compile`: an application's code into the code cache, before it runs.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use ::apk::{Apk, Archive};
use anyhow::{Context, Result, anyhow, bail};
use dex::DexFile;
use serde::Serialize;
use tempfile::NamedTempFile;

use crate::framework::{Framework, Front, android};
use crate::java::{self, alternative, machine_beside};
use crate::jdk::Jdk;
use crate::run::Sealed;

/// Compile an application and what it reaches in the class library into the code cache
///
/// Its first start compiles little or nothing then. Classes are loaded, not initialised. What only
/// reflection reaches, and code that is made at run time (lambdas, proxies), is compiled when it is
/// first called, and kept too.
///
/// A package is compiled alone, over the framework, as `takt run` starts it. Exit code: 0 done,
/// also where classes are refused, which are named; 2 a package that is broken, or nothing to
/// compile.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  takt compile app.jar lib/classes\n  takt compile app.apk --json"
)]
pub(crate) struct Args {
    /// A package; or the application's class path: JARs, DEX files and directories of class files
    #[arg(required_unless_present = "install")]
    paths: Vec<PathBuf>,
    /// Give a code cache that was copied here its place in memory, and compile nothing: others run
    /// from it by --code-library=DIR
    #[arg(long, value_name = "DIR", conflicts_with_all = ["paths", "code_cache"])]
    install: Option<PathBuf>,
    /// Where compiled code is kept; takt/code under $XDG_CACHE_HOME unless given
    #[arg(long, value_name = "DIR")]
    code_cache: Option<PathBuf>,
    /// The class files were written for Android, as AOSP's framework is: their code keeps
    /// references as ART does. It is used where takt.android.path names them
    #[arg(long, conflicts_with = "install")]
    android: bool,
    /// Where `cargo xtask framework` has put the Java side, for a package; DEX files are compiled
    /// over the framework too if this is given
    #[arg(long, value_name = "DIR", conflicts_with = "install")]
    framework: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What the machine says at the end.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
struct Outcome {
    /// Of the application.
    classes: u64,
    /// Classes that could not be loaded or proven, and methods that could not be compiled, and why.
    refused: Vec<String>,
    /// Of those classes.
    own_methods: u64,
    /// Methods reached, those included.
    methods: u64,
    compiled: u64,
    kept_before: u64,
    /// Beyond the machine's bound.
    left_out: u64,
    /// Pieces of code for which the cache had no room.
    not_kept: u64,
    /// What was added to the cache.
    kept_bytes: u64,
    ms: u64,
    /// Processor time.
    cpu_ms: u64,
}

/// What is compiled.
struct Application {
    /// Internal names of its classes.
    names: BTreeSet<String>,
    place: Place,
}

/// Where the machine finds it.
enum Place {
    ClassPath,
    /// A package as it was checked, over the framework.
    Package(Sealed),
    /// DEX files over the framework.
    Over,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if let Some(directory) = &args.install {
        return install(directory);
    }
    let application = Application::of(args)?;
    let outcome = match application.names.is_empty() {
        // A package of resources, whose manifest says so.
        true => Outcome::default(),
        false => compile(args, &application)?,
    };
    match args.json {
        true => println!("{}", serde_json::to_string_pretty(&outcome)?),
        false => print!("{}", text(&outcome)),
    }
    Ok(ExitCode::SUCCESS)
}

impl Application {
    fn of(args: &Args) -> Result<Self> {
        let mut names = BTreeSet::new();
        for path in &args.paths {
            if is_package(path) {
                if args.paths.len() > 1 {
                    bail!(
                        "{}: a package is compiled alone, for it runs with nothing beside it but \
                         the framework",
                        path.display()
                    );
                }
                return Self::of_package(path);
            }
            match path.is_dir() {
                true => names_in_directory(path, path, &mut names)?,
                false => names_in_file(path, &mut names)?,
            }
        }
        let over = args.framework.is_some();
        if over && !args.paths.iter().all(|it| java::has_dex(it)) {
            bail!(
                "--framework is for packages and DEX files: class files are their own class path"
            );
        }
        if names.is_empty() {
            let paths = std::env::join_paths(&args.paths)?;
            bail!("no classes in {}", paths.display());
        }
        let place = match over {
            true => Place::Over,
            false => Place::ClassPath,
        };
        Ok(Self { names, place })
    }

    /// Refused as `takt run` refuses it.
    fn of_package(path: &Path) -> Result<Self> {
        let bytes = crate::apk::read(path)?;
        let refused = |fault: String| anyhow!("{}: refused: {fault}", path.display());
        let package = Apk::parse(&bytes).map_err(|it| refused(it.to_string()))?;
        crate::apk::verify(&package).map_err(refused)?;
        let mut names = BTreeSet::new();
        // AOSP looks in no file at all for classes of a package without code.
        if package.manifest.application.has_code {
            names_in_dex_of(&package.archive, path, &mut names)?;
        }
        let sealed = Sealed::of(&format!("{}.apk", package.manifest.package), &bytes)?;
        Ok(Self {
            names,
            place: Place::Package(sealed),
        })
    }
}

/// Runs the machine over the classes; it ends before a main class is looked for.
fn compile(args: &Args, application: &Application) -> Result<Outcome> {
    let list = written(&application.names)?;
    let jdk = Jdk::find()?;
    let machine = machine_beside(&std::env::current_exe()?)?;
    let mut java = Command::new(jdk.home.join("bin/java"));
    java.arg(alternative(&machine));
    if let Some(directory) = &args.code_cache {
        java.arg(option("-Xtakt:code-cache=", directory));
    }
    java.arg(option("-Xtakt:compile-list=", list.path()));
    let path = std::env::join_paths(&args.paths)?;
    let package = match &application.place {
        Place::ClassPath => None,
        Place::Over => Some(PathBuf::from(&path)),
        Place::Package(sealed) => Some(sealed.path()),
    };
    match package {
        Some(package) => {
            let framework = Framework::find(args.framework.as_deref())?;
            java.arg(option("-Xtakt:compile-package=", &package));
            java.args(framework.options(Front::Hosted)?);
        }
        None => {
            java.args(java::class_loader_for(&path));
            java.args(args.android.then(|| android(&path)));
            java.arg("-cp").arg(path);
        }
    }
    let output = java
        .arg("-version")
        .stderr(std::process::Stdio::inherit())
        .output()
        .context("cannot start the JDK's launcher")?;
    if !output.status.success() {
        bail!("the machine ended with {}", output.status);
    }
    parse(&String::from_utf8_lossy(&output.stdout))
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

/// A file that `takt run` takes; one that ends in .apk is to be one, whatever is in it.
fn is_package(path: &Path) -> bool {
    let is_named = path.extension().is_some_and(|it| it == "apk");
    let has_both = |it: Archive<'_>| it.contains("AndroidManifest.xml") && it.contains(FIRST_DEX);
    is_named || std::fs::read(path).is_ok_and(|bytes| Archive::parse(&bytes).is_ok_and(has_both))
}

const FIRST_DEX: &str = "classes.dex";

/// An archive of class files or DEX code, or a DEX file.
fn names_in_file(path: &Path, names: &mut BTreeSet<String>) -> Result<()> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    if bytes.starts_with(b"dex\n") {
        return names_in_dex(&bytes, names).with_context(|| path.display().to_string());
    }
    let archive = Archive::parse(&bytes).map_err(|error| anyhow!("{}: {error}", path.display()))?;
    names.extend(archive.entries().filter_map(|(name, _)| class_name(name)));
    names_in_dex_of(&archive, path, names)
}

/// Of the DEX files that a class loader takes from an archive: the second and later ones have
/// numbers without a gap.
fn names_in_dex_of(archive: &Archive<'_>, path: &Path, names: &mut BTreeSet<String>) -> Result<()> {
    let later = (2..).map(|it| format!("classes{it}.dex"));
    let entries = std::iter::once(FIRST_DEX.to_owned()).chain(later);
    for entry in entries.take_while(|it| archive.contains(it)) {
        let bytes = archive.read_dense(&entry);
        let bytes = bytes.with_context(|| path.display().to_string())?;
        let found = names_in_dex(&bytes, names);
        found.with_context(|| format!("{}: {entry}", path.display()))?;
    }
    Ok(())
}

fn names_in_dex(bytes: &[u8], names: &mut BTreeSet<String>) -> Result<()> {
    let dex = DexFile::parse(bytes)?;
    for class in dex.classes() {
        let descriptor = dex.descriptor(class.class);
        let name = descriptor
            .strip_prefix('L')
            .and_then(|it| it.strip_suffix(';'));
        names.extend(name.map(str::to_owned));
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
        own_methods: number("own_methods")?,
        methods: number("methods")?,
        compiled: number("compiled")?,
        kept_before: number("kept_before")?,
        left_out: number("left_out")?,
        not_kept: number("not_kept")?,
        kept_bytes: number("kept_bytes")?,
        ms: number("ms")?,
        cpu_ms: number("cpu_ms")?,
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
    let not_kept = match outcome.not_kept {
        0 => String::new(),
        count => format!("no room in the code cache for {count} pieces of code\n"),
    };
    format!(
        "{}{left_out}{not_kept}{} classes with {} methods reach {} methods: {} compiled, {} kept \
         before, {:.1} MB, {:.1} s\n",
        refused.collect::<String>(),
        outcome.classes,
        outcome.own_methods,
        outcome.methods,
        outcome.compiled,
        outcome.kept_before,
        outcome.kept_bytes as f64 / 1e6,
        outcome.ms as f64 / 1000.0
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machines_words_are_read() {
        let said = "refused a/B: java.lang.NoClassDefFoundError\n\
                    classes=1 refused=1 own_methods=2 methods=7 compiled=4 kept_before=3 \
                    left_out=0 not_kept=0 kept_bytes=1000 ms=1500 cpu_ms=900\n";
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
