// SPDX-License-Identifier: Apache-2.0
//! The counts of a ring that two processes share: how many entries its writer has shown, how many
//! its reader has taken.
//!
//! ```text
//! written  writer: counts up, then looks at `taken`; if that is all that was there before, the
//!          reader may sleep, and is woken
//! taken    reader: counts up, then looks at `written`; if that is all, it sleeps
//! wants    writer: 1 before its last look at `taken` finds no room; 0 when nothing waits
//!          reader: looks at it after each that it took, and tells the writer
//! ```
//!
//! `written` and `taken` are Dekker's pair, and so are `taken` and `wants`: one of the two sides
//! sees the other. What wakes the reader must be sticky, for it may come between its last look and
//! its sleep. Each side keeps its own count and never reads it back. The other's count is checked
//! at each look. `models` plays all of it.

use rt::sync::atomic::AtomicU32;
use rt::sync::atomic::Ordering::SeqCst;
use rt::sync::atomic::seq_cst_for_loom;

/// The other side's count is none that it can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Nonsense;

/// The writer's own.
#[derive(Debug)]
pub(crate) struct Writer {
    written: u32,
    /// What the reader had taken at the last look.
    taken: u32,
    slots: u32,
}

impl Writer {
    /// `slots` divides the range of the counts.
    pub(crate) fn new(slots: u32) -> Self {
        assert!(slots.is_power_of_two(), "slots by the lower bits of counts");
        Self {
            written: 0,
            taken: 0,
            slots,
        }
    }

    /// So many entries find room.
    pub(crate) fn room(&mut self, taken: &AtomicU32) -> Result<u32, Nonsense> {
        // Pairs with `Reader::done`: the slots are free.
        let seen = taken.load(SeqCst);
        // It only grows, and never beyond what is there.
        if seen.wrapping_sub(self.taken) > self.written.wrapping_sub(self.taken) {
            return Err(Nonsense);
        }
        self.taken = seen;
        Ok(self.slots - self.written.wrapping_sub(seen))
    }

    /// The same, and if there is none the reader will say when there is.
    pub(crate) fn room_or_want(
        &mut self,
        taken: &AtomicU32,
        wants: &AtomicU32,
    ) -> Result<u32, Nonsense> {
        match self.room(taken)? {
            0 => {
                wants.store(1, SeqCst);
                seq_cst_for_loom();
                self.room(taken)
            }
            room => Ok(room),
        }
    }

    /// Where the next entry goes, if there is room.
    pub(crate) fn slot(&self) -> usize {
        (self.written % self.slots) as usize
    }

    /// Shows the entry that lies in the slot; true if the reader may sleep.
    pub(crate) fn show(
        &mut self,
        written: &AtomicU32,
        taken: &AtomicU32,
    ) -> Result<bool, Nonsense> {
        let before = self.written;
        self.written = before.wrapping_add(1);
        // Pairs with `Reader::next`: publishes the entry.
        written.store(self.written, SeqCst);
        seq_cst_for_loom();
        self.room(taken)?;
        Ok(self.taken == before)
    }
}

/// The reader's own.
#[derive(Debug)]
pub(crate) struct Reader {
    taken: u32,
    slots: u32,
}

impl Reader {
    /// As [`Writer::new`].
    pub(crate) fn new(slots: u32) -> Self {
        assert!(slots.is_power_of_two(), "slots by the lower bits of counts");
        Self { taken: 0, slots }
    }

    /// Where the next entry lies; none if there is none.
    pub(crate) fn next(&self, written: &AtomicU32) -> Result<Option<usize>, Nonsense> {
        // Pairs with `Writer::show`.
        match written.load(SeqCst).wrapping_sub(self.taken) {
            0 => Ok(None),
            waiting if waiting > self.slots => Err(Nonsense),
            _ => Ok(Some((self.taken % self.slots) as usize)),
        }
    }

    /// The entry is copied, and its slot free.
    pub(crate) fn done(&mut self, taken: &AtomicU32) {
        self.taken = self.taken.wrapping_add(1);
        // Pairs with `Writer::room`.
        taken.store(self.taken, SeqCst);
        seq_cst_for_loom();
    }
}
