// SPDX-License-Identifier: Apache-2.0
//! Properties, memory, time, libraries, signals, references and the rest.

use rt::clock::{Clock, Monotonic};
use rt::sync::PiWord;

use crate::classes::known::known;
use crate::inspect::signals;
use crate::invoke::reflect;
use crate::jni::{c_text, of, outcome};
use crate::link::native;
use crate::memory;
use crate::objects::array;
use crate::objects::heap_binding;
use crate::objects::string;
use crate::options;
use crate::threads::thread::Managed;

#[unsafe(no_mangle)]
extern "C" fn JVM_GetProperties(env: u64) -> u64 {
    let thread = &*of(env);
    let make = || {
        let (scope, mut texts) = (thread.scope(), Vec::new());
        for (name, value) in crate::options::properties::properties() {
            texts.push(scope.hold(string::new_string(thread, &name)?));
            texts.push(scope.hold(string::new_string(thread, &value)?));
        }
        let class = thread.array_class(known().string)?;
        reflect::array_of(thread, class, &texts)
    };
    outcome(make().map(|array| thread.new_local(array)))
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetVmArguments(env: u64) -> u64 {
    let thread = &*of(env);
    let make = || {
        let (scope, mut texts) = (thread.scope(), Vec::new());
        for argument in &options::get().arguments {
            texts.push(scope.hold(string::new_string(thread, argument)?));
        }
        let class = thread.array_class(known().string)?;
        reflect::array_of(thread, class, &texts)
    };
    outcome(make().map(|array| thread.new_local(array)))
}

#[unsafe(no_mangle)]
extern "C" fn JVM_InternString(env: u64, text: u64) -> u64 {
    let thread = &*of(env);
    outcome(string::intern(thread, thread.object_of(text)).map(|text| thread.new_local(text)))
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
    let thread = &*of(env);
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
    heap_binding::committed_bytes() as i64
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn JVM_FreeMemory() -> i64 {
    heap_binding::committed_bytes() as i64 - heap_binding::used_bytes() as i64
}

#[unsafe(no_mangle)]
extern "C" fn JVM_MaxObjectInspectionAge() -> i64 {
    0
}

/// A full collection, soft references included if memory is short.
#[unsafe(no_mangle)]
extern "C" fn JVM_GC() {
    if let Some(thread) = crate::threads::thread::current() {
        heap_binding::collect(&Managed::enter(thread));
    }
}

#[unsafe(no_mangle)]
extern "C" fn JVM_BeforeHalt() {}

#[unsafe(no_mangle)]
extern "C" fn JVM_Halt(code: i32) {
    crate::start::boot::leave(code);
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
    u8::from(crate::jni::invocation::is_known_version(version))
}

// Libraries.

#[unsafe(no_mangle)]
extern "C" fn JVM_LoadLibrary(path: u64, throws: u8) -> u64 {
    let path = c_text(path);
    match native::open(&path) {
        Ok(library) => library,
        Err(error) => {
            if throws != 0
                && let Some(thread) = crate::threads::thread::current()
            {
                let message = format!("{path}: {error}");
                let thread = Managed::enter(thread);
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

#[unsafe(no_mangle)]
extern "C" fn JVM_WaitForReferencePendingList(env: u64) {
    let thread = &*of(env);
    crate::objects::pending::wait(thread);
}

#[unsafe(no_mangle)]
extern "C" fn JVM_HasReferencePendingList(env: u64) -> u8 {
    let _thread = of(env);
    u8::from(crate::objects::pending::is_there())
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetAndClearReferencePendingList(env: u64) -> u64 {
    let thread = &*of(env);
    thread.new_local(crate::objects::pending::take(thread))
}

#[unsafe(no_mangle)]
extern "C" fn JVM_ReferenceClear(env: u64, reference: u64) {
    let thread = &*of(env);
    heap_binding::clear_referent(thread, thread.object_of(reference));
}

/// Compares only: who asks holds the object, so it is not given up.
#[unsafe(no_mangle)]
extern "C" fn JVM_ReferenceRefersTo(env: u64, reference: u64, object: u64) -> u8 {
    let thread = &*of(env);
    let reference = thread.object_of(reference);
    let referent = reference.get_ref(reference.class().layout.referent_offset);
    u8::from(referent == thread.object_of(object))
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
    let lock: &'static PiWord = Box::leak(Box::new(PiWord::new()));
    core::ptr::from_ref(lock) as u64
}

/// The lock stays: raw monitors are few.
#[unsafe(no_mangle)]
extern "C" fn JVM_RawMonitorDestroy(_monitor: u64) {}

fn raw_monitor(monitor: u64) -> &'static PiWord {
    // SAFETY: 1. Libraries hand back what JVM_RawMonitorCreate gave.
    unsafe { &*(monitor as *const _) }
}

#[unsafe(no_mangle)]
extern "C" fn JVM_RawMonitorEnter(monitor: u64) -> i32 {
    crate::sync::lock::lock_word(raw_monitor(monitor));
    0
}

#[unsafe(no_mangle)]
extern "C" fn JVM_RawMonitorExit(monitor: u64) {
    raw_monitor(monitor).unlock();
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetTemporaryDirectory(env: u64) -> u64 {
    let thread = &*of(env);
    outcome(string::new_string(thread, "/tmp").map(|text| thread.new_local(text)))
}

#[unsafe(no_mangle)]
extern "C" fn JVM_InitAgentProperties(_env: u64, properties: u64) -> u64 {
    properties
}
