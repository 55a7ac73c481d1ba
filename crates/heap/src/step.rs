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
    Rest = 0,
    Handshakes = 1,
    Increments = 2,
    Promotion = 3,
    Decrements = 4,
    ZeroTable = 5,
    Young = 6,
    Trace = 7,
    Sweep = 8,
}

/// See the module. Written by the collector alone.
#[derive(Debug, Default)]
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
        let step = match self.step.load(Ordering::Relaxed) {
            0 => Step::Rest,
            1 => Step::Handshakes,
            2 => Step::Increments,
            3 => Step::Promotion,
            4 => Step::Decrements,
            5 => Step::ZeroTable,
            6 => Step::Young,
            7 => Step::Trace,
            _ => Step::Sweep,
        };
        (step, self.holder.load(Ordering::Relaxed))
    }
}
