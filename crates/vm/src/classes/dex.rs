// SPDX-License-Identifier: Apache-2.0
//! [`DexClass`]: what a class has from its DEX file. `link/dex_class` opens files and defines
//! classes.

use std::collections::HashMap;
use std::sync::OnceLock;

use dex::DexFile;
use ir::Function;
use ir::bytecode::TranslateError;
use ir::dex::Outline;

use crate::classes::class::Method;
use crate::memory::sum::{Sum, sum_of};

/// A verified DEX file. Immortal, as the classes in it may be.
pub(crate) struct Opened {
    pub(crate) file: DexFile<'static>,
    pub(crate) bytes: &'static [u8],
    /// The sum of the bytes, once asked for.
    pub(crate) sum: OnceLock<Sum>,
    /// Class definitions by internal name.
    pub(crate) classes: HashMap<&'static [u8], u32>,
}

/// What a class has from its DEX file beside its outline's class file.
pub(crate) struct DexClass {
    pub(crate) opened: &'static Opened,
    pub(crate) outline: Outline<'static>,
}

impl DexClass {
    pub(crate) fn method(&self, method: &Method) -> &dex::Method {
        &self.outline.methods[method.index]
    }

    /// The IR of a method.
    pub(crate) fn translate(&self, method: &Method) -> Result<Function, TranslateError> {
        ir::dex::translate(&self.opened.file, &self.outline, self.method(method))
    }

    /// What all classes of the file are kept under beside their own outlines.
    pub(crate) fn file_sum(&self) -> &Sum {
        let opened = self.opened;
        opened.sum.get_or_init(|| sum_of(&[opened.bytes]))
    }

    pub(crate) fn has_code(&self, method: &Method) -> bool {
        self.method(method).code(&self.opened.file).is_some()
    }

    /// How long a method's code is.
    pub(crate) fn code_bytes(&self, method: &Method) -> Option<usize> {
        let code = self.method(method).code(&self.opened.file)?;
        Some(code.instructions.len())
    }

    /// The source line of code unit `at`.
    pub(crate) fn line(&self, method: &Method, at: u32) -> Option<u32> {
        let code = self.method(method).code(&self.opened.file)?;
        code.debug_info(&self.opened.file)?.line_of(at)
    }

    /// The file, for who reads a method's code itself.
    pub(crate) fn file(&self) -> &DexFile<'static> {
        &self.opened.file
    }

    /// Whether a `monitor-enter` may stand in a method: a code unit begins as it does.
    pub(crate) fn may_enter_monitors(&self, method: &Method) -> bool {
        const MONITOR_ENTER: u8 = 0x1d;
        let code = self.method(method).code(&self.opened.file);
        code.is_some_and(|code| {
            let mut units = code.instructions.chunks_exact(2);
            units.any(|unit| unit[0] == MONITOR_ENTER)
        })
    }

    /// Whether a method does nothing but return.
    pub(crate) fn is_empty(&self, method: &Method) -> bool {
        const RETURN_VOID: [u8; 2] = [0x0e, 0];
        let code = self.method(method).code(&self.opened.file);
        code.is_some_and(|code| code.instructions == RETURN_VOID)
    }
}
