// SPDX-License-Identifier: Apache-2.0
//! The function table behind `java.lang.management`, version 3 of JDK 17's
//! `libmanagement`.
//!
//! Counts of classes and threads, processor times and memory are measured. What
//! the machine does not keep is -1 (the library's "not available") or an
//! UnsupportedOperationException by name; there are no virtual-machine flags.

mod memory;
mod threads;

use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use crate::classes::known::offset;
use crate::classes::object::ObjectRef;
use crate::code::cache;
use crate::console;
use crate::jni::{of, outcome};
use crate::jvm::system::JVM_CurrentTimeMillis;
use crate::link::loader;
use crate::monitors::java_thread;
use crate::monitors::java_thread::{PEAK_THREADS, STARTED_THREADS, java_threads};
use crate::objects::array;
use crate::objects::heap_binding;
use crate::options;
use crate::threads::thread::Thread;

const VERSION: i32 = 0x2003_0000;

/// A function's address, or null where version 3 has none.
#[repr(transparent)]
struct Function(*const ());

// SAFETY: 1. Code addresses belong to no thread.
unsafe impl Sync for Function {}

macro_rules! table {
    ($($entry:expr,)*) => { [$(Function($entry as *const ()),)*] };
}

static TABLE: [Function; 40] = table![
    core::ptr::null::<()>(),
    core::ptr::null::<()>(),
    get_version,
    get_optional_support,
    threads::thread_info,
    memory::pools,
    memory::managers,
    memory::pool_usage,
    memory::peak_usage,
    get_allocated_memory_of_thread,
    missing::allocated_memory_of_threads,
    memory::memory_usage,
    get_long_attribute,
    get_bool_attribute,
    set_bool_attribute,
    missing::long_attributes,
    threads::monitor_deadlocks,
    get_cpu_time,
    no_names,
    none_filled,
    none_filled,
    reset_statistic,
    missing::pool_sensor,
    missing::pool_threshold,
    memory::collection_usage,
    describe_attribute,
    missing::last_collection,
    get_cpu_time_of_kind,
    missing::cpu_times,
    missing::dump_heap,
    threads::deadlocks,
    missing::set_flag,
    get_allocated_memory,
    threads::dump_threads,
    missing::notification,
    no_names,
    missing::diagnostic_commands,
    missing::diagnostic_commands,
    missing::diagnostic_commands,
    missing::notification,
];

/// What cannot be asked, by name.
mod missing {
    use crate::jni::of;

    fn throw(env: u64, what: &str) -> u64 {
        let message = format!("{what}: not supported by Takt");
        let _ = of(env).throw("java/lang/UnsupportedOperationException", &message);
        0
    }

    macro_rules! missing {
        ($($name:ident: $what:literal,)*) => {
            $(pub(super) extern "C" fn $name(env: u64) -> u64 {
                throw(env, $what)
            })*
        };
    }

    missing! {
        allocated_memory_of_threads: "ThreadMXBean.getThreadAllocatedBytes(long[])",
        long_attributes: "attributes in bulk",
        pool_sensor: "usage thresholds of memory pools",
        pool_threshold: "usage thresholds of memory pools",
        last_collection: "GarbageCollectorMXBean.getLastGcInfo",
        cpu_times: "ThreadMXBean.getThreadCpuTime(long[])",
        dump_heap: "HotSpotDiagnosticMXBean.dumpHeap",
        set_flag: "HotSpotDiagnosticMXBean.setVMOption",
        notification: "notifications of the machine",
        diagnostic_commands: "diagnostic commands",
    }
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetManagement(version: i32) -> u64 {
    if version == VERSION {
        TABLE.as_ptr() as u64
    } else {
        0
    }
}

extern "C" fn get_version(_env: u64) -> i32 {
    VERSION
}

/// Bits of `jmmOptionalSupport`.
const CURRENT_CPU_TIME: u32 = 1 << 3;
const OTHER_CPU_TIME: u32 = 1 << 4;
const COMPILATION_TIME: u32 = 1 << 1;
const OBJECT_MONITORS: u32 = 1 << 5;
const ALLOCATED_MEMORY: u32 = 1 << 7;

extern "C" fn get_optional_support(_env: u64, support: u64) -> i32 {
    crate::memory::write(
        support,
        COMPILATION_TIME | CURRENT_CPU_TIME | OTHER_CPU_TIME | OBJECT_MONITORS | ALLOCATED_MEMORY,
    );
    0
}

extern "C" fn none_filled(_env: u64) -> i32 {
    0
}

extern "C" fn no_names(env: u64) -> u64 {
    empty_array(env, "java/lang/String")
}

fn empty_array(env: u64, element: &str) -> u64 {
    let thread = &*of(env);
    let make = || {
        let class = thread.array_class(thread.boot_class(element)?)?;
        array::new(thread, class, 0)
    };
    outcome(make().map(|array| thread.new_local(array)))
}

fn is_daemon(thread: &ObjectRef) -> bool {
    thread.get::<u8>(offset(thread.class(), "daemon")) != 0
}

/// How many attributes a collection has besides times and usages. The library wants one at least,
/// before it asks for the collection, which is refused by name.
const COLLECTION_ATTRIBUTES: i32 = 401;

/// The one attribute of a collection: name, type and description in three words.
extern "C" fn describe_attribute(_env: u64, _collector: u64, attribute: u64, count: i32) -> i32 {
    if count > 0 {
        let words = [
            c"GcThreadCount".as_ptr() as u64,
            u64::from(b'I'),
            c"Number of GC threads".as_ptr() as u64,
        ];
        for (word, at) in words.into_iter().zip((attribute..).step_by(8)) {
            crate::memory::write(at, word);
        }
    }
    count.min(1)
}

/// Attributes by the numbers of `jmmLongAttribute`.
extern "C" fn get_long_attribute(env: u64, _bean: u64, attribute: i32) -> i64 {
    let _managed = of(env);
    match attribute {
        1 => i64::from(loader::defined_count()),
        2 => 0,
        3 => i64::from(STARTED_THREADS.load(Ordering::Relaxed)),
        4 => java_threads().count() as i64,
        5 => i64::from(PEAK_THREADS.load(Ordering::Relaxed)),
        6 => java_threads().filter(is_daemon).count() as i64,
        7 => JVM_CurrentTimeMillis(0, 0) - console::uptime_ms(),
        8 => (cache::COMPILE_NS.load(Ordering::Relaxed) / 1_000_000) as i64,
        9 => memory::collection_ms(),
        10 => memory::collection_count(),
        11 => console::uptime_ms(),
        COLLECTION_ATTRIBUTES => 1,
        201 => i64::from(std::process::id()),
        _ => -1,
    }
}

const VERBOSE_GC: i32 = 21;
const VERBOSE_CLASS: i32 = 22;
const CPU_TIME: i32 = 24;
const THREAD_ALLOCATION: i32 = 25;

/// The lines that can be switched on and off.
fn verbosity(attribute: i32) -> Option<&'static AtomicBool> {
    match attribute {
        VERBOSE_GC => Some(&options::get().is_verbose_gc),
        VERBOSE_CLASS => Some(&options::get().is_verbose_class),
        _ => None,
    }
}

extern "C" fn get_bool_attribute(_env: u64, attribute: i32) -> u8 {
    u8::from(match attribute {
        CPU_TIME | THREAD_ALLOCATION => true,
        _ => verbosity(attribute).is_some_and(|it| it.load(Ordering::Relaxed)),
    })
}

/// The old value is given. What is measured is always measured.
extern "C" fn set_bool_attribute(env: u64, attribute: i32, value: u8) -> u8 {
    match verbosity(attribute) {
        Some(it) => u8::from(it.swap(value != 0, Ordering::Relaxed)),
        None => get_bool_attribute(env, attribute),
    }
}

/// `object` is the address of what is to be reset.
extern "C" fn reset_statistic(env: u64, object: u64, statistic: i32) -> u8 {
    const PEAK_POOL_USAGE: i32 = 800;
    const PEAK_THREAD_COUNT: i32 = 801;
    u8::from(match statistic {
        PEAK_POOL_USAGE => memory::reset_peak(env, object),
        PEAK_THREAD_COUNT => {
            PEAK_THREADS.store(java_threads().count() as u32, Ordering::Relaxed);
            true
        }
        _ => false,
    })
}

/// Bytes that a thread has allocated, to the run of cells; -1 if there is no such thread. 0 is the
/// calling one.
extern "C" fn get_allocated_memory_of_thread(env: u64, id: i64) -> i64 {
    let _managed = of(env);
    let thread = match id {
        0 => Some(Thread::of_env(env).shared()),
        id => by_id(id),
    };
    let taken = thread.and_then(|thread| heap_binding::taken_bytes(&thread));
    taken.map_or(-1, |bytes| bytes as i64)
}

extern "C" fn get_allocated_memory(_env: u64) -> i64 {
    -1
}

/// The running thread with Java's number `id`.
fn by_id(id: i64) -> Option<Arc<Thread>> {
    let has_id = |object: &ObjectRef| object.get::<i64>(offset(object.class(), "tid")) == id;
    java_threads().find(has_id).and_then(java_thread::of_object)
}

extern "C" fn get_cpu_time(env: u64, id: i64) -> i64 {
    get_cpu_time_of_kind(env, id, 1)
}

/// Nanoseconds that a thread has run, in user code only or with the kernel's share; -1 if there is
/// no such thread.
extern "C" fn get_cpu_time_of_kind(env: u64, id: i64, with_system: u8) -> i64 {
    let _managed = of(env);
    // 0 is the calling thread.
    let thread = match id {
        0 => Some(Thread::of_env(env).shared()),
        id => by_id(id),
    };
    thread
        .and_then(|thread| thread.cpu_ns(with_system != 0))
        .unwrap_or(-1)
}
