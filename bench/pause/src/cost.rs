// SPDX-License-Identifier: Apache-2.0
//! Experiment gc-cost (thesis, 5.4.4): 200 allocations of an object with one reference and 80 stores into four of
//! them, a thousand times, with a collection after each; `rc` and `stw` in turn in one process.

use abi::address_map::{AddressMap, HEAP_START, METADATA_START, Span};
use anyhow::{Context, Result};
use heap::{CollectorKind, HeapConfig, Local, Mutator, NoBinding, ObjectRef, Pinned, Running};
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
    /// With the poll that compiled code has at the loop's back-edge.
    loop_store_ns: Vec<f64>,
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
    // SAFETY: objects of layout `small` have one slot, and it is at `SLOT`; all four are roots.
    let loop_store_ns =
        unsafe { time_stores(mutator, |step| objects[step % 4], target, |it| it.poll()) };
    // SAFETY: as above.
    let store_ns = unsafe { time_stores(mutator, |step| objects[step % 4], target, |_| ()) };
    // Old objects, the first store of an epoch into each: what the slow path costs.
    mutator.collect_epoch();
    let old: Vec<ObjectRef> = locals
        .iter()
        .take(STORES)
        .map(|&it| mutator.get(it))
        .collect();
    // SAFETY: as above; they are roots still.
    let first_store_ns = unsafe { time_stores(mutator, |step| old[step], ObjectRef::NULL, |_| ()) };
    mutator.truncate_locals(0);
    mutator.collect_epoch();
    if is_counted {
        side.figures
            .alloc_ns
            .push(alloc_ns as f64 / ALLOCATIONS as f64);
        side.figures.loop_store_ns.push(loop_store_ns);
        side.figures.store_ns.push(store_ns);
        side.figures.first_store_ns.push(first_store_ns);
    }
    Ok(())
}

/// Nanoseconds per store of `value`, as compiled code does it, into the objects that `object` names.
///
/// # Safety
/// They are live objects of layout `small`.
#[inline(always)]
unsafe fn time_stores(
    mutator: &mut Mutator,
    object: impl Fn(usize) -> ObjectRef,
    value: ObjectRef,
    at_back_edge: impl Fn(&mut Pinned<'_>),
) -> f64 {
    let is_counting = mutator.heap().is_counting();
    let mut pinned = mutator.pinned();
    let start_ns = Monotonic.now_ns();
    if is_counting {
        for step in 0..STORES {
            let object = object(step);
            // SAFETY: the caller's obligation; `SLOT` is the slot of such objects.
            unsafe { pinned.write(object, SLOT, value) };
            at_back_edge(&mut pinned);
        }
    } else {
        for step in 0..STORES {
            // SAFETY: as above.
            unsafe { pinned.write_unlogged(object(step), SLOT, value) };
            at_back_edge(&mut pinned);
        }
    }
    (Monotonic.now_ns() - start_ns) as f64 / STORES as f64
}

fn text(rc: &Figures, stw: &Figures) -> String {
    let mut table = Table::new([
        "gc-cost, ns",
        "rc mid",
        "rc mean",
        "stw mid",
        "stw mean",
        "mid ratio",
        "must be",
        "thesis",
    ]);
    let rows = [
        ("allocation", &rc.alloc_ns, &stw.alloc_ns, "<= 1.2", "2.2"),
        (
            "store, in a compiled loop (with its poll)",
            &rc.loop_store_ns,
            &stw.loop_store_ns,
            "<= 1.3",
            "3.7",
        ),
        ("store, alone", &rc.store_ns, &stw.store_ns, "-", "-"),
        (
            "store, first of an epoch into an old object",
            &rc.first_store_ns,
            &stw.first_store_ns,
            "-",
            "-",
        ),
    ];
    for (name, rc, stw, required, thesis) in rows {
        let (a, b) = (middle(rc), middle(stw));
        table.row([
            name.to_owned(),
            format!("{a:.2}"),
            format!("{:.2}", mean(rc)),
            format!("{b:.2}"),
            format!("{:.2}", mean(stw)),
            format!("{:.2}", a / b),
            required.to_owned(),
            thesis.to_owned(),
        ]);
    }
    table.to_string()
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
