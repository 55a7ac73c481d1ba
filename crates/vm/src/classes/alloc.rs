// SPDX-License-Identifier: Apache-2.0
//! What a class record says about allocation by compiled code, which `entry/alloc.rs` does.

use abi::alloc::{SIZE_CLASSES, size_class};
use abi::context::bump_next;
use abi::layout::{Layout, Shape};
use abi::object::{ARRAY_ELEMENTS_OFFSET, SLOTS_PER_LOG_WORD};

/// The longest array made here, header included. Of more the zeroes cost what the way to the
/// runtime does.
pub(crate) const ARRAY_BYTES_MAX: u32 = 2048;

/// For instances without finaliser: the offset of their bump range in the context, and bytes of a
/// cell. Zeroes if Rust code makes them.
pub(crate) fn instance(layout: &Layout) -> (u16, u32) {
    match size_class(layout.bytes) {
        Some(class) if !layout.is_chunked(0) => (bump_next(class) as u16, SIZE_CLASSES[class]),
        _ => (0, 0),
    }
}

/// The longest array of this layout that is made here, in elements.
pub(crate) fn longest_array(layout: &Layout) -> u16 {
    let room = (ARRAY_BYTES_MAX - ARRAY_ELEMENTS_OFFSET) >> layout.element_shift;
    let longest = match layout.shape {
        Shape::ReferenceArray => room.min(SLOTS_PER_LOG_WORD),
        _ => room,
    };
    longest as u16
}
