// SPDX-License-Identifier: Apache-2.0
//! Packages for tests, without an archive around them.
#![allow(dead_code, reason = "each test uses a part of it")]

use apk::{
    Access, Application, Component, ComponentKind, IntentFilter, Launch, Manifest, Permission,
};
use server::packages::{Candidate, Grant};

/// A package without components.
pub(crate) fn manifest(package: &str, version: u64) -> Manifest {
    Manifest {
        package: package.to_owned(),
        version_code: version,
        version_name: None,
        split: None,
        min_sdk: 26,
        target_sdk: 34,
        max_sdk: None,
        sdk_codename: None,
        shared_user_id: None,
        uses_permissions: Vec::new(),
        permissions: Vec::new(),
        protected_broadcasts: Vec::new(),
        features: Vec::new(),
        application: Application {
            has_code: true,
            is_enabled: true,
            ..Application::default()
        },
        instrumentation: Vec::new(),
    }
}

/// A component that is exported and takes nothing.
pub(crate) fn component(kind: ComponentKind, name: &str) -> Component {
    Component {
        kind,
        name: name.to_owned(),
        target: None,
        label: None,
        theme: None,
        is_enabled: true,
        is_exported: true,
        permission: None,
        process: None,
        launch: Launch::default(),
        authorities: Vec::new(),
        access: Access::default(),
        init_order: 0,
        intent_filters: Vec::new(),
        meta_data: Vec::new(),
        extensions: Vec::new(),
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
