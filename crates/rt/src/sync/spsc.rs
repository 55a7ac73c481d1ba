// SPDX-License-Identifier: Apache-2.0
//! A bounded queue from one thread to one other: [`queue`] makes its two ends.
//!
//! Bounds: a push or a pop is two loads and a store at most, without a loop, a wait or an
//! allocation, whatever the other side does (wait-free). All memory is taken when the queue is
//! made. `mpsc` is the one for several senders; an [`Event`](crate::sync::Event) beside it wakes a
//! receiver that sleeps.

use std::mem::MaybeUninit;
use std::sync::Arc;

use crate::sync::Full;
use crate::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use crate::sync::atomic::{AtomicU64, UnsafeCell};

/// Makes a queue for up to `capacity` items. Allocates; panics if the capacity is zero.
pub fn queue<T: Send>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    assert!(capacity > 0, "a queue holds at least an item");
    let ring = Arc::new(Ring {
        slots: (0..capacity)
            .map(|_| UnsafeCell::new(MaybeUninit::uninit()))
            .collect(),
        pushed: Line(AtomicU64::new(0)),
        popped: Line(AtomicU64::new(0)),
    });
    let receiver = Receiver {
        ring: Arc::clone(&ring),
        popped: 0,
        pushed_seen: 0,
    };
    let sender = Sender {
        ring,
        pushed: 0,
        popped_seen: 0,
    };
    (sender, receiver)
}

/// A cache line of its own: the two sides write different ones.
#[repr(align(64))]
#[derive(Debug)]
struct Line<T>(T);

/// Item `n` lies in slot `n % capacity`; the slots of items `popped..pushed` hold values. Neither
/// count wraps: at a push per nanosecond it takes 584 years.
#[derive(Debug)]
struct Ring<T> {
    slots: Box<[UnsafeCell<MaybeUninit<T>>]>,
    pushed: Line<AtomicU64>,
    popped: Line<AtomicU64>,
}

impl<T> Ring<T> {
    fn slot(&self, index: u64) -> &UnsafeCell<MaybeUninit<T>> {
        &self.slots[(index % self.slots.len() as u64) as usize]
    }

    /// Takes an item out of its slot.
    ///
    /// # Safety
    /// Item `index` was pushed, what the push wrote is visible, and nobody takes it again.
    unsafe fn take(&self, index: u64) -> T {
        // SAFETY: the caller's obligations.
        self.slot(index)
            .with_mut(|slot| unsafe { (*slot).assume_init_read() })
    }
}

// SAFETY: a slot is reached by one side at a time: the sender before `pushed` passes it, the
// receiver after.
unsafe impl<T: Send> Sync for Ring<T> {}
// SAFETY: the ring owns the items in it.
unsafe impl<T: Send> Send for Ring<T> {}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        for index in self.popped.0.load(Relaxed)..self.pushed.0.load(Relaxed) {
            // SAFETY: both ends are gone, in the order that `Arc` gives; these items were not
            // popped.
            drop(unsafe { self.take(index) });
        }
    }
}

/// The end that items go in at.
#[derive(Debug)]
pub struct Sender<T> {
    ring: Arc<Ring<T>>,
    pushed: u64,
    /// A count that `popped` has reached at least.
    popped_seen: u64,
}

impl<T> Sender<T> {
    /// Appends an item, or gives it back if the queue is full. Wait-free.
    #[inline]
    pub fn try_push(&mut self, item: T) -> Result<(), Full<T>> {
        let capacity = self.ring.slots.len() as u64;
        if self.pushed - self.popped_seen == capacity {
            // Pairs with the Release in `try_pop`: the receiver has left the slot.
            self.popped_seen = self.ring.popped.0.load(Acquire);
            if self.pushed - self.popped_seen == capacity {
                return Err(Full(item));
            }
        }
        // SAFETY: item `pushed - capacity` is popped, so the slot is empty and the receiver is done
        // with it.
        self.ring.slot(self.pushed).with_mut(|slot| unsafe {
            (*slot).write(item);
        });
        self.pushed += 1;
        // Pairs with the Acquire in `try_pop`: publishes the item.
        self.ring.pushed.0.store(self.pushed, Release);
        Ok(())
    }
}

/// The end that items come out of.
#[derive(Debug)]
pub struct Receiver<T> {
    ring: Arc<Ring<T>>,
    popped: u64,
    /// A count that `pushed` has reached at least.
    pushed_seen: u64,
}

impl<T> Receiver<T> {
    /// Takes the oldest item, if there is one. Wait-free.
    #[inline]
    pub fn try_pop(&mut self) -> Option<T> {
        if self.popped == self.pushed_seen {
            // Pairs with the Release in `try_push`.
            self.pushed_seen = self.ring.pushed.0.load(Acquire);
            if self.popped == self.pushed_seen {
                return None;
            }
        }
        // SAFETY: `popped < pushed_seen`: the item was pushed before the Acquire, and only this end
        // takes items.
        let item = unsafe { self.ring.take(self.popped) };
        self.popped += 1;
        // Pairs with the Acquire in `try_push`: hands the slot back.
        self.ring.popped.0.store(self.popped, Release);
        Some(item)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::thread::Builder;

    #[test]
    fn items_keep_their_order_and_none_is_lost() {
        let (mut sender, mut receiver) = queue::<Box<u64>>(3);
        let thread = Builder::new("sender").spawn(move || {
            for value in 0..20_000 {
                let mut item = Box::new(value);
                while let Err(Full(back)) = sender.try_push(item) {
                    item = back;
                    std::thread::yield_now();
                }
            }
        });
        for value in 0..20_000 {
            let item = loop {
                match receiver.try_pop() {
                    Some(item) => break item,
                    None => std::thread::yield_now(),
                }
            };
            assert_eq!(*item, value);
        }
        thread.unwrap().join();
        assert!(receiver.try_pop().is_none());
    }

    #[test]
    fn a_full_queue_gives_the_item_back_and_drops_what_is_left() {
        let alive = Arc::new(());
        let (mut sender, mut receiver) = queue(2);
        for _ in 0..2 {
            sender.try_push(Arc::clone(&alive)).unwrap();
        }
        assert!(sender.try_push(Arc::clone(&alive)).is_err());
        drop(receiver.try_pop());
        assert_eq!(Arc::strong_count(&alive), 2);
        drop((sender, receiver));
        assert_eq!(Arc::strong_count(&alive), 1);
    }
}
