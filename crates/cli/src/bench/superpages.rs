// SPDX-License-Identifier: Apache-2.0
//! `takt bench superpages`: the thesis's experiment on large buffers, and a heap's walk, over small
//! pages and over large ones. What the kernel has granted is read, never assumed.

use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::{Context as _, Result, ensure};
use perf_event::events::{Cache, CacheOp, CacheResult, Event, Hardware, WhichCache};
use perf_event::{Builder, Counter};
use report::Table;
use rt::clock::{Clock, Monotonic};
use rt::memory::{Mapping, PageKind};
use serde::Serialize;

use super::verdict;

/// What do superpages give a heap and large buffers?
///
/// `walk` follows references at random through a memory as large as a heap. `frame` draws one: a
/// background of 1920 by 1080 is copied into a window's buffer, and a picture is drawn on it column
/// by column. Both run over pages of 4 KiB, over transparent ones of 2 MiB (madvise) and over
/// reserved ones of 2 MiB, in turns. Misses of the TLB and cycles are counted where the processor
/// lets us, else time alone. What was granted is what /proc/self/smaps says.
#[derive(clap::Args)]
#[command(after_help = "Example:\n  takt bench superpages --mb 64 --runs 16")]
pub(crate) struct Args {
    /// Memory of the walk, in MB
    #[arg(long, default_value_t = 512, value_parser = clap::value_parser!(u64).range(1..=16384))]
    mb: u64,
    /// Measurements of each: the thesis has 128
    #[arg(long, default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    runs: u32,
    /// Fail if the kernel offers transparent pages and grants none, or if a walk with nine tenths
    /// of its memory in superpages takes longer than over small pages, at the median
    #[arg(long)]
    check: bool,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

const MB: usize = 1_000_000;
/// References that are followed in one measurement.
const STEPS: u32 = 200_000;
/// A line of the processor's cache holds one reference.
const NODE_BYTES: usize = 64;
const WIDTH: usize = 1920;
const HEIGHT: usize = 1080;
const PIXEL_BYTES: usize = 4;
const FRAME_BYTES: usize = WIDTH * HEIGHT * PIXEL_BYTES;
/// The picture's columns, from the middle on.
const COLUMNS: usize = 64;
const OFFERED: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
/// Of what could lie in superpages, for a walk to be judged.
const GRANTED_MIN: f64 = 0.9;
const SEED: u64 = 7;
/// The thesis's figures, on its phone: 64 KiB in place of 4 KiB.
const THESIS: &str =
    "the thesis, drawing a frame with 64 KiB pages: TLB misses -39 %, cycles -2.4 %";

const KINDS: [(PageKind, &str); 3] = [
    (PageKind::Small, "4 KiB"),
    (PageKind::TransparentHuge, "2 MiB, transparent"),
    (PageKind::ReservedHuge, "2 MiB, reserved"),
];

/// One kind of memory under one load.
#[derive(Clone, Debug, Serialize)]
struct Row {
    load: &'static str,
    pages: &'static str,
    /// KiB in superpages, of all KiB.
    granted_kib: u64,
    kib: u64,
    /// Faulting all of it in.
    fault_in_ns: u64,
    /// Medians of a measurement.
    time_ns: u64,
    misses: Option<u64>,
    cycles: Option<u64>,
}

#[derive(Clone, Debug, Serialize)]
struct Outcome {
    rows: Vec<Row>,
    /// Kinds of pages that there were none of, and why.
    refused: Vec<String>,
    /// Why nothing but time was measured.
    no_counters: Option<String>,
    /// Does the kernel give transparent ones to who asks?
    is_offered: bool,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let mut outcome = Outcome {
        rows: Vec::new(),
        refused: Vec::new(),
        no_counters: None,
        is_offered: is_offered(),
    };
    let mut counters = match Counters::new() {
        Ok(counters) => Some(counters),
        Err(error) => {
            outcome.no_counters = Some(error.to_string());
            None
        }
    };
    let walk_bytes = usize::try_from(args.mb).unwrap_or(usize::MAX) * MB;
    for (load, bytes) in [(Load::Walk, walk_bytes), (Load::Frame, 2 * FRAME_BYTES)] {
        let places = places(load, bytes, &mut outcome.refused);
        outcome
            .rows
            .extend(measure(load, places, args.runs, counters.as_mut())?);
    }
    match args.json {
        true => println!("{}", serde_json::to_string_pretty(&outcome)?),
        false => print!("{}", text(&outcome)),
    }
    Ok(verdict("superpages", &faults(&outcome), args.check))
}

fn is_offered() -> bool {
    let setting = std::fs::read_to_string(OFFERED).unwrap_or_default();
    setting.contains("[madvise]") || setting.contains("[always]")
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Load {
    Walk,
    Frame,
}

impl Load {
    fn name(self) -> &'static str {
        match self {
            Self::Walk => "walk",
            Self::Frame => "frame",
        }
    }

    fn prepare(self, memory: &mut [u8]) {
        match self {
            Self::Walk => link(memory),
            Self::Frame => memory.fill(1),
        }
    }

    /// Something that depends on all of it, so that nothing is left out.
    fn once(self, memory: &mut [u8]) -> u64 {
        match self {
            Self::Walk => walk(memory),
            Self::Frame => draw(memory),
        }
    }
}

/// All nodes in one circle, in an order that nobody can foresee.
fn link(memory: &mut [u8]) {
    let count = memory.len() / NODE_BYTES;
    let mut random = fastrand::Rng::with_seed(SEED);
    let mut order: Vec<u32> = (0..count as u32).collect();
    random.shuffle(&mut order);
    let follow = order.iter().cycle().skip(1);
    for (from, to) in order.iter().zip(follow) {
        let place = *from as usize * NODE_BYTES;
        memory[place..place + 4].copy_from_slice(&to.to_le_bytes());
    }
}

fn walk(memory: &[u8]) -> u64 {
    let mut node = 0_u32;
    for _ in 0..STEPS {
        let place = node as usize * NODE_BYTES;
        let bytes = &memory[place..place + 4];
        node = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
    node.into()
}

fn draw(memory: &mut [u8]) -> u64 {
    let (background, window) = memory.split_at_mut(FRAME_BYTES);
    window[..FRAME_BYTES].copy_from_slice(background);
    for column in WIDTH / 2..WIDTH / 2 + COLUMNS {
        for row in 0..HEIGHT {
            let place = (row * WIDTH + column) * PIXEL_BYTES;
            window[place..place + PIXEL_BYTES].fill(column as u8);
        }
    }
    window[FRAME_BYTES / 2].into()
}

/// Memory of one kind, ready.
struct Place {
    pages: &'static str,
    memory: Mapping,
    granted_kib: u64,
    fault_in_ns: u64,
}

fn places(load: Load, bytes: usize, refused: &mut Vec<String>) -> Vec<Place> {
    let mut places = Vec::new();
    for (kind, pages) in KINDS {
        let start_ns = Monotonic.now_ns();
        match Mapping::populated(bytes, kind) {
            Ok(mut memory) => {
                let fault_in_ns = Monotonic.now_ns() - start_ns;
                load.prepare(memory.bytes_mut());
                let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap_or_default();
                let granted_kib = granted_kib(&smaps, memory.bytes().as_ptr().addr());
                places.push(Place {
                    pages,
                    memory,
                    granted_kib,
                    fault_in_ns,
                });
            }
            Err(error) => refused.push(format!("{}, {pages}: {error}", load.name())),
        }
    }
    places
}

/// KiB of superpages in the mapping that holds this address.
fn granted_kib(smaps: &str, address: usize) -> u64 {
    let holds = |line: &str| {
        let (low, high) = line.split_whitespace().next()?.split_once('-')?;
        let low = usize::from_str_radix(low, 16).ok()?;
        let high = usize::from_str_radix(high, 16).ok()?;
        Some(low <= address && address < high)
    };
    let mut is_own = false;
    let mut kib = 0;
    for line in smaps.lines() {
        if let Some(found) = holds(line) {
            is_own = found;
        }
        let value = ["AnonHugePages:", "Private_Hugetlb:", "ShmemPmdMapped:"]
            .iter()
            .find_map(|it| line.strip_prefix(it));
        if let Some(value) = value.filter(|_| is_own) {
            let number = value.trim().trim_end_matches(" kB");
            kib += number.parse::<u64>().unwrap_or(0);
        }
    }
    kib
}

/// In turns, so that what the host does, it does to all of them.
fn measure(
    load: Load,
    mut places: Vec<Place>,
    runs: u32,
    mut counters: Option<&mut Counters>,
) -> Result<Vec<Row>> {
    ensure!(!places.is_empty(), "no memory for {}", load.name());
    let mut samples = vec![Vec::new(); places.len()];
    let mut sum = 0;
    for _ in 0..runs {
        for (place, samples) in places.iter_mut().zip(&mut samples) {
            if let Some(counters) = counters.as_deref_mut() {
                counters.begin()?;
            }
            let start_ns = Monotonic.now_ns();
            sum += load.once(place.memory.bytes_mut());
            let time_ns = Monotonic.now_ns() - start_ns;
            let counted = counters.as_deref_mut().map(Counters::end).transpose()?;
            samples.push((time_ns, counted.unwrap_or_default()));
        }
    }
    std::hint::black_box(sum);
    let is_counted = counters.is_some();
    let row = |(place, samples): (Place, Vec<(u64, Counted)>)| Row {
        load: load.name(),
        pages: place.pages,
        granted_kib: place.granted_kib,
        kib: (place.memory.bytes().len() >> 10) as u64,
        fault_in_ns: place.fault_in_ns,
        time_ns: median(samples.iter().map(|it| it.0)),
        misses: is_counted.then(|| median(samples.iter().map(|it| it.1.misses))),
        cycles: is_counted.then(|| median(samples.iter().map(|it| it.1.cycles))),
    };
    Ok(places.into_iter().zip(samples).map(row).collect())
}

fn median(values: impl Iterator<Item = u64>) -> u64 {
    let mut sorted: Vec<u64> = values.collect();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied().unwrap_or(0)
}

/// The processor's own figures of one measurement.
#[derive(Clone, Copy, Default)]
struct Counted {
    misses: u64,
    cycles: u64,
}

struct Counters {
    misses: Counter,
    cycles: Counter,
}

impl Counters {
    fn new() -> Result<Self> {
        let counter = |event: Event, name: &str| {
            let counter = Builder::new().kind(event).build();
            counter.with_context(|| format!("no counter of {name}"))
        };
        let misses = Cache {
            which: WhichCache::DTLB,
            operation: CacheOp::READ,
            result: CacheResult::MISS,
        };
        Ok(Self {
            misses: counter(misses.into(), "TLB misses")?,
            cycles: counter(Hardware::CPU_CYCLES.into(), "cycles")?,
        })
    }

    fn begin(&mut self) -> Result<()> {
        for counter in [&mut self.misses, &mut self.cycles] {
            counter.reset()?;
            counter.enable()?;
        }
        Ok(())
    }

    fn end(&mut self) -> Result<Counted> {
        self.misses.disable()?;
        self.cycles.disable()?;
        Ok(Counted {
            misses: self.misses.read()?,
            cycles: self.cycles.read()?,
        })
    }
}

fn faults(outcome: &Outcome) -> Vec<String> {
    let mut faults = Vec::new();
    for row in &outcome.rows {
        let (small, transparent) = (KINDS[0].1, KINDS[1].1);
        let is_granted = row.granted_kib as f64 >= GRANTED_MIN * row.kib as f64;
        if row.pages == transparent && outcome.is_offered && row.granted_kib == 0 {
            faults.push(format!(
                "{}, {}: the kernel offers them and granted none",
                row.load, row.pages
            ));
        }
        let mut rows = outcome.rows.iter();
        let base = rows.find(|it| it.load == row.load && it.pages == small);
        let base_ns = base.map_or(u64::MAX, |it| it.time_ns);
        if row.load == Load::Walk.name() && is_granted && row.time_ns > base_ns {
            faults.push(format!(
                "walk, {}: {} ns, over small pages {base_ns} ns",
                row.pages, row.time_ns
            ));
        }
    }
    faults
}

fn text(outcome: &Outcome) -> String {
    let mut table = Table::new([
        "load",
        "pages",
        "granted",
        "fault-in ms",
        "time µs",
        "TLB misses",
        "cycles",
    ]);
    let count = |it: Option<u64>| it.map_or_else(|| "-".to_owned(), |it| it.to_string());
    for row in &outcome.rows {
        table.row([
            row.load.to_owned(),
            row.pages.to_owned(),
            format!("{} %", row.granted_kib * 100 / row.kib.max(1)),
            format!("{:.1}", row.fault_in_ns as f64 / 1e6),
            format!("{:.0}", row.time_ns as f64 / 1e3),
            count(row.misses),
            count(row.cycles),
        ]);
    }
    let mut text = table.to_string();
    for refused in &outcome.refused {
        let _ = writeln!(text, "not there: {refused}");
    }
    if let Some(why) = &outcome.no_counters {
        let _ = writeln!(
            text,
            "time alone: {why} (this processor or machine shows none)"
        );
    }
    let _ = writeln!(text, "{THESIS}");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_granted_is_of_the_own_mapping() {
        let smaps = "1000-3000 rw-p 00000000 00:00 0\nAnonHugePages:      2048 kB\n\
                     3000-9000 rw-p 00000000 00:00 0\nAnonHugePages:      4096 kB\n\
                     Private_Hugetlb:    1024 kB\n9000-a000 r--p 0 00:00 0\nAnonHugePages: 8 kB\n";
        assert_eq!(granted_kib(smaps, 0x3000), 5120);
        assert_eq!(granted_kib(smaps, 0x1fff), 2048);
        assert_eq!(granted_kib(smaps, 0xa000), 0);
    }

    #[test]
    fn a_walk_comes_to_every_node() {
        let mut memory = vec![0; 100 * NODE_BYTES];
        link(&mut memory);
        let (mut node, mut seen) = (0_usize, std::collections::HashSet::new());
        for _ in 0..100 {
            seen.insert(node);
            node = memory[node * NODE_BYTES] as usize;
        }
        assert_eq!((node, seen.len()), (0, 100));
        // 200,000 steps are whole rounds.
        assert_eq!(walk(&memory), 0);
    }

    #[test]
    fn pages_that_are_offered_must_come_and_must_help() {
        let row = |pages, granted_kib, time_ns| Row {
            load: "walk",
            pages,
            granted_kib,
            kib: 100,
            fault_in_ns: 0,
            time_ns,
            misses: None,
            cycles: None,
        };
        let mut outcome = Outcome {
            rows: vec![row("4 KiB", 0, 10), row("2 MiB, transparent", 90, 9)],
            refused: Vec::new(),
            no_counters: None,
            is_offered: true,
        };
        assert!(faults(&outcome).is_empty());
        outcome.rows[1] = row("2 MiB, transparent", 89, 11);
        assert!(faults(&outcome).is_empty());
        outcome.rows[1] = row("2 MiB, transparent", 0, 9);
        assert_eq!(faults(&outcome).len(), 1);
        outcome.is_offered = false;
        assert!(faults(&outcome).is_empty());
        outcome.rows[1] = row("2 MiB, transparent", 100, 11);
        assert_eq!(faults(&outcome).len(), 1);
    }
}
