// SPDX-License-Identifier: Apache-2.0
//! [`Table`]: what Java's objects hold by a number. A call that comes after the release finds none.

use core::ffi::CStr;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use jni_sys::{jlong, jobject};
use rt::sync::PiMutex;

use crate::env::Env;

/// See the module.
pub(super) struct Table<T> {
    /// Java's field with the number.
    field: &'static CStr,
    /// How many it holds at once.
    most: usize,
    /// The lock covers look-ups alone.
    held: PiMutex<BTreeMap<jlong, Arc<T>>>,
    next: AtomicI64,
}

impl<T> Table<T> {
    pub(super) const fn new(field: &'static CStr, most: usize) -> Self {
        Self {
            field,
            most,
            held: PiMutex::new(BTreeMap::new()),
            next: AtomicI64::new(1),
        }
    }

    /// What Java's object holds; none after its release.
    pub(super) fn of(&self, env: Env, this: jobject) -> Option<Arc<T>> {
        let number = env.long_field(this, self.field);
        self.held.lock().get(&number).map(Arc::clone)
    }

    /// Java's object gets its number, unless as many are held as may be.
    pub(super) fn keep(&self, env: Env, this: jobject, it: T) -> bool {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        {
            let mut held = self.held.lock();
            if held.len() >= self.most {
                return false;
            }
            held.insert(number, Arc::new(it));
        }
        env.set_long_field(this, self.field, number);
        true
    }

    /// The object's release.
    pub(super) fn remove(&self, env: Env, this: jobject) -> Option<Arc<T>> {
        let number = env.long_field(this, self.field);
        self.held.lock().remove(&number)
    }

    pub(super) fn any(&self, holds: impl Fn(&T) -> bool) -> bool {
        self.held.lock().values().any(|it| holds(it))
    }
}
