// SPDX-License-Identifier: Apache-2.0
//! `cargo xtask kernel`: modules for the lab's kernels, in target/kernel. The extended Binder
//! driver and a graphics card without a monitor (vkms) are for PREEMPT_RT, the virtual cpufreq
//! driver for both.
//!
//! The first is Debian's source, patched; vkms is Debian's source, which Debian does not build; the
//! cpufreq driver is our own. `tools/setup.d/31-kernel` has fetched the headers and that source.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::inputs::Inputs;
use crate::stage::{command, target_dir};

/// What this project adds: the patches in their order, and how the module is made.
const OURS: &str = "kernel";
/// The virtual cpufreq driver, beside them.
const FREQUENCY: &str = "kernel/frequency";
/// What of Debian's `drivers/android` the module is made of.
const SOURCES: [&str; 5] = [
    "binder.c",
    "binder_alloc.c",
    "binder_alloc.h",
    "binder_internal.h",
    "binder_trace.h",
];

/// A kernel of the lab, and how Debian names its headers.
#[derive(Clone, Copy)]
struct Flavour {
    name: &'static str,
    mark: &'static str,
}

const RT: Flavour = Flavour {
    name: "rt",
    mark: "-rt",
};
const STANDARD: Flavour = Flavour {
    name: "standard",
    mark: "",
};

/// All of them.
pub(crate) fn build_all() -> Result<()> {
    build()?;
    vkms()?;
    frequency().map(drop)
}

/// Builds the virtual cpufreq driver for both kernels, unless it was built from the same files;
/// says where that of PREEMPT_RT lies.
pub(crate) fn frequency() -> Result<PathBuf> {
    let mut module = PathBuf::new();
    for flavour in [STANDARD, RT] {
        let place = target_dir()?.join("kernel/frequency").join(flavour.name);
        module = place.join("takt_cpufreq.ko");
        let debian = fetched(flavour)?;
        let (_, own) = headers(&debian, flavour)?;
        let inputs = Inputs::of(&place, &[Path::new(FREQUENCY), &own.join(".config")])?;
        if inputs.are_built() && module.is_file() {
            println!("kernel: {}: there", module.display());
            continue;
        }
        begin(&place)?;
        for name in ["Kbuild", "takt_cpufreq.c"] {
            std::fs::copy(Path::new(FREQUENCY).join(name), place.join(name))?;
        }
        make(&place, &debian, flavour, &[])?;
        inputs.end()?;
        println!("kernel: {}", module.display());
    }
    Ok(module)
}

/// An empty folder.
fn begin(place: &Path) -> Result<()> {
    if place.exists() {
        std::fs::remove_dir_all(place)?;
    }
    Ok(std::fs::create_dir_all(place)?)
}

/// Builds the extended Binder driver, unless it was built from the same files; says where it lies.
pub(crate) fn build() -> Result<PathBuf> {
    let place = target_dir()?.join("kernel/rt");
    let module = place.join("binder_takt.ko");
    let debian = fetched(RT)?;
    let (kbuild, patches) = (
        Path::new(OURS).join("Kbuild"),
        Path::new(OURS).join("patches"),
    );
    let inputs = Inputs::of(&place, &[&kbuild, &patches, &debian.join("android")])?;
    if inputs.are_built() && module.is_file() {
        println!("kernel: {}: there", module.display());
        return Ok(module);
    }
    begin(&place)?;
    for name in SOURCES {
        let source = debian.join("android").join(name);
        std::fs::copy(&source, place.join(name))
            .with_context(|| format!("cannot copy {}", source.display()))?;
    }
    for patch in sorted(&patches)? {
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
    make(&place, &debian, RT, &[])?;
    inputs.end()?;
    println!("kernel: {}", module.display());
    Ok(module)
}

/// A graphics card that shows nothing and has a beat, as Debian's source has it.
pub(crate) fn vkms() -> Result<PathBuf> {
    let place = target_dir()?.join("kernel/vkms");
    let module = place.join("vkms.ko");
    let debian = fetched(RT)?;
    let source = debian.join("vkms");
    if !source.is_dir() {
        bail!("the source of vkms is not fetched: run `make setup`");
    }
    let (_, own) = headers(&debian, RT)?;
    let inputs = Inputs::of(&place, &[&source, &own.join(".config")])?;
    if inputs.are_built() && module.is_file() {
        println!("kernel: {}: there", module.display());
        return Ok(module);
    }
    begin(&place)?;
    for entry in std::fs::read_dir(&source)? {
        let entry = entry?;
        std::fs::copy(entry.path(), place.join(entry.file_name()))?;
    }
    make(&place, &debian, RT, &["CONFIG_DRM_VKMS=m"])?;
    inputs.end()?;
    println!("kernel: {}", module.display());
    Ok(module)
}

/// Headers of the newest kernel in the cache; for PREEMPT_RT with Debian's source.
fn fetched(flavour: Flavour) -> Result<PathBuf> {
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
        .env("TAKT_SETUP_WHERE", flavour.name)
        .output()
        .context("cannot start tools/setup.d/31-kernel")?;
    let place = PathBuf::from(String::from_utf8(step.stdout)?.trim());
    if !step.status.success() || !place.join("headers").is_dir() {
        bail!(
            "the headers of the lab's {} kernel are not fetched: run `make setup`",
            flavour.name
        );
    }
    Ok(place)
}

fn sorted(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).context("no patches")?;
    let mut patches = Vec::new();
    for entry in entries {
        patches.push(entry?.path());
    }
    patches.sort();
    Ok(patches)
}

/// What both flavours of an architecture share, and what is its own.
fn headers(debian: &Path, flavour: Flavour) -> Result<(PathBuf, PathBuf)> {
    let folders = std::fs::read_dir(debian.join("headers/src"))?;
    let mut headers = Vec::new();
    for folder in folders {
        headers.push(folder?.path());
    }
    let ending = |end: String| {
        let found = headers
            .iter()
            .find(|it| it.to_string_lossy().ends_with(&end));
        let found = found.with_context(|| format!("no headers '…{end}' in {}", debian.display()));
        found.cloned()
    };
    let common = ending(format!("-common{}", flavour.mark))?;
    Ok((common, ending(format!("{}-amd64", flavour.mark))?))
}

/// The kernel's own build. Debian's headers name /usr/src, where nothing is installed here.
fn make(place: &Path, debian: &Path, flavour: Flavour, settings: &[&str]) -> Result<()> {
    let (common, own) = headers(debian, flavour)?;
    let pair = |name: &str, path: &Path| format!("{name}={}", path.display());
    command(
        Command::new("make")
            .args(["--silent", "--directory"])
            .arg(own)
            .arg("--file")
            .arg(common.join("Makefile"))
            .args([pair("srctree", &common), pair("M", place), "modules".into()])
            .args(settings)
            // What Cargo says to its own make is not for this one.
            .env_remove("MAKEFLAGS"),
    )
}
