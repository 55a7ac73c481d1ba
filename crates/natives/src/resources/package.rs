// SPDX-License-Identifier: Apache-2.0
//! [`Package`]: an APK's archive and table, read once and kept for the life of the process.
#![allow(
    clippy::disallowed_types,
    reason = "resources are files: never on a real-time path"
)]

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use apk::{Apk, Archive, Table, Value};

/// The API level that values are chosen for: the framework's.
const SDK: u16 = 34;
const RESOURCES: &str = "resources.arsc";
/// Where AOSP's classes look for their own resources: the table that [`use_framework`] was given.
const FRAMEWORK: &str = "/system/framework/framework-res.apk";

static FRAMEWORK_TABLE: OnceLock<PathBuf> = OnceLock::new();

/// Says where the framework's own table lies: a bare resources.arsc.
pub(super) fn use_framework(table: PathBuf) {
    // The launcher says it once, before anything is read.
    let _ = FRAMEWORK_TABLE.set(table);
}

/// One package's files and values.
pub(super) struct Package {
    pub(super) path: String,
    content: Mutex<Content>,
}

#[derive(Default)]
struct Content {
    archive: Option<Archive<'static>>,
    table: Option<Table<'static>>,
    texts: Texts,
}

/// Texts that Java was given, by the number that it asks for them with.
#[derive(Default)]
struct Texts {
    all: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u32>,
}

impl Package {
    /// The package at a path; the error says what is wrong with it.
    pub(super) fn open(path: &str) -> Result<&'static Self, String> {
        static OPEN: Mutex<Vec<&'static Package>> = Mutex::new(Vec::new());
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(package) = open.iter().find(|it| it.path == path) {
            return Ok(package);
        }
        let package: &'static Self = Box::leak(Box::new(Self::read(path)?));
        open.push(package);
        Ok(package)
    }

    fn read(path: &str) -> Result<Self, String> {
        let content = match path {
            FRAMEWORK => Content::framework()?,
            _ => Content::read(path)?,
        };
        Ok(Self {
            path: path.to_owned(),
            content: Mutex::new(content),
        })
    }

    fn content(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The plain value of a resource, references followed.
    pub(super) fn value(&self, id: u32) -> Option<Value> {
        // A damaged value is no value; the table's outline was verified when the package was read.
        let content = self.content();
        content.table.as_ref()?.resolve(id, SDK).ok().flatten()
    }

    /// A whole entry.
    pub(super) fn file(&self, name: &str) -> Option<Vec<u8>> {
        let content = self.content();
        Some(content.archive.as_ref()?.read(name).ok()?.into_owned())
    }

    /// Names of what lies directly below a folder.
    pub(super) fn list(&self, folder: &str) -> Vec<String> {
        let content = self.content();
        let entries = content.archive.iter().flat_map(|it| it.entries());
        let below = entries.filter_map(|(name, _)| name.strip_prefix(folder)?.strip_prefix('/'));
        let mut names: Vec<String> = below
            .filter_map(|it| it.split('/').next())
            .map(str::to_owned)
            .collect();
        names.sort();
        names.dedup();
        names
    }

    /// The number by which Java asks for a text.
    pub(super) fn number(&self, text: &Arc<str>) -> u32 {
        let texts = &mut self.content().texts;
        if let Some(number) = texts.numbers.get(text) {
            return *number;
        }
        let number = texts.all.len() as u32;
        texts.all.push(Arc::clone(text));
        texts.numbers.insert(Arc::clone(text), number);
        number
    }

    /// The text of a number.
    pub(super) fn text(&self, number: usize) -> Option<Arc<str>> {
        self.content().texts.all.get(number).cloned()
    }
}

impl Content {
    fn framework() -> Result<Self, String> {
        let path = FRAMEWORK_TABLE.get();
        let path = path.ok_or("the launcher has not said where the framework's resources are")?;
        let bytes = std::fs::read(path).map_err(|it| format!("{}: {it}", path.display()))?;
        Ok(Self {
            table: Some(table(bytes)?),
            ..Self::default()
        })
    }

    fn read(path: &str) -> Result<Self, String> {
        let bytes = std::fs::read(path).map_err(|it| format!("{path}: {it}"))?;
        // Packages are not unloaded: Java may keep any of them until the process ends.
        let bytes: &'static [u8] = Vec::leak(bytes);
        let apk = Apk::parse(bytes).map_err(|it| format!("{path}: {it}"))?;
        let mut content = Self::default();
        if apk.archive.contains(RESOURCES) {
            let bytes = apk.archive.read(RESOURCES).map_err(|it| it.to_string())?;
            content.table = Some(table(bytes.into_owned())?);
        }
        content.archive = Some(apk.archive);
        Ok(content)
    }
}

/// Tables stay as their packages do.
fn table(bytes: Vec<u8>) -> Result<Table<'static>, String> {
    Table::parse(RESOURCES, Vec::leak(bytes)).map_err(|it| it.to_string())
}
