// SPDX-License-Identifier: Apache-2.0
//! What named modules read and export (JVM specification, 5.4.4), as `java.lang.Module` tells the
//! machine.
//!
//! A module is its object, which is kept for ever and never moves. Asked when a constant is
//! resolved, under a lock that is held for a look-up or two; what is resolved is not asked again.
//! There are as many entries as Java code makes: one for each module, and for each package that it
//! exports, with those that it is exported to.

use std::sync::LazyLock;

use crate::classes::class::Class;
use crate::classes::known::known;
use crate::classes::object::ObjectRef;
use crate::memory::hash::{Map, Set};
use crate::objects::heap_binding;
use crate::sync::lock::Lock;

/// Why a class may not be named.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refusal {
    NotRead,
    NotExported,
}

/// A module with a name; all others read every module, and export every package.
#[derive(Default)]
struct Named {
    /// Each of its packages is exported.
    is_open: bool,
    reads_all_unnamed: bool,
    reads: Set<u32>,
    exports: Map<Box<[u8]>, Whom>,
}

/// Whom a package is exported to.
#[derive(Default)]
struct Whom {
    all: bool,
    all_unnamed: bool,
    modules: Set<u32>,
}

static NAMED: LazyLock<Lock<Map<u32, Named>>> = LazyLock::new(Lock::default);

/// A module gets its name.
pub(crate) fn define(module: ObjectRef, is_open: bool) {
    heap_binding::keep(module);
    let named = Named {
        is_open,
        ..Named::default()
    };
    NAMED.lock().insert(module.0, named);
}

/// `from` reads `other`, or every module without a name for null.
pub(crate) fn add_reads(from: ObjectRef, other: ObjectRef) {
    heap_binding::keep(other);
    if let Some(named) = NAMED.lock().get_mut(&from.0) {
        match other.some() {
            Some(other) => {
                named.reads.insert(other.0);
            }
            None => named.reads_all_unnamed = true,
        }
    }
}

/// Whom [`add_export`] is about.
#[derive(Clone, Copy)]
pub(crate) enum Target {
    All,
    AllUnnamed,
    Module(ObjectRef),
}

/// `from` exports a package.
pub(crate) fn add_export(from: ObjectRef, package: &[u8], target: Target) {
    if let Target::Module(module) = target {
        heap_binding::keep(module);
    }
    let mut modules = NAMED.lock();
    let Some(named) = modules.get_mut(&from.0) else {
        return;
    };
    let whom = named.exports.entry(package.into()).or_default();
    match target {
        Target::All => whom.all = true,
        Target::AllUnnamed => whom.all_unnamed = true,
        Target::Module(module) => {
            whom.modules.insert(module.0);
        }
    }
}

/// Why code of `from` may not name `class`, which is public, if it may not.
pub(crate) fn refusal(from: &'static Class, class: &'static Class) -> Option<Refusal> {
    refusal_of(of_class(from)?, class)
}

/// As [`refusal`], for code of module `source`; null before the library has defined its modules.
pub(crate) fn refusal_of(source: ObjectRef, class: &'static Class) -> Option<Refusal> {
    let (source, target) = (source.some()?, of_class(class)?);
    if source == target {
        return None;
    }
    let modules = NAMED.lock();
    let source_named = modules.get(&source.0);
    let Some(named) = modules.get(&target.0) else {
        let reads =
            source_named.is_none_or(|it| it.reads_all_unnamed || it.reads.contains(&target.0));
        return (!reads).then_some(Refusal::NotRead);
    };
    let is_base = known().object.mirror().get_ref(known().mirror_module) == target;
    if !is_base && source_named.is_some_and(|it| !it.reads.contains(&target.0)) {
        return Some(Refusal::NotRead);
    }
    let is_exported = named.is_open
        || named.exports.get(class.package()).is_some_and(|whom| {
            whom.all
                || whom.all_unnamed && source_named.is_none()
                || whom.modules.contains(&source.0)
        });
    (!is_exported).then_some(Refusal::NotExported)
}

/// None before the library has defined its modules.
fn of_class(class: &'static Class) -> Option<ObjectRef> {
    class.mirror().some()?.get_ref(known().mirror_module).some()
}
