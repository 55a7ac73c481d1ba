// SPDX-License-Identifier: Apache-2.0
//! Hash tables of names and numbers that a start looks into ten thousands of times.
//!
//! Their hasher is keyed once for each process, so names in a class file cannot be chosen to meet.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;

pub(crate) type Map<K, V> = HashMap<K, V, RandomState>;
pub(crate) type Set<T> = HashSet<T, RandomState>;
