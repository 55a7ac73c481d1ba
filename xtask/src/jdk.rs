// SPDX-License-Identifier: Apache-2.0
//! Programs of the JDK, and programs on it, that work for some seconds: HotSpot's second compiler
//! would take as much of the processor as they do.

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use anyhow::{Context, Result};

const ONE_COMPILER: &str = "XX:TieredStopAtLevel=1";

/// A program on the JDK.
pub(crate) fn java() -> Command {
    let mut java = Command::new("java");
    java.arg(format!("-{ONE_COMPILER}"));
    java
}

/// One of the JDK's own.
pub(crate) fn tool(name: &str) -> Command {
    let mut tool = Command::new(name);
    tool.arg(format!("-J-{ONE_COMPILER}"));
    tool
}

/// Debian's signer of packages, which is a script.
pub(crate) fn signer() -> Command {
    let mut signer = Command::new("apksigner");
    signer.arg(format!("-J{ONE_COMPILER}"));
    signer
}

/// The JDK whose `java` is on the path: D8 takes java.* from there.
pub(crate) fn home() -> Result<&'static Path> {
    static HOME: OnceLock<Option<String>> = OnceLock::new();
    let home = HOME.get_or_init(|| {
        let words = ["-XshowSettings:properties", "-version"];
        let output = java().args(words).output().ok()?;
        let text = String::from_utf8_lossy(&output.stderr);
        let lines = text.lines().map(str::trim);
        let mut homes = lines.filter_map(|it| it.strip_prefix("java.home = "));
        homes.next().map(str::to_owned)
    });
    home.as_ref()
        .map(Path::new)
        .context("java is not there or names no java.home: tools/setup")
}
