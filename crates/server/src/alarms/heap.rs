// SPDX-License-Identifier: Apache-2.0
//! A binary heap of places in a table, which any entry leaves in O(log n): its place in the heap is
//! kept beside it. After its making nothing here allocates.
//!
//! The algorithm is that of Sedgewick and Wayne, "Algorithms", 4th edition, 2.4 (index priority
//! queue).

/// No place in the heap.
const NOWHERE: u32 = u32::MAX;

/// The least key first.
#[derive(Clone, Debug)]
pub(super) struct IndexHeap<K> {
    /// Keys with the entries that they belong to.
    heap: Vec<(K, u32)>,
    /// Of each entry, where it is in `heap`.
    places: Vec<u32>,
}

impl<K: Copy + Ord> IndexHeap<K> {
    /// For entries 0 to `capacity` - 1.
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            heap: Vec::with_capacity(capacity),
            places: vec![NOWHERE; capacity],
        }
    }

    pub(super) fn first(&self) -> Option<(K, u32)> {
        self.heap.first().copied()
    }

    /// Adds an entry that is not there. O(log n).
    pub(super) fn push(&mut self, key: K, entry: u32) {
        debug_assert_eq!(self.places[entry as usize], NOWHERE, "it is there already");
        let at = self.heap.len();
        self.heap.push((key, entry));
        self.places[entry as usize] = at as u32;
        self.rise(at);
    }

    /// Takes an entry out; nothing if it is not there. O(log n).
    pub(super) fn remove(&mut self, entry: u32) {
        let at = self.places[entry as usize];
        if at == NOWHERE {
            return;
        }
        let at = at as usize;
        self.places[entry as usize] = NOWHERE;
        self.heap.swap_remove(at);
        if let Some((_, moved)) = self.heap.get(at) {
            self.places[*moved as usize] = at as u32;
            let at = self.rise(at);
            self.sink(at);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.heap.len()
    }

    fn swap(&mut self, one: usize, other: usize) {
        self.heap.swap(one, other);
        for at in [one, other] {
            self.places[self.heap[at].1 as usize] = at as u32;
        }
    }

    fn rise(&mut self, mut at: usize) -> usize {
        while at > 0 {
            let parent = (at - 1) / 2;
            if self.heap[parent].0 <= self.heap[at].0 {
                break;
            }
            self.swap(at, parent);
            at = parent;
        }
        at
    }

    fn sink(&mut self, mut at: usize) {
        loop {
            let children = [2 * at + 1, 2 * at + 2];
            let there = children.into_iter().filter(|it| *it < self.heap.len());
            let Some(least) = there.min_by_key(|it| self.heap[*it].0) else {
                return;
            };
            if self.heap[at].0 <= self.heap[least].0 {
                return;
            }
            self.swap(at, least);
            at = least;
        }
    }

    /// Panics if the heap's order or a place is wrong.
    pub(super) fn assert_consistent(&self) {
        for (at, (key, entry)) in self.heap.iter().enumerate() {
            assert_eq!(self.places[*entry as usize] as usize, at);
            assert!(at == 0 || self.heap[(at - 1) / 2].0 <= *key);
        }
        let there = self.places.iter().filter(|it| **it != NOWHERE);
        assert_eq!(there.count(), self.heap.len());
    }
}
