// SPDX-License-Identifier: Apache-2.0
//! [`Stage`]: how far the class library's start is, and the error that is kept from then on.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::classes::object::ObjectRef;

/// How far start-up is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub(crate) enum Stage {
    /// Exceptions can be made.
    Classes = 1,
    /// `main` may run.
    Ready = 2,
}

static STAGE: AtomicU32 = AtomicU32::new(0);
pub(crate) static OUT_OF_MEMORY: AtomicU32 = AtomicU32::new(0);
pub(crate) fn is_up_to(stage: Stage) -> bool {
    STAGE.load(Ordering::Acquire) >= stage as u32
}

pub(crate) fn reached(stage: Stage) {
    STAGE.store(stage as u32, Ordering::Release);
}

/// The error kept for when nothing can be allocated.
pub(crate) fn out_of_memory_error() -> Option<ObjectRef> {
    ObjectRef(OUT_OF_MEMORY.load(Ordering::Acquire)).some()
}
