// SPDX-License-Identifier: Apache-2.0
//! Experiment `oom` (RTAndroid thesis, 5.4.1): an ordinary and a real-time application each take
//! 30 × 1 MB, and there is memory for one. Who ends, whichever begins first? The same with several
//! classes of processes. Each trial has a server of its own ([`server`]).

pub(super) mod app;
pub(super) mod server;
mod trial;

use std::process::ExitCode;

use anyhow::{Result, ensure};
use report::Table;
use serde::{Deserialize, Serialize};

use self::server::REAL_TIME;
use self::trial::{Ballast, Class, Ended, Member, Plan, trial};
use super::calls::Transport;
use super::calls::guest::Guests;

/// What the thesis's activities take.
const ARRAYS: usize = 30;
/// Of each process of the other trials.
const SMALL: usize = 12;
/// The guest's: it has the experiment's files in memory as well.
const GUEST_MIB: u32 = 448;
/// Set in a guest.
const GUEST: &str = "TAKT_LAB";
const ORDINARY: &str = "takt.bench.ordinary";

/// Who ends when an ordinary and a real-time application want more memory than there is?
///
/// Each takes 30 arrays of 1 MB; there is memory for one. They begin in both orders. With
/// protection they run as under `takt system`: it tells the kernel who is needed how much, and ends
/// processes itself when the kernel warns in time. Without it all have the kernel's usual place
/// (oom_score_adj 0). In the rows of classes, a cached process, a service and an activity have
/// 12 MB each as well. Applications are programs without a Java machine, in the sandbox's place.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  takt bench oom --lab --check")]
pub(crate) struct Args {
    /// In deterministic guests: it takes all memory of the machine that it runs on, and so runs in
    /// guests alone
    #[arg(long)]
    lab: bool,
    /// Guests of different seeds
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..), requires = "lab")]
    seeds: u64,
    /// Exit code 2 if, with protection, the real-time application ends or an ordinary one does not,
    /// or if one ends that is needed more than another that stays
    #[arg(long)]
    check: bool,
    /// Print JSON instead of the table
    #[arg(long)]
    json: bool,
}

/// Who begins when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Case {
    OrdinaryFirst,
    RealTimeFirst,
    ClassesFirst,
    ClassesLast,
}

impl Case {
    const ALL: [Self; 4] = [
        Self::OrdinaryFirst,
        Self::RealTimeFirst,
        Self::ClassesFirst,
        Self::ClassesLast,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::OrdinaryFirst => "ordinary, real-time",
            Self::RealTimeFirst => "real-time, ordinary",
            Self::ClassesFirst => "cached, service, activity, real-time",
            Self::ClassesLast => "real-time, activity, service, cached",
        }
    }

    fn members(self) -> Vec<Member> {
        let member = |package: &str, class, mib| Member {
            package: package.to_owned(),
            class,
            mib,
        };
        let real_time = member(REAL_TIME, Class::RealTime, ARRAYS);
        let ordinary = member(ORDINARY, Class::Front, ARRAYS);
        let mut classes = vec![
            member("takt.bench.cached", Class::Cached, SMALL),
            member("takt.bench.service", Class::Service, SMALL),
            member("takt.bench.activity", Class::Front, SMALL),
        ];
        match self {
            Self::OrdinaryFirst => vec![ordinary, real_time],
            Self::RealTimeFirst => vec![real_time, ordinary],
            Self::ClassesFirst => {
                classes.push(real_time);
                classes
            }
            Self::ClassesLast => {
                classes.push(real_time);
                classes.reverse();
                classes
            }
        }
    }
}

/// One trial.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Row {
    case: Case,
    is_protected: bool,
    /// Of the guest; on this machine 0.
    seed: u64,
    /// In order.
    ended: Vec<Ended>,
    /// Whether the real-time application has had all that it wanted.
    has_real_time_all: bool,
}

/// Runs all trials and prints them.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let rows = match args.lab {
        true => in_lab(args)?,
        false => here()?,
    };
    match args.json {
        true => println!("{}", serde_json::to_string(&rows)?),
        false => print!("{}", text(&rows)),
    }
    Ok(super::verdict("oom", &faults(&rows), args.check))
}

fn here() -> Result<Vec<Row>> {
    ensure!(
        std::env::var_os(GUEST).is_some(),
        "this takes all memory of a machine, so it runs in guests alone: say --lab"
    );
    let mut rows = Vec::new();
    for is_protected in [true, false] {
        for case in Case::ALL {
            let ballast = Ballast::take()?;
            let plan = Plan {
                members: case.members(),
                is_protected,
            };
            let found = trial(&plan)?;
            eprintln!(
                "bench oom: {}, protected {is_protected}: {} MiB of ballast, ended {:?}",
                case.name(),
                ballast.mib(),
                found.ended
            );
            rows.push(Row {
                case,
                is_protected,
                seed: 0,
                ended: found.ended,
                has_real_time_all: found.full.iter().any(|it| it == REAL_TIME),
            });
        }
    }
    Ok(rows)
}

fn in_lab(args: &Args) -> Result<Vec<Row>> {
    let guests = Guests::standard()?;
    let words = ["bench", "oom", "--json"].map(str::to_owned);
    let mut job = guests.job(&words, Transport::Lent)?;
    job.memory_mib = Some(GUEST_MIB);
    let found = guests.sweep_job::<Vec<Row>>(&job, args.seeds)?;
    let of_guest = |(seed, rows): (u64, Vec<Row>)| {
        let rows = rows.into_iter();
        rows.map(move |it| Row { seed, ..it })
    };
    let mut rows: Vec<Row> = found.into_iter().flat_map(of_guest).collect();
    rows.sort_by_key(|it| (!it.is_protected, it.case, it.seed));
    Ok(rows)
}

/// What was to be shown and was not.
fn faults(rows: &[Row]) -> Vec<String> {
    let mut faults = Vec::new();
    for row in rows.iter().filter(|it| it.is_protected) {
        let mut fault = |text: String| {
            faults.push(format!("{}, seed {}: {text}", row.case.name(), row.seed));
        };
        let members = row.case.members();
        // Those that are needed least are less.
        let need = |package: &String| {
            let member = members.iter().find(|it| it.package == *package);
            member.map_or(Class::RealTime, |it| it.class)
        };
        if row.ended.is_empty() {
            fault("nobody has ended: there was memory for all".to_owned());
        }
        if !row.has_real_time_all {
            fault("the real-time application has not had its memory".to_owned());
        }
        for ended in &row.ended {
            let own = need(&ended.package);
            if own == Class::RealTime {
                fault("the real-time application has ended".to_owned());
            }
            let other = ended.others.iter().find(|it| need(it) < own);
            if let Some(other) = other {
                fault(format!("{} has ended, and not {other}", ended.package));
            }
        }
    }
    faults
}

fn text(rows: &[Row]) -> String {
    let mut table = Table::new([
        "begin in this order",
        "seed",
        "protection",
        "ended, in order",
        "real-time",
    ]);
    for row in rows {
        let short = |it: &Ended| {
            let name = it.package.rsplit('.').next().unwrap_or_default();
            let by = if it.by_server { "server" } else { "kernel" };
            format!("{name} ({by})")
        };
        let ended: Vec<String> = row.ended.iter().map(short).collect();
        let has_ended = row.ended.iter().any(|it| it.package == REAL_TIME);
        table.row([
            row.case.name().to_owned(),
            row.seed.to_string(),
            if row.is_protected { "Takt's" } else { "none" }.to_owned(),
            ended.join(", "),
            if has_ended { "ended" } else { "lives" }.to_owned(),
        ]);
    }
    table.to_string()
}
