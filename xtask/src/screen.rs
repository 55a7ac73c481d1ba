// SPDX-License-Identifier: Apache-2.0
//! The machine's own screen in guests of the lab, on vkms: the crate `console`, and with `soak` a
//! whole application.

use std::process::Command;

use anyhow::{Context as _, Result};

use crate::framework;
use crate::kernel;
use crate::programs;
use crate::stage::{command, takt, target_dir};

/// The options of a Java machine whose code another processor runs.
const OPTIONS: &str = "JDK_JAVA_OPTIONS";

/// A card without a monitor, and devices that nobody holds: crate `console`.
pub(crate) fn in_lab() -> Result<()> {
    let program = programs::path("console", "guest")?;
    command(
        guest(&["--deterministic", "--with", "/usr/share/X11/xkb"])?
            .arg("--")
            .arg(program)
            .args(["--include-ignored", "--test-threads", "1", "--nocapture"]),
    )
}

/// An application: its pictures by `--screenshot` here, and what vkms shows of it there.
pub(crate) fn application_in_lab() -> Result<()> {
    framework::build()?;
    let program = programs::path("console", "application")?;
    let takt = std::fs::canonicalize(takt()?)?;
    let built = std::fs::canonicalize(target_dir()?.join("framework"))?;
    let code = built.join("lab-code-console");
    if code.exists() {
        std::fs::remove_dir_all(&code)?;
    }
    std::fs::create_dir_all(&code)?;
    let place = tempfile::tempdir().context("cannot make a directory for pictures")?;
    let run = format!(
        "run --sandbox none {}/apps/widgets.apk --display 640x480",
        built.display()
    );
    let options = format!(
        "-Xtakt:portable-code -Xtakt:no-code-library -Xtakt:compile-loaded -Xtakt:code-cache={}",
        code.display()
    );
    let picture = |name: &str| place.path().join(name).display().to_string();
    let (before, after) = (picture("before.png"), picture("after.png"));
    // Scroll bars fade and ripples end before a picture is taken.
    let steps = ["--wait", "3s", "--screenshot", &before, "--tap", "60,118"];
    command(
        Command::new(&takt)
            .args(run.split_whitespace())
            .args(steps)
            .args(["--wait", "3s", "--screenshot", &after])
            .env(OPTIONS, options)
            .env("XDG_DATA_HOME", place.path()),
    )?;
    let mut install = Command::new(&takt);
    install.args(["compile", "--install"]).arg(&code);
    command(install.env(OPTIONS, "-Xtakt:portable-code"))?;
    let options = format!(
        "{OPTIONS}=-Xtakt:portable-code -Xtakt:code-library={}",
        code.display()
    );
    let application = format!("CONSOLE_TEST_COMMAND={} {run} --screen drm", takt.display());
    let pictures = format!("CONSOLE_TEST_PICTURES={}", place.path().display());
    let mut guest = guest(&["--cpus", "2", "--memory", "4G"])?;
    for variable in [&options, &application, &pictures, "XDG_DATA_HOME=/tmp/data"] {
        guest.args(["--env", variable]);
    }
    command(
        guest
            .arg("--")
            .arg(program)
            .args(["--ignored", "--nocapture"]),
    )
}

/// A guest with a graphics card that shows nothing, and devices of its own.
fn guest(options: &[&str]) -> Result<Command> {
    let mut guest = Command::new(takt()?);
    guest
        .args(["lab", "--quiet", "--timeout", "900s", "--module"])
        .arg(kernel::vkms()?)
        .args(["--module", "uinput", "--module", "evdev"])
        .args(options);
    Ok(guest)
}
