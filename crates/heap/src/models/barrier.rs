// SPDX-License-Identifier: Apache-2.0
//! The claim of a log word, and the view that stays readable.

use abi::barrier::LogWord;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;

use crate::barrier::{Claim, LogCell, claim, read_view};

struct Cell(AtomicU32);

impl LogCell for Cell {
    fn load(&self) -> LogWord {
        LogWord(self.0.load(Ordering::Acquire))
    }

    fn exchange(&self, from: LogWord, to: LogWord) -> bool {
        self.0
            .compare_exchange(from.0, to.0, Ordering::SeqCst, Ordering::Acquire)
            .is_ok()
    }
}

/// One holder with one slot, and a record place for each mutator.
struct Holder {
    word: Cell,
    slot: AtomicU32,
    records: [AtomicU32; 3],
}

const OLD: u32 = 10;
const NEW: [u32; 3] = [20, 21, 22];

impl Holder {
    fn new(word: LogWord) -> Arc<Self> {
        Arc::new(Self {
            word: Cell(AtomicU32::new(word.0)),
            slot: AtomicU32::new(OLD),
            records: std::array::from_fn(|_| AtomicU32::new(0)),
        })
    }

    /// A store as `Mutator::write_slow` does it.
    fn store(&self, mutator: usize, epoch: u8) -> Claim {
        let won = claim(&self.word, epoch, || {
            let old = self.slot.load(Ordering::Acquire);
            self.records[mutator].store(old, Ordering::Relaxed);
            mutator as u32 + 1
        });
        self.slot.store(NEW[mutator], Ordering::Release);
        won
    }

    fn view(&self, epoch: u8) -> u32 {
        let recorded = |view: &mut u32, word: LogWord| {
            *view = self.records[word.record() as usize - 1].load(Ordering::Relaxed);
        };
        let slots = |view: &mut u32| *view = self.slot.load(Ordering::Acquire);
        let mut view = 0;
        read_view(&self.word, epoch, &mut view, recorded, slots);
        view
    }
}

/// Two mutators of the new epoch store; one of them records, and the collector sees what was before
/// both.
#[test]
fn the_view_is_what_was_before_the_epoch() {
    loom::model(|| {
        let holder = Holder::new(LogWord::CLEAN);
        let threads = [0, 1].map(|mutator| {
            let holder = Arc::clone(&holder);
            thread::spawn(move || holder.store(mutator, 2))
        });
        assert_eq!(holder.view(2), OLD);
        let claims = threads.map(|it| it.join().unwrap());
        assert_eq!(claims.iter().filter(|it| **it == Claim::Won).count(), 1);
        assert_eq!(holder.view(2), OLD);
    });
}

/// A mutator of the last epoch, for which the holder is recorded already, stores while one of the
/// new epoch records: the view has the one value or the other for everyone who asks.
#[test]
fn a_late_store_is_on_one_side_of_the_view() {
    loom::model(|| {
        let holder = Holder::new(LogWord::recorded(1, 3));
        let late = {
            let holder = Arc::clone(&holder);
            thread::spawn(move || holder.store(2, 1))
        };
        let claim = holder.store(0, 2);
        assert_eq!(late.join().unwrap(), Claim::Unneeded);
        assert_eq!(claim, Claim::Won);
        let view = holder.view(2);
        assert!(view == OLD || view == NEW[2], "{view}");
        assert_eq!(holder.view(2), view);
    });
}

/// The collector settles the word of the last epoch while a mutator records: nothing is recorded
/// twice or lost.
#[test]
fn settling_and_recording_do_not_lose_a_record() {
    loom::model(|| {
        let holder = Holder::new(LogWord::recorded(1, 3));
        let mutator = {
            let holder = Arc::clone(&holder);
            thread::spawn(move || holder.store(0, 2))
        };
        let is_settled = holder
            .word
            .exchange(LogWord::recorded(1, 3), LogWord::CLEAN);
        assert_eq!(mutator.join().unwrap(), Claim::Won);
        assert_eq!(
            holder.word.load(),
            LogWord::recorded(2, 1),
            "settled: {is_settled}"
        );
        assert_eq!(holder.view(2), OLD);
    });
}
