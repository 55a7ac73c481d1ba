// SPDX-License-Identifier: Apache-2.0
//! Experiment `rpc-scale` (Binder's priority inheritance, 4.4): several real-time callers of one
//! service. In guests: that no call is served before one that is more urgent and waits as well. On
//! this machine: what a second looper is worth.

mod window;

use std::process::ExitCode;

use anyhow::{Result, ensure};
use report::{Table, TimeBase};
use serde::{Deserialize, Serialize};

use super::calls::Transport;
use super::calls::guest::Guests;
use crate::guest;
use window::Place;

/// The paper's.
const CALLERS: [u32; 7] = [1, 2, 3, 4, 5, 6, 7];
const LOOPERS: [usize; 2] = [1, 2];
/// What the service computes for, and that it does nothing.
const SERVICES_US: [u32; 2] = [200, 0];
/// The median with the most callers and two loopers over that with one.
const SLOPE_MAX: f64 = 0.7;
/// Ordinary callers beside, in a guest.
const OTHERS_IN_LAB: u32 = 100;

/// Do several real-time callers of one service keep their order, and does a second looper help?
///
/// Callers of priorities 60 and up call at the beginning of each period, in the lab at random times
/// of its first 200 µs. The service computes for 200 µs or does nothing. Two calls that wait at
/// once are a pair; the pair is inverted if the less urgent is served first. The rows with one
/// looper and with two take turns, window by window.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  takt bench rpc-scale --lab --check")]
pub(crate) struct Args {
    /// Numbers of real-time callers
    #[arg(long, value_delimiter = ',', default_values_t = CALLERS, value_parser = clap::value_parser!(u32).range(1..=7))]
    callers: Vec<u32>,
    /// Periods of each window
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(5..))]
    rounds: u32,
    /// Windows of each row
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    windows: u32,
    /// Ordinary threads that call as well, without a pause [default: none, in the lab 100]
    #[arg(long)]
    others: Option<u32>,
    /// In deterministic guests: virtual time, one processor, PREEMPT_RT
    #[arg(long)]
    lab: bool,
    /// Guests of different seeds
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..), requires = "lab")]
    seeds: u64,
    /// Exit code 2 if the median with the most callers and two loopers is above 0.7 times that with
    /// one; in the lab if a pair is inverted
    #[arg(long)]
    check: bool,
    /// Print JSON instead of the table
    #[arg(long)]
    json: bool,
}

/// All windows of a kind.
#[derive(Debug, Serialize, Deserialize)]
struct Row {
    loopers: usize,
    callers: u32,
    service_us: u32,
    calls: u64,
    p50_ns: u64,
    p99_ns: u64,
    max_ns: u64,
    /// Calls of different callers that waited at once, and those of them out of order.
    pairs: u64,
    inverted: u64,
}

/// Runs all rows and prints them.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let rows = match args.lab {
        true => in_lab(args)?,
        false => here(args)?,
    };
    match args.json {
        true => println!("{}", serde_json::to_string(&rows)?),
        false => print!("{}", text(&rows, args.lab)),
    }
    let faults = faults(&rows, args.lab);
    Ok(super::verdict("rpc-scale", &faults, args.check))
}

fn in_lab(args: &Args) -> Result<Vec<Row>> {
    let mut words: Vec<String> = ["bench", "rpc-scale", "--json", "--windows", "1"]
        .map(Into::into)
        .into();
    let callers: Vec<String> = args.callers.iter().map(u32::to_string).collect();
    let others = args.others.unwrap_or(OTHERS_IN_LAB);
    for (option, value) in [
        ("--callers", callers.join(",")),
        ("--rounds", args.rounds.to_string()),
        ("--others", others.to_string()),
    ] {
        words.extend([option.into(), value]);
    }
    let found = Guests::open()?.sweep::<Vec<Row>>(&words, Transport::Lent, args.seeds)?;
    let mut rows: Vec<Row> = found.into_iter().flat_map(|it| it.1).collect();
    let key = |it: &Row| (it.service_us == 0, it.loopers, it.callers);
    rows.sort_by_key(key);
    Ok(rows)
}

fn here(args: &Args) -> Result<Vec<Row>> {
    let others = args.others.unwrap_or(0);
    let places = LOOPERS.map(|it| Place::start(it, others));
    let places = places.into_iter().collect::<Result<Vec<_>>>()?;
    let mut rows = Vec::new();
    for service_us in SERVICES_US {
        for &callers in &args.callers {
            let mut of = [(); LOOPERS.len()].map(|()| window::Found::default());
            for window in 0..args.windows {
                for (place, found) in places.iter().zip(&mut of) {
                    let seed = u64::from(window);
                    found.absorb(place.window(callers, service_us, args.rounds, seed)?);
                }
            }
            let kinds = LOOPERS.iter().zip(&of);
            rows.extend(kinds.map(|(&loopers, found)| found.row(loopers, callers, service_us)));
        }
    }
    for place in places {
        let served = place.stop()?;
        ensure!(others == 0 || served > 0, "ordinary callers starve");
    }
    Ok(rows)
}

/// The median with the most callers and two loopers over that with one.
fn slope(rows: &[Row], service_us: u32) -> Option<f64> {
    let of = || rows.iter().filter(|it| it.service_us == service_us);
    let most = of().map(|it| it.callers).max()?;
    let median = |loopers| {
        let mut all = of().filter(|it| it.callers == most && it.loopers == loopers);
        Some(all.next()?.p50_ns as f64)
    };
    Some(median(2)? / median(1)?)
}

/// What was to be shown and was not.
fn faults(rows: &[Row], is_lab: bool) -> Vec<String> {
    let mut faults = Vec::new();
    let inverted: u64 = rows.iter().map(|it| it.inverted).sum();
    let pairs: u64 = rows.iter().map(|it| it.pairs).sum();
    if is_lab {
        if inverted > 0 {
            faults.push(format!("{inverted} of {pairs} pairs are inverted"));
        }
        if pairs == 0 {
            faults.push("no two calls waited at once".to_owned());
        }
    } else if let Some(slope) = slope(rows, SERVICES_US[0])
        && slope > SLOPE_MAX
    {
        faults.push(format!(
            "the median with two loopers is {slope:.2} times that with one, at most {SLOPE_MAX}"
        ));
    }
    faults
}

fn text(rows: &[Row], is_lab: bool) -> String {
    let base = match is_lab {
        true => TimeBase::Virtual,
        false => guest::time_base(),
    };
    let mut table = Table::new([
        base.microseconds(),
        "loopers",
        "callers",
        "calls",
        "p50",
        "p99",
        "max",
        "pairs",
        "inverted",
    ]);
    for row in rows {
        let us = |ns: u64| format!("{:.1}", ns as f64 / 1000.0);
        table.row([
            format!("service {} µs", row.service_us),
            row.loopers.to_string(),
            row.callers.to_string(),
            row.calls.to_string(),
            us(row.p50_ns),
            us(row.p99_ns),
            us(row.max_ns),
            row.pairs.to_string(),
            row.inverted.to_string(),
        ]);
    }
    let mut text = table.to_string();
    for service_us in SERVICES_US {
        if let Some(slope) = slope(rows, service_us) {
            text.push_str(&format!(
                "Service {service_us} µs, most callers: the median with two loopers is {slope:.2} times that with one.\n"
            ));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(loopers: usize, callers: u32, service_us: u32, p50_ns: u64) -> Row {
        Row {
            loopers,
            callers,
            service_us,
            calls: 1,
            p50_ns,
            p99_ns: 0,
            max_ns: 0,
            pairs: 1,
            inverted: 0,
        }
    }

    #[test]
    fn on_a_machine_the_slope_counts_and_in_a_guest_the_order() {
        let mut rows = vec![
            row(1, 1, 200, 1),
            row(2, 1, 200, 1),
            row(1, 7, 200, 1000),
            row(2, 7, 200, 700),
            row(1, 7, 0, 10),
            row(2, 7, 0, 10),
        ];
        assert_eq!(faults(&rows, false), [""; 0]);
        assert_eq!(faults(&rows, true), [""; 0]);
        assert!(text(&rows, true).contains("0.70 times"));
        rows[3].p50_ns = 701;
        rows[3].inverted = 1;
        assert!(faults(&rows, false)[0].contains("0.70 times"));
        assert!(faults(&rows, true)[0].contains("1 of 6 pairs"));
    }
}
