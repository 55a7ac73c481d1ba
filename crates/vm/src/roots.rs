// SPDX-License-Identifier: Apache-2.0
//! [`Roots`]: where the collector finds references outside the heap.
//!
//! - For ever ([`crate::heap_binding::keep`], in the heap's own list): class objects, statics, loaders, modules,
//!   interned strings, what call sites found.
//! - JNI's global references ([`crate::handles`]).
//! - Of a thread: its object, the pending exception, its local references, and its stack.
//!
//! A stack is scanned from where the thread reached its safepoint up to its base, with the registers that a call
//! preserves. The scan cannot tell references from numbers: each 32-bit word that lies in an object makes it a root.
//! That is safe, because nothing moves and any object that exists may be a root, and it is bounded by the stack's
//! size. It can keep a dead object for as long as a stale word names it. Rust code therefore may hold references in
//! variables across safepoints, but not in memory of its own allocation: there it holds them by local references
//! (`Thread::scope`).

use core::arch::naked_asm;
use core::sync::atomic::{AtomicU64, Ordering};

use abi::context::MutatorContext;
use compiler::machine_word;
use heap::Binding;

use crate::handles;
use crate::heap_binding::{self, to_heap};
use crate::memory;
use crate::object::ObjectRef;
use crate::thread::Thread;

/// See the module.
#[derive(Debug)]
pub(crate) struct Roots;

impl Binding for Roots {
    fn each_global_root(&self, visit: &mut dyn FnMut(heap::ObjectRef)) {
        handles::each(&mut |object| visit(to_heap(object)));
    }

    fn collected(&self, counters: &heap::Counters, has_pending: bool) {
        if has_pending {
            crate::pending::announce();
        }
        crate::report::collected(counters);
    }

    fn each_stack_root(&self, context: &MutatorContext, visit: &mut dyn FnMut(heap::ObjectRef)) {
        if context.thread.load(Ordering::Relaxed) == 0 {
            return;
        }
        let thread = Thread::of_context(context);
        let mut each = |bits: u32| {
            if let Some(object) = heap_binding::heap().object_at(bits) {
                visit(object);
            }
        };
        each(thread.object().0);
        let locals = thread.locals_start..thread.word(machine_word::LOCALS_TOP);
        locals
            .step_by(8)
            .for_each(|slot| each(memory::read::<u32>(slot)));
        thread.saved.each_word(&mut each);
        let (low, high) = thread.saved.stack();
        (low..high)
            .step_by(4)
            .for_each(|at| each(memory::read_volatile(at)));
    }
}

/// What a thread saved of itself at its last safepoint: the registers that calls preserve, then the stack pointer.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Saved {
    registers: [AtomicU64; 6],
    stack_pointer: AtomicU64,
    /// The stack's base: the first address behind it. Equal to `stack_pointer` when there is nothing to scan.
    stack_base: AtomicU64,
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
        // SAFETY: 1. `self` has room for the seven words. 2. Only the thread itself saves, in managed state, when
        // nobody reads.
        unsafe { save_registers(self) }
    }

    /// The thread ends: nothing of its stack is a root from here on.
    pub(crate) fn forget(&self) {
        self.stack_pointer
            .store(self.stack_base.load(Ordering::Relaxed), Ordering::Relaxed);
        for register in &self.registers {
            register.store(0, Ordering::Relaxed);
        }
    }

    fn each_word(&self, each: &mut impl FnMut(u32)) {
        for register in &self.registers {
            let value = register.load(Ordering::Relaxed);
            each(value as u32);
            each((value >> 32) as u32);
        }
    }

    fn stack(&self) -> (u64, u64) {
        let low = self.stack_pointer.load(Ordering::Relaxed) & !3;
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

/// References in Rust's own memory, held by local references of their own until the scope ends.
pub(crate) struct Scope<'a> {
    thread: &'a Thread,
    mark: u64,
}

impl<'a> Scope<'a> {
    pub(crate) fn new(thread: &'a Thread) -> Self {
        Self {
            thread,
            mark: thread.word(machine_word::LOCALS_TOP),
        }
    }

    /// Holds `object` until the scope ends.
    pub(crate) fn hold(&self, object: ObjectRef) -> ObjectRef {
        self.thread.local(object);
        object
    }
}

impl Drop for Scope<'_> {
    fn drop(&mut self) {
        self.thread.set_word(machine_word::LOCALS_TOP, self.mark);
    }
}
