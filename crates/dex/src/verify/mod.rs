// SPDX-License-Identifier: Apache-2.0
//! The structure of a whole file.
//!
//! [`items`] walks every section once and notes where items begin; [`tables`] then checks the
//! identifier tables and [`classes`] the definitions, whose references must lead to noted items;
//! [`code`] checks each method's instructions.

mod classes;
mod code;
mod items;
mod tables;

use crate::header::Map;
use crate::{DexFile, Error};

/// Checks everything behind the header and the map.
pub(crate) fn file(file: &DexFile<'_>, map: &Map) -> Result<(), Error> {
    let offsets = items::walk(file, map)?;
    tables::check(file, &offsets)?;
    classes::check(file, &offsets)
}
