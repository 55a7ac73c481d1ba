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
use super::calls::java::{Calls, Pair};
use super::calls::server::{Manner, Server};
use super::calls::{Transport, codes, filter};
use crate::guest;

const SIZES: [usize; 2] = [4, 124];
/// A call with a parcel over a bare hand-off, medians.
const BARE_MAX: f64 = 1.5;
/// Java's over a native one, or so much above it.
const JAVA_MAX: f64 = 1.5;
const JAVA_ABOVE_MAX_NS: f64 = 5_000.0;
/// A socket's over that of ends that spin.
const SPIN_MIN: f64 = 5.0;
/// /dev/binder's over `lent`'s, in instructions.
const STOCK_MIN: f64 = 1.7;
/// Longer than any answer of a server that does nothing takes.
const SPIN_NS: u64 = 50_000;
/// Java's calls before the first that counts: its code is compiled meanwhile.
const JAVA_WARM_UP: &str = "124 20000";
const CALLER: Policy = Policy::fifo(80);
const WARM_UP: u32 = 100;
const LIMIT_NS: u64 = 10_000_000_000;
const DEVICE: &str = "/dev/binder";
const STOCK: &str = DEVICE;
/// With one end on another processor.
const SPINNING: &str = "lent, spinning";
const APART: &str = "unix socket, apart";
const PAPER: &str = "Paper, µs for 4 and 124 bytes: OKL4 4.15 and 5.59, Binder 242 and 278.";

/// How long does a round trip to another process take, beside what it is made of?
///
/// A FIFO-80 thread sends 4 and 124 bytes to an ordinary thread of another process and waits until
/// they are back; both on one processor. The ways take turns, window by window: a call with a
/// parcel over `lent`, the same with both ends behind a filter of system calls, over /dev/binder
/// where there is one, a bare hand-off by a futex that inherits, a unix socket. Where there are two
/// processors: `lent` with ends that spin, and a socket, each with one end on the other processor.
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
    /// That guest has Debian's standard kernel; `--check` asks nothing of it
    #[arg(long, requires = "lab")]
    standard: bool,
    /// Both ends in Java as well: after `cargo xtask framework`
    #[arg(long, conflicts_with = "lab")]
    java: bool,
    /// Exit code 2 if the median over `lent` is above 1.5 times the bare hand-off's, Java's above
    /// 1.5 times that and 5 µs above it, or the socket's is below 5 times that of ends that spin;
    /// in the lab if it is above 1/1.7 of /dev/binder's
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
    let judged = SIZES.iter().filter(|_| !args.standard);
    let faults = judged.flat_map(|&it| faults(&rows, it, args.lab));
    let faults: Vec<String> = faults.collect();
    Ok(super::verdict("ipc", &faults, args.check))
}

fn in_lab(args: &Args) -> Result<Vec<Row>> {
    let mut words: Vec<String> = ["bench", "ipc", "--json"].map(Into::into).into();
    words.extend(["--calls".into(), args.calls.to_string()]);
    words.extend(["--windows".into(), "1".into()]);
    let guests = match args.standard {
        true => Guests::standard()?,
        false => Guests::open()?,
    };
    let found = guests.sweep::<Vec<Row>>(&words, Transport::Stock, 1)?;
    Ok(found.into_iter().flat_map(|it| it.1).collect())
}

/// One way there and back.
#[allow(clippy::large_enum_variant, reason = "there are a few in a process")]
enum Way {
    Call(&'static str, Server),
    /// The calling thread as well keeps to the filter.
    Filtered(Server),
    HandOff(Bare),
    Socket(&'static str, Bare),
    Java(Pair),
}

impl Way {
    fn name(&self) -> &'static str {
        match self {
            Self::Call(name, _) | Self::Socket(name, _) => name,
            Self::Filtered(_) => "lent, filtered",
            Self::HandOff(_) => "bare futex",
            Self::Java(_) => "lent, Java",
        }
    }

    fn measure(self, bytes: usize, calls: u32) -> Result<(Self, Recorder)> {
        let name = self.name();
        let caller = Builder::new("caller").policy(CALLER);
        let caller = caller.spawn(move || {
            let mut way = self;
            let recorder = match &mut way {
                Self::Call(_, server) => by_calls(&server.remote, bytes, calls),
                Self::Filtered(server) => {
                    filter::enter().and_then(|()| by_calls(&server.remote, bytes, calls))
                }
                Self::HandOff(bare) => by_bytes(bytes, calls, |it, back| bare.hand_over(it, back)),
                Self::Socket(_, bare) => by_bytes(bytes, calls, |it, back| bare.talk(it, back)),
                Self::Java(pair) => by_java(pair, bytes, calls),
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
    let mut ways = ways(args)?;
    if let Some(other) = cpus.iter().find(|&it| it != last) {
        CpuSet::single(other).apply(Tid::current())?;
        let spinning = Server::start(Manner {
            spin_ns: SPIN_NS,
            ..manner(Transport::Lent)
        })?;
        ways.push(Way::Call(SPINNING, spinning));
        ways.push(Way::Socket(APART, Bare::start_urgent()?));
        CpuSet::single(last).apply(Tid::current())?;
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

fn manner(transport: Transport) -> Manner {
    Manner::new(transport, 1, 1)
}

/// Those on one processor.
fn ways(args: &Args) -> Result<Vec<Way>> {
    let mut ways = vec![
        Way::Call("lent", Server::start(manner(Transport::Lent))?),
        Way::Filtered(Server::start(Manner {
            is_filtered: true,
            ..manner(Transport::Lent)
        })?),
        Way::HandOff(Bare::start()?),
        Way::Socket("unix socket", Bare::start()?),
    ];
    if Path::new(DEVICE).exists() {
        let stock = Server::start(manner(Transport::Stock))?;
        ways.push(Way::Call(STOCK, stock));
    }
    if args.java {
        let mut pair = Calls::find()?.start(&["trips"])?;
        pair.line()?;
        pair.ask(JAVA_WARM_UP)?;
        ways.push(Way::Java(pair));
    }
    Ok(ways)
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

/// Java makes them on a thread of its own.
fn by_java(pair: &mut Pair, bytes: usize, calls: u32) -> Result<Recorder> {
    let mut recorder = Recorder::new(LIMIT_NS, 0);
    let line = pair.ask(&format!("{bytes} {calls}"))?;
    for it in line.split_whitespace() {
        recorder.record(it.parse().with_context(|| line.clone())?);
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

/// What was to be shown with messages of a size and was not.
fn faults(rows: &[Row], bytes: usize, is_lab: bool) -> Vec<String> {
    let mut faults = Vec::new();
    let mut judge = |is_fault: bool, what: String| {
        faults.extend(is_fault.then(|| format!("{bytes} bytes: {what}")));
    };
    if is_lab {
        if let Some(times) = times(rows, STOCK, bytes) {
            let what = format!("over lent {times:.2} times of {STOCK}, at most 1/{STOCK_MIN}");
            judge(times * STOCK_MIN > 1.0, what);
        }
        return faults;
    }
    if let Some(times) = times(rows, "bare futex", bytes) {
        let what = format!("over lent {times:.2} times a bare hand-off, at most {BARE_MAX}");
        judge(times > BARE_MAX, what);
    }
    let of = |way| median(rows, way, bytes);
    if let Some((java, native)) = of("lent, Java").zip(of("lent")) {
        let bound = (native * JAVA_MAX).max(native + JAVA_ABOVE_MAX_NS);
        let what = format!("Java takes {java} ns, at most {bound}");
        judge(java > bound, what);
    }
    if let Some((socket, spinning)) = of(APART).zip(of(SPINNING)) {
        let times = socket / spinning;
        let what = format!("a socket takes {times:.2} times what spins, at least {SPIN_MIN}");
        judge(times < SPIN_MIN, what);
    }
    faults
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

    fn row(way: &str, bytes: usize, p50_ns: u64) -> Row {
        Row {
            way: way.to_owned(),
            bytes,
            count: 1,
            p50_ns,
            p99_ns: 0,
            max_ns: 0,
        }
    }

    #[test]
    fn the_median_over_lent_is_held_against_the_bare_hand_off_of_the_same_size() {
        let mut rows = vec![
            row("lent", 4, 15),
            row("bare futex", 4, 10),
            row("lent", 124, 99),
        ];
        assert_eq!(faults(&rows, 4, false), [""; 0]);
        assert_eq!(
            faults(&rows, 124, false),
            [""; 0],
            "nothing to hold it against"
        );
        rows[0].p50_ns = 16;
        assert!(faults(&rows, 4, false)[0].contains("1.60 times"));
        assert_eq!(faults(&rows, 4, true), [""; 0], "a guest's rule is another");
    }

    #[test]
    fn java_spinning_and_the_stock_driver_are_judged() {
        let mut rows = vec![
            row("lent", 4, 10_000),
            row("lent, Java", 4, 15_000),
            row(SPINNING, 4, 2_000),
            row(APART, 4, 10_000),
            row(STOCK, 4, 17_000),
        ];
        assert_eq!(faults(&rows, 4, false), [""; 0]);
        assert_eq!(faults(&rows, 4, true), [""; 0]);
        rows[1].p50_ns += 1;
        rows[3].p50_ns -= 1;
        rows[4].p50_ns -= 1;
        assert_eq!(faults(&rows, 4, false).len(), 2);
        assert_eq!(faults(&rows, 4, true).len(), 1);
    }
}
