// SPDX-License-Identifier: Apache-2.0
//! The slow path of a reference store as compiled code calls it: [`heap::Mutator::write_slow`]'s
//! twin for what is usual.
//!
//! A store that finds its object recorded, as all do while a handshake round is under way, makes
//! its value a root at most (`heap::Heap::snoop`). An object with fields whose log word is clean is
//! recorded here: its references that are not null go into the mutator's log, and the exchange
//! publishes the record (`heap::barrier::claim`). Everything else, and an exchange that fails, goes
//! to Rust code, for which all registers must be saved: arrays, a word of the last epoch, a full
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

use crate::entry::trampolines::record_any;

/// From a record's offset, a multiple of its unit, to its number in a log word.
const NUMBER_SHIFT: u32 = EPOCH_BITS - RECORD_UNIT_BYTES.trailing_zeros();

const _: () = {
    assert!(LogWord::CLEAN.0 == 0 && REFERENCE_BYTES == 4 && RECORD_OLD_OFFSET == 8);
    assert!(Shape::Fields as u8 == 0);
};

/// [`compiler::Entry::WriteSlow`]: context in rdi and r15, object in esi, address of the log word
/// in rdx or 0, value in ecx, address of the slot in r8. Keeps all registers.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn write_slow() {
    naked_asm!(
        "test rdx, rdx",
        "jz {any}",
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

/// As [`write_slow`], where the log word is clean. Records what has its word in the header and all
/// slots in the map, if there is room for the largest record, and then finds it recorded. At most
/// 32 slots are copied, without a call or a lock.
///
/// The exchange waits for its line, one record after another; objects that lie in a row are often
/// stored to in a row, so the line four objects of 64 bytes ahead is fetched meanwhile.
#[unsafe(naked)]
unsafe extern "C" fn record() {
    naked_asm!(
        "prefetchw [rdx + 256]",
        "push rax; push r8; push r9; push r10",
        "mov r8d, esi",
        "lea rax, [r8 + {log}]",
        "cmp rax, rdx; jne 5f",
        "mov eax, [r8 + {class}]",
        "cmp byte ptr [rax + {shape}], 0; jne 5f; cmp byte ptr [rax + {own}], 0; jne 5f",
        "cmp dword ptr [rax + {far_count}], 0; jne 5f",
        "cmp dword ptr [rax + {slot_count}], {slots_max}; ja 5f",
        "mov r9d, [r15 + {next}]",
        "lea r10d, [r9 + {record_bytes_max}]",
        "cmp r10d, [r15 + {limit}]; ja 5f",
        // rax: rest of the map; r8: the object; r9: the record; r10: where the next reference goes.
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
        own = const offset_of!(Layout, own_offset),
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

#[cfg(test)]
mod tests {
    use core::arch::asm;
    use core::sync::atomic::Ordering::Relaxed;

    use abi::barrier::record_bytes;
    use abi::context::MutatorContext;

    use super::*;
    use crate::memory::testing::Low;

    const OBJECT: usize = 0x100;
    const VALUE: usize = 0x800;
    const LOG: usize = 0x1000;
    const SNOOP: usize = 0x3000;
    const SUMMARY: usize = 0x3800;
    const TAG: u8 = 7;
    /// What a caller may have in its registers.
    const OTHERS: [u64; 5] = [0x1111, 0x2222_0000_2222, 0x3333, 0x4444, 0x5555];

    /// Machine code's call before `object.slot = value`; whether the caller finds its registers as
    /// they were.
    fn store(context: &MutatorContext, object: u32, log_word: u64, value: u32) -> bool {
        let [mut rax, mut r8, mut r9, mut r10, mut r11] = OTHERS;
        let (mut rcx, mut rdx, mut rsi) = (u64::from(value), log_word, u64::from(object));
        let is_rbx_kept: u8;
        // SAFETY: 1. The entry is called as it says: context, object, log word and value lie where
        // it reads them, all in memory that the test has mapped. 2. It keeps registers, which is
        // what the test looks at; flags and the stack below are declared.
        unsafe {
            asm!(
                "push rbx",
                "mov ebx, 0x6666",
                "call {entry}",
                "cmp rbx, 0x6666",
                "pop rbx",
                "sete r12b",
                entry = sym write_slow,
                in("rdi") context,
                in("r15") context,
                inout("rax") rax, inout("rcx") rcx, inout("rdx") rdx, inout("rsi") rsi,
                inout("r8") r8, inout("r9") r9, inout("r10") r10, inout("r11") r11,
                out("r12b") is_rbx_kept,
            );
        }
        let kept = [rax, r8, r9, r10, r11, rcx, rdx, rsi];
        let before = [&OTHERS[..], &[value.into(), log_word, object.into()]].concat();
        is_rbx_kept == 1 && kept[..] == before[..]
    }

    /// A context whose log begins at [`LOG`], and snoop tables for addresses near [`VALUE`].
    fn context(low: &Low, epoch: u8, next: u32) -> MutatorContext {
        let context = MutatorContext::default();
        context.born.store(LogWord::born(epoch).0, Relaxed);
        context.log_base.store(low.at(LOG), Relaxed);
        context.log_next.store(next, Relaxed);
        context.log_limit.store(next + RECORD_BYTES_MAX, Relaxed);
        context.snoop_tag.store(TAG, Relaxed);
        let biased = |place, shift| low.at(place).wrapping_sub(low.at(VALUE) >> shift);
        context
            .snoop_base
            .store(biased(SNOOP, ENTRY_SHIFT), Relaxed);
        context
            .summary_base
            .store(biased(SUMMARY, BLOCK_SHIFT), Relaxed);
        context
    }

    #[test]
    fn a_record_is_what_abi_says() {
        let low = Low::map();
        let mut seed = 1u64;
        let mut random = |below: u32| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1);
            (seed >> 33) as u32 % below
        };
        for _ in 0..2000 {
            low.clear();
            let count = random(SLOTS_PER_LOG_WORD + 1);
            let mut offsets: Vec<u32> = (0..64).map(|word| HEADER_BYTES + 4 * word).collect();
            while offsets.len() > count as usize {
                offsets.remove(random(offsets.len() as u32) as usize);
            }
            low.put(0, Layout::fields(HEADER_BYTES + 256, &offsets));
            low.put(OBJECT + CLASS_OFFSET as usize, low.at(0) as u32);
            // What is no slot is not recorded.
            (0..64).for_each(|word| low.put(OBJECT + HEADER_BYTES as usize + 4 * word, u32::MAX));
            let olds: Vec<u32> = offsets.iter().map(|_| random(3) * 16).collect();
            for (offset, old) in offsets.iter().zip(&olds) {
                low.put(OBJECT + *offset as usize, *old);
            }
            let (epoch, next) = (1 + random(3) as u8, 16 * random(64));
            let context = context(&low, epoch, next);
            context.is_snooping.store(random(2) as u8, Relaxed);
            let value = random(2) * low.at(VALUE) as u32;

            let (object, word) = (
                low.at(OBJECT) as u32,
                low.at(OBJECT) + u64::from(LOG_OFFSET),
            );
            assert!(store(&context, object, word, value), "registers are kept");
            let expected: Vec<u32> = olds.into_iter().filter(|old| *old != 0).collect();
            let record = LOG + next as usize;
            assert_eq!(low.get::<u32>(record), object);
            assert_eq!(low.get::<u32>(record + 4), expected.len() as u32);
            let old = |index| low.get::<u32>(record + RECORD_OLD_OFFSET as usize + 4 * index);
            assert_eq!((0..expected.len()).map(old).collect::<Vec<_>>(), expected);
            let recorded = LogWord::recorded(epoch, next / RECORD_UNIT_BYTES);
            assert_eq!(low.get::<u32>(OBJECT + LOG_OFFSET as usize), recorded.0);
            let behind = next + record_bytes(expected.len() as u32);
            assert_eq!(context.log_next.load(Relaxed), behind);
            let is_root = value != 0 && context.is_snooping.load(Relaxed) != 0;
            let tag = if is_root { TAG } else { 0 };
            assert_eq!((low.get::<u8>(SNOOP), low.get::<u8>(SUMMARY)), (tag, tag));

            // The second store finds it recorded; the segment has no room for another.
            assert!(store(&context, object, word, value), "registers are kept");
            assert_eq!(context.log_next.load(Relaxed), behind);
        }
    }
}
