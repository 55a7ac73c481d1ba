// SPDX-License-Identifier: Apache-2.0
//! takt.server.UrgentSteps: when the process's real-time thread has something to fetch, and how
//! urgent it is meanwhile.
//!
//! The server's word comes over the process's door, which has all that the process may have, and
//! does little. It gives the thread the priority of what waits before it wakes it: so nothing that
//! is less urgent keeps it from that. The thread itself has the priority of what it brings.

use std::sync::Arc;

use binder::Process;
use jni_sys::{jboolean, jclass, jint, jobject};
use rt::policy::Tid;
use rt::sync::{Event, PiMutex};

use crate::binder::{binder_of, home};
use crate::env::Env;
use crate::realtime_thread::{PRIORITY_MAX, schedule};

/// The thread; one for a process.
static NEWS: PiMutex<Option<Arc<News>>> = PiMutex::new(None);

struct News {
    thread: PiMutex<Thread>,
    event: Event,
}

struct Thread {
    tid: Tid,
    /// What it has now.
    own: jint,
    /// Of what came since it looked last; 0 if nothing did.
    news: jint,
}

impl Thread {
    /// One system call, if it changes.
    fn run_as(&mut self, priority: jint) {
        if self.own != priority && schedule(self.tid.raw(), libc::SCHED_FIFO, priority) {
            self.own = priority;
        }
    }
}

impl News {
    /// On the door.
    fn hear(&self, priority: jint) {
        let mut thread = self.thread.lock();
        thread.news = priority.clamp(1, PRIORITY_MAX).max(thread.news);
        let wanted = thread.news.max(thread.own);
        thread.run_as(wanted);
        drop(thread);
        self.event.set();
    }
}

fn news() -> Option<Arc<News>> {
    NEWS.lock().clone()
}

/// Both threads have all that the process may have, or nothing changes.
fn raise(home: &Process, thread: Tid, most: jint) -> bool {
    let Some(door) = home.door() else {
        return false;
    };
    if !schedule(thread.raw(), libc::SCHED_FIFO, most) {
        return false;
    }
    let is_raised = schedule(door.raw(), libc::SCHED_FIFO, most);
    if !is_raised {
        schedule(thread.raw(), libc::SCHED_OTHER, 0);
    }
    is_raised
}

/// Makes the calling thread the one that fetches urgent steps, up to a priority. False if the
/// kernel refuses that, or the server is gone: then the ordinary one fetches all.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_server_UrgentSteps_attach(
    env: Env,
    _: jclass,
    system: jobject,
    most: jint,
) -> jboolean {
    let (Some(system), Some(home)) = (binder_of(env, system), home::of(env)) else {
        return false;
    };
    let own = Tid::current();
    if !raise(home, own, most) {
        return false;
    }
    let news = Arc::new(News {
        thread: PiMutex::new(Thread {
            tid: own,
            own: most,
            news: 0,
        }),
        event: Event::new(),
    });
    *NEWS.lock() = Some(Arc::clone(&news));
    agent::native::attach_urgent(system, home, move |it| news.hear(it)).is_ok()
}

/// Waits until the server says that there is something urgent.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_server_UrgentSteps_await(_: Env, _: jclass) {
    if let Some(news) = news() {
        news.event.wait();
    }
}

/// What the server says from now on is not known yet: before a look at all that waits.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_server_UrgentSteps_look(_: Env, _: jclass) {
    if let Some(news) = news() {
        news.thread.lock().news = 0;
    }
}

/// The thread brings something of this priority: it has that, or that of what waits already.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_server_UrgentSteps_runAs(_: Env, _: jclass, priority: jint) {
    if let Some(news) = news() {
        let mut thread = news.thread.lock();
        let wanted = priority.clamp(1, PRIORITY_MAX).max(thread.news);
        thread.run_as(wanted);
    }
}
