// SPDX-License-Identifier: Apache-2.0
//! The fuzzers of fuzz/targets under cargo-fuzz, which `tools/setup` installs, with seeds made of
//! real files: the packages that it fetches and class files that javac makes. Without it the stage
//! says that it is left out.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use apk::{Archive, MANIFEST_ENTRY};

use crate::framework::{cache, sources};
use crate::sanitize::nightly;
use crate::stage::{command, target_dir};

/// What `tools/setup.d/26-fuzz` installs.
const CARGO_FUZZ: &str = "cargo-fuzz-0.13.2/bin";
/// Of each target.
const SECONDS: u32 = 600;
/// Of one input; those that parse are answered in milliseconds.
const INPUT_SECONDS_MAX: u32 = 10;
const RESIDENT_MB_MAX: u32 = 1024;
/// Larger seeds make each try slow and find nothing that smaller ones do not.
const SEED_BYTES_MAX: usize = 32 << 10;

/// Runs a target for ten minutes; what was found lies in out/soak/fuzz.
pub(crate) fn run(target: &str) -> Result<()> {
    let programs = cache()?.join(CARGO_FUZZ);
    if !programs.join("cargo-fuzz").is_file() {
        println!("fuzz: LEFT OUT: cargo-fuzz is not installed (tools/setup says why)");
        return Ok(());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([programs].into_iter().chain(std::env::split_paths(&path)))?;
    let place = target_dir()?.join("fuzz");
    let seeds = Seeds::write(place.join("seeds"))?;
    std::fs::create_dir_all("out/soak/fuzz")?;
    // What a run learns stays for the next one.
    let corpus = place.join("corpus").join(target);
    std::fs::create_dir_all(&corpus)?;
    let Some(mut cargo) = nightly("fuzz")? else {
        return Ok(());
    };
    cargo
        // Our formats forbid unsafe code: what is looked for is panics, time and memory.
        .args(["fuzz", "run", "--sanitizer", "none", "--target-dir"])
        .arg(place.join("build"))
        .arg(target)
        .arg(&corpus)
        .args(seeds.of(target))
        .arg("--")
        .arg(format!("-max_total_time={SECONDS}"))
        .arg(format!("-timeout={INPUT_SECONDS_MAX}"))
        .arg(format!("-rss_limit_mb={RESIDENT_MB_MAX}"))
        .arg(format!("-max_len={SEED_BYTES_MAX}"))
        .args(["-print_final_stats=1", "-verbosity=0"])
        .arg(format!("-artifact_prefix=out/soak/fuzz/{target}-"))
        .env("PATH", &path);
    command(&mut cargo)
}

/// The files of fuzz/targets.
pub(crate) fn targets() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir("fuzz/targets")? {
        let path = entry?.path();
        let name = path.file_stem().and_then(|it| it.to_str());
        names.push(name.context("a target has a name")?.to_owned());
    }
    names.sort();
    Ok(names)
}

/// Folders of real files, one for each kind.
struct Seeds(PathBuf);

impl Seeds {
    fn write(place: PathBuf) -> Result<Self> {
        if place.exists() {
            std::fs::remove_dir_all(&place)?;
        }
        for kind in ["apk", "axml", "class", "dex", "signed", "table"] {
            std::fs::create_dir_all(place.join(kind))?;
        }
        let seeds = Self(place);
        seeds.packages()?;
        let mut programs = sources(Path::new("tests/java/memory"))?;
        for folder in ["tests/mutation", "tests/java-bench"] {
            programs.extend(sources(Path::new(folder))?);
        }
        command(
            Command::new("javac")
                // Some programs know the machine's own class loaders.
                .args([
                    "-nowarn",
                    "-g",
                    "-implicit:none",
                    "-sourcepath",
                    "crates/vm/java",
                    "-d",
                ])
                .arg(seeds.0.join("class"))
                .args(programs)
                .stderr(std::process::Stdio::null()),
        )?;
        Ok(seeds)
    }

    /// The folder for a target, if there is one.
    fn of(&self, target: &str) -> Option<PathBuf> {
        let kind = if target == "lower" { "dex" } else { target };
        Some(self.0.join(kind)).filter(|it| it.is_dir())
    }

    fn packages(&self) -> Result<()> {
        let tests = cache()?.join("apks/fdroidserver-2.4.5/tests");
        let mut count = 0;
        for folder in [tests.clone(), tests.join("repo")] {
            for entry in std::fs::read_dir(&folder).context("run tools/setup")? {
                let path = entry?.path();
                if path.extension().is_some_and(|it| it == "apk") {
                    self.package(count, &std::fs::read(path)?)?;
                    count += 1;
                }
            }
        }
        ensure!(count > 10, "{count} packages: run tools/setup");
        Ok(())
    }

    /// A package and what is in it.
    fn package(&self, number: usize, bytes: &[u8]) -> Result<()> {
        self.keep("apk", number, bytes)?;
        let Ok(archive) = Archive::parse(bytes) else {
            return Ok(());
        };
        let blocks = archive.entries().map(|(name, _)| name);
        for name in blocks.filter(|it| it.starts_with("META-INF/") && it.ends_with("SA")) {
            let block = archive.read(name)?;
            self.keep("signed", number, &[&[2], &*block].concat())?;
        }
        if let Ok(code) = archive.read("classes.dex") {
            self.keep("dex", number, &code)?;
        }
        if let Ok(manifest) = archive.read(MANIFEST_ENTRY) {
            let resources = archive.read("resources.arsc").unwrap_or_default();
            let size = u16::try_from(manifest.len()).unwrap_or(u16::MAX);
            let both = [&size.to_le_bytes()[..], &manifest, &resources].concat();
            self.keep("axml", number, &both)?;
            // Eight ids of the first types.
            let ids: Vec<u8> = (1..=8u8).flat_map(|it| [0, 0, it, 0x7f]).collect();
            self.keep("table", number, &[ids, resources.into_owned()].concat())?;
        }
        Ok(())
    }

    fn keep(&self, kind: &str, number: usize, bytes: &[u8]) -> Result<()> {
        if bytes.len() <= SEED_BYTES_MAX {
            std::fs::write(self.0.join(kind).join(number.to_string()), bytes)?;
        }
        Ok(())
    }
}
