// SPDX-License-Identifier: Apache-2.0
//! Attributes by the ids of `android.R.attr`, read as what the platform reads them as.
//!
//! References go through the resource table; without one they stay what they are and read as
//! absent.

use std::cell::Cell;

use crate::table::Steps;
use crate::xml::Element;
use crate::{Error, Fault, Table, Value};

pub(super) const THEME: u32 = 0x0101_0000;
pub(super) const LABEL: u32 = 0x0101_0001;
pub(super) const NAME: u32 = 0x0101_0003;
pub(super) const PERMISSION: u32 = 0x0101_0006;
pub(super) const READ_PERMISSION: u32 = 0x0101_0007;
pub(super) const WRITE_PERMISSION: u32 = 0x0101_0008;
pub(super) const SHARED_USER_ID: u32 = 0x0101_000b;
pub(super) const HAS_CODE: u32 = 0x0101_000c;
pub(super) const PROTECTION_LEVEL: u32 = 0x0101_0009;
pub(super) const ENABLED: u32 = 0x0101_000e;
pub(super) const DEBUGGABLE: u32 = 0x0101_000f;
pub(super) const EXPORTED: u32 = 0x0101_0010;
pub(super) const PROCESS: u32 = 0x0101_0011;
pub(super) const TASK_AFFINITY: u32 = 0x0101_0012;
pub(super) const AUTHORITIES: u32 = 0x0101_0018;
pub(super) const INIT_ORDER: u32 = 0x0101_001a;
pub(super) const GRANT_URI_PERMISSIONS: u32 = 0x0101_001b;
pub(super) const PRIORITY: u32 = 0x0101_001c;
pub(super) const LAUNCH_MODE: u32 = 0x0101_001d;
pub(super) const CONFIG_CHANGES: u32 = 0x0101_001f;
pub(super) const VALUE: u32 = 0x0101_0024;
pub(super) const RESOURCE: u32 = 0x0101_0025;
pub(super) const MIME_TYPE: u32 = 0x0101_0026;
pub(super) const SCHEME: u32 = 0x0101_0027;
pub(super) const HOST: u32 = 0x0101_0028;
pub(super) const PORT: u32 = 0x0101_0029;
pub(super) const PATH: u32 = 0x0101_002a;
pub(super) const PATH_PREFIX: u32 = 0x0101_002b;
pub(super) const PATH_PATTERN: u32 = 0x0101_002c;
pub(super) const SSP: u32 = 0x0101_03e3;
pub(super) const SSP_PREFIX: u32 = 0x0101_03e4;
pub(super) const SSP_PATTERN: u32 = 0x0101_03e5;
pub(super) const TARGET_ACTIVITY: u32 = 0x0101_0202;
pub(super) const MIN_SDK_VERSION: u32 = 0x0101_020c;
pub(super) const VERSION_CODE: u32 = 0x0101_021b;
pub(super) const VERSION_NAME: u32 = 0x0101_021c;
pub(super) const TARGET_SDK_VERSION: u32 = 0x0101_0270;
pub(super) const NO_HISTORY: u32 = 0x0101_022d;
pub(super) const MAX_SDK_VERSION: u32 = 0x0101_0271;
pub(super) const REQUIRED: u32 = 0x0101_028e;
pub(super) const DOCUMENT_LAUNCH_MODE: u32 = 0x0101_0445;
pub(super) const RECREATE_ON_CONFIG_CHANGES: u32 = 0x0101_0547;
pub(super) const VERSION_CODE_MAJOR: u32 = 0x0101_0576;
pub(super) const APP_COMPONENT_FACTORY: u32 = 0x0101_057a;
pub(super) const MIME_GROUP: u32 = 0x0101_0615;
pub(super) const PATH_SUFFIX: u32 = 0x0101_061e;
pub(super) const SSP_SUFFIX: u32 = 0x0101_061f;
pub(super) const PATH_ADVANCED_PATTERN: u32 = 0x0101_0620;
pub(super) const SSP_ADVANCED_PATTERN: u32 = 0x0101_0621;

/// Text that a manifest may give per byte of it and of the table: each use of a string is a copy,
/// and a string may be used by every attribute.
pub(super) const TEXT_PER_BYTE_MAX: u64 = 8;
/// And this besides, for small manifests that repeat one name.
pub(super) const TEXT_SLACK_BYTES: u64 = 256 << 10;
/// What a string costs beside its bytes.
const STRING_BYTES: u64 = 32;
/// Configurations of the table that are looked at per byte of both: apps of a hundred languages
/// need a tenth.
pub(super) const STEPS_PER_BYTE_MAX: u64 = 4;

/// What references lead to, and how much of it one manifest may take.
pub(super) struct Resources<'a> {
    table: Option<&'a Table<'a>>,
    text_limit: u64,
    text_left: Cell<u64>,
    steps: Steps,
}

impl<'a> Resources<'a> {
    pub(super) fn new(manifest_bytes: usize, table: Option<&'a Table<'a>>) -> Self {
        let bytes = (manifest_bytes + table.map_or(0, Table::bytes)) as u64;
        let text_limit = bytes * TEXT_PER_BYTE_MAX + TEXT_SLACK_BYTES;
        Self {
            table,
            text_limit,
            text_left: Cell::new(text_limit),
            steps: Steps::new(bytes * STEPS_PER_BYTE_MAX),
        }
    }

    /// To be asked before a text is copied; `count` is of the strings that become of it.
    pub(super) fn take_text(&self, at: &Element, text: &str, count: usize) -> Result<(), Error> {
        let bytes = text.len() as u64 + count as u64 * STRING_BYTES;
        let Some(left) = self.text_left.get().checked_sub(bytes) else {
            let what = "text of all attributes";
            let (limit, value) = (self.text_limit, self.text_limit + 1);
            let fault = Fault::Limit { what, value, limit };
            return Err(Error::new(super::ENTRY, at.offset, fault));
        };
        self.text_left.set(left);
        Ok(())
    }
}

/// One element's attributes, with the means to follow references.
#[derive(Clone, Copy)]
pub(super) struct Attributes<'a> {
    pub(super) element: &'a Element,
    pub(super) resources: &'a Resources<'a>,
}

impl Attributes<'_> {
    /// The value, references followed; none where the attribute or what it refers to is absent.
    pub(super) fn value(&self, id: u32) -> Result<Option<Value>, Error> {
        match self.element.by_id(id) {
            Some(Value::Reference(target)) => match self.resources.table {
                Some(table) => table.resolve_within(*target, super::SDK, &self.resources.steps),
                None => Ok(None),
            },
            other => Ok(other.cloned()),
        }
    }

    pub(super) fn text(&self, id: u32) -> Result<Option<String>, Error> {
        Ok(Some(match self.value(id)? {
            Some(Value::String(text)) => {
                self.resources.take_text(self.element, &text, 1)?;
                text.to_string()
            }
            Some(Value::Integer(number)) => number.to_string(),
            Some(Value::Float(number)) => number.to_string(),
            Some(Value::Boolean(is_set)) => is_set.to_string(),
            _ => return Ok(None),
        }))
    }

    pub(super) fn boolean(&self, id: u32) -> Result<Option<bool>, Error> {
        Ok(self.value(id)?.and_then(|it| match it {
            Value::Boolean(is_set) => Some(is_set),
            Value::Integer(number) => Some(number != 0),
            Value::String(text) => text.parse().ok(),
            _ => None,
        }))
    }

    pub(super) fn integer(&self, id: u32) -> Result<Option<i32>, Error> {
        Ok(self.value(id)?.and_then(|it| match it {
            Value::Integer(number) => Some(number),
            Value::String(text) => text.parse().ok(),
            _ => None,
        }))
    }

    /// A resource id that is wanted as such.
    pub(super) fn reference(&self, id: u32) -> Option<u32> {
        match self.element.by_id(id) {
            Some(Value::Reference(target)) => Some(*target),
            _ => None,
        }
    }
}
