// SPDX-License-Identifier: Apache-2.0
//! Packages for tests, without an archive around them.
#![allow(dead_code, reason = "each test uses a part of it")]

use apk::{Application, Component, ComponentKind, IntentFilter, Manifest, Permission};
use server::packages::{Candidate, Grant};

/// A package without components.
pub(crate) fn manifest(package: &str, version: u64) -> Manifest {
    Manifest {
        version_code: version,
        min_sdk: 26,
        target_sdk: 34,
        application: Application {
            has_code: true,
            is_enabled: true,
            ..Application::default()
        },
        ..Manifest::new(package)
    }
}

/// A component that is exported and takes nothing.
pub(crate) fn component(kind: ComponentKind, name: &str) -> Component {
    Component {
        is_exported: true,
        ..Component::new(kind, name)
    }
}

/// With a filter for an action and the category DEFAULT.
pub(crate) fn taking(mut component: Component, action: &str, priority: i32) -> Component {
    component.intent_filters.push(IntentFilter {
        priority,
        actions: vec![action.to_owned()],
        categories: vec![intent::CATEGORY_DEFAULT.to_owned()],
        data: Vec::new(),
    });
    component
}

/// A permission of this level.
pub(crate) fn permission(name: &str, level: u32) -> Permission {
    Permission {
        name: name.to_owned(),
        level,
    }
}

/// Signed by this signer.
pub(crate) fn signed(manifest: Manifest, signer: &str) -> Candidate {
    Candidate {
        code: format!("{}.apk", manifest.version_code),
        manifest,
        signers: [signer.to_owned()].into(),
        dangerous: Grant::Denied,
        is_system: false,
    }
}
