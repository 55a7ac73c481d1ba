// SPDX-License-Identifier: Apache-2.0
//! A bounded queue from any number of threads to one: [`queue`] makes its ends.
//!
//! In a ring of slots a sender first claims a slot and then fills it; if it is preempted in
//! between, the receiver and every later sender's item wait for it: a priority inversion that
//! nothing can lend against. Here a sender fills a node that only it has, and publishes it with one
//! compare-and-swap: a preempted sender holds up nobody.
//!
//! Nodes come from a stack of spares and go to a stack of arrivals, which the receiver takes whole
//! and turns round. Bounds: no wait and no allocation; a push is two compare-and-swaps, each tried
//! again only if another push or pop came between (lock-free); a pop is O(1), O(arrivals) for the
//! first of a batch. Order: that of publication.

use std::mem::MaybeUninit;
use std::sync::Arc;

use crate::sync::Full;
use crate::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use crate::sync::atomic::{AtomicU32, AtomicU64, UnsafeCell};

/// Most items a queue can have room for: a node's number and a tag share a word.
pub const CAPACITY_MAX: usize = u32::MAX as usize;

/// No node. Nodes are numbered from one.
const NONE: u32 = 0;

/// Makes a queue for up to `capacity` items. Allocates; panics unless 0 < capacity ≤
/// [`CAPACITY_MAX`].
pub fn queue<T: Send>(capacity: usize) -> (Sender<T>, Receiver<T>) {
    assert!(
        0 < capacity && capacity <= CAPACITY_MAX,
        "a queue holds 1 to {CAPACITY_MAX} items, not {capacity}"
    );
    let count = capacity as u32;
    let pool = Arc::new(Pool {
        // Each spare's next is the one before it: the stack's top is the last.
        nodes: (0..count)
            .map(|below| Node {
                next: AtomicU32::new(below),
                item: UnsafeCell::new(MaybeUninit::uninit()),
            })
            .collect(),
        spares: AtomicU64::new(u64::from(count)),
        arrivals: AtomicU32::new(NONE),
    });
    let receiver = Receiver {
        pool: Arc::clone(&pool),
        batch: NONE,
    };
    (Sender { pool }, receiver)
}

#[derive(Debug)]
struct Node<T> {
    next: AtomicU32,
    item: UnsafeCell<MaybeUninit<T>>,
}

#[derive(Debug)]
struct Pool<T> {
    nodes: Box<[Node<T>]>,
    /// The top spare in the low half. The high half changes with every pop, so that a sender that
    /// looked at the top before others took and returned it fails: unless they did so 2³² times
    /// while it was preempted.
    spares: AtomicU64,
    /// The last arrival. Its only remover takes all, so a tag is not needed.
    arrivals: AtomicU32,
}

// SAFETY: a node's item is reached by one thread at a time: who took its number from a stack.
unsafe impl<T: Send> Sync for Pool<T> {}
// SAFETY: the pool owns the items in it.
unsafe impl<T: Send> Send for Pool<T> {}

impl<T> Pool<T> {
    fn node(&self, number: u32) -> &Node<T> {
        &self.nodes[number as usize - 1]
    }

    fn pop_spare(&self) -> Option<u32> {
        // Pairs with the Release in `push_spare`: the receiver is done with the node.
        let mut top = self.spares.load(Acquire);
        loop {
            let number = top as u32;
            if number == NONE {
                return None;
            }
            let tag = (top >> 32).wrapping_add(1) << 32;
            let below = u64::from(self.node(number).next.load(Relaxed));
            match self
                .spares
                .compare_exchange_weak(top, tag | below, Acquire, Acquire)
            {
                Ok(_) => return Some(number),
                Err(found) => top = found,
            }
        }
    }

    fn push_spare(&self, number: u32) {
        let mut top = self.spares.load(Relaxed);
        loop {
            self.node(number).next.store(top as u32, Relaxed);
            let new = (top >> 32 << 32) | u64::from(number);
            // Pairs with the Acquires in `pop_spare`.
            match self
                .spares
                .compare_exchange_weak(top, new, Release, Relaxed)
            {
                Ok(_) => return,
                Err(found) => top = found,
            }
        }
    }

    fn push_arrival(&self, number: u32) {
        let mut last = self.arrivals.load(Relaxed);
        loop {
            self.node(number).next.store(last, Relaxed);
            // Pairs with the Acquire in `take_arrivals`: publishes the item, and every earlier one
            // still there, since nothing but compare-and-swaps and that swap writes the word.
            match self
                .arrivals
                .compare_exchange_weak(last, number, Release, Relaxed)
            {
                Ok(_) => return,
                Err(found) => last = found,
            }
        }
    }

    /// Takes all arrivals; the first comes first.
    fn take_arrivals(&self) -> u32 {
        let mut rest = self.arrivals.swap(NONE, Acquire);
        let mut first = NONE;
        while rest != NONE {
            let next = self.node(rest).next.load(Relaxed);
            self.node(rest).next.store(first, Relaxed);
            first = rest;
            rest = next;
        }
        first
    }
}

impl<T> Drop for Pool<T> {
    fn drop(&mut self) {
        let mut number = self.take_arrivals();
        while number != NONE {
            let node = self.node(number);
            number = node.next.load(Relaxed);
            // SAFETY: a node among the arrivals is filled, and all ends are gone.
            drop(unsafe { node.item.with_mut(|slot| (*slot).assume_init_read()) });
        }
    }
}

/// An end that items go in at. Cloning makes another.
#[derive(Debug)]
pub struct Sender<T> {
    pool: Arc<Pool<T>>,
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Self {
            pool: Arc::clone(&self.pool),
        }
    }
}

impl<T> Sender<T> {
    /// Appends an item, or gives it back if the queue is full. Lock-free.
    pub fn try_push(&self, item: T) -> Result<(), Full<T>> {
        let Some(number) = self.pool.pop_spare() else {
            return Err(Full(item));
        };
        // SAFETY: the node was taken from the spares: it is empty, and this thread's alone until it
        // is published.
        self.pool.node(number).item.with_mut(|slot| unsafe {
            (*slot).write(item);
        });
        self.pool.push_arrival(number);
        Ok(())
    }
}

/// The end that items come out of.
#[derive(Debug)]
pub struct Receiver<T> {
    pool: Arc<Pool<T>>,
    /// Arrivals taken and not handed out yet, the oldest first.
    batch: u32,
}

impl<T> Receiver<T> {
    /// Takes the oldest item, if there is one. Never waits.
    pub fn try_pop(&mut self) -> Option<T> {
        if self.batch == NONE {
            self.batch = self.pool.take_arrivals();
        }
        let number = self.batch;
        if number == NONE {
            return None;
        }
        let node = self.pool.node(number);
        self.batch = node.next.load(Relaxed);
        // SAFETY: the node came from the arrivals: a sender has filled it, and only this end takes
        // from there.
        let item = node
            .item
            .with_mut(|slot| unsafe { (*slot).assume_init_read() });
        self.pool.push_spare(number);
        Some(item)
    }
}

impl<T> Drop for Receiver<T> {
    /// Drops what has arrived. Items pushed later go with the last sender.
    fn drop(&mut self) {
        while self.try_pop().is_some() {}
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::thread::Builder;

    #[test]
    fn each_senders_items_keep_their_order_and_none_is_lost() {
        let (sender, mut receiver) = queue::<Box<(usize, u64)>>(5);
        let threads: Vec<_> = (0..3)
            .map(|index| {
                let sender = sender.clone();
                let push = move || {
                    for value in 0..10_000 {
                        let mut item = Box::new((index, value));
                        while let Err(Full(back)) = sender.try_push(item) {
                            item = back;
                            std::thread::yield_now();
                        }
                    }
                };
                Builder::new("sender").spawn(push).unwrap()
            })
            .collect();
        let mut next = [0; 3];
        while next != [10_000; 3] {
            match receiver.try_pop() {
                Some(item) => {
                    assert_eq!(item.1, next[item.0]);
                    next[item.0] += 1;
                }
                None => std::thread::yield_now(),
            }
        }
        threads.into_iter().for_each(|it| it.join());
        assert!(receiver.try_pop().is_none());
    }

    #[test]
    fn a_full_queue_gives_the_item_back_and_drops_what_is_left() {
        let alive = Arc::new(());
        let (sender, mut receiver) = queue(2);
        for _ in 0..2 {
            sender.try_push(Arc::clone(&alive)).unwrap();
        }
        assert!(sender.try_push(Arc::clone(&alive)).is_err());
        drop(receiver.try_pop());
        sender.try_push(Arc::clone(&alive)).unwrap();
        drop(receiver.try_pop());
        drop(receiver);
        sender.try_push(Arc::clone(&alive)).unwrap();
        drop(sender);
        assert_eq!(Arc::strong_count(&alive), 1);
    }
}
