// SPDX-License-Identifier: Apache-2.0
//! [`Roots`]: where the collector finds references outside the heap.
//!
//! - For ever ([`crate::objects::heap_binding::keep`], in the heap's own list): class objects,
//!   statics, loaders, modules, interned strings, what call sites found.
//! - JNI's global references ([`crate::objects::handles`]).
//! - Of a thread: its object, the pending exception, its local references, and its stack.
//!
//! A stack is scanned from where the thread reached its safepoint up to its base. It is made of
//! parts that alternate:
//!
//! - *Managed* frames are scanned exactly: the walk goes from frame pointer to frame pointer, and
//!   the table of the code that a return address lies in says which words hold references during
//!   that call. The compiler keeps each reference that is alive across a call in such a word, so
//!   registers do not matter. A word that is not named is no root.
//! - *Foreign* frames, of Rust and of native code, lie below the managed frame that called them,
//!   and with them the registers that a call preserves: each 32-bit word there that is the address
//!   of an object makes it a root, and so does each 64-bit word that is an address inside one
//!   ([`named_by`]). That is safe, because nothing moves and any object that exists may be a root;
//!   it can keep a dead object for as long as a stale word names it. Rust code therefore may hold
//!   references in variables across safepoints, and addresses made from them as 64-bit words, but
//!   not in memory of its own allocation: there it holds them by local references
//!   (`Thread::scope`).
//!
//! Managed code notes its frame in the context before it calls the runtime or native code
//! (`entry/trampolines`, the compiler's bridges), and Rust notes that frame again when it calls
//! Java (`UpcallFrame`). A frame noted by a bridge counts as foreign: what the bridge holds is in
//! local references. Arguments that a call passes on the stack belong to the callee, which has no
//! frame yet while it is being compiled: those words are scanned like foreign ones.
//!
//! Where foreign frames hold nothing that is not in a local reference or in the thread's record,
//! they are left out ([`Holds::Nothing`]): polls, allocation by compiled code, the literals,
//! initialisers and errors that it asks for, `System.gc`, waiting, native code that calls Java.
//!
//! The bound is the depth of the stack plus the size of its foreign parts.

use core::sync::atomic::{AtomicU64, Ordering};

use abi::context::MutatorContext;
use compiler::machine_word;
use heap::Binding;

use crate::classes::class::Method;
use crate::classes::object::ObjectRef;
use crate::code::cache::{self, CodeKind};
use crate::console;
use crate::memory;
use crate::objects::handles;
use crate::objects::heap_binding;
use crate::options::{self, StackScan};
use crate::threads::saved::stack_pointer_of_caller;
use crate::threads::thread::{Holds, Thread, UpcallFrame};

/// See the module.
#[derive(Debug)]
pub(crate) struct Roots {
    /// Done after each collection.
    pub(crate) sweep: fn(),
}

impl Binding for Roots {
    fn each_global_root(&self, visit: &mut dyn FnMut(heap::ObjectRef)) {
        handles::each(&mut |object| visit(object.to_heap()));
    }

    fn collected(&self, counters: &heap::Counters, has_pending: bool) {
        if has_pending {
            crate::objects::pending::announce();
        }
        (self.sweep)();
        collected(counters);
    }

    fn each_stack_root(&self, context: &MutatorContext, visit: &mut dyn FnMut(heap::ObjectRef)) {
        if context.thread.load(Ordering::Relaxed) == 0 {
            return;
        }
        let thread = Thread::of_context(context);
        let mut scan = Scan {
            visit,
            is_checking: cfg!(debug_assertions) || options::get().is_verifying,
            counts: Counts::default(),
        };
        scan.thread(thread);
        scan.counts.add();
    }
}

/// One scan of a thread's roots.
struct Scan<'a> {
    visit: &'a mut dyn FnMut(heap::ObjectRef),
    /// Every exact root must be an object's start.
    is_checking: bool,
    counts: Counts,
}

impl Scan<'_> {
    fn thread(&mut self, thread: &Thread) {
        self.exact(thread.object().0, 0);
        let locals = thread.locals_start..thread.word(machine_word::LOCALS_TOP);
        locals
            .step_by(8)
            .for_each(|slot| self.exact(memory::read(slot), slot));
        for locks in [&thread.noted_locks, &thread.native_locks] {
            locks.each(|object| self.exact(object.0, 0));
        }
        thread.saved.each_register(|bits| self.word(bits));
        let (low, base) = thread.saved.stack();
        if options::get().stack_scan == StackScan::Conservative {
            return self.words(low, base);
        }
        self.stack(thread, low, base);
    }

    /// Part by part: foreign frames, then the managed ones that led to them.
    fn stack(&mut self, thread: &Thread, mut low: u64, base: u64) {
        let mut left = UpcallFrame {
            previous: thread.upcalls.get(),
            last_frame: thread.context().last_frame.load(Ordering::Relaxed),
            last_method: thread.word(machine_word::LAST_METHOD),
            holds: Holds::Any,
        };
        while low < base {
            let high = match left.last_frame {
                0 => base,
                frame => stack_pointer_of_caller(frame),
            };
            if left.holds == Holds::Any {
                self.words(low, high);
            }
            if left.last_frame == 0 {
                return;
            }
            self.words(high, high + 8 * unframed_arguments(left.last_method));
            low = self.managed(left.last_frame);
            // SAFETY: 1. Managed frames end at an adapter, which runs inside `Thread::call`: its
            // record is on this stack.
            left = unsafe { left.previous.read() };
        }
    }

    /// Managed frames from the record at `frame` on. Gives the stack pointer that their adapter
    /// has.
    fn managed(&mut self, mut frame: u64) -> u64 {
        loop {
            let stack_pointer = stack_pointer_of_caller(frame);
            let return_address: u64 = memory::read(frame + 8);
            let Some(code) = cache::find(return_address) else {
                console::fatal(&format!("no code at return address {return_address:#x}"));
            };
            if let CodeKind::Adapter = code.kind {
                return stack_pointer;
            }
            self.counts.frames += 1;
            let Some(slots) = code.slots(return_address) else {
                console::fatal(&format!("no call returns to {return_address:#x}"));
            };
            for &slot in slots {
                let at = stack_pointer + u64::from(slot);
                self.exact(memory::read_volatile(at), at);
            }
            frame = memory::read(frame);
        }
    }

    /// A word that holds a reference or null.
    fn exact(&mut self, bits: u32, at: u64) {
        self.counts.slots += 1;
        let object = ObjectRef(bits).to_heap();
        if object.is_null() {
            return;
        }
        if self.is_checking && heap_binding::heap().object_at(bits) != Some(object) {
            console::fatal(&format!("{bits:#x} at {at:#x} is no object"));
        }
        (self.visit)(object);
    }

    /// Words that may hold anything; both ends are aligned to 8.
    fn words(&mut self, low: u64, high: u64) {
        debug_assert_eq!((low | high) % 8, 0, "{low:#x} {high:#x}");
        (low..high).step_by(8).for_each(|at| {
            let [lower, upper] = [at, at + 4].map(memory::read_volatile);
            self.word(u64::from(upper) << 32 | u64::from(lower));
        });
    }

    fn word(&mut self, bits: u64) {
        self.counts.words += 2;
        let object_at = |bits| heap_binding::heap().object_at(bits);
        named_by(bits, object_at, heap::ObjectRef::bits)
            .into_iter()
            .flatten()
            .for_each(|object| (self.visit)(object));
    }
}

/// The objects that eight bytes of a foreign frame may name, which are one word or two.
///
/// A reference is an object's start, in either half and beside anything. An address inside an
/// object is made from a reference for memory to be read there: it is 64 bits wide, and the heap
/// lies below 4 GiB. So the lower half of a pointer that leads elsewhere names nothing, unless it
/// happens to be a start. Were it to name what it lies in, a frame's dozen of pointers would keep a
/// large array, with all that this names, in one of some hundred processes: which one depends on
/// where the kernel puts stacks and libraries.
fn named_by<T: Copy>(
    bits: u64,
    object_at: impl Fn(u32) -> Option<T>,
    start_of: impl Fn(T) -> u32,
) -> [Option<T>; 2] {
    let (lower, upper) = (bits as u32, (bits >> 32) as u32);
    let by_start = |word: u32| object_at(word).filter(|&it| start_of(it) == word);
    let by_lower = if upper == 0 {
        object_at(lower)
    } else {
        by_start(lower)
    };
    [by_lower, by_start(upper)]
}

/// How many words at most the call of a method that is being compiled passes on the stack.
fn unframed_arguments(last_method: u64) -> u64 {
    match machine_word::first_called(last_method) {
        Some(method) => Method::at(method).shape.parameters.len() as u64,
        None => 0,
    }
}

/// What scans have looked at.
#[derive(Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) scans: u64,
    /// Managed frames.
    pub(crate) frames: u64,
    /// Words known to hold references.
    pub(crate) slots: u64,
    /// Words of 32 bits that may hold anything.
    pub(crate) words: u64,
}

static COUNTS: [AtomicU64; 4] = [const { AtomicU64::new(0) }; 4];

impl Counts {
    fn add(self) {
        let all = [1, self.frames, self.slots, self.words];
        for (count, value) in COUNTS.iter().zip(all) {
            count.fetch_add(value, Ordering::Relaxed);
        }
    }

    /// Of all scans since start.
    pub(crate) fn total() -> Self {
        let [scans, frames, slots, words] = COUNTS.each_ref().map(|it| it.load(Ordering::Relaxed));
        Self {
            scans,
            frames,
            slots,
            words,
        }
    }
}

/// One line per collection for `-verbose:gc`.
fn collected(counters: &heap::Counters) {
    if !options::get().is_verbose_gc.load(Ordering::Relaxed) {
        return;
    }
    let mebibytes = |bytes: u64| bytes >> 20;
    console::note(&format!(
        "[gc] GC({}) {}M in use, {}M freed so far, {} traces, {} pauses",
        counters.epochs.get() - 1,
        mebibytes(counters.used_bytes.get()),
        mebibytes(counters.freed_bytes.get()),
        counters.traces.get(),
        counters.pauses.get(),
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A heap with one object, from `START` to `END`.
    const START: u32 = 0x2000_0040;
    const END: u32 = 0x2010_0000;

    fn is_named(bits: u64) -> bool {
        let object_at = |word| (START..END).contains(&word).then_some(START);
        let named = named_by(bits, object_at, |start| start);
        assert!(named.iter().flatten().all(|&start| start == START));
        named.iter().any(Option::is_some)
    }

    #[test]
    fn a_reference_names_its_object_in_either_half() {
        for beside in [0_u64, 1, 0x7ffc, u64::from(u32::MAX)] {
            assert!(is_named(beside << 32 | u64::from(START)));
            assert!(is_named(u64::from(START) << 32 | beside));
        }
    }

    #[test]
    fn an_address_names_what_it_lies_in() {
        assert!(is_named(u64::from(START) + 4) && is_named(u64::from(END) - 1));
        assert!(!is_named(u64::from(START) - 1) && !is_named(u64::from(END)));
    }

    #[test]
    fn a_half_of_a_pointer_that_leads_elsewhere_names_nothing() {
        let inside = u64::from(START) + 0x8000;
        for other in [0x7ffc_u64, 0x7f3b, 0x5581, 0xffff_80c4, 1] {
            assert!(!is_named(other << 32 | inside));
            assert!(!is_named(inside << 32 | other));
        }
        assert!(!is_named(inside << 32));
    }
}
