// SPDX-License-Identifier: Apache-2.0
//! Who may see which class and member (JVM specification, 5.4.4).

use classfile::access;

use crate::classes::class::{Class, ClassKind};
use crate::classes::library::Library;
use crate::link::message;
use crate::link::mirror;
use crate::link::module;
use crate::link::resolve::{self, Policy};
use crate::memory::symbol::Symbol;
use crate::threads::thread::Thread;

/// A field or method that was found by looking in `resolved`.
#[derive(Clone, Copy)]
pub(crate) struct Found {
    pub(crate) resolved: &'static Class,
    pub(crate) holder: &'static Class,
    pub(crate) access: u16,
}

/// Whether `from` may name `class`.
pub(crate) fn sees_class(from: &'static Class, class: &'static Class) -> bool {
    let class = innermost(class);
    class.info.kind != ClassKind::Instance
        || core::ptr::eq(from, class)
        || from.is_in_package_of(class)
        || (class.info.file.access & access::PUBLIC != 0 && module::refusal(from, class).is_none())
        || is_reflections_own(from)
}

/// Refuses with IllegalAccessError unless `from` may name `class`.
pub(crate) fn check_class<P: Policy>(
    policy: P,
    from: &'static Class,
    class: &'static Class,
) -> Result<(), P::Refusal> {
    if sees_class(from, class) {
        return Ok(());
    }
    let class = innermost(class);
    let is_public = class.info.file.access & access::PUBLIC != 0;
    let message = || match module::refusal(from, class).filter(|_| is_public) {
        Some(refusal) => {
            let (name, module) = (from.java_name(), mirror::module_of(from));
            message::hidden_by_module(&name, module, class, refusal)
        }
        None => message::hidden_class(from, class),
    };
    Err(policy.refuse("java/lang/IllegalAccessError", message))
}

/// Refuses with IllegalAccessError unless `from` may use the member; `what` names it for the error.
pub(crate) fn check_member<P: Policy>(
    policy: P,
    from: &'static Class,
    found: Found,
    what: impl FnOnce() -> String,
) -> Result<(), P::Refusal> {
    if sees_member(policy, from, found) {
        return Ok(());
    }
    let kind = match found.access & (access::PRIVATE | access::PROTECTED) {
        access::PRIVATE => "private ",
        access::PROTECTED => "protected ",
        _ => "",
    };
    Err(policy.refuse("java/lang/IllegalAccessError", || {
        message::hidden_member(from, found.holder, &format!("{kind}{}", what()))
    }))
}

fn innermost(mut class: &'static Class) -> &'static Class {
    while let Some(element) = class.info.element {
        class = element;
    }
    class
}

/// Whether `from` may use the member.
fn sees_member<P: Policy>(policy: P, from: &'static Class, found: Found) -> bool {
    let Found {
        resolved,
        holder,
        access: flags,
    } = found;
    if flags & access::PUBLIC != 0 || core::ptr::eq(from, holder) || is_reflections_own(from) {
        return true;
    }
    if flags & access::PRIVATE != 0 {
        return match (host_of(policy, from), host_of(policy, holder)) {
            (Some(own), Some(other)) => core::ptr::eq(own, other),
            _ => false,
        };
    }
    if from.is_in_package_of(holder) {
        return true;
    }
    let is_inherited = flags & access::PROTECTED != 0 && from.is_subtype_of(holder);
    is_inherited
        && (flags & access::STATIC != 0
            || from.is_subtype_of(resolved)
            || resolved.is_subtype_of(from))
}

/// Code that the library's reflection generates may see everything. Nobody else can be its heir:
/// `link/heritage`.
pub(crate) fn is_reflections_own(class: &'static Class) -> bool {
    class.descends_from(Library::MagicAccessorImpl)
}

/// The class that decides who may see whose privates.
pub(crate) fn nest_host(thread: &Thread, class: &'static Class) -> &'static Class {
    host_of(thread, class).unwrap_or(class)
}

/// As [`nest_host`], or none if it is not known yet and may not be loaded.
fn host_of<P: Policy>(policy: P, class: &'static Class) -> Option<&'static Class> {
    if let Some(host) = class.info.host {
        return host_of(policy, host);
    }
    let Some(index) = class.info.file.nest_host else {
        return Some(class);
    };
    match resolve::class_at(policy, class, index) {
        Ok(host) if is_member(host, class) => Some(host),
        Ok(_) => Some(class),
        Err(refusal) => policy.forgives(refusal).then_some(class),
    }
}

/// A nest has only the members that its host lists.
fn is_member(host: &'static Class, class: &'static Class) -> bool {
    let file = &host.info.file;
    let names = file.nest_members.iter();
    host.is_in_package_of(class)
        && names
            .filter_map(|&index| file.constants.class_name(index).ok())
            .any(|name| Symbol::new(name) == class.name())
}
