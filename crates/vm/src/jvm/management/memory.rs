// SPDX-License-Identifier: Apache-2.0
//! Beans of memory: three pools, who manages them, and the collector.
//!
//! The library makes each bean once and knows it by its object, so the objects are kept. No pool
//! has thresholds; what the collector did last is not told.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::classes::object::ObjectRef;
use crate::code::cache;
use crate::jni::{of, outcome};
use crate::jvm::system::{JVM_FreeMemory, JVM_MaxMemory, JVM_TotalMemory};
use crate::link::call::call_static;
use crate::memory;
use crate::objects::array;
use crate::objects::heap_binding;
use crate::objects::string;
use crate::options;
use crate::threads::thread::{Thread, Thrown};

use heap::CollectorKind;

/// A kind of memory.
struct Pool {
    name: &'static str,
    is_heap: bool,
    used: fn() -> Usage,
    /// The most bytes in use that anybody asked about, since the start or the last reset.
    peak_bytes: AtomicU64,
    bean: AtomicU32,
}

/// Who frees a pool's memory.
struct Manager {
    /// As `MemoryManagerMXBean` names it.
    name: fn() -> &'static str,
    /// Its one pool, by its place in [`POOLS`].
    pool: usize,
    bean: AtomicU32,
}

#[derive(Clone, Copy)]
struct Usage {
    used: i64,
    committed: i64,
    /// -1: none.
    max: i64,
}

/// HotSpot's names where it has such a pool.
static POOLS: [Pool; 3] = [
    Pool::new("Heap", true, heap_usage),
    Pool::new("Metaspace", false, || own(memory::metadata_bytes())),
    Pool::new("CodeCache", false, || own(cache::used_bytes())),
];

/// The first one is the collector.
static MANAGERS: [Manager; 3] = [
    Manager::new(collector_name, 0),
    Manager::new(|| "Metaspace Manager", 1),
    Manager::new(|| "CodeCacheManager", 2),
];
const COLLECTOR: usize = 0;

fn collector_name() -> &'static str {
    match options::get().collector {
        CollectorKind::Rc => "Takt rc",
        CollectorKind::Stw => "Takt stw",
    }
}

fn heap_usage() -> Usage {
    let (total, free) = (JVM_TotalMemory(), JVM_FreeMemory());
    Usage {
        used: total - free,
        committed: total,
        max: JVM_MaxMemory(),
    }
}

/// Of memory that is never given back.
fn own(bytes: u64) -> Usage {
    Usage {
        used: bytes as i64,
        committed: bytes as i64,
        max: -1,
    }
}

impl Pool {
    const fn new(name: &'static str, is_heap: bool, used: fn() -> Usage) -> Self {
        Self {
            name,
            is_heap,
            used,
            peak_bytes: AtomicU64::new(0),
            bean: AtomicU32::new(0),
        }
    }

    fn usage(&self) -> Usage {
        let usage = (self.used)();
        self.peak_bytes
            .fetch_max(usage.used as u64, Ordering::Relaxed);
        usage
    }

    fn bean(&self, thread: &Thread) -> Result<ObjectRef, Thrown> {
        once(&self.bean, || {
            let name = string::new_string(thread, self.name)?;
            // No thresholds: neither of use nor of use after a collection.
            let arguments = [name.0.into(), u64::from(self.is_heap), NONE, NONE];
            let signature = "(Ljava/lang/String;ZJJ)Ljava/lang/management/MemoryPoolMXBean;";
            call_static(thread, FACTORY, "createMemoryPool", signature, &arguments)
        })
    }
}

impl Manager {
    const fn new(name: fn() -> &'static str, pool: usize) -> Self {
        Self {
            name,
            pool,
            bean: AtomicU32::new(0),
        }
    }

    fn bean(&self, thread: &Thread) -> Result<ObjectRef, Thrown> {
        once(&self.bean, || {
            let name = string::new_string(thread, (self.name)())?;
            if core::ptr::eq(self, &MANAGERS[COLLECTOR]) {
                let signature = "(Ljava/lang/String;Ljava/lang/String;)Ljava/lang/management/GarbageCollectorMXBean;";
                let arguments = [name.0.into(), 0];
                let create = "createGarbageCollector";
                return call_static(thread, COLLECTOR_BEAN, create, signature, &arguments);
            }
            let signature = "(Ljava/lang/String;)Ljava/lang/management/MemoryManagerMXBean;";
            let create = "createMemoryManager";
            call_static(thread, FACTORY, create, signature, &[name.0.into()])
        })
    }
}

const FACTORY: &str = "sun/management/ManagementFactoryHelper";
const COLLECTOR_BEAN: &str = "com/sun/management/internal/GarbageCollectorExtImpl";
const NONE: u64 = u64::MAX;

/// The object that stands in `place`, or that `make` makes. Of two threads the first one's stays.
fn once(
    place: &AtomicU32,
    make: impl FnOnce() -> Result<u64, Thrown>,
) -> Result<ObjectRef, Thrown> {
    // Pairs with Release below: publishes the object.
    if let Some(bean) = ObjectRef(place.load(Ordering::Acquire)).some() {
        return Ok(bean);
    }
    let bean = ObjectRef(make()? as u32);
    heap_binding::keep(bean);
    let old = place.compare_exchange(0, bean.0, Ordering::AcqRel, Ordering::Acquire);
    Ok(old.map_or_else(ObjectRef, |_| bean))
}

fn pool_of(bean: ObjectRef) -> Option<usize> {
    let is_it = |pool: &Pool| pool.bean.load(Ordering::Acquire) == bean.0;
    POOLS.iter().position(is_it).filter(|_| !bean.is_null())
}

fn manager_of(bean: ObjectRef) -> Option<usize> {
    let is_it = |manager: &Manager| manager.bean.load(Ordering::Acquire) == bean.0;
    MANAGERS.iter().position(is_it).filter(|_| !bean.is_null())
}

/// The pools of a manager, or all.
pub(super) extern "C" fn pools(env: u64, manager: u64) -> u64 {
    let thread = &*of(env);
    let own = manager_of(thread.object_of(manager)).map(|own| MANAGERS[own].pool);
    let shown = |index: usize| manager == 0 || own == Some(index);
    let pools = POOLS.iter().enumerate().filter(|(index, _)| shown(*index));
    let class = "java/lang/management/MemoryPoolMXBean";
    beans(thread, class, pools.map(|(_, pool)| pool.bean(thread)))
}

/// The managers of a pool, or all.
pub(super) extern "C" fn managers(env: u64, pool: u64) -> u64 {
    let thread = &*of(env);
    let own = pool_of(thread.object_of(pool));
    let managers = MANAGERS.iter();
    let shown = managers.filter(|manager| pool == 0 || own == Some(manager.pool));
    let class = "java/lang/management/MemoryManagerMXBean";
    beans(thread, class, shown.map(|manager| manager.bean(thread)))
}

fn beans(
    thread: &Thread,
    class: &str,
    beans: impl Iterator<Item = Result<ObjectRef, Thrown>>,
) -> u64 {
    let make = || {
        // They are kept: nobody else need hold them.
        let beans = beans.collect::<Result<Vec<_>, _>>()?;
        let class = thread.array_class(thread.boot_class(class)?)?;
        let array = array::new(thread, class, beans.len() as i32)?;
        for (index, bean) in (0..).zip(beans) {
            array.set_ref_element(index, bean);
        }
        Ok::<_, Thrown>(thread.new_local(array))
    };
    outcome(make())
}

pub(super) extern "C" fn pool_usage(env: u64, pool: u64) -> u64 {
    let thread = &*of(env);
    pool_of(thread.object_of(pool)).map_or(0, |pool| new_usage(thread, POOLS[pool].usage()))
}

pub(super) extern "C" fn peak_usage(env: u64, pool: u64) -> u64 {
    let thread = &*of(env);
    pool_of(thread.object_of(pool)).map_or(0, |pool| {
        let now = POOLS[pool].usage();
        let peak = POOLS[pool].peak_bytes.load(Ordering::Relaxed) as i64;
        let usage = Usage {
            used: peak,
            committed: now.committed.max(peak),
            ..now
        };
        new_usage(thread, usage)
    })
}

/// What was in use after the last collection; null for what is not collected.
pub(super) extern "C" fn collection_usage(env: u64, pool: u64) -> u64 {
    let thread = &*of(env);
    let is_heap = pool_of(thread.object_of(pool)).is_some_and(|pool| POOLS[pool].is_heap);
    if !is_heap {
        return 0;
    }
    let used = heap_binding::heap().counters().used_bytes.get() as i64;
    let now = heap_usage();
    let usage = Usage {
        used,
        committed: now.committed.max(used),
        ..now
    };
    new_usage(thread, usage)
}

/// Of all pools of the heap, or of all others.
pub(super) extern "C" fn memory_usage(env: u64, is_heap: u8) -> u64 {
    let pools = POOLS.iter().filter(|pool| pool.is_heap == (is_heap != 0));
    let sum = pools.map(Pool::usage).reduce(|one, other| Usage {
        used: one.used + other.used,
        committed: one.committed + other.committed,
        max: -1,
    });
    sum.map_or(0, |usage| new_usage(&of(env), usage))
}

fn new_usage(thread: &Thread, usage: Usage) -> u64 {
    let values = [0, usage.used, usage.committed, usage.max];
    let make = || {
        let class = thread.boot_class("java/lang/management/MemoryUsage")?;
        let constructor = class.method_named("<init>", "(JJJJ)V");
        thread.new_instance(class, constructor, &values.map(|value| value as u64))
    };
    outcome(make().map(|usage| thread.new_local(usage)))
}

/// Collections so far; `bean` is the collector's.
pub(super) fn collection_count() -> i64 {
    let counters = heap_binding::heap().counters();
    match options::get().collector {
        CollectorKind::Rc => counters.epochs.get() as i64,
        CollectorKind::Stw => counters.pauses.get() as i64,
    }
}

/// Milliseconds that the collector worked, beside the program or while it stood.
pub(super) fn collection_ms() -> i64 {
    (heap_binding::heap().counters().collector_ns.get() / 1_000_000) as i64
}

/// Whether the pool was known.
pub(super) fn reset_peak(env: u64, pool: u64) -> bool {
    let thread = &*of(env);
    let pool = pool_of(thread.object_of(pool)).map(|pool| &POOLS[pool]);
    if let Some(pool) = pool {
        let used = (pool.used)().used as u64;
        pool.peak_bytes.store(used, Ordering::Relaxed);
    }
    pool.is_some()
}
