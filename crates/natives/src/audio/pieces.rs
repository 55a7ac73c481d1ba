// SPDX-License-Identifier: Apache-2.0
//! Samples between Java's arrays and a stream, a piece at a time through the caller's stack. Java
//! has checked that the elements lie in the array.

use jni_sys::{jfloatArray, jint, jshortArray};

use crate::env::Env;

/// What is copied at once.
pub(super) const PIECE_BYTES: usize = 4096;
/// How long a call that blocks sleeps before it sees that somebody has stopped the stream.
pub(super) const LOOK_NS: u64 = 20_000_000;

/// Fills a piece from an array of shorts.
pub(super) fn take_shorts(env: Env, array: jshortArray, offset: jint, piece: &mut [u8]) {
    let mut shorts = [0; PIECE_BYTES / 2];
    let shorts = &mut shorts[..piece.len() / 2];
    env.copy_shorts(array, offset, shorts);
    for (bytes, short) in piece.chunks_exact_mut(2).zip(shorts) {
        bytes.copy_from_slice(&short.to_le_bytes());
    }
}

/// The same of floats.
pub(super) fn take_floats(env: Env, array: jfloatArray, offset: jint, piece: &mut [u8]) {
    let mut floats = [0.0; PIECE_BYTES / 4];
    let floats = &mut floats[..piece.len() / 4];
    env.copy_floats(array, offset, floats);
    for (bytes, float) in piece.chunks_exact_mut(4).zip(floats) {
        bytes.copy_from_slice(&float.to_le_bytes());
    }
}

/// Writes a piece into an array of shorts.
pub(super) fn give_shorts(env: Env, array: jshortArray, offset: jint, piece: &[u8]) {
    let mut shorts = [0; PIECE_BYTES / 2];
    let shorts = &mut shorts[..piece.len() / 2];
    for (short, bytes) in shorts.iter_mut().zip(piece.chunks_exact(2)) {
        *short = i16::from_le_bytes([bytes[0], bytes[1]]);
    }
    env.write_shorts(array, offset, shorts);
}

/// The same of floats.
pub(super) fn give_floats(env: Env, array: jfloatArray, offset: jint, piece: &[u8]) {
    let mut floats = [0.0; PIECE_BYTES / 4];
    let floats = &mut floats[..piece.len() / 4];
    for (float, bytes) in floats.iter_mut().zip(piece.chunks_exact(4)) {
        *float = f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
    env.write_floats(array, offset, floats);
}
