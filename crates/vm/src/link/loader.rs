// SPDX-License-Identifier: Apache-2.0
//! Finding classes by name, for each [`Loader`].

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use classfile::Jimage;

use crate::classes::class::{Class, ClassKind};
use crate::classes::known::known;
use crate::classes::loader::{DEFINED, LOADERS};
pub(crate) use crate::classes::loader::{Loader, all_classes, boot, defined_count, numbered};
use crate::classes::object::ObjectRef;
use crate::link::boot_path;
use crate::link::constraint::{self, Assumption, Ruling};
use crate::link::define::{self, Definition};
use crate::link::message;
use crate::link::own_module;
use crate::memory::hash::Map;
use crate::memory::symbol::Symbol;
use crate::objects::heap_binding;
use crate::objects::string;
use crate::sync::lock::Lock;
use crate::threads::thread::{Thread, Thrown};

static IMAGE: OnceLock<Jimage<'static>> = OnceLock::new();
/// Makes the boot loader over the JDK's module image.
pub(crate) fn start(image: Jimage<'static>) {
    let _ = IMAGE.set(image);
    make(ObjectRef::NULL);
}

fn make(object: ObjectRef) -> &'static Loader {
    heap_binding::keep(object);
    let mut loaders = LOADERS.lock();
    let loader: &'static Loader = Box::leak(Box::new(Loader {
        id: loaders.len() as u32,
        object: AtomicU32::new(object.0),
        classes: Lock::default(),
        modules: Lock::new(Map::default()),
        unnamed_module: AtomicU32::new(0),
    }));
    loaders.push(loader);
    loader
}

/// The loader behind a `ClassLoader` object or null.
pub(crate) fn of(object: ObjectRef) -> &'static Loader {
    if object.is_null() {
        return boot();
    }
    let offset = known().loader_id;
    match object.get::<u32>(offset) {
        0 => {
            let loader = make(object);
            object.put(offset, loader.id);
            loader
        }
        id => LOADERS.lock()[id as usize],
    }
}

impl Loader {
    /// As [`Self::loaded`], and classes that every loader must take from the boot loader.
    pub(crate) fn visible(&'static self, name: Symbol) -> Option<&'static Class> {
        if name.bytes().starts_with(b"[") {
            return self.visible_array(name);
        }
        let found = self.loaded(name);
        if found.is_none() && !self.is_boot() && name.bytes().starts_with(b"java/") {
            return boot().loaded(name);
        }
        found
    }

    fn visible_array(&'static self, name: Symbol) -> Option<&'static Class> {
        let element = match &name.bytes()[1..] {
            [b'L', class @ .., b';'] => self.visible(Symbol::new(class))?,
            array @ [b'[', ..] => self.visible(Symbol::new(array))?,
            [primitive] => crate::classes::known::primitive_by_code(*primitive)?,
            _ => return None,
        };
        define::array_of_loaded(element)
    }

    /// Finds a class as the language does; throws ClassNotFoundException or
    /// NoClassDefFoundError.
    pub(crate) fn load(
        &'static self,
        thread: &Thread,
        name: Symbol,
    ) -> Result<&'static Class, Thrown> {
        if let [b'[', element @ ..] = name.bytes() {
            return self.load_array(thread, name, element);
        }
        if let Some(found) = self.loaded(name) {
            return Ok(found);
        }
        if self.is_boot() {
            return match find_boot(thread, name)? {
                Some(class) => Ok(class),
                None => Err(thread.throw("java/lang/ClassNotFoundException", &name.dotted())),
            };
        }
        let argument = string::new_string(thread, &name.dotted())?;
        let load = known().load_class;
        let mirror = thread.call_virtual(load, &[self.object().0.into(), argument.0.into()])?;
        // A primitive type or a hidden class has no name that a loader could have it by.
        let is_named = |class: &&'static Class| {
            let is_nameless = class.info.kind != ClassKind::Instance || class.info.is_hidden;
            class.name() == name && !is_nameless
        };
        let class = ObjectRef(mirror as u32)
            .some()
            .map(crate::link::mirror::class_of);
        let Some(class) = class.filter(is_named) else {
            return Err(thread.throw("java/lang/ClassNotFoundException", &name.to_string()));
        };
        match self.take(class) {
            Ok(()) => Ok(class),
            Err(Refusal::Taken(known)) if core::ptr::eq(known, class) => Ok(class),
            Err(refusal) => Err(refusal.thrown(thread, self, class)),
        }
    }

    /// Means `class` by its name from now on.
    fn take(&self, class: &'static Class) -> Result<(), Refusal> {
        // Nobody else gets a class meanwhile.
        let mut agreements = constraint::AGREEMENTS.lock();
        if let Some(known) = self.loaded(class.name()) {
            return Err(Refusal::Taken(known));
        }
        agreements
            .settle(self, class)
            .map_err(|ruling| match ruling {
                Ruling::Agreed(other) => Refusal::Constrained(Class::at(other)),
                Ruling::Assumed(assumption) => Refusal::Unfit(assumption),
            })?;
        self.classes.lock().insert(class.name(), class);
        Ok(())
    }

    fn load_array(
        &'static self,
        thread: &Thread,
        name: Symbol,
        element: &[u8],
    ) -> Result<&'static Class, Thrown> {
        let missing = || thread.throw("java/lang/ClassNotFoundException", &name.dotted());
        let element = match element {
            [b'L', class @ .., b';'] if !class.is_empty() => {
                self.load(thread, Symbol::new(class))?
            }
            [b'[', ..] => self.load(thread, Symbol::new(element))?,
            [code] => crate::classes::known::primitive_by_code(*code).ok_or_else(missing)?,
            _ => return Err(missing()),
        };
        define::array_of(thread, element)
    }
}

/// A class of the boot loader, defined on first sight; `None` when the image has none.
pub(crate) fn find_boot(thread: &Thread, name: Symbol) -> Result<Option<&'static Class>, Thrown> {
    let boot = boot();
    if let Some(found) = boot.loaded(name) {
        return Ok(Some(found));
    }
    own_module::define_for(thread, name)?;
    let Some(bytes) = thread.outside(|| boot_bytes(name)) else {
        return Ok(None);
    };
    let definition = Definition::plain(boot, Some(name), bytes);
    match define::define(thread, definition) {
        Ok(class) => Ok(Some(class)),
        Err(thrown) => match boot.loaded(name) {
            // Another thread was faster.
            Some(class) => {
                thread.take_exception();
                Ok(Some(class))
            }
            None => Err(thrown),
        },
    }
}

/// Classes of the machine's own, by name: Android's class loaders, javax.realtime.
static OWN: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/boot_classes.rs"));

/// Modules whose classes the boot loader defines, unless a loader of Java code does.
fn boot_bytes(name: Symbol) -> Option<&'static [u8]> {
    let name = core::str::from_utf8(name.bytes()).ok()?;
    if let Ok(index) = OWN.binary_search_by_key(&name, |(own, _)| own) {
        return Some(OWN[index].1);
    }
    let file = format!("{name}.class");
    let package = name.rsplit_once('/').map_or("", |(package, _)| package);
    match image_module(package).filter(|module| is_boot_module(module)) {
        Some(module) => {
            let patched = boot_path::in_patch(module, &file);
            patched.or_else(|| IMAGE.get()?.find(module, &file))
        }
        None => {
            let added = boot_path::in_patches(&file, is_boot_module);
            added.or_else(|| boot_path::appended(&file))
        }
    }
}

/// Whether the class library has a class of this name, wherever it is.
pub(crate) fn is_in_image(name: &[u8]) -> bool {
    let find = || {
        let name = core::str::from_utf8(name).ok()?;
        let module = image_module(name.rsplit_once('/')?.0)?;
        IMAGE.get()?.find(module, &format!("{name}.class"))
    };
    name.starts_with(b"java/") && find().is_some()
}

/// The module of the JDK's image that a package, with slashes, is in.
pub(crate) fn image_module(package: &str) -> Option<&'static str> {
    IMAGE.get()?.module_of_package(&package.replace('/', "."))
}

/// The modules that JDK 17's build assigns to the boot loader.
fn is_boot_module(module: &str) -> bool {
    const MODULES: [&str; 23] = [
        "java.base",
        "java.datatransfer",
        "java.desktop",
        "java.instrument",
        "java.logging",
        "java.management",
        "java.management.rmi",
        "java.naming",
        "java.prefs",
        "java.rmi",
        "java.security.sasl",
        "java.xml",
        "jdk.incubator.foreign",
        "jdk.incubator.vector",
        "jdk.internal.vm.ci",
        "jdk.jfr",
        "jdk.management",
        "jdk.management.agent",
        "jdk.management.jfr",
        "jdk.naming.rmi",
        "jdk.net",
        "jdk.nio.mapmode",
        "jdk.sctp",
    ];
    MODULES.contains(&module) || module == "jdk.unsupported"
}

/// Why a loader does not get a class.
pub(crate) enum Refusal {
    /// It has this one of the name.
    Taken(&'static Class),
    /// It has agreed with others that the name means this one.
    Constrained(&'static Class),
    /// Verified code takes objects of that name for something else than it is.
    Unfit(Assumption),
}

impl Refusal {
    /// As LinkageError.
    #[cold]
    pub(crate) fn thrown(self, thread: &Thread, loader: &Loader, class: &'static Class) -> Thrown {
        let message = match self {
            Self::Taken(_) => message::duplicate_class(loader, class),
            Self::Constrained(other) => message::other_class(loader, other),
            Self::Unfit(assumption) => message::unfit_class(loader, class, assumption),
        };
        thread.throw("java/lang/LinkageError", &message)
    }
}

/// Enters a freshly defined class.
pub(crate) fn enter(loader: &Loader, class: &'static Class) -> Result<(), Refusal> {
    let is_nameless = class.info.is_hidden || matches!(class.info.kind, ClassKind::Primitive(_));
    if !is_nameless {
        loader.take(class)?;
    }
    DEFINED.fetch_add(1, Ordering::Release); // Pairs with Acquire in `defined_count`.
    Ok(())
}
