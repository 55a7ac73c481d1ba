// SPDX-License-Identifier: Apache-2.0
//! Experiment gc-cost (thesis, 5.4.4): 200 allocations of an object with one reference and stores
//! into four of them, a thousand times, with a collection after each; `rc` and `stw` in turn in one
//! process. The thesis has 80 stores, some 50 ns of them: the clock would be half of that, so there
//! are more.

use abi::address_map::AddressMap;
use anyhow::{Context, Result};
use heap::{CollectorKind, HeapConfig, Local, Mutator, NoBinding, ObjectRef, Running};
use report::Table;
use rt::clock::{Clock, Monotonic};

use crate::store_loop::{Body, OBJECT_COUNT, PLACE_COUNT, time_stores};
use crate::workload::{Kinds, SMALL_SLOT, store, store_element};

const ITERATIONS: usize = 1000;
const WARMUP: usize = 48;
const ALLOCATIONS: usize = 200;
const STORES: u64 = 2000;

/// Nanoseconds per operation, one figure for each iteration.
#[derive(Default)]
struct Figures {
    alloc_ns: Vec<f64>,
    java_store_ns: [Vec<f64>; PLACE_COUNT],
    bare_store_ns: [Vec<f64>; PLACE_COUNT],
    first_store_ns: Vec<f64>,
}

struct Side {
    running: Running,
    kinds: Kinds,
    figures: Figures,
}

pub(crate) fn run() -> Result<String> {
    let mut sides = [side(CollectorKind::Rc, 0)?, side(CollectorKind::Stw, 1)?];
    let mut mutators: Vec<_> = sides
        .iter()
        .map(|it| it.running.attach(false, &[]))
        .collect();
    for iteration in 0..WARMUP + ITERATIONS {
        // Who comes first at a place changes with each round of the places.
        let first = iteration / PLACE_COUNT % 2;
        for index in [first, 1 - first] {
            let is_counted = iteration >= WARMUP;
            iterate(
                &mut mutators[index],
                &mut sides[index],
                iteration,
                is_counted,
            )?;
        }
    }
    drop(mutators);
    Ok(text(&sides[0].figures, &sides[1].figures))
}

fn side(kind: CollectorKind, place: u32) -> Result<Side> {
    let bytes = 64 << 20;
    let map = AddressMap::without_code(place, bytes, bytes);
    let mut config = HeapConfig::new(map, kind);
    config.heap_bytes_start = bytes;
    let running = Running::start(config, Box::new(NoBinding)).context("the heap does not start")?;
    let kinds = Kinds::new(&running)?;
    Ok(Side {
        running,
        kinds,
        figures: Figures::default(),
    })
}

fn iterate(
    mutator: &mut Mutator,
    side: &mut Side,
    iteration: usize,
    is_counted: bool,
) -> Result<()> {
    let value = mutator.alloc(side.kinds.small)?;
    let value = mutator.local(value);
    let locals: Vec<Local> = (0..ALLOCATIONS)
        .map(|_| mutator.local(ObjectRef::NULL))
        .collect();
    let clock = Monotonic;
    let start_ns = clock.now_ns();
    for &local in &locals {
        let object = mutator.alloc(side.kinds.small)?;
        mutator.set(local, object);
    }
    let alloc_ns = (clock.now_ns() - start_ns) as f64 / ALLOCATIONS as f64;
    let array = mutator.alloc_array(side.kinds.array, OBJECT_COUNT)?;
    let array = mutator.local(array);
    for index in 0..OBJECT_COUNT {
        // Far apart, and others each time: a store into an address whose lowest 12 bits are those
        // of a word that the loop reads (the context's first) holds that load up, and of neighbours
        // all would.
        let chosen =
            (iteration * 7 + index as usize * (ALLOCATIONS / OBJECT_COUNT as usize)) % ALLOCATIONS;
        let (array, object) = (mutator.get(array), mutator.get(locals[chosen]));
        store_element(mutator, array, index, object);
    }
    let place = iteration % PLACE_COUNT;
    let mut stores = |body| time_stores(mutator, (array, value), body, place, STORES);
    let (java_ns, bare_ns) = (stores(Body::Java), stores(Body::Bare));
    // Old objects, the first store of an epoch into each: what the slow path costs.
    mutator.collect_epoch();
    let start_ns = clock.now_ns();
    for &local in &locals {
        let object = mutator.get(local);
        store(mutator, object, SMALL_SLOT, ObjectRef::NULL);
    }
    let first_store_ns = (clock.now_ns() - start_ns) as f64 / ALLOCATIONS as f64;
    mutator.truncate_locals(0);
    mutator.collect_epoch();
    if is_counted {
        let figures = &mut side.figures;
        figures.alloc_ns.push(alloc_ns);
        figures.java_store_ns[place].push(java_ns);
        figures.bare_store_ns[place].push(bare_ns);
        figures.first_store_ns.push(first_store_ns);
    }
    Ok(())
}

fn text(rc: &Figures, stw: &Figures) -> String {
    let mut table = Table::new(["gc-cost, ns", "rc", "stw", "ratio", "must be", "thesis"]);
    let java = Placed::new(&rc.java_store_ns, &stw.java_store_ns);
    let bare = Placed::new(&rc.bare_store_ns, &stw.bare_store_ns);
    let rows = [
        (
            "allocation",
            middle(&rc.alloc_ns),
            middle(&stw.alloc_ns),
            "<= 1.2",
            "2.2",
        ),
        (
            "store, as Java has it",
            java.rc_ns,
            java.stw_ns,
            "<= 1.3",
            "3.7",
        ),
        ("store, alone", bare.rc_ns, bare.stw_ns, "-", "-"),
        (
            "store, first of an epoch into an old object",
            middle(&rc.first_store_ns),
            middle(&stw.first_store_ns),
            "-",
            "-",
        ),
    ];
    for (name, rc_ns, stw_ns, required, thesis) in rows {
        table.row([
            name.to_owned(),
            format!("{rc_ns:.2}"),
            format!("{stw_ns:.2}"),
            format!("{:.2}", rc_ns / stw_ns),
            required.to_owned(),
            thesis.to_owned(),
        ]);
    }
    format!(
        "{table}\nratio by where the loop lies in a line of 64 bytes: as Java has it {}; alone {}",
        java.ratios(),
        bare.ratios()
    )
}

/// A loop's figures at each place.
struct Placed {
    /// Mean over the places: what a loop costs that lies anywhere.
    rc_ns: f64,
    stw_ns: f64,
    ratios: Vec<f64>,
}

impl Placed {
    fn new(rc: &[Vec<f64>; PLACE_COUNT], stw: &[Vec<f64>; PLACE_COUNT]) -> Self {
        let [rc, stw] = [rc, stw].map(|it| it.each_ref().map(|it| middle(it)));
        Self {
            rc_ns: mean(&rc),
            stw_ns: mean(&stw),
            ratios: rc.iter().zip(stw).map(|(rc, stw)| rc / stw).collect(),
        }
    }

    fn ratios(&self) -> String {
        let texts: Vec<_> = self.ratios.iter().map(|it| format!("{it:.2}")).collect();
        texts.join(" ")
    }
}

/// The mean of the middle half: no outlier moves it, and it is finer than the clock's step.
fn middle(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    mean(&sorted[sorted.len() / 4..sorted.len() - sorted.len() / 4])
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}
