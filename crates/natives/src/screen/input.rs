// SPDX-License-Identifier: Apache-2.0
//! android.view.InputChannel and InputEventReceiver: a window's input by the number of its channel.
//! takt.screen.Events takes the messages on the receiver's looper.

use jni_sys::{jboolean, jclass, jint, jlong, jobject, jstring, jvalue};
use screen::ChannelId;

use super::{change, finalizer, state};
use crate::env::Env;

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
}

/// A message that was finished already, or whose window is gone, is none.
#[unsafe(no_mangle)]
extern "system" fn Java_android_view_InputEventReceiver_nativeFinishInputEvent(
    env: Env,
    _: jclass,
    number: jlong,
    sequence: jint,
    _was_handled: jboolean,
) {
    change(env, |it| {
        if let Some(measure) = &mut it.measure {
            measure.finished();
        }
        it.screen.finish(channel(number), sequence.cast_unsigned())
    });
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_view_InputEventReceiver_nativeProbablyHasInput(
    _: Env,
    _: jclass,
    number: jlong,
) -> jboolean {
    state().is_some_and(|it| it.screen.has_input(channel(number)))
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
