// SPDX-License-Identifier: Apache-2.0
//! android.util.EventLog: a ring of the process's own events, in the form of Android's logger.
//! Who writes a new event loses the oldest ones.

use std::sync::OnceLock;

use jni_sys::{jclass, jint, jintArray, jlong, jobject, jobjectArray, jstring, jvalue};
use rt::sync::PiMutex;

use crate::env::Env;
use crate::log::{PAYLOAD_MAX, thread_id};
use crate::system_clock::now_ns;

/// As Android's own ring of events.
const RING_BYTES: usize = 256 << 10;
/// Android's logger_entry of version 4.
const HEADER_BYTES: u16 = 28;
/// The log of events among Android's logs.
const LOG_ID: u32 = 2;
/// A list has a count of one byte.
const ITEMS_MAX: usize = 255;
/// Behind the tag and the kind.
const LIST_COUNT_AT: usize = 5;

const INT: u8 = 0;
const LONG: u8 = 1;
const STRING: u8 = 2;
const LIST: u8 = 3;
const FLOAT: u8 = 4;

/// The bytes of events, each behind the other; the first byte is the oldest one's.
struct Ring {
    bytes: Box<[u8]>,
    start: usize,
    size: usize,
}

impl Ring {
    fn new(size: usize) -> Self {
        Self {
            bytes: vec![0; size].into_boxed_slice(),
            start: 0,
            size: 0,
        }
    }

    fn at(&self, offset: usize) -> u8 {
        self.bytes[(self.start + offset) % self.bytes.len()]
    }

    /// How long the event is that begins at an offset.
    fn event_bytes(&self, offset: usize) -> usize {
        let payload = u16::from_ne_bytes([self.at(offset), self.at(offset + 1)]);
        usize::from(payload) + usize::from(HEADER_BYTES)
    }

    fn push(&mut self, event: &[u8]) {
        assert!(event.len() <= self.bytes.len(), "an event fits");
        while self.size + event.len() > self.bytes.len() {
            let oldest = self.event_bytes(0);
            self.start = (self.start + oldest) % self.bytes.len();
            self.size -= oldest;
        }
        for byte in event {
            let place = (self.start + self.size) % self.bytes.len();
            self.bytes[place] = *byte;
            self.size += 1;
        }
    }

    /// All bytes, the oldest first.
    fn copy_into(&self, out: &mut Vec<u8>) {
        out.extend((0..self.size).map(|it| self.at(it)));
    }
}

fn ring() -> &'static PiMutex<Ring> {
    static RING: OnceLock<PiMutex<Ring>> = OnceLock::new();
    RING.get_or_init(|| PiMutex::new(Ring::new(RING_BYTES)))
}

/// An event's own part: its tag, then one value.
struct Payload(Vec<u8>);

impl Payload {
    fn new(tag: jint) -> Self {
        Self(tag.to_ne_bytes().to_vec())
    }

    /// A kind and its bytes; false if there is no room.
    fn push(&mut self, kind: u8, value: &[u8]) -> bool {
        let has_room = self.0.len() + value.len() < PAYLOAD_MAX as usize;
        if has_room {
            self.0.push(kind);
            self.0.extend_from_slice(value);
        }
        has_room
    }

    /// What is too long for an entry is cut.
    fn push_text(&mut self, text: &str) -> bool {
        let room = (PAYLOAD_MAX as usize).saturating_sub(self.0.len() + 1 + size_of::<u32>());
        let mut end = text.len().min(room);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let mut value = (end as u32).to_ne_bytes().to_vec();
        value.extend_from_slice(&text.as_bytes()[..end]);
        self.push(STRING, &value)
    }

    /// Into the ring; answers how many bytes it has.
    fn write(self) -> jint {
        let time = now_ns(libc::CLOCK_REALTIME);
        let seconds = time.div_euclid(1_000_000_000) as u32;
        let nanos = time.rem_euclid(1_000_000_000) as u32;
        let mut event = Vec::with_capacity(usize::from(HEADER_BYTES) + self.0.len());
        event.extend((self.0.len() as u16).to_ne_bytes());
        event.extend(HEADER_BYTES.to_ne_bytes());
        event.extend(std::process::id().to_ne_bytes());
        event.extend(thread_id().to_ne_bytes());
        event.extend(seconds.to_ne_bytes());
        event.extend(nanos.to_ne_bytes());
        event.extend(LOG_ID.to_ne_bytes());
        event.extend(crate::process::uid().to_ne_bytes());
        event.extend(&self.0);
        ring().lock().push(&event);
        self.0.len() as jint
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_util_EventLog_writeEvent__II(
    _: Env,
    _: jclass,
    tag: jint,
    value: jint,
) -> jint {
    let mut payload = Payload::new(tag);
    payload.push(INT, &value.to_ne_bytes());
    payload.write()
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_util_EventLog_writeEvent__IJ(
    _: Env,
    _: jclass,
    tag: jint,
    value: jlong,
) -> jint {
    let mut payload = Payload::new(tag);
    payload.push(LONG, &value.to_ne_bytes());
    payload.write()
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_util_EventLog_writeEvent__IF(
    _: Env,
    _: jclass,
    tag: jint,
    value: f32,
) -> jint {
    let mut payload = Payload::new(tag);
    payload.push(FLOAT, &value.to_ne_bytes());
    payload.write()
}

/// Null is the text NULL, as on Android.
#[unsafe(no_mangle)]
extern "system" fn Java_android_util_EventLog_writeEvent__ILjava_lang_String_2(
    env: Env,
    _: jclass,
    tag: jint,
    value: jstring,
) -> jint {
    let mut payload = Payload::new(tag);
    payload.push_text(env.text(value).as_deref().unwrap_or("NULL"));
    payload.write()
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_util_EventLog_writeEvent__I_3Ljava_lang_Object_2(
    env: Env,
    _: jclass,
    tag: jint,
    values: jobjectArray,
) -> jint {
    let mut payload = Payload::new(tag);
    if values.is_null() {
        payload.push_text("[NULL]");
        return payload.write();
    }
    let values = env.objects(values);
    payload.push(LIST, &[0]);
    for value in &values[..values.len().min(ITEMS_MAX)] {
        match push_item(env, &mut payload, *value) {
            Some(true) => payload.0[LIST_COUNT_AT] += 1,
            // The entry is full.
            Some(false) => break,
            None => {
                let text = "Invalid payload item type";
                env.throw("java/lang/IllegalArgumentException", text);
                return -1;
            }
        }
    }
    payload.write()
}

/// Was there room? None for what an event cannot hold.
fn push_item(env: Env, payload: &mut Payload, value: jobject) -> Option<bool> {
    if value.is_null() {
        Some(payload.push_text("NULL"))
    } else if env.is_instance(value, "java/lang/String") {
        Some(payload.push_text(&env.text(value).unwrap_or_default()))
    } else if env.is_instance(value, "java/lang/Integer") {
        let value = env.int_field(value, c"value").unwrap_or_default();
        Some(payload.push(INT, &value.to_ne_bytes()))
    } else if env.is_instance(value, "java/lang/Long") {
        Some(payload.push(LONG, &env.long_field(value, c"value").to_ne_bytes()))
    } else if env.is_instance(value, "java/lang/Float") {
        Some(payload.push(FLOAT, &env.float_field(value, c"value").to_ne_bytes()))
    } else {
        None
    }
}

/// Adds what was written under some tags, the oldest first.
#[unsafe(no_mangle)]
extern "system" fn Java_android_util_EventLog_readEvents(
    env: Env,
    _: jclass,
    tags: jintArray,
    out: jobject,
) {
    if tags.is_null() || out.is_null() {
        env.throw("java/lang/NullPointerException", "no tags or no collection");
        return;
    }
    let tags = env.ints(tags);
    // Room before the lock: nothing is allocated under it.
    let mut bytes = Vec::with_capacity(RING_BYTES);
    ring().lock().copy_into(&mut bytes);
    let mut rest = bytes.as_slice();
    while let Some((event, next)) = split(rest) {
        rest = next;
        let start = usize::from(HEADER_BYTES);
        let tag = jint::from_ne_bytes(event[start..start + 4].try_into().unwrap_or_default());
        if tags.contains(&tag) {
            let array = env.byte_array(event);
            let arguments = [jvalue { l: array }];
            let event = env.new_object_with("android/util/EventLog$Event", c"([B)V", &arguments);
            env.add_to(out, event);
            env.delete_local(event);
            env.delete_local(array);
        }
        if env.is_exception_pending() {
            return;
        }
    }
}

/// The first event, and what follows; none at the end.
fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let payload = u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?);
    bytes.split_at_checked(usize::from(payload) + usize::from(HEADER_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(number: u8, payload: u16) -> Vec<u8> {
        let mut event = payload.to_ne_bytes().to_vec();
        event.resize(usize::from(HEADER_BYTES + payload), number);
        event
    }

    #[test]
    fn a_full_ring_forgets_whole_events_from_the_oldest_on() {
        let mut ring = Ring::new(100);
        for number in 0..40 {
            ring.push(&event(number, u16::from(number % 5)));
            let mut bytes = Vec::new();
            ring.copy_into(&mut bytes);
            let mut rest = bytes.as_slice();
            let mut numbers = Vec::new();
            while let Some((event, next)) = split(rest) {
                numbers.push(event[usize::from(HEADER_BYTES) - 1]);
                rest = next;
            }
            assert!(rest.is_empty());
            assert_eq!(numbers.last(), Some(&number));
            assert!(numbers.is_sorted() && numbers.len() == (usize::from(number) + 1).min(3));
        }
    }

    #[test]
    fn a_text_that_is_too_long_is_cut_between_letters() {
        let mut payload = Payload::new(1);
        payload.push_text(&"ä".repeat(5000));
        assert!(payload.0.len() <= PAYLOAD_MAX as usize);
        assert!(core::str::from_utf8(&payload.0[9..]).is_ok());
    }
}
