// SPDX-License-Identifier: Apache-2.0
//! `cargo xtask demo`: what Takt does, in one command.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::framework;
use crate::kernel;
use crate::stage::{command, takt, target_dir};

/// What examples/panel shows after a second.
const PANEL: &str = "out/demo/panel.png";

/// An Android application from its package, one with a window, three side by side, then wake-up
/// latency of this machine beside cyclictest's, then of other kernels in the deterministic lab.
/// Tables go to the terminal, files and pictures to out/demo.
pub(crate) fn run() -> Result<()> {
    let takt = takt()?;
    framework::build()?;
    println!("\n== examples/heartbeat from its package: rc, which stops no thread, then stw");
    heartbeat(&takt, "1", "out/demo/heartbeat", &[])?;
    println!(
        "\n== examples/panel: a control task at 1 kHz beside a window, whose list then scrolls"
    );
    panel(&takt)?;
    println!(
        "\n== three applications, each in a sandbox: a control task, one that sends it messages, one that fails again and again"
    );
    command(Command::new(&takt).args(["bench", "mixed", "--releases", "5000"]))?;
    println!("\n== this machine, under load, beside cyclictest");
    command(
        Command::new(&takt)
            .args(["latency", "--duration", "10s", "--load", "hackbench-like"])
            .args(["--compare", "cyclictest", "--out", "out/demo/latency"]),
    )?;
    println!("\n== a standard and a PREEMPT_RT kernel, in the deterministic lab");
    kernel::frequency()?;
    command(
        Command::new(&takt)
            .args(["bench", "sched", "--seeds", "2", "--duration", "300ms"])
            .args(["--out", "out/demo/sched"]),
    )?;
    println!(
        "\npictures: out/demo/heartbeat/app.png, {PANEL}, out/demo/latency/latency.png and out/demo/sched/sched.png"
    );
    Ok(())
}

/// Three seconds with the list at rest, three while it scrolls; the log says how late the task was.
fn panel(takt: &Path) -> Result<()> {
    let data = tempfile::tempdir()?;
    command(
        Command::new(takt)
            .env("XDG_DATA_HOME", data.path())
            .arg("run")
            .arg(target_dir()?.join("framework/apps/panel.apk"))
            .args(["--realtime", "--extra", "seconds=3", "--wait", "1s"])
            .args(["--screenshot", PANEL, "--wait", "6s"]),
    )
}

/// The control task of examples/heartbeat, 200 MB of living objects and 200 MB of garbage a second
/// beside it.
pub(crate) fn heartbeat(takt: &Path, runs: &str, out: &str, more: &[&str]) -> Result<()> {
    command(
        Command::new(takt)
            .args(["bench", "app"])
            .arg(target_dir()?.join("framework/apps/heartbeat.apk"))
            .args(["--service", ".Heartbeat", "--extra", "beats=5000"])
            .args(["--extra", "live_mb=200", "--extra", "garbage_mb=200"])
            // As in bench gc.
            .args(["--heap", "1g"])
            .args(["--runs", runs, "--out", out])
            .args(more),
    )
}
