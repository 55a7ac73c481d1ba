// SPDX-License-Identifier: Apache-2.0
//! The heap's tests under AddressSanitizer, ThreadSanitizer and Miri, which only a nightly compiler
//! has: the one that `tools/nightly` names and `tools/setup` installs. Without it a stage says that
//! it is left out.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::stage::{command, target_dir};

/// How far the random graphs go.
#[derive(Clone, Copy)]
pub(crate) struct Length {
    /// Steps of each mutator and seed.
    pub(crate) steps: u32,
}

const HOST: &str = "x86_64-unknown-linux-gnu";
const TESTS: [&str; 8] = [
    "--test",
    "basics",
    "--test",
    "shadow",
    "--test",
    "rounds",
    "--test",
    "log_space",
];

/// Accesses outside what is allocated, in the collector's own memory and beside the heap.
pub(crate) fn address(length: Length) -> Result<()> {
    let Some(mut cargo) = nightly("asan")? else {
        return Ok(());
    };
    cargo
        .args(["test", "--package", "heap", "--target", HOST])
        .args(["--locked", "--quiet"])
        .args(TESTS)
        .env("RUSTFLAGS", "-Zsanitizer=address")
        // Threads check that they run on the stack that they pre-faulted.
        .env("ASAN_OPTIONS", "detect_stack_use_after_return=0")
        .env("HEAP_STEPS", length.steps.to_string());
    command(&mut cargo)
}

/// Accesses that nothing orders; the standard library is built along, so that it is seen too.
pub(crate) fn thread(length: Length) -> Result<()> {
    let Some(mut cargo) = nightly("tsan")? else {
        return Ok(());
    };
    cargo
        .args(["test", "-Zbuild-std", "--package", "heap", "--target", HOST])
        .args(["--locked", "--quiet"])
        .args(TESTS)
        .env("RUSTFLAGS", "-Zsanitizer=thread")
        .env("HEAP_STEPS", length.steps.to_string());
    command(&mut cargo)
}

/// Undefined behaviour in the parts that need no address of the machine.
pub(crate) fn miri() -> Result<()> {
    let Some(mut cargo) = nightly("miri")? else {
        return Ok(());
    };
    cargo
        .args(["miri", "test", "--package", "abi", "--package", "heap"])
        .args(["--lib", "--locked", "--quiet"])
        .env("MIRIFLAGS", "-Zmiri-permissive-provenance");
    command(&mut cargo)
}

/// The pinned nightly's Cargo with a target directory of its own; `None` if it is not installed.
pub(crate) fn nightly(name: &str) -> Result<Option<Command>> {
    let toolchain = std::fs::read_to_string(Path::new("tools/nightly"))
        .context("tools/nightly names the toolchain")?;
    let toolchain = toolchain.trim();
    let run = |program: &str| {
        let mut command = Command::new("rustup");
        command.args(["run", toolchain, program]);
        command
    };
    let is_there = run("rustc")
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|it| it.success());
    if !is_there {
        println!("{name}: LEFT OUT: {toolchain} is not installed (tools/setup says why)");
        return Ok(None);
    }
    let mut cargo = run("cargo");
    cargo
        .env("CARGO_TARGET_DIR", target_dir()?.join(name))
        // What the stable Cargo that runs this told its children.
        .env_remove("CARGO")
        .env_remove("RUSTC")
        .env_remove("RUSTUP_TOOLCHAIN");
    Ok(Some(cargo))
}
