// SPDX-License-Identifier: Apache-2.0
//! takt.server.AlarmStore: the alarms of the one application of `takt run`, in the order and at the
//! time of `server`'s. Java keeps what is to be done, by the payload's number.

use std::sync::OnceLock;

use jni_sys::{jboolean, jclass, jint, jlong, jlongArray};
use server::Payload;
use server::alarms::{Alarm, AlarmId, Class, Trigger};
use timer::AlarmClock;

use crate::env::Env;
use crate::process::uid;

const NANOS_PER_MILLI: u64 = 1_000_000;

/// Made with the first alarm.
fn clock() -> &'static AlarmClock {
    static CLOCK: OnceLock<AlarmClock> = OnceLock::new();
    CLOCK.get_or_init(AlarmClock::new)
}

/// Negative times are over.
fn nanos(millis: jlong) -> u64 {
    millis
        .max(0)
        .cast_unsigned()
        .saturating_mul(NANOS_PER_MILLI)
}

fn class(is_urgent: jboolean) -> Class {
    if is_urgent {
        Class::Urgent
    } else {
        Class::Ordinary
    }
}

/// The alarm's number. IllegalStateException, as on Android, if there is no room.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_server_AlarmStore_set(
    env: Env,
    _: jclass,
    is_wall: jboolean,
    wakes: jboolean,
    numbers: jlongArray,
    priority: jint,
) -> jlong {
    let [at, window, interval, payload] = env.longs(numbers)[..] else {
        env.throw("java/lang/IllegalArgumentException", "another alarm");
        return 0;
    };
    let trigger = if is_wall {
        Trigger::Wall
    } else {
        Trigger::Elapsed
    };
    let set = clock().set(Alarm {
        uid: uid().cast_unsigned(),
        trigger: trigger(nanos(at)),
        window_ns: nanos(window),
        interval_ns: nanos(interval),
        priority: priority.clamp(0, 99) as u8,
        wakes,
        payload: Payload(payload.cast_unsigned()),
    });
    match set {
        Ok(id) => id.to_raw().cast_signed(),
        Err(too_many) => {
            env.throw("java/lang/IllegalStateException", &too_many.to_string());
            0
        }
    }
}

/// False if its time has come, or it was taken back.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_server_AlarmStore_remove(_: Env, _: jclass, alarm: jlong) -> jboolean {
    let id = AlarmId::from_raw(alarm.cast_unsigned());
    clock().remove(id).is_some()
}

/// Waits for the next alarm of a class: payload, priority, how often its time has come, whether it
/// comes again. For one thread a class.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_server_AlarmStore_await(
    env: Env,
    _: jclass,
    is_urgent: jboolean,
    fired: jlongArray,
) -> jboolean {
    let Some(it) = clock().wait(class(is_urgent)) else {
        return false;
    };
    let numbers = [
        it.alarm.payload.0.cast_signed(),
        it.alarm.priority.into(),
        it.count.cast_signed(),
        it.is_repeated.into(),
    ];
    env.write_longs(fired, &numbers);
    true
}

/// Tells takt.server.Alarms each time that somebody sets the clock. Returns if the kernel cannot
/// say so.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_server_AlarmStore_watchClock(env: Env, _: jclass) {
    clock().watch(|| env.call_static_void("takt/server/Alarms", c"clockChanged", c"()V", &[]));
}
