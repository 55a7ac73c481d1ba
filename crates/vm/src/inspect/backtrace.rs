// SPDX-License-Identifier: Apache-2.0
//! Stack traces of throwables, and stack walks.

use std::cell::RefCell;

use crate::classes::class::Method;
use crate::classes::known::{known, offset, primitive_of};
use crate::classes::library::Library;
use crate::classes::object::ObjectRef;
use crate::inspect::snapshot;
use crate::link::define;
use crate::link::mirror;
use crate::link::resolve;
use crate::objects::array;
use crate::objects::heap_binding;
use crate::objects::string;
use crate::threads::thread::{self, Thread, Thrown};
use crate::threads::unwind::{self, Frame};
use ir::MemoryKind;

/// In place of a bytecode offset: a native method.
const NATIVE: u64 = 0xffff;

fn packed(frame: &Frame) -> u64 {
    let at = frame.at.map_or(NATIVE, |at| u64::from(at).min(NATIVE - 1));
    frame.method.address() << 16 | at
}

fn unpacked(word: u64) -> Frame {
    let at = word & 0xffff;
    let method = Method::at(word >> 16);
    Frame {
        method,
        at: (at != NATIVE).then_some(at as u32),
    }
}

/// `Throwable.fillInStackTrace`: remembers the frames as an array of longs.
pub(crate) fn fill(thread: &Thread, throwable: ObjectRef) -> Result<(), Thrown> {
    let known = known();
    let class = throwable.class();
    // On the stack: who throws in real time meets no allocator.
    let mut words = [0; snapshot::DEPTH_MAX];
    let mut depth = 0;
    // First the frames of filling in, then those of constructing, are left out.
    let mut is_filling = true;
    let mut is_constructing = true;
    unwind::walk(thread, |frame| {
        if is_filling && frame.method.name.is("fillInStackTrace") {
            return true;
        }
        is_filling = false;
        let constructs = frame.method.is_constructor() && class.is_subtype_of(frame.method.class());
        if is_constructing && constructs {
            return true;
        }
        is_constructing = false;
        if !frame.method.flags.is_hidden {
            words[depth] = packed(&frame);
            depth += 1;
        }
        depth < words.len()
    });
    let words = &words[..depth];
    let longs = define::array_of(thread, primitive_of(Some(MemoryKind::Long)))?;
    let trace = array::new(thread, longs, words.len() as i32)?;
    for (index, word) in words.iter().enumerate() {
        trace.set_element(index as u32, *word);
    }
    throwable.put_ref(known.throwable_backtrace, trace);
    throwable.put_ref(known.throwable_trace, ObjectRef::NULL);
    throwable.put(known.throwable_depth, words.len() as i32);
    Ok(())
}

/// Fills `StackTraceElement`s from what `fill` remembered.
pub(crate) fn elements(
    thread: &Thread,
    elements: ObjectRef,
    throwable: ObjectRef,
) -> Result<(), Thrown> {
    let Some(trace) = throwable.get_ref(known().throwable_backtrace).some() else {
        return Ok(());
    };
    let count = elements.length().min(trace.length());
    for index in 0..count {
        let frame = unpacked(trace.element(index));
        fill_element(thread, elements.ref_element(index), frame)?;
    }
    Ok(())
}

/// The innermost frame that a throwable remembers.
pub(crate) fn first_frame(throwable: ObjectRef) -> Option<Frame> {
    let trace = throwable.get_ref(known().throwable_backtrace).some()?;
    (trace.length() > 0).then(|| unpacked(trace.element(0)))
}

fn fill_element(thread: &Thread, element: ObjectRef, frame: Frame) -> Result<(), Thrown> {
    let holder = frame.method.class();
    let class = element.class();
    let set_text = |name: &str, text: Option<String>| -> Result<(), Thrown> {
        if let Some(text) = text {
            let text = string::new_string(thread, &text)?;
            element.put_ref(offset(class, name), string::intern(thread, text)?);
        }
        Ok(())
    };
    element.put_ref(offset(class, "declaringClassObject"), holder.mirror());
    let loader = holder.info.loader.object().some();
    let loader_name = loader.and_then(|loader| {
        loader
            .get_ref(offset(loader.class(), "name"))
            .some()
            .map(string::text)
    });
    set_text("classLoaderName", loader_name)?;
    let (module, version) = match mirror::module_name(holder) {
        // `Throwable` has the version of the JDK's own modules left out when it prints.
        Some((name, version)) => (Some(name), version.or_else(mirror::base_version)),
        None => (None, None),
    };
    set_text("moduleName", module)?;
    set_text("moduleVersion", version)?;
    set_text("declaringClass", Some(holder.java_name()))?;
    set_text("methodName", Some(frame.method.name.to_string()))?;
    set_text(
        "fileName",
        holder.info.file.source_file.map(classfile::to_string_lossy),
    )?;
    element.put(offset(class, "lineNumber"), line_of(frame));
    Ok(())
}

/// New `StackTraceElement`s of frames that were seen in another thread.
pub(crate) fn new_elements(thread: &Thread, frames: &[Frame]) -> Result<ObjectRef, Thrown> {
    let class = thread.boot_class("java/lang/StackTraceElement")?;
    class.initialize(thread)?;
    let count = i32::try_from(frames.len()).expect("the depth is bounded");
    let array = array::new(thread, define::array_of(thread, class)?, count)?;
    for (index, frame) in frames.iter().enumerate() {
        let element = heap_binding::new_object(thread, class)?;
        array.set_ref_element(index as u32, element);
        fill_element(thread, element, *frame)?;
    }
    Ok(array)
}

/// A frame as thread dumps write it.
pub(crate) fn text_of(frame: Frame) -> String {
    let holder = frame.method.class();
    let module = match mirror::module_name(holder) {
        Some((name, version)) => version.or_else(mirror::base_version).map_or_else(
            || format!("{name}/"),
            |version| format!("{name}@{version}/"),
        ),
        None => String::new(),
    };
    let file = holder.info.file.source_file.map(classfile::to_string_lossy);
    let place = match (file, line_of(frame)) {
        (_, -2) => "Native Method".to_owned(),
        (None, _) => "Unknown Source".to_owned(),
        (Some(file), -1) => file,
        (Some(file), line) => format!("{file}:{line}"),
    };
    format!(
        "{}.{}({module}{place})",
        holder.java_name(),
        frame.method.name
    )
}

/// As `StackTraceElement` has it: -2 in native methods, -1 when unknown.
fn line_of(frame: Frame) -> i32 {
    let Some(at) = frame.at else { return -2 };
    frame.method.line(at).unwrap_or(-1)
}

/// Frames that a look for the caller passes over. Those of other hidden classes are callers: method
/// handles of methods that look for theirs are called through a class made for that.
pub(crate) fn is_ignored(method: &'static Method) -> bool {
    let class = method.class();
    let is_invoke = class.is(Library::Method) && method.name.is("invoke");
    is_invoke
        || method.flags.is_form
        || class.descends_from(Library::MethodAccessorImpl)
        || class.descends_from(Library::ConstructorAccessorImpl)
}

// `StackStreamFactory`'s modes.
const FILL_CLASS_REFS_ONLY: i64 = 0x2;
const GET_CALLER_CLASS: i64 = 0x4;
const SHOW_HIDDEN: i64 = 0x20;
const LIVE_FRAMES: i64 = 0x100;

/// A walk under way: the frames still to be handed out.
struct Walk {
    frames: Vec<Frame>,
    next: usize,
}

thread_local! {
    static WALKS: RefCell<Vec<Walk>> = const { RefCell::new(Vec::new()) };
}

fn is_shown(frame: &Frame, mode: i64) -> bool {
    if mode & SHOW_HIDDEN != 0 {
        return true;
    }
    !frame.method.flags.is_hidden && (mode & GET_CALLER_CLASS == 0 || !is_ignored(frame.method))
}

/// `StackStreamFactory.callStackWalk`: fills the first batch, then runs Java's
/// `doStackWalk`, which asks for more.
pub(crate) fn walk(
    thread: &Thread,
    stream: ObjectRef,
    mode: i64,
    skip: i32,
    (batch, start): (i32, i32),
    buffer: ObjectRef,
) -> Result<ObjectRef, Thrown> {
    let is_walker = |frame: &Frame| {
        let class = frame.method.class();
        let name = class.name().bytes();
        let is_of_factory = name.starts_with(b"java/lang/StackStreamFactory");
        class.is(Library::StackWalker) || (resolve::is_boot(class) && is_of_factory)
    };
    if mode & LIVE_FRAMES != 0 {
        // Compiled code keeps no local variables in places of their own.
        let message = "LiveStackFrame: not supported by Takt";
        return Err(thread.throw("java/lang/UnsupportedOperationException", message));
    }
    let all = unwind::frames(thread);
    let frames: Vec<Frame> = all
        .into_iter()
        .skip_while(is_walker)
        .filter(|frame| is_shown(frame, mode))
        .skip(skip as usize)
        .collect();
    let anchor = WALKS.with_borrow_mut(|walks| {
        walks.push(Walk { frames, next: 0 });
        walks.len() as i64
    });
    let run = || {
        let end = walk_more(thread, mode, anchor, (batch, start), buffer)?;
        let class = thread.boot_class("java/lang/StackStreamFactory$AbstractStackWalker")?;
        let method = class.method_named("doStackWalk", "(JIIII)Ljava/lang/Object;");
        let method = method.expect("the walker walks");
        let int = |value: i32| u64::from(value as u32);
        let args = [
            stream.0.into(),
            anchor as u64,
            int(skip),
            int(batch),
            int(start),
            int(end),
        ];
        thread.call(method, &args)
    };
    let result = run();
    WALKS.with_borrow_mut(Vec::pop);
    result.map(|object| ObjectRef(object as u32))
}

/// Fills one batch and gives the index behind its last frame.
pub(crate) fn walk_more(
    thread: &Thread,
    mode: i64,
    anchor: i64,
    (batch, start): (i32, i32),
    buffer: ObjectRef,
) -> Result<i32, Thrown> {
    let frames: Vec<Frame> = WALKS.with_borrow_mut(|walks| {
        let Some(walk) = walks.get_mut(anchor as usize - 1) else {
            return Vec::new();
        };
        let end = (walk.next + batch as usize).min(walk.frames.len());
        let frames = walk.frames[walk.next..end].to_vec();
        walk.next = end;
        frames
    });
    for (index, frame) in frames.iter().enumerate() {
        let place = start as u32 + index as u32;
        if mode & (FILL_CLASS_REFS_ONLY | GET_CALLER_CLASS) != 0 {
            buffer.set_ref_element(place, frame.method.class().mirror());
        } else {
            fill_frame_info(thread, buffer.ref_element(place), *frame)?;
        }
    }
    Ok(start + frames.len() as i32)
}

fn fill_frame_info(thread: &Thread, info: ObjectRef, frame: Frame) -> Result<(), Thrown> {
    let member = info.get_ref(offset(info.class(), "memberName"));
    crate::invoke::method_handle::fill_member(thread, member, frame.method)?;
    info.put(
        offset(info.class(), "bci"),
        frame.at.map_or(-2, |at| at as i32),
    );
    Ok(())
}

/// `StackTraceElement` of a `StackFrameInfo`.
pub(crate) fn element_of_frame_info(
    thread: &Thread,
    element: ObjectRef,
    info: ObjectRef,
) -> Result<(), Thrown> {
    let member = info.get_ref(offset(info.class(), "memberName"));
    let bci: i32 = info.get(offset(info.class(), "bci"));
    match crate::invoke::method_handle::target_of(member) {
        Some(method) => fill_element(
            thread,
            element,
            Frame {
                method,
                at: u32::try_from(bci).ok(),
            },
        ),
        None => Ok(()),
    }
}

/// The calling thread's frames, innermost first, for who cannot go on.
pub(crate) fn own_frames() -> Vec<String> {
    let frames = thread::current().map(unwind::frames).unwrap_or_default();
    let line = |frame: &Frame| format!("{} @{:?}", frame.method.full_name(), frame.at);
    frames.iter().take(40).map(line).collect()
}
