// SPDX-License-Identifier: Apache-2.0
//! Class objects: making them, and getting from one to its class.

use core::sync::atomic::Ordering;

use crate::classes::class::Class;
use crate::classes::known::{is_known, known};
use crate::classes::library::Library;
use crate::classes::object::ObjectRef;
use crate::link::loader::{self, Loader};
use crate::objects::heap_binding;
use crate::objects::string;
use crate::threads::thread::{Thread, Thrown};

/// Gives `class` its class object, in which its static fields lie too. Before `java.lang.Class`
/// is linked there is none to make; [`attach_early`] makes up for it.
pub(crate) fn attach(thread: &Thread, class: &'static Class) -> Result<(), Thrown> {
    if !is_known() {
        return Ok(());
    }
    let known = known();
    let layout = class.info.statics_layout.unwrap_or(0);
    let mirror = heap_binding::new_mirror(thread, layout)?;
    mirror.put(known.mirror_class, class.address());
    mirror.put_ref(known.mirror_loader, class.info.loader.object());
    if let Some(element) = class.info.element {
        mirror.put_ref(known.mirror_component, element.mirror());
    }
    set_module(class, mirror);
    if layout != 0 {
        class.statics.store(mirror.0, Ordering::Release);
    }
    heap_binding::keep(mirror);
    class.mirror.store(mirror.0, Ordering::Release);
    Ok(())
}

/// Gives class objects to all classes that were linked before `java.lang.Class`.
pub(crate) fn attach_early(thread: &Thread) -> Result<(), Thrown> {
    let early = loader::all_classes()
        .into_iter()
        .chain(crate::classes::known::primitives());
    let mut early: Vec<_> = early.filter(|class| class.mirror().is_null()).collect();
    // Elements before their arrays.
    early.sort_by_key(|class| class.is_array());
    for class in early {
        attach(thread, class)?;
    }
    Ok(())
}

/// The class that a class object stands for.
pub(crate) fn class_of(mirror: ObjectRef) -> &'static Class {
    Class::at(mirror.get(known().mirror_class))
}

/// The module of `class`: by its package, or the loader's unnamed one.
fn set_module(class: &'static Class, mirror: ObjectRef) {
    let mut innermost = class;
    while let Some(element) = innermost.info.element {
        innermost = element;
    }
    let module = if !core::ptr::eq(innermost, class) && !innermost.mirror().is_null() {
        innermost.mirror().get_ref(known().mirror_module)
    } else {
        module_for(innermost)
    };
    mirror.put_ref(known().mirror_module, module);
}

fn module_for(class: &'static Class) -> ObjectRef {
    if let Some(host) = class.info.host {
        return host.mirror().get_ref(known().mirror_module);
    }
    if class.is_primitive() {
        return base_module().unwrap_or(ObjectRef::NULL);
    }
    module_of_package(class.info.loader, class.package())
}

/// The module of the classes that a loader defines in a package.
pub(crate) fn module_of_package(loader: &Loader, package: &[u8]) -> ObjectRef {
    if let Some(&module) = loader.modules.lock().get(package) {
        return module;
    }
    match base_module() {
        // As on HotSpot: the library takes null for "java.base is not defined yet", and `adopt`
        // comes then.
        None => ObjectRef::NULL,
        Some(_) => unnamed_module(loader),
    }
}

/// The module of a class, as its class object has it.
pub(crate) fn module_of(class: &'static Class) -> ObjectRef {
    class.mirror().get_ref(known().mirror_module)
}

/// java.base, once it is defined.
fn base_module() -> Option<ObjectRef> {
    loader::boot()
        .modules
        .lock()
        .get(&b"java/lang"[..])
        .copied()
}

/// The module of classes that are in none.
pub(crate) fn unnamed_module(loader: &Loader) -> ObjectRef {
    let set = ObjectRef(loader.unnamed_module.load(Ordering::Acquire));
    match loader.object().some() {
        Some(object) if set.is_null() => object
            .class()
            .field_named("unnamedModule")
            .map_or(ObjectRef::NULL, |field| object.get_ref(field.offset)),
        _ => set,
    }
}

/// Puts classes that came before their module into it.
pub(crate) fn adopt(loader: &'static Loader, packages: &[Vec<u8>], module: ObjectRef) {
    let is_base = loader.is_boot() && packages.iter().any(|package| package == b"java/lang");
    let primitives = if is_base {
        crate::classes::known::primitives()
    } else {
        Vec::new()
    };
    let (offset, unnamed) = (known().mirror_module, unnamed_module(loader));
    for class in loader::all_classes().into_iter().chain(primitives) {
        let mirror = class.mirror();
        if mirror.is_null() || !core::ptr::eq(class.info.loader, loader) {
            continue;
        }
        // Most are in java.base, and modules of the library are defined by the dozen.
        let now = mirror.get_ref(offset);
        if !now.is_null() && now != unnamed {
            continue;
        }
        let mut innermost = class;
        while let Some(element) = innermost.info.element {
            innermost = element;
        }
        let is_of_base = is_base && innermost.is_primitive();
        if is_of_base
            || packages
                .iter()
                .any(|package| package == innermost.package())
        {
            mirror.put_ref(offset, module);
        }
    }
}

/// A hidden class's live data.
pub(crate) fn set_class_data(class: &'static Class, data: ObjectRef) {
    class.mirror().put_ref(known().mirror_data, data);
}

/// A loader as messages name it.
pub(crate) fn loader_name(loader: &Loader) -> String {
    let Some(object) = loader.object().some() else {
        return "'bootstrap'".into();
    };
    let id = object
        .class()
        .field_named("nameAndId")
        .map(|field| object.get_ref(field.offset));
    match id.and_then(ObjectRef::some) {
        Some(id) => string::text(id),
        None => object.class().java_name(),
    }
}

/// The loader that a loader asks first, as messages name it; the library's own are known to have
/// theirs.
pub(crate) fn parent_loader_name(loader: &Loader) -> Option<String> {
    let object = loader.object().some()?;
    let own = object.class();
    let is_own = own.is(Library::AppClassLoader) || own.is(Library::PlatformClassLoader);
    let parent = object.class().field_named("parent").filter(|_| !is_own)?;
    Some(loader_name(loader::of(object.get_ref(parent.offset))))
}

/// Name and version of a class's module, if it has a name.
pub(crate) fn module_name(class: &'static Class) -> Option<(String, Option<String>)> {
    name_of_module(class.mirror().get_ref(known().mirror_module))
}

/// Name and version of a module, if it has a name.
pub(crate) fn name_of_module(module: ObjectRef) -> Option<(String, Option<String>)> {
    let of_module = module.some()?.class();
    let name = module
        .get_ref(of_module.field_named("name")?.offset)
        .some()?;
    let version = module_version(module).filter(|version| Some(version) != base_version().as_ref());
    Some((string::text(name), version))
}

/// The JDK's own version: its modules are named without.
pub(crate) fn base_version() -> Option<String> {
    let base = known()
        .object
        .mirror()
        .get_ref(known().mirror_module)
        .some()?;
    module_version(base)
}

fn module_version(module: ObjectRef) -> Option<String> {
    let descriptor = module
        .get_ref(module.class().field_named("descriptor")?.offset)
        .some()?;
    let field = descriptor.class().field_named("rawVersionString");
    if let Some(field) = field
        && let Some(version) = descriptor.get_ref(field.offset).some()
    {
        return Some(string::text(version));
    }
    let version = descriptor
        .get_ref(descriptor.class().field_named("version")?.offset)
        .some()?;
    let text = version.class().field_named("version")?;
    version.get_ref(text.offset).some().map(string::text)
}

/// Whether the loader is the JDK's own platform loader.
pub(crate) fn is_platform_loader(loader: &Loader) -> bool {
    let object = loader.object().some();
    object.is_some_and(|object| object.class().is(Library::PlatformClassLoader))
}
