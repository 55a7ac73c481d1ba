// SPDX-License-Identifier: Apache-2.0
//! Classes of DEX files: linked from their outlines, compiled from their code.

use std::collections::HashMap;
use std::sync::OnceLock;

use dex::DexFile;
use ir::dex::Outline;

use crate::classes::class::Class;
use crate::classes::dex::{DexClass, Opened};
use crate::link::define::{self, Definition};
use crate::link::loader::Loader;
use crate::link::mirror;
use crate::memory::symbol::Symbol;
use crate::sync::lock::Lock;
use crate::threads::thread::{Thread, Thrown};

static OPENED: Lock<Vec<&'static Opened>> = Lock::new(Vec::new());

/// Verifies a file and gives its number.
pub(crate) fn open(bytes: &'static [u8]) -> Result<u64, dex::Error> {
    let file = DexFile::parse(bytes)?;
    let mut classes = HashMap::new();
    for index in 0..file.class_count() {
        let descriptor = file.string(file.type_string(file.class(index).class));
        if let [b'L', name @ .., b';'] = descriptor {
            classes.insert(name, index);
        }
    }
    let mut all = OPENED.lock();
    all.push(Box::leak(Box::new(Opened {
        file,
        bytes,
        sum: OnceLock::new(),
        classes,
    })));
    Ok(all.len() as u64)
}

fn opened(thread: &Thread, number: u64) -> Result<&'static Opened, Thrown> {
    let place = (number as usize).wrapping_sub(1);
    let found = OPENED.lock().get(place).copied();
    found.ok_or_else(|| {
        let message = "no such DEX file";
        thread.throw("java/lang/IllegalArgumentException", message)
    })
}

/// The names of all classes in file number `number`, as Java writes them.
pub(crate) fn names(thread: &Thread, number: u64) -> Result<Vec<String>, Thrown> {
    let names = opened(thread, number)?.classes.keys();
    Ok(names.map(|name| Symbol::new(name).dotted()).collect())
}

/// Defines the class of this name, if file number `number` has it. As in ART it is the class that
/// the loader has already, if it has one.
pub(crate) fn define(
    thread: &Thread,
    number: u64,
    name: Symbol,
    loader: &'static Loader,
) -> Result<Option<&'static Class>, Thrown> {
    let opened = opened(thread, number)?;
    let Some(&index) = opened.classes.get(name.bytes()) else {
        return Ok(None);
    };
    if let Some(known) = loader.loaded(name) {
        return Ok(Some(known));
    }
    // Theirs are trusted with more than others; a DEX file is nobody's class library here.
    if loader.is_boot() || mirror::is_platform_loader(loader) {
        let message = format!("DEX class {name} for a loader of the class library: not supported");
        return Err(thread.throw("java/lang/UnsupportedOperationException", &message));
    }
    let outline = thread.outside(|| Outline::new(&opened.file, &opened.file.class(index)));
    let outline = outline.map_err(|what| {
        let message = format!("{what} in DEX class {name}");
        thread.throw("java/lang/ClassFormatError", &message)
    })?;
    let dex: &'static DexClass = Box::leak(Box::new(DexClass { opened, outline }));
    let definition = Definition {
        dex: Some(dex),
        is_android: true,
        ..Definition::plain(loader, Some(name), &dex.outline.bytes)
    };
    define::define(thread, definition).map(Some)
}
