// SPDX-License-Identifier: Apache-2.0
//! Java strings: making, reading, interning.

use std::sync::OnceLock;

use ir::MemoryKind;

use crate::classes::known::known;
use crate::classes::object::ObjectRef;
use crate::memory;
use crate::memory::hash::Map;
use crate::objects::heap_binding;
use crate::sync::lock::Lock;
use crate::threads::thread::{Holds, Thread, Thrown};

/// Value of `String.coder` for one byte per character.
const LATIN1: u8 = 0;
/// Value of `String.coder` for two.
const UTF16: u8 = 1;

fn interned() -> &'static Lock<Map<Vec<u16>, ObjectRef>> {
    static TABLE: OnceLock<Lock<Map<Vec<u16>, ObjectRef>>> = OnceLock::new();
    TABLE.get_or_init(|| Lock::new(Map::default()))
}

/// A new string.
pub(crate) fn new_string(thread: &Thread, text: &str) -> Result<ObjectRef, Thrown> {
    new_string_holding(thread, Holds::Any, text)
}

/// As [`new_string`]; `holds` says what the callers up to the last managed frame hold meanwhile.
pub(crate) fn new_string_holding(
    thread: &Thread,
    holds: Holds,
    text: &str,
) -> Result<ObjectRef, Thrown> {
    let units: Vec<u16> = text.encode_utf16().collect();
    new_utf16_holding(thread, holds, &units)
}

/// A new string of UTF-16 units, compact if they allow.
pub(crate) fn new_utf16(thread: &Thread, units: &[u16]) -> Result<ObjectRef, Thrown> {
    new_utf16_holding(thread, Holds::Any, units)
}

/// As [`new_utf16`]; `holds` says what the callers up to the last managed frame hold meanwhile.
fn new_utf16_holding(thread: &Thread, holds: Holds, units: &[u16]) -> Result<ObjectRef, Thrown> {
    let known = known();
    let is_latin1 = units.iter().all(|&unit| unit < 0x100);
    let (bytes, coder): (Vec<u8>, u8) = if is_latin1 {
        (units.iter().map(|&unit| unit as u8).collect(), LATIN1)
    } else {
        (
            units.iter().flat_map(|unit| unit.to_le_bytes()).collect(),
            UTF16,
        )
    };
    let scope = thread.scope();
    let array = scope.hold(new_bytes_holding(thread, holds, &bytes)?);
    let string = heap_binding::new_object_holding(thread, holds, known.string)?;
    string.put_ref(known.string_value, array);
    string.put(known.string_coder, coder);
    Ok(string)
}

/// A new byte array.
pub(crate) fn new_bytes(thread: &Thread, bytes: &[u8]) -> Result<ObjectRef, Thrown> {
    new_bytes_holding(thread, Holds::Any, bytes)
}

fn new_bytes_holding(thread: &Thread, holds: Holds, bytes: &[u8]) -> Result<ObjectRef, Thrown> {
    let length = bytes.len() as u32;
    let array = heap_binding::new_array_holding(thread, holds, known().byte_array, length)?;
    memory::copy(bytes.as_ptr() as u64, array.elements(), bytes.len());
    Ok(array)
}

/// The units of a string.
pub(crate) fn units(string: ObjectRef) -> Vec<u16> {
    let known = known();
    let value = string.get_ref(known.string_value);
    if value.is_null() {
        return Vec::new();
    }
    let bytes = value.bytes();
    if string.get::<u8>(known.string_coder) == LATIN1 {
        bytes.into_iter().map(u16::from).collect()
    } else {
        bytes
            .chunks_exact(2)
            .map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
            .collect()
    }
}

/// A string for Rust; unpaired surrogates become U+FFFD.
pub(crate) fn text(string: ObjectRef) -> String {
    String::from_utf16_lossy(&units(string))
}

/// A string as modified UTF-8.
pub(crate) fn mutf8(string: ObjectRef) -> Vec<u8> {
    classfile::from_utf16(&units(string))
}

/// The one string with these units. Interned strings live for ever.
pub(crate) fn intern(thread: &Thread, string: ObjectRef) -> Result<ObjectRef, Thrown> {
    let _ = thread;
    Ok(intern_as(units(string), string))
}

fn intern_as(units: Vec<u16>, string: ObjectRef) -> ObjectRef {
    if let Some(&found) = interned().lock().get(&units) {
        return found;
    }
    heap_binding::keep(string);
    *interned().lock().entry(units).or_insert(string)
}

/// The interned string of a class file's bytes.
pub(crate) fn intern_mutf8(thread: &Thread, bytes: &[u8]) -> Result<ObjectRef, Thrown> {
    intern_literal(thread, Holds::Any, bytes)
}

/// As [`intern_mutf8`]; `holds` says what the callers up to the last managed frame hold meanwhile.
pub(crate) fn intern_literal(
    thread: &Thread,
    holds: Holds,
    bytes: &[u8],
) -> Result<ObjectRef, Thrown> {
    let units = match classfile::to_utf16(bytes) {
        Ok(units) => units,
        Err(error) => {
            return Err(thread.throw("java/lang/ClassFormatError", &error.to_string()));
        }
    };
    if let Some(&found) = interned().lock().get(&units) {
        return Ok(found);
    }
    let string = new_utf16_holding(thread, holds, &units)?;
    Ok(intern_as(units, string))
}

/// Stores an int into a field of at most its width.
pub(crate) fn put_narrow(object: ObjectRef, offset: u32, kind: MemoryKind, value: i32) {
    match kind.size_log2() {
        0 => object.put(offset, value as u8),
        1 => object.put(offset, value as u16),
        _ => object.put(offset, value),
    }
}
