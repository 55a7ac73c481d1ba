// SPDX-License-Identifier: Apache-2.0
//! Spaces, mutators, the write barrier and two collectors. Knows no Java.
//!
//! It sees objects through type descriptors (`abi::layout`) and the machine it serves through
//! [`Binding`]. The collector never stops a thread: [`CollectorKind::Rc`] is on-the-fly coalescing
//! reference counting with a concurrent cycle trace; [`CollectorKind::Stw`], stop-the-world
//! mark-sweep on the same spaces, exists to be measured against. docs/internals/collector.md says
//! how, and names the pages that say why it is safe and within which bounds.
//!
//! Start with [`Running`] (a heap with its collector) and [`Mutator`] (a thread that touches
//! objects).

mod alloc;
mod barrier;
mod binding;
mod collector;
mod counters;
mod cycle;
mod events;
mod globals;
mod heap;
pub mod limits;
mod log;
mod memory;
mod metadata;
#[cfg(all(test, loom))]
mod models;
mod mutator;
mod object;
mod rc;
mod reference;
mod space;
mod step;
mod stw;
mod sys;
#[cfg(test)]
mod testing;
mod verify;

pub use abi::layout::{Layout, ReferenceKind, Shape};
pub use alloc::{AllocSite, OutOfMemory};
pub use binding::{Binding, NoBinding};
pub use collector::thread::{Running, StartError};
pub use counters::{Answers, Counter, Counters};
pub use events::{EVENTS_MAX, Event, EventKind, Events};
pub use globals::Global;
pub use heap::{Budget, CollectorKind, Heap, HeapConfig, Place};
pub use metadata::{LayoutRef, Metadata, MetadataFull};
pub use mutator::copy::CopyRange;
pub use mutator::visit::VisitError;
pub use mutator::{Local, Mutator};
pub use object::{ObjectRef, Slot};
pub use space::occupancy::Occupancy;
pub use sys::reserve::ReserveError;
pub use verify::Verdict;
