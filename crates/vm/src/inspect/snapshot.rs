// SPDX-License-Identifier: Apache-2.0
//! [`Snapshot`]: what one thread does at one moment, seen by another: its frames, what it holds and
//! waits for.
//!
//! The thread is held while its stack is read ([`heap::Heap::visit`]): some 50 ns per frame. Which
//! objects a frame has locked is in no table: they are the words of its span on the stack that are
//! objects whose lock word names the thread, if its method locks at all.

use core::ops::Range;
use core::sync::atomic::Ordering;
use std::sync::Arc;

use classfile::access;
use compiler::machine_word;
use heap::VisitError;

use crate::classes::class::Class;
use crate::classes::known::{known, offset};
use crate::classes::object::ObjectRef;
use crate::memory;
use crate::monitors::java_thread;
use crate::monitors::monitor;
use crate::objects::heap_binding;
use crate::threads::thread::{self, Thread};
use crate::threads::unwind::{self, Frame};

/// As HotSpot's MaxJavaStackTraceDepth: of throwables and of what dumps print.
pub(crate) const DEPTH_MAX: usize = 1024;
/// More frames than the largest stack has.
pub(crate) const WHOLE: usize = usize::MAX;
/// Objects locked by one thread that are looked at; more are not named.
const LOCKS_MAX: usize = 256;

/// An object by its address, which is good for telling it from others only, and its class.
#[derive(Clone, Copy)]
pub(crate) struct Seen {
    pub(crate) address: u32,
    pub(crate) class: &'static Class,
    /// For the mirror of a class: that class.
    pub(crate) mirrored: Option<&'static Class>,
}

impl PartialEq for Seen {
    fn eq(&self, other: &Self) -> bool {
        self.address == other.address
    }
}

/// See the module.
pub(crate) struct Snapshot {
    /// Innermost first.
    pub(crate) frames: Vec<Frame>,
    /// Objects that a frame, by its index, has locked.
    pub(crate) locks: Vec<(usize, Seen)>,
    /// The object whose monitor or notification it waits for.
    pub(crate) waits_for: Option<Seen>,
}

/// What is seen while the thread is held.
struct View {
    frames: Vec<Frame>,
    candidates: Vec<(usize, Seen)>,
    waits_for: Option<Seen>,
}

/// Looks at `target` until `due_ns` at the latest. The calling thread, if it is attached, waits in
/// native state.
pub(crate) fn take(
    target: &Thread,
    depth_max: usize,
    due_ns: Option<u64>,
) -> Result<Snapshot, VisitError> {
    let viewer = thread::current();
    if viewer.is_some_and(|viewer| core::ptr::eq(viewer, target)) {
        let mut view = View {
            frames: Vec::new(),
            candidates: Vec::with_capacity(LOCKS_MAX),
            waits_for: None,
        };
        view.look(target, depth_max);
        return Ok(view.into_snapshot(target.tid()));
    }
    let address = core::ptr::from_ref(target) as u64;
    let mut room = DEPTH_MAX;
    loop {
        // All memory is taken before: the thread waits for nothing but its own stack's size.
        let mut view = View {
            frames: Vec::with_capacity(room),
            candidates: Vec::with_capacity(LOCKS_MAX),
            waits_for: None,
        };
        let mut visit = || {
            heap_binding::heap().visit(
                |context| context.thread.load(Ordering::Relaxed) == address,
                due_ns,
                |_| view.look(target, room.min(depth_max)),
            )
        };
        match viewer {
            Some(viewer) => viewer.outside(&mut visit)?,
            None => visit()?,
        }
        if view.frames.len() < room || room >= depth_max {
            return Ok(view.into_snapshot(target.tid()));
        }
        room = room.saturating_mul(8);
    }
}

impl View {
    /// While `target` is held.
    fn look(&mut self, target: &Thread, depth_max: usize) {
        let frame = target.context().last_frame.load(Ordering::Relaxed);
        let native = target.word(machine_word::LAST_METHOD);
        self.waits_for = target.waiting.object().some().and_then(Seen::of);
        unwind::walk_records(target, frame, native, |frame, record| {
            if let Some(record) = record {
                self.find_locks(target.tid(), record.span());
            }
            self.frames.push(frame);
            self.frames.len() < depth_max
        });
    }

    /// Objects in a span of the stack that the thread has locked, or gave back to wait for them.
    fn find_locks(&mut self, tid: u32, span: Range<u64>) {
        let index = self.frames.len();
        for at in span.step_by(4) {
            let bits: u32 = memory::read(at);
            let Some(object) = heap_binding::heap().object_at(bits) else {
                continue;
            };
            if object.bits() != bits || self.candidates.len() == LOCKS_MAX {
                continue;
            }
            let object = ObjectRef(bits);
            let is_awaited = self.waits_for.is_some_and(|seen| seen.address == bits);
            if !is_awaited && monitor::owner_of(object) != tid {
                continue;
            }
            if let Some(seen) = Seen::of(object)
                && !self.candidates.contains(&(index, seen))
            {
                self.candidates.push((index, seen));
            }
        }
    }

    /// Keeps of the candidates those whose frames lock.
    fn into_snapshot(self, tid: u32) -> Snapshot {
        let mut locks = Vec::new();
        for (index, frame) in self.frames.iter().enumerate() {
            let method = frame.method;
            let is_synchronized = method.access & access::SYNCHRONIZED != 0;
            if is_synchronized && method.is_static() {
                let mirror = method.class().mirror();
                if monitor::owner_of(mirror) == tid {
                    locks.extend(Seen::of(mirror).map(|seen| (index, seen)));
                }
            }
            let has_blocks = enters_monitors(frame);
            for &(at, seen) in &self.candidates {
                let is_own = is_synchronized && seen.class.is_subtype_of(method.class());
                if at == index && (has_blocks || is_own) && !locks.contains(&(at, seen)) {
                    locks.push((at, seen));
                }
            }
        }
        Snapshot {
            frames: self.frames,
            locks,
            waits_for: self.waits_for,
        }
    }
}

/// Whether a `monitorenter` may stand in the frame's method: its byte does.
fn enters_monitors(frame: &Frame) -> bool {
    const MONITORENTER: u8 = 0xc2;
    if let Some(dex) = frame.method.class().info.dex {
        return dex.may_enter_monitors(frame.method);
    }
    let code = frame.method.file().code.as_ref();
    code.is_some_and(|code| code.bytes.contains(&MONITORENTER))
}

impl Seen {
    /// `None` for a cell that is being freed: nothing keeps what a stale word names.
    pub(crate) fn of(object: ObjectRef) -> Option<Self> {
        let class: u32 = object.get(abi::object::CLASS_OFFSET);
        let class = (class != 0).then(|| Class::at(class))?;
        let is_mirror = core::ptr::eq(class, known().class);
        let mirrored = is_mirror.then(|| object.get::<u32>(known().mirror_class));
        Some(Self {
            address: object.0,
            class,
            mirrored: mirrored.filter(|&class| class != 0).map(Class::at),
        })
    }
}

/// Whether what was `seen` is still an object of its class that `target` has locked. The calling
/// thread is in managed state.
pub(crate) fn has_locked(target: &Thread, seen: &Seen) -> bool {
    let object = ObjectRef(seen.address);
    let found = heap_binding::heap().object_at(seen.address);
    found.is_some_and(|found| found.bits() == seen.address)
        && Seen::of(object).is_some_and(|now| core::ptr::eq(now.class, seen.class))
        && monitor::owner_of(object) == target.tid()
}

/// How a thread waits for an object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum How {
    /// To enter its monitor.
    Monitor,
    /// For a notification: from nobody in particular.
    Notification,
    /// Parked, with the object as its blocker.
    Permit,
}

/// What a thread waits for, and the thread that has it.
pub(crate) struct Awaited {
    pub(crate) object: ObjectRef,
    pub(crate) owner: Option<Arc<Thread>>,
    pub(crate) how: How,
    /// Which of the thread's waits it is.
    number: u64,
}

impl Awaited {
    /// Whether it is the same wait for the same owner.
    fn is_still(&self, later: &Awaited) -> bool {
        let tid = |awaited: &Awaited| awaited.owner.as_ref().map(|owner| owner.tid());
        self.number == later.number && self.object == later.object && tid(self) == tid(later)
    }
}

/// What `target` waits for now. The calling thread is in managed state.
pub(crate) fn awaited(target: &Thread) -> Option<Awaited> {
    let thread = target.object().some()?;
    let (blocked, waited) = target.waiting.counts();
    let number = blocked + waited;
    let status: i32 = thread.get(known().thread_status);
    if let Some(object) = target.waiting.object().some() {
        let how = match status {
            java_thread::STATUS_BLOCKED => How::Monitor,
            _ => How::Notification,
        };
        // A thread that has just got what it waited for still says that it waits.
        let owner = by_tid(monitor::owner_of(object)).filter(|owner| owner.tid() != target.tid());
        return Some(Awaited {
            object,
            owner,
            how,
            number,
        });
    }
    if status & java_thread::STATUS_PARKED == 0 {
        return None;
    }
    let object = thread
        .get_ref(offset(known().thread, "parkBlocker"))
        .some()?;
    let synchronizer =
        crate::classes::loader::loaded("java/util/concurrent/locks/AbstractOwnableSynchronizer");
    let owner = synchronizer
        .filter(|class| object.is_instance_of(class))
        .and_then(|class| object.get_ref(offset(class, "exclusiveOwnerThread")).some())
        .and_then(java_thread::of_object);
    let how = How::Permit;
    Some(Awaited {
        object,
        owner,
        how,
        number,
    })
}

fn by_tid(tid: u32) -> Option<Arc<Thread>> {
    thread::find(|thread| tid != 0 && thread.tid() == tid)
}

/// Circles of threads each of which waits for what the next one has. Monitors alone, or owned
/// synchronizers as well.
///
/// Nobody is held: a circle is one if each of its threads was in the same wait before and after all
/// were looked at.
pub(crate) fn deadlocks(with_synchronizers: bool) -> Vec<Vec<Arc<Thread>>> {
    let blocked = |thread: &Thread| {
        awaited(thread).filter(|awaited| match awaited.how {
            How::Monitor => true,
            How::Notification => false,
            How::Permit => with_synchronizers,
        })
    };
    let mut circles: Vec<Vec<Arc<Thread>>> = Vec::new();
    let mut done: Vec<u32> = Vec::new();
    for start in thread::all() {
        let mut path: Vec<(Arc<Thread>, Awaited)> = Vec::new();
        let mut thread = start;
        while !done.contains(&thread.tid()) {
            if let Some(at) = path.iter().position(|(seen, _)| seen.tid() == thread.tid()) {
                let circle = &path[at..];
                let mut later = circle.iter().map(|(thread, _)| blocked(thread));
                let is_still = |(_, before): &(_, Awaited)| {
                    let later = later.next().flatten();
                    later.is_some_and(|later| before.is_still(&later))
                };
                if circle.iter().all(is_still) {
                    circles.push(
                        circle
                            .iter()
                            .map(|(thread, _)| Arc::clone(thread))
                            .collect(),
                    );
                }
                break;
            }
            let Some(awaited) = blocked(&thread) else {
                break;
            };
            let owner = awaited.owner.clone();
            path.push((thread, awaited));
            let Some(owner) = owner else { break };
            thread = owner;
        }
        done.extend(path.iter().map(|(thread, _)| thread.tid()));
    }
    circles
}
