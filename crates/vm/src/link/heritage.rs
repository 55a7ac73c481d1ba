// SPDX-License-Identifier: Apache-2.0
//! Whether a class may have the superclass and interfaces that it names, and override what it
//! overrides (JVM specification, 5.3.5).

use classfile::{ClassFile, access};

use crate::classes::class::Class;
use crate::classes::library::Library;
use crate::link::define::Definition;
use crate::link::message;
use crate::link::mirror;
use crate::link::module;
use crate::memory::hash::Set;
use crate::memory::symbol::Symbol;
use crate::threads::thread::{Thread, Thrown};

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
        heir.check_permission(parent, "inherit from sealed class")?;
        heir.check_reflection(parent)?;
        heir.check_access(parent, "superclass")?;
        heir.check_overriding(parent)?;
    }
    interfaces.iter().try_for_each(|interface| {
        heir.check_permission(interface, "implement sealed interface")?;
        heir.check_access(interface, "superinterface")
    })
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

    fn package(&self) -> &[u8] {
        let name = self.file.name;
        let end = name.iter().rposition(|&b| b == b'/').unwrap_or(0);
        &name[..end]
    }

    fn is_in_package_of(&self, other: &Class) -> bool {
        let is_same_loader = core::ptr::eq(self.definition.loader, other.info.loader);
        is_same_loader && *self.package() == *other.package()
    }

    /// Whether the library's reflection defines it, as code that may see everything.
    fn is_of_reflection(&self) -> bool {
        let loader = self.definition.loader.object().some();
        loader.is_some_and(|it| it.class().descends_from(Library::DelegatingClassLoader))
    }

    /// A class below those of the library's reflection is that reflection's own. As on HotSpot the
    /// package's name counts, no matter who defines it: a lure of the same name has no heirs.
    fn check_reflection(&self, parent: &'static Class) -> Result<(), Thrown> {
        if parent.package() != b"jdk/internal/reflect" || self.is_of_reflection() {
            return Ok(());
        }
        let message = format!(
            "class {} loaded by {} cannot access jdk/internal/reflect superclass {}",
            self.name(),
            mirror::loader_name(self.definition.loader),
            parent.java_name()
        );
        Err(self.thread.throw("java/lang/IllegalAccessError", &message))
    }

    /// A sealed parent names its heirs, in its own module and, unless they are public, its own
    /// package.
    fn check_permission(&self, parent: &'static Class, words: &str) -> Result<(), Thrown> {
        let Some(permitted) = &parent.info.file.permitted_subclasses else {
            return Ok(());
        };
        let pool = &parent.info.file.constants;
        let mut names = permitted.iter().filter_map(|&it| pool.class_name(it).ok());
        let is_named = self.definition.hidden.is_none() && names.any(|it| it == self.file.name);
        let is_public = self.file.access & access::PUBLIC != 0;
        let module = mirror::module_of_package(self.definition.loader, self.package());
        if is_named
            && (is_public || self.is_in_package_of(parent))
            && module == mirror::module_of(parent)
        {
            return Ok(());
        }
        let message = format!(
            "class {} cannot {words} {}",
            self.name(),
            parent.java_name()
        );
        let error = "java/lang/IncompatibleClassChangeError";
        Err(self.thread.throw(error, &message))
    }

    fn check_access(&self, parent: &'static Class, word: &str) -> Result<(), Thrown> {
        let is_reflections_own = parent.descends_from(Library::MagicAccessorImpl);
        if is_reflections_own || self.is_in_package_of(parent) {
            return Ok(());
        }
        if parent.info.file.access & access::PUBLIC != 0 {
            return self.check_module(parent, word);
        }
        let homes = message::homes_of_heir(&self.name(), self.definition.loader, parent);
        let message = format!(
            "class {} cannot access its {word} {} ({homes})",
            self.name(),
            parent.java_name()
        );
        Err(self.thread.throw("java/lang/IllegalAccessError", &message))
    }

    /// Whether the module of a public parent exports it to the heir's.
    fn check_module(&self, parent: &'static Class, word: &str) -> Result<(), Thrown> {
        let own = mirror::module_of_package(self.definition.loader, self.package());
        let Some(refusal) = module::refusal_of(own, parent) else {
            return Ok(());
        };
        let why = message::hidden_by_module(&self.name(), own, parent, refusal);
        // HotSpot's words.
        let what = if word == "superclass" { " access" } else { "" };
        let message = format!("{word}{what} check failed: {why}");
        Err(self.thread.throw("java/lang/IllegalAccessError", &message))
    }

    fn check_overriding(&self, parent: &'static Class) -> Result<(), Thrown> {
        let own = self.file.methods.iter();
        let own: Set<(&[u8], &[u8])> = own
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
