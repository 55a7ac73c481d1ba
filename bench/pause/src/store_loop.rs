// SPDX-License-Identifier: Apache-2.0
//! [`StoreLoop`]: reference stores by the instructions that compiled code has for them, laid where
//! we say.
//!
//! The thesis's assignments: four objects out of the array that holds them, in turn, one field of
//! each. Per store: the poll, the bounds check, the element, the null check, under `rc` the
//! barrier's load, compare and branch (`abi::barrier`), the store, the counter. The instructions
//! are written out here because where a loop lies costs more than the barrier does: one that
//! crosses a 64-byte line takes another cycle per turn, and what the Rust compiler and the linker
//! do with it changes with each build. So each loop exists at each of 16 places in a line.

use std::arch::asm;

use abi::context::{FAST_EPOCH, MutatorContext, POLL};
use abi::object::{ARRAY_ELEMENTS_OFFSET, ARRAY_LENGTH_OFFSET, LOG_OFFSET};
use heap::{Local, Mutator, ObjectRef};
use rt::clock::{Clock, Monotonic};

use crate::workload::{SMALL_SLOT, store};

/// Places of a loop's first byte in a line of 64: multiples of 4.
pub(crate) const PLACE_COUNT: usize = 16;
/// Objects that are stored into in turn.
pub(crate) const OBJECT_COUNT: u32 = 4;

/// What stands in the loop beside the store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Body {
    /// What Java has there.
    Java,
    /// Nothing: one object in a register, no poll. No program looks like that.
    Bare,
}

/// Operands of a loop, in registers.
#[derive(Clone, Copy)]
struct Operands {
    context: *const MutatorContext,
    /// The array under [`Body::Java`], the object under [`Body::Bare`].
    target: u64,
    value: u32,
    first: u64,
    end: u64,
}

/// Runs until `end`, or until a check fails, and says where that was.
type Loop = unsafe fn(Operands) -> u64;

/// Each loop at each place.
macro_rules! at_each_place {
    ($name:ident, $is_logged:literal) => {
        [
            $name::<0, $is_logged>,
            $name::<4, $is_logged>,
            $name::<8, $is_logged>,
            $name::<12, $is_logged>,
            $name::<16, $is_logged>,
            $name::<20, $is_logged>,
            $name::<24, $is_logged>,
            $name::<28, $is_logged>,
            $name::<32, $is_logged>,
            $name::<36, $is_logged>,
            $name::<40, $is_logged>,
            $name::<44, $is_logged>,
            $name::<48, $is_logged>,
            $name::<52, $is_logged>,
            $name::<56, $is_logged>,
            $name::<60, $is_logged>,
        ]
    };
}

static JAVA: [[Loop; PLACE_COUNT]; 2] = [
    at_each_place!(java_loop, false),
    at_each_place!(java_loop, true),
];
static BARE: [[Loop; PLACE_COUNT]; 2] = [
    at_each_place!(bare_loop, false),
    at_each_place!(bare_loop, true),
];

/// Nanoseconds per store of `value` into the objects of `array`, `count` times, by the loop at
/// `place`. Each of the [`OBJECT_COUNT`] elements is an object of the small kind
/// (`workload::Kinds`).
pub(crate) fn time_stores(
    mutator: &mut Mutator,
    (array, value): (Local, Local),
    body: Body,
    place: usize,
    count: u64,
) -> f64 {
    let (array, value) = (mutator.get(array), mutator.get(value));
    let objects: [ObjectRef; OBJECT_COUNT as usize] =
        std::array::from_fn(|index| mutator.read(array.element(index as u32)));
    let small = mutator.layout_of(value);
    let is_small = |&it: &ObjectRef| mutator.layout_of(it) == small;
    assert!(objects.iter().all(is_small) && small.get().bytes > SMALL_SLOT);
    let is_logged = mutator.heap().is_counting();
    let (run, target) = match body {
        Body::Java => (JAVA[usize::from(is_logged)][place], array),
        Body::Bare => (BARE[usize::from(is_logged)][place], objects[0]),
    };
    let mut operands = Operands {
        context: mutator.context(),
        target: u64::from(target.bits()),
        value: value.bits(),
        first: 0,
        end: count,
    };
    let start_ns = Monotonic.now_ns();
    loop {
        // SAFETY: 1. The context is this mutator's. 2. The target is rooted by the caller's locals,
        // as are its elements, and each has a slot at `SMALL_SLOT` (asserted). 3. A store happens
        // after the barrier's check.
        operands.first = unsafe { run(operands) };
        if operands.first >= count {
            break;
        }
        // A handshake, or the first store of an epoch: what compiled code calls the runtime for.
        mutator.poll();
        let object = match body {
            Body::Java => objects[(operands.first % u64::from(OBJECT_COUNT)) as usize],
            Body::Bare => target,
        };
        store(mutator, object, SMALL_SLOT, value);
        operands.first += 1;
    }
    (Monotonic.now_ns() - start_ns) as f64 / count as f64
}

/// # Safety
/// The context is the calling mutator's; the target is an array of references whose first four are
/// objects with a slot at `SMALL_SLOT`; without `IS_LOGGED` the heap does not count.
unsafe fn java_loop<const PLACE: usize, const IS_LOGGED: bool>(it: Operands) -> u64 {
    let index;
    // SAFETY: reads the context and the objects, writes one slot of each: the caller's obligation.
    unsafe {
        asm!(
            ".balign 64",
            ".skip {place}, 0x90",
            "2:",
            "cmp byte ptr [{context} + {poll}], 0",
            "jne 3f",
            "mov {object:e}, {index:e}",
            "and {object:e}, {mask}",
            "cmp {object:e}, dword ptr [{array} + {length}]",
            "jae 3f",
            "mov {object:e}, dword ptr [{array} + {object} * 4 + {elements}]",
            "test {object:e}, {object:e}",
            "jz 3f",
            ".if {is_logged}",
            "movzx {epoch:e}, byte ptr [{object} + {log}]",
            "cmp {epoch:l}, byte ptr [{context} + {fast_epoch}]",
            "jne 3f",
            ".endif",
            "mov dword ptr [{object} + {slot}], {value:e}",
            "inc {index}",
            "cmp {index}, {end}",
            "jb 2b",
            "3:",
            place = const PLACE,
            is_logged = const IS_LOGGED as usize,
            poll = const POLL,
            fast_epoch = const FAST_EPOCH,
            mask = const OBJECT_COUNT - 1,
            length = const ARRAY_LENGTH_OFFSET,
            elements = const ARRAY_ELEMENTS_OFFSET,
            log = const LOG_OFFSET,
            slot = const SMALL_SLOT,
            context = in(reg) it.context,
            array = in(reg) it.target,
            value = in(reg) it.value,
            end = in(reg) it.end,
            index = inout(reg) it.first => index,
            object = out(reg) _,
            epoch = out(reg) _,
            options(nostack),
        );
    }
    index
}

/// # Safety
/// As for [`java_loop`], but the target is one object with a slot at `SMALL_SLOT`.
unsafe fn bare_loop<const PLACE: usize, const IS_LOGGED: bool>(it: Operands) -> u64 {
    let index;
    // SAFETY: reads the context and the object, writes its slot: the caller's obligation.
    unsafe {
        asm!(
            ".balign 64",
            ".skip {place}, 0x90",
            "2:",
            ".if {is_logged}",
            "movzx {epoch:e}, byte ptr [{object} + {log}]",
            "cmp {epoch:l}, byte ptr [{context} + {fast_epoch}]",
            "jne 3f",
            ".endif",
            "mov dword ptr [{object} + {slot}], {value:e}",
            "inc {index}",
            "cmp {index}, {end}",
            "jb 2b",
            "3:",
            place = const PLACE,
            is_logged = const IS_LOGGED as usize,
            fast_epoch = const FAST_EPOCH,
            log = const LOG_OFFSET,
            slot = const SMALL_SLOT,
            context = in(reg) it.context,
            object = in(reg) it.target,
            value = in(reg) it.value,
            end = in(reg) it.end,
            index = inout(reg) it.first => index,
            epoch = out(reg) _,
            options(nostack),
        );
    }
    index
}

const _: () = assert!(OBJECT_COUNT.is_power_of_two());
