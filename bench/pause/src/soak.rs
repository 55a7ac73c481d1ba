// SPDX-License-Identifier: Apache-2.0
//! The long run: mixed garbage, cycles included, at a constant rate; memory must not grow.

use anyhow::{Result, bail};
use heap::{CollectorKind, Mutator, ObjectRef};
use rt::clock::{Clock, Monotonic};

use crate::Args;
use crate::window::{rss_mb, start_heap};
use crate::workload::{Background, Kinds, NODE_A, NODE_BYTES, store};

/// Arrays of primitives of many sizes between the nodes, so that blocks of all classes come and go.
const SIZES: [u32; 8] = [24, 100, 400, 1200, 3000, 9000, 20_000, 70_000];

pub(crate) fn run(args: &Args, seconds: u64) -> Result<()> {
    let heap = start_heap(args, CollectorKind::Rc)?;
    let kinds = Kinds::new(&heap)?;
    let bytes = heap
        .metadata()
        .add(abi::layout::Layout::primitive_array(0), &[])?;
    let mut mutator = heap.attach(false, &[]);
    let mut background = Background::new(&mut mutator, kinds, args.live_mb)?;
    let clock = Monotonic;
    let start_ns = clock.now_ns();
    let mut due_ns = start_ns;
    let mut used = Vec::new();
    for millisecond in 0..seconds * 1000 {
        background.run(&mut mutator, args.garbage_mb * 1000 / NODE_BYTES * 3 / 4)?;
        make_cycles(&mut mutator, kinds, args.garbage_mb * 1000 / NODE_BYTES / 8)?;
        mutator.alloc_array(bytes, SIZES[millisecond as usize % SIZES.len()])?;
        due_ns += 1_000_000;
        if due_ns > clock.now_ns() {
            mutator.native(|| clock.sleep_until(due_ns));
        }
        if millisecond % 1000 == 999 {
            used.push(heap.counters().used_bytes.get() >> 20);
            let counters = heap.counters();
            println!(
                "{} s: used {} MB, live {} MB, RSS {} MB, epochs {}, traces {}, allocated {} MB, freed {} MB",
                (clock.now_ns() - start_ns) / 1_000_000_000,
                counters.used_bytes.get() >> 20,
                counters.live_bytes.get() >> 20,
                rss_mb(),
                counters.epochs.get(),
                counters.traces.get(),
                counters.allocated_bytes.get() >> 20,
                counters.freed_bytes.get() >> 20,
            );
        }
    }
    // Twice: what the first found held by objects that were still young goes with the second.
    mutator.collect_full();
    mutator.collect_full();
    println!(
        "after full collections: {} MB of blocks in use for {} MB of objects",
        heap.counters().used_bytes.get() >> 20,
        heap.counters().live_bytes.get() >> 20,
    );
    let verdict = mutator.verify();
    println!(
        "verifier: {} objects, {} reachable, {} stuck, {} faults",
        verdict.objects,
        verdict.reachable,
        verdict.stuck,
        verdict.faults.len()
    );
    if let Some(fault) = verdict.faults.first() {
        bail!("the heap is not in order: {fault}");
    }
    judge(&used)
}

fn make_cycles(mutator: &mut Mutator, kinds: Kinds, count: u32) -> Result<()> {
    for _ in 0..count / 2 {
        let first = mutator.alloc(kinds.node)?;
        let base = mutator.local_count();
        let root = mutator.local(first);
        let second = mutator.alloc(kinds.node)?;
        let first = mutator.get(root);
        store(mutator, first, NODE_A, second);
        store(mutator, second, NODE_A, first);
        mutator.set(root, ObjectRef::NULL);
        mutator.truncate_locals(base);
        mutator.poll();
    }
    Ok(())
}

/// The highest fill of the last third against the highest of the middle third: at most a tenth
/// more.
fn judge(used_mb: &[u64]) -> Result<()> {
    let third = used_mb.len() / 3;
    if third == 0 {
        bail!("too short to judge: three seconds at least");
    }
    let highest = |part: &[u64]| part.iter().copied().max().unwrap_or(0);
    let (middle, last) = (
        highest(&used_mb[third..2 * third]),
        highest(&used_mb[2 * third..]),
    );
    println!("highest fill: middle third {middle} MB, last third {last} MB");
    if last * 10 > middle * 11 {
        bail!("memory grows: {middle} MB, then {last} MB");
    }
    Ok(())
}
