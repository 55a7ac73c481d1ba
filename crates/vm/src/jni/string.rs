// SPDX-License-Identifier: Apache-2.0
//! Strings.

use super::{c_bytes, of, outcome};
use crate::memory;
use crate::objects::string;
use crate::threads::thread::Thrown;

/// A copy for native code, with a terminator; `release` frees it.
fn leak(bytes: &[u8], is_copy: u64) -> u64 {
    if is_copy != 0 {
        memory::write(is_copy, 1_u8);
    }
    // SAFETY: 1. The block is as large as what is copied.
    let at = unsafe { libc::malloc(bytes.len()) } as u64;
    if at != 0 {
        memory::copy(bytes.as_ptr() as u64, at, bytes.len());
    }
    at
}

fn free(at: u64) {
    // SAFETY: 1. `leak` gave it, or it is null.
    unsafe { libc::free(at as *mut libc::c_void) }
}

pub(super) extern "C" fn new_string(env: u64, units: u64, count: i32) -> u64 {
    let thread = &*of(env);
    let bytes = memory::bytes_at(units, count as usize * 2);
    let units: Vec<u16> = bytes
        .chunks_exact(2)
        .map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
        .collect();
    outcome(string::new_utf16(thread, &units).map(|string| thread.new_local(string)))
}

pub(super) extern "C" fn new_string_utf(env: u64, text: u64) -> u64 {
    if text == 0 {
        return 0;
    }
    let thread = &*of(env);
    let make = || -> Result<u64, Thrown> {
        let units = classfile::to_utf16(&c_bytes(text)).unwrap_or_default();
        Ok(thread.new_local(string::new_utf16(thread, &units)?))
    };
    outcome(make())
}

pub(super) extern "C" fn get_string_length(env: u64, text: u64) -> i32 {
    string::units(of(env).object_of(text)).len() as i32
}

pub(super) extern "C" fn get_string_utf_length(env: u64, text: u64) -> i32 {
    string::mutf8(of(env).object_of(text)).len() as i32
}

pub(super) extern "C" fn get_string_chars(env: u64, text: u64, is_copy: u64) -> u64 {
    let mut units = string::units(of(env).object_of(text));
    units.push(0);
    let bytes: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
    leak(&bytes, is_copy)
}

pub(super) extern "C" fn release_string_chars(_env: u64, _text: u64, chars: u64) {
    free(chars);
}

pub(super) extern "C" fn get_string_critical(env: u64, text: u64, is_copy: u64) -> u64 {
    get_string_chars(env, text, is_copy)
}

pub(super) extern "C" fn release_string_critical(_env: u64, _text: u64, chars: u64) {
    free(chars);
}

pub(super) extern "C" fn get_string_utf_chars(env: u64, text: u64, is_copy: u64) -> u64 {
    let mut bytes = string::mutf8(of(env).object_of(text));
    bytes.push(0);
    leak(&bytes, is_copy)
}

pub(super) extern "C" fn release_string_utf_chars(_env: u64, _text: u64, chars: u64) {
    free(chars);
}

/// The units from `start`, or an exception.
fn region(env: u64, text: u64, start: i32, count: i32) -> Result<Vec<u16>, Thrown> {
    let thread = &*of(env);
    let units = string::units(thread.object_of(text));
    let end = i64::from(start) + i64::from(count);
    if start < 0 || count < 0 || end > units.len() as i64 {
        let message = format!(
            "Region {start}..{end} out of bounds for length {}",
            units.len()
        );
        return Err(thread.throw("java/lang/StringIndexOutOfBoundsException", &message));
    }
    Ok(units[start as usize..end as usize].to_vec())
}

pub(super) extern "C" fn get_string_region(
    env: u64,
    text: u64,
    start: i32,
    count: i32,
    buffer: u64,
) {
    if let Ok(units) = region(env, text, start, count) {
        memory::copy(units.as_ptr() as u64, buffer, units.len() * 2);
    }
}

pub(super) extern "C" fn get_string_utf_region(
    env: u64,
    text: u64,
    start: i32,
    count: i32,
    buffer: u64,
) {
    if let Ok(units) = region(env, text, start, count) {
        let mut bytes = classfile::from_utf16(&units);
        bytes.push(0);
        memory::copy(bytes.as_ptr() as u64, buffer, bytes.len());
    }
}
