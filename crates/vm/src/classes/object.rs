// SPDX-License-Identifier: Apache-2.0
//! [`ObjectRef`]: a reference as Rust code holds it.

use core::sync::atomic::Ordering;

use abi::object as header;

use crate::classes::class::Class;
use crate::memory::{self, Plain};

/// A reference or null. Nothing moves, so the value is also the address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(transparent)]
pub(crate) struct ObjectRef(pub(crate) u32);

impl ObjectRef {
    /// As the collector names it.
    pub(crate) fn to_heap(self) -> heap::ObjectRef {
        // SAFETY: 1. The machine's references come from the heap and are roots while Rust code
        // holds them: see `objects/roots.rs`.
        unsafe { heap::ObjectRef::from_bits(self.0) }
    }

    pub(crate) const NULL: Self = Self(header::NULL);

    pub(crate) fn is_null(self) -> bool {
        self == Self::NULL
    }

    pub(crate) fn some(self) -> Option<Self> {
        (!self.is_null()).then_some(self)
    }

    pub(crate) fn at(self, offset: u32) -> u64 {
        debug_assert!(!self.is_null(), "null is checked before a field is touched");
        u64::from(self.0) + u64::from(offset)
    }

    pub(crate) fn class(self) -> &'static Class {
        Class::at(memory::read(self.at(header::CLASS_OFFSET)))
    }

    pub(crate) fn get<T: Plain>(self, offset: u32) -> T {
        memory::read(self.at(offset))
    }

    pub(crate) fn put<T: Plain>(self, offset: u32, value: T) {
        memory::write(self.at(offset), value);
    }

    pub(crate) fn get_ref(self, offset: u32) -> ObjectRef {
        ObjectRef(memory::atomic_u32(self.at(offset)).load(Ordering::Acquire))
    }

    pub(crate) fn length(self) -> u32 {
        self.get(header::ARRAY_LENGTH_OFFSET)
    }

    /// Address of element 0.
    pub(crate) fn elements(self) -> u64 {
        self.at(header::ARRAY_ELEMENTS_OFFSET)
    }

    pub(crate) fn element<T: Plain>(self, index: u32) -> T {
        debug_assert!(index < self.length());
        memory::read(self.elements() + u64::from(index) * size_of::<T>() as u64)
    }

    pub(crate) fn set_element<T: Plain>(self, index: u32, value: T) {
        debug_assert!(index < self.length());
        memory::write(
            self.elements() + u64::from(index) * size_of::<T>() as u64,
            value,
        );
    }

    pub(crate) fn ref_element(self, index: u32) -> ObjectRef {
        debug_assert!(index < self.length());
        self.get_ref(header::ARRAY_ELEMENTS_OFFSET + index * header::REFERENCE_BYTES)
    }

    /// The elements of an array of references.
    pub(crate) fn ref_elements(self) -> impl Iterator<Item = ObjectRef> {
        (0..self.length()).map(move |index| self.ref_element(index))
    }

    /// A byte array's content.
    pub(crate) fn bytes(self) -> Vec<u8> {
        memory::bytes_at(self.elements(), self.length() as usize)
    }

    pub(crate) fn is_instance_of(self, class: &'static Class) -> bool {
        self.class().is_subtype_of(class)
    }
}
