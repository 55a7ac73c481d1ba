// SPDX-License-Identifier: Apache-2.0
//! [`Globals`]: roots that belong to no mutator: handles of native code, and objects that never
//! die.

use crate::object::ObjectRef;
use rt::sync::PiMutex;

/// Roots that one look under the lock copies: a kilobyte, some 50 ns.
const VISITED_AT_ONCE: usize = 256;

/// A root by number. Freed by [`crate::Heap::free_global`] alone, never by dropping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Global(u32);

/// See the module. Its lock is held for pointer moves by mutators and for a copy of a few at a time
/// by the collector.
#[derive(Debug, Default)]
pub(crate) struct Globals(PiMutex<Slots>);

#[derive(Debug, Default)]
struct Slots {
    refs: Vec<ObjectRef>,
    free: Vec<u32>,
}

impl Globals {
    /// A new root, which its adder has noted ([`crate::Mutator::add_global`]).
    pub(crate) fn add(&self, object: ObjectRef) -> Global {
        let mut slots = self.0.lock();
        match slots.free.pop() {
            Some(index) => {
                slots.refs[index as usize] = object;
                Global(index)
            }
            None => {
                slots.refs.push(object);
                Global(slots.refs.len() as u32 - 1)
            }
        }
    }

    pub(crate) fn get(&self, global: Global) -> ObjectRef {
        self.0.lock().refs[global.0 as usize]
    }

    pub(crate) fn free(&self, global: Global) {
        let mut slots = self.0.lock();
        slots.refs[global.0 as usize] = ObjectRef::NULL;
        slots.free.push(global.0);
    }

    /// The lock is held for [`VISITED_AT_ONCE`] at a time. What becomes a root meanwhile is noted
    /// by who makes it one ([`crate::Mutator::note_root`]). What was one when this began and is
    /// given up unseen lies on a stack that is still to be scanned, or is nobody's any more.
    pub(crate) fn each(&self, visit: &mut dyn FnMut(ObjectRef)) {
        let mut from = 0;
        loop {
            let mut seen = [ObjectRef::NULL; VISITED_AT_ONCE];
            let slots = self.0.lock();
            let rest = slots.refs.get(from..).unwrap_or_default();
            let count = rest.len().min(VISITED_AT_ONCE);
            seen[..count].copy_from_slice(&rest[..count]);
            drop(slots);
            if count == 0 {
                return;
            }
            seen.iter()
                .filter(|it| !it.is_null())
                .for_each(|&it| visit(it));
            from += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// While the collector looks at all of them, those who need the lock get it.
    #[test]
    #[cfg_attr(miri, ignore = "Miri knows no thread numbers")]
    fn a_visit_holds_no_lock() {
        let globals = Globals::default();
        let count = 3 * VISITED_AT_ONCE as u32 + 5;
        {
            let mut slots = globals.0.lock();
            slots.refs.extend((1..=count).map(|it| ObjectRef(it * 8)));
        }
        let mut seen = 0;
        globals.each(&mut |object| {
            seen += 1;
            globals.free(Global(object.0 / 8 - 1));
        });
        assert_eq!(seen, count);
        globals.each(&mut |object| panic!("{object:?} was given up"));
    }
}
