// SPDX-License-Identifier: Apache-2.0
//! Full pauses of `stw` over load heavy's live set: the native side of `takt bench gc --serial-gc`.

use anyhow::Result;
use heap::CollectorKind;

use crate::Args;
use crate::window::start_heap;
use crate::workload::{Background, Kinds, NODE_BYTES};

/// Before each collection as much garbage as is alive, of which a part replaces live nodes.
pub(crate) fn run(args: &Args, rounds: u32) -> Result<()> {
    let heap = start_heap(args, CollectorKind::Stw)?;
    let kinds = Kinds::new(&heap)?;
    let mut mutator = heap.attach(false, &[]);
    let mut background = Background::new(&mut mutator, kinds, args.live_mb)?;
    let counters = heap.counters();
    for _ in 0..rounds {
        background.run(&mut mutator, args.live_mb * 1_000_000 / NODE_BYTES)?;
        let before = [counters.pauses.get(), counters.pause_ns_sum.get()];
        mutator.collect_full();
        let count = counters.pauses.get() - before[0];
        let pause_ns = (counters.pause_ns_sum.get() - before[1]) / count;
        let live_mb = counters.live_bytes.get() / 1_000_000;
        println!("pause {pause_ns} live {live_mb}");
    }
    Ok(())
}
