// SPDX-License-Identifier: Apache-2.0
//! Arrays: making and copying.

use heap::CopyRange;
use ir::MemoryKind;

use crate::classes::class::Class;
use crate::classes::object::ObjectRef;
use crate::memory;
use crate::objects::heap_binding;
use crate::threads::thread::{Thread, Thrown};

/// A new array of `class`.
pub(crate) fn new(
    thread: &Thread,
    class: &'static Class,
    length: i32,
) -> Result<ObjectRef, Thrown> {
    match u32::try_from(length) {
        Ok(length) => heap_binding::new_array(thread, class, length),
        Err(_) => Err(thread.throw("java/lang/NegativeArraySizeException", &length.to_string())),
    }
}

/// An array of arrays; all lengths are checked before anything is made.
pub(crate) fn new_multi(
    thread: &Thread,
    class: &'static Class,
    lengths: &[i32],
) -> Result<ObjectRef, Thrown> {
    if let Some(negative) = lengths.iter().find(|&&length| length < 0) {
        let message = negative.to_string();
        return Err(thread.throw("java/lang/NegativeArraySizeException", &message));
    }
    let array = new(thread, class, lengths[0])?;
    if let (Some(element), [_, rest @ ..]) = (class.info.element, lengths)
        && !rest.is_empty()
    {
        for index in 0..array.length() {
            let inner = new_multi(thread, element, rest)?;
            array.set_ref_element(index, inner);
        }
    }
    Ok(array)
}

/// `System.arraycopy`.
pub(crate) fn copy(
    thread: &Thread,
    source: ObjectRef,
    from: i32,
    target: ObjectRef,
    to: i32,
    count: i32,
) -> Result<(), Thrown> {
    if source.is_null() || target.is_null() {
        return Err(thread.throw_plain("java/lang/NullPointerException"));
    }
    let (source_kind, target_kind) = (element_kind(source), element_kind(target));
    let (Some(kind), Some(other)) = (source_kind, target_kind) else {
        return Err(store_error(thread, source, target, source_kind.is_none()));
    };
    if kind != other {
        return Err(mismatch(thread, source, target));
    }
    check_ranges(thread, (source, from), (target, to), count)?;
    if kind == MemoryKind::Ref {
        return copy_refs(
            thread,
            (source, from as u32),
            (target, to as u32),
            count as u32,
        );
    }
    let shift = kind.size_log2();
    let at = |array: ObjectRef, index: i32| array.elements() + ((index as u64) << shift);
    let bytes = (count as usize) << shift;
    copy_bytes(thread, at(source, from), at(target, to), bytes);
    Ok(())
}

fn element_kind(array: ObjectRef) -> Option<MemoryKind> {
    array.class().info.element.and_then(Class::memory_kind)
}

fn check_ranges(
    thread: &Thread,
    (source, from): (ObjectRef, i32),
    (target, to): (ObjectRef, i32),
    count: i32,
) -> Result<(), Thrown> {
    let describe = |array: ObjectRef| {
        let element = array.class().info.element.expect("an array");
        let name = if element.is_primitive() {
            element.java_name()
        } else {
            "object array".into()
        };
        format!("{name}[{}]", array.length())
    };
    let is_out = |start: i32, array: ObjectRef| {
        i64::from(start) + i64::from(count) > i64::from(array.length())
    };
    let message = if from < 0 {
        format!(
            "arraycopy: source index {from} out of bounds for {}",
            describe(source)
        )
    } else if to < 0 {
        format!(
            "arraycopy: destination index {to} out of bounds for {}",
            describe(target)
        )
    } else if count < 0 {
        format!("arraycopy: length {count} is negative")
    } else if is_out(from, source) {
        let last = i64::from(from) + i64::from(count);
        format!(
            "arraycopy: last source index {last} out of bounds for {}",
            describe(source)
        )
    } else if is_out(to, target) {
        let last = i64::from(to) + i64::from(count);
        format!(
            "arraycopy: last destination index {last} out of bounds for {}",
            describe(target)
        )
    } else {
        return Ok(());
    };
    Err(thread.throw("java/lang/ArrayIndexOutOfBoundsException", &message))
}

fn copy_refs(
    thread: &Thread,
    (source, from): (ObjectRef, u32),
    (target, to): (ObjectRef, u32),
    count: u32,
) -> Result<(), Thrown> {
    let element = target.class().info.element.expect("an array");
    let fits = source.class().is_subtype_of(target.class());
    if fits {
        copy_elements(thread, (source, from), (target, to), count);
        return Ok(());
    }
    for step in 0..count {
        let value = source.ref_element(from + step);
        if !value.is_null() && !value.is_instance_of(element) {
            let message = format!(
                "arraycopy: element type mismatch: can not cast one of the elements of {}[] to the type of the destination array, {}",
                source.class().info.element.expect("an array").java_name(),
                element.java_name()
            );
            return Err(thread.throw("java/lang/ArrayStoreException", &message));
        }
        target.set_ref_element(to + step, value);
        poll_after(thread, step);
    }
    Ok(())
}

/// Copies references that are known to fit, each atomically, as if all were read before the first
/// is written.
pub(crate) fn copy_elements(
    thread: &Thread,
    (source, from): (ObjectRef, u32),
    (target, to): (ObjectRef, u32),
    count: u32,
) {
    let range = CopyRange {
        source_index: from,
        target_index: to,
        count,
    };
    for piece in range.pieces(source == target) {
        heap_binding::copy_piece(thread, source, target, piece);
        heap_binding::poll(thread);
    }
}

/// Bytes copied or filled between two polls: some 20 µs where each page is new.
const POLLED_BYTES: usize = 64 << 10;

/// Copies bytes that hold no references, overlapping or not, with polls between pieces.
pub(crate) fn copy_bytes(thread: &Thread, source: u64, target: u64, bytes: usize) {
    let is_backwards = source < target && target < source + bytes as u64;
    let mut done = 0;
    while done < bytes {
        let piece = (bytes - done).min(POLLED_BYTES);
        let at = if is_backwards {
            bytes - done - piece
        } else {
            done
        } as u64;
        memory::copy(source + at, target + at, piece);
        done += piece;
        if done < bytes {
            heap_binding::poll(thread);
        }
    }
}

/// Fills bytes that hold no references, with polls between pieces.
pub(crate) fn fill_bytes(thread: &Thread, target: u64, byte: u8, bytes: usize) {
    for at in (0..bytes).step_by(POLLED_BYTES) {
        memory::fill(target + at as u64, byte, POLLED_BYTES.min(bytes - at));
        heap_binding::poll(thread);
    }
}

/// The content of a byte array that a reference of the caller's keeps.
pub(crate) fn bytes(thread: &Thread, array: ObjectRef) -> Vec<u8> {
    let count = array.length() as usize;
    let mut bytes = thread.outside(|| vec![0; count]);
    copy_bytes(thread, array.elements(), bytes.as_mut_ptr() as u64, count);
    bytes
}

/// One poll for as many elements as a log word covers.
pub(crate) fn poll_after(thread: &Thread, step: u32) {
    if (step + 1).is_multiple_of(abi::object::SLOTS_PER_LOG_WORD) {
        heap_binding::poll(thread);
    }
}

fn store_error(thread: &Thread, source: ObjectRef, target: ObjectRef, is_source: bool) -> Thrown {
    let (what, object) = if is_source {
        ("source", source)
    } else {
        ("destination", target)
    };
    let message = format!(
        "arraycopy: {what} type {} is not an array",
        object.class().java_name()
    );
    thread.throw("java/lang/ArrayStoreException", &message)
}

fn mismatch(thread: &Thread, source: ObjectRef, target: ObjectRef) -> Thrown {
    let name = |array: ObjectRef| {
        let element = array.class().info.element.expect("an array");
        if element.is_primitive() {
            format!("{}[]", element.java_name())
        } else {
            "object array[]".into()
        }
    };
    let message = format!(
        "arraycopy: type mismatch: can not copy {} into {}",
        name(source),
        name(target)
    );
    thread.throw("java/lang/ArrayStoreException", &message)
}
