// SPDX-License-Identifier: Apache-2.0
//! [`enter`]: from Rust into managed code, and [`Resume`], where that goes on after an exception.

use core::arch::naked_asm;

use abi::context::MutatorContext;

/// Where to go on after an exception.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub(crate) struct Resume {
    pub(crate) code: u64,
    pub(crate) stack: u64,
    pub(crate) frame: u64,
    pub(crate) payload: u64,
}

/// Calls managed `code` through `adapter`.
pub(crate) fn enter(adapter: u64, code: u64, args: &[u64], context: &MutatorContext) -> u64 {
    // SAFETY: 1. `adapter` is an adapter's code for the callee's shape; `args` has a value per
    // parameter.
    // 2. `context` is the calling thread's.
    unsafe { enter_code(adapter, code, args.as_ptr(), context) }
}

/// Sets the pinned register for the time of the call. All registers that calls preserve go to the
/// stack, where the collector finds what the Rust frames above hold in them (`roots`).
#[unsafe(naked)]
unsafe extern "C" fn enter_code(
    adapter: u64,
    code: u64,
    args: *const u64,
    context: *const MutatorContext,
) -> u64 {
    naked_asm!(
        "push rbp",
        "mov rbp, rsp",
        "push r15",
        "push r14",
        "push r13",
        "push r12",
        "push rbx",
        "push rbx",
        "mov r15, rcx",
        "mov rax, rdi",
        "mov rdi, rsi",
        "mov rsi, rdx",
        "call rax",
        "pop rbx",
        "pop rbx",
        "pop r12",
        "pop r13",
        "pop r14",
        "pop r15",
        "pop rbp",
        "ret",
    )
}
