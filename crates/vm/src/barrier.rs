// SPDX-License-Identifier: Apache-2.0
//! The slow path of a reference store as compiled code calls it: [`heap::Mutator::write_slow`]'s twin for what is usual.
//!
//! A store that finds its object recorded, as all do while a handshake round is under way, makes its value a root at most
//! (`heap::Heap::snoop`). An object with fields whose log word is clean is recorded here: its references that are not
//! null go into the mutator's log, and the exchange publishes the record (`heap::barrier::claim`). Everything else, and an
//! exchange that fails, goes to Rust code, for which all registers must be saved: arrays, a word of the last epoch, a full
//! log segment.

use core::arch::naked_asm;
use core::mem::offset_of;

use abi::alloc::BLOCK_SHIFT;
use abi::barrier::{
    EPOCH_BITS, LogWord, RECORD_BYTES_MAX, RECORD_COUNT_OFFSET, RECORD_OLD_OFFSET,
    RECORD_UNIT_BYTES,
};
use abi::context::{
    BORN, IS_SNOOPING, LOG_BASE, LOG_LIMIT, LOG_NEXT, SNOOP_BASE, SNOOP_TAG, SUMMARY_BASE,
};
use abi::layout::{Layout, Shape};
use abi::object::{CLASS_OFFSET, HEADER_BYTES, LOG_OFFSET, REFERENCE_BYTES, SLOTS_PER_LOG_WORD};
use abi::side_table::ENTRY_SHIFT;

use crate::execute::record_any;

/// From a record's offset, a multiple of its unit, to its number in a log word.
const NUMBER_SHIFT: u32 = EPOCH_BITS - RECORD_UNIT_BYTES.trailing_zeros();

const _: () = {
    assert!(LogWord::CLEAN.0 == 0 && REFERENCE_BYTES == 4 && RECORD_OLD_OFFSET == 8);
    assert!(Shape::Fields as u8 == 0);
};

/// [`compiler::Entry::WriteSlow`]: context in rdi and r15, object in esi, address of the log word in rdx, or that of the slot
/// with the lowest bit set, value in ecx. Keeps all registers.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn write_slow() {
    naked_asm!(
        "test dl, 1",
        "jnz {any}",
        "push rax",
        "movzx eax, byte ptr [rdx]",
        "cmp al, byte ptr [r15 + {born}]",
        "jne 3f",
        // Recorded. The value becomes a root while a round is under way.
        "cmp byte ptr [r15 + {is_snooping}], 0",
        "je 2f",
        "test ecx, ecx",
        "je 2f",
        "push rbx",
        "movzx ebx, byte ptr [r15 + {tag}]",
        "mov eax, ecx",
        "shr eax, {entry_shift}",
        "add rax, [r15 + {snoop_base}]",
        "mov [rax], bl",
        "mov eax, ecx",
        "shr eax, {block_shift}",
        "add rax, [r15 + {summary_base}]",
        "mov [rax], bl",
        "pop rbx",
        "2:",
        "pop rax",
        "ret",
        "3:",
        "pop rax",
        "cmp dword ptr [rdx], 0",
        "je {record}",
        "jmp {any}",
        any = sym record_any,
        record = sym record,
        born = const BORN,
        is_snooping = const IS_SNOOPING,
        tag = const SNOOP_TAG,
        snoop_base = const SNOOP_BASE,
        summary_base = const SUMMARY_BASE,
        entry_shift = const ENTRY_SHIFT,
        block_shift = const BLOCK_SHIFT,
    )
}

/// As [`write_slow`], where the log word is clean. Records what has its word in the header and all slots in the map, if there
/// is room for the largest record, and then finds it recorded. At most 32 slots are copied, without a call or a lock.
///
/// The exchange waits for its line, one record after another; objects that lie in a row are often stored to in a row, so
/// the line four objects of 64 bytes ahead is fetched meanwhile.
#[unsafe(naked)]
unsafe extern "C" fn record() {
    naked_asm!(
        "prefetchw [rdx + 256]",
        "push rax; push r8; push r9; push r10",
        "mov r8d, esi",
        "lea rax, [r8 + {log}]",
        "cmp rax, rdx; jne 5f",
        "mov eax, [r8 + {class}]",
        "cmp byte ptr [rax + {shape}], 0; jne 5f",
        "cmp dword ptr [rax + {far_count}], 0; jne 5f",
        "cmp dword ptr [rax + {slot_count}], {slots_max}; ja 5f",
        "mov r9d, [r15 + {next}]",
        "lea r10d, [r9 + {record_bytes_max}]",
        "cmp r10d, [r15 + {limit}]; ja 5f",
        // rax: what is left of the map; r8: the object; r9: the record; r10: where the next reference goes.
        "add r9, [r15 + {base}]",
        "lea r10, [r9 + {old}]",
        "push rcx; push rbx",
        "mov rax, [rax + {map}]",
        "2:",
        "test rax, rax; jz 3f",
        "bsf rcx, rax",
        "lea rbx, [rax - 1]; and rax, rbx",
        "mov ecx, [r8 + rcx * 4 + {header_bytes}]",
        "test ecx, ecx; jz 2b",
        "mov [r10], ecx",
        "add r10, 4",
        "jmp 2b",
        "3:",
        "mov [r9], r8d",
        "sub r10, r9",
        "lea ecx, [r10 - {old}]; shr ecx, 2",
        "mov [r9 + {count}], ecx",
        // The log word: the record's number above the epoch.
        "mov r9d, [r15 + {next}]",
        "mov ecx, r9d; shl ecx, {number_shift}",
        "mov cl, byte ptr [r15 + {born}]",
        "xor eax, eax",
        "lock cmpxchg [rdx], ecx",
        "pop rbx; pop rcx",
        "jne 5f",
        "lea r9d, [r9 + r10 + {unit} - 1]; and r9d, -{unit}",
        "mov [r15 + {next}], r9d",
        "pop r10; pop r9; pop r8; pop rax",
        "jmp {recorded}",
        "5:",
        "pop r10; pop r9; pop r8; pop rax",
        "jmp {any}",
        any = sym record_any,
        recorded = sym write_slow,
        born = const BORN,
        log = const LOG_OFFSET,
        class = const CLASS_OFFSET,
        shape = const offset_of!(Layout, shape),
        far_count = const offset_of!(Layout, far_count),
        slot_count = const offset_of!(Layout, slot_count),
        slots_max = const SLOTS_PER_LOG_WORD,
        map = const offset_of!(Layout, map),
        header_bytes = const HEADER_BYTES,
        next = const LOG_NEXT,
        limit = const LOG_LIMIT,
        base = const LOG_BASE,
        record_bytes_max = const RECORD_BYTES_MAX,
        old = const RECORD_OLD_OFFSET,
        count = const RECORD_COUNT_OFFSET,
        number_shift = const NUMBER_SHIFT,
        unit = const RECORD_UNIT_BYTES,
    )
}
