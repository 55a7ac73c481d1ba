// SPDX-License-Identifier: Apache-2.0
//! `takt bench gc --java`: the experiments in Java, on Takt's collectors and on HotSpot's, one
//! after another.
//!
//! The programs are bench/pause/java. Their thread gets its policy from outside (`child`), a native
//! thread without a heap runs beside it (`control`), and all machines have the same heap, touched
//! before it begins.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::Parser;

use super::args::{Args, Experiment};
use super::figures::Outcome;
use super::machine::{self, Machine};
use super::{child, cost};
use crate::bench::classes::Classes;
use crate::jdk::Jdk;
use std::ffi::OsString;

pub(super) const SOURCES: [(&str, &str); 3] = [
    (
        "GcLatency",
        include_str!("../../../../../bench/pause/java/GcLatency.java"),
    ),
    (
        "GcCost",
        include_str!("../../../../../bench/pause/java/GcCost.java"),
    ),
    (
        "FullPause",
        include_str!("../../../../../bench/pause/java/FullPause.java"),
    ),
];

pub(super) fn run(arguments: &[OsString]) -> Result<ExitCode> {
    let name = OsString::from("takt bench gc --java");
    let args = Args::parse_from(std::iter::once(&name).chain(arguments));
    if let Some(directory) = &args.out {
        std::fs::create_dir_all(directory)
            .with_context(|| format!("cannot make {}", directory.display()))?;
    }
    let jdk = Jdk::find()?;
    let machines = machines(&args, &jdk)?;
    let own;
    let classes = match &args.classes {
        Some(directory) => directory,
        None => {
            own = Classes::compile(&jdk, &SOURCES)?;
            own.path()
        }
    };
    let mut outcome = Outcome::default();
    if !args.skip.contains(&Experiment::Latency) {
        latency(&args, &jdk, &machines, classes, &mut outcome)?;
    }
    if !args.skip.contains(&Experiment::Cost) {
        for &machine in &machines {
            eprintln!("bench gc: gc-cost, {}", machine.name());
            let command = machine.command(&jdk, args.heap_mb, &args.takt_option)?;
            let costs = cost::measure(machine, command, args.batches, classes);
            outcome.costs.push(costs.with_context(|| machine.name())?);
        }
    }
    if let Some(directory) = &args.out {
        outcome.write(directory)?;
    }
    match args.json {
        true => println!("{}", outcome.json()?),
        false => print!("{}", outcome.text()),
    }
    if let Some(ratio_max) = args.lateness_max {
        let faults = outcome.late(ratio_max);
        faults.iter().for_each(|it| eprintln!("bench gc: {it}"));
        return Ok(ExitCode::from(if faults.is_empty() { 0 } else { 2 }));
    }
    if !outcome.is_sound() {
        return Ok(ExitCode::from(1));
    }
    let is_met = !args.check || outcome.holds();
    Ok(ExitCode::from(if is_met { 0 } else { 2 }))
}

fn latency(
    args: &Args,
    jdk: &Jdk,
    machines: &[Machine],
    classes: &Path,
    outcome: &mut Outcome,
) -> Result<()> {
    for &load in &args.load {
        for &period_us in &args.period_us {
            for number in 1..=args.runs {
                for &machine in machines {
                    let name = machine.name();
                    eprintln!(
                        "bench gc: {name}, load {}, T = {period_us} µs, run {number}",
                        load.name()
                    );
                    let command = machine.command(jdk, args.heap_mb, &args.takt_option)?;
                    let words = args.words(load, period_us);
                    let measured = child::measure(args, command, &words, period_us, classes);
                    let measured = measured.with_context(|| name)?;
                    let window = outcome.add(machine, load.name(), period_us, measured);
                    eprintln!("{}", window.line());
                }
            }
        }
    }
    Ok(())
}

/// Those asked for, or all that are here; what is left out is named.
fn machines(args: &Args, jdk: &Jdk) -> Result<Vec<Machine>> {
    let wanted = if args.machine.is_empty() {
        &machine::ALL
    } else {
        &args.machine[..]
    };
    let mut found = Vec::new();
    for &machine in wanted {
        match machine.missing(jdk) {
            None => found.push(machine),
            Some(why) if args.machine.is_empty() && !machine.is_takt() => {
                eprintln!("bench gc: without {}: {why}", machine.name());
            }
            Some(why) => bail!("{}: {why}", machine.name()),
        }
    }
    Ok(found)
}
