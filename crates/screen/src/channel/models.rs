// SPDX-License-Identifier: Apache-2.0
//! Loom models of the counts. Run by `cargo xtask test --only loom`.

use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

use rt::sync::atomic::AtomicU32;
use rt::sync::atomic::Ordering::{Relaxed, SeqCst};

use super::words::{Reader, Writer};

const SLOTS: u32 = 2;

/// Up to this many forced switches of thread: all of them take hours.
fn check_within(preemptions_max: usize, body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions_max);
    builder.check(body);
}

/// What wakes a side, as the kernel has it: rung until it is heard.
#[derive(Default)]
struct Bell {
    is_rung: Mutex<bool>,
    rung: Condvar,
}

impl Bell {
    fn ring(&self) {
        *self.is_rung.lock().unwrap() = true;
        self.rung.notify_one();
    }

    fn wait(&self) {
        let mut is_rung = self.is_rung.lock().unwrap();
        while !*is_rung {
            is_rung = self.rung.wait(is_rung).unwrap();
        }
        *is_rung = false;
    }
}

/// What both sides map, and what each sleeps at.
#[derive(Default)]
struct Room {
    written: AtomicU32,
    taken: AtomicU32,
    wants: AtomicU32,
    /// Entries: plain words, since the counts must publish them.
    slots: [AtomicU32; SLOTS as usize],
    looper: Bell,
    display: Bell,
}

impl Room {
    fn write(&self, count: u32) {
        let mut writer = Writer::new(SLOTS);
        for value in 1..=count {
            while writer.room_or_want(&self.taken, &self.wants).unwrap() == 0 {
                self.display.wait();
            }
            self.wants.store(0, SeqCst);
            self.slots[writer.slot()].store(value, Relaxed);
            if writer.show(&self.written, &self.taken).unwrap() {
                self.looper.ring();
            }
        }
    }

    fn read(&self, count: u32) {
        let mut reader = Reader::new(SLOTS);
        let mut expected = 1;
        while expected <= count {
            match reader.next(&self.written).unwrap() {
                None => self.looper.wait(),
                Some(slot) => {
                    assert_eq!(self.slots[slot].load(Relaxed), expected, "in order, whole");
                    expected += 1;
                    reader.done(&self.taken);
                    if self.wants.load(SeqCst) != 0 {
                        self.display.ring();
                    }
                }
            }
        }
        assert_eq!(reader.next(&self.written), Ok(None), "each of them once");
    }
}

fn play(count: u32) {
    let room = Arc::new(Room::default());
    let other = Arc::clone(&room);
    let reader = thread::spawn(move || other.read(count));
    room.write(count);
    reader.join().unwrap();
}

/// Loom finds who sleeps for ever: neither side misses the other.
#[test]
fn no_entry_and_no_wake_up_is_lost() {
    check_within(4, || play(2));
}

/// More than there are slots: who finds no room hears of it.
#[test]
fn a_writer_that_waits_for_room_is_told() {
    check_within(3, || play(SLOTS + 2));
}
