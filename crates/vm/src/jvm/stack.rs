// SPDX-License-Identifier: Apache-2.0
//! Stack traces, callers and stack walks.

use crate::inspect::backtrace;
use crate::jni::{of, outcome};
use crate::threads::unwind;

#[unsafe(no_mangle)]
extern "C" fn JVM_FillInStackTrace(env: u64, throwable: u64) {
    let thread = &*of(env);
    let _ = backtrace::fill(thread, thread.object_of(throwable));
}

#[unsafe(no_mangle)]
extern "C" fn JVM_InitStackTraceElementArray(env: u64, elements: u64, throwable: u64) {
    let thread = &*of(env);
    let (elements, throwable) = (thread.object_of(elements), thread.object_of(throwable));
    let _ = backtrace::elements(thread, elements, throwable);
}

#[unsafe(no_mangle)]
extern "C" fn JVM_InitStackTraceElement(env: u64, element: u64, frame_info: u64) {
    let thread = &*of(env);
    let (element, info) = (thread.object_of(element), thread.object_of(frame_info));
    let _ = backtrace::element_of_frame_info(thread, element, info);
}

/// What was null, worked out from the frame that failed; null if the exception was thrown by hand.
#[unsafe(no_mangle)]
extern "C" fn JVM_GetExtendedNPEMessage(env: u64, throwable: u64) -> u64 {
    let thread = &*of(env);
    let frame = backtrace::first_frame(thread.object_of(throwable));
    let message =
        frame.and_then(|frame| crate::inspect::null_message::explain(frame.method, frame.at?));
    message.map_or(0, |message| {
        let text = crate::objects::string::new_string(thread, &message);
        outcome(text.map(|text| thread.new_local(text)))
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetCallerClass(env: u64) -> u64 {
    let thread = &*of(env);
    let mut caller = None;
    let mut depth = 0;
    unwind::walk(thread, |frame| {
        depth += 1;
        // Reflection.getCallerClass itself, then who asks, then its caller.
        if depth <= 2 || backtrace::is_ignored(frame.method) {
            return true;
        }
        caller = Some(frame.method.class());
        false
    });
    caller.map_or(0, |class| thread.new_local(class.mirror()))
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetClassContext(env: u64) -> u64 {
    let thread = &*of(env);
    let mirrors: Vec<_> = unwind::frames(thread)
        .iter()
        .filter(|frame| !backtrace::is_ignored(frame.method))
        .map(|frame| frame.method.class().mirror())
        .collect();
    let array = crate::invoke::reflect::class_array(thread, mirrors.get(1..).unwrap_or_default());
    outcome(array.map(|array| thread.new_local(array)))
}

#[unsafe(no_mangle)]
extern "C" fn JVM_LatestUserDefinedLoader(env: u64) -> u64 {
    let thread = &*of(env);
    let mut found = 0;
    unwind::walk(thread, |frame| {
        let loader = frame.method.class().info.loader;
        if loader.is_boot() || crate::link::mirror::is_platform_loader(loader) {
            return true;
        }
        found = thread.new_local(loader.object());
        false
    });
    found
}

#[unsafe(no_mangle)]
extern "C" fn JVM_CallStackWalk(
    env: u64,
    stream: u64,
    mode: i64,
    skip: i32,
    batch: i32,
    start: i32,
    frames: u64,
) -> u64 {
    let thread = &*of(env);
    let (stream, frames) = (thread.object_of(stream), thread.object_of(frames));
    let walk = backtrace::walk(thread, stream, mode, skip, (batch, start), frames);
    outcome(walk.map(|result| thread.new_local(result)))
}

#[unsafe(no_mangle)]
extern "C" fn JVM_MoreStackWalk(
    env: u64,
    _stream: u64,
    mode: i64,
    anchor: i64,
    batch: i32,
    start: i32,
    frames: u64,
) -> i32 {
    let thread = &*of(env);
    let frames = thread.object_of(frames);
    outcome(backtrace::walk_more(
        thread,
        mode,
        anchor,
        (batch, start),
        frames,
    ))
}
