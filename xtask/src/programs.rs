// SPDX-License-Identifier: Apache-2.0
//! Test programs: built once for all stages, then run one by one.
//!
//! Cargo chooses features of dependencies by which packages a command selects. `cargo test
//! --package vm` has others than the whole workspace, so it would compile those dependencies and
//! all above them once more: the code generator, the machine. Hence one selection for everything.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use anyhow::{Context, Result, bail};
use cargo_metadata::Message;

use crate::stage::{cargo_command, command};

/// One program of tests: of a library, a program, or a file below `tests`.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) name: String,
    /// The package's folder, in which Cargo runs its tests.
    folder: PathBuf,
    pub(crate) path: PathBuf,
}

impl Program {
    /// The package, whose folder has the same name.
    pub(crate) fn package(&self) -> &str {
        let name = self.folder.file_name().and_then(|it| it.to_str());
        name.unwrap_or_default()
    }

    /// Runs it as `cargo test --quiet` does.
    fn run(&self, words: &[&str]) -> Result<()> {
        let mut program = Command::new(&self.path);
        program.arg("--quiet").args(words).current_dir(&self.folder);
        // What a test says is what counts: a stack below each fault buries it in a long log.
        program.env("RUST_BACKTRACE", "0");
        command(&mut program).with_context(|| {
            let (package, name) = (self.package(), &self.name);
            format!(
                "'{name}' of package '{package}' failed (cargo test -p {package} runs it alone)"
            )
        })
    }
}

/// All of the workspace's, built by the first who asks. Cargo's progress is seen: it takes minutes.
pub(crate) fn all() -> Result<&'static [Program]> {
    static ALL: OnceLock<Vec<Program>> = OnceLock::new();
    if let Some(all) = ALL.get() {
        return Ok(all);
    }
    let mut cargo = cargo_command();
    cargo.args(["test", "--locked", "--workspace", "--no-run"]);
    let built = built(cargo)?;
    Ok(ALL.get_or_init(|| built))
}

/// Runs those that `is_wanted` takes, each with these words, until one fails.
pub(crate) fn run(words: &[&str], is_wanted: impl Fn(&Program) -> bool) -> Result<()> {
    let mut chosen = all()?.iter().filter(|it| is_wanted(it)).peekable();
    if chosen.peek().is_none() {
        bail!("no test program is what this stage runs");
    }
    for program in chosen {
        println!("{} {}", program.package(), program.name);
        program.run(words)?;
    }
    Ok(())
}

/// Where a test program lies.
pub(crate) fn path(package: &str, name: &str) -> Result<&'static Path> {
    let mut all = all()?.iter();
    let found = all.find(|it| it.package() == package && it.name == name);
    let found = found.map(|it| it.path.as_path());
    found.with_context(|| format!("cargo built no test program '{name}' of '{package}'"))
}

/// What a `cargo test --no-run` builds.
pub(crate) fn built(mut cargo: Command) -> Result<Vec<Program>> {
    let output = cargo
        .args(["--message-format", "json-render-diagnostics"])
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start cargo")?;
    if !output.status.success() {
        bail!("{cargo:?} ended with {}", output.status);
    }
    let mut programs = Vec::new();
    for message in Message::parse_stream(output.stdout.as_slice()) {
        if let Message::CompilerArtifact(artifact) = message?
            && artifact.profile.test
            && let Some(path) = artifact.executable
        {
            let folder = artifact.manifest_path.parent().context("a folder")?;
            programs.push(Program {
                name: artifact.target.name,
                folder: folder.to_owned().into_std_path_buf(),
                path: path.into_std_path_buf(),
            });
        }
    }
    Ok(programs)
}
