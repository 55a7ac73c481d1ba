// SPDX-License-Identifier: Apache-2.0
//! Compiled code of this process: from disk or compiled now, and found by address.
//!
//! Where it lies is `code_space`'s matter, what is kept on disk `code_store`'s.

use std::collections::HashMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use compiler::{
    Address, CallSite, CompileError, CompiledCode, Compiler, NativeMethod, Relocation, Shape,
};

use crate::call_table::CallTable;
use crate::class::Method;
use crate::code_file::{Key, Piece, Sum};
use crate::code_space::{self, Room};
use crate::code_store;
use crate::compile::Cx;
use crate::execute;
use crate::lock::Lock;
use crate::report;

pub(crate) use crate::code_space::{find, for_each, used_bytes};

/// Compilers kept for the next who needs one; each holds the memory of the largest method that it has seen.
const IDLE_MAX: usize = 2;

/// What a piece of code is.
#[derive(Clone, Copy)]
pub(crate) enum CodeKind {
    Method(&'static Method),
    /// A bridge to a native method.
    Native(&'static Method),
    /// The way in from Rust.
    Adapter,
}

/// One piece of code with its tables.
pub(crate) struct Code {
    pub(crate) start: u64,
    pub(crate) kind: CodeKind,
    calls: CallTable,
}

/// What the others are copies of.
static COMPILER: OnceLock<Compiler> = OnceLock::new();
/// Compilers that nobody uses now. No lock is held while one works: as many threads compile at once as like.
static IDLE: Lock<Vec<Compiler>> = Lock::new(Vec::new());
static ADAPTERS: OnceLock<Lock<HashMap<Shape, u64>>> = OnceLock::new();
/// Methods compiled since start.
pub(crate) static COMPILED: AtomicU32 = AtomicU32::new(0);
/// Nanoseconds spent compiling.
pub(crate) static COMPILE_NS: AtomicU64 = AtomicU64::new(0);
/// Methods taken from the code cache on disk.
pub(crate) static LOADED: AtomicU32 = AtomicU32::new(0);
/// Nanoseconds spent on that.
pub(crate) static LOAD_NS: AtomicU64 = AtomicU64::new(0);
/// Pieces found there that rest on answers that were not given this time.
pub(crate) static UNFIT: AtomicU32 = AtomicU32::new(0);

/// Reserves room and reads what lies on disk.
pub(crate) fn start() -> Result<(), Box<dyn std::error::Error>> {
    code_space::start().map_err(|error| format!("cannot map code: {error}"))?;
    let mut compiler = Compiler::host(crate::options::get().is_code_portable)
        .map_err(|error| format!("no code for this processor: {error}"))?;
    if crate::options::get().is_cutting_all {
        compiler = compiler.cutting_all();
    }
    // Code is the same under both collectors.
    let target = compiler.target();
    code_store::start(crate::options::get().code_root.as_deref(), &target);
    COMPILER.get_or_init(|| compiler);
    ADAPTERS.get_or_init(|| Lock::new(HashMap::new()));
    Ok(())
}

/// Puts code with the addresses it names where it can run.
fn install(code: &mut CompiledCode, addresses: &[u64]) -> Room {
    code_space::install(code, addresses).unwrap_or_else(|error| report::fatal(&error.to_string()))
}

/// Gives code its addresses and its place.
fn publish(mut code: CompiledCode, addresses: &[u64], kind: CodeKind) -> u64 {
    let start = install(&mut code, addresses).code;
    let record = Box::leak(Box::new(Code {
        start,
        kind,
        calls: CallTable::new(code.call_sites, code.stack_maps),
    }));
    code_space::publish(record, code.bytes.len());
    start
}

impl Code {
    /// The call that returns to `address`.
    pub(crate) fn site(&self, address: u64) -> Option<&CallSite> {
        self.calls.site((address - self.start) as u32)
    }

    /// Where this code holds references during the call that returns to `address`: bytes from its stack pointer there.
    pub(crate) fn slots(&self, address: u64) -> Option<&[u32]> {
        self.calls.slots((address - self.start) as u32)
    }
}

/// Stubs that are made at once.
const STUBS_PER_BATCH: u32 = 512;
/// Code bytes from one stub to the next.
const STUB_BYTES: u32 = 16;

/// Stubs that are there and nobody's yet.
struct Stubs {
    room: Option<Room>,
    next: u32,
}

static STUBS: Lock<Stubs> = Lock::new(Stubs {
    room: None,
    next: 0,
});

/// A stub that has `method` compiled: `mov r11, record; jmp [r15 + stub]`, the record from the table.
pub(crate) fn stub_for(method: &'static Method) -> u64 {
    let mut stubs = STUBS.lock();
    if stubs.room.is_none() || stubs.next == STUBS_PER_BATCH {
        stubs.room = Some(install(&mut batch(), &[0; STUBS_PER_BATCH as usize]));
        stubs.next = 0;
    }
    let room = stubs.room.expect("there is a batch");
    let number = stubs.next;
    stubs.next += 1;
    let stub = Room {
        code: room.code + u64::from(number * STUB_BYTES),
        table: room.table + u64::from(number) * 8,
    };
    stub.fill(&[method.address()]);
    stub.code
}

fn batch() -> CompiledCode {
    let mut batch = CompiledCode::default();
    for number in 0..STUBS_PER_BATCH {
        batch.relocations.push(Relocation {
            offset: number * STUB_BYTES + 3,
            address: Address(number),
        });
        batch.bytes.extend([0x4c, 0x8b, 0x1d, 0, 0, 0, 0]);
        batch.bytes.extend([0x41, 0xff, 0xa7]);
        batch
            .bytes
            .extend(execute::COMPILE_STUB_OFFSET.to_le_bytes());
        batch
            .bytes
            .resize(((number + 1) * STUB_BYTES) as usize, 0xcc);
    }
    batch
}

/// Lends `work` a compiler of its own.
fn with_compiler<T>(work: impl FnOnce(&mut Compiler) -> T) -> T {
    let idle = IDLE.lock().pop();
    let mut compiler = idle.unwrap_or_else(|| COMPILER.get().expect("started").another());
    let result = work(&mut compiler);
    let mut idle = IDLE.lock();
    let surplus = if idle.len() < IDLE_MAX {
        idle.push(compiler);
        None
    } else {
        Some(compiler)
    };
    drop(idle);
    // Memory goes back when no lock is held.
    drop(surplus);
    result
}

/// Puts a method's code from disk into place, if there is some whose questions have the same answers now.
pub(crate) fn load(method: &'static Method, cx: &mut Cx<'_>) -> Option<u64> {
    let piece = code_store::find(&key_of(method)?).find(|piece| {
        let fits = cx.answers_as(piece);
        UNFIT.fetch_add(u32::from(!fits), Ordering::Relaxed);
        fits
    })?;
    LOADED.fetch_add(1, Ordering::Relaxed);
    Some(publish(
        piece.code,
        cx.addresses(),
        CodeKind::Method(method),
    ))
}

fn key_of(method: &'static Method) -> Option<Key> {
    code_store::key_of(method.class(), method.index as u32)
}

/// Compiles a method's IR.
pub(crate) fn compile(
    method: &'static Method,
    function: &ir::Function,
    cx: &mut Cx<'_>,
) -> Result<u64, CompileError> {
    let code = with_compiler(|compiler| compiler.method(function, cx))?;
    COMPILED.fetch_add(1, Ordering::Relaxed);
    if let Some(key) = key_of(method) {
        code_store::keep(key, &Piece::new(cx.asked(), &code));
    }
    Ok(publish(code, cx.addresses(), CodeKind::Method(method)))
}

/// Compiles without installing; nothing if the method is beyond a limit, which its first call says.
pub(crate) fn compile_apart(function: &ir::Function, cx: &mut Cx<'_>) -> Option<Piece> {
    let code = with_compiler(|compiler| compiler.method(function, cx)).ok()?;
    Some(Piece::new(cx.asked(), &code))
}

/// Keeps a method's code for other processes.
pub(crate) fn keep(method: &'static Method, piece: &Piece) {
    if let Some(key) = key_of(method) {
        code_store::keep(key, piece);
    }
}

/// Whether the same code is on disk already.
pub(crate) fn is_kept(method: &'static Method, piece: &Piece) -> bool {
    let bytes = piece.to_bytes();
    let is_same = |key| code_store::find(&key).any(|other| other.to_bytes() == bytes);
    key_of(method).is_some_and(is_same)
}

/// Code that depends on nothing but what `sum` is of: from disk, or compiled now.
fn shared(
    sum: Sum,
    compile: impl FnOnce(&mut Compiler) -> Result<CompiledCode, CompileError>,
) -> Result<CompiledCode, CompileError> {
    let key = Key {
        content: sum,
        index: 0,
    };
    if let Some(piece) = code_store::find(&key).next() {
        return Ok(piece.code);
    }
    let code = with_compiler(compile)?;
    code_store::keep(key, &Piece::new(&[], &code));
    Ok(code)
}

/// The bridge to a native method; `addresses` are those that `native` names.
pub(crate) fn native_bridge(
    method: &'static Method,
    native: &NativeMethod,
    addresses: &[u64],
) -> Result<u64, CompileError> {
    let sum = code_store::sum_of(&[b"native", format!("{native:?}").as_bytes()]);
    let mut is_compiled = false;
    let code = shared(sum, |compiler| {
        is_compiled = true;
        compiler.native(native)
    })?;
    let count = if is_compiled { &COMPILED } else { &LOADED };
    count.fetch_add(1, Ordering::Relaxed);
    Ok(publish(code, addresses, CodeKind::Native(method)))
}

/// The adapter for a method's shape, in native state.
pub(crate) fn adapter_for(method: &'static Method) -> u64 {
    let adapters = ADAPTERS.get().expect("started");
    let found = adapters.lock().get(&method.shape).copied();
    let adapter = found.unwrap_or_else(|| {
        let sum = code_store::sum_of(&[b"adapter", format!("{:?}", method.shape).as_bytes()]);
        match shared(sum, |compiler| compiler.adapter(&method.shape)) {
            Ok(code) => publish(code, &[], CodeKind::Adapter),
            Err(error) => report::fatal(&format!("no adapter for {}: {error}", method.full_name())),
        }
    });
    adapters.lock().insert(method.shape.clone(), adapter);
    method.adapter.store(adapter, Ordering::Release);
    adapter
}
