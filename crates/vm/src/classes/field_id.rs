// SPDX-License-Identifier: Apache-2.0
//! [`FieldId`]: a field as native code names it.

use crate::classes::class::{Class, Field};

/// What a `jfieldID` points to.
pub(crate) struct FieldId {
    pub(crate) class: &'static Class,
    pub(crate) field: &'static Field,
}

impl FieldId {
    /// The one of a field that `class` declares: a class keeps them, so asking again takes no
    /// memory.
    pub(crate) fn address(class: &'static Class, field: &'static Field) -> u64 {
        let fields = &class.info.fields;
        let ids = class.info.field_ids.get_or_init(|| {
            fields
                .iter()
                .map(|field| FieldId { class, field })
                .collect()
        });
        let id = ids.iter().find(|id| core::ptr::eq(id.field, field));
        core::ptr::from_ref(id.expect("the class declares it")) as u64
    }

    pub(crate) fn at(address: u64) -> &'static FieldId {
        // SAFETY: 1. Native code hands back what `address` gave; classes are never freed.
        unsafe { &*(address as *const FieldId) }
    }
}
