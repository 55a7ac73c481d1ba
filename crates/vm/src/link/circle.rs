// SPDX-License-Identifier: Apache-2.0
//! Classes that are their own parents: a table of those whose parents are being loaded.
//!
//! Of a loader that defines classes in parallel each thread holds the lock of the class it defines,
//! and waits for the lock of a parent. Where that makes a circle nobody would ever go on. The last
//! to enter the table sees it, and throws instead of waiting.

use crate::memory::symbol::Symbol;
use crate::sync::lock::{Lock, own_tid};

/// A class whose parents a thread loads.
struct Entry {
    thread: u32,
    loader: u32,
    class: Symbol,
    /// The one that is being loaded now.
    parent: Option<Symbol>,
}

/// One for each class that is being defined now: as many as there are definitions on all stacks.
static ENTRIES: Lock<Vec<Entry>> = Lock::new(Vec::new());

/// While the parents of a class are being loaded here.
pub(super) struct Loading {
    loader: u32,
    class: Symbol,
}

/// Enters a class; `None` the second time on one thread: a circle.
pub(super) fn begin(loader: u32, class: Symbol) -> Option<Loading> {
    let thread = own_tid();
    let mut entries = ENTRIES.lock();
    let is_known = |it: &Entry| it.thread == thread && it.loader == loader && it.class == class;
    if entries.iter().any(is_known) {
        return None;
    }
    entries.push(Entry {
        thread,
        loader,
        class,
        parent: None,
    });
    Some(Loading { loader, class })
}

impl Loading {
    /// Says which parent comes next. The error is a class that this thread loads, which cannot be
    /// there before the parent, nor the parent before it.
    pub(super) fn go_to(&self, parent: Symbol) -> Result<(), Symbol> {
        let thread = own_tid();
        let mut entries = ENTRIES.lock();
        if let Some(own) = entries.iter_mut().rfind(|it| self.is(it, thread)) {
            own.parent = Some(parent);
        }
        match closes(&entries, thread, self.loader, parent) {
            Some(class) => Err(class),
            None => Ok(()),
        }
    }

    fn is(&self, entry: &Entry, thread: u32) -> bool {
        entry.thread == thread && entry.loader == self.loader && entry.class == self.class
    }
}

impl Drop for Loading {
    fn drop(&mut self) {
        let thread = own_tid();
        let mut entries = ENTRIES.lock();
        if let Some(place) = entries.iter().rposition(|it| self.is(it, thread)) {
            entries.swap_remove(place);
        }
    }
}

/// A class of `thread` that `name` waits for, itself or by way of others.
fn closes(entries: &[Entry], thread: u32, loader: u32, name: Symbol) -> Option<Symbol> {
    let mut waited_for = vec![name];
    let mut place = 0;
    while let Some(&name) = waited_for.get(place) {
        let of_name = entries.iter();
        for entry in of_name.filter(|it| it.loader == loader && it.class == name) {
            if entry.thread == thread {
                return Some(entry.class);
            }
            if let Some(parent) = entry.parent
                && !waited_for.contains(&parent)
            {
                waited_for.push(parent);
            }
        }
        place += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(thread: u32, class: &str, parent: &str) -> Entry {
        Entry {
            thread,
            loader: 1,
            class: Symbol::new(class.as_bytes()),
            parent: Some(Symbol::new(parent.as_bytes())),
        }
    }

    #[test]
    fn a_circle_closes_at_a_class_of_the_own_thread() {
        let name = |name: &str| Symbol::new(name.as_bytes());
        let entries = [
            entry(1, "A", "B"),
            entry(2, "B", "C"),
            entry(2, "D", "E"),
            entry(3, "C", "A"),
        ];
        assert!(closes(&entries, 3, 1, name("A")) == Some(name("C")));
        assert!(closes(&entries, 1, 1, name("B")) == Some(name("A")));
        // Who only waits for others that wait closes nothing.
        assert!(closes(&entries, 4, 1, name("A")).is_none());
        assert!(closes(&entries, 1, 1, name("E")).is_none());
        // Another loader's class of that name is another class.
        assert!(closes(&entries, 3, 2, name("A")).is_none());
    }
}
