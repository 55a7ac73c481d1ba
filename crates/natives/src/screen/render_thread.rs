// SPDX-License-Identifier: Apache-2.0
//! The threads of AOSP's library that draw. It gives them no names and knows of no priorities, and
//! does not say which they are. They are found, named as on Android, and kept ordinary, no matter
//! who began them.

use std::sync::atomic::{AtomicI32, Ordering};

use jni_sys::jclass;
use rt::policy::{Policy, Tid};

use crate::env::Env;

/// As Android's: the one that draws, and those that it has help it.
const NAME: &str = "RenderThread";
const HELPER: &str = "hwuiTask";

/// The one that draws; zero before it is found.
static FOUND: AtomicI32 = AtomicI32::new(0);

/// The one that calls has begun the library's renderer.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_screen_Native_findRenderThreads(_: Env, _: jclass) {
    find();
}

/// What the library begins inherits the name of the thread that calls, and keeps it: each thread of
/// Java's has one of its own. The oldest of these draws, and its helpers inherit from it.
pub(super) fn find() {
    let own = Tid::current().raw();
    let inherited = comm(own);
    let is_its = |thread: i32| {
        let name = comm(thread);
        let is_known = thread == own || thread == FOUND.load(Ordering::Relaxed);
        !is_known && (name == inherited || name.trim_end() == NAME)
    };
    let entries = std::fs::read_dir("/proc/self/task").into_iter().flatten();
    let threads = entries.filter_map(|it| it.ok()?.file_name().to_str()?.parse().ok());
    let mut found: Vec<(u64, i32)> = threads
        .filter(|it| is_its(*it))
        .map(|it| (begun(it), it))
        .collect();
    found.sort_unstable();
    for (_, thread) in found {
        let is_first = FOUND.compare_exchange(0, thread, Ordering::Relaxed, Ordering::Relaxed);
        let name = if is_first.is_ok() { NAME } else { HELPER };
        // A thread that has ended has no name.
        let _ = std::fs::write(format!("/proc/self/task/{thread}/comm"), name);
        if let Some(thread) = Tid::new(thread) {
            // Of one that has ended.
            let _ = Policy::ordinary().apply(thread);
        }
    }
}

fn comm(thread: i32) -> String {
    std::fs::read_to_string(format!("/proc/self/task/{thread}/comm")).unwrap_or_default()
}

/// When a thread began: the twentieth word behind its name.
fn begun(thread: i32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{thread}/stat"));
    let stat = stat.unwrap_or_default();
    let after_name = stat.rsplit_once(") ").map_or("", |it| it.1);
    let word = after_name.split(' ').nth(19);
    word.and_then(|it| it.parse().ok()).unwrap_or(u64::MAX)
}
