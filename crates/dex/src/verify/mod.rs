// SPDX-License-Identifier: Apache-2.0
//! The structure of a whole file: [`DexFile::parse`] makes one only if all of it is sound.
//!
//! [`items`] walks every section once and notes where items begin; [`tables`] then checks the
//! identifier tables and [`classes`] the definitions, whose references must lead to noted items;
//! [`code`] checks each method's frame, and its instructions when they are asked for.

mod classes;
pub(crate) mod code;
mod items;
mod tables;

use crate::header::{Header, Kind, Map};
use crate::{DexFile, Error};

impl<'a> DexFile<'a> {
    /// Verifies the whole file: header, checksum, map, every item of every section and every
    /// reference between them. Instructions are checked method by method:
    /// [`Method::check_code`](crate::Method::check_code).
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let header = Header::parse(bytes)?;
        let map = Map::parse(bytes, &header)?;
        let file = Self {
            bytes,
            header,
            call_sites: map.find(Kind::CallSiteId).unwrap_or_default(),
            method_handles: map.find(Kind::MethodHandle).unwrap_or_default(),
        };
        let offsets = items::walk(&file, &map)?;
        tables::check(&file, &offsets)?;
        classes::check(&file, &offsets)?;
        Ok(file)
    }
}
