// SPDX-License-Identifier: Apache-2.0
//! `takt bench gc --serial-gc`: is the baseline honest? The full pause of `stw`, by native mutators
//! and in Java, beside that of HotSpot's SerialGC, for the same live set.
//!
//! The live set is that of bench-gc's load heavy; before each full collection as much garbage as it
//! holds, of which one node in sixteen replaces a live one. SerialGC also compacts in its pause,
//! `stw` does not and sweeps after it.

use std::ffi::OsString;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};
use clap::Parser;
use report::Table;

use super::java::SOURCES;
use super::machine::Machine;
use super::program;
use crate::bench::classes::Classes;
use crate::jdk::Jdk;
use crate::output;

/// How many times SerialGC's median pause ours may be.
const RATIO_MAX: f64 = 2.0;

/// How long does a full collection stop the world, beside HotSpot's SerialGC?
///
/// The same live set on each: nodes of 64 bytes, linked at random. Exit code 1: ours takes more
/// than twice as long.
#[derive(Parser)]
#[command(
    name = "takt bench gc --serial-gc",
    max_term_width = 100,
    after_help = "Example:\n  takt bench gc --serial-gc --rounds 5"
)]
struct Args {
    /// Full collections of each
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Size of the heap
    #[arg(long, default_value_t = 1024)]
    heap_mb: u32,
    /// Live objects at the start; replaced ones stay reachable for a while
    #[arg(long, default_value_t = 200)]
    live_mb: u32,
}

/// Pauses of one machine.
struct Pauses {
    name: &'static str,
    /// In the order in which they came.
    ns: Vec<u64>,
    /// After the last one.
    live_mb: u64,
}

pub(super) fn run(arguments: &[OsString]) -> Result<ExitCode> {
    let name = OsString::from("takt bench gc --serial-gc");
    let args = Args::parse_from(std::iter::once(&name).chain(arguments));
    let jdk = Jdk::find()?;
    let classes = Classes::compile(&jdk, &SOURCES)?;
    let words = [args.live_mb, args.live_mb, args.rounds].map(|it| it.to_string());
    let java = |mut command: Command| {
        command
            .arg("-cp")
            .arg(classes.path())
            .arg("FullPause")
            .args(&words);
        said(&mut command)
    };
    let mut serial = Command::new(jdk.home.join("bin/java"));
    serial.args(["-XX:+UseSerialGC", "-Xlog:gc:stdout"]);
    serial.args([
        format!("-Xms{}m", args.heap_mb),
        format!("-Xmx{}m", args.heap_mb),
    ]);
    serial.arg("-XX:+AlwaysPreTouch");
    eprintln!("bench gc: SerialGC");
    let serial = read_serial(&java(serial)?)?;
    eprintln!("bench gc: stw, native mutators");
    let mut native = Command::new(program::beside()?);
    native.args(["--full-pauses".to_owned(), args.rounds.to_string()]);
    native.args(["--heap-mb".to_owned(), args.heap_mb.to_string()]);
    native.args(["--live-mb".to_owned(), args.live_mb.to_string()]);
    let native = read_takt("stw, native mutators", &said(&mut native)?)?;
    eprintln!("bench gc: stw, Java");
    let stw = Machine::Stw.command(&jdk, args.heap_mb, &[])?;
    let in_java = read_takt("stw, Java", &java(stw)?)?;
    let all = [serial, native, in_java];
    println!("{}", text(&all));
    let is_honest = all.iter().all(|it| ratio(it, &all[0]) <= RATIO_MAX);
    Ok(ExitCode::from(u8::from(!is_honest)))
}

/// What a command says on both streams.
fn said(command: &mut Command) -> Result<String> {
    let output = output::of(command)?;
    let text = [output.stdout, output.stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
    Ok(text.concat())
}

/// `[2.210s][info][gc] GC(1) Pause Full (System.gc()) 318M->202M(989M) 920.194ms`
fn read_serial(log: &str) -> Result<Pauses> {
    let mut found = Pauses {
        name: "HotSpot SerialGC",
        ns: Vec::new(),
        live_mb: 0,
    };
    for line in log
        .lines()
        .filter(|it| it.contains("Pause Full (System.gc())"))
    {
        let mut words = line.rsplit(' ');
        let pause = words.next().and_then(|it| it.strip_suffix("ms"));
        let pause: f64 = pause.context("a time")?.parse()?;
        let sizes = words.next().context("sizes")?;
        let live = sizes.split("->").nth(1).and_then(|it| it.split('M').next());
        found.live_mb = live.context("a size")?.parse()?;
        found.ns.push((pause * 1e6) as u64);
    }
    ensure!(!found.ns.is_empty(), "no full pause in the log: {log}");
    Ok(found)
}

/// `pause NS live MB` for each, as bench-gc says it; or the events of a report.
fn read_takt(name: &'static str, log: &str) -> Result<Pauses> {
    let mut found = Pauses {
        name,
        ns: Vec::new(),
        live_mb: 0,
    };
    let counter = |name: &str| {
        let line = log.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|it| it.trim().parse::<u64>().ok())
    };
    for line in log.lines() {
        if let ["pause", ns, "live", live_mb] = line.split(' ').collect::<Vec<_>>()[..] {
            found.ns.push(ns.parse()?);
            found.live_mb = live_mb.parse()?;
        }
    }
    // The report of a Java run has their number, their sum and the longest.
    if let (Some(count), Some(sum)) = (counter("  pauses: "), counter("  pause_ns_sum: ")) {
        let longest = counter("  pause_ns_max: ").unwrap_or(0);
        found.ns = vec![sum / count.max(1); count.max(2) as usize - 1];
        found.ns.push(longest);
        found.live_mb = counter("  live_bytes: ").unwrap_or(0) / 1_000_000;
    }
    ensure!(!found.ns.is_empty(), "no pause: {log}");
    Ok(found)
}

fn median(pauses: &Pauses) -> u64 {
    let mut sorted = pauses.ns.clone();
    sorted.sort_unstable();
    sorted[sorted.len() / 2]
}

fn ratio(one: &Pauses, other: &Pauses) -> f64 {
    median(one) as f64 / median(other) as f64
}

fn text(all: &[Pauses]) -> String {
    let mut table = Table::new([
        "full pause, ms",
        "median",
        "longest",
        "× SerialGC",
        "live MB",
    ]);
    let ms = |ns: u64| format!("{:.0}", ns as f64 / 1e6);
    for it in all {
        table.row([
            it.name.to_owned(),
            ms(median(it)),
            ms(it.ns.iter().copied().max().unwrap_or(0)),
            format!("{:.2}", ratio(it, &all[0])),
            it.live_mb.to_string(),
        ]);
    }
    format!(
        "{table}\nat most {RATIO_MAX} times SerialGC's; Java on stw: the mean stands for the median\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serial_gcs_log_is_read() {
        let log = "[1.1s][info][gc] GC(0) Pause Young (Allocation Failure) 273M->195M(989M) 596.215ms\n\
                   [2.2s][info][gc] GC(1) Pause Full (System.gc()) 318M->202M(989M) 920.5ms\n\
                   call 920601283\n\
                   [3.3s][info][gc] GC(2) Pause Full (System.gc()) 398M->214M(989M) 887.0ms\n";
        let found = read_serial(log).unwrap();
        assert_eq!(
            (found.ns, found.live_mb),
            (vec![920_500_000, 887_000_000], 214)
        );
        assert!(read_serial("call 1").is_err());
    }

    #[test]
    fn our_own_words_are_read() {
        let native = read_takt("", "pause 5000000 live 200\npause 7000000 live 210\n").unwrap();
        assert_eq!(
            (&native.ns[..], native.live_mb),
            (&[5_000_000, 7_000_000][..], 210)
        );
        let report = "  pauses: 3\n  pause_ns_max: 9000000\n  pause_ns_sum: 18000000\n  live_bytes: 2000000\n";
        let java = read_takt("", report).unwrap();
        assert_eq!((median(&java), java.live_mb), (6_000_000, 2));
        assert!((ratio(&java, &native) - 6.0 / 7.0).abs() < 1e-9);
        assert!(read_takt("", "").is_err());
    }
}
