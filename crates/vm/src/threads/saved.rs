// SPDX-License-Identifier: Apache-2.0
//! [`Saved`]: what a thread notes of its registers and stack, for the collector that scans them.

use core::arch::naked_asm;
use core::sync::atomic::{AtomicU64, Ordering};

/// What a thread saved of itself at its last safepoint: the registers that calls preserve, then the
/// stack pointer.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Saved {
    registers: [AtomicU64; 6],
    stack_pointer: AtomicU64,
    /// The stack's base: the first address behind it. Equal to `stack_pointer` when there is
    /// nothing to scan.
    stack_base: AtomicU64,
}

/// What [`Saved`] held at one time.
pub(crate) struct Noted {
    registers: [u64; 6],
    stack_pointer: u64,
}

impl Saved {
    pub(crate) fn new(stack_base: u64) -> Self {
        Self {
            stack_pointer: AtomicU64::new(stack_base),
            stack_base: AtomicU64::new(stack_base),
            ..Self::default()
        }
    }

    /// Notes the calling thread's registers and stack pointer: those of the caller at this call.
    #[inline]
    pub(crate) fn save(&self) {
        // SAFETY: 1. `self` has room for the seven words. 2. Only the thread itself saves, in
        // managed state, when nobody reads.
        unsafe { save_registers(self) }
    }

    /// As [`Self::save`], where no foreign frame above the managed one noted at `last_frame` (0:
    /// none) holds a reference, nor any register.
    pub(crate) fn save_managed(&self, last_frame: u64) {
        let stack_pointer = match last_frame {
            0 => self.stack_base.load(Ordering::Relaxed),
            frame => stack_pointer_of_caller(frame),
        };
        self.stack_pointer.store(stack_pointer, Ordering::Relaxed);
        for register in &self.registers {
            register.store(0, Ordering::Relaxed);
        }
    }

    /// What is noted now, for [`Self::put_back`].
    pub(crate) fn noted(&self) -> Noted {
        Noted {
            registers: self
                .registers
                .each_ref()
                .map(|it| it.load(Ordering::Relaxed)),
            stack_pointer: self.stack_pointer.load(Ordering::Relaxed),
        }
    }

    /// Notes again what was noted before; the frames that it is of are there still.
    pub(crate) fn put_back(&self, noted: &Noted) {
        for (register, &value) in self.registers.iter().zip(&noted.registers) {
            register.store(value, Ordering::Relaxed);
        }
        self.stack_pointer
            .store(noted.stack_pointer, Ordering::Relaxed);
    }

    /// The thread ends: nothing of its stack is a root from here on.
    pub(crate) fn forget(&self) {
        self.stack_pointer
            .store(self.stack_base.load(Ordering::Relaxed), Ordering::Relaxed);
        for register in &self.registers {
            register.store(0, Ordering::Relaxed);
        }
    }

    pub(crate) fn each_register(&self, each: impl FnMut(u64)) {
        let registers = self.registers.iter();
        registers
            .map(|it| it.load(Ordering::Relaxed))
            .for_each(each);
    }

    pub(crate) fn stack(&self) -> (u64, u64) {
        let low = self.stack_pointer.load(Ordering::Relaxed) & !7;
        (low, self.stack_base.load(Ordering::Relaxed))
    }
}

#[unsafe(naked)]
unsafe extern "C" fn save_registers(saved: &Saved) {
    naked_asm!(
        "mov [rdi], rbx",
        "mov [rdi + 8], rbp",
        "mov [rdi + 16], r12",
        "mov [rdi + 24], r13",
        "mov [rdi + 32], r14",
        "mov [rdi + 40], r15",
        "lea rax, [rsp + 8]",
        "mov [rdi + 48], rax",
        "ret",
    )
}

/// Behind a frame record lies what its caller's stack pointer named at the call.
pub(crate) fn stack_pointer_of_caller(frame: u64) -> u64 {
    frame + 16
}

/// Zeroes the stack below the caller's frame, for frames of Rust that the caller is about to make:
/// what they leave unwritten would else name what managed frames held there. Takes some 0.2 µs; for
/// paths that take many.
#[inline]
pub(crate) fn clear_stack_below() {
    // SAFETY: 1. Below the limit of managed frames lie more bytes of stack than are cleared
    // (`thread`). 2. Nothing of value lies below the stack pointer.
    unsafe { clear_below() }
}

/// As many bytes as frames of the machine's own code take before they call Java again, or nearly.
pub(crate) const CLEARED_BYTES: i32 = 16 << 10;

#[unsafe(naked)]
unsafe extern "C" fn clear_below() {
    naked_asm!(
        "lea rdi, [rsp - {bytes}]",
        "mov ecx, {bytes} / 8",
        "xor eax, eax",
        "rep stosq",
        "ret",
        bytes = const CLEARED_BYTES,
    )
}
