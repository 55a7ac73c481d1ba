// SPDX-License-Identifier: Apache-2.0
//! `cargo xtask demo`: what Takt does, in one command.

use std::process::Command;

use anyhow::Result;

use crate::framework;
use crate::stage::{command, takt, target_dir};

/// An Android application from its package, then wake-up latency of this machine beside cyclictest's, then of other kernels in the deterministic lab. Tables go to
/// the terminal, files and pictures to out/demo.
pub(crate) fn run() -> Result<()> {
    let takt = takt()?;
    framework::build()?;
    let heartbeat = target_dir()?.join("framework/apps/heartbeat.apk");
    for (gc, what) in [("rc", "no thread is stopped"), ("stw", "every thread is")] {
        println!("\n== examples/heartbeat from its package, collector {gc}: {what}");
        command(
            Command::new(&takt)
                .arg("run")
                .arg(&heartbeat)
                .args(["--service", ".Heartbeat", "--extra", "beats=2500"])
                .args(["--data", "out/demo/data", "--heap", "64m", "--gc", gc]),
        )?;
    }
    println!("\n== this machine, under load, beside cyclictest");
    command(
        Command::new(&takt)
            .args(["latency", "--duration", "10s", "--load", "hackbench-like"])
            .args(["--compare", "cyclictest", "--out", "out/demo/latency"]),
    )?;
    println!("\n== a standard and a PREEMPT_RT kernel, in the deterministic lab");
    command(
        Command::new(&takt)
            .args(["bench", "sched", "--seeds", "2", "--duration", "300ms"])
            .args(["--out", "out/demo/sched"]),
    )?;
    println!("\npictures: out/demo/latency/latency.png and out/demo/sched/sched.png");
    Ok(())
}
