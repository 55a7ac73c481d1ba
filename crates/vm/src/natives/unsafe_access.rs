// SPDX-License-Identifier: Apache-2.0
//! `jdk.internal.misc.Unsafe`: called through reflection or method handles;
//! compiled code has most of it inline.

use core::sync::atomic::Ordering;

use crate::classes::class::Class;
use crate::classes::object::ObjectRef;
use crate::invoke::reflect;
use crate::jni::{of, outcome};
use crate::link::define::{self, Definition};
use crate::link::loader;
use crate::link::mirror;
use crate::link::resolve;
use crate::memory;
use crate::memory::symbol::Symbol;
use crate::monitors::java_thread::{self, Wait};
use crate::monitors::lend::{self, Parked};
use crate::objects::array;
use crate::objects::heap_binding;
use crate::objects::string;
use crate::threads::ledger;
use crate::threads::thread::Thrown;

/// The function for the native method `name`.
pub(super) fn find(name: &str) -> Option<*const ()> {
    ACCESSES
        .iter()
        .chain(OTHERS)
        .find(|(own, _)| *own == name)
        .map(|(_, function)| *function)
}

/// An offset in an object, or an address when there is none.
fn place(env: u64, object: u64, offset: i64) -> u64 {
    u64::from(of(env).object_of(object).0).wrapping_add(offset as u64)
}

macro_rules! accesses {
    ($($get:ident $get_volatile:ident $put:ident $put_volatile:ident $ty:ty;)*) => {
        $(
            #[allow(non_snake_case, reason = "named for the methods")]
            extern "C" fn $get(env: u64, _this: u64, object: u64, offset: i64) -> $ty {
                memory::read(place(env, object, offset))
            }

            #[allow(non_snake_case, reason = "named for the methods")]
            extern "C" fn $get_volatile(env: u64, _this: u64, object: u64, offset: i64) -> $ty {
                core::sync::atomic::fence(Ordering::SeqCst);
                let value = memory::read(place(env, object, offset));
                core::sync::atomic::fence(Ordering::SeqCst);
                value
            }

            #[allow(non_snake_case, reason = "named for the methods")]
            extern "C" fn $put(env: u64, _this: u64, object: u64, offset: i64, value: $ty) {
                memory::write(place(env, object, offset), value);
            }

            #[allow(non_snake_case, reason = "named for the methods")]
            extern "C" fn $put_volatile(env: u64, _this: u64, object: u64, offset: i64, value: $ty) {
                core::sync::atomic::fence(Ordering::SeqCst);
                memory::write(place(env, object, offset), value);
                core::sync::atomic::fence(Ordering::SeqCst);
            }
        )*

        const ACCESSES: &[(&str, *const ())] = &[
            $(
                (stringify!($get), $get as *const ()),
                (stringify!($get_volatile), $get_volatile as *const ()),
                (stringify!($put), $put as *const ()),
                (stringify!($put_volatile), $put_volatile as *const ()),
            )*
        ];
    };
}

accesses! {
    getBoolean getBooleanVolatile putBoolean putBooleanVolatile u8;
    getByte getByteVolatile putByte putByteVolatile i8;
    getShort getShortVolatile putShort putShortVolatile i16;
    getChar getCharVolatile putChar putCharVolatile u16;
    getInt getIntVolatile putInt putIntVolatile i32;
    getLong getLongVolatile putLong putLongVolatile i64;
    getFloat getFloatVolatile putFloat putFloatVolatile f32;
    getDouble getDoubleVolatile putDouble putDoubleVolatile f64;
}

const OTHERS: &[(&str, *const ())] = &[
    ("getReference", get_reference as *const ()),
    ("getReferenceVolatile", get_reference as *const ()),
    ("putReference", put_reference as *const ()),
    ("putReferenceVolatile", put_reference as *const ()),
    ("compareAndSetInt", compare_and_set_int as *const ()),
    ("compareAndSetLong", compare_and_set_long as *const ()),
    (
        "compareAndSetReference",
        compare_and_set_reference as *const (),
    ),
    (
        "compareAndExchangeInt",
        compare_and_exchange_int as *const (),
    ),
    (
        "compareAndExchangeLong",
        compare_and_exchange_long as *const (),
    ),
    (
        "compareAndExchangeReference",
        compare_and_exchange_reference as *const (),
    ),
    ("loadFence", fence as *const ()),
    ("storeFence", fence as *const ()),
    ("fullFence", fence as *const ()),
    ("allocateMemory0", allocate_memory as *const ()),
    ("reallocateMemory0", reallocate_memory as *const ()),
    ("freeMemory0", free_memory as *const ()),
    ("setMemory0", set_memory as *const ()),
    ("copyMemory0", copy_memory as *const ()),
    ("copySwapMemory0", copy_swap_memory as *const ()),
    ("objectFieldOffset0", field_offset as *const ()),
    ("objectFieldOffset1", field_offset_by_name as *const ()),
    ("staticFieldOffset0", field_offset as *const ()),
    ("staticFieldBase0", static_field_base as *const ()),
    ("shouldBeInitialized0", should_be_initialized as *const ()),
    ("ensureClassInitialized0", ensure_initialized as *const ()),
    ("arrayBaseOffset0", array_base_offset as *const ()),
    ("arrayIndexScale0", array_index_scale as *const ()),
    ("allocateInstance", allocate_instance as *const ()),
    ("throwException", throw_exception as *const ()),
    ("defineClass0", define_class as *const ()),
    ("park", park as *const ()),
    ("unpark", unpark as *const ()),
    ("getLoadAverage0", load_average as *const ()),
];

extern "C" fn get_reference(env: u64, _this: u64, object: u64, offset: i64) -> u64 {
    let at = memory::atomic_u32(place(env, object, offset));
    of(env).new_local(ObjectRef(at.load(Ordering::SeqCst)))
}

extern "C" fn put_reference(env: u64, _this: u64, object: u64, offset: i64, value: u64) {
    let thread = &*of(env);
    let (object, value) = (thread.object_of(object), thread.object_of(value));
    let at = u64::from(object.0).wrapping_add(offset as u64);
    heap_binding::write_barrier(object, at, value);
    memory::atomic_u32(at).store(value.0, Ordering::SeqCst);
}

fn exchange_int(env: u64, object: u64, offset: i64, expected: u32, value: u32) -> u32 {
    let at = memory::atomic_u32(place(env, object, offset));
    at.compare_exchange(expected, value, Ordering::SeqCst, Ordering::SeqCst)
        .unwrap_or_else(|now| now)
}

fn exchange_long(env: u64, object: u64, offset: i64, expected: u64, value: u64) -> u64 {
    let at = memory::atomic_u64(place(env, object, offset));
    at.compare_exchange(expected, value, Ordering::SeqCst, Ordering::SeqCst)
        .unwrap_or_else(|now| now)
}

fn exchange_ref(env: u64, object: u64, offset: i64, expected: u64, value: u64) -> (u32, u32) {
    let thread = &*of(env);
    let (expected, value) = (thread.object_of(expected), thread.object_of(value));
    heap_binding::write_barrier(thread.object_of(object), place(env, object, offset), value);
    (
        exchange_int(env, object, offset, expected.0, value.0),
        expected.0,
    )
}

extern "C" fn compare_and_set_int(
    env: u64,
    _this: u64,
    object: u64,
    offset: i64,
    expected: u32,
    value: u32,
) -> u8 {
    u8::from(exchange_int(env, object, offset, expected, value) == expected)
}

extern "C" fn compare_and_set_long(
    env: u64,
    _this: u64,
    object: u64,
    offset: i64,
    expected: u64,
    value: u64,
) -> u8 {
    u8::from(exchange_long(env, object, offset, expected, value) == expected)
}

extern "C" fn compare_and_set_reference(
    env: u64,
    _this: u64,
    object: u64,
    offset: i64,
    expected: u64,
    value: u64,
) -> u8 {
    let (old, expected) = exchange_ref(env, object, offset, expected, value);
    u8::from(old == expected)
}

extern "C" fn compare_and_exchange_int(
    env: u64,
    _this: u64,
    object: u64,
    offset: i64,
    expected: u32,
    value: u32,
) -> u32 {
    exchange_int(env, object, offset, expected, value)
}

extern "C" fn compare_and_exchange_long(
    env: u64,
    _this: u64,
    object: u64,
    offset: i64,
    expected: u64,
    value: u64,
) -> u64 {
    exchange_long(env, object, offset, expected, value)
}

extern "C" fn compare_and_exchange_reference(
    env: u64,
    _this: u64,
    object: u64,
    offset: i64,
    expected: u64,
    value: u64,
) -> u64 {
    let thread = &*of(env);
    let (old, _) = exchange_ref(env, object, offset, expected, value);
    thread.new_local(ObjectRef(old))
}

extern "C" fn fence(_env: u64, _this: u64) {
    core::sync::atomic::fence(Ordering::SeqCst);
}

extern "C" fn allocate_memory(_env: u64, _this: u64, bytes: i64) -> u64 {
    // SAFETY: 1. malloc has no preconditions.
    unsafe { libc::malloc(bytes as usize) as u64 }
}

extern "C" fn reallocate_memory(_env: u64, _this: u64, at: u64, bytes: i64) -> u64 {
    // SAFETY: 1. Java code hands back what it was given, or null.
    unsafe { libc::realloc(at as *mut libc::c_void, bytes as usize) as u64 }
}

extern "C" fn free_memory(_env: u64, _this: u64, at: u64) {
    // SAFETY: as in `reallocate_memory`.
    unsafe { libc::free(at as *mut libc::c_void) }
}

extern "C" fn set_memory(env: u64, _this: u64, object: u64, offset: i64, bytes: i64, value: u8) {
    array::fill_bytes(&of(env), place(env, object, offset), value, bytes as usize);
}

extern "C" fn copy_memory(
    env: u64,
    _this: u64,
    source: u64,
    from: i64,
    target: u64,
    to: i64,
    bytes: i64,
) {
    let thread = &*of(env);
    let (source, target) = (place(env, source, from), place(env, target, to));
    array::copy_bytes(thread, source, target, bytes as usize);
}

extern "C" fn copy_swap_memory(
    env: u64,
    _this: u64,
    source: u64,
    from: i64,
    target: u64,
    to: i64,
    bytes: i64,
    size: i64,
) {
    let mut content = memory::bytes_at(place(env, source, from), bytes as usize);
    content
        .chunks_exact_mut(size as usize)
        .for_each(<[u8]>::reverse);
    memory::copy(
        content.as_ptr() as u64,
        place(env, target, to),
        content.len(),
    );
}

extern "C" fn field_offset(env: u64, _this: u64, field: u64) -> i64 {
    i64::from(reflect::field_of(of(env).object_of(field)).1.offset)
}

extern "C" fn field_offset_by_name(env: u64, _this: u64, class: u64, name: u64) -> i64 {
    let thread = &*of(env);
    let class = mirror::class_of(thread.object_of(class));
    let name = string::text(thread.object_of(name));
    match class.field_named(&name) {
        Some(field) => i64::from(field.offset),
        None => {
            let _ = thread.throw("java/lang/InternalError", &name);
            0
        }
    }
}

extern "C" fn static_field_base(env: u64, _this: u64, field: u64) -> u64 {
    let thread = &*of(env);
    thread.new_local(reflect::field_of(thread.object_of(field)).0.statics())
}

fn class(env: u64, mirror: u64) -> &'static Class {
    mirror::class_of(of(env).object_of(mirror))
}

extern "C" fn should_be_initialized(env: u64, _this: u64, mirror: u64) -> u8 {
    u8::from(!class(env, mirror).is_initialized())
}

extern "C" fn ensure_initialized(env: u64, _this: u64, mirror: u64) {
    let _ = class(env, mirror).initialize(&of(env));
}

extern "C" fn array_base_offset(_env: u64, _this: u64, _class: u64) -> i32 {
    abi::object::ARRAY_ELEMENTS_OFFSET as i32
}

extern "C" fn array_index_scale(env: u64, _this: u64, mirror: u64) -> i32 {
    1 << class(env, mirror).layout.element_shift
}

extern "C" fn allocate_instance(env: u64, _this: u64, mirror: u64) -> u64 {
    let thread = &*of(env);
    let make = || {
        let class = class(env, mirror);
        if resolve::check_instantiable(thread, class).is_err() {
            thread.take_exception();
            let name = class.java_name();
            return Err(thread.throw("java/lang/InstantiationException", &name));
        }
        class.initialize(thread)?;
        Ok::<_, Thrown>(thread.new_local(resolve::new_object(thread, class)?))
    };
    outcome(make())
}

extern "C" fn throw_exception(env: u64, _this: u64, exception: u64) {
    let thread = &*of(env);
    let _ = thread.set_exception(thread.object_of(exception));
}

extern "C" fn define_class(
    env: u64,
    _this: u64,
    name: u64,
    bytes: u64,
    from: i32,
    size: i32,
    loader: u64,
    domain: u64,
) -> u64 {
    let thread = &*of(env);
    let name = thread
        .object_of(name)
        .some()
        .map(|name| Symbol::new(string::text(name).replace('.', "/").as_bytes()));
    let bytes = thread.object_of(bytes);
    let bytes = memory::bytes_at(bytes.elements() + from as u64, size as usize);
    let definition = Definition {
        protection_domain: thread.object_of(domain),
        ..Definition::plain(
            loader::of(thread.object_of(loader)),
            name,
            Box::leak(bytes.into_boxed_slice()),
        )
    };
    outcome(define::define(thread, definition).map(|class| thread.new_local(class.mirror())))
}

/// `isAbsolute`: milliseconds of the wall clock; else nanoseconds from now, 0 for no limit.
extern "C" fn park(env: u64, _this: u64, is_absolute: u8, time: i64) {
    use rt::clock::{Clock, Monotonic};
    let thread = &*of(env);
    if java_thread::is_interrupted(thread) {
        thread.parker.try_park();
        return;
    }
    let now_ns = Monotonic.now_ns();
    let due_ns = if is_absolute != 0 {
        let wall = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let wall_ms = wall.map_or(0, |since| since.as_millis() as i64);
        let left_ms = time.saturating_sub(wall_ms).max(0) as u64;
        Some(now_ns.saturating_add(left_ms.saturating_mul(1_000_000)))
    } else if time > 0 {
        Some(now_ns.saturating_add(time as u64))
    } else {
        None
    };
    thread.expect_work(due_ns);
    let has_timeout = due_ns.is_some();
    let wait = Wait::Permit { has_timeout };
    let blocker = lend::blocker_of(thread).map(ObjectRef::class);
    let park = || match lend::park(crate::threads::thread::Thread::of_env(env), due_ns) {
        Parked::Lending => true,
        Parked::Plainly => {
            java_thread::waiting(thread, wait, ObjectRef::NULL, || {
                thread.parker.park_until(due_ns)
            });
            false
        }
    };
    ledger::timed(thread, park, |ledger, ns, &has_lent| {
        let waits = if has_lent {
            &ledger.locks
        } else {
            &ledger.ownerless
        };
        waits.add(ns, blocker);
    });
}

extern "C" fn unpark(env: u64, _this: u64, target: u64) {
    let thread = &*of(env);
    if let Some(target) = thread.object_of(target).some() {
        lend::unpark(thread, target);
    }
}

extern "C" fn load_average(env: u64, _this: u64, averages: u64, count: i32) -> i32 {
    let mut values = [0.0_f64; 3];
    // SAFETY: 1. Room for three values.
    let found = unsafe { libc::getloadavg(values.as_mut_ptr(), count.clamp(0, 3)) };
    let thread = &*of(env);
    let averages = thread.object_of(averages);
    for (index, value) in values.iter().take(found.max(0) as usize).enumerate() {
        averages.set_element(index as u32, *value);
    }
    found
}
