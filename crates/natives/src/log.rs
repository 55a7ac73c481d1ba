// SPDX-License-Identifier: Apache-2.0
//! android.util.Log: lines in logcat's `threadtime` form on standard error.

use std::io::Write as _;

use jni_sys::{jboolean, jclass, jint, jstring};

use crate::env::Env;
use crate::system_clock::now_ns;

/// Priorities from android.util.Log; the index is the priority.
const LETTERS: [char; 8] = ['?', '?', 'V', 'D', 'I', 'W', 'E', 'F'];
const INFO: jint = 4;
const WARN: jint = 5;
const ERROR: jint = 6;
/// What the kernel's logger takes in one entry; longer messages are cut by callers that ask.
pub(crate) const PAYLOAD_MAX: jint = 4068;

/// `MM-DD hh:mm:ss.mmm  PID  TID L Tag: line`, one line of output for each line of text.
fn format(time_ns: i64, pid: i32, tid: i32, priority: jint, tag: &str, text: &str) -> String {
    let letter = LETTERS[(priority.clamp(0, 7)) as usize];
    let seconds = time_ns.div_euclid(1_000_000_000);
    let millis = time_ns.rem_euclid(1_000_000_000) / 1_000_000;
    let (month, day, second_of_day) = local_date(seconds);
    let (hour, minute, second) = (
        second_of_day / 3600,
        second_of_day / 60 % 60,
        second_of_day % 60,
    );
    let head = format!(
        "{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{millis:03} {pid:5} {tid:5} {letter} {tag:<8}: "
    );
    text.lines().map(|line| format!("{head}{line}\n")).collect()
}

/// Month, day and second of the day in local time.
fn local_date(seconds: i64) -> (i32, i32, i32) {
    // SAFETY:
    // 1. All-zero is a valid `tm`.
    let mut date: libc::tm = unsafe { core::mem::zeroed() };
    // SAFETY:
    // 1. Both pointers are valid for the call; localtime_r is thread-safe.
    unsafe { libc::localtime_r(&raw const seconds, &raw mut date) };
    (
        date.tm_mon + 1,
        date.tm_mday,
        date.tm_hour * 3600 + date.tm_min * 60 + date.tm_sec,
    )
}

pub(crate) fn thread_id() -> i32 {
    // SAFETY:
    // 1. gettid takes nothing and cannot fail.
    unsafe { libc::gettid() }
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_util_Log_println_1native(
    env: Env,
    _: jclass,
    _buffer: jint,
    priority: jint,
    tag: jstring,
    text: jstring,
) -> jint {
    let Some(text) = env.text(text) else {
        env.throw("java/lang/NullPointerException", "println needs a message");
        return -1;
    };
    write(priority, &env.text(tag).unwrap_or_default(), &text)
}

/// A remark of these natives themselves.
pub(crate) fn warn(text: &str) {
    write(WARN, "Takt", text);
}

/// A fault of these natives' own work.
pub(crate) fn error(tag: &str, text: &str) {
    write(ERROR, tag, text);
}

fn write(priority: jint, tag: &str, text: &str) -> jint {
    let pid = std::process::id().cast_signed();
    let time = now_ns(libc::CLOCK_REALTIME);
    let lines = format(time, pid, thread_id(), priority, tag, text);
    // One write for all lines, so that those of two threads do not mix. A real-time thread leaves
    // it to another.
    rt::lines::say(&lines);
    lines.len() as jint
}

/// takt.server.UncaughtExceptions: logs what AOSP logs of an exception that nothing caught, and
/// ends the process, with nothing of Java's heap.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_server_UncaughtExceptions_endWithoutMemory(
    env: Env,
    _: jclass,
    thread: jstring,
    package: jstring,
    message: jstring,
    status: jint,
) {
    if thread.is_null() {
        return;
    }
    let text = |it| env.text(it).unwrap_or_default();
    let pid = std::process::id().cast_signed();
    let lines = format(
        now_ns(libc::CLOCK_REALTIME),
        pid,
        thread_id(),
        ERROR,
        "AndroidRuntime",
        &format!(
            "FATAL EXCEPTION: {}\nProcess: {}, PID: {pid}\njava.lang.OutOfMemoryError: {}",
            text(thread),
            text(package),
            text(message)
        ),
    );
    // A closed stderr loses the log, not the end.
    let _ = std::io::stderr().lock().write_all(lines.as_bytes());
    halt(status);
}

/// `Runtime.halt`, of whichever machine this is, without a word of Java.
fn halt(status: i32) -> ! {
    // SAFETY: 1. The name is a C string, and the whole program is searched.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"JVM_Halt".as_ptr()) };
    if !found.is_null() {
        // SAFETY: 1. By this name the class library knows a function of exactly this type.
        let halt: extern "C" fn(jint) = unsafe { core::mem::transmute(found) };
        halt(status);
    }
    // SAFETY: 1. Ends the process.
    unsafe { libc::_exit(status) }
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_util_Log_isLoggable(
    _: Env,
    _: jclass,
    _tag: jstring,
    level: jint,
) -> jboolean {
    level >= INFO
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_util_Log_logger_1entry_1max_1payload_1native(
    _: Env,
    _: jclass,
) -> jint {
    PAYLOAD_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_logcats_form() {
        let text = format(1_500_000_000, 12, 345, 6, "Tag", "one\ntwo");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(
            lines[0].ends_with(".500    12   345 E Tag     : one"),
            "{}",
            lines[0]
        );
        assert!(lines[1].ends_with("E Tag     : two"));
    }
}
