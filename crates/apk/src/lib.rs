// SPDX-License-Identifier: Apache-2.0
//! Android packages: bytes in, values out.
//!
//! [`Apk::parse`] reads the archive's directory, the binary manifest and as much of the resource
//! table as the manifest refers to; [`Signatures::check`] verifies schemes v1 to v3. Hostile bytes
//! give an [`Error`] that names the entry, the offset and the fault. Memory is bounded by
//! [`MEMORY_PER_BYTE_MAX`].
//!
//! Neighbours: `dex` reads the code of the entries that [`Apk::dex_entries`] names.
#![forbid(unsafe_code)]

mod archive;
mod chunk;
mod error;
mod manifest;
mod reader;
mod signature;
mod strings;
mod table;
mod value;
mod xml;

use std::collections::BTreeSet;

pub use archive::{
    Archive, DENSE_SLACK_BYTES, ENTRIES_MAX, ENTRY_BYTES_MAX, Entry, UNPACKED_PER_BYTE_MAX,
    UNPACKED_SLACK_BYTES,
};
pub use error::{Error, Fault};
pub use manifest::{
    Access, Application, Component, ComponentKind, DataPattern, ENTRY as MANIFEST_ENTRY, Extension,
    Feature, IntentFilter, Launch, Manifest, MetaData, PathAccess, PathPattern, Permission,
};
pub use signature::{Scheme, Signatures};
pub use table::Table;
pub use value::Value;
pub use xml::{ANDROID, Attribute, Document, Element};

/// Working memory per byte of an unpacked entry, at most; asserted by the mutation tests.
pub const MEMORY_PER_BYTE_MAX: usize = 64;

/// An unpacked manifest; the largest in the field have one megabyte.
pub const MANIFEST_BYTES_MAX: u64 = 8 << 20;

const RESOURCES: &str = "resources.arsc";

/// A package whose archive and manifest have been read.
pub struct Apk<'a> {
    /// The archive.
    pub archive: Archive<'a>,
    /// The manifest.
    pub manifest: Manifest,
}

/// A native library in a package.
#[derive(Clone, Copy, Debug)]
pub struct NativeLibrary<'a> {
    /// Where it lies.
    pub entry: &'a str,
    /// Its name without folders.
    pub file: &'a str,
    /// Unpacked, as the directory says.
    pub bytes: u64,
}

impl<'a> Apk<'a> {
    /// Reads archive, manifest and resource table.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let archive = Archive::parse(bytes)?;
        let manifest = archive.read_dense(MANIFEST_ENTRY)?;
        let value = manifest.len() as u64;
        if value > MANIFEST_BYTES_MAX {
            let (what, limit) = ("unpacked bytes", MANIFEST_BYTES_MAX);
            let fault = Fault::Limit { what, value, limit };
            return Err(Error::new(MANIFEST_ENTRY, 0, fault));
        }
        let resources = match archive.contains(RESOURCES) {
            true => Some(archive.read_dense(RESOURCES)?),
            false => None,
        };
        let table = match &resources {
            Some(bytes) => Some(Table::parse(RESOURCES, bytes)?),
            None => None,
        };
        let manifest = Manifest::parse(&manifest, table.as_ref())?;
        Ok(Self { archive, manifest })
    }

    /// classes.dex, classes2.dex, …: in the order in which a class is looked for, up to the first
    /// gap.
    pub fn dex_entries(&self) -> Vec<String> {
        let numbered = (2..).map(|it| format!("classes{it}.dex"));
        std::iter::once("classes.dex".to_owned())
            .chain(numbered)
            .take_while(|it| self.archive.contains(it))
            .collect()
    }

    /// Its native libraries for a machine architecture. Deeper ones are not looked for on Android
    /// either; this way no name leads out of the folder that they go to.
    pub fn native_libraries<'b>(&'b self, abi: &str) -> Vec<NativeLibrary<'b>> {
        let library = |(entry, it): (&'b str, &Entry)| {
            let below = entry.strip_prefix("lib/")?.strip_prefix(abi)?;
            let file = below.strip_prefix('/')?;
            let is_library = file.ends_with(".so") && !file.contains('/');
            is_library.then_some(NativeLibrary {
                entry,
                file,
                bytes: it.bytes,
            })
        };
        self.archive.entries().filter_map(library).collect()
    }

    /// The machine architectures for which it brings native libraries.
    pub fn native_abis(&self) -> BTreeSet<&str> {
        self.archive
            .entries()
            .filter_map(|(name, _)| name.strip_prefix("lib/")?.split_once('/'))
            .filter(|(_, file)| file.ends_with(".so"))
            .map(|(abi, _)| abi)
            .collect()
    }
}
