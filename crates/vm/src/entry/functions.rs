// SPDX-License-Identifier: Apache-2.0
//! The runtime's entry points, as compiled code calls them: see [`compiler::Entry`].
//!
//! Each leaves an exception pending in the context; its trampoline throws it.

use abi::context::MutatorContext;

use crate::classes::class::{Class, Method};
use crate::classes::object::ObjectRef;
use crate::classes::site::Site;
use crate::compile::again;
use crate::console;
use crate::link::refusal;
use crate::link::resolve;
use crate::memory;
use crate::monitors::monitor;
use crate::objects::array;
use crate::objects::heap_binding;
use crate::threads::ledger;
use crate::threads::saved;
use crate::threads::thread::{Holds, Thread, Thrown};

type Caller<'a> = &'a MutatorContext;

const ILLEGAL_MONITOR_STATE: &str = "java/lang/IllegalMonitorStateException";

fn or_zero<T: Default>(outcome: Result<T, Thrown>) -> T {
    outcome.unwrap_or_default()
}

pub(crate) extern "C" fn poll(cx: Caller<'_>) {
    let thread = Thread::of_context(cx);
    ledger::timed(
        thread,
        || heap_binding::poll_of_managed(thread),
        |ledger, ns, ()| ledger.handshakes.add(ns, None),
    );
}

/// Before a native method; `last_frame` is the bridge's already.
pub(crate) extern "C" fn enter_native(cx: Caller<'_>) {
    Thread::of_context(cx).enter_native();
}

/// Behind a native method.
pub(crate) extern "C" fn leave_native(cx: Caller<'_>) {
    Thread::of_context(cx).leave_native();
}

/// The object behind a reference that a native method returned.
pub(crate) extern "C" fn object_of(cx: Caller<'_>, reference: u64) -> u32 {
    Thread::of_context(cx).object_of(reference).0
}

/// A reference object gets its referent.
pub(crate) extern "C" fn write_referent(cx: Caller<'_>, reference: ObjectRef, referent: ObjectRef) {
    heap_binding::write_referent(Thread::of_context(cx), reference, referent);
}

/// `Reference.get` while the collector may be giving the referent up.
pub(crate) extern "C" fn read_referent(cx: Caller<'_>, reference: ObjectRef) -> u32 {
    heap_binding::read_referent(Thread::of_context(cx), reference).0
}

pub(crate) extern "C" fn throw_stack_overflow(cx: Caller<'_>) {
    Thread::of_context(cx).throw_stack_overflow();
}

pub(crate) extern "C" fn throw_null(cx: Caller<'_>) {
    let _ = Thread::of_context(cx).throw_for_managed("java/lang/NullPointerException", None);
}

pub(crate) extern "C" fn throw_bounds(cx: Caller<'_>, index: i32, length: i32) {
    let message = format!("Index {index} out of bounds for length {length}");
    let class = "java/lang/ArrayIndexOutOfBoundsException";
    let _ = Thread::of_context(cx).throw_for_managed(class, Some(&message));
}

pub(crate) extern "C" fn throw_divide(cx: Caller<'_>) {
    let class = "java/lang/ArithmeticException";
    let _ = Thread::of_context(cx).throw_for_managed(class, Some("/ by zero"));
}

pub(crate) extern "C" fn throw_cast(cx: Caller<'_>, object: ObjectRef, class: u64) {
    let thread = Thread::of_context(cx);
    let message = crate::link::message::cast(object.class(), Class::at(class as u32));
    let _ = thread.throw_for_managed("java/lang/ClassCastException", Some(&message));
}

/// Code of an interface calls a method of its own on an object of another kind.
pub(crate) extern "C" fn throw_receiver(cx: Caller<'_>, object: ObjectRef, class: u64) {
    let thread = Thread::of_context(cx);
    let message = crate::link::message::receiver(object.class(), Class::at(class as u32));
    let _ = thread.throw("java/lang/IllegalAccessError", &message);
}

pub(crate) extern "C" fn throw(cx: Caller<'_>, exception: ObjectRef) {
    let _ = Thread::of_context(cx).set_exception(exception);
}

/// The exception is pending already.
pub(crate) extern "C" fn throw_pending(cx: Caller<'_>) {
    debug_assert!(!Thread::of_context(cx).exception().is_null());
}

/// A native method's references have no room.
pub(crate) extern "C" fn throw_locals_full(cx: Caller<'_>) {
    let _ = Thread::of_context(cx).throw_locals_full();
}

pub(crate) extern "C" fn resolve(cx: Caller<'_>, site: u64) -> u64 {
    or_zero(Site::at(site).resolve(Thread::of_context(cx), Holds::Nothing))
}

pub(crate) extern "C" fn new_object(cx: Caller<'_>, class: u64) -> u32 {
    let (thread, class) = (Thread::of_context(cx), Class::at(class as u32));
    let make = || {
        let object = if class.has_finalizer() {
            resolve::new_object(thread, class)
        } else {
            heap_binding::new_object_for_managed(thread, class)
        };
        or_zero(object).0
    };
    ledger::timed(thread, make, |ledger, ns, _| {
        ledger.allocations.add(ns, Some(class));
    })
}

pub(crate) extern "C" fn new_array(cx: Caller<'_>, class: u64, length: i32) -> u32 {
    let (thread, class) = (Thread::of_context(cx), Class::at(class as u32));
    let make = || {
        let array = match u32::try_from(length) {
            Ok(length) => heap_binding::new_array_for_managed(thread, class, length),
            Err(_) => array::new(thread, class, length),
        };
        or_zero(array).0
    };
    ledger::timed(thread, make, |ledger, ns, _| {
        ledger.allocations.add(ns, Some(class));
    })
}

pub(crate) extern "C" fn new_multi_array(
    cx: Caller<'_>,
    class: u64,
    count: u32,
    lengths: u64,
) -> u32 {
    let lengths: Vec<i32> = (0..u64::from(count))
        .map(|i| memory::read(lengths + i * 4))
        .collect();
    or_zero(array::new_multi(
        Thread::of_context(cx),
        Class::at(class as u32),
        &lengths,
    ))
    .0
}

pub(crate) extern "C" fn is_subtype(_cx: Caller<'_>, own: u64, class: u64) -> u32 {
    u32::from(Class::at(own as u32).is_subtype_of(Class::at(class as u32)))
}

pub(crate) extern "C" fn check_store(cx: Caller<'_>, array: ObjectRef, value: ObjectRef) {
    let element = array
        .class()
        .info
        .element
        .expect("stores of elements are into arrays");
    if !value.is_instance_of(element) {
        let name = value.class().java_name();
        let _ = Thread::of_context(cx).throw("java/lang/ArrayStoreException", &name);
    }
}

/// All that storing a reference in an array does, for code that does it many times.
pub(crate) extern "C" fn store_element(
    cx: Caller<'_>,
    array: ObjectRef,
    index: i32,
    value: ObjectRef,
) {
    if array.is_null() {
        return throw_null(cx);
    }
    let length = array.length();
    if index as u32 >= length {
        return throw_bounds(cx, index, length as i32);
    }
    if !value.is_null() {
        check_store(cx, array, value);
        if !Thread::of_context(cx).exception().is_null() {
            return;
        }
    }
    let slot = array.elements() + u64::from(index as u32) * 4;
    write_slow(cx, array, 0, value, slot);
    memory::write(slot, value.0);
}

/// A cast of an object that is not null.
pub(crate) extern "C" fn check_cast(cx: Caller<'_>, object: ObjectRef, class: u64) {
    if !object.is_instance_of(Class::at(class as u32)) {
        throw_cast(cx, object, class);
    }
}

pub(crate) extern "C" fn monitor_enter(cx: Caller<'_>, object: ObjectRef) {
    monitor::enter(Thread::of_context(cx), object);
}

pub(crate) extern "C" fn monitor_exit(cx: Caller<'_>, object: ObjectRef) {
    let _ = monitor::exit(Thread::of_context(cx), object);
}

pub(crate) extern "C" fn locks_begin(cx: Caller<'_>) -> u32 {
    Thread::of_context(cx).noted_locks.count()
}

pub(crate) extern "C" fn lock_noted(cx: Caller<'_>, object: ObjectRef) {
    let thread = Thread::of_context(cx);
    // Before the wait: the note keeps the object.
    thread.noted_locks.note(object);
    monitor::enter(thread, object);
}

pub(crate) extern "C" fn unlock_noted(cx: Caller<'_>, object: ObjectRef, begin: u32) {
    let thread = Thread::of_context(cx);
    if thread.noted_locks.take(object, begin) {
        let _ = monitor::exit(thread, object);
    } else {
        let _ = thread.throw_plain(ILLEGAL_MONITOR_STATE);
    }
}

pub(crate) extern "C" fn locks_return(cx: Caller<'_>, begin: u32) {
    let thread = Thread::of_context(cx);
    if thread.noted_locks.count() > begin {
        let _ = thread.throw_plain(ILLEGAL_MONITOR_STATE);
    }
}

pub(crate) extern "C" fn locks_unwind(cx: Caller<'_>, begin: u32) {
    let thread = Thread::of_context(cx);
    let mut was_held = false;
    while let Some(object) = thread.noted_locks.take_last(begin) {
        was_held = true;
        if monitor::exit(thread, object).is_err() {
            return;
        }
    }
    if was_held {
        let _ = thread.throw_plain(ILLEGAL_MONITOR_STATE);
    }
}

pub(crate) extern "C" fn select_interface(cx: Caller<'_>, class: u64, method: u64) -> u64 {
    let thread = Thread::of_context(cx);
    let method = Method::at(method);
    let class = Class::at(class as u32);
    let selected = match method.vtable_offset() {
        Some(offset) => Ok(class.vtable_entry(offset)),
        None if !method.class().is_interface() => Ok(method),
        None => resolve::select_interface(thread, class, method),
    };
    selected.map_or(0, Method::address)
}

/// The slot says which log word it is, also where compiled code looked at another one.
pub(crate) extern "C" fn write_slow(
    cx: Caller<'_>,
    object: ObjectRef,
    _log_word: u64,
    value: ObjectRef,
    slot: u64,
) {
    let thread = Thread::of_context(cx);
    if let Some(ledger) = thread.ledger() {
        ledger.pass_barrier();
    }
    heap_binding::write_barrier_by(thread, object, slot, value);
}

pub(crate) extern "C" fn bind_native(cx: Caller<'_>, method: u64) -> u64 {
    or_zero(crate::link::native::bind(
        Thread::of_context(cx),
        Method::at(method),
    ))
}

pub(crate) extern "C" fn array_copy(
    cx: Caller<'_>,
    source: ObjectRef,
    from: i32,
    target: ObjectRef,
    to: i32,
    count: i32,
) {
    let _ = array::copy(Thread::of_context(cx), source, from, target, to, count);
}

pub(crate) extern "C" fn rem_float(_cx: Caller<'_>, x: f32, y: f32) -> f32 {
    x % y
}

pub(crate) extern "C" fn rem_double(_cx: Caller<'_>, x: f64, y: f64) -> f64 {
    x % y
}

/// `System.nanoTime`, in managed state: it waits for nobody.
pub(crate) extern "C" fn nano_time(_cx: Caller<'_>) -> i64 {
    console::now_ns() as i64
}

/// It waits for nobody, but inflates a thin lock.
pub(crate) extern "C" fn identity_hash(_cx: Caller<'_>, object: ObjectRef) -> i32 {
    monitor::identity_hash(object)
}

pub(crate) extern "C" fn initialize_class(cx: Caller<'_>, class: u64) {
    let _ = Class::at(class as u32).initialize_holding(Thread::of_context(cx), Holds::Nothing);
}

/// A method's first call, or any call of an abstract one. The receiver is of instance methods.
pub(crate) extern "C" fn compile(cx: Caller<'_>, method: u64, receiver: ObjectRef) -> u64 {
    saved::clear_stack_below();
    let (thread, method) = (Thread::of_context(cx), Method::at(method));
    if method.is_abstract() {
        let _ = refusal::thrown_for(thread, receiver, method);
        return 0;
    }
    if let Some(code) = again::called(thread, method) {
        return code;
    }
    let compile = || or_zero(crate::compile::method::entry_of(thread, method));
    ledger::timed(thread, compile, |ledger, ns, _| {
        ledger.late_method(method, ns);
    })
}
