// SPDX-License-Identifier: Apache-2.0
//! [`Rc`]: on-the-fly coalescing reference counting with sliding views.
//!
//! One epoch: three handshakes (`epoch`), increments before decrements (`count`), the fate of the
//! young (`young`), the zero count table (`zero`); from time to time a cycle trace over the same
//! view (`crate::cycle`). All of it runs on the collector thread; mutators only log. Nothing here
//! recurses: every walk has a work list.

pub(crate) mod count;
mod epoch;
pub(crate) mod free;
mod references;
mod young;
mod zero;

use std::sync::atomic::Ordering;

use abi::barrier::epoch_after;
use abi::side_table::CountByte;
use foldhash::{HashMap, HashSet};

use crate::barrier::SlotCopy;
use crate::collector::ticker::Ticker;
use crate::heap::Heap;
use crate::log::SegmentIndex;
use crate::object::ObjectRef;
use crate::reference::ReferenceTable;
use crate::space::block::BlockIndex;

/// The collector's own state. See the module.
#[derive(Debug)]
pub(crate) struct Rc<'h> {
    pub(crate) heap: &'h Heap,
    pub(crate) ticker: Ticker,
    /// The epoch that mutators record for, once all have switched.
    pub(crate) epoch: u8,
    /// The mark that newly counted objects get: that of the last trace.
    pub(crate) colour: u8,
    /// Objects whose count is zero and that were roots, or are not looked at yet.
    pub(crate) zero: Vec<ObjectRef>,
    /// As `zero`, but no roots and finalizable at the last look: only a trace decides them.
    pub(crate) awaiting: Vec<ObjectRef>,
    /// Reference objects to enqueue, which mutators do not see yet. A count holds each.
    enqueued: Vec<ObjectRef>,
    /// Objects whose own references are still to be counted.
    maturing: Vec<ObjectRef>,
    /// Chunked objects that matured in this epoch: their chunks' records are not counted beside.
    matured_chunked: HashSet<ObjectRef>,
    /// Marked, not scanned: the cycle trace's.
    pub(crate) grey: Vec<ObjectRef>,
    /// References that the trace found to stuck objects.
    pub(crate) stuck_edges: HashMap<ObjectRef, u8>,
    /// A trace is under way: what is counted to stuck objects goes there as well.
    pub(crate) is_tracing: bool,
    pub(crate) references: ReferenceTable,
    /// Memory is short: every block that lost an object is swept, however few.
    pub(crate) is_thorough: bool,
    /// Blocks that lost objects since they were last swept.
    dirty: Vec<BlockIndex>,
    handed: HandedOver,
    /// Scratch for one holder's view.
    view: SlotCopy,
}

/// What the mutators gave at H2, all of them together.
#[derive(Debug, Default)]
struct HandedOver {
    segments: Vec<SegmentIndex>,
    blocks: Vec<BlockIndex>,
    larges: Vec<BlockIndex>,
}

/// What a collector that comes to rest between two epochs leaves to the next one: work lists are
/// empty then.
#[derive(Debug)]
pub(crate) struct RcRest {
    epoch: u8,
    colour: u8,
    zero: Vec<ObjectRef>,
    awaiting: Vec<ObjectRef>,
    enqueued: Vec<ObjectRef>,
    references: ReferenceTable,
    dirty: Vec<BlockIndex>,
}

impl Default for RcRest {
    /// Before the first epoch.
    fn default() -> Self {
        Self {
            epoch: 1,
            colour: 0,
            zero: Vec::new(),
            awaiting: Vec::new(),
            enqueued: Vec::new(),
            references: ReferenceTable::default(),
            dirty: Vec::new(),
        }
    }
}

impl<'h> Rc<'h> {
    pub(crate) fn new(heap: &'h Heap, ticker: Ticker, rest: RcRest) -> Self {
        Self {
            heap,
            ticker,
            epoch: rest.epoch,
            colour: rest.colour,
            zero: rest.zero,
            awaiting: rest.awaiting,
            enqueued: rest.enqueued,
            maturing: Vec::new(),
            matured_chunked: HashSet::default(),
            grey: Vec::new(),
            stuck_edges: HashMap::default(),
            is_tracing: false,
            references: rest.references,
            is_thorough: false,
            dirty: rest.dirty,
            handed: HandedOver::default(),
            view: SlotCopy::new(),
        }
    }

    /// Behind the last epoch.
    pub(crate) fn rest(self) -> RcRest {
        let has_work = !self.maturing.is_empty() || !self.grey.is_empty() || self.is_tracing;
        assert!(!has_work, "an epoch ends with empty work lists");
        RcRest {
            epoch: self.epoch,
            colour: self.colour,
            zero: self.zero,
            awaiting: self.awaiting,
            enqueued: self.enqueued,
            references: self.references,
            dirty: self.dirty,
        }
    }

    pub(crate) fn count_of(&self, object: ObjectRef) -> CountByte {
        CountByte(self.heap.memory.count(object).load(Ordering::Relaxed))
    }

    /// A count that answers a mutator as the last one did, if it asks whether the object is marked:
    /// one that matures is of the trace's colour, as it was too young for it before.
    pub(crate) fn set_count(&self, object: ObjectRef, count: CountByte) {
        self.heap
            .memory
            .count(object)
            .store(count.0, Ordering::Release);
    }

    /// One that may answer otherwise.
    pub(crate) fn publish_count(&self, object: ObjectRef, count: CountByte) {
        self.heap
            .memory
            .count(object)
            .store(count.0, Ordering::SeqCst);
    }

    /// Whether the object was a root of the round under way.
    pub(crate) fn is_root(&self, object: ObjectRef) -> bool {
        self.heap.memory.snoop(object).load(Ordering::SeqCst) == self.heap.snoop_tag()
    }

    /// Whether a young object was born in the epoch that mutators record for now: its fate is the
    /// next epoch's. (No log word tells: that in the header of a chunked object is always clean.)
    fn is_born_after_view(&self, young: ObjectRef) -> bool {
        debug_assert!(!self.count_of(young).is_mature());
        // Who gave the reference stored it behind that.
        let epoch = &self.heap.blocks.meta_of(young.0).epoch;
        epoch.load(Ordering::Relaxed) == self.epoch
    }

    fn advance_epoch(&mut self) -> u8 {
        let settled = self.epoch;
        self.epoch = epoch_after(settled);
        settled
    }
}
