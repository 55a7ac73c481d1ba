// SPDX-License-Identifier: Apache-2.0
//! On whose behalf a thread acts: `java.security.AccessController`. Nobody enforces it without a
//! security manager, but subjects (`Subject.doAs`) travel with it.

use core::sync::atomic::Ordering;

use crate::classes::class::{Class, Method};
use crate::classes::known::offset;
use crate::classes::library::Library;
use crate::classes::object::ObjectRef;
use crate::inspect::backtrace;
use crate::jni::{of, outcome};
use crate::link::define;
use crate::objects::array;
use crate::threads::thread::{Thread, Thrown};
use crate::threads::unwind::{self, FrameRecord};
use compiler::machine_word;

/// What the frames of a thread say, down to the innermost `doPrivileged`.
struct Found {
    /// Of the classes on the way, without those of the library and without repetitions in a row.
    domains: Vec<ObjectRef>,
    /// There was one; the context that it was given, or null.
    privileged: Option<ObjectRef>,
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetStackAccessControlContext(env: u64, _class: u64) -> u64 {
    let thread = &*of(env);
    outcome(stack_context(thread).map(|context| thread.new_local(context)))
}

/// What the thread that started this one acted for.
#[unsafe(no_mangle)]
extern "C" fn JVM_GetInheritedAccessControlContext(env: u64, _class: u64) -> u64 {
    let thread = &*of(env);
    let own = thread.object();
    let field = offset(own.class(), "inheritedAccessControlContext");
    thread.new_local(own.get_ref(field))
}

/// Null: the library alone, and nothing inherited.
fn stack_context(thread: &Thread) -> Result<ObjectRef, Thrown> {
    let class = thread.boot_class("java/security/AccessControlContext")?;
    let found = look(thread, class);
    let given = found.privileged.unwrap_or(ObjectRef::NULL);
    if found.domains.is_empty() && found.privileged.is_some() && given.is_null() {
        return Ok(ObjectRef::NULL);
    }
    let domains = if found.domains.is_empty() {
        ObjectRef::NULL
    } else {
        let element = thread.boot_class("java/security/ProtectionDomain")?;
        let all = define::array_of(thread, element)?;
        let all = array::new(thread, all, found.domains.len() as i32)?;
        // Classes keep their domains: they need not be held here.
        for (index, &domain) in (0..).zip(&found.domains) {
            all.set_ref_element(index, domain);
        }
        all
    };
    let context = thread.new_instance(class, None, &[])?;
    context.put_ref(offset(class, "context"), domains);
    context.put_ref(offset(class, "privilegedContext"), given);
    context.put(
        offset(class, "isPrivileged"),
        u8::from(found.privileged.is_some()),
    );
    // Only the library makes one this way.
    context.put(offset(class, "isAuthorized"), 1_u8);
    Ok(context)
}

fn look(thread: &Thread, context_class: &'static Class) -> Found {
    let mut found = Found {
        domains: Vec::new(),
        privileged: None,
    };
    let mut each = |method: &'static Method, record: Option<FrameRecord>| {
        let class = method.class();
        let is_controller = class.is(Library::AccessController);
        if found.privileged.is_none() && is_controller && method.name.is("executePrivileged") {
            let is_context = |it: &ObjectRef| core::ptr::eq(it.class(), context_class);
            let given = record.and_then(|record| record.references().find(is_context));
            found.privileged = Some(given.unwrap_or(ObjectRef::NULL));
        }
        // Behind a privileged frame counts who asked for it, and nobody else.
        let is_asking = found.privileged.is_some();
        if is_asking && (is_controller || backtrace::is_ignored(method)) {
            return true;
        }
        let domain = ObjectRef(class.info.protection_domain.load(Ordering::Acquire));
        if !domain.is_null() && found.domains.last() != Some(&domain) {
            found.domains.push(domain);
        }
        !is_asking
    };
    let frame = thread.context().last_frame.load(Ordering::Relaxed);
    let native = thread.word(machine_word::LAST_METHOD);
    unwind::walk_records(thread, frame, native, |frame, record| {
        each(frame.method, record)
    });
    found
}
