// SPDX-License-Identifier: Apache-2.0
//! Experiment gc-cost (thesis, 5.4.4): 200 allocations of an object with one reference and 80 stores into four of
//! them, a thousand times, with a collection after each; `rc` and `stw` in turn in one process.

use abi::address_map::{AddressMap, HEAP_START, METADATA_START, Span};
use anyhow::{Context, Result};
use heap::{CollectorKind, HeapConfig, Local, Mutator, NoBinding, ObjectRef, Running};
use report::Table;
use rt::clock::{Clock, Monotonic};

use crate::workload::Kinds;

const ITERATIONS: usize = 1000;
const ALLOCATIONS: usize = 200;
const STORES: usize = 80;
const SLOT: u32 = 12;

/// Nanoseconds per operation, one figure for each iteration.
#[derive(Default)]
struct Figures {
    alloc_ns: Vec<f64>,
    store_ns: Vec<f64>,
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
    for iteration in 0..ITERATIONS + 50 {
        for index in [iteration % 2, 1 - iteration % 2] {
            iterate(&mut mutators[index], &mut sides[index], iteration >= 50)?;
        }
    }
    drop(mutators);
    Ok(text(&sides[0].figures, &sides[1].figures))
}

fn side(kind: CollectorKind, place: u32) -> Result<Side> {
    let bytes = 64 << 20;
    let map = AddressMap {
        metadata: Span {
            start: METADATA_START + place * (1 << 20),
            bytes: 1 << 20,
        },
        code: Span { start: 0, bytes: 0 },
        heap: Span {
            start: HEAP_START + place * bytes,
            bytes,
        },
    };
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

fn iterate(mutator: &mut Mutator, side: &mut Side, is_counted: bool) -> Result<()> {
    let target = mutator.alloc(side.kinds.small)?;
    let target = mutator.local(target);
    let locals: Vec<Local> = (0..ALLOCATIONS)
        .map(|_| mutator.local(ObjectRef::NULL))
        .collect();
    let clock = Monotonic;
    let start_ns = clock.now_ns();
    for &local in &locals {
        let object = mutator.alloc(side.kinds.small)?;
        mutator.set(local, object);
    }
    let alloc_ns = clock.now_ns() - start_ns;
    let objects: [ObjectRef; 4] = std::array::from_fn(|it| mutator.get(locals[it]));
    let target = mutator.get(target);
    let store_ns = if mutator.heap().is_counting() {
        // SAFETY: objects of layout `small` have one slot, and it is at `SLOT`; all four are roots.
        time_stores(|step| unsafe {
            mutator.write_unchecked(objects[step % 4], objects[step % 4].slot(SLOT), target);
        })
    } else {
        // SAFETY: as above.
        time_stores(|step| unsafe {
            mutator.write_unlogged_unchecked(objects[step % 4].slot(SLOT), target);
        })
    };
    // Old objects, the first store of an epoch into each: what the slow path costs.
    mutator.collect_epoch();
    let old: Vec<ObjectRef> = locals
        .iter()
        .take(STORES)
        .map(|&it| mutator.get(it))
        .collect();
    let first_store_ns = if mutator.heap().is_counting() {
        // SAFETY: as above; they are roots still.
        time_stores(|step| unsafe {
            mutator.write_unchecked(old[step], old[step].slot(SLOT), ObjectRef::NULL);
        })
    } else {
        // SAFETY: as above.
        time_stores(|step| unsafe {
            mutator.write_unlogged_unchecked(old[step].slot(SLOT), ObjectRef::NULL);
        })
    };
    mutator.truncate_locals(0);
    mutator.collect_epoch();
    if is_counted {
        side.figures
            .alloc_ns
            .push(alloc_ns as f64 / ALLOCATIONS as f64);
        side.figures.store_ns.push(store_ns);
        side.figures.first_store_ns.push(first_store_ns);
    }
    Ok(())
}

fn time_stores(mut store: impl FnMut(usize)) -> f64 {
    let start_ns = Monotonic.now_ns();
    (0..STORES).for_each(&mut store);
    (Monotonic.now_ns() - start_ns) as f64 / STORES as f64
}

fn text(rc: &Figures, stw: &Figures) -> String {
    let mut table = Table::new([
        "gc-cost, ns",
        "rc p50",
        "rc mean",
        "stw p50",
        "stw mean",
        "p50 ratio",
        "must be",
        "thesis",
    ]);
    let rows = [
        ("allocation", &rc.alloc_ns, &stw.alloc_ns, "<= 1.2", "2.2"),
        ("store", &rc.store_ns, &stw.store_ns, "<= 1.3", "3.7"),
        (
            "store, first of an epoch into an old object",
            &rc.first_store_ns,
            &stw.first_store_ns,
            "-",
            "-",
        ),
    ];
    for (name, rc, stw, required, thesis) in rows {
        let (a, b) = (median(rc), median(stw));
        table.row([
            name.to_owned(),
            format!("{a:.1}"),
            format!("{:.1}", mean(rc)),
            format!("{b:.1}"),
            format!("{:.1}", mean(stw)),
            format!("{:.2}", a / b),
            required.to_owned(),
            thesis.to_owned(),
        ]);
    }
    table.to_string()
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}
