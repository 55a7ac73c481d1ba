// SPDX-License-Identifier: Apache-2.0
//! Calls that select no method: what stands for one in a table, and what its call throws.
//!
//! A row of an interface table always leads to a record. Where a class has nothing to run, the
//! record is abstract: its call comes here with the receiver, whose class says why.

use std::collections::BTreeMap;

use crate::classes::class::{Class, Method};
use crate::classes::object::ObjectRef;
use crate::link::build;
use crate::link::message;
use crate::link::tables::{self, Selected};
use crate::sync::lock::Lock;
use crate::threads::thread::{Thread, Thrown};
use crate::threads::unwind::{self, Frame};

const INVOKE_STATIC: u8 = 0xb8;
const INVOKE_INTERFACE: u8 = 0xb9;

/// Abstract twins of default methods, by the address of each: one at most for each of them.
static TWINS: Lock<BTreeMap<u64, &'static Method>> = Lock::new(BTreeMap::new());

/// What a row holds for an interface's `method` where nothing is selected.
pub(super) fn of(method: &'static Method) -> &'static Method {
    if method.is_abstract() {
        return method;
    }
    let mut twins = TWINS.lock();
    twins
        .entry(method.address())
        .or_insert_with(|| build::abstract_twin(method))
}

/// Throws for a call of an abstract record on an object.
#[cold]
pub(crate) fn thrown_for(thread: &Thread, receiver: ObjectRef, record: &Method) -> Thrown {
    let holder = record.class();
    let (class, called) = (receiver.class(), holder.info.methods[record.index]);
    let refused = match holder.is_interface() {
        true => tables::select(class, called),
        false => Selected::Abstract,
    };
    thrown(thread, class, called, &refused)
}

/// Throws for a call of `method` on an instance of `class`.
#[cold]
pub(crate) fn thrown(
    thread: &Thread,
    class: &'static Class,
    method: &'static Method,
    refused: &Selected,
) -> Thrown {
    match refused {
        Selected::Conflict(defaults) if !is_called_by_interface(thread) => {
            let message = message::conflicting_defaults(defaults);
            thread.throw("java/lang/IncompatibleClassChangeError", &message)
        }
        Selected::NotPublic => {
            let method = message::method(class, method.name, method.descriptor);
            thread.throw("java/lang/IllegalAccessError", &format!("'{method}'"))
        }
        // Code may also call an abstract method directly.
        Selected::Abstract | Selected::Conflict(_) | Selected::Method(_) => {
            let message = message::abstract_method(class, method);
            thread.throw("java/lang/AbstractMethodError", &message)
        }
    }
}

/// Whether the calling code names an interface. Of conflicting defaults HotSpot tells only others,
/// callers by the class and reflection; here it has an AbstractMethodError, which is also an
/// IncompatibleClassChangeError as the JVM specification asks (invokeinterface).
fn is_called_by_interface(thread: &Thread) -> bool {
    let mut caller = None;
    unwind::walk(thread, |frame| {
        caller = Some(frame);
        false
    });
    let Some(Frame {
        method,
        at: Some(at),
    }) = caller
    else {
        return false;
    };
    let info = method.class().info;
    if info.dex.is_some() {
        return false;
    }
    let code = method.file().code.as_ref();
    let bytes = code.and_then(|code| code.bytes.get(at as usize..));
    match bytes {
        Some([INVOKE_INTERFACE, ..]) => true,
        // A method handle's own code.
        Some([INVOKE_STATIC, high, low, ..]) => {
            let member = info
                .file
                .constants
                .member(u16::from_be_bytes([*high, *low]));
            member.is_ok_and(|member| member.name == b"linkToInterface")
        }
        _ => false,
    }
}
