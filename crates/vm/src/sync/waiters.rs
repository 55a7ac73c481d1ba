// SPDX-License-Identifier: Apache-2.0
//! [`Waiters`]: the threads that wait to be notified by one monitor, in the order of their coming.
//!
//! The links lie in the threads' own records, so that nothing is allocated. To touch a list, a
//! thread holds its monitor: a thread enters before it gives the monitor up and leaves, or finds
//! that it was taken out, when it has it again.

use core::cell::Cell;
use core::ops::Deref;
use core::ptr::{NonNull, null};

use crate::sync::park::Parker;

/// Where a thread sleeps, and its place in one list at most.
pub(crate) struct Waiter {
    parker: Parker,
    next: Cell<*const Waiter>,
    previous: Cell<*const Waiter>,
    is_listed: Cell<bool>,
}

impl Waiter {
    pub(crate) const fn new() -> Self {
        Self {
            parker: Parker::new(),
            next: Cell::new(null()),
            previous: Cell::new(null()),
            is_listed: Cell::new(false),
        }
    }
}

impl Deref for Waiter {
    type Target = Parker;

    fn deref(&self) -> &Parker {
        &self.parker
    }
}

/// See the module.
pub(crate) struct Waiters {
    first: Cell<*const Waiter>,
    last: Cell<*const Waiter>,
}

impl Waiters {
    pub(crate) const fn new() -> Self {
        Self {
            first: Cell::new(null()),
            last: Cell::new(null()),
        }
    }

    /// Puts `waiter` behind all others.
    ///
    /// # Safety
    /// 1. `waiter` stays where it is until it has been taken out. 2. Until then one thread at a
    ///    time touches the list and what is in it.
    pub(crate) unsafe fn enter(&self, waiter: &Waiter) {
        assert!(!waiter.is_listed.replace(true), "a thread waits once");
        waiter.next.set(null());
        waiter.previous.set(self.last.get());
        match listed(self.last.get()) {
            Some(last) => last.next.set(waiter),
            None => self.first.set(waiter),
        }
        self.last.set(waiter);
    }

    /// Takes `waiter` out; false if it was taken out already.
    pub(crate) fn leave(&self, waiter: &Waiter) -> bool {
        if !waiter.is_listed.replace(false) {
            return false;
        }
        let (previous, next) = (waiter.previous.get(), waiter.next.get());
        match listed(previous) {
            Some(previous) => previous.next.set(next),
            None => self.first.set(next),
        }
        match listed(next) {
            Some(next) => next.previous.set(previous),
            None => self.last.set(previous),
        }
        true
    }

    /// Takes out who came first.
    pub(crate) fn take_first(&self) -> Option<&Waiter> {
        let first = listed(self.first.get())?;
        self.leave(first);
        Some(first)
    }
}

/// What a link of a list names.
fn listed<'a>(link: *const Waiter) -> Option<&'a Waiter> {
    // SAFETY: 1. Links name what is in the list and was not taken out: `enter`'s caller keeps it
    // there, and the list to one thread at a time.
    NonNull::new(link.cast_mut()).map(|waiter| unsafe { waiter.as_ref() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A random history against a plain queue: who is taken first, and whether leaving finds one in
    /// the list.
    #[test]
    fn the_list_does_what_a_queue_does() {
        let waiters: [Waiter; 9] = [const { Waiter::new() }; 9];
        let list = Waiters::new();
        let mut queue = std::collections::VecDeque::new();
        let mut state = 0x2545_f491_u32;
        let mut taken = 0;
        for _ in 0..20_000 {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            let which = (state >> 8) as usize % waiters.len();
            match state % 5 {
                0 => {
                    let first = list.take_first().map(core::ptr::from_ref);
                    let expected = queue.pop_front().map(|at: usize| &raw const waiters[at]);
                    assert_eq!(first, expected);
                    taken += usize::from(first.is_some());
                }
                1 | 2 => {
                    let was_there = queue.contains(&which);
                    queue.retain(|&at| at != which);
                    assert_eq!(list.leave(&waiters[which]), was_there);
                }
                _ if !queue.contains(&which) => {
                    queue.push_back(which);
                    // SAFETY: 1. The array outlives the list's use. 2. There is one thread.
                    unsafe { list.enter(&waiters[which]) };
                }
                _ => {}
            }
        }
        assert!(taken > 1_000, "{taken}");
    }
}
