// SPDX-License-Identifier: Apache-2.0
//! [`Loader`]: class loaders as records. `link/loader` finds and defines classes for them.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::classes::class::Class;
use crate::classes::object::ObjectRef;
use crate::memory::hash::Map;
use crate::memory::symbol::Symbol;
use crate::sync::lock::Lock;

/// A class loader as the machine sees it; the boot loader has no object.
pub(crate) struct Loader {
    pub(crate) id: u32,
    pub(crate) object: AtomicU32,
    /// Classes it has defined or was asked for first.
    pub(crate) classes: Lock<Map<Symbol, &'static Class>>,
    /// Modules by package, for classes to come.
    pub(crate) modules: Lock<Map<Vec<u8>, ObjectRef>>,
    /// Where classes of no named module go.
    pub(crate) unnamed_module: AtomicU32,
}

/// The loaders that the class library itself makes at start.
const PLATFORM: [&str; 2] = [
    "jdk/internal/loader/ClassLoaders$PlatformClassLoader",
    "jdk/internal/loader/ClassLoaders$AppClassLoader",
];

pub(crate) static LOADERS: Lock<Vec<&'static Loader>> = Lock::new(Vec::new());
pub(crate) static DEFINED: AtomicU32 = AtomicU32::new(0);

/// The boot loader.
pub(crate) fn boot() -> &'static Loader {
    LOADERS.lock()[0]
}

/// Classes defined so far: a reader of the number finds them all.
pub(crate) fn defined_count() -> u32 {
    DEFINED.load(Ordering::Acquire) // Pairs with Release in `enter`: publishes the class under its name.
}

/// Every class of every loader.
pub(crate) fn all_classes() -> Vec<&'static Class> {
    let loaders = LOADERS.lock().clone();
    loaders
        .iter()
        .flat_map(|loader| loader.classes.lock().values().copied().collect::<Vec<_>>())
        .collect()
}

/// The loader with a number.
pub(crate) fn numbered(id: u32) -> &'static Loader {
    LOADERS.lock()[id as usize]
}

/// Loaders that the class library did not make, and the classes that they have.
pub(crate) fn of_program() -> (usize, usize) {
    let loaders = LOADERS.lock().clone();
    let own = loaders.iter().filter(|loader| !loader.is_platforms());
    own.fold((0, 0), |(loaders, classes), loader| {
        (loaders + 1, classes + loader.classes.lock().len())
    })
}

impl Loader {
    pub(crate) fn object(&self) -> ObjectRef {
        ObjectRef(self.object.load(Ordering::Acquire))
    }

    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    pub(crate) fn is_boot(&self) -> bool {
        self.id == 0
    }

    /// Do its classes come with the JDK or from the class path, where the framework lies?
    /// Applications have loaders of their own.
    pub(crate) fn is_platforms(&self) -> bool {
        self.is_boot() || PLATFORM.contains(&&*self.object().class().name().to_string())
    }

    /// A class this loader has defined or been asked for.
    pub(crate) fn loaded(&self, name: Symbol) -> Option<&'static Class> {
        self.classes.lock().get(&name).copied()
    }
}

/// A boot class by name, if it was loaded before.
pub(crate) fn loaded(name: &str) -> Option<&'static Class> {
    boot().loaded(Symbol::new(name.as_bytes()))
}
