// SPDX-License-Identifier: Apache-2.0
//! Reference objects whose referents are gone, on their way from the collector to Java's reference
//! handler.

use crate::classes::known::offset;
use crate::classes::object::ObjectRef;
use crate::objects::heap_binding;
use crate::sync::park::Parker;
use crate::threads::thread::{Holds, Thread};

/// References handed over at once: the handler comes back for more.
const BATCH_MAX: usize = 1024;

/// Where the reference handler sleeps.
static ARRIVED: Parker = Parker::new();

/// On the collector's thread: there are some.
pub(crate) fn announce() {
    ARRIVED.unpark();
}

pub(crate) fn is_there() -> bool {
    heap_binding::heap().has_pending_references()
}

/// Waits until there are some.
pub(crate) fn wait(thread: &Thread) {
    while !is_there() {
        thread.outside_holding(Holds::Nothing, || ARRIVED.park_until(None));
    }
}

/// Takes some, linked by their `discovered` fields; null when there are none.
pub(crate) fn take(thread: &Thread) -> ObjectRef {
    let mut first = ObjectRef::NULL;
    for _ in 0..BATCH_MAX {
        let Some(reference) = heap_binding::take_pending_reference(thread) else {
            break;
        };
        reference.put_ref(offset(reference.class(), "discovered"), first);
        first = reference;
    }
    if is_there() {
        announce();
    }
    first
}
