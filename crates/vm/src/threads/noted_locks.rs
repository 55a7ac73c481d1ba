// SPDX-License-Identifier: Apache-2.0
//! [`NotedLocks`]: what methods without a proof of structured locking hold (`ir`'s `locks`), and
//! what native code holds.
//!
//! No compiler of Java makes such methods. They alone pay for the list, which grows by allocation.

use std::cell::RefCell;

use crate::classes::object::ObjectRef;

/// Objects locked by a thread's frames that note their locks, the outermost frame's first. Changed
/// by the thread itself, read by who scans its roots.
#[derive(Default)]
pub(crate) struct NotedLocks(RefCell<Vec<ObjectRef>>);

impl NotedLocks {
    /// How many there are: what a frame finds at its start belongs to others.
    pub(crate) fn count(&self) -> u32 {
        self.0.borrow().len() as u32
    }

    pub(crate) fn note(&self, object: ObjectRef) {
        self.0.borrow_mut().push(object);
    }

    /// Forgets the last note of `object` behind the first `begin`; false if there is none.
    pub(crate) fn take(&self, object: ObjectRef, begin: u32) -> bool {
        let mut objects = self.0.borrow_mut();
        let own = &objects[begin as usize..];
        let found = own.iter().rposition(|other| other.0 == object.0);
        if let Some(at) = found {
            objects.remove(begin as usize + at);
        }
        found.is_some()
    }

    /// Forgets the last note, if it is behind the first `begin`.
    pub(crate) fn take_last(&self, begin: u32) -> Option<ObjectRef> {
        let mut objects = self.0.borrow_mut();
        (objects.len() > begin as usize).then(|| objects.pop())?
    }

    pub(crate) fn each(&self, each: impl FnMut(ObjectRef)) {
        self.0.borrow().iter().copied().for_each(each);
    }
}
