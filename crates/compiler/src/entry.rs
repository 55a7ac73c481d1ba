// SPDX-License-Identifier: Apache-2.0
//! [`Entry`]: runtime functions callable from compiled code.

use cranelift_codegen::ir::types::{F32, F64, I32, I64};

/// One entry point. Its number is its place in the entry table. Each takes the
/// mutator's context first and returns with the pending exception set or not;
/// the trampoline around it throws, or keeps all registers for [`Self::is_preserving`] ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
#[allow(
    missing_docs,
    reason = "named for what they do; signatures stand below"
)]
pub enum Entry {
    Poll,
    ThrowStackOverflow,
    ThrowNull,
    ThrowBounds,
    ThrowDivide,
    ThrowCast,
    Throw,
    ThrowPending,
    Resolve,
    NewObject,
    NewArray,
    NewMultiArray,
    IsSubtype,
    CheckStore,
    MonitorEnter,
    MonitorExit,
    SelectInterface,
    WriteSlow,
    BindNative,
    ArrayCopy,
    RemFloat,
    RemDouble,
    InitializeClass,
    ObjectOf,
    ReadReferent,
    WriteReferent,
    EnterNative,
    LeaveNative,
    NanoTime,
    LocksBegin,
    LockNoted,
    UnlockNoted,
    LocksReturn,
    LocksUnwind,
    StoreElement,
    CheckCast,
    ThrowLocalsFull,
    ThrowReceiver,
    IdentityHash,
}

type Types = (
    &'static [cranelift_codegen::ir::Type],
    Option<cranelift_codegen::ir::Type>,
);

impl Entry {
    /// How many there are.
    pub const COUNT: usize = Entry::IdentityHash as usize + 1;

    /// Whether every register is as before when it returns. It throws nothing then.
    pub fn is_preserving(self) -> bool {
        matches!(self, Entry::Poll | Entry::WriteSlow)
    }

    /// Parameters behind the context, and the result.
    pub(crate) fn types(self) -> Types {
        match self {
            Entry::Poll
            | Entry::ThrowStackOverflow
            | Entry::ThrowNull
            | Entry::ThrowDivide
            | Entry::ThrowPending
            | Entry::ThrowLocalsFull => (&[], None),
            // Index, length.
            Entry::ThrowBounds => (&[I32, I32], None),
            // Object, class record.
            Entry::ThrowCast | Entry::CheckCast | Entry::ThrowReceiver => (&[I32, I64], None),
            Entry::Throw | Entry::MonitorEnter | Entry::MonitorExit | Entry::LockNoted => {
                (&[I32], None)
            }
            Entry::LocksBegin => (&[], Some(I32)),
            // Object, how many were noted before.
            Entry::UnlockNoted => (&[I32, I32], None),
            Entry::LocksReturn | Entry::LocksUnwind => (&[I32], None),
            // Site.
            Entry::Resolve => (&[I64], Some(I64)),
            // Class record.
            Entry::NewObject => (&[I64], Some(I32)),
            // Array's class record, length.
            Entry::NewArray => (&[I64, I32], Some(I32)),
            // Array's class record, count, address of lengths.
            Entry::NewMultiArray => (&[I64, I32, I64], Some(I32)),
            // Two class records.
            Entry::IsSubtype => (&[I64, I64], Some(I32)),
            // Array, value.
            Entry::CheckStore => (&[I32, I32], None),
            // Array, index, value: all that `aastore` does.
            Entry::StoreElement => (&[I32, I32, I32], None),
            // Receiver's class record, method record.
            Entry::SelectInterface => (&[I64, I64], Some(I64)),
            // Object, address of its log word or 0, new value, address of the slot.
            Entry::WriteSlow => (&[I32, I64, I32, I64], None),
            // Method record.
            Entry::BindNative => (&[I64], Some(I64)),
            Entry::ArrayCopy => (&[I32, I32, I32, I32, I32], None),
            Entry::RemFloat => (&[F32, F32], Some(F32)),
            Entry::RemDouble => (&[F64, F64], Some(F64)),
            Entry::InitializeClass => (&[I64], None),
            // A native method's reference.
            Entry::ObjectOf => (&[I64], Some(I32)),
            // Reference object.
            Entry::ReadReferent => (&[I32], Some(I32)),
            // Reference object, referent.
            Entry::WriteReferent => (&[I32, I32], None),
            Entry::EnterNative | Entry::LeaveNative => (&[], None),
            Entry::NanoTime => (&[], Some(I64)),
            Entry::IdentityHash => (&[I32], Some(I32)),
        }
    }
}
