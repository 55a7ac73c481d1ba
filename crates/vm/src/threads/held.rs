// SPDX-License-Identifier: Apache-2.0
//! Threads of a template (`-Xtakt:template`), which has one: those that Java starts before the
//! process is copied begin in each copy.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::classes::object::ObjectRef;
use crate::options;
use crate::sync::lock::Lock;

/// The library's own are four.
const HELD_MAX: usize = 64;

/// This process is a copy.
static IS_COPY: AtomicBool = AtomicBool::new(false);
/// Their thread objects, kept by somebody else.
static OBJECTS: Lock<Vec<ObjectRef>> = Lock::new(Vec::new());

/// Whether no thread may start yet.
pub(crate) fn are_held() -> bool {
    options::get().is_template && !IS_COPY.load(Ordering::Relaxed)
}

/// Takes a thread that was to start. Gives it back where there are too many.
pub(crate) fn hold(object: ObjectRef) -> Result<(), ObjectRef> {
    let mut objects = OBJECTS.lock();
    if objects.len() == HELD_MAX {
        return Err(object);
    }
    objects.push(object);
    Ok(())
}

/// Threads may start from now on: those that wait for it.
pub(crate) fn release() -> Vec<ObjectRef> {
    IS_COPY.store(true, Ordering::Relaxed);
    core::mem::take(&mut OBJECTS.lock())
}
