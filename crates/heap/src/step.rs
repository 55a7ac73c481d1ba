// SPDX-License-Identifier: Apache-2.0
//! [`Steps`]: how far the collector is, for the message of a heap that is found broken.
//!
//! A word that is no object was freed, or was never one: which of both, and who named it, is told
//! by the step, by the holder that was looked at last, and by what lies around. Each costs a store
//! without a fence.

use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};

/// A step of an epoch, or none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Step {
    Rest,
    Handshakes,
    Increments,
    Promotion,
    Decrements,
    ZeroTable,
    Young,
    Trace,
    Sweep,
}

const ALL: [Step; 9] = [
    Step::Rest,
    Step::Handshakes,
    Step::Increments,
    Step::Promotion,
    Step::Decrements,
    Step::ZeroTable,
    Step::Young,
    Step::Trace,
    Step::Sweep,
];

/// See the module. Written by the collector alone, in lines of the cache that mutators do not read.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Steps {
    step: AtomicU8,
    holder: AtomicU32,
}

impl Steps {
    pub(crate) fn begin(&self, step: Step) {
        self.step.store(step as u8, Ordering::Relaxed);
    }

    /// The references of a holder are looked at.
    #[inline]
    pub(crate) fn look_at(&self, holder: u32) {
        self.holder.store(holder, Ordering::Relaxed);
    }

    /// The step under way and the last holder.
    pub(crate) fn now(&self) -> (Step, u32) {
        let step = self.step.load(Ordering::Relaxed);
        (ALL[usize::from(step)], self.holder.load(Ordering::Relaxed))
    }
}
