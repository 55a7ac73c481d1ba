// SPDX-License-Identifier: Apache-2.0
//! Experiment `local-intents` (RTAndroid thesis, 7.3.5): how long a real-time thread's broadcast
//! takes to a receiver of its own process while ordinary threads send as well; by our
//! LocalBroadcastManager and by the support library's.
//!
//! The load is `takt.bench.LocalIntentsLoad` in framework/bench; this starts it and judges.

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::Result;
use clap::ValueEnum;
use report::{Table, TimeBase};
use serde::{Deserialize, Serialize};

use crate::bench::calls::guest::{self, Guests};
use crate::bench::calls::java::Java;
use crate::bench::{verdict, word};
use crate::framework::Front;
use crate::output;

/// The paper's.
const SENDERS: [u32; 5] = [10, 25, 50, 75, 100];
const SENDERS_HERE: [u32; 2] = [10, 100];
/// The most with the most ordinary threads over that with the fewest, or so much above it.
const GROWTH_MAX: f64 = 1.2;
const GROWTH_NS_MAX: u64 = 10_000;
const PROGRAM: &str = "takt.bench.LocalIntentsLoad";
/// Of its code for guests.
const PLACE: &str = "lab-code-local-intents";
/// Of the runs that make it.
const PREPARED: u32 = 300;
const PRIORITY: &str = "80";
/// Beside the ordinary threads' 100 ms, so that both meet at all distances.
const PERIOD_US: &str = "10030";

/// How long does a real-time thread's local broadcast take while 10 to 100 ordinary ones send?
///
/// A FIFO-80 thread sends a broadcast each 10.03 ms to a receiver of its own process. k ordinary
/// threads send to the same receiver each 100 ms, all at once. `async` is received by the main
/// looper, `sync` by the sender. Both managers run on our machine and over our message queue: ours,
/// and support-v4's own (r7). Build the Java side first: cargo xtask framework.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  takt bench local-intents --lab --check")]
pub(crate) struct Args {
    /// Numbers of ordinary threads [default: 10,100, in the lab 10,25,50,75,100]
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=500))]
    senders: Vec<u32>,
    /// Managers
    #[arg(long, value_delimiter = ',', value_enum, default_values_t = [Manager::Takt, Manager::Support])]
    manager: Vec<Manager>,
    /// Ways of sending
    #[arg(long, value_delimiter = ',', value_enum, default_values_t = [Way::Async, Way::Sync])]
    way: Vec<Way>,
    /// Real-time broadcasts in each window
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(5..))]
    broadcasts: u32,
    /// In deterministic guests: virtual time, one processor, PREEMPT_RT
    #[arg(long)]
    lab: bool,
    /// Guests of different seeds
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..), requires = "lab")]
    seeds: u64,
    /// Exit code 2 if a broadcast of our manager was lost or a sender was not given its priority;
    /// in the lab as well if the worst of all seeds with the most threads is above 1.2 times that
    /// with the fewest, and more than 10 µs above it
    #[arg(long)]
    check: bool,
    /// Print JSON instead of the table
    #[arg(long)]
    json: bool,
}

/// Whose it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Manager {
    /// Takt's
    Takt,
    /// support-v4's own
    Support,
}

/// How it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Way {
    /// `sendBroadcast`
    Async,
    /// `sendBroadcastSync`
    Sync,
}

/// One window.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Row {
    manager: Manager,
    way: Way,
    senders: u32,
    /// Of the guest; on this machine 0.
    seed: u64,
    broadcasts: u32,
    lost: u32,
    p50_ns: u64,
    p99_ns: u64,
    max_ns: u64,
    /// Ordinary ones that were received meanwhile.
    ordinary: u64,
    is_realtime: bool,
}

/// Runs all windows and prints them.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let rows = match args.lab {
        true => in_lab(args)?,
        false => here(args)?,
    };
    match args.json {
        true => println!("{}", serde_json::to_string(&rows)?),
        false => print!("{}", text(&rows, args.lab)),
    }
    Ok(verdict(
        "local-intents",
        &faults(&rows, args.lab),
        args.check,
    ))
}

fn here(args: &Args) -> Result<Vec<Row>> {
    let java = match crate::guest::time_base() {
        TimeBase::Virtual => {
            guest::unthrottled()?;
            Java::made(PLACE)?
        }
        _ => Java::find(PLACE)?,
    };
    let senders = match args.senders.is_empty() {
        true => &SENDERS_HERE[..],
        false => &args.senders,
    };
    windows(args, &java, senders, args.broadcasts)
}

fn windows(args: &Args, java: &Java, senders: &[u32], broadcasts: u32) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for &manager in &args.manager {
        for &way in &args.way {
            let said = output::text(&mut load(java, manager, way, senders, broadcasts)?)?;
            for line in said.lines() {
                rows.push(parse(manager, way, broadcasts, line)?);
            }
        }
    }
    Ok(rows)
}

/// A program for all windows of a manager and a way.
fn load(
    java: &Java,
    manager: Manager,
    way: Way,
    senders: &[u32],
    broadcasts: u32,
) -> Result<Command> {
    let (part, front) = match manager {
        Manager::Takt => (name(&manager), Front::RealtimeInLab),
        Manager::Support => (name(&manager), Front::SupportInLab),
    };
    let mut command = java.machine(&part, front)?;
    command.args([PROGRAM, &name(&way), &broadcasts.to_string(), PERIOD_US]);
    command.arg(PRIORITY);
    command.args(senders.iter().map(u32::to_string));
    Ok(command)
}

fn name(value: &impl ValueEnum) -> String {
    let name = value.to_possible_value();
    name.map(|it| it.get_name().to_owned()).unwrap_or_default()
}

fn in_lab(args: &Args) -> Result<Vec<Row>> {
    let guests = Guests::open()?;
    let senders = match args.senders.is_empty() {
        true => &SENDERS[..],
        false => &args.senders,
    };
    let java = prepare(args, &guests.java()?)?;
    let joined = |all: Vec<String>| all.join(",");
    let words = [
        "bench",
        "local-intents",
        "--json",
        "--broadcasts",
        &args.broadcasts.to_string(),
        "--manager",
        &joined(args.manager.iter().map(name).collect()),
        "--way",
        &joined(args.way.iter().map(name).collect()),
        "--senders",
        &joined(senders.iter().map(u32::to_string).collect()),
    ]
    .map(str::to_owned);
    let found = guests.sweep_java::<Vec<Row>>(&words, &java, args.seeds)?;
    let of_seed =
        |(seed, rows): (u64, Vec<Row>)| rows.into_iter().map(move |it| Row { seed, ..it });
    let mut rows: Vec<Row> = found.into_iter().flat_map(of_seed).collect();
    rows.sort_by_key(|it| (it.manager, it.way, it.senders, it.seed));
    Ok(rows)
}

/// For guests: makes the code of each manager.
fn prepare(args: &Args, java: &Path) -> Result<Java> {
    let parts: Vec<String> = args.manager.iter().map(name).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let java = Java::emptied(java, PLACE, &parts)?;
    windows(args, &java, &SENDERS_HERE[..1], PREPARED)?;
    Ok(java)
}

/// What the load says of a window.
fn parse(manager: Manager, way: Way, broadcasts: u32, line: &str) -> Result<Row> {
    Ok(Row {
        manager,
        way,
        senders: word(line, "senders")?,
        seed: 0,
        broadcasts,
        lost: word(line, "lost")?,
        p50_ns: word(line, "p50_ns")?,
        p99_ns: word(line, "p99_ns")?,
        max_ns: word(line, "max_ns")?,
        ordinary: word(line, "ordinary")?,
        is_realtime: word(line, "realtime")?,
    })
}

/// What our manager was to show and did not.
fn faults(rows: &[Row], is_lab: bool) -> Vec<String> {
    let mut faults = Vec::new();
    for row in rows {
        let mut fault = |text: String| {
            let (way, seed) = (name(&row.way), row.seed);
            faults.push(format!(
                "{way}, {} threads, seed {seed}: {text}",
                row.senders
            ));
        };
        if !row.is_realtime {
            fault("the sender was not given its priority".to_owned());
        }
        if row.manager == Manager::Takt && row.lost > 0 {
            fault(format!("{} broadcasts did not come", row.lost));
        }
        if row.manager == Manager::Takt && row.ordinary == 0 {
            fault("no ordinary broadcast came".to_owned());
        }
    }
    if is_lab {
        faults.extend(
            [Way::Async, Way::Sync]
                .into_iter()
                .flat_map(|it| growth(rows, it)),
        );
    }
    faults
}

/// Where the worst of all seeds with the most threads is above that with the fewest.
fn growth(rows: &[Row], way: Way) -> Option<String> {
    let own = || {
        let of_way = |it: &&Row| it.manager == Manager::Takt && it.way == way;
        rows.iter().filter(of_way)
    };
    let worst = |senders| {
        let of_window = own().filter(|it| it.senders == senders);
        of_window.map(|it| it.max_ns).max()
    };
    let fewest = own().map(|it| it.senders).min()?;
    let most = own().map(|it| it.senders).max()?;
    let (least_ns, max_ns) = (worst(fewest)?, worst(most)?);
    let most_ns = (least_ns as f64 * GROWTH_MAX).max((least_ns + GROWTH_NS_MAX) as f64);
    (max_ns as f64 > most_ns).then(|| {
        let (way, max, least) = (name(&way), us(max_ns), us(least_ns));
        format!("{way}, {most} threads: {max} µs at the worst, with {fewest} threads {least}")
    })
}

fn us(ns: u64) -> String {
    format!("{:.1}", ns as f64 / 1000.0)
}

fn text(rows: &[Row], is_lab: bool) -> String {
    let base = match is_lab {
        true => TimeBase::Virtual,
        false => crate::guest::time_base(),
    };
    let mut table = Table::new([
        base.microseconds(),
        "way",
        "threads",
        "seed",
        "broadcasts",
        "p50",
        "p99",
        "max",
        "ordinary ones",
        "lost",
    ]);
    for row in rows {
        table.row([
            name(&row.manager),
            name(&row.way),
            row.senders.to_string(),
            row.seed.to_string(),
            row.broadcasts.to_string(),
            us(row.p50_ns),
            us(row.p99_ns),
            us(row.max_ns),
            row.ordinary.to_string(),
            row.lost.to_string(),
        ]);
    }
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(manager: Manager, senders: u32, max_us: u64) -> Row {
        Row {
            manager,
            way: Way::Sync,
            senders,
            seed: 1,
            broadcasts: 5,
            lost: 0,
            p50_ns: 0,
            p99_ns: 0,
            max_ns: max_us * 1000,
            ordinary: 1,
            is_realtime: true,
        }
    }

    #[test]
    fn our_manager_may_grow_by_a_fifth_or_by_ten_microseconds() {
        let faults_of = |least, most| {
            let rows = [
                row(Manager::Takt, 10, least),
                row(Manager::Takt, 100, most),
                row(Manager::Support, 10, 1),
                row(Manager::Support, 100, 1000),
            ];
            assert_eq!(faults(&rows, false), [""; 0]);
            faults(&rows, true)
        };
        assert_eq!(faults_of(10, 20), [""; 0]);
        assert_eq!(faults_of(100, 120), [""; 0]);
        assert_eq!(faults_of(10, 21).len(), 1);
        assert_eq!(faults_of(100, 121).len(), 1);
    }

    #[test]
    fn what_is_lost_is_a_fault_of_ours_alone() {
        let mut rows = [row(Manager::Takt, 10, 1), row(Manager::Support, 10, 1)];
        rows[1].lost = 1;
        assert_eq!(faults(&rows, false), [""; 0]);
        rows[0].lost = 1;
        assert_eq!(faults(&rows, false).len(), 1);
        rows[1].is_realtime = false;
        assert_eq!(faults(&rows, false).len(), 2);
    }

    #[test]
    fn the_loads_words_are_read() {
        let line =
            "senders=10 samples=5 lost=1 p50_ns=2 p99_ns=3 max_ns=4 ordinary=5 realtime=true";
        let row = parse(Manager::Takt, Way::Async, 5, line).unwrap();
        assert_eq!((row.senders, row.lost, row.max_ns), (10, 1, 4));
        assert!(parse(Manager::Takt, Way::Async, 5, "lost=1").is_err());
    }
}
