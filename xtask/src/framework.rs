// SPDX-License-Identifier: Apache-2.0
//! The Java side: compiles framework/ against AOSP's jar from the cache and runs its tests on the installed JDK.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::stage::{cargo, command, target_dir};

/// Builds natives and Java, then runs every JUnit test.
pub(crate) fn test() -> Result<()> {
    cargo(["build", "--package", "natives", "--locked", "--quiet"])?;
    let target = target_dir()?;
    let out = target.join("framework");
    let (android, junit) = (
        jar("android-all-")?,
        jar("junit-platform-console-standalone-")?,
    );
    let classes = out.join("classes");
    let patch = out.join("jdk.unsupported");
    for folder in [&classes, &patch] {
        if folder.exists() {
            std::fs::remove_dir_all(folder)?;
        }
        std::fs::create_dir_all(folder)?;
    }
    let jdk = Path::new("framework/jdk/jdk.unsupported");
    command(
        Command::new("javac")
            .args(["-Xlint:all", "-Werror", "-d"])
            .arg(&patch)
            .arg("--patch-module")
            .arg(format!("jdk.unsupported={}", jdk.display()))
            .args(sources(jdk)?),
    )?;
    let patch_option = format!("jdk.unsupported={}", patch.display());
    let path = std::env::join_paths([&android, &junit])?;
    command(
        Command::new("javac")
            .args([
                "--release",
                "17",
                "-Xlint:all,-classfile,-path,-processing",
                "-Werror",
                "-cp",
            ])
            .arg(&path)
            .arg("-d")
            .arg(&classes)
            .args(sources(Path::new("framework/src"))?)
            .args(sources(Path::new("framework/test"))?),
    )?;
    command(
        Command::new("java")
            .arg("--patch-module")
            .arg(&patch_option)
            .arg(format!(
                "-Dtakt.natives={}",
                target.join("debug/libnatives.so").display()
            ))
            .arg("-cp")
            .arg(std::env::join_paths([&classes, &android, &junit])?)
            .args([
                "org.junit.platform.console.ConsoleLauncher",
                "execute",
                "--disable-banner",
            ])
            .args([
                "--disable-ansi-colors",
                "--details=tree",
                "--fail-if-no-tests",
            ])
            .arg("--scan-classpath")
            .arg(&classes),
    )
}

/// A jar that tools/setup has fetched.
fn jar(start: &str) -> Result<PathBuf> {
    let cache = match (
        std::env::var_os("TAKT_CACHE"),
        std::env::var_os("XDG_CACHE_HOME"),
    ) {
        (Some(cache), _) => PathBuf::from(cache),
        (None, Some(home)) => PathBuf::from(home).join("takt"),
        (None, None) => {
            PathBuf::from(std::env::var_os("HOME").context("HOME is not set")?).join(".cache/takt")
        }
    };
    let folder = cache.join("maven");
    let entries = std::fs::read_dir(&folder)
        .with_context(|| format!("cannot read {}: run tools/setup", folder.display()))?;
    for entry in entries {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(start) {
            return Ok(entry.path());
        }
    }
    bail!("no {start}*.jar in {}: run tools/setup", folder.display())
}

/// Every Java file below a folder.
fn sources(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let entries =
        std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(sources(&path)?);
        } else if path.extension().is_some_and(|it| it == "java") {
            found.push(path);
        }
    }
    Ok(found)
}
