// SPDX-License-Identifier: Apache-2.0
//! Atomics and cells as the machine has them, or as loom models them (`--cfg loom`): the only
//! switch between the two.

#[cfg(loom)]
pub(crate) use loom::cell::UnsafeCell;
#[cfg(loom)]
pub use loom::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
#[cfg(not(loom))]
pub use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

/// What loom needs behind a sequentially consistent access: it takes such accesses for acquire and
/// release, and orders fences alone. Nothing on the machine.
#[inline]
pub fn seq_cst_for_loom() {
    #[cfg(loom)]
    fence(Ordering::SeqCst);
}

/// The standard cell behind loom's interface, which sees where an access begins and ends.
#[cfg(not(loom))]
#[derive(Debug)]
pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

#[cfg(not(loom))]
impl<T> UnsafeCell<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(std::cell::UnsafeCell::new(value))
    }

    #[inline]
    pub(crate) fn with_mut<R>(&self, body: impl FnOnce(*mut T) -> R) -> R {
        body(self.0.get())
    }
}
