// SPDX-License-Identifier: Apache-2.0
//! Experiment gc-cost in Java: the program `GcCost`, whose lines are [`Cost`]s.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};
use report::Table;
use serde::Serialize;

use super::machine::Machine;
use crate::output;

/// Nanoseconds of one operation.
#[derive(Debug, Serialize)]
pub(super) struct Cost {
    name: String,
    /// Of the median batch.
    median_ns: f64,
    /// Of all of them, pauses included.
    mean_ns: f64,
}

/// One machine's.
#[derive(Debug, Serialize)]
pub(super) struct Costs {
    machine: &'static str,
    costs: Vec<Cost>,
}

pub(super) fn measure(
    machine: Machine,
    mut command: Command,
    batches: u32,
    directory: &Path,
) -> Result<Costs> {
    command
        .arg("-cp")
        .arg(directory)
        .args(["GcCost", &batches.to_string()]);
    let costs: Vec<Cost> = parse(&output::text(&mut command)?);
    if costs.is_empty() {
        bail!("GcCost says no figures");
    }
    Ok(Costs {
        machine: machine.name(),
        costs,
    })
}

/// Lines of name, median and mean; whatever else a machine prints is its own.
fn parse(text: &str) -> Vec<Cost> {
    let cost = |line: &str| {
        let mut words = line.split(' ');
        let name = words.next()?.to_owned();
        let (median_ns, mean_ns) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        Some(Cost {
            name,
            median_ns,
            mean_ns,
        })
    };
    text.lines().filter_map(cost).collect()
}

pub(super) fn text(all: &[Costs]) -> String {
    let names = all[0].costs.iter().map(|it| it.name.replace('_', " "));
    let mut table = Table::new(["ns, median / mean".to_owned()].into_iter().chain(names));
    for one in all {
        let cells = one
            .costs
            .iter()
            .map(|it| format!("{:.2} / {:.2}", it.median_ns, it.mean_ns));
        table.row([one.machine.to_owned()].into_iter().chain(cells));
    }
    format!("gc-cost: of a batch, for one operation; the mean has the pauses in it\n{table}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_program_are_costs() {
        let costs = parse("[gc] something\nallocation 2.5 3.75\nread 1.0 1.5\n");
        assert_eq!(costs.len(), 2);
        assert_eq!((costs[0].median_ns, costs[0].mean_ns), (2.5, 3.75));
        let all = [Costs {
            machine: "G1",
            costs,
        }];
        assert!(text(&all).contains("2.50 / 3.75"));
    }
}
