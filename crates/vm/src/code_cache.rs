// SPDX-License-Identifier: Apache-2.0
//! Where compiled code lies: one span, mapped writable at one place and
//! executable at another, so that no page is ever both.

use std::collections::HashMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use abi::address_map::{CODE_BYTES, CODE_START};
use compiler::{CallSite, CompileError, CompiledCode, Compiler, NativeMethod, Shape, StackMap};

use crate::class::Method;
use crate::execute;
use crate::lock::Lock;
use crate::memory;
use crate::report;

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
    /// By return offset.
    sites: Vec<CallSite>,
    /// For the collector's stack scan, which comes with the real heap.
    #[expect(dead_code, reason = "read by the collector, which is not bound yet")]
    stack_maps: Vec<StackMap>,
}

struct Space {
    /// Writable address less executable address.
    shift: i64,
    next: u64,
}

static SPACE: Lock<Space> = Lock::new(Space { shift: 0, next: 0 });
/// The code that covers each granule.
static INDEX: OnceLock<Vec<AtomicPtr<Code>>> = OnceLock::new();
static COMPILER: OnceLock<Lock<Compiler>> = OnceLock::new();
static ADAPTERS: OnceLock<Lock<HashMap<Shape, u64>>> = OnceLock::new();
/// Methods compiled since start.
pub(crate) static COMPILED: AtomicU32 = AtomicU32::new(0);
/// Nanoseconds spent compiling.
pub(crate) static COMPILE_NS: AtomicU64 = AtomicU64::new(0);

/// Maps the code span twice.
pub(crate) fn start() -> Result<(), Box<dyn std::error::Error>> {
    let bytes = CODE_BYTES as usize;
    // SAFETY: 1. The name is a C string. 2. The descriptor is our own; both mappings are fresh:
    // MAP_FIXED_NOREPLACE or any address.
    let (writable, executable) = unsafe {
        let file = libc::memfd_create(c"takt-code".as_ptr(), libc::MFD_CLOEXEC);
        if file < 0 || libc::ftruncate(file, bytes as libc::off_t) != 0 {
            return Err(std::io::Error::last_os_error().into());
        }
        let map = |at: u64, access, fixed| {
            let at = at as *mut libc::c_void;
            libc::mmap(at, bytes, access, libc::MAP_SHARED | fixed, file, 0) as u64
        };
        let writable = map(0, libc::PROT_READ | libc::PROT_WRITE, 0);
        let access = libc::PROT_READ | libc::PROT_EXEC;
        let executable = map(u64::from(CODE_START), access, libc::MAP_FIXED_NOREPLACE);
        libc::close(file);
        (writable, executable)
    };
    if executable != u64::from(CODE_START) || writable == libc::MAP_FAILED as u64 {
        return Err(format!("cannot map code: {}", std::io::Error::last_os_error()).into());
    }
    let mut space = SPACE.lock();
    space.shift = writable as i64 - executable as i64;
    space.next = executable;
    let count = u64::from(CODE_BYTES) / GRANULE_BYTES;
    INDEX.get_or_init(|| (0..count).map(|_| AtomicPtr::default()).collect());
    COMPILER.get_or_init(|| match Compiler::host() {
        Ok(compiler) => Lock::new(compiler),
        Err(error) => report::fatal(&format!("no code for this processor: {error}")),
    });
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

fn publish(code: CompiledCode, kind: CodeKind) -> u64 {
    let start = install(&code.bytes);
    let mut sites = code.call_sites;
    sites.sort_by_key(|site| site.return_offset);
    let record = Box::leak(Box::new(Code {
        start,
        kind,
        sites,
        stack_maps: code.stack_maps,
    }));
    let first = (start - u64::from(CODE_START)) / GRANULE_BYTES;
    // The return address of a last call may be the end itself.
    let count = (code.bytes.len() as u64 + 1).div_ceil(GRANULE_BYTES);
    let index = INDEX.get().expect("started");
    for granule in first..first + count {
        // Pairs with Acquire in `find`: publishes the record.
        index[granule as usize].store(record, Ordering::Release);
    }
    start
}

/// The code that `address` lies in. O(1), no lock.
pub(crate) fn find(address: u64) -> Option<&'static Code> {
    let offset = address.checked_sub(u64::from(CODE_START))?;
    let code = INDEX
        .get()?
        .get((offset / GRANULE_BYTES) as usize)?
        .load(Ordering::Acquire);
    // SAFETY: 1. Null or a leaked record: see `publish`.
    unsafe { code.as_ref() }
}

impl Code {
    /// The call that returns to `address`.
    pub(crate) fn site(&self, address: u64) -> Option<&CallSite> {
        let offset = (address - self.start) as u32;
        let found = self
            .sites
            .binary_search_by_key(&offset, |site| site.return_offset);
        found.ok().map(|index| &self.sites[index])
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

fn compiler() -> &'static Lock<Compiler> {
    COMPILER.get().expect("started")
}

/// Compiles a method's IR.
pub(crate) fn compile(
    method: &'static Method,
    function: &ir::Function,
    linker: &mut dyn compiler::Linker,
) -> Result<u64, CompileError> {
    let code = compiler().lock().method(function, linker)?;
    COMPILED.fetch_add(1, Ordering::Relaxed);
    Ok(publish(code, CodeKind::Method(method)))
}

/// Compiles the bridge to a native method.
pub(crate) fn compile_native(
    method: &'static Method,
    native: &NativeMethod,
) -> Result<u64, CompileError> {
    let code = compiler().lock().native(native)?;
    COMPILED.fetch_add(1, Ordering::Relaxed);
    Ok(publish(code, CodeKind::Native(method)))
}

/// The adapter for a method's shape.
pub(crate) fn adapter_for(method: &'static Method) -> u64 {
    match method.adapter.load(Ordering::Acquire) {
        0 => {}
        adapter => return adapter,
    }
    let adapters = ADAPTERS.get().expect("started");
    let found = adapters.lock().get(&method.shape).copied();
    let adapter = found.unwrap_or_else(|| match compiler().lock().adapter(&method.shape) {
        Ok(code) => publish(code, CodeKind::Adapter),
        Err(error) => report::fatal(&format!("no adapter for {}: {error}", method.full_name())),
    });
    adapters.lock().insert(method.shape.clone(), adapter);
    method.adapter.store(adapter, Ordering::Release);
    adapter
}
