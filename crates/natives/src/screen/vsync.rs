// SPDX-License-Identifier: Apache-2.0
//! android.view.DisplayEventReceiver: a Choreographer's beats. takt.screen.Events keeps the
//! receivers and brings each its beat on its own looper.

use jni_sys::{jclass, jint, jlong, jobject, jvalue};

use super::{change, finalizer, now_ns};
use crate::env::Env;

#[unsafe(no_mangle)]
extern "system" fn Java_android_view_DisplayEventReceiver_nativeInit(
    env: Env,
    _: jclass,
    receiver: jobject,
    data: jobject,
    queue: jobject,
    _source: jint,
    _registration: jint,
    _layer: jlong,
) -> jlong {
    let arguments = [
        jvalue { l: receiver },
        jvalue { l: data },
        jvalue { l: queue },
    ];
    let signature =
        c"(Ljava/lang/ref/WeakReference;Ljava/lang/ref/WeakReference;Landroid/os/MessageQueue;)J";
    env.call_static_long("takt/screen/Events", c"addReceiver", signature, &arguments)
}

/// The receiver is found dead when its beat comes.
#[unsafe(no_mangle)]
extern "system" fn Java_android_view_DisplayEventReceiver_nativeGetDisplayEventReceiverFinalizer(
    _: Env,
    _: jclass,
) -> jlong {
    finalizer()
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_view_DisplayEventReceiver_nativeScheduleVsync(
    env: Env,
    _: jclass,
    receiver: jlong,
) {
    let now_ns = now_ns();
    let asked = change(env, |it| {
        it.screen.vsync().request(receiver.cast_unsigned(), now_ns)
    });
    if asked == Some(false) {
        let text = "too many receivers wait for the display's beat";
        env.throw("java/lang/IllegalStateException", text);
    }
}

/// For a frame that is late: the beat that it is for by now.
#[unsafe(no_mangle)]
extern "system" fn Java_android_view_DisplayEventReceiver_nativeGetLatestVsyncEventData(
    env: Env,
    _: jclass,
    receiver: jlong,
) -> jobject {
    let arguments = [jvalue { j: receiver }];
    let signature = c"(J)Landroid/view/DisplayEventReceiver$VsyncEventData;";
    env.call_static("takt/screen/Events", c"latest", signature, &arguments)
}
