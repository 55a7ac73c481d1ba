// SPDX-License-Identifier: Apache-2.0
//! android.view.InputChannel and InputEventReceiver: a window's input by the number of its channel.
//! takt.screen.Events takes the messages on the receiver's looper, which is woken here. Neither
//! taking nor finishing takes the display's lock.
//!
//! Lock order: [`READERS`]' alone.

use std::ffi::CStr;
use std::os::fd::IntoRawFd;

use jni_sys::{jboolean, jclass, jint, jlong, jlongArray, jobject, jstring, jvalue};
use rt::sync::PiMutex;
use screen::{ChannelId, ReadFault, Reader, Taken};

use super::numbers::numbers_of;
use super::{change_quietly, finalizer, measure, state_or_throw};
use crate::env::Env;
use crate::handle::Handle;
use crate::message_queue::{Queue, Waker};

/// Messages that are none, and are skipped in one look: those of a whole ring.
const SKIPPED_MAX: usize = 64;

/// What a receiver reads, and the looper that it does so on.
struct Reading {
    reader: Reader,
    waker: Waker,
}

/// One for each window that has a receiver.
static READERS: PiMutex<Vec<Reading>> = PiMutex::new(Vec::new());

/// Runs with a channel's reader; none if nobody reads it.
fn with_reader<R>(id: ChannelId, run: impl FnOnce(&mut Reading) -> R) -> Option<R> {
    let mut readers = READERS.lock();
    let found = readers.iter_mut().find(|it| it.reader.id() == id);
    found.map(run)
}

/// A channel has messages: wakes who reads it.
pub(super) fn wake(id: ChannelId) {
    // Outside of the lock: it is a system call.
    if let Some(waker) = with_reader(id, |it| it.waker.clone()) {
        waker.wake();
    }
}

/// The display hears that there is room again.
fn tell(id: ChannelId) {
    change_quietly(|it| it.screen.hear(id));
}

fn channel(number: jlong) -> ChannelId {
    ChannelId(number as u32)
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_view_InputChannel_nativeGetFinalizer(_: Env, _: jclass) -> jlong {
    finalizer()
}

/// The channel ends with its window.
#[unsafe(no_mangle)]
extern "system" fn Java_android_view_InputChannel_nativeDispose(_: Env, _: jobject, _: jlong) {}

/// Another reference to the same channel.
#[unsafe(no_mangle)]
extern "system" fn Java_android_view_InputChannel_nativeDup(
    _: Env,
    _: jobject,
    number: jlong,
) -> jlong {
    number
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_view_InputChannel_nativeGetName(
    env: Env,
    _: jobject,
    number: jlong,
) -> jstring {
    env.string_of(&format!("window {number}"))
}

/// What stands for the channel among processes.
#[unsafe(no_mangle)]
extern "system" fn Java_android_view_InputChannel_nativeGetToken(
    env: Env,
    _: jobject,
    number: jlong,
) -> jobject {
    let arguments = [jvalue { j: number }];
    let signature = c"(J)Landroid/os/IBinder;";
    env.call_static("takt/screen/Events", c"token", signature, &arguments)
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_view_InputEventReceiver_nativeInit(
    env: Env,
    _: jclass,
    receiver: jobject,
    input: jobject,
    queue: jobject,
) -> jlong {
    let number = env.long_field(input, c"mPtr");
    let waker = Handle::<Queue>::of_field(env.long_field(queue, c"nativeQueue"))
        .get()
        .waker();
    let id = channel(number);
    let Some(reader) = state_or_throw(env).map(|mut it| it.screen.open_reader(id)) else {
        return 0;
    };
    match reader {
        Some(reader) => READERS.lock().push(Reading { reader, waker }),
        // Another receiver in place of the first.
        None => _ = with_reader(id, |it| it.waker = waker),
    }
    let arguments = [
        jvalue { j: number },
        jvalue { l: receiver },
        jvalue { l: queue },
    ];
    let signature = c"(JLjava/lang/ref/WeakReference;Landroid/os/MessageQueue;)V";
    env.call_static_void("takt/screen/Events", c"addInput", signature, &arguments);
    number
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_view_InputEventReceiver_nativeDispose(
    env: Env,
    _: jclass,
    number: jlong,
) {
    let arguments = [jvalue { j: number }];
    env.call_static_void("takt/screen/Events", c"removeInput", c"(J)V", &arguments);
    let id = channel(number);
    let mut readers = READERS.lock();
    let found = readers.iter().position(|it| it.reader.id() == id);
    let ended = found.map(|it| readers.swap_remove(it));
    drop(readers);
    if let Some(ended) = ended {
        change_quietly(|it| it.screen.give_back(ended.reader));
    }
}

/// A channel's next message. It is in order if some are none: they are skipped.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_screen_Native_take(
    env: Env,
    _: jclass,
    number: jlong,
    out: jlongArray,
) -> jboolean {
    let id = channel(number);
    match with_reader(id, |it| next(&mut it.reader)).flatten() {
        None => false,
        Some(Taken { message, tells }) => {
            if tells {
                tell(id);
            }
            measure::while_measured(|it| it.taken(message.at_ns));
            env.write_longs(out, &numbers_of(&message));
            true
        }
    }
}

fn next(reader: &mut Reader) -> Option<Taken> {
    for _ in 0..SKIPPED_MAX {
        match reader.take() {
            Ok(taken) => return taken,
            Err(fault @ ReadFault::Malformed) => {
                if reader.malformed() == 1 {
                    crate::log::warn(&fault.to_string());
                }
            }
            Err(ReadFault::Broken) => return None,
        }
    }
    None
}

const SOURCE: &CStr = c"(Ltakt/framework/InputSource;)V";

/// Of our own MessageQueue: AOSP's, which takt.screen is built against, has no such method.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_screen_Native_listen(
    env: Env,
    _: jclass,
    queue: jobject,
    source: jobject,
) {
    env.call_void(queue, c"addInputSource", SOURCE, &[jvalue { l: source }]);
}

#[unsafe(no_mangle)]
extern "system" fn Java_takt_screen_Native_unlisten(
    env: Env,
    _: jclass,
    queue: jobject,
    source: jobject,
) {
    env.call_void(queue, c"removeInputSource", SOURCE, &[jvalue { l: source }]);
}

/// A descriptor of the file that the looper listens to, for the caller; -1 if it is woken.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_screen_Native_inputFile(env: Env, _: jclass, number: jlong) -> jint {
    let copy = with_reader(channel(number), |it| {
        it.reader.file().map(|it| it.try_clone_to_owned())
    });
    match copy.flatten() {
        None => -1,
        Some(Ok(copy)) => copy.into_raw_fd(),
        Some(Err(fault)) => {
            let text = format!("no descriptor for a window's input: {fault}");
            env.throw("java/lang/IllegalStateException", &text);
            -1
        }
    }
}

/// A message that was finished already, or whose window is gone, is none.
#[unsafe(no_mangle)]
extern "system" fn Java_android_view_InputEventReceiver_nativeFinishInputEvent(
    _: Env,
    _: jclass,
    number: jlong,
    sequence: jint,
    _was_handled: jboolean,
) {
    measure::while_measured(|it| it.finished());
    let id = channel(number);
    if with_reader(id, |it| it.reader.finish(sequence.cast_unsigned())) == Some(true) {
        tell(id);
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_view_InputEventReceiver_nativeProbablyHasInput(
    _: Env,
    _: jclass,
    number: jlong,
) -> jboolean {
    with_reader(channel(number), |it| it.reader.has_waiting()) == Some(true)
}

/// Moves are not batched: there is nothing to take at a frame's start.
#[unsafe(no_mangle)]
extern "system" fn Java_android_view_InputEventReceiver_nativeConsumeBatchedInputEvents(
    _: Env,
    _: jclass,
    _number: jlong,
    _frame_ns: jlong,
) -> jboolean {
    false
}

/// For statistics of a compositor.
#[unsafe(no_mangle)]
extern "system" fn Java_android_view_InputEventReceiver_nativeReportTimeline(
    _: Env,
    _: jclass,
    _number: jlong,
    _event: jint,
    _finished_ns: jlong,
    _presented_ns: jlong,
) {
}
