// SPDX-License-Identifier: Apache-2.0
//! [`Globals`]: roots that belong to no mutator: handles of native code, and objects that never die.

use crate::mutator::Mutator;
use crate::object::ObjectRef;
use crate::sys::pi::PiCell;

/// A root by number. Freed by [`Globals::free`] alone, never by dropping.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Global(u32);

/// See the module. Its lock is held for pointer moves by mutators and for one pass over it by the collector.
#[derive(Debug, Default)]
pub struct Globals(PiCell<Slots>);

#[derive(Debug, Default)]
struct Slots {
    refs: Vec<ObjectRef>,
    free: Vec<u32>,
}

impl Globals {
    /// A new root. May allocate: not for real-time loops.
    pub fn add(&self, mutator: &mut Mutator, object: ObjectRef) -> Global {
        mutator.note_root(object);
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

    /// The reference that a root holds.
    pub fn get(&self, _mutator: &Mutator, global: Global) -> ObjectRef {
        self.0.lock().refs[global.0 as usize]
    }

    /// Lets a root hold another reference.
    pub fn set(&self, mutator: &mut Mutator, global: Global, object: ObjectRef) {
        mutator.note_root(object);
        self.0.lock().refs[global.0 as usize] = object;
    }

    /// Gives up a root.
    pub fn free(&self, global: Global) {
        let mut slots = self.0.lock();
        slots.refs[global.0 as usize] = ObjectRef::NULL;
        slots.free.push(global.0);
    }

    pub(crate) fn each(&self, visit: &mut dyn FnMut(ObjectRef)) {
        let slots = self.0.lock();
        slots
            .refs
            .iter()
            .filter(|it| !it.is_null())
            .for_each(|&it| visit(it));
    }
}
