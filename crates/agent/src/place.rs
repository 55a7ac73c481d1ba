// SPDX-License-Identifier: Apache-2.0
//! [`Place`]: where a server keeps packages and their data.

use std::path::{Path, PathBuf};

/// The folder of packages.
pub const CODE: &str = "code";
/// The folder of places for data.
pub const DATA: &str = "data";
/// The folder of native libraries.
pub const LIBRARIES: &str = "libraries";

/// Paths in the store's folder.
#[derive(Clone, Debug)]
pub struct Place(PathBuf);

impl Place {
    /// In this folder.
    pub fn new(root: &Path) -> Self {
        Self(root.to_owned())
    }

    /// This folder.
    pub fn root(&self) -> &Path {
        &self.0
    }

    /// A package.
    pub fn code(&self, code: &str) -> PathBuf {
        self.0.join(CODE).join(code)
    }

    /// The native libraries of one.
    pub fn libraries(&self, code: &str) -> PathBuf {
        self.0.join(LIBRARIES).join(code)
    }

    /// Its place for data.
    pub fn data(&self, package: &str) -> PathBuf {
        self.0.join(DATA).join(package)
    }
}
