// SPDX-License-Identifier: Apache-2.0
//! [`Write`]: what the language says about writing a field that is final.

use classfile::access as flags;

use crate::classes::class::{Class, Field, Method};

/// How a field is written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Write {
    pub(crate) is_static: bool,
    /// By the method that initialises such fields.
    is_initializing: bool,
}

/// From these class files on, a class writes its final fields in its initialisers only.
const JAVA_9: u16 = 53;

impl Write {
    pub(crate) const fn new(is_static: bool, is_initializing: bool) -> Self {
        Self {
            is_static,
            is_initializing,
        }
    }

    /// By code of `method`.
    pub(crate) fn by(method: &'static Method, is_static: bool) -> Self {
        let initializer = if is_static { "<clinit>" } else { "<init>" };
        Self::new(is_static, method.name.is(initializer))
    }

    /// Whether code of `class` may write `field` so.
    pub(crate) fn is_allowed(
        self,
        class: &'static Class,
        holder: &'static Class,
        field: &Field,
    ) -> bool {
        field.access & flags::FINAL == 0
            || (core::ptr::eq(class, holder) && self.is_where_it_must(class))
    }

    /// Android lets every method of a class write its final fields.
    fn is_where_it_must(self, class: &'static Class) -> bool {
        self.is_initializing || class.info.dex.is_some() || class.info.file.major < JAVA_9
    }
}
