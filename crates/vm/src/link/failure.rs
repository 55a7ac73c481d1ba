// SPDX-License-Identifier: Apache-2.0
//! What failed once fails again in the same way: initialisers and constants.
//!
//! Who needs a class whose initialiser threw gets an error whose cause says what that was. A
//! constant that met a LinkageError meets one of the same class and words at every later attempt,
//! whatever could be loaded by then (JVM specification, 5.4.3).

use core::sync::atomic::Ordering;

use crate::classes::class::Class;
use crate::classes::failure::{Failure, Unresolved, Words};
use crate::classes::known::{known, offset};
use crate::classes::object::ObjectRef;
use crate::link::resolve::is_boot;
use crate::objects::{heap_binding, string};
use crate::threads::thread::{Thread, Thrown};

/// Keeps for `class` what its initialiser threw: the pending exception, which stays pending.
#[cold]
pub(super) fn keep_thrown(thread: &Thread, class: &'static Class) {
    let exception = thread.take_exception();
    match told(thread, exception) {
        Ok(error) => {
            heap_binding::keep(error);
            class.info.init.error.store(error.0, Ordering::Release);
        }
        // Stack or memory may be exhausted: then there is no cause.
        Err(_) => {
            thread.take_exception();
        }
    }
    let _ = thread.set_exception(exception);
}

/// Throws for a class whose initialiser threw.
#[cold]
pub(super) fn throw_uninitialized(thread: &Thread, class: &'static Class) -> Thrown {
    let message = format!("Could not initialize class {}", class.java_name());
    let cause = ObjectRef(class.info.init.error.load(Ordering::Acquire));
    thread.throw_with("java/lang/NoClassDefFoundError", Some(&message), cause)
}

/// An error in place of `exception`, with its trace: the exception itself may keep much alive.
fn told(thread: &Thread, exception: ObjectRef) -> Result<ObjectRef, Thrown> {
    let throwable = thread.boot_class("java/lang/Throwable")?;
    let method = |name, descriptor| {
        let method = throwable.method_named(name, descriptor);
        method.expect("Throwable has its trace's methods")
    };
    let get = method("getStackTrace", "()[Ljava/lang/StackTraceElement;");
    let set = method("setStackTrace", "([Ljava/lang/StackTraceElement;)V");
    // The program may have a getStackTrace of its own, which throws.
    let trace = thread.call_virtual(get, &[exception.0.into()]);
    let trace = trace.map_err(|_| thread.take_exception()).ok();
    let name = exception.class().java_name();
    let message = message_of(exception).map(|it| format!(": {it}"));
    let message = message.unwrap_or_default();
    let by = own_name(thread)?;
    let text = string::new_string(
        thread,
        &format!("Exception {name}{message} [in thread \"{by}\"]"),
    )?;
    let class = thread.boot_class("java/lang/ExceptionInInitializerError")?;
    let constructor = class.method_named("<init>", "(Ljava/lang/String;)V");
    let error = thread.new_instance(class, constructor, &[text.0.into()])?;
    if let Some(trace) = trace {
        thread.call_virtual(set, &[error.0.into(), trace])?;
    }
    Ok(error)
}

/// What an exception says beside its class.
pub(crate) fn message_of(exception: ObjectRef) -> Option<String> {
    let text = exception.get_ref(known().throwable_message);
    text.some().map(string::text)
}

/// Of the Java thread, if there is one yet.
fn own_name(thread: &Thread) -> Result<String, Thrown> {
    let place = offset(thread.boot_class("java/lang/Thread")?, "name");
    let name = thread.object().some().map(|it| it.get_ref(place));
    let name = name.and_then(ObjectRef::some);
    Ok(name.map(string::text).unwrap_or_default())
}

/// Throws what the first resolution threw.
#[cold]
pub(crate) fn throw_again(thread: &Thread, failure: &Failure) -> Thrown {
    let cause = failure.cause.as_ref().map(|cause| {
        let _ = thread.throw_with(&cause.class, cause.message.as_deref(), ObjectRef::NULL);
        thread.take_exception()
    });
    let (error, cause) = (&failure.error, cause.unwrap_or(ObjectRef::NULL));
    thread.throw_with(&error.class, error.message.as_deref(), cause)
}

/// Keeps the pending exception as the outcome of resolving `what`, if it is one that lasts. Android
/// resolves the names in DEX code anew each time.
#[cold]
pub(crate) fn keep(thread: &Thread, class: &'static Class, what: Unresolved) {
    let exception = thread.exception();
    let lasting = crate::classes::loader::loaded("java/lang/LinkageError");
    let is_lasting = lasting.is_some_and(|lasting| exception.is_instance_of(lasting));
    if class.info.dex.is_some() || !is_lasting || thread.is_ahead.get() {
        return;
    }
    // An error of a class that a program made cannot be made again: it is asked for again.
    if let Some(error) = words(exception) {
        let cause = exception.get_ref(known().throwable_cause).some();
        let cause = cause.filter(|cause| *cause != exception).and_then(words);
        class.info.failures.keep(what, Failure { error, cause });
    }
}

/// What a new exception of the same class and message needs.
fn words(exception: ObjectRef) -> Option<Words> {
    let class = exception.class();
    let message = message_of(exception);
    let descriptor = match message {
        Some(_) => "(Ljava/lang/String;)V",
        None => "()V",
    };
    let mut constructors = class.info.methods.iter().filter(|it| it.is_constructor());
    let can_be_made = is_boot(class) && constructors.any(|it| it.descriptor.is(descriptor));
    can_be_made.then(|| Words {
        class: class.name().to_string(),
        message,
    })
}
