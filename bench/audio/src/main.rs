// SPDX-License-Identifier: Apache-2.0
//! `bench-audio`: one run of experiment `audio`, started by `takt bench audio`: bursts whose work
//! jumps, on a device of `sound`, and what they met. Prints one line of JSON.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, reason = "a program that another one reads")]

mod load;
mod processor;
mod reactive;

use std::process::ExitCode;
use std::sync::atomic::AtomicI32;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock, Weak};

use anyhow::{Context, Result};
use clap::{Parser, ValueEnum};
use rt::clock::{Clock as _, Monotonic};
use rt::policy::{Policy, Tid};
use rt::sync::PiMutex;
use serde::Serialize;
use sound::{
    Backend, Call, Direction, Flow, Format, Governor, Model, Playback, State, Stream, Wanted,
};

use load::{Load, cost_ppm};
use processor::{LARGEST, POWER, Processor, SPEEDS, level_for};
use reactive::Reactive;

#[global_allocator]
static ALLOCATOR: rt::guard::GuardedAllocator = rt::guard::GuardedAllocator::system();

const RATE: u32 = 48_000;
const PLAYER: Policy = Policy::fifo(80);
/// The machine may be slower than its card.
const PATIENCE_NS: u64 = 600_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Mode {
    /// FIFO, the processor at its largest speed
    Max,
    /// FIFO, a governor that looks back
    Reactive,
    /// A reservation by the paper's predictor, and the speed by it
    Paper,
    /// A reservation by our predictor, and the speed by it
    Ours,
}

#[derive(Parser)]
struct Args {
    #[arg(long)]
    mode: Mode,
    /// As `TAKT_SOUND` names one, without its burst
    #[arg(long, default_value = "null")]
    device: String,
    #[arg(long, default_value_t = 64)]
    burst: u32,
    /// Bursts in the buffer
    #[arg(long, default_value_t = 2)]
    buffer: u32,
    /// Bursts of one number of notes
    #[arg(long, default_value_t = 2_250)]
    step: u64,
    /// Steps of 5 and 185 notes by turns
    #[arg(long, default_value_t = 4)]
    turns: u64,
    /// Steps of numbers at random
    #[arg(long, default_value_t = 20)]
    random: u64,
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// What a run gave.
#[derive(Debug, Serialize)]
struct Row {
    mode: String,
    bursts: u64,
    latency_ns: u64,
    underruns: u32,
    /// Time at each level.
    residency_ns: [u64; SPEEDS.len()],
    /// The same while the numbers of notes are at random.
    random_ns: [u64; SPEEDS.len()],
    /// Power without a unit times seconds, over 1,000 as in the paper.
    energy: f64,
    overruns: u64,
    jumps: u64,
    /// From a call with more notes to a speed that carries them: the longest.
    to_speed_ns_max: u64,
    /// Calls with more notes whose reservation did not hold them, in a row: the most.
    uncovered_max: u64,
    /// The same without the first time that a number is met.
    uncovered_known_max: u64,
    policy: String,
}

/// What the callback counts. Only its thread writes while it runs.
#[derive(Debug, Default)]
struct Seen {
    burst: u64,
    jumps: u64,
    /// When the last rise began, until the speed carries it.
    rising_ns: Option<u64>,
    to_speed_ns_max: u64,
    overruns: u64,
    /// Since the last rise, all of them not covered.
    uncovered: Option<u64>,
    uncovered_max: u64,
    most_notes: u32,
    is_known: bool,
    uncovered_known_max: u64,
    /// Time at each level before the numbers are at random.
    turns_ns: [u64; SPEEDS.len()],
}

impl Seen {
    /// A call begins; so many calls so far had no reservation that held them.
    fn begin(&mut self, load: &Load, level: usize, overruns: u64) {
        if overruns == self.overruns {
            self.uncovered = None;
        } else if let Some(count) = &mut self.uncovered {
            *count += 1;
            self.uncovered_max = self.uncovered_max.max(*count);
            if self.is_known {
                self.uncovered_known_max = self.uncovered_known_max.max(*count);
            }
        }
        self.overruns = overruns;
        let notes = load.notes(self.burst);
        if load.has_risen(self.burst) {
            self.jumps += 1;
            self.rising_ns = Some(Monotonic.now_ns());
            self.uncovered = Some(0);
            self.is_known = notes <= self.most_notes;
        }
        self.most_notes = self.most_notes.max(notes);
        if let Some(since_ns) = self.rising_ns
            && level_for(cost_ppm(notes) / 1_000) <= level
        {
            let took_ns = Monotonic.now_ns() - since_ns;
            self.to_speed_ns_max = self.to_speed_ns_max.max(took_ns);
            self.rising_ns = None;
        }
        self.burst += 1;
    }
}

/// What the threads of a run share.
struct Run {
    processor: Arc<Processor>,
    seen: PiMutex<Seen>,
    load: Load,
    period_ns: u64,
    player: Arc<AtomicI32>,
    stream: OnceLock<Weak<Stream>>,
}

impl Run {
    /// The synthesiser: announces the next call's notes, and computes this one's.
    fn call(&self) -> Flow {
        self.player.store(Tid::current().raw(), Relaxed);
        let stream = self.stream.get().and_then(Weak::upgrade);
        let found = stream.as_ref().map_or(0, |it| {
            let found = it.overruns();
            found.freed + found.late + found.raised
        });
        let mut seen = self.seen.lock();
        let notes = self.load.notes(seen.burst);
        if seen.burst == self.load.turns() {
            seen.turns_ns = self.processor.residency_ns();
        }
        seen.begin(&self.load, self.processor.level(), found);
        let next = seen.burst;
        drop(seen);
        if let Some(stream) = stream {
            stream.set_work_units(self.load.notes(next));
        }
        self.processor
            .work(self.period_ns * cost_ppm(notes) / 1_000_000);
        match next < self.load.bursts() {
            true => Flow::Continue,
            false => Flow::Stop,
        }
    }
}

fn run(args: &Args) -> Result<Row> {
    let run = Arc::new(Run {
        processor: Arc::new(Processor::new()),
        seen: PiMutex::default(),
        load: Load::new(args.step, args.turns, args.random, args.seed),
        period_ns: u64::from(args.burst) * 1_000_000_000 / u64::from(RATE),
        player: Arc::default(),
        stream: OnceLock::new(),
    });
    let model = match args.mode {
        Mode::Max | Mode::Reactive => None,
        Mode::Paper => Some(Model::Paper),
        Mode::Ours => Some(Model::Ours),
    };
    let governor = model.map(|_| {
        let processor = Arc::clone(&run.processor);
        Governor::new(&SPEEDS, move |level| processor.set(level))
    });
    let called = Arc::clone(&run);
    let playback = Playback {
        callback: Box::new(move |_: &mut [u8], _: Call| called.call()),
        frames: None,
        policy: Some(PLAYER),
        reserve: model,
        governor,
    };
    let wanted = Wanted {
        direction: Direction::Output,
        rate: Some(RATE),
        channels: Some(2),
        format: Some(Format::I16),
        capacity: Some(args.buffer * args.burst),
    };
    let device = Backend::parse(&format!("{},burst={}", args.device, args.burst))?;
    let stream = Arc::new(Stream::open(&device, &wanted, Some(playback), None)?);
    stream.set_buffer_size(args.buffer * args.burst);
    let _first = run.stream.set(Arc::downgrade(&stream));
    let reactive = match args.mode {
        Mode::Reactive => {
            let (processor, player) = (Arc::clone(&run.processor), Arc::clone(&run.player));
            Some(Reactive::start(processor, player)?)
        }
        _ => None,
    };
    stream.set_work_units(run.load.notes(0));
    run.processor.clear();
    stream.start()?;
    let (mut state, due_ns) = (stream.state(), Monotonic.now_ns() + PATIENCE_NS);
    let mut grant = stream.grant();
    while !matches!(state, State::Stopped | State::Disconnected) {
        state = stream
            .wait_for_change(state, due_ns)
            .context("the stream does not end")?;
        grant = stream.grant();
    }
    let residency_ns = run.processor.residency_ns();
    if let Some(reactive) = reactive {
        reactive.end();
    }
    Ok(row(args, &run, &stream, residency_ns, &grant))
}

fn row(
    args: &Args,
    run: &Run,
    stream: &Stream,
    residency_ns: [u64; SPEEDS.len()],
    grant: &sound::Grant,
) -> Row {
    let seen = run.seen.lock();
    let spent = residency_ns.iter().zip(POWER);
    let energy: f64 = spent
        .map(|(ns, power)| *ns as f64 / 1e9 * power as f64)
        .sum();
    let granted = grant
        .granted
        .map_or_else(|| "none".to_owned(), |it| it.to_string());
    let policy = match &grant.refusal {
        Some(why) => format!("{granted}: {why}"),
        None => granted,
    };
    let mode = args.mode.to_possible_value();
    Row {
        mode: mode.map_or_else(String::new, |it| it.get_name().to_owned()),
        bursts: seen.burst,
        latency_ns: stream.granted().duration_ns(stream.buffer_size().into()),
        underruns: stream.xruns(),
        residency_ns,
        random_ns: std::array::from_fn(|it| residency_ns[it] - seen.turns_ns[it]),
        energy: energy / 1_000.0,
        overruns: seen.overruns,
        jumps: seen.jumps,
        to_speed_ns_max: match seen.rising_ns {
            Some(since_ns) => seen.to_speed_ns_max.max(Monotonic.now_ns() - since_ns),
            None => seen.to_speed_ns_max,
        },
        uncovered_max: seen.uncovered_max,
        uncovered_known_max: seen.uncovered_known_max,
        policy,
    }
}

fn main() -> ExitCode {
    const { assert!(LARGEST + 1 == POWER.len()) };
    match run(&Args::parse()).and_then(|row| Ok(serde_json::to_string(&row)?)) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("bench-audio: {error:#}");
            ExitCode::FAILURE
        }
    }
}
