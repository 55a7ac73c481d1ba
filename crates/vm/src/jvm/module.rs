// SPDX-License-Identifier: Apache-2.0
//! Modules: which class is in which, and what [`crate::link::module`] is told of them.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

use crate::classes::class::{Class, ClassKind};
use crate::classes::known::known;
use crate::classes::object::ObjectRef;
use crate::jni::{of, outcome};
use crate::link::boot_path;
use crate::link::loader;
use crate::link::mirror;
use crate::link::module::{self, Target};
use crate::memory::symbol::Symbol;
use crate::objects::array;
use crate::objects::heap_binding;
use crate::objects::string;
use crate::threads::thread::Thread;

#[unsafe(no_mangle)]
extern "C" fn JVM_DefineModule(
    env: u64,
    module: u64,
    is_open: u8,
    _version: u64,
    _location: u64,
    packages: u64,
) {
    let thread = &*of(env);
    let module = thread.object_of(module);
    let loader = module
        .class()
        .field_named("loader")
        .map(|field| module.get_ref(field.offset));
    let loader = loader::of(loader.unwrap_or(ObjectRef::NULL));
    let packages = thread.object_of(packages);
    let names: Vec<Vec<u8>> = match packages.some() {
        Some(packages) => packages
            .ref_elements()
            .map(|name| string::text(name).replace('.', "/").into_bytes())
            .collect(),
        None => Vec::new(),
    };
    module::define(module, is_open != 0);
    {
        let mut modules = loader.modules.lock();
        for name in &names {
            modules.insert(name.clone(), module);
        }
    }
    mirror::adopt(loader, &names, module);
}

#[unsafe(no_mangle)]
extern "C" fn JVM_SetBootLoaderUnnamedModule(env: u64, module: u64) {
    let thread = &*of(env);
    let module = thread.object_of(module);
    heap_binding::keep(module);
    loader::boot()
        .unnamed_module
        .store(module.0, Ordering::Release);
}

#[unsafe(no_mangle)]
extern "C" fn JVM_AddReadsModule(env: u64, from: u64, source: u64) {
    let thread = &*of(env);
    module::add_reads(thread.object_of(from), thread.object_of(source));
}

fn add_export(thread: &Thread, from: u64, package: u64, target: Target) {
    let package = string::text(thread.object_of(package)).replace('.', "/");
    module::add_export(thread.object_of(from), package.as_bytes(), target);
}

#[unsafe(no_mangle)]
extern "C" fn JVM_AddModuleExports(env: u64, from: u64, package: u64, to: u64) {
    let thread = &*of(env);
    add_export(thread, from, package, Target::Module(thread.object_of(to)));
}

#[unsafe(no_mangle)]
extern "C" fn JVM_AddModuleExportsToAll(env: u64, from: u64, package: u64) {
    add_export(&of(env), from, package, Target::All);
}

#[unsafe(no_mangle)]
extern "C" fn JVM_AddModuleExportsToAllUnnamed(env: u64, from: u64, package: u64) {
    add_export(&of(env), from, package, Target::AllUnnamed);
}

#[unsafe(no_mangle)]
extern "C" fn JVM_DefineArchivedModules(_env: u64, _platform: u64, _system: u64) {}

/// Packages of the boot loader's classes that were loaded so far, with slashes. Those that are not
/// in the JDK's image (the machine's own, which are in no module, and proxies in modules of their
/// own) have no `Package`.
#[unsafe(no_mangle)]
extern "C" fn JVM_GetSystemPackages(env: u64) -> u64 {
    let thread = &*of(env);
    let packages = boot_classes().map(Class::package);
    let names: BTreeSet<&[u8]> = packages
        .filter(|package| image_module(package).is_some())
        .collect();
    let make = || {
        let class = thread.array_class(known().string)?;
        let array = array::new(thread, class, names.len() as i32)?;
        for (index, name) in (0..).zip(names) {
            let name = string::new_string(thread, &Symbol::new(name).to_string())?;
            array.set_ref_element(index, name);
        }
        Ok(array)
    };
    outcome(make().map(|array| thread.new_local(array)))
}

/// Where the classes of a package of the boot loader are from, null if none is loaded.
#[unsafe(no_mangle)]
extern "C" fn JVM_GetSystemPackage(env: u64, name: u64) -> u64 {
    let thread = &*of(env);
    let name = string::text(thread.object_of(name));
    let mut loaded = boot_classes().filter(|class| class.package() == name.as_bytes());
    let Some(class) = loaded.next() else {
        return 0;
    };
    let location = match image_module(name.as_bytes()) {
        Some(module) => Some(format!("jrt:/{module}")),
        None if boot_path::is_foreign(class.info.bytes) => match mirror::module_name(class) {
            // A package that a patch has added.
            Some((module, _)) => Some(format!("jrt:/{module}")),
            None => boot_path::place_of(&format!("{}.class", class.name())),
        },
        None => None,
    };
    location.map_or(0, |location| {
        let text = string::new_string(thread, &location);
        outcome(text.map(|text| thread.new_local(text)))
    })
}

fn image_module(package: &[u8]) -> Option<&'static str> {
    loader::image_module(core::str::from_utf8(package).ok()?)
}

fn boot_classes() -> impl Iterator<Item = &'static Class> {
    let is_boots = |class: &&Class| {
        class.info.kind == ClassKind::Instance
            && class.info.loader.is_boot()
            && !class.info.is_hidden
    };
    loader::all_classes().into_iter().filter(is_boots)
}
