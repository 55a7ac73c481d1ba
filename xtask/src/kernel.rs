// SPDX-License-Identifier: Apache-2.0
//! `cargo xtask kernel`: the extended Binder driver as a module for the lab's PREEMPT_RT kernel;
//! and [`vkms`], a graphics card without a monitor that Debian does not build.
//!
//! Debian's source is patched and built in target/kernel; `tools/setup.d/31-kernel` has fetched it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::inputs::Inputs;
use crate::stage::{command, target_dir};

/// What this project adds: the patches in their order, and how the module is made.
const OURS: &str = "kernel";
/// What of Debian's `drivers/android` the module is made of.
const SOURCES: [&str; 5] = [
    "binder.c",
    "binder_alloc.c",
    "binder_alloc.h",
    "binder_internal.h",
    "binder_trace.h",
];

/// Builds it, unless it was built from the same files; says where it lies.
pub(crate) fn build() -> Result<PathBuf> {
    let place = target_dir()?.join("kernel/rt");
    let module = place.join("binder_takt.ko");
    let debian = fetched()?;
    let inputs = Inputs::of(&place, &[Path::new(OURS), &debian.join("android")])?;
    if inputs.are_built() && module.is_file() {
        println!("kernel: {}: there", module.display());
        return Ok(module);
    }
    if place.exists() {
        std::fs::remove_dir_all(&place)?;
    }
    std::fs::create_dir_all(&place)?;
    for name in SOURCES {
        let source = debian.join("android").join(name);
        std::fs::copy(&source, place.join(name))
            .with_context(|| format!("cannot copy {}", source.display()))?;
    }
    for patch in patches()? {
        println!("kernel: {}", patch.display());
        let text = File::open(&patch)?;
        let words = [
            "--strip=1",
            "--silent",
            "--fuzz=0",
            "--no-backup-if-mismatch",
        ];
        command(
            Command::new("patch")
                .current_dir(&place)
                .args(words)
                .stdin(text),
        )?;
    }
    std::fs::copy(Path::new(OURS).join("Kbuild"), place.join("Kbuild"))?;
    make(&place, &debian, &[])?;
    inputs.end()?;
    println!("kernel: {}", module.display());
    Ok(module)
}

/// A graphics card that shows nothing and has a beat, as Debian's source has it.
pub(crate) fn vkms() -> Result<PathBuf> {
    let place = target_dir()?.join("kernel/vkms");
    let module = place.join("vkms.ko");
    let debian = fetched()?;
    let source = debian.join("vkms");
    if !source.is_dir() {
        bail!("the source of vkms is not fetched: run `make setup`");
    }
    let inputs = Inputs::of(&place, &[&source])?;
    if inputs.are_built() && module.is_file() {
        return Ok(module);
    }
    if place.exists() {
        std::fs::remove_dir_all(&place)?;
    }
    std::fs::create_dir_all(&place)?;
    for entry in std::fs::read_dir(&source)? {
        let entry = entry?;
        std::fs::copy(entry.path(), place.join(entry.file_name()))?;
    }
    make(&place, &debian, &["CONFIG_DRM_VKMS=m"])?;
    inputs.end()?;
    Ok(module)
}

/// Debian's source and headers of the newest kernel in the cache.
fn fetched() -> Result<PathBuf> {
    let from = |name: &str| {
        std::env::var_os(name)
            .filter(|it| !it.is_empty())
            .map(PathBuf::from)
    };
    let cache = from("TAKT_CACHE")
        .or_else(|| from("XDG_CACHE_HOME").map(|it| it.join("takt")))
        .or_else(|| from("HOME").map(|it| it.join(".cache/takt")))
        .context("no cache directory: set TAKT_CACHE, XDG_CACHE_HOME or HOME")?;
    let step = Command::new("tools/setup.d/31-kernel")
        .env("TAKT_CACHE", &cache)
        .env("TAKT_SETUP_WHERE", "1")
        .output()
        .context("cannot start tools/setup.d/31-kernel")?;
    let place = PathBuf::from(String::from_utf8(step.stdout)?.trim());
    if !step.status.success() || !place.join("headers").is_dir() {
        bail!("the modules' source is not fetched: run `make setup`");
    }
    Ok(place)
}

fn patches() -> Result<Vec<PathBuf>> {
    let folder = Path::new(OURS).join("patches");
    let entries = std::fs::read_dir(&folder).context("no patches")?;
    let mut patches = Vec::new();
    for entry in entries {
        patches.push(entry?.path());
    }
    patches.sort();
    Ok(patches)
}

/// The kernel's own build. Debian's headers name /usr/src, where nothing is installed here.
fn make(place: &Path, debian: &Path, settings: &[&str]) -> Result<()> {
    let folders = std::fs::read_dir(debian.join("headers/src"))?;
    let mut headers = Vec::new();
    for folder in folders {
        headers.push(folder?.path());
    }
    let ending = |end: &str| {
        let found = headers
            .iter()
            .find(|it| it.to_string_lossy().ends_with(end));
        found.with_context(|| format!("no headers '…{end}' in {}", debian.display()))
    };
    let (common, own) = (ending("-common-rt")?, ending("-rt-amd64")?);
    let pair = |name: &str, path: &Path| format!("{name}={}", path.display());
    command(
        Command::new("make")
            .args(["--silent", "--directory"])
            .arg(own)
            .arg("--file")
            .arg(common.join("Makefile"))
            .args([pair("srctree", common), pair("M", place), "modules".into()])
            .args(settings)
            // What Cargo says to its own make is not for this one.
            .env_remove("MAKEFLAGS"),
    )
}
