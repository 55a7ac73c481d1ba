// SPDX-License-Identifier: Apache-2.0
//! The machine code between Rust and managed code: entering, entry points,
//! the compile stub, and resuming at a handler.

use core::arch::naked_asm;

use abi::context::{EXCEPTION, LAST_FRAME, MACHINE};
use compiler::{Entry, machine_word};

use crate::entry::alloc::{new_array, new_object};
use crate::entry::barrier::write_slow;
use crate::entry::functions;
use crate::threads::saved::CLEARED_BYTES;
use crate::threads::unwind;

const LAST_METHOD: i32 = MACHINE + machine_word::LAST_METHOD as i32 * 8;

/// Unwinds from the frame in rbp, with the exception pending in the context.
#[unsafe(naked)]
unsafe extern "C" fn unwind_here() {
    naked_asm!(
        "mov rdi, r15",
        "mov rsi, rbp",
        "call {find}",
        "mov rcx, [rax]",
        "mov rsp, [rax + 8]",
        "mov rbp, [rax + 16]",
        "mov rax, [rax + 24]",
        "xor edx, edx",
        "jmp rcx",
        find = sym unwind::find_handler,
    )
}

macro_rules! trampolines {
    ($($name:ident => $target:path),* $(,)?) => {
        $(
            /// Notes where managed code was left, calls the runtime, throws what is pending.
            #[unsafe(naked)]
            pub(crate) unsafe extern "C" fn $name() {
                naked_asm!(
                    "push rbp",
                    "mov rbp, rsp",
                    "mov [r15 + {last_frame}], rbp",
                    "mov qword ptr [r15 + {last_method}], 0",
                    "call {target}",
                    "cmp dword ptr [r15 + {exception}], 0",
                    "jne {unwind}",
                    "pop rbp",
                    "ret",
                    last_frame = const LAST_FRAME,
                    last_method = const LAST_METHOD,
                    exception = const EXCEPTION,
                    target = sym $target,
                    unwind = sym unwind_here,
                )
            }
        )*
    };
}

macro_rules! clearing_trampolines {
    ($($name:ident => $target:path),* $(,)?) => {
        $(
            /// As the others, for entries that collect while Rust frames are scanned word by word.
            /// What managed code left in the registers that a call preserves, Rust's frames would
            /// push, and in the stack below, they would leave unwritten. Each reference there would
            /// keep its object, though managed code holds none so. The registers are kept inverted:
            /// an object's address ends in zeroes, and no inverted one does.
            #[unsafe(naked)]
            pub(crate) unsafe extern "C" fn $name() {
                naked_asm!(
                    "push rbp",
                    "mov rbp, rsp",
                    "mov [r15 + {last_frame}], rbp",
                    "mov qword ptr [r15 + {last_method}], 0",
                    "not rbx",
                    "not r12",
                    "not r13",
                    "not r14",
                    "push rbx",
                    "push r12",
                    "push r13",
                    "push r14",
                    "mov r13, rdi",
                    "mov r14, rcx",
                    "lea rdi, [rsp - {bytes}]",
                    "mov ecx, {bytes} / 8",
                    "xor eax, eax",
                    "rep stosq",
                    "mov rdi, r13",
                    "mov rcx, r14",
                    "xor ebx, ebx",
                    "xor r12d, r12d",
                    "xor r13d, r13d",
                    "xor r14d, r14d",
                    "call {target}",
                    "pop r14",
                    "pop r13",
                    "pop r12",
                    "pop rbx",
                    "not r14",
                    "not r13",
                    "not r12",
                    "not rbx",
                    "cmp dword ptr [r15 + {exception}], 0",
                    "jne {unwind}",
                    "pop rbp",
                    "ret",
                    bytes = const CLEARED_BYTES,
                    last_frame = const LAST_FRAME,
                    last_method = const LAST_METHOD,
                    exception = const EXCEPTION,
                    target = sym $target,
                    unwind = sym unwind_here,
                )
            }
        )*
    };
}

macro_rules! preserving_trampolines {
    ($($name:ident => $target:path),* $(,)?) => {
        $(
            /// As the others, for [`Entry::is_preserving`]: keeps all registers, throws nothing.
            #[unsafe(naked)]
            pub(crate) unsafe extern "C" fn $name() {
                naked_asm!(
                    "push rbp",
                    "mov rbp, rsp",
                    "sub rsp, 0x150",
                    "mov [rsp], rax",
                    "mov [rsp + 8], rcx",
                    "mov [rsp + 16], rdx",
                    "mov [rsp + 24], rsi",
                    "mov [rsp + 32], rdi",
                    "mov [rsp + 40], r8",
                    "mov [rsp + 48], r9",
                    "mov [rsp + 56], r10",
                    "mov [rsp + 64], r11",
                    "lea rax, [rsp + 80]",
                    "movups [rax], xmm0",
                    "movups [rax + 16], xmm1",
                    "movups [rax + 32], xmm2",
                    "movups [rax + 48], xmm3",
                    "movups [rax + 64], xmm4",
                    "movups [rax + 80], xmm5",
                    "movups [rax + 96], xmm6",
                    "movups [rax + 112], xmm7",
                    "movups [rax + 128], xmm8",
                    "movups [rax + 144], xmm9",
                    "movups [rax + 160], xmm10",
                    "movups [rax + 176], xmm11",
                    "movups [rax + 192], xmm12",
                    "movups [rax + 208], xmm13",
                    "movups [rax + 224], xmm14",
                    "movups [rax + 240], xmm15",
                    "mov [r15 + {last_frame}], rbp",
                    "mov qword ptr [r15 + {last_method}], 0",
                    "call {target}",
                    "lea rax, [rsp + 80]",
                    "movups xmm0, [rax]",
                    "movups xmm1, [rax + 16]",
                    "movups xmm2, [rax + 32]",
                    "movups xmm3, [rax + 48]",
                    "movups xmm4, [rax + 64]",
                    "movups xmm5, [rax + 80]",
                    "movups xmm6, [rax + 96]",
                    "movups xmm7, [rax + 112]",
                    "movups xmm8, [rax + 128]",
                    "movups xmm9, [rax + 144]",
                    "movups xmm10, [rax + 160]",
                    "movups xmm11, [rax + 176]",
                    "movups xmm12, [rax + 192]",
                    "movups xmm13, [rax + 208]",
                    "movups xmm14, [rax + 224]",
                    "movups xmm15, [rax + 240]",
                    "mov rax, [rsp]",
                    "mov rcx, [rsp + 8]",
                    "mov rdx, [rsp + 16]",
                    "mov rsi, [rsp + 24]",
                    "mov rdi, [rsp + 32]",
                    "mov r8, [rsp + 40]",
                    "mov r9, [rsp + 48]",
                    "mov r10, [rsp + 56]",
                    "mov r11, [rsp + 64]",
                    "mov rsp, rbp",
                    "pop rbp",
                    "ret",
                    last_frame = const LAST_FRAME,
                    last_method = const LAST_METHOD,
                    target = sym $target,
                )
            }
        )*
    };
}

preserving_trampolines! {
    poll => functions::poll,
    record_any => functions::write_slow,
}

clearing_trampolines! {
    throw_null => functions::throw_null,
    throw_bounds => functions::throw_bounds,
    throw_divide => functions::throw_divide,
    throw_cast => functions::throw_cast,
    resolve => functions::resolve,
    bind_native => functions::bind_native,
    initialize_class => functions::initialize_class,
}

trampolines! {
    throw_stack_overflow => functions::throw_stack_overflow,
    throw => functions::throw,
    throw_pending => functions::throw_pending,
    throw_locals_full => functions::throw_locals_full,
    object_by_runtime => functions::new_object,
    array_by_runtime => functions::new_array,
    new_multi_array => functions::new_multi_array,
    is_subtype => functions::is_subtype,
    check_store => functions::check_store,
    monitor_enter => functions::monitor_enter,
    monitor_exit => functions::monitor_exit,
    select_interface => functions::select_interface,
    array_copy => functions::array_copy,
    rem_float => functions::rem_float,
    rem_double => functions::rem_double,
    read_referent => functions::read_referent,
    write_referent => functions::write_referent,
    nano_time => functions::nano_time,
    identity_hash => functions::identity_hash,
    locks_begin => functions::locks_begin,
    lock_noted => functions::lock_noted,
    unlock_noted => functions::unlock_noted,
    locks_return => functions::locks_return,
    locks_unwind => functions::locks_unwind,
    store_element => functions::store_element,
    check_cast => functions::check_cast,
    throw_receiver => functions::throw_receiver,
}

macro_rules! passages {
    ($($name:ident => $target:path),* $(,)?) => {
        $(
            /// Between a bridge and its native method: the bridge has noted where managed code is
            /// left.
            #[unsafe(naked)]
            unsafe extern "C" fn $name() {
                naked_asm!(
                    "push rbp",
                    "mov rbp, rsp",
                    "call {target}",
                    "pop rbp",
                    "ret",
                    target = sym $target,
                )
            }
        )*
    };
}

passages! {
    object_of => functions::object_of,
    enter_native => functions::enter_native,
    leave_native => functions::leave_native,
}

/// A trampoline, as the entry table holds it.
type Trampoline = unsafe extern "C" fn();

/// In the order of [`Entry`].
static ENTRIES: [Trampoline; Entry::COUNT] = [
    poll,
    throw_stack_overflow,
    throw_null,
    throw_bounds,
    throw_divide,
    throw_cast,
    throw,
    throw_pending,
    resolve,
    new_object,
    new_array,
    new_multi_array,
    is_subtype,
    check_store,
    monitor_enter,
    monitor_exit,
    select_interface,
    write_slow,
    bind_native,
    array_copy,
    rem_float,
    rem_double,
    initialize_class,
    object_of,
    read_referent,
    write_referent,
    enter_native,
    leave_native,
    nano_time,
    locks_begin,
    lock_noted,
    unlock_noted,
    locks_return,
    locks_unwind,
    store_element,
    check_cast,
    throw_locals_full,
    throw_receiver,
    identity_hash,
];

pub(crate) fn entries_address() -> u64 {
    ENTRIES.as_ptr() as u64
}

pub(crate) fn compile_stub_address() -> u64 {
    compile_stub as *const () as u64
}

/// What a method's first call reaches, with its record in r11: compiles, then goes there. The first
/// argument, a receiver if there is one, is handed over: an abstract method asks for its class.
#[unsafe(naked)]
unsafe extern "C" fn compile_stub() {
    naked_asm!(
        "push rbp",
        "mov rbp, rsp",
        "sub rsp, 0x80",
        "mov [rsp], rdi",
        "mov [rsp + 8], rsi",
        "mov [rsp + 16], rdx",
        "mov [rsp + 24], rcx",
        "mov [rsp + 32], r8",
        "mov [rsp + 40], r9",
        "movsd [rsp + 48], xmm0",
        "movsd [rsp + 56], xmm1",
        "movsd [rsp + 64], xmm2",
        "movsd [rsp + 72], xmm3",
        "movsd [rsp + 80], xmm4",
        "movsd [rsp + 88], xmm5",
        "movsd [rsp + 96], xmm6",
        "movsd [rsp + 104], xmm7",
        "mov [r15 + {last_frame}], rbp",
        "lea rax, [r11 + {first_call}]",
        "mov [r15 + {last_method}], rax",
        "mov rdx, rdi",
        "mov rdi, r15",
        "mov rsi, r11",
        "call {compile}",
        "cmp dword ptr [r15 + {exception}], 0",
        "jne {unwind}",
        "mov rdi, [rsp]",
        "mov rsi, [rsp + 8]",
        "mov rdx, [rsp + 16]",
        "mov rcx, [rsp + 24]",
        "mov r8, [rsp + 32]",
        "mov r9, [rsp + 40]",
        "movsd xmm0, [rsp + 48]",
        "movsd xmm1, [rsp + 56]",
        "movsd xmm2, [rsp + 64]",
        "movsd xmm3, [rsp + 72]",
        "movsd xmm4, [rsp + 80]",
        "movsd xmm5, [rsp + 88]",
        "movsd xmm6, [rsp + 96]",
        "movsd xmm7, [rsp + 104]",
        "mov rsp, rbp",
        "pop rbp",
        "jmp rax",
        last_frame = const LAST_FRAME,
        last_method = const LAST_METHOD,
        first_call = const machine_word::FIRST_CALL,
        exception = const EXCEPTION,
        compile = sym functions::compile,
        unwind = sym unwind_here,
    )
}
