// SPDX-License-Identifier: Apache-2.0
//! [`ObjectRef`] and [`Slot`]: addresses of objects and of fields that hold their references.

use abi::object::{ARRAY_ELEMENTS_OFFSET, NULL, REFERENCE_SHIFT};

/// The value in a slot: the address of an object, or null.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
#[repr(transparent)]
pub struct ObjectRef(pub(crate) u32);

impl ObjectRef {
    /// The reference to nothing.
    pub const NULL: Self = Self(NULL);

    /// A reference from the bits that compiled code or a foreign interface carried.
    ///
    /// # Safety
    /// `bits` is null or came from [`Self::bits`] of a reference that is still a root or reachable
    /// from one.
    pub const unsafe fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// Its bits, as compiled code carries them.
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Whether it refers to nothing.
    pub const fn is_null(self) -> bool {
        self.0 == NULL
    }

    /// The slot at `offset` bytes from the object's start.
    pub const fn slot(self, offset: u32) -> Slot {
        Slot(self.0 + offset)
    }

    /// The slot of an array's element.
    pub const fn element(self, index: u32) -> Slot {
        Slot(self.0 + ARRAY_ELEMENTS_OFFSET + (index << REFERENCE_SHIFT))
    }
}

impl std::fmt::Debug for ObjectRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "#{:x}", self.0)
    }
}

/// The address of a field that holds a reference.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot(pub(crate) u32);
