// SPDX-License-Identifier: Apache-2.0
//! Modules: which class is in which. Readability and exports are checked by
//! Java code; the machine only remembers packages.

use std::sync::atomic::Ordering;

use crate::heap_binding;
use crate::jni::of;
use crate::loader;
use crate::mirror;
use crate::object::ObjectRef;
use crate::string;

#[unsafe(no_mangle)]
extern "C" fn JVM_DefineModule(
    env: u64,
    module: u64,
    _is_open: u8,
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
    heap_binding::keep(module);
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
extern "C" fn JVM_AddReadsModule(_env: u64, _from: u64, _source: u64) {}

#[unsafe(no_mangle)]
extern "C" fn JVM_AddModuleExports(_env: u64, _from: u64, _package: u64, _to: u64) {}

#[unsafe(no_mangle)]
extern "C" fn JVM_AddModuleExportsToAll(_env: u64, _from: u64, _package: u64) {}

#[unsafe(no_mangle)]
extern "C" fn JVM_AddModuleExportsToAllUnnamed(_env: u64, _from: u64, _package: u64) {}

#[unsafe(no_mangle)]
extern "C" fn JVM_DefineArchivedModules(_env: u64, _platform: u64, _system: u64) {}
