// SPDX-License-Identifier: Apache-2.0
//! `dalvik.system.DexCode`: opening DEX files and defining their classes.

use super::Row;
use crate::invoke::reflect;
use crate::jni::{of, outcome};
use crate::link::dex_class;
use crate::link::loader;
use crate::memory::symbol::Symbol;
use crate::objects::array;
use crate::objects::string;
use crate::threads::thread::Thrown;

pub(super) const NATIVES: &[Row] = &[
    ("open", open as *const ()),
    ("define", define as *const ()),
    ("names", names as *const ()),
];

/// The bytes are copied: the classes in them stay for good.
extern "C" fn open(env: u64, _class: u64, name: u64, bytes: u64) -> u64 {
    let thread = &*of(env);
    let bytes = thread.object_of(bytes);
    let bytes = array::bytes(thread, bytes);
    let opened = thread.outside(|| dex_class::open(Box::leak(bytes.into_boxed_slice())));
    outcome(opened.map_err(|error| {
        let message = format!("{}: {error}", string::text(thread.object_of(name)));
        thread.throw("java/io/IOException", &message)
    }))
}

extern "C" fn define(env: u64, _class: u64, file: u64, name: u64, loader: u64) -> u64 {
    let thread = &*of(env);
    let name = string::mutf8(thread.object_of(name));
    let name: Vec<u8> = name
        .iter()
        .map(|&b| if b == b'.' { b'/' } else { b })
        .collect();
    let loader = loader::of(thread.object_of(loader));
    let found = dex_class::define(thread, file, Symbol::new(&name), loader);
    outcome(found.map(|class| class.map_or(0, |class| thread.new_local(class.mirror()))))
}

extern "C" fn names(env: u64, _class: u64, file: u64) -> u64 {
    let thread = &*of(env);
    let make = || {
        let scope = thread.scope();
        let mut texts = Vec::new();
        for name in dex_class::names(thread, file)? {
            texts.push(scope.hold(string::new_string(thread, &name)?));
        }
        let strings = thread.array_class(thread.boot_class("java/lang/String")?)?;
        let array = reflect::array_of(thread, strings, &texts)?;
        Ok::<_, Thrown>(thread.new_local(array))
    };
    outcome(make())
}
