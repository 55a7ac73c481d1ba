// SPDX-License-Identifier: Apache-2.0
//! [`Symbol`]: names, each stored once.

use core::fmt;
use std::sync::OnceLock;

use crate::memory::hash::Set;
use crate::sync::lock::Lock;

/// An interned name in modified UTF-8; equal names are the same bytes.
#[derive(Clone, Copy)]
pub(crate) struct Symbol(&'static [u8]);

fn table() -> &'static Lock<Set<&'static [u8]>> {
    /// The class library's start has ten thousand.
    const COUNT: usize = 14_000;
    static TABLE: OnceLock<Lock<Set<&'static [u8]>>> = OnceLock::new();
    TABLE.get_or_init(|| Lock::new(Set::with_capacity_and_hasher(COUNT, Default::default())))
}

impl Symbol {
    pub(crate) fn new(bytes: &[u8]) -> Self {
        let mut table = table().lock();
        if let Some(&found) = table.get(bytes) {
            return Self(found);
        }
        let kept: &'static [u8] = Box::leak(bytes.to_vec().into_boxed_slice());
        table.insert(kept);
        Self(kept)
    }

    pub(crate) fn bytes(self) -> &'static [u8] {
        self.0
    }

    pub(crate) fn is(self, name: &str) -> bool {
        self.0 == name.as_bytes()
    }

    /// A class name in the language's form: dots for slashes.
    pub(crate) fn dotted(self) -> String {
        self.to_string().replace('/', ".")
    }
}

impl PartialEq for Symbol {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::eq(self.0.as_ptr(), other.0.as_ptr()) && self.0.len() == other.0.len()
    }
}

impl Eq for Symbol {}

impl std::hash::Hash for Symbol {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (self.0.as_ptr() as usize).hash(state);
    }
}

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&classfile::to_string_lossy(self.0))
    }
}

impl fmt::Debug for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
