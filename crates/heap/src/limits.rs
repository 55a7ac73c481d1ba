// SPDX-License-Identifier: Apache-2.0
//! Every bound of the heap, with its reason.

/// Bytes of a log segment: what a mutator takes at once. 16 KiB is 120 records of the largest size,
/// so taking one is rare, and little enough that thousands of mutators have theirs.
pub const LOG_SEGMENT_BYTES: u32 = 16 << 10;

/// Segments in all: the whole of the record numbers that a log word can hold.
pub const LOG_SEGMENT_COUNT: u32 = (abi::barrier::RECORD_COUNT as u64
    * abi::barrier::RECORD_UNIT_BYTES as u64
    / LOG_SEGMENT_BYTES as u64) as u32;

/// Of the log, what is set aside for each mutator. It counts as holding two segments, even while it
/// holds none and others fill them; and between running low and its next poll, where it waits, it
/// takes two.
pub const LOG_SEGMENTS_PER_MUTATOR: u32 = 4;

/// Mutators at once, those included whose thread has ended since the last epoch. Half of the log is
/// theirs.
pub const MUTATORS_MAX: u32 = 2032;

/// Threads of the machine's own that attach without a [`crate::Place`].
pub const MUTATORS_BESIDE: u32 = 16;

/// Segments that are left for all to share.
pub const LOG_SEGMENTS_SHARED_MAX: u32 =
    LOG_SEGMENT_COUNT - LOG_SEGMENTS_PER_MUTATOR * (MUTATORS_MAX + MUTATORS_BESIDE);

/// By so many bytes more in use a trace of cycles begins, or when as much came as was left by the
/// last one: a trace of a small heap takes a few milliseconds of the collector's.
pub const GROWTH_BEFORE_TRACE: u32 = 32 << 20;

/// By so many bytes more than twice what the last epoch left, the heap grows beside a collector
/// that has fallen behind. From there on ordinary mutators wait for an epoch first. What they would
/// touch is dearer than the wait: the kernel clears it, and it is never given back.
pub const GROWTH_BEFORE_WAIT: u32 = 64 << 20;

/// How long such a wait sleeps between two looks: little beside an epoch, some 6 ms in
/// `takt bench trees`.
pub const NAP_NS: u64 = 200_000;

/// After so many the heap grows all the same: 50 ms, some eight such epochs.
pub const NAPS_MAX: u32 = 250;

/// Bytes of address space made into memory at once when the heap grows.
pub const COMMIT_BYTES: u32 = 4 << 20;

/// References that a native mutator may hold outside the heap at once: a scan of all of them takes
/// about 10 µs.
pub const LOCAL_ROOTS_MAX: usize = 4096;

/// Elements that a bulk copy moves between two polls: one chunk, so that a poll comes within a
/// microsecond.
pub const COPY_SLOTS_BETWEEN_POLLS: u32 = abi::object::SLOTS_PER_LOG_WORD;

/// The collector looks again at least this often while it waits for a mutator that owes an answer.
pub const DEBT_WAIT_NS: u64 = 10_000_000;

/// A round is not begun so shortly before a real-time mutator's work: asking all and answering for
/// those that wait takes less.
pub const BEFORE_WORK_NS: u64 = 50_000;

/// Nor so shortly after it was due: what a periodic thread does in each period, looking at the
/// clock before it included.
pub const AFTER_WORK_NS: u64 = 150_000;

/// What a round waits for that at most: threads may always have work.
pub const SLACK_WAIT_NS_MAX: u64 = 1_000_000;

/// The collector never sleeps longer: the thesis's two seconds, shortened so that idle memory comes
/// back soon.
pub const SLEEP_NS_MAX: u64 = 250_000_000;

/// Between two full collections that threads only ask for, the collector sleeps this part of the
/// first one's time: so much of a processor is left to ordinary threads.
pub const REST_PART: u64 = 4;

/// It sleeps no longer then: a collection may have waited long for a thread without a processor.
pub const REST_NS_MAX: u64 = 100_000_000;

/// Full collections that an allocation waits for before it reports that memory is exhausted. The
/// second one frees what the first found held by objects that were still young.
pub const COLLECTIONS_BEFORE_OUT_OF_MEMORY: u32 = 2;

/// Full collections that it waits for while most of the heap is not live: then others were faster
/// to take what was freed, or what is free lies in blocks of other sizes.
pub const COLLECTIONS_WAITED_FOR_MAX: u32 = 32;

/// `stw`: blocks of its own size that an ordinary mutator sweeps for one allocation while whole
/// blocks are plenty. Eight take some 100 µs.
pub const SWEPT_BEFORE_WHOLE: u32 = 8;

/// `stw`: whole blocks are plenty while they are more than this part of the heap. Half of what
/// mutators have when a collection begins, so that a size which fills its own blocks seldom has to
/// wait for one.
pub const WHOLE_PART: u32 = 16;

/// `stw`: nor are they plenty below this: sizes that come later live on them, a block for each and
/// some more.
pub const WHOLE_MIN: u32 = 64;

/// `stw`: a size that finds no room in its own blocks, and whole blocks few, has a collection
/// before it takes one if this part of the heap was allocated since the last. So there is at most
/// one such collection for as many blocks.
pub const ALLOCATED_PART: u32 = 32;
