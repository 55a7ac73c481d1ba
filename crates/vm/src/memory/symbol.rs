// SPDX-License-Identifier: Apache-2.0
//! [`Symbol`]: names, each stored once.

use core::fmt;
use std::hash::BuildHasher;
use std::sync::OnceLock;

use foldhash::fast::RandomState;
use once_cell::race::OnceRef;

/// An interned name in modified UTF-8; equal names are the same place.
#[derive(Clone, Copy)]
pub(crate) struct Symbol(&'static Name);

/// Names stay as long as the machine.
struct Name(Box<[u8]>);

/// Where names are looked for, one after the other.
struct Table {
    slots: &'static [OnceRef<'static, Name>],
    /// What has no place here.
    next: OnceRef<'static, Self>,
}

/// The class library's start has fourteen thousand names.
const SLOTS: usize = 1 << 15;
/// From a name's own slot on, so many hold it or nobody looks further in that table.
const RUN: usize = 8;
/// A table is so many times as large as the one before.
const GROWTH: usize = 4;

static FIRST: [OnceRef<'static, Name>; SLOTS] = [const { OnceRef::new() }; SLOTS];
static TABLE: Table = Table {
    slots: &FIRST,
    next: OnceRef::new(),
};

impl Table {
    /// Where a name of this hash may be. There are a power of two of slots.
    fn run(&self, hash: u64) -> impl Iterator<Item = &'static OnceRef<'static, Name>> + use<> {
        let (slots, mask) = (self.slots, self.slots.len() - 1);
        (0..RUN).map(move |step| &slots[(hash as usize).wrapping_add(step) & mask])
    }

    /// Made by who comes first: a megabyte, once. Another thread's for nothing stays.
    fn after(&self) -> &'static Self {
        self.next.get_or_init(|| {
            let slots = (0..self.slots.len() * GROWTH).map(|_| OnceRef::new());
            Box::leak(Box::new(Self {
                slots: Vec::leak(slots.collect()),
                next: OnceRef::new(),
            }))
        })
    }
}

/// Keyed once for each process, so names in a class file cannot be chosen to meet.
fn hash_of(bytes: &[u8]) -> u64 {
    static STATE: OnceLock<RandomState> = OnceLock::new();
    STATE.get_or_init(RandomState::default).hash_one(bytes)
}

impl Symbol {
    /// Takes no lock: a start interns some fifty thousand names, and real-time threads do so too.
    /// At most [`RUN`] steps for each table.
    pub(crate) fn new(bytes: &[u8]) -> Self {
        let (hash, mut made, mut table) = (hash_of(bytes), None, &TABLE);
        loop {
            for slot in table.run(hash) {
                let found = slot.get().unwrap_or_else(|| {
                    let name =
                        *made.get_or_insert_with(|| &*Box::leak(Box::new(Name(bytes.into()))));
                    // Another thread's may have come first; a name made for nothing stays.
                    slot.get_or_init(|| name)
                });
                if *found.0 == *bytes {
                    return Self(found);
                }
            }
            table = table.after();
        }
    }

    pub(crate) fn bytes(self) -> &'static [u8] {
        &self.0.0
    }

    pub(crate) fn is(self, name: &str) -> bool {
        self.bytes() == name.as_bytes()
    }

    /// A class name in the language's form: dots for slashes.
    pub(crate) fn dotted(self) -> String {
        self.to_string().replace('/', ".")
    }
}

impl PartialEq for Symbol {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::eq(self.0, other.0)
    }
}

impl Eq for Symbol {}

impl std::hash::Hash for Symbol {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        core::ptr::hash(self.0, state);
    }
}

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&classfile::to_string_lossy(self.bytes()))
    }
}

impl fmt::Debug for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(number: u32) -> Vec<u8> {
        format!("a/name/Of{number}").into_bytes()
    }

    #[test]
    fn equal_names_are_one_beyond_the_first_table_and_among_threads() {
        let all = || -> Vec<Symbol> {
            let numbers = 0..SLOTS as u32 * 2;
            numbers.map(|number| Symbol::new(&name(number))).collect()
        };
        let (mine, others) = std::thread::scope(|scope| {
            let others = scope.spawn(all);
            (all(), others.join().expect("it ends"))
        });
        assert!(TABLE.next.get().is_some());
        assert_eq!(mine, others);
        assert_eq!(mine, all());
        for (number, symbol) in (0..).zip(&mine) {
            assert_eq!(symbol.bytes(), name(number));
        }
        assert_ne!(Symbol::new(b""), Symbol::new(b"\0"));
    }
}
