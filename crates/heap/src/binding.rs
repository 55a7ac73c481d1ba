// SPDX-License-Identifier: Apache-2.0
//! [`Binding`]: what the heap asks of the machine it serves. It describes its objects by
//! `abi::layout` and owns its threads; the heap asks for roots.

use abi::context::MutatorContext;

use crate::counters::Counters;
use crate::object::ObjectRef;

/// The roots that the heap cannot know of. Neither call may touch objects, allocate from the heap
/// or poll.
pub trait Binding: Send + Sync + 'static {
    /// Calls `visit` with every reference outside the heap that belongs to no mutator. On the
    /// collector thread, while mutators run. Rule for them: a reference put into such a place
    /// passes [`crate::Mutator::note_root`] first.
    fn each_global_root(&self, visit: &mut dyn FnMut(ObjectRef));

    /// Calls `visit` with every reference in one mutator's stack and registers, by its stack maps.
    /// On the mutator's own thread at a safepoint, or on the collector's while the mutator is
    /// outside managed code.
    fn each_stack_root(&self, context: &MutatorContext, visit: &mut dyn FnMut(ObjectRef));

    /// A collection is over; on the collector's thread, while mutators run. `has_pending` says that
    /// reference objects wait to be taken ([`crate::Mutator::take_pending_reference`]).
    fn collected(&self, _counters: &Counters, _has_pending: bool) {}
}

/// For native mutators alone: their roots are `Local`s and `Global`s, which the heap keeps itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoBinding;

impl Binding for NoBinding {
    fn each_global_root(&self, _visit: &mut dyn FnMut(ObjectRef)) {}

    fn each_stack_root(&self, _context: &MutatorContext, _visit: &mut dyn FnMut(ObjectRef)) {}
}
