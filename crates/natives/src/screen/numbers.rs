// SPDX-License-Identifier: Apache-2.0
//! A message as numbers for takt.screen.Events, which makes AOSP's events of them.

use jni_sys::jlong;
use screen::{Input, Message, POINTERS_MAX, Touch};

/// Kinds of input.
const FOCUS: jlong = 0;
const TOUCH: jlong = 1;
const KEY: jlong = 2;
const SCROLL: jlong = 3;

/// How many numbers a message has at most: what all have, then three for each finger.
const NUMBERS: usize = 8 + 3 * POINTERS_MAX;

/// Its number, time, kind, and what belongs to the kind. Coordinates are the bits of floats.
pub(super) fn numbers_of(message: &Message) -> [jlong; NUMBERS] {
    let bits = |it: f32| jlong::from(it.to_bits());
    let mut numbers = [0; NUMBERS];
    numbers[0] = message.sequence.into();
    numbers[1] = message.at_ns.cast_signed();
    let (kind, rest) = match message.input {
        Input::Focus(has) => (FOCUS, [has.into(), 0, 0, 0, 0]),
        Input::Touch {
            touch,
            index,
            pointers,
            corner,
            down_ns,
        } => {
            let pointers = pointers.as_slice();
            for (pointer, out) in pointers.iter().zip(numbers[8..].chunks_exact_mut(3)) {
                out.copy_from_slice(&[pointer.id.into(), bits(pointer.x), bits(pointer.y)]);
            }
            let action = touch as jlong | jlong::from(index_of(touch, index)) << 8;
            let (left, top) = (bits(corner.0), bits(corner.1));
            let count = pointers.len() as jlong;
            (TOUCH, [action, down_ns.cast_signed(), left, top, count])
        }
        Input::Scroll {
            place,
            corner,
            right,
            up,
        } => {
            numbers[8..10].copy_from_slice(&[bits(place.0), bits(place.1)]);
            let (left, top) = (bits(corner.0), bits(corner.1));
            (SCROLL, [bits(right), bits(up), left, top, 0])
        }
        Input::Key {
            code,
            meta,
            is_down,
            down_ns,
        } => {
            let down_ns = down_ns.cast_signed();
            (KEY, [code.into(), is_down.into(), down_ns, meta.into(), 0])
        }
    };
    numbers[2] = kind;
    numbers[3..8].copy_from_slice(&rest);
    numbers
}

/// Only a finger beside others has its place in the action.
fn index_of(touch: Touch, index: u8) -> u8 {
    match touch {
        Touch::PointerDown | Touch::PointerUp => index,
        _ => 0,
    }
}
