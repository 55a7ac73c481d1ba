// SPDX-License-Identifier: Apache-2.0
//! Reference objects: soft, weak, final, phantom; read, cleared and enqueued while mutators run.
//!
//! A referent is no strong slot: it is neither counted nor traced. The collector knows every
//! reference object from the moment its epoch is settled ([`ReferenceTable`]) and holds the
//! referents of soft ones by a count of its own.
//!
//! The race is between a mutator that reads a weak referent and the collector that has found it
//! dead. One word ([`ReferenceState`]) and the snoop entry of the referent decide it, without a
//! lock:
//!
//! | mode | a mutator that reads a referent | the collector that would free it |
//! |---|---|---|
//! | idle | just reads | does not |
//! | deciding | makes it a root, unless it is [`SNOOP_DEAD`] | exchanges its entry to [`SNOOP_DEAD`], unless a root |
//! | tracing | makes an unmarked one a root and counts that in the word | closes the word if the count did not move |
//! | closed | null, if it is unmarked | clears, enqueues, frees |

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU8, Ordering};

use abi::layout::ReferenceKind;
use abi::side_table::SNOOP_DEAD;
use foldhash::HashMap;
use rt::sync::atomic::AtomicU64;

use crate::object::ObjectRef;
use rt::sync::PiMutex;

/// How far the collector is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Mode {
    /// Between epochs.
    Idle = 0,
    /// From before H1 to the end of freeing by counts.
    Deciding = 1,
    /// A cycle trace is under way.
    Tracing = 2,
    /// The trace is complete: what is unmarked is garbage.
    Closed = 3,
}

const MODE_SHIFT: u32 = 56;

/// What mutators see of the decision.
#[derive(Debug, Default)]
pub(crate) struct ReferenceState {
    /// Mode in the upper byte, and how many unmarked referents were read in this trace.
    word: AtomicU64,
    /// The mark of the trace under way.
    pub(crate) colour: AtomicU8,
    pending: PiMutex<Pending>,
    late: PiMutex<Late>,
}

/// Reference objects that got their referents after the epoch of their birth: the collector may
/// have met them before, without one.
#[derive(Debug, Default)]
struct Late(Vec<ObjectRef>);

/// Reference objects whose referents are gone, until somebody takes them. Each is held by a count.
#[derive(Debug, Default)]
struct Pending {
    queue: VecDeque<ObjectRef>,
    /// Taken: the counts to give back at the next epoch.
    released: Vec<ObjectRef>,
}

impl ReferenceState {
    pub(crate) fn set_mode(&self, mode: Mode) {
        self.word
            .store((mode as u64) << MODE_SHIFT, Ordering::SeqCst);
    }

    fn mode(word: u64) -> Mode {
        match word >> MODE_SHIFT {
            0 => Mode::Idle,
            1 => Mode::Deciding,
            2 => Mode::Tracing,
            _ => Mode::Closed,
        }
    }

    /// The word now, to be closed later.
    pub(crate) fn word(&self) -> u64 {
        self.word.load(Ordering::SeqCst)
    }

    /// Ends the trace, unless an unmarked referent was read since `seen`.
    pub(crate) fn try_close(&self, seen: u64) -> bool {
        let closed = (Mode::Closed as u64) << MODE_SHIFT;
        self.word
            .compare_exchange(seen, closed, Ordering::SeqCst, Ordering::SeqCst)
            .is_ok()
    }

    /// A mutator made an unmarked referent a root while the word was `seen`; `false` if the trace
    /// ended before.
    fn try_count_revival(&self, mut seen: u64) -> bool {
        while Self::mode(seen) == Mode::Tracing {
            match self
                .word
                .compare_exchange(seen, seen + 1, Ordering::SeqCst, Ordering::SeqCst)
            {
                Ok(_) => return true,
                Err(found) => seen = found,
            }
        }
        false
    }

    pub(crate) fn enqueue(&self, reference: ObjectRef) {
        self.enqueue_all([reference]);
    }

    /// In one piece: a thread that takes the first finds the others decided as well.
    pub(crate) fn enqueue_all(&self, references: impl IntoIterator<Item = ObjectRef>) {
        self.pending.lock().queue.extend(references);
    }

    /// What was enqueued first; its count is given back at the next epoch.
    pub(crate) fn take_pending(&self) -> Option<ObjectRef> {
        let mut pending = self.pending.lock();
        let reference = pending.queue.pop_front()?;
        pending.released.push(reference);
        Some(reference)
    }

    /// A reference object to look at again.
    pub(crate) fn note_late(&self, reference: ObjectRef) {
        self.late.lock().0.push(reference);
    }

    /// Reference objects to look at again.
    pub(crate) fn take_late(&self) -> Vec<ObjectRef> {
        std::mem::take(&mut self.late.lock().0)
    }

    pub(crate) fn has_pending(&self) -> bool {
        !self.pending.lock().queue.is_empty()
    }

    /// The counts to give back, taken before the first handshake of an epoch.
    pub(crate) fn take_released(&self) -> Vec<ObjectRef> {
        std::mem::take(&mut self.pending.lock().released)
    }

    /// Calls `visit` with every reference object that a count of the queue holds.
    pub(crate) fn each_held(&self, mut visit: impl FnMut(ObjectRef)) {
        let pending = self.pending.lock();
        pending
            .queue
            .iter()
            .chain(&pending.released)
            .for_each(|&it| visit(it));
    }
}

/// A weak, soft or phantom slot, and what is known of its referent; a model checker brings its own.
pub(crate) trait Referent {
    fn read(&self) -> ObjectRef;
    /// Makes it a root of this round, unless the collector has given it up.
    fn try_revive(&self, referent: ObjectRef) -> bool;
    /// Makes it a root of this round.
    fn snoop(&self, referent: ObjectRef);
    /// Marked by the trace under way, or too young for it.
    fn is_marked(&self, referent: ObjectRef) -> bool;
}

/// Lock-free: a retry means that the collector moved on, or that another thread read or cleared a
/// referent.
pub(crate) fn read_undecided(state: &ReferenceState, it: &impl Referent) -> ObjectRef {
    loop {
        let word = state.word();
        let referent = it.read();
        if referent.is_null() {
            return referent;
        }
        let is_alive = match ReferenceState::mode(word) {
            Mode::Idle => true,
            Mode::Deciding => it.try_revive(referent),
            Mode::Tracing => {
                it.is_marked(referent) || {
                    it.snoop(referent);
                    state.try_count_revival(word)
                }
            }
            Mode::Closed => it.is_marked(referent),
        };
        // Whatever was decided holds for this referent only if it is still the referent and the
        // collector did not move on meanwhile.
        let is_same_mode = ReferenceState::mode(state.word()) == ReferenceState::mode(word);
        if is_same_mode && it.read() == referent {
            return if is_alive { referent } else { ObjectRef::NULL };
        }
    }
}

/// The mutator's side of the decision by counts: a root, unless given up.
pub(crate) fn try_revive(entry: &impl SnoopEntry, tag: u8) -> bool {
    entry.exchange_unless(SNOOP_DEAD, tag)
}

/// The collector's side: given up, unless a root.
pub(crate) fn try_give_up(entry: &impl SnoopEntry, tag: u8) -> bool {
    entry.exchange_unless(tag, SNOOP_DEAD)
}

/// A referent's snoop entry; a model checker brings its own.
pub(crate) trait SnoopEntry {
    /// `new`, unless it is `kept`. Sequentially consistent.
    fn exchange_unless(&self, kept: u8, new: u8) -> bool;
}

impl SnoopEntry for AtomicU8 {
    fn exchange_unless(&self, kept: u8, new: u8) -> bool {
        let exchange = |found| (found != kept).then_some(new);
        self.fetch_update(Ordering::SeqCst, Ordering::SeqCst, exchange)
            .is_ok()
    }
}

/// A reference object that the collector knows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) referent: ObjectRef,
    pub(crate) kind: ReferenceKind,
    /// A count of the table's own holds the referent: a soft reference, or a final one that was
    /// enqueued.
    pub(crate) is_holding: bool,
}

impl Entry {
    /// A final reference that was not enqueued yet.
    pub(crate) fn is_open_final(&self) -> bool {
        self.kind == ReferenceKind::Final && !self.is_holding
    }
}

/// The collector's own index, both ways.
#[derive(Debug, Default)]
pub(crate) struct ReferenceTable {
    entries: HashMap<ObjectRef, Entry>,
    by_referent: HashMap<ObjectRef, Vec<ObjectRef>>,
}

impl ReferenceTable {
    pub(crate) fn insert(&mut self, reference: ObjectRef, entry: Entry) {
        if self.entries.insert(reference, entry).is_none() {
            self.by_referent
                .entry(entry.referent)
                .or_default()
                .push(reference);
        }
    }

    pub(crate) fn remove(&mut self, reference: ObjectRef) -> Option<Entry> {
        let entry = self.entries.remove(&reference)?;
        if let Some(list) = self.by_referent.get_mut(&entry.referent) {
            list.retain(|&it| it != reference);
            if list.is_empty() {
                self.by_referent.remove(&entry.referent);
            }
        }
        Some(entry)
    }

    /// From now on the table holds the referent of `reference` by a count.
    pub(crate) fn hold(&mut self, reference: ObjectRef) {
        let entry = self.entries.get_mut(&reference);
        entry.expect("an enqueued reference is known").is_holding = true;
    }

    pub(crate) fn is_referent(&self, object: ObjectRef) -> bool {
        self.by_referent.contains_key(&object)
    }

    pub(crate) fn get(&self, reference: ObjectRef) -> Option<Entry> {
        self.entries.get(&reference).copied()
    }

    /// The reference objects of one kind that refer to `object`.
    pub(crate) fn referring(&self, object: ObjectRef, kind: ReferenceKind) -> Vec<ObjectRef> {
        self.all_referring(object)
            .filter(|it| self.entries[it].kind == kind)
            .collect()
    }

    /// Whether a final reference to `object` was not enqueued yet.
    pub(crate) fn is_finalizable(&self, object: ObjectRef) -> bool {
        self.all_referring(object)
            .any(|it| self.entries[&it].is_open_final())
    }

    fn all_referring(&self, object: ObjectRef) -> impl Iterator<Item = ObjectRef> {
        let all = self.by_referent.get(&object).map_or(&[][..], Vec::as_slice);
        all.iter().copied()
    }

    /// Every entry that `choose` wants.
    pub(crate) fn select(
        &self,
        choose: impl Fn(ObjectRef, &Entry) -> bool,
    ) -> Vec<(ObjectRef, Entry)> {
        self.entries
            .iter()
            .filter(|(it, entry)| choose(**it, entry))
            .map(|(it, entry)| (*it, *entry))
            .collect()
    }
}
