// SPDX-License-Identifier: Apache-2.0
//! Classes of DEX files: linked from their outlines, compiled from their code.

use std::collections::HashMap;
use std::sync::OnceLock;

use dex::DexFile;
use ir::Function;
use ir::bytecode::TranslateError;
use ir::dex::Outline;

use crate::classes::class::{Class, Method};
use crate::code::file::Sum;
use crate::code::store;
use crate::link::define::{self, Definition};
use crate::link::loader::Loader;
use crate::memory::symbol::Symbol;
use crate::sync::lock::Lock;
use crate::threads::thread::{Thread, Thrown};

/// A verified DEX file. Immortal, as the classes in it may be.
pub(crate) struct Opened {
    file: DexFile<'static>,
    bytes: &'static [u8],
    /// The sum of the bytes, once asked for.
    sum: OnceLock<Sum>,
    /// Class definitions by internal name.
    classes: HashMap<&'static [u8], u32>,
}

/// What a class has from its DEX file beside its outline's class file.
pub(crate) struct DexClass {
    opened: &'static Opened,
    outline: Outline<'static>,
}

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

/// Defines the class of this name, if file number `number` has it.
pub(crate) fn define(
    thread: &Thread,
    number: u64,
    name: Symbol,
    loader: &'static Loader,
) -> Result<Option<&'static Class>, Thrown> {
    let place = (number as usize).wrapping_sub(1);
    let Some(&opened) = OPENED.lock().get(place) else {
        let message = "no such DEX file";
        return Err(thread.throw("java/lang/IllegalArgumentException", message));
    };
    let Some(&index) = opened.classes.get(name.bytes()) else {
        return Ok(None);
    };
    let outline = thread.outside(|| Outline::new(&opened.file, &opened.file.class(index)));
    let outline = outline.map_err(|what| {
        let message = format!("{what} in DEX class {name}");
        thread.throw("java/lang/ClassFormatError", &message)
    })?;
    let dex: &'static DexClass = Box::leak(Box::new(DexClass { opened, outline }));
    let definition = Definition {
        dex: Some(dex),
        ..Definition::plain(loader, Some(name), &dex.outline.bytes)
    };
    define::define(thread, definition).map(Some)
}

impl DexClass {
    fn method(&self, method: &Method) -> &dex::Method {
        &self.outline.methods[method.index]
    }

    /// The IR of a method.
    pub(crate) fn translate(&self, method: &Method) -> Result<Function, TranslateError> {
        ir::dex::translate(&self.opened.file, &self.outline, self.method(method))
    }

    /// What all classes of the file are kept under beside their own outlines.
    pub(crate) fn file_sum(&self) -> &Sum {
        let opened = self.opened;
        opened.sum.get_or_init(|| store::sum_of(&[opened.bytes]))
    }

    pub(crate) fn has_code(&self, method: &Method) -> bool {
        self.method(method).code(&self.opened.file).is_some()
    }

    /// The source line of code unit `at`.
    pub(crate) fn line(&self, method: &Method, at: u32) -> Option<u32> {
        let code = self.method(method).code(&self.opened.file)?;
        code.debug_info(&self.opened.file)?.line_of(at)
    }

    /// What was null at code unit `at`.
    pub(crate) fn explain_null(&self, method: &Method, at: u32) -> Option<String> {
        let file = &self.opened.file;
        let code = self.method(method).code(file)?;
        crate::inspect::dex_null_message::explain(file, &code, method, at)
    }

    /// Whether a method does nothing but return.
    pub(crate) fn is_empty(&self, method: &Method) -> bool {
        const RETURN_VOID: [u8; 2] = [0x0e, 0];
        let code = self.method(method).code(&self.opened.file);
        code.is_some_and(|code| code.instructions == RETURN_VOID)
    }
}
