// SPDX-License-Identifier: Apache-2.0
//! A mutator asks for a collection, or for the verifier, and waits for it.

use crate::mutator::Mutator;
use crate::verify::Verdict;

impl Mutator {
    /// Collects, then checks the heap with every mutator held: it stops the world. Counts are
    /// checked under `rc`.
    pub fn verify(&mut self) -> Verdict {
        let heap = self.heap.clone();
        self.native(|| {
            heap.pace.wait_for_full_collection();
            let ticket = heap.verifier.ask();
            // A full collection that is wanted goes before an answer: who waited for those would
            // put the answer off.
            while !heap.verifier.has_answered(ticket) {
                heap.pace.wait_for_settled_epoch();
            }
            heap.verifier.verdict()
        })
    }

    /// Waits until an epoch that begins after now is settled.
    pub fn collect_epoch(&mut self) {
        let heap = self.heap.clone();
        self.native(|| heap.pace.wait_for_settled_epoch());
    }

    /// Waits until a full collection that begins after now is done: cycles and soft references
    /// included.
    pub fn collect_full(&mut self) {
        let heap = self.heap.clone();
        self.native(|| heap.pace.wait_for_full_collection());
    }

    /// As [`Self::collect_full`], but soft references hold their referents.
    pub fn collect_kept_soft(&mut self) {
        let heap = self.heap.clone();
        self.native(|| heap.pace.wait_for_kept_soft());
    }
}
