// SPDX-License-Identifier: Apache-2.0
//! Experiment `ipc` (OKL4 and Android, 5.3.3): a round trip of 4 and of 124 bytes between two
//! processes, as a call with a parcel, beside a bare hand-off by a futex and a unix socket.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use binder::{Binder, Parcel};
use report::Table;
use rt::affinity::CpuSet;
use rt::clock::{Clock, Monotonic};
use rt::memory::{LockScope, ProcessLock};
use rt::policy::{Policy, Tid};
use rt::recorder::Recorder;
use rt::thread::Builder;
use serde::{Deserialize, Serialize};

use super::calls::bare::{Bare, MESSAGE_MAX};
use super::calls::guest::Guests;
use super::calls::server::Server;
use super::calls::{Transport, codes};
use crate::guest;

const SIZES: [usize; 2] = [4, 124];
/// A call with a parcel over a bare hand-off, medians.
const BARE_MAX: f64 = 1.5;
const CALLER: Policy = Policy::fifo(80);
const WARM_UP: u32 = 100;
const LIMIT_NS: u64 = 10_000_000_000;
const DEVICE: &str = "/dev/binder";
const PAPER: &str = "Paper, µs for 4 and 124 bytes: OKL4 4.15 and 5.59, Binder 242 and 278.";

/// How long does a round trip to another process take, beside what it is made of?
///
/// A FIFO-80 thread sends 4 and 124 bytes to an ordinary thread of another process and waits until
/// they are back; both on one processor. The ways take turns, window by window: a call with a
/// parcel over `lent`, over /dev/binder where there is one, a bare hand-off by a futex that
/// inherits, a unix socket.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  takt bench ipc --check")]
pub(crate) struct Args {
    /// Round trips of each window
    #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u32).range(10..))]
    calls: u32,
    /// Windows of each way
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    windows: u32,
    /// In a deterministic guest with Debian's /dev/binder: virtual time, PREEMPT_RT
    #[arg(long)]
    lab: bool,
    /// Exit code 2 if the median over `lent` is above 1.5 times the bare hand-off's; of a guest
    /// nothing is asked
    #[arg(long)]
    check: bool,
    /// Print JSON instead of the table
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct Row {
    way: String,
    bytes: usize,
    count: u64,
    p50_ns: u64,
    p99_ns: u64,
    max_ns: u64,
}

/// Runs all ways and prints them.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let rows = match args.lab {
        true => in_lab(args)?,
        false => here(args)?,
    };
    match args.json {
        true => println!("{}", serde_json::to_string(&rows)?),
        false => print!("{}", text(&rows, args.lab)),
    }
    let faults: Vec<String> = match args.lab {
        true => Vec::new(),
        false => SIZES.iter().filter_map(|&it| fault(&rows, it)).collect(),
    };
    for fault in &faults {
        eprintln!("bench ipc: {fault}");
    }
    Ok(match args.check && !faults.is_empty() {
        true => ExitCode::from(2),
        false => ExitCode::SUCCESS,
    })
}

fn in_lab(args: &Args) -> Result<Vec<Row>> {
    let mut words: Vec<String> = ["bench", "ipc", "--json"].map(Into::into).into();
    words.extend(["--calls".into(), args.calls.to_string()]);
    words.extend(["--windows".into(), "1".into()]);
    let found = Guests::open()?.sweep::<Vec<Row>>(&words, Transport::Stock, 1)?;
    Ok(found.into_iter().flat_map(|it| it.1).collect())
}

/// One way there and back.
#[allow(clippy::large_enum_variant, reason = "there are a few in a process")]
enum Way {
    Call(&'static str, Server),
    HandOff(Bare),
    Socket(Bare),
}

impl Way {
    fn name(&self) -> &'static str {
        match self {
            Self::Call(name, _) => name,
            Self::HandOff(_) => "bare futex",
            Self::Socket(_) => "unix socket",
        }
    }

    fn measure(self, bytes: usize, calls: u32) -> Result<(Self, Recorder)> {
        let name = self.name();
        let caller = Builder::new("caller").policy(CALLER);
        let caller = caller.spawn(move || {
            let mut way = self;
            let recorder = match &mut way {
                Self::Call(_, server) => by_calls(&server.remote, bytes, calls),
                Self::HandOff(bare) => by_bytes(bytes, calls, |it, back| bare.hand_over(it, back)),
                Self::Socket(bare) => by_bytes(bytes, calls, |it, back| bare.talk(it, back)),
            };
            recorder.map(|it| (way, it))
        });
        caller?.join().with_context(|| name)
    }
}

fn here(args: &Args) -> Result<Vec<Row>> {
    let cpus = CpuSet::of(Tid::current())?;
    let last = cpus.iter().last().context("a thread has a processor")?;
    CpuSet::single(last).apply(Tid::current())?;
    let _memory = ProcessLock::acquire(LockScope::All)?;
    let mut ways = vec![
        Way::Call("lent", Server::start(Transport::Lent, 1, 1)?),
        Way::HandOff(Bare::start()?),
        Way::Socket(Bare::start()?),
    ];
    if Path::new(DEVICE).exists() {
        let stock = Server::start(Transport::Stock, 1, 1)?;
        ways.push(Way::Call("/dev/binder", stock));
    }
    let mut rows = Vec::new();
    for bytes in SIZES {
        let mut all: Vec<Recorder> = Vec::new();
        for window in 0..args.windows {
            let mut next = Vec::new();
            for (index, way) in ways.into_iter().enumerate() {
                let (way, recorder) = way.measure(bytes, args.calls)?;
                next.push(way);
                match window {
                    0 => all.push(recorder),
                    _ => all[index].absorb(&recorder),
                }
            }
            ways = next;
        }
        rows.extend(
            ways.iter()
                .zip(&all)
                .map(|(way, recorder)| row(way, bytes, recorder)),
        );
    }
    Ok(rows)
}

fn row(way: &Way, bytes: usize, recorder: &Recorder) -> Row {
    let at = |quantile| recorder.histogram().value_at_quantile(quantile);
    Row {
        way: way.name().to_owned(),
        bytes,
        count: recorder.histogram().len(),
        p50_ns: at(0.5),
        p99_ns: at(0.99),
        max_ns: recorder.max_ns(),
    }
}

fn by_calls(remote: &Binder, bytes: usize, calls: u32) -> Result<Recorder> {
    let mut recorder = Recorder::new(LIMIT_NS, 0);
    let (mut data, mut reply) = (Parcel::new(), Parcel::new());
    let message = [7; MESSAGE_MAX];
    for index in 0..WARM_UP + calls {
        let start_ns = Monotonic.now_ns();
        data.clear();
        data.write_blob(Some(&message[..bytes]))?;
        remote.transact(codes::ECHO, &mut data, &mut reply, None)?;
        let answer = reply.read_blob();
        let took_ns = Monotonic.now_ns() - start_ns;
        ensure!(answer == Some(&message[..bytes]), "other bytes came back");
        if index >= WARM_UP {
            recorder.record(took_ns);
        }
    }
    Ok(recorder)
}

fn by_bytes(
    bytes: usize,
    calls: u32,
    mut send: impl FnMut(&[u8], &mut [u8]) -> Result<()>,
) -> Result<Recorder> {
    let mut recorder = Recorder::new(LIMIT_NS, 0);
    let (message, mut answer) = ([7; MESSAGE_MAX], [0; MESSAGE_MAX]);
    for index in 0..WARM_UP + calls {
        answer.fill(0);
        let start_ns = Monotonic.now_ns();
        send(&message[..bytes], &mut answer[..bytes])?;
        let took_ns = Monotonic.now_ns() - start_ns;
        ensure!(answer[..bytes] == message[..bytes], "other bytes came back");
        if index >= WARM_UP {
            recorder.record(took_ns);
        }
    }
    Ok(recorder)
}

fn median(rows: &[Row], way: &str, bytes: usize) -> Option<f64> {
    let row = rows.iter().find(|it| it.way == way && it.bytes == bytes)?;
    Some(row.p50_ns as f64)
}

/// How many times as long a call over `lent` takes as a way does.
fn times(rows: &[Row], way: &str, bytes: usize) -> Option<f64> {
    Some(median(rows, "lent", bytes)? / median(rows, way, bytes)?)
}

fn fault(rows: &[Row], bytes: usize) -> Option<String> {
    let times = times(rows, "bare futex", bytes)?;
    (times > BARE_MAX).then(|| {
        format!("{bytes} bytes over lent take {times:.2} times a bare hand-off, at most {BARE_MAX}")
    })
}

fn text(rows: &[Row], is_lab: bool) -> String {
    let base = match is_lab {
        true => report::TimeBase::Virtual,
        false => guest::time_base(),
    };
    let unit = base.microseconds();
    let mut table = Table::new([
        unit,
        "bytes",
        "round trips",
        "p50",
        "p99",
        "max",
        "lent / this",
    ]);
    for row in rows {
        let us = |ns: u64| format!("{:.1}", ns as f64 / 1000.0);
        let times = times(rows, &row.way, row.bytes).unwrap_or_default();
        table.row([
            row.way.clone(),
            row.bytes.to_string(),
            row.count.to_string(),
            us(row.p50_ns),
            us(row.p99_ns),
            us(row.max_ns),
            format!("{times:.2}"),
        ]);
    }
    format!("{table}{PAPER}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_over_lent_is_held_against_the_bare_hand_off_of_the_same_size() {
        let row = |way: &str, bytes, p50_ns| Row {
            way: way.to_owned(),
            bytes,
            count: 1,
            p50_ns,
            p99_ns: 0,
            max_ns: 0,
        };
        let mut rows = vec![
            row("lent", 4, 15),
            row("bare futex", 4, 10),
            row("lent", 124, 99),
        ];
        assert_eq!(fault(&rows, 4), None);
        assert_eq!(fault(&rows, 124), None, "nothing to hold it against");
        rows[0].p50_ns = 16;
        assert!(fault(&rows, 4).unwrap().contains("1.60 times"));
    }
}
