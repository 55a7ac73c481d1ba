// SPDX-License-Identifier: Apache-2.0
//! android.os.FileObserver: one thread that waits for the kernel's words on files, by inotify.

use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, IntoRawFd as _};

use jni_sys::{jint, jintArray, jobject, jobjectArray, jvalue};
use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::io::Errno;

use crate::env::Env;

/// Room for the longest event and a dozen usual ones.
const EVENT_BYTES: usize = 4096;

/// The number of a queue for a call; none if there is none.
fn queue(number: &jint) -> Option<BorrowedFd<'_>> {
    // SAFETY:
    // 1. AOSP's thread keeps the number that `init` gave it, in a private field, and never closes
    //    it.
    (*number >= 0).then(|| unsafe { BorrowedFd::borrow_raw(*number) })
}

/// -1 if there is no queue: AOSP's class throws at the first use.
#[unsafe(no_mangle)]
extern "system" fn Java_android_os_FileObserver_00024ObserverThread_init(
    _: Env,
    _: jobject,
) -> jint {
    inotify::init(CreateFlags::CLOEXEC).map_or(-1, |it| it.into_raw_fd())
}

/// Runs as long as the process: each event is a call of `onEvent`.
#[unsafe(no_mangle)]
extern "system" fn Java_android_os_FileObserver_00024ObserverThread_observe(
    env: Env,
    thread: jobject,
    number: jint,
) {
    let Some(fd) = queue(&number) else {
        return;
    };
    let mut buffer = [MaybeUninit::uninit(); EVENT_BYTES];
    let mut events = inotify::Reader::new(fd, &mut buffer);
    loop {
        let event = match events.next() {
            Ok(event) => event,
            Err(Errno::INTR) => continue,
            Err(error) => {
                let text = format!("no more events of files: {error}");
                crate::log::error("FileObserver", &text);
                return;
            }
        };
        let name = event
            .file_name()
            .map(|it| it.to_string_lossy().into_owned());
        let name = name.map_or(core::ptr::null_mut(), |it| env.string_of(&it));
        let arguments = [
            jvalue { i: event.wd() },
            jvalue {
                i: event.events().bits().cast_signed(),
            },
            jvalue { l: name },
        ];
        env.call_void(thread, c"onEvent", c"(IILjava/lang/String;)V", &arguments);
        if env.is_exception_pending() {
            return;
        }
        env.delete_local(name);
    }
}

/// Writes a number for each path: -1 where the kernel watches nothing.
#[unsafe(no_mangle)]
extern "system" fn Java_android_os_FileObserver_00024ObserverThread_startWatching(
    env: Env,
    _: jobject,
    number: jint,
    paths: jobjectArray,
    mask: jint,
    watches: jintArray,
) {
    let mask = WatchFlags::from_bits_retain(mask.cast_unsigned());
    let watch = |path: String| {
        let fd = queue(&number)?;
        inotify::add_watch(fd, path.as_str(), mask).ok()
    };
    let found: Vec<jint> = env
        .texts(paths)
        .into_iter()
        .map(|path| watch(path).unwrap_or(-1))
        .collect();
    env.write_ints(watches, &found);
}

#[unsafe(no_mangle)]
extern "system" fn Java_android_os_FileObserver_00024ObserverThread_stopWatching(
    env: Env,
    _: jobject,
    number: jint,
    watches: jintArray,
) {
    let Some(fd) = queue(&number) else {
        return;
    };
    for watch in env.ints(watches) {
        // One that the kernel has ended itself, with its file, is gone already.
        let _ended = inotify::remove_watch(fd, watch);
    }
}
