// SPDX-License-Identifier: Apache-2.0
//! Experiment `intent-order` (RTAndroid thesis, 7.3.4): is a broadcast ever delivered before one
//! that is more urgent and waited as well? By the server's own sequence.

use std::process::ExitCode;

use anyhow::Result;
use report::Table;
use serde::{Deserialize, Serialize};

use super::super::calls::Transport;
use super::super::calls::guest::{self, Guests};
use super::super::shouts::{self, Plan, Races, What};

/// Races that are wanted, and rounds of ten broadcasts that make them.
const RACES: u64 = 10_000;
const ROUNDS: u32 = 1_000;
const RACES_IN_LAB: u64 = 2_000;
const ROUNDS_IN_LAB: u32 = 100;

/// Is a broadcast ever delivered before one that is more urgent and waited as well?
///
/// Ten FIFO-99 threads send each 5 ms, all at once, broadcasts with random priorities of 0 to 99.
/// A third are ordered and a third sticky; their receiver registers again each 50 ms for what has
/// stayed. Two that wait at one place of the server at once are a race. It fails if the less urgent
/// one goes first, or of equals the later one. The second row is the same server in first-come
/// order.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  takt bench intent-order --check")]
pub(crate) struct Args {
    /// Rounds of ten broadcasts [default: 1000, in the lab 100]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=3000))]
    rounds: Option<u32>,
    /// In a deterministic guest: virtual time, one processor, PREEMPT_RT
    #[arg(long)]
    lab: bool,
    /// Exit code 2 unless there were 10,000 races, in the lab 2,000, some of them of ordered
    /// broadcasts and some broadcasts that had stayed, and none failed; first-come order must fail
    #[arg(long)]
    check: bool,
    /// Print JSON instead of the table
    #[arg(long)]
    json: bool,
    /// What is drawn at random
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

/// One window.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Row {
    is_first_come: bool,
    broadcasts: u64,
    refused: u64,
    races: Races,
}

/// Runs both windows and prints them.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let rounds = args.rounds.unwrap_or(match args.lab {
        true => ROUNDS_IN_LAB,
        false => ROUNDS,
    });
    let rows = match args.lab {
        true => in_lab(rounds, args.seed)?,
        false => vec![
            row(rounds, args.seed, false)?,
            row(rounds, args.seed, true)?,
        ],
    };
    match args.json {
        true => println!("{}", serde_json::to_string(&rows)?),
        false => print!("{}", text(&rows)),
    }
    let wanted = if args.lab { RACES_IN_LAB } else { RACES };
    let faults = faults(&rows, wanted);
    Ok(super::super::verdict("intent-order", &faults, args.check))
}

fn row(rounds: u32, seed: u64, is_first_come: bool) -> Result<Row> {
    if crate::guest::time_base() == report::TimeBase::Virtual {
        guest::unthrottled()?;
    }
    let window = shouts::window(&Plan {
        what: What::Races,
        is_first_come,
        is_foreground: false,
        senders: 0,
        is_storm: false,
        count: rounds,
        seed,
    })?;
    Ok(Row {
        is_first_come,
        broadcasts: u64::from(rounds) * 10,
        refused: window.refused,
        races: window.races,
    })
}

fn in_lab(rounds: u32, seed: u64) -> Result<Vec<Row>> {
    let words = ["bench", "intent-order", "--json", "--rounds"].map(str::to_owned);
    let mut words: Vec<String> = words.into();
    words.extend([rounds.to_string(), "--seed".to_owned(), seed.to_string()]);
    let found = Guests::open()?.sweep::<Vec<Row>>(&words, Transport::Lent, 1)?;
    Ok(found.into_iter().flat_map(|it| it.1).collect())
}

/// What was to be shown and was not.
fn faults(rows: &[Row], wanted: u64) -> Vec<String> {
    let mut faults = Vec::new();
    for row in rows {
        let races = &row.races;
        if row.is_first_come {
            if races.failures == 0 {
                faults.push("first come: no race failed, so a failure is not seen".to_owned());
            }
            continue;
        }
        if races.failures > 0 {
            faults.push(format!(
                "{} of {} races failed",
                races.failures, races.races
            ));
        }
        if races.races < wanted {
            faults.push(format!("{} races, and {wanted} are wanted", races.races));
        }
        if races.of_turns == 0 || races.stayed == 0 {
            faults.push("no race of ordered broadcasts, or none that had stayed".to_owned());
        }
        if races.is_cut {
            faults.push("more has happened than was written down".to_owned());
        }
    }
    faults
}

fn text(rows: &[Row]) -> String {
    let mut table = Table::new([
        "order",
        "broadcasts",
        "refused",
        "races",
        "of ordered ones",
        "had stayed",
        "failures",
    ]);
    for row in rows {
        let name = match row.is_first_come {
            true => "first come",
            false => "priority",
        };
        table.row([
            name.to_owned(),
            row.broadcasts.to_string(),
            row.refused.to_string(),
            row.races.races.to_string(),
            row.races.of_turns.to_string(),
            row.races.stayed.to_string(),
            row.races.failures.to_string(),
        ]);
    }
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_has_races_of_all_kinds_and_no_failure() {
        let row = |is_first_come, failures| Row {
            is_first_come,
            broadcasts: 10,
            refused: 0,
            races: Races {
                races: 100,
                of_turns: 1,
                stayed: 1,
                failures,
                is_cut: false,
            },
        };
        assert_eq!(faults(&[row(false, 0), row(true, 1)], 100), [""; 0]);
        assert_eq!(faults(&[row(false, 1), row(true, 0)], 101).len(), 3);
        let mut bare = row(false, 0);
        bare.races.stayed = 0;
        bare.races.is_cut = true;
        assert_eq!(faults(&[bare], 100).len(), 2);
    }
}
