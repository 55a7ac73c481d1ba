// SPDX-License-Identifier: Apache-2.0
//! [`Marks`]: tells Java when a head reaches the marker, or the next period.
//!
//! A thread looks when the mark should be reached, and sleeps while nothing moves. It begins with
//! the first mark and ends with the track.

use core::ffi::CStr;
use std::sync::Arc;

use jni_sys::{jint, jobject, jvalue};
use rt::clock::{Clock as _, Monotonic};
use rt::sync::{PiCondvar, PiMutex};
use rt::thread::Builder;

use crate::env::{Env, Global, Method};

/// AudioTrack's and AudioRecord's numbers.
const EVENT_MARKER: jint = 3;
const EVENT_PERIOD: jint = 4;
/// Periods that one look tells of; what is beyond is passed over. A handler's queue is not endless.
const PERIODS_MAX: u64 = 64;
/// The shortest sleep: a device that stands is not asked in a loop.
const SLEEP_NS_MIN: u64 = 1_000_000;
/// The longest, while it moves.
const SLEEP_NS_MAX: u64 = 1_000_000_000;

/// The machine's least for a thread of its own, and what its looks and calls take of it.
const STACK_BYTES: usize = (1 << 20) + (1 << 18);
const STACK_BYTES_THERE: usize = 128 << 10;

/// What moves: frames since its head was zero, and how long some last; none while it stands.
pub(super) trait Moving: Send + Sync {
    fn head(&self) -> u64;
    fn duration_ns(&self, frames: u64) -> Option<u64>;
    fn marks(&self) -> &Marks;
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Positions {
    marker: u32,
    is_marked: bool,
    period: u32,
    next: u64,
    is_over: bool,
    has_thread: bool,
}

impl Positions {
    /// What is reached at `head`: the marker, and how many periods.
    fn take(&mut self, head: u64) -> (bool, u64) {
        let is_at_marker = self.marker != 0 && !self.is_marked && u64::from(self.marker) <= head;
        self.is_marked |= is_at_marker;
        let mut periods = 0;
        if self.period != 0 && self.next <= head {
            periods = (head - self.next) / u64::from(self.period) + 1;
            self.next += periods * u64::from(self.period);
        }
        (is_at_marker, periods.min(PERIODS_MAX))
    }

    fn begin(&mut self, head: u64) {
        self.next = head + u64::from(self.period);
        self.is_marked = u64::from(self.marker) <= head;
    }

    /// Frames from `head` to the next mark.
    fn distance(&self, head: u64) -> Option<u64> {
        let marker = (self.marker != 0 && !self.is_marked).then_some(u64::from(self.marker));
        let period = (self.period != 0).then_some(self.next);
        let next = [marker, period].into_iter().flatten().min()?;
        Some(next.saturating_sub(head))
    }
}

pub(super) struct Marks {
    positions: PiMutex<Positions>,
    changed: PiCondvar,
    class: Global,
    post: Method,
    /// Java's weak reference to the object.
    object: Global,
}

impl Marks {
    /// None, and an exception is pending, if the class has no such method.
    pub(super) fn new(env: Env, class: &str, weak: jobject) -> Option<Self> {
        const SIGNATURE: &CStr = c"(Ljava/lang/Object;IIILjava/lang/Object;)V";
        let class = env.class(class)?;
        let post = env.static_method(&class, c"postEventFromNative", SIGNATURE)?;
        Some(Self {
            positions: PiMutex::default(),
            changed: PiCondvar::new(),
            class,
            post,
            object: Global::new(env, weak)?,
        })
    }

    pub(super) fn marker(&self) -> u32 {
        self.positions.lock().marker
    }

    pub(super) fn period(&self) -> u32 {
        self.positions.lock().period
    }

    /// The head began to move. After a stop it did from zero, so the marker comes again.
    pub(super) fn moved(&self, head: u64) {
        let mut positions = self.positions.lock();
        positions.begin(head);
        self.changed.notify_all(&positions);
    }

    /// Its thread ends.
    pub(super) fn end(&self) {
        let mut positions = self.positions.lock();
        positions.is_over = true;
        self.changed.notify_all(&positions);
    }

    fn post(&self, what: jint) {
        let Some(env) = Env::current() else { return };
        env.framed(8, || {
            let [none, zero] = [
                jvalue {
                    l: core::ptr::null_mut(),
                },
                jvalue { i: 0 },
            ];
            let object = jvalue {
                l: self.object.local(env),
            };
            let arguments = [object, jvalue { i: what }, zero, zero, none];
            env.call_static_void_of(&self.class, self.post, &arguments);
            env.take_exception();
        });
    }
}

/// Sets the marker; 0 is none.
pub(super) fn set_marker<T: Moving + 'static>(of: &Arc<T>, frame: u32) -> bool {
    set(of, |positions, _| {
        (positions.marker, positions.is_marked) = (frame, false);
    })
}

/// Sets the period, from the head on; 0 is none.
pub(super) fn set_period<T: Moving + 'static>(of: &Arc<T>, frames: u32) -> bool {
    set(of, |positions, head| {
        (positions.period, positions.next) = (frames, head + u64::from(frames));
    })
}

/// Whether there is a thread to look.
fn set<T: Moving + 'static>(of: &Arc<T>, change: impl FnOnce(&mut Positions, u64)) -> bool {
    let (marks, head) = (of.marks(), of.head());
    let mut positions = marks.positions.lock();
    change(&mut positions, head);
    marks.changed.notify_all(&positions);
    if !positions.has_thread {
        let of = Arc::clone(of);
        let builder = Builder::new("audio marks").stack_bytes(STACK_BYTES);
        let builder = builder.populated_bytes(STACK_BYTES_THERE);
        let started = builder.spawn(move || look(&*of));
        positions.has_thread = started.is_ok();
    }
    positions.has_thread
}

fn look(of: &impl Moving) {
    crate::env::attach();
    let marks = of.marks();
    loop {
        let head = of.head();
        let mut positions = marks.positions.lock();
        if positions.is_over {
            return;
        }
        let (is_at_marker, periods) = positions.take(head);
        if is_at_marker || periods > 0 {
            drop(positions);
            if is_at_marker {
                marks.post(EVENT_MARKER);
            }
            (0..periods).for_each(|_| marks.post(EVENT_PERIOD));
            continue;
        }
        let left_ns = positions.distance(head).and_then(|it| of.duration_ns(it));
        match left_ns {
            Some(left_ns) => {
                let sleep_ns = left_ns.clamp(SLEEP_NS_MIN, SLEEP_NS_MAX);
                let due_ns = Monotonic.now_ns() + sleep_ns;
                let _wake = marks.changed.wait_until(&mut positions, due_ns);
            }
            None => marks.changed.wait(&mut positions),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mark_is_told_once() {
        let mut positions = Positions {
            marker: 100,
            period: 64,
            next: 64,
            ..Positions::default()
        };
        assert_eq!(positions.take(63), (false, 0));
        assert_eq!(positions.distance(63), Some(1));
        assert_eq!(positions.take(64), (false, 1));
        assert_eq!(positions.distance(64), Some(36));
        assert_eq!(positions.take(200), (true, 2));
        assert_eq!(positions.take(255), (false, 0));
        assert_eq!(positions.distance(255), Some(1));
        assert_eq!(positions.take(1 << 40), (false, PERIODS_MAX));
        assert_eq!(positions.take(1 << 40), (false, 0), "passed over");
        positions.begin(0);
        assert_eq!(positions.take(99), (false, 1), "from zero");
        assert_eq!(positions.take(100), (true, 0), "again");
        positions.begin(100);
        assert_eq!(positions.take(101), (false, 0), "it went on");
    }
}
