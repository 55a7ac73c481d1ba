// SPDX-License-Identifier: Apache-2.0
//! [`Metadata`]: type descriptors in the low 4 GiB, never moved, changed or freed.

use abi::address_map::Span;
use abi::layout::Layout;

use crate::sys::reserve::{Access, Reservation, ReserveError};
use rt::sync::PiMutex;

/// The address of a type descriptor: what a class word holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(transparent)]
pub struct LayoutRef(u32);

impl LayoutRef {
    /// A descriptor that somebody else placed.
    ///
    /// # Safety
    /// `address` is that of a [`Layout`] which lives, unchanged, as long as the heap.
    pub const unsafe fn from_address(address: u32) -> Self {
        Self(address)
    }

    /// The class word.
    pub const fn address(self) -> u32 {
        self.0
    }

    /// The descriptor.
    pub fn get(&self) -> &Layout {
        // SAFETY: a `LayoutRef` is only made from the address of a `Layout` that outlives the heap.
        unsafe { &*std::ptr::with_exposed_provenance::<Layout>(self.0 as usize) }
    }
}

/// The metadata span is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("class metadata is full: {bytes} more bytes do not fit")]
pub struct MetadataFull {
    /// What was asked for.
    pub bytes: u32,
}

/// Hands out metadata; takes nothing back.
#[derive(Debug)]
pub struct Metadata {
    span: Span,
    next: PiMutex<u32>,
    _reservation: Reservation,
}

impl Metadata {
    pub(crate) fn reserve(span: Span) -> Result<Self, ReserveError> {
        let reservation =
            Reservation::new(span.start as usize, span.bytes as usize, Access::ReadWrite)?;
        Ok(Self {
            span,
            next: PiMutex::new(span.start),
            _reservation: reservation,
        })
    }

    /// Zeroed bytes at an address that is a multiple of 8.
    pub fn alloc(&self, bytes: u32) -> Result<u32, MetadataFull> {
        let mut next = self.next.lock();
        let start = next.next_multiple_of(8);
        if bytes > self.span.end() - start {
            return Err(MetadataFull { bytes });
        }
        *next = start + bytes;
        Ok(start)
    }

    /// Places a descriptor. Panics if its far slots are unsorted or do not lie in it.
    pub fn add(&self, layout: Layout, far_slots: &[u32]) -> Result<LayoutRef, MetadataFull> {
        let mut layout = layout;
        if !far_slots.is_empty() {
            assert!(far_slots.is_sorted(), "far slots ascend");
            assert!(
                far_slots.iter().all(|&it| it >= abi::object::HEADER_BYTES
                    && it.is_multiple_of(4)
                    && it + 4 <= layout.bytes),
                "slots are aligned and lie behind the header and inside the object"
            );
            layout.far_slots = self.alloc(size_of_val(far_slots) as u32)?;
            layout.far_count = far_slots.len() as u32;
            layout.slot_count += layout.far_count;
            // SAFETY: 1. `alloc` gave that many bytes to this call alone. 2. They are aligned to 8.
            unsafe {
                std::ptr::with_exposed_provenance_mut::<u32>(layout.far_slots as usize)
                    .copy_from_nonoverlapping(far_slots.as_ptr(), far_slots.len());
            }
        }
        let address = self.alloc(size_of::<Layout>() as u32)?;
        // SAFETY: as above; `Layout` is aligned to 8.
        unsafe { std::ptr::with_exposed_provenance_mut::<Layout>(address as usize).write(layout) };
        Ok(LayoutRef(address))
    }
}

/// The strong slots of an object with fields that lie beyond its map.
pub(crate) fn far_slots(layout: &Layout) -> &[u32] {
    if layout.far_count == 0 {
        return &[];
    }
    // SAFETY: a layout's far slots are `far_count` words in the metadata span, as immutable as
    // itself (abi::layout).
    unsafe {
        std::slice::from_raw_parts(
            std::ptr::with_exposed_provenance::<u32>(layout.far_slots as usize),
            layout.far_count as usize,
        )
    }
}
