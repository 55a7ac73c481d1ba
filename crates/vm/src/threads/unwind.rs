// SPDX-License-Identifier: Apache-2.0
//! Walking managed stacks: for handlers, stack traces and callers.

use core::ops::Range;
use core::sync::atomic::Ordering;

use abi::context::MutatorContext;
use compiler::{HIDDEN, machine_word};

use crate::classes::class::Method;
use crate::classes::object::ObjectRef;
use crate::code::cache::{self, Code, CodeKind};
use crate::console;
use crate::memory;
use crate::threads::enter::Resume;
use crate::threads::thread::{Thread, UpcallFrame};

/// One frame of a Java method.
#[derive(Clone, Copy)]
pub(crate) struct Frame {
    pub(crate) method: &'static Method,
    /// Bytecode offset; none in a native method.
    pub(crate) at: Option<u32>,
}

/// Finds where the pending exception goes; called by the trampolines with the
/// frame pointer of their own frame.
pub(crate) extern "C" fn find_handler(context: &MutatorContext, frame: u64) -> *const Resume {
    let thread = Thread::of_context(context);
    let exception = thread.take_exception();
    let mut frame = frame;
    loop {
        let caller: u64 = memory::read(frame);
        let return_address: u64 = memory::read(frame + 8);
        let Some(code) = cache::find(return_address) else {
            console::fatal(&format!(
                "exception unwinds into foreign code at {return_address:#x}"
            ));
        };
        if let Some(site) = code.site(return_address)
            && let Some(handler) = site.handler
        {
            thread.resume.set(Resume {
                code: code.start + u64::from(handler),
                stack: caller - u64::from(site.frame_offset),
                frame: caller,
                payload: u64::from(exception.0),
            });
            return thread.resume.as_ptr();
        }
        frame = caller;
    }
}

/// Calls `each` for every Java frame of the calling thread, innermost first,
/// until it says stop.
pub(crate) fn walk(thread: &Thread, each: impl FnMut(Frame) -> bool) {
    let frame = thread.context().last_frame.load(Ordering::Relaxed);
    walk_from(thread, frame, thread.word(machine_word::LAST_METHOD), each);
}

/// As [`walk`], from the frame record at `frame`; `native` is the native method that it called, or
/// 0.
pub(crate) fn walk_from(
    thread: &Thread,
    frame: u64,
    native: u64,
    mut each: impl FnMut(Frame) -> bool,
) {
    walk_records(thread, frame, native, |frame, _| each(frame));
}

/// A managed method's frame on the stack: the address of the record that its callee pushed.
#[derive(Clone, Copy)]
pub(crate) struct FrameRecord(u64);

impl FrameRecord {
    /// Where the frame keeps its values.
    pub(crate) fn span(self) -> Range<u64> {
        self.0 + 16..memory::read(self.behind().unwrap_or(self).0)
    }

    /// What it holds during the call that it is in.
    pub(crate) fn references(self) -> impl Iterator<Item = ObjectRef> {
        let behind = self.behind().into_iter().flat_map(Self::own_references);
        self.own_references().chain(behind)
    }

    fn own_references(self) -> impl Iterator<Item = ObjectRef> {
        let return_address: u64 = memory::read(self.0 + 8);
        let slots = cache::find(return_address).and_then(|code| code.slots(return_address));
        let word = move |&slot: &u32| ObjectRef(memory::read(self.0 + 16 + u64::from(slot)));
        slots
            .unwrap_or_default()
            .iter()
            .map(word)
            .filter(|object| !object.is_null())
    }

    /// In a piece of a large method: where the frame lies that its pieces share.
    fn behind(self) -> Option<Self> {
        let caller: u64 = memory::read(self.0);
        is_hidden(memory::read(caller + 8)).then_some(Self(caller))
    }
}

/// Whether a call that returns there is of a large method's first piece: its frame is a part of
/// that one's.
fn is_hidden(return_address: u64) -> bool {
    let site = cache::find(return_address).and_then(|code| code.site(return_address));
    site.is_some_and(|site| site.at == HIDDEN)
}

/// As [`walk_from`]; `each` is also told where the frame is, unless it is a native method's or that
/// of a body which stands in place of a call: such a body holds no lock.
pub(crate) fn walk_records(
    thread: &Thread,
    mut frame: u64,
    mut native: u64,
    mut each: impl FnMut(Frame, Option<FrameRecord>) -> bool,
) {
    let mut upcall = thread.upcalls.get();
    while frame != 0 {
        if let Some(method) = machine_word::native(native)
            && !each(
                Frame {
                    method: Method::at(method),
                    at: None,
                },
                None,
            )
        {
            return;
        }
        native = 0;
        let return_address: u64 = memory::read(frame + 8);
        let Some(code) = cache::find(return_address) else {
            return;
        };
        let goes_on = match code.kind {
            CodeKind::Method(method) => {
                let place = code.site(return_address).map(|site| site.at);
                if place == Some(HIDDEN) {
                    frame = memory::read(frame);
                    continue;
                }
                let record = FrameRecord(frame);
                match place {
                    Some(place) => each_of(code, (method, place), record, &mut each),
                    None => each(Frame { method, at: None }, Some(record)),
                }
            }
            CodeKind::Native(method) => each(Frame { method, at: None }, None),
            CodeKind::Adapter => {
                // SAFETY: 1. Adapters run inside `Thread::call`, whose frame record is on this
                // stack still.
                let Some(left) = (unsafe { upcall.as_ref() }) else {
                    return;
                };
                let left: &UpcallFrame = left;
                (frame, native, upcall) = (left.last_frame, left.last_method, left.previous);
                continue;
            }
        };
        if !goes_on {
            return;
        }
        frame = memory::read(frame);
    }
}

/// Tells of the frames that one frame of compiled code stands for. It is the outermost one's.
fn each_of(
    code: &Code,
    (method, place): (&'static Method, u32),
    record: FrameRecord,
    each: &mut impl FnMut(Frame, Option<FrameRecord>) -> bool,
) -> bool {
    let mut frames = code.frames_at(method, place).peekable();
    while let Some((method, at)) = frames.next() {
        let record = frames.peek().is_none().then_some(record);
        if !each(
            Frame {
                method,
                at: Some(at),
            },
            record,
        ) {
            return false;
        }
    }
    true
}

/// All frames, innermost first.
pub(crate) fn frames(thread: &Thread) -> Vec<Frame> {
    let mut frames = Vec::new();
    walk(thread, |frame| {
        frames.push(frame);
        true
    });
    frames
}
