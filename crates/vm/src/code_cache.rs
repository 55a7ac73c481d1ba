// SPDX-License-Identifier: Apache-2.0
//! Where compiled code lies: one span, mapped writable at one place and
//! executable at another, so that no page is ever both.

use std::collections::HashMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use abi::address_map::{CODE_BYTES, CODE_START};
use compiler::{Address, CallSite, CompileError, CompiledCode, Compiler, NativeMethod, Shape};

use crate::call_table::CallTable;
use crate::class::Method;
use crate::code_file::{Key, Piece, Sum};
use crate::code_store;
use crate::compile::Cx;
use crate::execute;
use crate::lock::Lock;
use crate::memory;
use crate::report;

/// Compilers kept for the next who needs one; each holds the memory of the largest method that it has seen.
const IDLE_MAX: usize = 2;
/// Code starts at multiples of this; the index has an entry for each.
const GRANULE_BYTES: u64 = 32;

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

struct Space {
    /// Writable address less executable address.
    shift: i64,
    next: u64,
}

static SPACE: Lock<Space> = Lock::new(Space { shift: 0, next: 0 });
/// For each granule the address of the [`Code`] that covers it, or 0; untouched pages cost nothing.
static INDEX: AtomicU64 = AtomicU64::new(0);
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

/// Maps the code span twice: `(writable, executable)`. Shared anonymous memory, whose second name `mremap` gives for an old size
/// of 0; perf looks for names of compiled code (`perf_map`) in anonymous memory only, and takes a memfd for a file.
fn map_twice() -> std::io::Result<(u64, u64)> {
    let bytes = CODE_BYTES as usize;
    let place = CODE_START as *mut libc::c_void;
    // SAFETY: 1. Both mappings are fresh: any address, or MAP_FIXED_NOREPLACE. 2. `mremap` replaces the second one, which
    // nobody else has seen, by the pages of the first, and leaves that as it is.
    unsafe {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let shared = libc::MAP_SHARED | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let writable = libc::mmap(core::ptr::null_mut(), bytes, access, shared, -1, 0);
        let kept = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
        let reserved = libc::mmap(place, bytes, libc::PROT_NONE, kept, -1, 0);
        if writable == libc::MAP_FAILED || reserved != place {
            return Err(std::io::Error::last_os_error());
        }
        let how = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
        let executable = libc::mremap(writable, 0, bytes, how, place);
        let access = libc::PROT_READ | libc::PROT_EXEC;
        if executable != place || libc::mprotect(place, bytes, access) != 0 {
            return Err(std::io::Error::last_os_error());
        }
        Ok((writable as u64, executable as u64))
    }
}

/// Maps the span and reads what lies on disk.
pub(crate) fn start() -> Result<(), Box<dyn std::error::Error>> {
    let (writable, executable) =
        map_twice().map_err(|error| format!("cannot map code: {error}"))?;
    let mut space = SPACE.lock();
    space.shift = writable as i64 - executable as i64;
    space.next = executable;
    let count = u64::from(CODE_BYTES) / GRANULE_BYTES;
    let index = memory::map_at(0, count as usize * 8, "the index of code")?;
    INDEX.store(index, Ordering::Release);
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

/// Bytes of code so far.
pub(crate) fn used_bytes() -> u64 {
    SPACE.lock().next - u64::from(CODE_START)
}

/// Puts bytes into the space and gives their executable address.
fn install(bytes: &[u8]) -> u64 {
    let mut space = SPACE.lock();
    let at = space.next;
    space.next = (at + bytes.len() as u64).next_multiple_of(GRANULE_BYTES);
    let end = u64::from(CODE_START) + u64::from(CODE_BYTES);
    if space.next > end {
        report::fatal("the code span is full (128 MiB)");
    }
    let target = (at as i64 + space.shift) as u64;
    memory::copy(bytes.as_ptr() as u64, target, bytes.len());
    at
}

/// Gives code its addresses and its place.
fn publish(mut code: CompiledCode, addresses: &[u64], kind: CodeKind) -> u64 {
    for relocation in &code.relocations {
        let Address(number) = relocation.address;
        let at = relocation.offset as usize;
        code.bytes[at..at + 8].copy_from_slice(&addresses[number as usize].to_le_bytes());
    }
    let start = install(&code.bytes);
    let record = Box::leak(Box::new(Code {
        start,
        kind,
        calls: CallTable::new(code.call_sites, code.stack_maps),
    }));
    let first = (start - u64::from(CODE_START)) / GRANULE_BYTES;
    // The return address of a last call may be the end itself.
    let count = (code.bytes.len() as u64 + 1).div_ceil(GRANULE_BYTES);
    for granule in first..first + count {
        // Pairs with Acquire in `find`: publishes the record.
        covering(granule).store(core::ptr::from_ref(record) as u64, Ordering::Release);
    }
    start
}

/// What covers a granule of the span.
fn covering(granule: u64) -> &'static AtomicU64 {
    memory::atomic_u64(INDEX.load(Ordering::Acquire) + granule * 8)
}

/// The code that `address` lies in. O(1), no lock.
pub(crate) fn find(address: u64) -> Option<&'static Code> {
    let offset = address.checked_sub(u64::from(CODE_START))?;
    if offset >= u64::from(CODE_BYTES) {
        return None;
    }
    let code = covering(offset / GRANULE_BYTES).load(Ordering::Acquire) as *const Code;
    // SAFETY: 1. Null or a leaked record: see `publish`.
    unsafe { code.as_ref() }
}

/// Runs `work` on every piece of code and its size, up to 31 bytes too much, in the order of their addresses.
pub(crate) fn for_each(mut work: impl FnMut(&'static Code, u64)) {
    let end = SPACE.lock().next;
    let mut at = u64::from(CODE_START);
    while at < end {
        let first = at;
        at += GRANULE_BYTES;
        // Stubs lie between.
        let Some(code) = find(first) else { continue };
        while at < end && find(at).is_some_and(|next| core::ptr::eq(next, code)) {
            at += GRANULE_BYTES;
        }
        work(code, at - first);
    }
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

/// A stub that has `method` compiled: `mov r11, record; jmp [r15 + stub]`.
pub(crate) fn stub_for(method: &'static Method) -> u64 {
    let mut bytes = vec![0x49, 0xbb];
    bytes.extend(method.address().to_le_bytes());
    bytes.extend([0x41, 0xff, 0xa7]);
    bytes.extend(execute::COMPILE_STUB_OFFSET.to_le_bytes());
    install(&bytes)
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
