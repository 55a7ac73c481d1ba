// SPDX-License-Identifier: Apache-2.0
//! Experiment `intents` (RTAndroid thesis, 7.3.1 to 7.3.3): how long a real-time sender's broadcast
//! takes to its receiver while ordinary senders send as well; [`order`] is `intent-order` (7.3.4),
//! [`local`] is `local-intents` (7.3.5). Each window of the first two has a server of its own
//! ([`super::shouts`]).

pub(super) mod local;
pub(super) mod order;

use std::process::ExitCode;

use anyhow::Result;
use clap::ValueEnum;
use report::{Table, TimeBase};
use serde::{Deserialize, Serialize};

use super::calls::Transport;
use super::calls::guest::{self, Guests};
use super::shouts::{self, Plan, What};

/// The paper's.
const SENDERS: [u32; 5] = [10, 25, 50, 75, 100];
/// On a machine, where a window lasts as long as it does.
const SENDERS_HERE: [u32; 2] = [10, 100];
/// The most with the most ordinary senders over that with the fewest.
const GROWTH_MAX: f64 = 1.5;
/// Senders without a pause, and how many times fewer broadcasts their window has: a guest's
/// processor is never idle in it.
const STORM: u32 = 10;
const STORM_SHARE: u32 = 5;

/// How long does a real-time sender's broadcast take while 10 to 100 ordinary senders send?
///
/// A FIFO-80 thread sends a broadcast each 10.03 ms to a receiver in another process, which has a
/// real-time thread of its own. k ordinary threads of a third process send to the same receiver
/// each 100 ms, all at once. The time is from the sender's call to the receiver's code. The same
/// server delivers by priority, or in first-come order without inheritance, as Android does, with
/// and without the foreground flag. In the storm ten ordinary threads make no pause.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  takt bench intents --lab --check")]
pub(crate) struct Args {
    /// Numbers of ordinary senders [default: 10,100, in the lab 10,25,50,75,100]
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=500))]
    senders: Vec<u32>,
    /// Orders of delivery
    #[arg(long, value_delimiter = ',', value_enum, default_values = ["priority", "storm", "first-come", "foreground"])]
    order: Vec<Order>,
    /// Real-time broadcasts in each window
    #[arg(long, default_value_t = 1000, value_parser = clap::value_parser!(u32).range(5..))]
    broadcasts: u32,
    /// In deterministic guests: virtual time, one processor, PREEMPT_RT
    #[arg(long)]
    lab: bool,
    /// Guests of different seeds, for priorities with the fewest and the most senders, and for the
    /// storm; the rest has one
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..), requires = "lab")]
    seeds: u64,
    /// Exit code 2 if a broadcast was lost, or a receiver ran at another priority; in the lab as
    /// well if the most with the most senders, or in the storm, is above 1.5 times that with the
    /// fewest, or if first-come order does not grow by more
    #[arg(long)]
    check: bool,
    /// Print JSON instead of the table
    #[arg(long)]
    json: bool,
}

/// In which broadcasts are delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Order {
    /// By the sender's priority, which receivers run at
    Priority,
    /// The same, and ordinary senders make no pause
    Storm,
    /// As they come; nothing is inherited
    FirstCome,
    /// The same, and real-time broadcasts have the foreground flag
    Foreground,
}

impl Order {
    fn name(self) -> &'static str {
        match self {
            Self::Priority => "priority",
            Self::Storm => "priority, storm",
            Self::FirstCome => "first come",
            Self::Foreground => "first come, foreground",
        }
    }

    /// Whether it is ours.
    fn is_judged(self) -> bool {
        matches!(self, Self::Priority | Self::Storm)
    }
}

/// One window.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Row {
    order: Order,
    senders: u32,
    /// Of the guest; on this machine 0.
    seed: u64,
    broadcasts: u32,
    times: shouts::Times,
    /// Broadcasts that the server could not keep; in a storm ordinary ones are.
    lost: u64,
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
    let faults = faults(&rows, args.lab);
    Ok(super::verdict("intents", &faults, args.check))
}

fn here(args: &Args) -> Result<Vec<Row>> {
    if crate::guest::time_base() == TimeBase::Virtual {
        guest::unthrottled()?;
    }
    let senders = match args.senders.is_empty() {
        true => &SENDERS_HERE[..],
        false => &args.senders,
    };
    let mut rows = Vec::new();
    for &order in &args.order {
        let senders = match order {
            Order::Storm => &[STORM],
            _ => senders,
        };
        for &senders in senders {
            rows.push(row(order, senders, args.broadcasts)?);
        }
    }
    Ok(rows)
}

fn row(order: Order, senders: u32, broadcasts: u32) -> Result<Row> {
    let is_storm = order == Order::Storm;
    let broadcasts = match is_storm {
        true => broadcasts.div_ceil(STORM_SHARE),
        false => broadcasts,
    };
    let window = shouts::window(&Plan {
        what: What::Times,
        is_first_come: !order.is_judged(),
        is_foreground: order == Order::Foreground,
        senders,
        is_storm,
        count: broadcasts,
        seed: 0,
    })?;
    Ok(Row {
        order,
        senders,
        seed: 0,
        broadcasts,
        times: window.times,
        lost: window.lost,
    })
}

/// Guests of all seeds for what is judged, and one for the rest.
fn in_lab(args: &Args) -> Result<Vec<Row>> {
    let guests = Guests::open()?;
    let senders = match args.senders.is_empty() {
        true => &SENDERS[..],
        false => &args.senders,
    };
    let (Some(fewest), Some(most)) = (senders.iter().min(), senders.iter().max()) else {
        return Ok(Vec::new());
    };
    let (ends, middle): (Vec<u32>, Vec<u32>) =
        senders.iter().partition(|it| [fewest, most].contains(it));
    let (judged, others): (Vec<Order>, Vec<Order>) =
        args.order.iter().partition(|it| it.is_judged());
    let between = judged.iter().filter(|it| **it == Order::Priority);
    let between: Vec<Order> = between.copied().collect();
    let mut rows = Vec::new();
    for (orders, senders, seeds) in [
        (&judged, &ends, args.seeds),
        (&between, &middle, 1),
        (&others, &senders.to_vec(), 1),
    ] {
        if orders.is_empty() || senders.is_empty() {
            continue;
        }
        let found =
            guests.sweep::<Vec<Row>>(&words(args, orders, senders), Transport::Lent, seeds)?;
        for (seed, of_guest) in found {
            rows.extend(of_guest.into_iter().map(|it| Row { seed, ..it }));
        }
    }
    rows.sort_by_key(|it| (it.order, it.senders, it.seed));
    Ok(rows)
}

fn words(args: &Args, orders: &[Order], senders: &[u32]) -> Vec<String> {
    let joined = |all: Vec<String>| all.join(",");
    let of = |it: &Order| it.to_possible_value().map(|it| it.get_name().to_owned());
    [
        "bench",
        "intents",
        "--json",
        "--broadcasts",
        &args.broadcasts.to_string(),
        "--order",
        &joined(orders.iter().filter_map(of).collect()),
        "--senders",
        &joined(senders.iter().map(u32::to_string).collect()),
    ]
    .map(str::to_owned)
    .into()
}

/// The most of one seed.
fn most(rows: &[Row], seed: u64, order: Order, senders: u32) -> Option<u64> {
    let mut of = rows
        .iter()
        .filter(|it| it.seed == seed && it.order == order && it.senders == senders);
    of.next().map(|it| it.times.max_ns)
}

/// What was to be shown and was not.
fn faults(rows: &[Row], is_lab: bool) -> Vec<String> {
    let mut faults = Vec::new();
    let mut fault = |row: &Row, text: String| {
        let name = row.order.name();
        faults.push(format!(
            "{name}, {} senders, seed {}: {text}",
            row.senders, row.seed
        ));
    };
    let fewest = rows.iter().map(|it| it.senders).min().unwrap_or(0);
    let us = |ns: u64| ns as f64 / 1000.0;
    for row in rows {
        let times = &row.times;
        if times.count != u64::from(row.broadcasts) {
            fault(row, format!("{} broadcasts came", times.count));
        }
        if times.ordinary == 0 {
            fault(row, "no ordinary broadcast came".to_owned());
        }
        if row.order.is_judged() && times.at_other_priority > 0 {
            let count = times.at_other_priority;
            fault(row, format!("{count} receivers ran at another priority"));
        }
        if !is_lab || (row.senders == fewest && row.order != Order::Storm) {
            continue;
        }
        let base = match row.order {
            Order::Storm => Order::Priority,
            other => other,
        };
        let Some(least_ns) = most(rows, row.seed, base, fewest) else {
            continue;
        };
        let (own, least) = (us(times.max_ns), us(least_ns));
        let has_grown = own > GROWTH_MAX * least;
        if row.order.is_judged() && has_grown {
            fault(
                row,
                format!("{own:.1} µs, with {fewest} senders {least:.1}"),
            );
        }
        let is_most = rows.iter().all(|it| it.senders <= row.senders);
        if !row.order.is_judged() && is_most && !has_grown {
            let text = format!("{own:.1} µs, with {fewest} senders {least:.1}: is it the switch?");
            fault(row, text);
        }
    }
    faults
}

fn text(rows: &[Row], is_lab: bool) -> String {
    let base = match is_lab {
        true => TimeBase::Virtual,
        false => crate::guest::time_base(),
    };
    let mut table = Table::new([
        base.microseconds(),
        "senders",
        "seed",
        "broadcasts",
        "p50",
        "p99",
        "max",
        "ordinary ones",
        "lost",
    ]);
    for row in rows {
        let us = |ns: u64| format!("{:.1}", ns as f64 / 1000.0);
        table.row([
            row.order.name().to_owned(),
            row.senders.to_string(),
            row.seed.to_string(),
            row.times.count.to_string(),
            us(row.times.p50_ns),
            us(row.times.p99_ns),
            us(row.times.max_ns),
            row.times.ordinary.to_string(),
            row.lost.to_string(),
        ]);
    }
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(order: Order, senders: u32, max_us: u64) -> Row {
        Row {
            order,
            senders,
            seed: 1,
            broadcasts: 5,
            times: shouts::Times {
                count: 5,
                max_ns: max_us * 1000,
                ordinary: 1,
                ..shouts::Times::default()
            },
            lost: 0,
        }
    }

    #[test]
    fn ours_stays_and_first_come_grows() {
        let mut rows = vec![
            row(Order::Priority, 10, 100),
            row(Order::Priority, 50, 150),
            row(Order::Priority, 100, 150),
            row(Order::Storm, 10, 150),
            row(Order::FirstCome, 10, 1000),
            row(Order::FirstCome, 50, 1100),
            row(Order::FirstCome, 100, 1501),
        ];
        assert_eq!(faults(&rows, true), [""; 0]);
        rows[1].times.max_ns += 1;
        rows[2].times.max_ns += 1;
        rows[3].times.max_ns += 1;
        rows[6].times.max_ns = 1_500_000;
        assert_eq!(faults(&rows, true).len(), 4);
        assert_eq!(faults(&rows, false), [""; 0]);
    }

    #[test]
    fn what_is_lost_or_runs_at_another_priority_is_a_fault_everywhere() {
        let mut rows = vec![row(Order::Priority, 10, 1)];
        rows[0].times.count = 4;
        rows[0].times.ordinary = 0;
        rows[0].times.at_other_priority = 1;
        assert_eq!(faults(&rows, false).len(), 3);
    }
}
