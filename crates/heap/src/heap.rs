// SPDX-License-Identifier: Apache-2.0
//! [`Heap`]: the spaces, the mutators and the collector of one process; [`HeapConfig`] chooses them
//! at start-up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};

use abi::address_map::AddressMap;
use abi::alloc::{BLOCK_BYTES, BLOCK_SHIFT, SIZE_CLASS_COUNT, SIZE_CLASSES};
use abi::context::MutatorContext;
use abi::side_table::SNOOP_TAG_MAX;
use rt::policy::Policy;
use rt::sync::{PiMutex, PiWord};

use crate::binding::Binding;
use crate::collector::lender::{Lender, Stock};
use crate::collector::pacing::Pace;
use crate::collector::thread::AtRest;
use crate::counters::{Answers, Counters};
use crate::events::Events;
use crate::globals::{Global, Globals};
use crate::limits::{
    ALLOCATED_PART, GROWTH_BEFORE_WAIT, LOG_SEGMENTS_SHARED_MAX, MUTATORS_BESIDE, MUTATORS_MAX,
    WHOLE_MIN, WHOLE_PART,
};
use crate::log::LogSpace;
use crate::memory::Memory;
use crate::metadata::Metadata;
use crate::mutator::record::{Joining, MutatorRecord};
use crate::object::ObjectRef;
use crate::reference::ReferenceState;
use crate::space::block::{
    BlockIndex, BlockStack, BlockTable, BlockUse, RUN_END_OFFSET, RUN_NEXT_OFFSET,
};
use crate::space::free::FreeBlocks;
use crate::stw::unswept::Unswept;
use crate::sys::reserve::ReserveError;
use crate::verify::Verifier;

/// Which collector a heap has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CollectorKind {
    /// On-the-fly coalescing reference counting with a cycle trace: no thread is ever stopped.
    Rc,
    /// Stop-the-world mark-sweep: the baseline.
    Stw,
}

/// The collector thread's share of the processor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    /// Processor time per period; not counted while a real-time thread would wait for it.
    pub runtime_ns: u64,
    /// The period.
    pub period_ns: u64,
}

/// What a heap is made of. All of it is chosen at start-up.
#[derive(Clone, Debug)]
pub struct HeapConfig {
    /// Where things lie; the heap span is its maximum size.
    pub map: AddressMap,
    /// Bytes committed at once; more is committed as needed.
    pub heap_bytes_start: u32,
    /// The collector.
    pub collector: CollectorKind,
    /// The collector thread's policy: FIFO 1 when real time is asked for; `None` inherits.
    pub collector_policy: Option<Policy>,
    /// The collector thread's share; `None` for as much as its policy gives it.
    pub collector_budget: Option<Budget>,
    /// An epoch begins when this much was allocated since the last.
    pub epoch_bytes: u32,
    /// An epoch begins at the latest this long after the last one, if anything was allocated or
    /// recorded.
    pub epoch_interval_ns: u64,
    /// A cycle trace begins at the latest this long after the last one, if anything was allocated.
    pub trace_interval_ns: u64,
    /// Bytes of blocks set aside for real-time mutators.
    pub reserve_bytes: u32,
    /// Log segments of 64 KiB that all mutators share, beside the two that each holds.
    pub log_segments: u32,
    /// Commit, populate and lock the whole heap, its tables and its logs before anything runs.
    pub is_locked: bool,
    /// The heap is to lie in pages of 2 MiB that the administrator has reserved; all of it, or none
    /// ([`Heap::has_reserved_pages`]). A process that is copied has none for its copy.
    pub wants_reserved_pages: bool,
}

impl HeapConfig {
    /// Sensible values for a heap of the map's size.
    pub fn new(map: AddressMap, collector: CollectorKind) -> Self {
        Self {
            map,
            heap_bytes_start: (map.heap.bytes / 4).max(4 << 20).min(map.heap.bytes),
            collector,
            collector_policy: None,
            collector_budget: None,
            epoch_bytes: (map.heap.bytes / 32).clamp(1 << 20, 8 << 20),
            epoch_interval_ns: 200_000_000,
            trace_interval_ns: 5_000_000_000,
            reserve_bytes: (map.heap.bytes / 32).min(8 << 20),
            log_segments: (map.heap.bytes >> 15).clamp(256, LOG_SEGMENTS_SHARED_MAX),
            is_locked: false,
            wants_reserved_pages: false,
        }
    }
}

/// See the module.
#[derive(Debug)]
pub struct Heap {
    pub(crate) config: HeapConfig,
    pub(crate) memory: Memory,
    pub(crate) metadata: Metadata,
    pub(crate) blocks: BlockTable,
    pub(crate) free: FreeBlocks,
    pub(crate) partial: [BlockStack; SIZE_CLASS_COUNT],
    pub(crate) unswept: Unswept,
    pub(crate) log: LogSpace,
    /// Held by the collector while the world is stopped, and by a thread that becomes a mutator.
    pub(crate) pause: PiWord,
    pub(crate) registry: PiMutex<Registry>,
    pub(crate) globals: Globals,
    pub(crate) references: ReferenceState,
    pub(crate) pace: Pace,
    pub(crate) lender: Lender,
    /// While no collector runs.
    pub(crate) at_rest: PiMutex<AtRest>,
    pub(crate) counters: Counters,
    pub(crate) events: Events,
    pub(crate) verifier: Verifier,
    /// Blocks up to which the heap grows without a wait (`rc`).
    growth: AtomicU32,
    /// It grows without a wait however far.
    grows_at_once: AtomicBool,
    pub(crate) binding: BindingBox,
    snoop_tag: AtomicU8,
}

pub(crate) struct BindingBox(pub(crate) Box<dyn Binding>);

impl std::fmt::Debug for BindingBox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Binding")
    }
}

/// The mutators there are, and how a new one finds the collector. Held only for pointer moves.
#[derive(Debug)]
pub(crate) struct Registry {
    pub(crate) records: Vec<Arc<MutatorRecord>>,
    pub(crate) joining: Joining,
    /// [`Place`]s that there are.
    places: u32,
}

/// Room for one mutator more, from before its thread is made until it has attached.
#[derive(Debug)]
pub struct Place(Arc<Heap>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.registry.lock().places -= 1;
    }
}

impl Heap {
    pub(crate) fn reserve(
        config: HeapConfig,
        binding: Box<dyn Binding>,
    ) -> Result<Self, ReserveError> {
        let memory = Memory::reserve(config.map.heap, config.wants_reserved_pages)?;
        let metadata = Metadata::reserve(config.map.metadata)?;
        let blocks = BlockTable::new(config.map.heap);
        let free = FreeBlocks::new(blocks.count(), config.reserve_bytes >> BLOCK_SHIFT);
        let log = LogSpace::reserve(config.log_segments, MUTATORS_MAX + MUTATORS_BESIDE)?;
        let start = if config.is_locked {
            config.map.heap.bytes
        } else {
            config.heap_bytes_start
        };
        free.grow_to(&memory, start);
        if config.is_locked {
            memory.populate_and_lock(config.map.heap.bytes)?;
            log.populate_and_lock(config.log_segments / 4)?;
        }
        free.fill_reserve(&memory, &blocks);
        let is_counting = config.collector == CollectorKind::Rc;
        Ok(Self {
            pause: PiWord::default(),
            registry: PiMutex::new(Registry {
                records: Vec::new(),
                places: 0,
                joining: Joining {
                    epoch: 1,
                    is_snooping: false,
                    is_weak_guarded: false,
                    is_counting,
                },
            }),
            memory,
            metadata,
            blocks,
            free,
            partial: std::array::from_fn(|_| BlockStack::default()),
            unswept: Unswept::default(),
            log,
            globals: Globals::default(),
            references: ReferenceState::default(),
            pace: Pace::default(),
            lender: Lender::default(),
            at_rest: PiMutex::default(),
            counters: Counters::default(),
            events: Events::default(),
            verifier: Verifier::default(),
            growth: AtomicU32::new(GROWTH_BEFORE_WAIT >> BLOCK_SHIFT),
            grows_at_once: AtomicBool::new(false),
            binding: BindingBox(binding),
            snoop_tag: AtomicU8::new(1),
            config,
        })
    }

    /// Room for one mutator more, if there are fewer than [`MUTATORS_MAX`]. Those that have ended
    /// go with the next epoch.
    pub fn place(self: &Arc<Self>) -> Option<Place> {
        let mut registry = self.registry.lock();
        let is_room = registry.records.len() as u32 + registry.places < MUTATORS_MAX;
        registry.places += u32::from(is_room);
        drop(registry);
        is_room.then(|| Place(Arc::clone(self)))
    }

    /// Which mutators are real-time ones by now. By the collector, before each collection: one
    /// system call per mutator.
    pub(crate) fn note_policies(&self) {
        let records = self.registry.lock().records.clone();
        for record in records {
            self.note_policy(&record);
        }
    }

    /// The same of one mutator.
    pub(crate) fn note_policy(&self, record: &MutatorRecord) {
        if let Some(policy) = record.note_policy() {
            self.lender.note_policy(policy);
        }
        if record.is_real_time.load(Ordering::Relaxed) {
            self.grow_at_once();
        }
    }

    /// The first real-time thread is about to start. Unless all memory is there already, what it
    /// touches first comes in small pages from now on: the kernel zeroes a huge one within the
    /// fault.
    pub fn expect_real_time(&self) {
        self.grow_at_once();
        if !self.config.is_locked {
            self.memory.touch_small_pages();
            self.log.touch_small_pages();
        }
    }

    /// No mutator waits before the heap grows, from now on: it may hold what a real-time thread
    /// needs, and who sleeps gets on no faster by a priority that is lent.
    pub fn grow_at_once(&self) {
        self.grows_at_once.store(true, Ordering::Relaxed);
    }

    /// Bytes that a mutator has taken to allocate in, to the run of cells or the block; none if it
    /// has ended.
    pub fn taken_bytes(&self, is_wanted: impl Fn(&MutatorContext) -> bool) -> Option<u64> {
        let registry = self.registry.lock();
        let mut records = registry.records.iter();
        let record = records.find(|record| is_wanted(&record.context))?;
        Some(record.taken_bytes())
    }

    /// What it was made with.
    pub fn config(&self) -> &HeapConfig {
        &self.config
    }

    /// Type descriptors.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Gives up a root that belongs to no mutator.
    pub fn free_global(&self, global: Global) {
        self.globals.free(global);
    }

    /// Is all of it in pages of 2 MiB that the administrator has reserved?
    pub fn has_reserved_pages(&self) -> bool {
        self.memory.has_reserved_pages()
    }

    /// What it did so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What the collector did last, and when.
    pub fn events(&self) -> &Events {
        &self.events
    }

    /// The object that `address` lies in, if it lies in one: for scans that cannot tell references
    /// from numbers. Every object that exists may be a root, reachable or not: what it refers to
    /// exists as well. O(1).
    pub fn object_at(&self, address: u32) -> Option<ObjectRef> {
        if !self.memory.span().contains(address) {
            return None;
        }
        let block = self.blocks.index_of(address);
        let meta = self.blocks.meta(block);
        let start = match meta.usage() {
            BlockUse::Free => return None,
            BlockUse::Large => self.blocks.start(block),
            BlockUse::LargeTail => {
                let first = block.checked_sub(meta.large_blocks.load(Ordering::Relaxed))?;
                self.blocks.start(first)
            }
            BlockUse::Owned | BlockUse::Partial | BlockUse::Full => {
                let bytes = SIZE_CLASSES[meta.class.load(Ordering::Relaxed) as usize];
                let cell = (address & (BLOCK_BYTES - 1)) / bytes;
                if cell >= BLOCK_BYTES / bytes {
                    return None;
                }
                self.blocks.start(block) + cell * bytes
            }
        };
        let object = ObjectRef(start);
        (self.memory.class_word(object).load(Ordering::Acquire) != 0).then_some(object)
    }

    /// Whether reference objects wait to be taken.
    pub fn has_pending_references(&self) -> bool {
        self.references.has_pending()
    }

    /// By the collector, behind its sweep: says how much the blocks hold.
    pub(crate) fn note_used(&self) {
        let bytes = u64::from(self.free.used_count()) * u64::from(BLOCK_BYTES);
        self.counters.used_bytes.set(bytes);
    }

    /// What follows a collection.
    pub(crate) fn after_collection(&self) {
        self.binding
            .0
            .collected(&self.counters, self.references.has_pending());
    }

    /// Whether what the last collection left fills more than half of the heap.
    pub(crate) fn is_mostly_live(&self) -> bool {
        self.counters.live_bytes.get() > u64::from(self.config.map.heap.bytes) / 2
    }

    /// Bytes that are not in use, of what is committed; and what is committed.
    pub fn free_and_committed_bytes(&self) -> (u64, u64) {
        let bytes = |blocks: u32| u64::from(blocks) * u64::from(BLOCK_BYTES);
        (
            bytes(self.free.free_count()),
            bytes(self.free.committed_count()),
        )
    }

    /// How long the mutators' answers took, for those attached now.
    pub fn answers(&self) -> Vec<Answers> {
        let registry = self.registry.lock();
        let of = |record: &Arc<MutatorRecord>| {
            let mut answers = Answers {
                tid: record.tid(),
                is_real_time: record.is_real_time.load(Ordering::Relaxed),
                ..Answers::default()
            };
            for (index, times) in record.answers.iter().enumerate() {
                answers.count[index] = times.count.load(Ordering::Relaxed);
                answers.ns_mean[index] =
                    times.ns_sum.load(Ordering::Relaxed) / answers.count[index].max(1);
                answers.ns_max[index] = times.ns_max.load(Ordering::Relaxed);
            }
            answers
        };
        registry.records.iter().map(of).collect()
    }

    /// Whether the collector counts, so that stores must be logged.
    #[inline]
    pub fn is_counting(&self) -> bool {
        self.config.collector == CollectorKind::Rc
    }

    /// Makes an object a root of the round under way. Two stores, idempotent.
    #[inline]
    pub(crate) fn snoop(&self, object: ObjectRef) {
        let tag = self.snoop_tag.load(Ordering::Relaxed);
        self.memory.summary(object.0).store(tag, Ordering::Relaxed);
        // A later answer to a handshake orders both; without one, this does.
        self.memory.snoop(object).store(tag, Ordering::Release);
    }

    /// The tag of the round under way, or of the last one.
    #[inline]
    pub(crate) fn snoop_tag(&self) -> u8 {
        self.snoop_tag.load(Ordering::Relaxed)
    }

    pub(crate) fn next_snoop_tag(&self) {
        let tag = self.snoop_tag();
        self.snoop_tag.store(
            if tag == SNOOP_TAG_MAX { 1 } else { tag + 1 },
            Ordering::SeqCst,
        );
    }

    /// Every root of one mutator.
    pub(crate) fn each_stack_root(&self, record: &MutatorRecord, visit: &mut dyn FnMut(ObjectRef)) {
        record.each_local(visit);
        self.binding.0.each_stack_root(&record.context, visit);
    }

    /// Every root that belongs to no mutator.
    pub(crate) fn each_global_root(&self, visit: &mut dyn FnMut(ObjectRef)) {
        self.globals.each(visit);
        self.binding.0.each_global_root(visit);
    }

    /// A block of the class with free cells. Lock-free.
    pub(crate) fn take_partial(&self, class: usize) -> Option<BlockIndex> {
        self.partial[class].try_pop(&self.blocks)
    }

    /// After an epoch (`rc`): how far the heap may grow until ordinary mutators wait.
    pub(crate) fn set_growth(&self) {
        let left = self.free.used_count().saturating_sub(self.pace.blocks());
        let growth = 2 * left + (GROWTH_BEFORE_WAIT >> BLOCK_SHIFT);
        self.growth.store(growth, Ordering::Relaxed);
    }

    /// Whether an ordinary mutator waits before the heap grows: the collector has fallen behind,
    /// and no thread is a real-time one (`rc`).
    pub(crate) fn is_behind(&self) -> bool {
        let committed = self.free.committed_count();
        committed >= self.growth.load(Ordering::Relaxed)
            && committed < self.blocks.count()
            && !self.free.has_some()
            && !self.grows_at_once.load(Ordering::Relaxed)
    }

    /// A whole block for an ordinary mutator.
    pub(crate) fn take_whole(&self, class: usize) -> Option<BlockIndex> {
        let block = self.free.take(&self.memory)?;
        Some(self.format_block(block, class))
    }

    /// Divides a free, zeroed block into cells: one run.
    pub(crate) fn format_block(&self, block: BlockIndex, class: usize) -> BlockIndex {
        let meta = self.blocks.meta(block);
        let start = self.blocks.start(block);
        let bytes = SIZE_CLASSES[class];
        meta.class.store(class as u8, Ordering::Relaxed);
        meta.freed_cells.store(0, Ordering::Relaxed);
        meta.has_referents.store(0, Ordering::Relaxed);
        self.memory
            .word(start + RUN_NEXT_OFFSET)
            .store(0, Ordering::Relaxed);
        self.memory
            .word(start + RUN_END_OFFSET)
            .store(start + BLOCK_BYTES / bytes * bytes, Ordering::Relaxed);
        meta.runs.store(start, Ordering::Relaxed);
        block
    }

    /// Whether so many blocks are whole, or not memory yet, that one size may take some while its
    /// own are not swept.
    pub(crate) fn has_plenty(&self) -> bool {
        self.free.whole_count() > (self.blocks.count() / WHOLE_PART).max(WHOLE_MIN)
    }

    /// Whether so much was allocated since the last collection that another one is better than the
    /// last whole blocks.
    pub(crate) fn is_collection_worthwhile(&self) -> bool {
        self.pace.blocks() >= self.blocks.count() / ALLOCATED_PART
    }

    /// Blocks that mutators can take before memory is short: unused, not committed yet, or with
    /// free cells.
    pub(crate) fn takeable_blocks(&self) -> u32 {
        let partial: u32 = self.partial.iter().map(BlockStack::count).sum();
        self.blocks.count() - self.free.committed_count() + self.free.free_count() + partial
    }

    /// Until an epoch that begins after now is settled, or memory is there again. Not in managed
    /// state.
    pub(crate) fn wait_for_epoch(&self) {
        let enough = (self.config.reserve_bytes >> BLOCK_SHIFT) + 16;
        let is_enough = || self.free.free_count() > enough && !self.log.is_low(false);
        self.pace.wait_for_epoch_or(is_enough);
    }

    /// What is set aside for real-time mutators, and what it is filled from.
    pub(crate) fn stock(&self) -> Stock<'_> {
        Stock {
            memory: &self.memory,
            blocks: &self.blocks,
            free: &self.free,
            log: self.is_counting().then_some(&self.log),
            pace: &self.pace,
            counters: &self.counters,
        }
    }

    /// Wakes the lender if real-time mutators use up what is set aside for them; the collector
    /// where there is none.
    pub(crate) fn ask_lender_if_low(&self) {
        if self.stock().is_low() && !self.lender.ask() {
            self.pace.ring();
        }
    }
}
