// SPDX-License-Identifier: Apache-2.0
//! Compiled code of this process: from disk or compiled now, and found by address.
//!
//! Where it lies is `code/space`'s matter, what is kept on disk `code/store`'s.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use compiler::{
    Address, CallSite, CompileError, CompiledCode, Compiler, NativeMethod, Relocation, Shape,
    scope_and_offset,
};

use crate::classes::class::Method;
use crate::code::call_table::CallTable;
use crate::code::file::{Key, Piece};
use crate::code::space::{self, Room};
use crate::code::store::{self, Stored};
use crate::console;
use crate::memory::hash::Map;
use crate::memory::sum::Sum;
use crate::options;
use crate::sync::lock::Lock;
use abi::context::MACHINE;

pub(crate) use crate::code::space::{find, for_each, used_bytes};

/// Compilers kept for the next who needs one; each holds the memory of the largest method that it
/// has seen.
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
    /// Calls whose receivers it counts.
    pub(crate) counted: usize,
    calls: CallTable,
    /// By scope, from 1 on.
    inlined: Box<[Inlined]>,
}

/// A method whose body stands in place of a call.
struct Inlined {
    method: &'static Method,
    /// The call's place.
    call: u32,
}

/// What the numbers in code stand for.
#[derive(Clone, Copy)]
pub(crate) struct Named<'a> {
    pub(crate) addresses: &'a [u64],
    /// The methods whose bodies it holds, by scope from 1 on.
    pub(crate) bodies: &'a [&'static Method],
}

impl<'a> Named<'a> {
    /// In code that holds one method's body at most.
    fn addresses(addresses: &'a [u64]) -> Self {
        let bodies = &[];
        Self { addresses, bodies }
    }

    fn first(self, count: usize) -> Self {
        let addresses = &self.addresses[..count];
        Self { addresses, ..self }
    }
}

/// What the others are copies of.
static COMPILER: OnceLock<Compiler> = OnceLock::new();
/// Compilers that nobody uses now. No lock is held while one works: as many threads compile at once
/// as like.
static IDLE: Lock<Vec<Compiler>> = Lock::new(Vec::new());
static ADAPTERS: OnceLock<Lock<Map<Shape, u64>>> = OnceLock::new();
/// Methods compiled since start.
pub(crate) static COMPILED: AtomicU32 = AtomicU32::new(0);
/// Of these, methods of classes that come with the JDK or from the class path.
pub(crate) static COMPILED_OF_PLATFORM: AtomicU32 = AtomicU32::new(0);
/// Nanoseconds spent compiling.
pub(crate) static COMPILE_NS: AtomicU64 = AtomicU64::new(0);
/// Methods taken from the code cache on disk.
pub(crate) static LOADED: AtomicU32 = AtomicU32::new(0);
/// Of these, methods from the store that was delivered.
pub(crate) static LOADED_DELIVERED: AtomicU32 = AtomicU32::new(0);
/// Nanoseconds spent on that.
pub(crate) static LOAD_NS: AtomicU64 = AtomicU64::new(0);
/// Pieces found there that rest on answers that were not given this time.
pub(crate) static UNFIT: AtomicU32 = AtomicU32::new(0);

/// Reserves room and reads what lies on disk.
pub(crate) fn start() -> Result<(), Box<dyn std::error::Error>> {
    space::start().map_err(|error| format!("cannot map code: {error}"))?;
    let mut compiler = Compiler::host(options::get().is_code_portable)
        .map_err(|error| format!("no code for this processor: {error}"))?
        .with_passes(options::get().passes);
    if crate::options::get().is_cutting_all {
        compiler = compiler.cutting_all();
    }
    // Code is the same under both collectors.
    let target = format!("{} {:?}", compiler.target(), options::get().inlining);
    store::start(&target);
    COMPILER.get_or_init(|| compiler);
    ADAPTERS.get_or_init(|| Lock::new(Map::default()));
    Ok(())
}

/// Whether so much code has been made that no more may be begun: an OutOfMemoryError of who asks.
pub(crate) fn is_full() -> bool {
    let asked = options::get().code_bytes_max;
    space::is_own_span_full() || asked.is_some_and(|bytes| used_bytes() > bytes)
}

/// Puts code with the addresses it names where it can run.
fn install(code: &mut CompiledCode, addresses: &[u64]) -> Room {
    space::install(code, addresses).unwrap_or_else(|error| console::fatal(&error.to_string()))
}

/// Gives code its addresses and its place.
fn publish(mut code: CompiledCode, named: Named<'_>, kind: CodeKind) -> u64 {
    let room = install(&mut code, named.addresses);
    let bytes = code.bytes.len();
    announce((room, bytes), code, named, kind)
}

/// Makes known what lies at a place that has its addresses: so many bytes with the tables of
/// `code`.
fn announce(
    (room, bytes): (Room, usize),
    code: CompiledCode,
    named: Named<'_>,
    kind: CodeKind,
) -> u64 {
    assert_eq!(
        code.inlined.len(),
        named.bodies.len(),
        "a method for each body"
    );
    let bodies = named.bodies.iter().zip(&code.inlined);
    let record = Box::leak(Box::new(Code {
        start: room.code,
        kind,
        counted: code.counted.len(),
        calls: CallTable::new(code.call_sites, code.stack_maps),
        inlined: bodies
            .map(|(&method, &call)| Inlined { method, call })
            .collect(),
    }));
    space::publish(record, bytes);
    room.code
}

/// Runs code from a store where it is mapped, or a copy if another method runs it there.
pub(crate) fn run_stored(stored: Stored, named: Named<'_>, kind: CodeKind) -> u64 {
    stored.gather();
    let named = named.first(stored.piece.slot_count());
    if !stored.claim() {
        return publish(stored.copy(), named, kind);
    }
    stored.room.fill(named.addresses);
    let bytes = stored.code_bytes();
    announce((stored.room, bytes), stored.piece.code, named, kind)
}

/// Keeps new code and runs it where it is kept, or else where only this process has it.
pub(crate) fn run_new(key: Option<Key>, piece: Piece, named: Named<'_>, kind: CodeKind) -> u64 {
    let kept = key.and_then(|key| store::keep(key, &piece));
    // perf knows names in anonymous memory only.
    let Some(room) = kept.filter(|_| !options::get().is_perf_mapped) else {
        return publish(piece.code, named, kind);
    };
    let named = named.first(piece.slot_count());
    room.fill(named.addresses);
    let bytes = piece.code.bytes.len();
    announce((room, bytes), piece.code, named, kind)
}

/// Runs new code where only this process has it, and has another thread keep it: a disk may take
/// its time.
pub(crate) fn run_apart(key: Option<Key>, piece: Piece, named: Named<'_>, kind: CodeKind) -> u64 {
    if let Some(key) = key {
        store::keep_later(key, &piece);
    }
    publish(piece.code, named, kind)
}

/// Whether the code that lies here counts receivers.
pub(crate) fn counts(code: u64) -> bool {
    find(code).is_some_and(|it| it.counted > 0)
}

/// Counts a method that was compiled.
pub(crate) fn count_compiled(method: &Method) {
    COMPILED.fetch_add(1, Ordering::Relaxed);
    let of_platform = u32::from(method.class().info.loader.is_platforms());
    COMPILED_OF_PLATFORM.fetch_add(of_platform, Ordering::Relaxed);
}

/// Counts a method that was kept, in the store that was delivered or in the user's.
pub(crate) fn count_loaded(is_delivered: bool) {
    LOADED.fetch_add(1, Ordering::Relaxed);
    LOADED_DELIVERED.fetch_add(u32::from(is_delivered), Ordering::Relaxed);
}

impl Method {
    /// Its code, if it was called before or compiled ahead.
    pub(crate) fn compiled(&self) -> Option<u64> {
        // Pairs with Release in `install`: publishes the code.
        let code = self.code.load(Ordering::Acquire);
        (code != 0).then_some(code)
    }

    /// Calls go to `code` from now on. The caller has the method's turn.
    pub(crate) fn install(&self, code: u64) {
        // Pairs with Acquire in `compiled`: publishes the code.
        self.code.store(code, Ordering::Release);
        // The same for who loads the entry and calls it.
        self.entry.store(code, Ordering::Release);
    }
}

impl Code {
    /// The call that returns to `address`.
    pub(crate) fn site(&self, address: u64) -> Option<&CallSite> {
        self.calls.site((address - self.start) as u32)
    }

    /// The frames of Java's that the frame of this code stands for at a place, innermost first.
    pub(crate) fn frames_at(
        &self,
        method: &'static Method,
        place: u32,
    ) -> impl Iterator<Item = (&'static Method, u32)> {
        let mut next = Some(place);
        core::iter::from_fn(move || {
            let (scope, at) = scope_and_offset(next.take()?);
            let Some(number) = usize::from(scope).checked_sub(1) else {
                return Some((method, at));
            };
            let inlined = &self.inlined[number];
            next = Some(inlined.call);
            Some((inlined.method, at))
        })
    }

    /// Where this code holds references during the call that returns to `address`: bytes from its
    /// stack pointer there.
    pub(crate) fn slots(&self, address: u64) -> Option<&[u32]> {
        self.calls.slots((address - self.start) as u32)
    }
}

/// Index of the context's word with the compile stub's address.
pub(crate) const COMPILE_STUB_WORD: usize = 5;
/// Offset of that word.
pub(crate) const COMPILE_STUB_OFFSET: i32 = MACHINE + COMPILE_STUB_WORD as i32 * 8;
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

/// A stub that has `method` compiled: `mov r11, record; jmp [r15 + stub]`, the record from the
/// table.
pub(crate) fn stub_for(method: &'static Method) -> u64 {
    let mut stubs = STUBS.lock();
    if stubs.room.is_none() || stubs.next == STUBS_PER_BATCH {
        stubs.room = Some(install(&mut batch(), &[0; STUBS_PER_BATCH as usize]));
        space::note_used((STUBS_PER_BATCH * STUB_BYTES) as usize);
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
        batch.bytes.extend(COMPILE_STUB_OFFSET.to_le_bytes());
        batch
            .bytes
            .resize(((number + 1) * STUB_BYTES) as usize, 0xcc);
    }
    batch
}

/// Lends `work` a compiler of its own.
pub(crate) fn with_compiler<T>(work: impl FnOnce(&mut Compiler) -> T) -> T {
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

/// Who made a piece that [`shared`] found or had made.
enum Source {
    Compiler,
    Kept { is_delivered: bool },
}

/// Code that depends on nothing but what `sum` is of: from disk, or compiled now. It runs with
/// `addresses`.
fn shared(
    sum: Sum,
    (addresses, kind): (&[u64], CodeKind),
    compile: impl FnOnce(&mut Compiler) -> Result<CompiledCode, CompileError>,
) -> Result<(u64, Source), CompileError> {
    let key = Key {
        content: sum,
        index: 0,
    };
    if let Some(stored) = store::find(&key).next() {
        let is_delivered = stored.is_delivered;
        let entry = run_stored(stored, Named::addresses(addresses), kind);
        return Ok((entry, Source::Kept { is_delivered }));
    }
    let code = with_compiler(compile)?;
    let named = Named::addresses(addresses);
    let entry = run_new(Some(key), Piece::new(&[], code), named, kind);
    Ok((entry, Source::Compiler))
}

/// The bridge to a native method; `addresses` are those that `native` names.
pub(crate) fn native_bridge(
    method: &'static Method,
    native: &NativeMethod,
    addresses: &[u64],
) -> Result<u64, CompileError> {
    let sum = crate::memory::sum::sum_of(&[b"native", format!("{native:?}").as_bytes()]);
    let runs = (addresses, CodeKind::Native(method));
    let (entry, source) = shared(sum, runs, |compiler| compiler.native(native))?;
    match source {
        Source::Compiler => count_compiled(method),
        Source::Kept { is_delivered } => count_loaded(is_delivered),
    }
    Ok(entry)
}

/// The adapter for a method's shape, in native state.
pub(crate) fn adapter_for(method: &'static Method) -> u64 {
    let adapters = ADAPTERS.get().expect("started");
    let found = adapters.lock().get(&method.shape).copied();
    let adapter = found.unwrap_or_else(|| {
        let sum =
            crate::memory::sum::sum_of(&[b"adapter", format!("{:?}", method.shape).as_bytes()]);
        let runs = (&[][..], CodeKind::Adapter);
        match shared(sum, runs, |compiler| compiler.adapter(&method.shape)) {
            Ok((entry, _)) => entry,
            Err(error) => {
                console::fatal(&format!("no adapter for {}: {error}", method.full_name()))
            }
        }
    });
    adapters.lock().insert(method.shape.clone(), adapter);
    method.adapter.store(adapter, Ordering::Release);
    adapter
}
