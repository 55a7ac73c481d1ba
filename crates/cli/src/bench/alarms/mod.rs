// SPDX-License-Identifier: Apache-2.0
//! Experiment `alarms` (RTDroid, 4.2): in which order and how late alarms come, and what
//! it takes to tell another process. A native timer and plain calls stand beside them ([`window`]).

mod window;

use std::process::ExitCode;

use anyhow::Result;
use report::{Table, TimeBase};
use serde::{Deserialize, Serialize};

use super::calls::Transport;
use super::calls::guest::Guests;
use crate::guest;

/// The timer thread's error beside that of a native timer, and what it may be above it besides.
const TIMER_TIMES_MAX: f64 = 1.2;
const TIMER_ABOVE_NS_MAX: u64 = 5_000;
/// What delivery takes beside one call.
const DELIVERY_TIMES_MAX: f64 = 1.5;
/// Ordinary callers beside, in a guest.
const OTHERS_IN_LAB: u32 = 10;

/// Do alarms come in the order of their priority, as exactly as a native timer, and how soon does
/// another process know?
///
/// First all alarms are set to one instant, with priorities of 1 to 99 at random. Then each has a
/// time of its own, 2 to 3 ms after the one before, and FIFO 80. The timer thread of takt's alarms
/// calls a service in another process for each. Half way between two alarms a FIFO-80 thread wakes
/// by the kernel's timer and calls the same service: what alarms are judged by.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  takt bench alarms --lab --check")]
pub(crate) struct Args {
    /// Alarms in each part
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(2..=2000))]
    alarms: u32,
    /// Ordinary threads that call the service as well, without a pause [default: none, in the lab
    /// 10]
    #[arg(long)]
    others: Option<u32>,
    /// In deterministic guests: virtual time, one processor, PREEMPT_RT
    #[arg(long)]
    lab: bool,
    /// Guests of different seeds
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..), requires = "lab")]
    seeds: u64,
    /// Exit code 2 if alarms of one instant come out of order. In the lab as well if the timer
    /// thread's worst error is above 1.2 times the native timer's and more than 5 µs above it, or
    /// the worst delivery above 1.5 times the worst call
    #[arg(long)]
    check: bool,
    /// Print JSON instead of the table
    #[arg(long)]
    json: bool,
    /// What is drawn at random
    #[arg(long, hide = true, default_value_t = 0)]
    seed: u64,
}

/// Of one run.
#[derive(Debug, Serialize, Deserialize)]
struct Row {
    /// On this machine 0.
    seed: u64,
    /// Alarms of one instant; pairs of neighbours of which the less urgent, or of equals the later
    /// one, came first; and those that came before their time.
    at_once: u64,
    inverted: u64,
    early: u64,
    /// Alarms with a time of their own.
    single: u64,
    /// How late the timer thread took each, and what followed until the other process ran.
    taken: Spread,
    delivered: Spread,
    /// How late the native thread woke, and its calls.
    native: Spread,
    call: Spread,
}

/// Median and most; nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Spread {
    p50: u64,
    max: u64,
}

impl Spread {
    fn of(mut values: Vec<u64>) -> Self {
        values.sort_unstable();
        Self {
            p50: values.get(values.len() / 2).copied().unwrap_or(0),
            max: values.last().copied().unwrap_or(0),
        }
    }
}

/// Runs it, and prints what was found.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let rows = match args.lab {
        true => in_lab(args)?,
        false => vec![window::measure(
            args.alarms,
            args.others.unwrap_or(0),
            args.seed,
        )?],
    };
    match args.json {
        true => println!("{}", serde_json::to_string(&rows)?),
        false => print!("{}", text(&rows, args.lab)),
    }
    Ok(super::verdict(
        "alarms",
        &faults(&rows, args.lab),
        args.check,
    ))
}

fn in_lab(args: &Args) -> Result<Vec<Row>> {
    let others = args.others.unwrap_or(OTHERS_IN_LAB);
    let words = [
        ("--alarms", args.alarms.to_string()),
        ("--others", others.to_string()),
    ];
    let words = words
        .into_iter()
        .flat_map(|(option, value)| [option.to_owned(), value]);
    let words: Vec<String> = ["bench", "alarms", "--json"]
        .map(str::to_owned)
        .into_iter()
        .chain(words)
        .collect();
    let found = Guests::open()?.sweep::<Vec<Row>>(&words, Transport::Lent, args.seeds)?;
    let of_guest = |(seed, rows): (u64, Vec<Row>)| {
        let rows = rows.into_iter();
        rows.map(move |it| Row { seed, ..it })
    };
    Ok(found.into_iter().flat_map(of_guest).collect())
}

/// What was to be shown and was not.
fn faults(rows: &[Row], is_lab: bool) -> Vec<String> {
    let mut faults = Vec::new();
    for row in rows {
        let mut fault = |text: String| faults.push(format!("seed {}: {text}", row.seed));
        if row.inverted > 0 || row.early > 0 {
            fault(format!(
                "of {} alarms of one instant {} came out of order and {} too early",
                row.at_once, row.inverted, row.early
            ));
        }
        if !is_lab {
            continue;
        }
        let us = |ns: u64| ns as f64 / 1000.0;
        let bound = (TIMER_TIMES_MAX * row.native.max as f64)
            .max((row.native.max + TIMER_ABOVE_NS_MAX) as f64);
        if row.taken.max as f64 > bound {
            fault(format!(
                "the timer thread was {:.1} µs late, a native timer {:.1}",
                us(row.taken.max),
                us(row.native.max)
            ));
        }
        if row.delivered.max as f64 > DELIVERY_TIMES_MAX * row.call.max as f64 {
            fault(format!(
                "delivery took {:.1} µs, a call {:.1}",
                us(row.delivered.max),
                us(row.call.max)
            ));
        }
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
        "at once",
        "out of order",
        "single",
        "taken p50",
        "max",
        "native p50",
        "max",
        "delivered p50",
        "max",
        "call p50",
        "max",
    ]);
    for row in rows {
        let spreads = [row.taken, row.native, row.delivered, row.call];
        let times = spreads.iter().flat_map(|it| [it.p50, it.max]);
        let mut cells = vec![
            format!("seed {}", row.seed),
            row.at_once.to_string(),
            (row.inverted + row.early).to_string(),
            row.single.to_string(),
        ];
        cells.extend(times.map(|ns| format!("{:.1}", ns as f64 / 1000.0)));
        table.row(cells);
    }
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(taken_us: u64, delivered_us: u64) -> Row {
        let spread = |us: u64| Spread {
            p50: 0,
            max: us * 1000,
        };
        Row {
            seed: 0,
            at_once: 10,
            inverted: 0,
            early: 0,
            single: 10,
            taken: spread(taken_us),
            delivered: spread(delivered_us),
            native: spread(50),
            call: spread(20),
        }
    }

    #[test]
    fn in_a_guest_alarms_are_as_exact_as_a_timer_and_as_soon_told_as_a_call() {
        assert_eq!(faults(&[row(60, 30)], true), [""; 0]);
        assert_eq!(faults(&[row(61, 31)], true).len(), 2);
        assert_eq!(faults(&[row(61, 31)], false), [""; 0]);
    }

    #[test]
    fn order_counts_everywhere() {
        let wrong = Row {
            inverted: 1,
            ..row(0, 0)
        };
        assert_eq!(faults(&[wrong], false).len(), 1);
    }
}
