// SPDX-License-Identifier: Apache-2.0
//! Whether a class may have the superclass and interfaces that it names, and override what it overrides
//! (JVM specification, 5.3.5).

use std::collections::HashSet;

use classfile::{ClassFile, access};

use super::Definition;
use crate::access::MAGIC_ACCESSOR;
use crate::class::Class;
use crate::message;
use crate::symbol::Symbol;
use crate::thread::{Thread, Thrown};

/// Throws what HotSpot throws for a class that takes what it may not have.
pub(super) fn check(
    thread: &Thread,
    definition: &Definition,
    file: &ClassFile<'static>,
    super_class: Option<&'static Class>,
    interfaces: &[&'static Class],
) -> Result<(), Thrown> {
    let heir = Heir {
        thread,
        definition,
        file,
    };
    if let Some(parent) = super_class {
        if is_magic(parent) {
            return Ok(());
        }
        heir.check_parent(parent, ["superclass", "inherit from sealed class"])?;
        heir.check_overriding(parent)?;
    }
    let words = ["superinterface", "implement sealed interface"];
    interfaces
        .iter()
        .try_for_each(|interface| heir.check_parent(interface, words))
}

/// Code that the library's reflection generates may see everything.
fn is_magic(class: &'static Class) -> bool {
    let mut line = core::iter::successors(Some(class), |class| class.super_class());
    line.any(|class| class.name().is(MAGIC_ACCESSOR))
}

/// A class that is about to be.
struct Heir<'a> {
    thread: &'a Thread,
    definition: &'a Definition,
    file: &'a ClassFile<'static>,
}

impl Heir<'_> {
    fn name(&self) -> String {
        Symbol::new(self.file.name).dotted()
    }

    fn is_in_package_of(&self, other: &Class) -> bool {
        let name = self.file.name;
        let end = name.iter().rposition(|&b| b == b'/').unwrap_or(0);
        core::ptr::eq(self.definition.loader, other.info.loader) && name[..end] == *other.package()
    }

    fn check_parent(&self, parent: &'static Class, words: [&str; 2]) -> Result<(), Thrown> {
        let is_public = parent.info.file.access & access::PUBLIC != 0;
        if !is_public && !self.is_in_package_of(parent) {
            let homes = message::homes_of_heir(&self.name(), self.definition.loader, parent);
            let message = format!(
                "class {} cannot access its {} {} ({homes})",
                self.name(),
                words[0],
                parent.java_name()
            );
            return Err(self.thread.throw("java/lang/IllegalAccessError", &message));
        }
        let pool = &parent.info.file.constants;
        let is_permitted = parent
            .info
            .file
            .permitted_subclasses
            .as_ref()
            .is_none_or(|all| {
                all.iter().any(|&index| {
                    pool.class_name(index)
                        .is_ok_and(|name| name == self.file.name)
                })
            });
        if is_permitted {
            return Ok(());
        }
        let message = format!(
            "class {} cannot {} {}",
            self.name(),
            words[1],
            parent.java_name()
        );
        Err(self
            .thread
            .throw("java/lang/IncompatibleClassChangeError", &message))
    }

    fn check_overriding(&self, parent: &'static Class) -> Result<(), Thrown> {
        let own = self.file.methods.iter();
        let own: HashSet<(&[u8], &[u8])> = own
            .filter(|it| it.access & (access::STATIC | access::PRIVATE) == 0)
            .map(|it| (it.name, it.descriptor))
            .collect();
        let inherited = parent.info.vtable.iter();
        let broken = inherited
            .filter(|it| it.access & access::FINAL != 0)
            .find(|it| {
                let is_wide = it.access & (access::PUBLIC | access::PROTECTED) != 0;
                own.contains(&(it.name.bytes(), it.descriptor.bytes()))
                    && (is_wide || self.is_in_package_of(it.class()))
            });
        let Some(method) = broken else {
            return Ok(());
        };
        let message = format!(
            "class {} overrides final method {}.{}{}",
            self.name(),
            method.class().java_name(),
            method.name,
            method.descriptor
        );
        Err(self
            .thread
            .throw("java/lang/IncompatibleClassChangeError", &message))
    }
}
