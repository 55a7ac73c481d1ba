// SPDX-License-Identifier: Apache-2.0
//! Properties, memory, time, libraries, signals, references and the rest.

use rt::clock::{Clock, Monotonic};

use crate::array;
use crate::heap_binding;
use crate::jni::{c_text, of, outcome};
use crate::known::{known, offset};
use crate::memory;
use crate::native;
use crate::options;
use crate::park::Parker;
use crate::reflect;
use crate::signals;
use crate::string;

#[unsafe(no_mangle)]
extern "C" fn JVM_GetProperties(env: u64) -> u64 {
    let thread = of(env);
    let make = || {
        let mut texts = Vec::new();
        for (name, value) in crate::boot::properties() {
            texts.push(string::new_string(thread, &name)?);
            texts.push(string::new_string(thread, &value)?);
        }
        let class = thread.array_class(known().string)?;
        reflect::array_of(thread, class, &texts)
    };
    outcome(make().map(|array| thread.local(array)))
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetVmArguments(env: u64) -> u64 {
    let thread = of(env);
    let make = || {
        let mut texts = Vec::new();
        for argument in &options::get().arguments {
            texts.push(string::new_string(thread, argument)?);
        }
        let class = thread.array_class(known().string)?;
        reflect::array_of(thread, class, &texts)
    };
    outcome(make().map(|array| thread.local(array)))
}

#[unsafe(no_mangle)]
extern "C" fn JVM_InternString(env: u64, text: u64) -> u64 {
    let thread = of(env);
    outcome(string::intern(thread, thread.object_of(text)).map(|text| thread.local(text)))
}

fn wall_ns() -> i128 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as i128)
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn JVM_CurrentTimeMillis(_env: u64, _class: u64) -> i64 {
    (wall_ns() / 1_000_000) as i64
}

#[unsafe(no_mangle)]
extern "C" fn JVM_NanoTime(_env: u64, _class: u64) -> i64 {
    Monotonic.now_ns() as i64
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetNanoTimeAdjustment(_env: u64, _class: u64, offset_secs: i64) -> i64 {
    let difference = wall_ns() - i128::from(offset_secs) * 1_000_000_000;
    let is_near = difference.unsigned_abs() < 1 << 62;
    if is_near { difference as i64 } else { -1 }
}

#[unsafe(no_mangle)]
extern "C" fn JVM_ArrayCopy(
    env: u64,
    _class: u64,
    source: u64,
    from: i32,
    target: u64,
    to: i32,
    count: i32,
) {
    let thread = of(env);
    let (source, target) = (thread.object_of(source), thread.object_of(target));
    let _ = array::copy(thread, source, from, target, to, count);
}

#[unsafe(no_mangle)]
extern "C" fn JVM_ActiveProcessorCount() -> i32 {
    std::thread::available_parallelism().map_or(1, |count| count.get() as i32)
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn JVM_MaxMemory() -> i64 {
    i64::from(memory::map().heap.bytes)
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn JVM_TotalMemory() -> i64 {
    i64::from(memory::map().heap.bytes)
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn JVM_FreeMemory() -> i64 {
    i64::from(memory::map().heap.bytes) - heap_binding::used_bytes() as i64
}

#[unsafe(no_mangle)]
extern "C" fn JVM_MaxObjectInspectionAge() -> i64 {
    0
}

/// Nothing is reclaimed under the temporary binding: see `heap_binding`.
#[unsafe(no_mangle)]
extern "C" fn JVM_GC() {}

#[unsafe(no_mangle)]
extern "C" fn JVM_BeforeHalt() {}

#[unsafe(no_mangle)]
extern "C" fn JVM_Halt(code: i32) {
    crate::boot::leave(code);
}

#[unsafe(no_mangle)]
extern "C" fn JVM_IsUseContainerSupport() -> u8 {
    0
}

#[unsafe(no_mangle)]
extern "C" fn JVM_SupportsCX8() -> u8 {
    1
}

#[unsafe(no_mangle)]
extern "C" fn JVM_IsSupportedJNIVersion(version: i32) -> u8 {
    const KNOWN: [i32; 7] = [
        0x0001_0001,
        0x0001_0002,
        0x0001_0004,
        0x0001_0006,
        0x0001_0008,
        0x0009_0000,
        0x000a_0000,
    ];
    u8::from(KNOWN.contains(&version))
}

// Libraries.

#[unsafe(no_mangle)]
extern "C" fn JVM_LoadLibrary(path: u64, throws: u8) -> u64 {
    let path = c_text(path);
    match native::open(&path) {
        Ok(library) => library,
        Err(error) => {
            if throws != 0
                && let Some(thread) = crate::thread::current()
            {
                let message = format!("{path}: {error}");
                let _ = thread.throw("java/lang/UnsatisfiedLinkError", &message);
            }
            0
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn JVM_UnloadLibrary(_library: u64) {}

#[unsafe(no_mangle)]
extern "C" fn JVM_FindLibraryEntry(library: u64, name: u64) -> u64 {
    native::symbol(library, &c_text(name)).unwrap_or(0)
}

#[unsafe(no_mangle)]
extern "C" fn JVM_FindSignal(name: u64) -> i32 {
    signals::by_name(&c_text(name)).unwrap_or(-1)
}

#[unsafe(no_mangle)]
extern "C" fn JVM_RegisterSignal(signal: i32, taker: u64) -> u64 {
    signals::register(signal, taker)
}

#[unsafe(no_mangle)]
extern "C" fn JVM_RaiseSignal(signal: i32) -> u8 {
    // SAFETY: 1. raise has no preconditions.
    u8::from(unsafe { libc::raise(signal) } == 0)
}

// Class-data sharing: there is none.

#[unsafe(no_mangle)]
extern "C" fn JVM_IsCDSDumpingEnabled(_env: u64) -> u8 {
    0
}

#[unsafe(no_mangle)]
extern "C" fn JVM_IsDumpingClassList(_env: u64) -> u8 {
    0
}

#[unsafe(no_mangle)]
extern "C" fn JVM_IsSharingEnabled(_env: u64) -> u8 {
    0
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetRandomSeedForDumping() -> i64 {
    0
}

#[unsafe(no_mangle)]
extern "C" fn JVM_InitializeFromArchive(_env: u64, _class: u64) {}

#[unsafe(no_mangle)]
extern "C" fn JVM_LookupLambdaProxyClassFromArchive(_env: u64) -> u64 {
    0
}

#[unsafe(no_mangle)]
extern "C" fn JVM_RegisterLambdaProxyClassForArchiving(_env: u64) {}

#[unsafe(no_mangle)]
extern "C" fn JVM_LogLambdaFormInvoker(_env: u64, _line: u64) {}

// References.

/// Nobody enqueues yet: the reference handler sleeps for ever.
static NO_REFERENCES: Parker = Parker::new();

#[unsafe(no_mangle)]
extern "C" fn JVM_WaitForReferencePendingList(_env: u64) {
    loop {
        NO_REFERENCES.park_until(None);
    }
}

#[unsafe(no_mangle)]
extern "C" fn JVM_HasReferencePendingList(_env: u64) -> u8 {
    0
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetAndClearReferencePendingList(_env: u64) -> u64 {
    0
}

fn referent(env: u64, reference: u64) -> (crate::object::ObjectRef, u32) {
    let reference = of(env).object_of(reference);
    (reference, offset(reference.class(), "referent"))
}

#[unsafe(no_mangle)]
extern "C" fn JVM_ReferenceClear(env: u64, reference: u64) {
    let (reference, offset) = referent(env, reference);
    reference.put_ref(offset, crate::object::ObjectRef::NULL);
}

#[unsafe(no_mangle)]
extern "C" fn JVM_ReferenceRefersTo(env: u64, reference: u64, object: u64) -> u8 {
    let (reference, offset) = referent(env, reference);
    u8::from(reference.get_ref(offset) == of(env).object_of(object))
}

#[unsafe(no_mangle)]
extern "C" fn JVM_PhantomReferenceRefersTo(env: u64, reference: u64, object: u64) -> u8 {
    JVM_ReferenceRefersTo(env, reference, object)
}

// Helpers of libzip and others.

#[unsafe(no_mangle)]
extern "C" fn JVM_NativePath(path: u64) -> u64 {
    path
}

#[unsafe(no_mangle)]
extern "C" fn JVM_RawMonitorCreate() -> u64 {
    let lock: &'static rt::sys::futex::Futex<rt::sys::futex::Private> =
        Box::leak(Box::new(rt::sys::futex::Futex::new(0)));
    core::ptr::from_ref(lock) as u64
}

/// The lock stays: raw monitors are few.
#[unsafe(no_mangle)]
extern "C" fn JVM_RawMonitorDestroy(_monitor: u64) {}

fn raw_monitor(monitor: u64) -> &'static rt::sys::futex::Futex<rt::sys::futex::Private> {
    // SAFETY: 1. Libraries hand back what JVM_RawMonitorCreate gave.
    unsafe { &*(monitor as *const _) }
}

#[unsafe(no_mangle)]
extern "C" fn JVM_RawMonitorEnter(monitor: u64) -> i32 {
    crate::lock::lock_futex(raw_monitor(monitor));
    0
}

#[unsafe(no_mangle)]
extern "C" fn JVM_RawMonitorExit(monitor: u64) {
    crate::lock::unlock_futex(raw_monitor(monitor));
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetTemporaryDirectory(env: u64) -> u64 {
    let thread = of(env);
    outcome(string::new_string(thread, "/tmp").map(|text| thread.local(text)))
}

#[unsafe(no_mangle)]
extern "C" fn JVM_InitAgentProperties(_env: u64, properties: u64) -> u64 {
    properties
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetSystemPackages(env: u64) -> u64 {
    let thread = of(env);
    let make = || {
        let class = thread.array_class(known().string)?;
        array::new(thread, class, 0)
    };
    outcome(make().map(|array| thread.local(array)))
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetSystemPackage(_env: u64, _name: u64) -> u64 {
    0
}
