// SPDX-License-Identifier: Apache-2.0
//! What an intent says that a filter looks at.

use std::collections::BTreeSet;

use crate::Uri;

/// A component by its package and class.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Component {
    /// The package's name.
    pub package: String,
    /// The class's whole name.
    pub class: String,
}

/// An intent, without its extras, which no filter looks at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Intent {
    /// What is to be done.
    pub action: Option<String>,
    /// With what.
    pub data: Option<Uri>,
    /// The MIME type of `data`, as it is known already.
    pub kind: Option<String>,
    /// What who takes it must be.
    pub categories: BTreeSet<String>,
    /// Only filters of this package are asked.
    pub package: Option<String>,
    /// Who takes it, without any filter.
    pub component: Option<Component>,
    /// What tells it from others that are alike.
    pub identifier: Option<String>,
}

impl Intent {
    /// The scheme of its data.
    pub fn scheme(&self) -> Option<&str> {
        self.data.as_ref().and_then(Uri::scheme)
    }
}
