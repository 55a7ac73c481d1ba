// SPDX-License-Identifier: Apache-2.0
//! A day in fast forward: what is left of the heap's blocks when sizes and the number of survivors
//! change by the hour.
//!
//! Nothing moves, so a block of one size class stays that while one object in it lives. Each phase
//! allocates other sizes and lets part of them live; when the next phase wants fewer bytes alive,
//! it drops objects at random, which leaves holes everywhere. A part of every hour's survivors
//! stays to the end of the day.

use anyhow::{Result, ensure};
use heap::{AllocSite, CollectorKind, LayoutRef, Local, Mutator, ObjectRef, Occupancy};
use report::Table;

use crate::Args;
use crate::window::{rss_mb, start_heap};
use crate::workload::{Kinds, NODE_A, NODE_BYTES, Random, store, store_element};

const HOURS: u64 = 24;
/// How many times the bytes alive, now or an hour ago, the blocks in use may be after a full
/// collection.
const USED_PER_LIVE_MAX: u64 = 4;
/// Beside that, one block or two of each class that has few objects.
const USED_BYTES_FREE: u64 = 8 << 20;

/// What an hour is like. Sizes in bytes, each as likely as the other; the next one up to a quarter
/// larger.
struct Phase {
    name: &'static str,
    /// Percent of `--live-mb` that are alive.
    live_percent: u64,
    sizes: [u32; 8],
}

const PHASES: [Phase; 4] = [
    Phase {
        name: "night",
        live_percent: 30,
        sizes: [20, 24, 24, 32, 40, 48, 64, 100],
    },
    Phase {
        name: "morning",
        live_percent: 60,
        sizes: [24, 40, 56, 80, 120, 200, 400, 600],
    },
    Phase {
        name: "noon",
        live_percent: 80,
        sizes: [24, 32, 100, 300, 1000, 2000, 4000, 9000],
    },
    Phase {
        name: "evening",
        live_percent: 70,
        sizes: [24, 80, 500, 2500, 6000, 12_000, 40_000, 160_000],
    },
];

/// Night to 6, morning to 10, noon to 14, then evening and once more a noon's work, night from 22.
const PHASE_OF_HOUR: [usize; HOURS as usize] = [
    0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 2, 2, 3, 3, 3, 3, 0, 0,
];

/// One object in this many is kept.
const SURVIVES_ONE_IN: u32 = 16;
/// One survivor in this many stays to the end of the day.
const STAYS_ONE_IN: u32 = 256;
/// One survivor in this many is a circle of two nodes.
const CIRCLE_ONE_IN: u32 = 8;

pub(crate) fn run(args: &Args, megabytes: u64) -> Result<()> {
    let marks = play(args, megabytes, HOURS, |mark| println!("{}", mark.line()))?;
    println!("\n{}", text(&marks));
    judge(&marks)
}

/// The heap at the end of an hour.
struct Mark {
    hour: u64,
    phase: &'static str,
    /// Bytes of the cells that hold living objects.
    live_bytes: u64,
    /// Bytes of blocks in use while the load ran, floating garbage included.
    busy_bytes: u64,
    /// After a full collection.
    after: Occupancy,
    rss_mb: u64,
}

impl Mark {
    fn cells(&self) -> [String; 11] {
        let mb = |bytes: u64| format!("{}", bytes >> 20);
        let it = &self.after;
        [
            self.hour.to_string(),
            self.phase.to_owned(),
            mb(self.live_bytes),
            mb(self.busy_bytes),
            mb(it.used_bytes()),
            format!("{:.2}", it.used_bytes() as f64 / self.live_bytes as f64),
            mb(it.committed_bytes),
            format!("{} of {}", it.partial_blocks, it.small_blocks()),
            mb(it.cell_free_bytes),
            mb(it.largest_free_bytes),
            self.rss_mb.to_string(),
        ]
    }

    fn line(&self) -> String {
        self.cells().join(" | ")
    }
}

fn text(marks: &[Mark]) -> String {
    let mut table = Table::new([
        "hour, MB",
        "phase",
        "live",
        "in use, running",
        "in use",
        "× live",
        "committed",
        "blocks part filled",
        "free in them",
        "largest free run",
        "RSS",
    ]);
    marks.iter().for_each(|mark| table.row(mark.cells()));
    format!("{table}\nin use and what follows: after a full collection at the end of the hour\n")
}

/// Space is lost to holes only up to a bound, and no more on the second day than on the first.
fn judge(marks: &[Mark]) -> Result<()> {
    for (index, mark) in marks.iter().enumerate() {
        let before = &marks[index.saturating_sub(1)];
        let (used, hour) = (mark.after.used_bytes(), mark.hour);
        let bound = mark.live_bytes.max(before.live_bytes) * USED_PER_LIVE_MAX;
        ensure!(
            used <= bound + USED_BYTES_FREE,
            "hour {hour}: {used} bytes of blocks for {} alive",
            mark.live_bytes
        );
        let Some(yesterday) = index.checked_sub(HOURS as usize) else {
            continue;
        };
        let yesterday = marks[yesterday].after.used_bytes();
        ensure!(
            used <= yesterday + yesterday / 4 + USED_BYTES_FREE,
            "hour {hour}: {used} bytes of blocks, the day before {yesterday}"
        );
    }
    Ok(())
}

/// Allocates `megabytes` a day, an equal part in each hour. At midnight goes what stayed all day.
fn play(args: &Args, megabytes: u64, hours: u64, mut seen: impl FnMut(&Mark)) -> Result<Vec<Mark>> {
    let heap = start_heap(args, CollectorKind::Rc)?;
    let mut day = Day::new(heap.attach(false, &[]), args)?;
    let mut marks = Vec::new();
    for hour in 0..hours {
        if hour % HOURS == 0 {
            day.stayers.clear(&mut day.mutator);
        }
        let phase = &PHASES[PHASE_OF_HOUR[(hour % HOURS) as usize]];
        day.run(phase, megabytes * 1_000_000 / HOURS)?;
        let busy_bytes = heap.occupancy().used_bytes();
        // What is young in the first is freed by the second.
        day.mutator.collect_full();
        day.mutator.collect_full();
        let mark = Mark {
            hour: hour + 1,
            phase: phase.name,
            live_bytes: heap.counters().live_bytes.get(),
            busy_bytes,
            after: heap.occupancy(),
            rss_mb: rss_mb(),
        };
        seen(&mark);
        marks.push(mark);
    }
    let verdict = day.mutator.verify();
    let fault = verdict.faults.first();
    ensure!(fault.is_none(), "the heap is not in order: {fault:?}");
    Ok(marks)
}

/// The program.
struct Day {
    mutator: Mutator,
    kinds: Kinds,
    bytes: LayoutRef,
    random: Random,
    survivors: Keeper,
    stayers: Keeper,
    /// Bytes of live objects per percent in `PHASES`.
    percent_bytes: u64,
    /// The program waits for the collector each time it allocated this much. At the true rate of a
    /// day the collector has seconds for it; in fast forward the program would be far ahead
    /// instead, and holes tell of that.
    epoch_bytes: u64,
}

impl Day {
    fn new(mut mutator: Mutator, args: &Args) -> Result<Self> {
        let kinds = Kinds::new(mutator.heap())?;
        let layout = abi::layout::Layout::primitive_array(0);
        let bytes = mutator.heap().metadata().add(layout, &[])?;
        // As many of the night's objects.
        let places = args.live_mb * 8192;
        Ok(Self {
            survivors: Keeper::new(&mut mutator, kinds, places)?,
            stayers: Keeper::new(&mut mutator, kinds, places / 16)?,
            kinds,
            bytes,
            random: Random::new(),
            epoch_bytes: mutator.heap().config().epoch_bytes.into(),
            percent_bytes: u64::from(args.live_mb) * 10_000,
            mutator,
        })
    }

    fn run(&mut self, phase: &Phase, bytes: u64) -> Result<()> {
        let live_bytes = phase.live_percent * self.percent_bytes;
        let (mut allocated, mut settled) = (0, 0);
        while allocated < bytes {
            if allocated - settled > self.epoch_bytes {
                settled = allocated;
                self.mutator.collect_epoch();
            }
            let size = phase.sizes[self.random.below(8) as usize];
            let length = size + self.random.below(size / 4);
            allocated += u64::from(self.object(length)?);
            while self.survivors.bytes > live_bytes {
                let place = self.random.below(self.survivors.count());
                self.survivors.remove(&mut self.mutator, place);
            }
            self.mutator.poll();
        }
        Ok(())
    }

    /// Allocates one and decides its fate; its bytes.
    fn object(&mut self, length: u32) -> Result<u32> {
        let survives = self.random.below(SURVIVES_ONE_IN) == 0;
        let (object, bytes) = if survives && self.random.below(CIRCLE_ONE_IN) == 0 {
            (circle(&mut self.mutator, self.kinds.node)?, 2 * NODE_BYTES)
        } else {
            let object = self.mutator.alloc_array(self.bytes, length)?;
            (
                object,
                abi::object::array_bytes(length, 0).unwrap_or(length),
            )
        };
        if survives {
            let stays = self.random.below(STAYS_ONE_IN) == 0 && bytes < 4096;
            let keeper = if stays {
                &mut self.stayers
            } else {
                &mut self.survivors
            };
            keeper.add(&mut self.mutator, object, bytes, &mut self.random);
        }
        Ok(bytes)
    }
}

fn circle(mutator: &mut Mutator, node: AllocSite) -> Result<ObjectRef> {
    let first = mutator.alloc(node)?;
    let root = mutator.local(first);
    let second = mutator.alloc(node)?;
    let first = mutator.get(root);
    store(mutator, first, NODE_A, second);
    store(mutator, second, NODE_A, first);
    mutator.truncate_locals(mutator.local_count() - 1);
    Ok(first)
}

/// Holds objects in no order, in an array of arrays.
struct Keeper {
    table: Local,
    /// Bytes of each.
    sizes: Vec<u32>,
    place_count: u32,
    bytes: u64,
}

const LEAF: u32 = 1024;

impl Keeper {
    fn new(mutator: &mut Mutator, kinds: Kinds, place_count: u32) -> Result<Self> {
        let table = mutator.alloc_array(kinds.array, place_count.div_ceil(LEAF))?;
        let table = mutator.local(table);
        for index in 0..place_count.div_ceil(LEAF) {
            let leaf = mutator.alloc_array(kinds.array, LEAF)?;
            let table = mutator.get(table);
            store_element(mutator, table, index, leaf);
        }
        Ok(Self {
            table,
            sizes: Vec::new(),
            place_count,
            bytes: 0,
        })
    }

    fn count(&self) -> u32 {
        self.sizes.len() as u32
    }

    fn leaf(&self, mutator: &Mutator, place: u32) -> ObjectRef {
        let table = mutator.get(self.table);
        mutator.read(table.element(place / LEAF))
    }

    fn set(&self, mutator: &mut Mutator, place: u32, object: ObjectRef) {
        let leaf = self.leaf(mutator, place);
        store_element(mutator, leaf, place % LEAF, object);
    }

    /// Takes an object in; instead of another one if it is full.
    fn add(&mut self, mutator: &mut Mutator, object: ObjectRef, bytes: u32, random: &mut Random) {
        if self.count() == self.place_count {
            self.remove(mutator, random.below(self.place_count));
        }
        self.set(mutator, self.count(), object);
        self.sizes.push(bytes);
        self.bytes += u64::from(bytes);
    }

    fn clear(&mut self, mutator: &mut Mutator) {
        while self.count() > 0 {
            self.remove(mutator, self.count() - 1);
        }
    }

    /// Drops an object; the last one takes its place.
    fn remove(&mut self, mutator: &mut Mutator, place: u32) {
        let last = self.count() - 1;
        let moved = mutator.read(self.leaf(mutator, last).element(last % LEAF));
        self.set(mutator, place, moved);
        self.set(mutator, last, ObjectRef::NULL);
        self.bytes -= u64::from(self.sizes.swap_remove(place as usize));
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    /// An excerpt: two days of some seconds, in a small heap.
    #[test]
    fn holes_have_a_bound_and_do_not_grow() {
        let args = Args::parse_from(["bench-gc", "--priority=0", "--heap-mb=40", "--live-mb=10"]);
        let marks = play(&args, 120, 2 * HOURS, |_| ()).unwrap();
        eprintln!("{}", text(&marks));
        assert_eq!(marks.len() as u64, 2 * HOURS);
        judge(&marks).unwrap();
    }
}
