// SPDX-License-Identifier: Apache-2.0
//! Allocation as compiled code calls it where it cannot do it itself: arrays, and objects of a
//! class that was not ready when the method was compiled. `abi::alloc`'s bump, for what fits into
//! the mutator's own run; the rest by Rust code.
//!
//! A class record says what this needs ([`crate::classes::alloc`]); zeroes there send all to
//! the Rust code.

use core::arch::naked_asm;
use core::mem::offset_of;

use abi::alloc::{BUMP_RANGE_SHIFT, BumpRange, SIZE_CLASS_COUNT, SIZE_CLASSES, size_class};
use abi::context::{BORN, bump_next};
use abi::layout::Layout;
use abi::object::{
    ARRAY_ELEMENTS_OFFSET, ARRAY_LENGTH_OFFSET, CLASS_OFFSET, LOCK_OFFSET, LOG_OFFSET,
};

use crate::classes::alloc::ARRAY_BYTES_MAX;
use crate::classes::class::Class;
use crate::entry::trampolines::{array_by_runtime, object_by_runtime};

/// log2 of the step of [`CLASS_OF_UNITS`].
const UNIT_SHIFT: u32 = 3;
const UNIT_BYTES: u32 = 1 << UNIT_SHIFT;
const UNIT_COUNT: usize = (ARRAY_BYTES_MAX >> UNIT_SHIFT) as usize + 1;
const BUMP: i32 = bump_next(0);
const BUMP_LIMIT: usize = offset_of!(BumpRange, limit);

/// The size class of so many units of 8 bytes.
static CLASS_OF_UNITS: [u8; UNIT_COUNT] = {
    let mut classes = [0; UNIT_COUNT];
    let mut units = 0;
    while units < UNIT_COUNT {
        classes[units] = size_class((units as u32) << UNIT_SHIFT).expect("a small size") as u8;
        units += 1;
    }
    classes
};
static CELL_BYTES: [u32; SIZE_CLASS_COUNT] = SIZE_CLASSES;

const _: () =
    assert!(ARRAY_ELEMENTS_OFFSET.is_multiple_of(UNIT_BYTES) && offset_of!(BumpRange, next) == 0);

/// [`compiler::Entry::NewObject`]: context in rdi and r15, record of an initialised class in rsi.
/// As all entries but two it may change what a call may.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn new_object() {
    naked_asm!(
        "movzx ecx, word ptr [rsi + {bump}]",
        "test ecx, ecx",
        "jz {by_runtime}",
        "add rcx, r15",
        "mov eax, [rcx]",
        "mov edx, [rsi + {cell_bytes}]",
        "add edx, eax",
        "cmp edx, [rcx + {limit}]",
        "ja {by_runtime}",
        "mov [rcx], edx",
        "mov dword ptr [rax + {lock}], 0",
        "mov ecx, [r15 + {born}]",
        "mov [rax + {log}], ecx",
        // Last: it makes these bytes an object.
        "mov [rax + {class}], esi",
        "ret",
        by_runtime = sym object_by_runtime,
        bump = const offset_of!(Class, bump_range),
        cell_bytes = const offset_of!(Class, cell_bytes),
        limit = const BUMP_LIMIT,
        born = const BORN,
        lock = const LOCK_OFFSET,
        log = const LOG_OFFSET,
        class = const CLASS_OFFSET,
    )
}

/// [`compiler::Entry::NewArray`]: context in rdi and r15, record of the array's class in rsi,
/// length in edx.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn new_array() {
    naked_asm!(
        // Negative lengths are above it.
        "movzx eax, word ptr [rsi + {longest}]",
        "cmp edx, eax",
        "ja {by_runtime}",
        "movzx ecx, byte ptr [rsi + {element_shift}]",
        "mov eax, edx",
        "shl eax, cl",
        "add eax, {elements} + {unit_bytes} - 1",
        "shr eax, {unit_shift}",
        "lea rcx, [rip + {class_of_units}]",
        "movzx ecx, byte ptr [rcx + rax]",
        "lea r8, [rip + {all_cell_bytes}]",
        "mov r8d, [r8 + rcx * 4]",
        "shl ecx, {range_shift}",
        "lea rcx, [r15 + rcx + {ranges}]",
        "mov eax, [rcx]",
        "add r8d, eax",
        "cmp r8d, [rcx + {limit}]",
        "ja {by_runtime}",
        "mov [rcx], r8d",
        "mov dword ptr [rax + {lock}], 0",
        "mov ecx, [r15 + {born}]",
        "mov [rax + {log}], ecx",
        "mov [rax + {length}], edx",
        "mov [rax + {class}], esi",
        "ret",
        by_runtime = sym array_by_runtime,
        longest = const offset_of!(Class, longest_array),
        element_shift = const offset_of!(Class, layout) + offset_of!(Layout, element_shift),
        elements = const ARRAY_ELEMENTS_OFFSET,
        unit_bytes = const UNIT_BYTES,
        unit_shift = const UNIT_SHIFT,
        class_of_units = sym CLASS_OF_UNITS,
        all_cell_bytes = sym CELL_BYTES,
        range_shift = const BUMP_RANGE_SHIFT,
        ranges = const BUMP,
        limit = const BUMP_LIMIT,
        born = const BORN,
        lock = const LOCK_OFFSET,
        log = const LOG_OFFSET,
        length = const ARRAY_LENGTH_OFFSET,
        class = const CLASS_OFFSET,
    )
}

#[cfg(test)]
mod tests {
    use core::arch::asm;
    use core::sync::atomic::Ordering::Relaxed;

    use abi::barrier::LogWord;
    use abi::context::MutatorContext;

    use super::*;
    use crate::classes::alloc::{instance, longest_array};
    use crate::memory::testing::Low;

    #[test]
    fn units_have_the_class_of_their_bytes() {
        for bytes in 1..=ARRAY_BYTES_MAX {
            let units = bytes.div_ceil(UNIT_BYTES) as usize;
            assert_eq!(
                Some(usize::from(CLASS_OF_UNITS[units])),
                size_class(bytes),
                "{bytes}"
            );
        }
    }

    const CLASS: usize = 0;
    const CELLS: usize = 0x2000;
    /// What a cell may hold before it is an object's: headers are written whole, elements and
    /// fields are zero already.
    const STALE: u32 = 0xdead_beef;

    /// Machine code's call, which bumps: the new object.
    fn call(
        entry: unsafe extern "C" fn(),
        context: &MutatorContext,
        class: u64,
        length: u64,
    ) -> u64 {
        let object;
        // SAFETY: 1. The entry is called as it says; class record and cells lie in memory that the
        // test has mapped, and no range that it may take is exhausted. 2. What a call may change is
        // declared.
        unsafe {
            asm!(
                "call {entry}",
                entry = in(reg) entry,
                in("rdi") context, in("r15") context, in("rsi") class, in("rdx") length,
                lateout("rax") object,
                clobber_abi("C"),
            );
        }
        object
    }

    /// A context that bumps in [`CELLS`], in one size class only.
    fn context(low: &Low, class: usize) -> MutatorContext {
        let context = MutatorContext::default();
        context.born.store(LogWord::born(2).0, Relaxed);
        let range = &context.bump[class];
        range.next.store(low.at(CELLS) as u32, Relaxed);
        range
            .limit
            .store(low.at(CELLS) as u32 + SIZE_CLASSES[class], Relaxed);
        (0..4).for_each(|word| low.put(CELLS + 4 * word, STALE));
        context
    }

    /// Header and cell of what was made.
    fn assert_made(low: &Low, context: &MutatorContext, class: usize, object: u64) {
        let word = |offset: u32| low.get::<u32>(CELLS + offset as usize);
        assert_eq!(object, low.at(CELLS));
        let header = (word(CLASS_OFFSET), word(LOCK_OFFSET), word(LOG_OFFSET));
        assert_eq!(header, (low.at(CLASS) as u32, 0, LogWord::born(2).0));
        let range = &context.bump[class];
        assert_eq!(
            range.next.load(Relaxed),
            range.limit.load(Relaxed),
            "one cell is taken"
        );
    }

    #[test]
    fn arrays_of_every_length_get_the_cell_of_their_bytes() {
        let low = Low::map();
        for shift in 0..=3 {
            let layout = Layout::primitive_array(shift);
            let longest = longest_array(&layout);
            low.put(CLASS + offset_of!(Class, layout), layout);
            low.put(CLASS + offset_of!(Class, longest_array), longest);
            for length in 0..=u32::from(longest) {
                let bytes = abi::object::array_bytes(length, u32::from(shift)).unwrap();
                let class = size_class(bytes).expect("a small size");
                let context = context(&low, class);
                let object = call(new_array, &context, low.at(CLASS), length.into());
                assert_made(&low, &context, class, object);
                assert_eq!(low.get::<u32>(CELLS + ARRAY_LENGTH_OFFSET as usize), length);
            }
        }
    }

    #[test]
    fn objects_get_the_cell_of_their_class() {
        let low = Low::map();
        for (class, bytes) in SIZE_CLASSES.into_iter().enumerate() {
            let (range, cell_bytes) = instance(&Layout::fields(bytes, &[]));
            low.put(CLASS + offset_of!(Class, bump_range), range);
            low.put(CLASS + offset_of!(Class, cell_bytes), cell_bytes);
            let context = context(&low, class);
            let object = call(new_object, &context, low.at(CLASS), 0);
            assert_made(&low, &context, class, object);
            assert_eq!(low.get::<u32>(CELLS + 12), STALE, "it ends with the header");
        }
    }

    #[test]
    fn the_longest_arrays_fit_and_have_a_log_word_in_their_header() {
        for layout in [Layout::reference_array()]
            .into_iter()
            .chain((0..=3).map(Layout::primitive_array))
        {
            let longest = u32::from(longest_array(&layout));
            let bytes = abi::object::array_bytes(longest, u32::from(layout.element_shift)).unwrap();
            assert!(
                bytes <= ARRAY_BYTES_MAX && !layout.is_chunked(longest),
                "{layout:?}"
            );
        }
    }
}
