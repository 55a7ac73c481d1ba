// SPDX-License-Identifier: Apache-2.0
//! Compiling a method on its first call, or taking its code from disk, and keeping it.

use std::cmp::Reverse;
use std::sync::atomic::Ordering;

use classfile::access;
use compiler::{Address, CompileError, NativeMethod};
use ir::bytecode::TranslateError;

use crate::classes::class::Method;
use crate::code::cache::{
    self, CodeKind, UNFIT, count_compiled, count_loaded, run_new, run_stored, with_compiler,
};
use crate::code::file::{Asked, Key, Piece};
use crate::code::store::{self, Stored};
use crate::compile::again;
use crate::compile::answers::Cx;
use crate::compile::intrinsics;
use crate::console;
use crate::threads::thread::{Thread, Thrown};

/// The code of `method`, compiled if this is its first call.
///
/// What a method costs here grows with its size. So nobody waits for it but those who call the same
/// method at the same time, and they lend their priority: the thread is in native state, and no
/// lock but the method's own is held.
pub(crate) fn entry_of(thread: &Thread, method: &'static Method) -> Result<u64, Thrown> {
    if method.is_abstract() {
        let message = crate::link::message::abstract_method(method.class(), method);
        return Err(thread.throw("java/lang/AbstractMethodError", &message));
    }
    if let Some(code) = again::called(thread, method) {
        return Ok(code);
    }
    if cache::is_full() {
        return Err(thread.throw_out_of_memory("Code cache"));
    }
    let made = thread.outside(|| {
        let _turn = method.turn.lock();
        match method.compiled() {
            Some(entry) => Ok(entry),
            None => make(thread, method),
        }
    });
    made.map_err(|error| {
        let name = method.full_name();
        match error {
            Unmade::Unverified(error) => {
                thread.throw("java/lang/VerifyError", &format!("{error} in {name}"))
            }
            Unmade::Refused(error) => {
                let message = format!("cannot compile {name}: {error}");
                thread.throw("java/lang/InternalError", &message)
            }
        }
    })
}

/// Has code for a method that real-time threads will run, which counts no receivers: its entry
/// stays from here on. Whether the code is new; who runs older code finishes in it.
pub(crate) fn prepare(thread: &Thread, method: &'static Method) -> Result<bool, Thrown> {
    again::keep(method);
    if method.compiled().is_none() {
        return entry_of(thread, method).map(|_| true);
    }
    let counts = || method.compiled().is_some_and(cache::counts);
    if !counts() || cache::is_full() {
        return Ok(false);
    }
    Ok(thread.outside(|| {
        let _turn = method.turn.lock();
        // Without new code the older one does.
        counts() && make(thread, method).is_ok()
    }))
}

/// Takes a method's code from the store before its first call, if it is kept and fits by now.
pub(crate) fn load_early(thread: &Thread, method: &'static Method) -> bool {
    if method.is_abstract() || method.is_native() {
        return false;
    }
    thread.outside(|| {
        let _turn = method.turn.lock();
        if method.compiled().is_some() {
            return false;
        }
        let entry = load(method, &mut Cx::new(thread, method));
        entry.map(|entry| method.install(entry)).is_some()
    })
}

/// Why a method has no code.
enum Unmade {
    Unverified(TranslateError),
    /// A limit of the compiler's.
    Refused(CompileError),
}

/// Compiles or loads `method`, which nobody else does meanwhile.
fn make(thread: &Thread, method: &'static Method) -> Result<u64, Unmade> {
    // What a real-time thread calls first stays, no matter which others call it.
    if thread.real_time().is_some() {
        method.stays.store(true, Ordering::Relaxed);
    }
    let entry = if method.is_native() {
        native(method)
    } else {
        managed(thread, method)?
    };
    method.install(entry);
    Ok(entry)
}

pub(super) fn tell(how: &str, method: &'static Method, entry: u64) {
    if crate::options::get().is_verbose_compile {
        installed(how, method, entry);
    }
}

fn managed(thread: &Thread, method: &'static Method) -> Result<u64, Unmade> {
    let started_ns = console::now_ns();
    let is_quiet = method.stays.load(Ordering::Relaxed);
    let mut cx = Cx::new(thread, method).quiet(is_quiet);
    let found = match is_quiet {
        true => load_quiet(method, &mut cx, thread.real_time().is_some()),
        false => load(method, &mut cx),
    };
    if let Some(entry) = found {
        cache::LOAD_NS.fetch_add(console::now_ns() - started_ns, Ordering::Relaxed);
        tell("load", method, entry);
        return Ok(entry);
    }
    let function = method.translate().map_err(Unmade::Unverified)?;
    cx.forget();
    let entry = compile(method, &function, &mut cx).map_err(Unmade::Refused)?;
    cache::COMPILE_NS.fetch_add(console::now_ns() - started_ns, Ordering::Relaxed);
    tell("compile", method, entry);
    Ok(entry)
}

/// Makes sure that the bridge to a native method is kept.
pub(crate) fn native_ahead(method: &'static Method) {
    native(method);
}

fn native(method: &'static Method) -> u64 {
    let descriptor = classfile::MethodDescriptor::parse(method.descriptor.bytes());
    let descriptor = descriptor.expect("parsed with the file");
    let addresses = [method.address(), u64::from(method.class().mirror().0)];
    let native = NativeMethod {
        method: Address(0),
        class: method.is_static().then_some(Address(1)),
        parameters: descriptor
            .parameters
            .iter()
            .filter_map(ir::bytecode::memory_kind)
            .collect(),
        result: ir::bytecode::memory_kind(&descriptor.result),
        is_synchronized: method.access & access::SYNCHRONIZED != 0,
        is_identity_hash: intrinsics::is_identity_hash(method),
    };
    match cache::native_bridge(method, &native, &addresses) {
        Ok(entry) => entry,
        Err(error) => console::fatal(&format!("cannot compile {}: {error}", method.full_name())),
    }
}

/// One line per method for `-Xtakt:compile`.
fn installed(how: &str, method: &'static Method, entry: u64) {
    let counted = match cache::find(entry).map_or(0, |it| it.counted) {
        0 => String::new(),
        count => format!(", counts {count}"),
    };
    let name = method.full_name();
    console::note(&format!("[{how}] {entry:#x} {name}{counted}"));
}

/// Puts a method's code from disk into place, if there is some whose questions have the same
/// answers now.
pub(crate) fn load(method: &'static Method, cx: &mut Cx<'_>) -> Option<u64> {
    let stored = best_stored(&key_of(method)?, cx)?;
    Some(run(method, stored, cx))
}

/// The same of code that real-time threads run: the fewest sites first, then what counts nothing,
/// then what was told most. What counts is taken by a thread that would be `late` with better code.
fn load_quiet(method: &'static Method, cx: &mut Cx<'_>, is_late: bool) -> Option<u64> {
    let keys = [key_of(method)?, quiet_key_of(method)?];
    let mut all: Vec<Stored> = keys.iter().flat_map(store::find).collect();
    all.sort_by_key(|Stored { piece, .. }| {
        let sites = piece.asked.iter().filter_map(again::cold_site).count();
        let counts = !piece.code.counted.is_empty();
        (sites, counts, Reverse(piece.classes.len()))
    });
    let best = all.into_iter().find(|it| fits(it, cx))?;
    let is_right = is_late || best.piece.code.counted.is_empty();
    is_right.then(|| run(method, best, cx))
}

/// `cx` has answered for what is stored.
fn run(method: &'static Method, stored: Stored, cx: &mut Cx<'_>) -> u64 {
    count_loaded(stored.is_delivered);
    again::look_after(method, &stored.piece, 0);
    let named = cx.named(&stored.piece);
    run_stored(stored, named, CodeKind::Method(method))
}

fn fits(stored: &Stored, cx: &mut Cx<'_>) -> bool {
    let fits = cx.answers_as(&stored.piece);
    UNFIT.fetch_add(u32::from(!fits), Ordering::Relaxed);
    fits
}

/// The first piece that fits, or one behind it that was told more receivers if that one counts and
/// was not chosen so itself.
/// `cx` has answered for it.
fn best_stored(key: &Key, cx: &mut Cx<'_>) -> Option<Stored> {
    let mut all = store::find(key).filter(|stored| fits(stored, cx));
    let first = all.next()?;
    if first.piece.code.counted.is_empty() || first.piece.is_chosen {
        return Some(first);
    }
    let best = all.fold(first, |best, next| {
        let is_better = next.piece.classes.len() > best.piece.classes.len();
        if is_better { next } else { best }
    });
    cx.answers_as(&best.piece).then_some(best)
}

/// Compiles a method's IR.
pub(crate) fn compile(
    method: &'static Method,
    function: &ir::Function,
    cx: &mut Cx<'_>,
) -> Result<u64, CompileError> {
    cx.count_in(function);
    let code = with_compiler(|compiler| compiler.method(function, cx))?;
    count_compiled(method);
    let piece = cx.piece(code);
    let kind = CodeKind::Method(method);
    again::look_after(method, &piece, 0);
    // Ordinary code of a method that is hushed goes on counting.
    let key = match cx.is_hushed {
        true => quiet_key_of(method),
        false => key_of(method),
    };
    let named = cx.named(&piece);
    Ok(run_new(key, piece, named, kind))
}

/// Compiles without installing; the error is a limit of the compiler's.
pub(crate) fn compile_apart(
    function: &ir::Function,
    cx: &mut Cx<'_>,
) -> Result<Piece, CompileError> {
    cx.count_in(function);
    let code = with_compiler(|compiler| compiler.method(function, cx))?;
    Ok(cx.piece(code))
}

/// Keeps a method's code for other processes.
pub(crate) fn keep(method: &'static Method, piece: &Piece) {
    if let Some(key) = key_of(method) {
        store::keep(key, piece);
    }
}

/// The code on disk, if there is some, that rests on what `cx` answers. It holds no other method's
/// body: that rests on which classes there are.
pub(crate) fn kept_for(method: &'static Method, cx: &mut Cx<'_>) -> Option<Piece> {
    let is_inlined = |it: &Asked| it.question.is_of_body();
    let mut pieces = store::find(&key_of(method)?).map(|it| it.piece);
    pieces.find(|it| !it.asked.iter().any(is_inlined) && cx.answers_as(it))
}

pub(super) fn key_of(method: &'static Method) -> Option<Key> {
    store::key_of(method.class(), method.index as u32)
}

fn quiet_key_of(method: &'static Method) -> Option<Key> {
    store::key_of(method.class(), method.index as u32 | store::QUIET)
}
