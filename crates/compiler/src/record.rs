// SPDX-License-Identifier: Apache-2.0
//! Offsets in `vm`'s records that compiled code reads.
//!
//! `vm` asserts each against its own structs, so that they cannot drift apart.

/// A class record; an `abi` layout lies at its start.
pub mod class_record {
    /// Superclasses by depth, 32 bits each, this class included.
    pub const DISPLAY: i32 = 32;
    /// How many superclasses the display holds.
    pub const DISPLAY_COUNT: u32 = 8;
    /// Address of the interface table (64 bits): numbers of rows, 16 bits each, at `id & mask`. The
    /// rows lie before it, row 0 last.
    pub const INTERFACES: i32 = 64;
    /// How many numbers of rows there are, less one.
    pub const INTERFACES_MASK: i32 = 72;
    /// Distance from the superclass chain's root.
    pub const DEPTH: i32 = 76;
    /// Class record of an array's elements.
    pub const ELEMENT: i32 = 80;
    /// The class object.
    pub const MIRROR: i32 = 84;
    /// Not zero: initialised, and instances are bumped (32 bits).
    pub const IS_READY: i32 = 120;
    /// Virtual methods, 64 bits each.
    pub const VTABLE: i32 = 128;
    /// A row of the interface table, from its end: interface id (32 bits) …
    pub const ROW_ID: i32 = -16;
    /// … and address of its methods (64 bits).
    pub const ROW_METHODS: i32 = -8;
    /// log2 of the size of a row's number.
    pub const ROW_NUMBER_SHIFT: i64 = 1;
    /// log2 of a row's size.
    pub const ROW_SHIFT: i64 = 4;
}

/// An object's lock-and-hash word.
pub mod lock_word {
    /// What tells its forms apart.
    pub const TAG: u32 = 3 << 30;
    /// It holds the identity hash.
    pub const HASH: u32 = 2 << 30;
}

/// A method record.
pub mod method_record {
    /// Where calls go.
    pub const ENTRY: i32 = 0;
    /// Offset of its vtable place from the class record; 0 when not virtual.
    pub const VTABLE_OFFSET: i32 = 8;
    /// In place of an offset: an interface's method, to be selected.
    pub const VTABLE_ASK: u32 = 1;
    /// The native function, once bound.
    pub const NATIVE: i32 = 16;
}

/// What a site in code remembers once it is resolved.
pub mod site_record {
    /// Zero until resolved.
    pub const CELL: i32 = 0;
    /// A second value.
    pub const EXTRA: i32 = 8;
    /// In the cell of a field: its accesses are volatile.
    pub const FIELD_VOLATILE: i64 = 1 << 31;
}

/// A cell that counts which classes the receivers of a call have. Two threads may count at once,
/// and lose one of both.
pub mod profile_cell {
    /// The class of the last receiver (32 bits).
    pub const CLASS: i32 = 0;
    /// Receivers of the class that the one before had (32 bits).
    pub const SAME: i32 = 4;
    /// All receivers (32 bits).
    pub const COUNT: i32 = 8;
    /// From one cell to the next.
    pub const BYTES: i32 = 12;
}

/// Indices of the words in the mutator's context that belong to the machine.
pub mod machine_word {
    /// JNI's function table: the word's address is the `JNIEnv *`.
    pub const JNI_TABLE: usize = 0;
    /// Address of the table of [`Entry`](crate::Entry) points.
    pub const ENTRIES: usize = 1;
    /// The current thread's object.
    pub const THREAD_OBJECT: usize = 2;
    /// Next free local reference.
    pub const LOCALS_TOP: usize = 3;
    /// No local reference goes here or beyond. The machine keeps a word between this one and the
    /// next for itself.
    pub const LOCALS_LIMIT: usize = 6;
    /// The method that was left last: see [`native`] and [`first_called`]; 0 when the runtime was
    /// entered.
    pub const LAST_METHOD: usize = 4;
    /// Added to the record of a method that is called for the first time.
    pub const FIRST_CALL: u64 = 1;

    /// The record of the native method that [`LAST_METHOD`]'s value names.
    pub fn native(last_method: u64) -> Option<u64> {
        (last_method != 0 && last_method & FIRST_CALL == 0).then_some(last_method)
    }

    /// The record of the method that [`LAST_METHOD`]'s value names, which has no frame yet.
    pub fn first_called(last_method: u64) -> Option<u64> {
        (last_method & FIRST_CALL != 0).then_some(last_method & !FIRST_CALL)
    }
}
