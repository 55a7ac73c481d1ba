// SPDX-License-Identifier: Apache-2.0
//! AndroidManifest.xml, typed: what an installer and an application's process need of it.
//!
//! Its type is [`Manifest`]; the components are in [`component`]. Elements and attributes that
//! nothing here reads are passed over, as the platform passes over those of later versions.

mod attribute;
mod component;

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

pub use component::{
    Access, Component, ComponentKind, DataPattern, Extension, IntentFilter, Launch, MetaData,
    PathAccess, PathPattern,
};

use crate::manifest::attribute::{Attributes, Resources};
use crate::xml::{Document, Element};
use crate::{Error, Fault, Table};

/// The API level that qualified resources are chosen for: that of the framework we run on.
pub(crate) const SDK: u16 = 35;
/// The entry that holds it.
pub const ENTRY: &str = "AndroidManifest.xml";

/// A package as its manifest declares it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Manifest {
    /// The application's id.
    pub package: String,
    /// versionCode, with versionCodeMajor in the upper half.
    pub version_code: u64,
    /// versionName.
    pub version_name: Option<String>,
    /// Name of the split, if the package is one.
    pub split: Option<String>,
    /// minSdkVersion; 1 if not given.
    pub min_sdk: u32,
    /// targetSdkVersion; minSdkVersion if not given.
    pub target_sdk: u32,
    /// maxSdkVersion.
    pub max_sdk: Option<u32>,
    /// A preview's code name where the manifest gives one instead of a number.
    pub sdk_codename: Option<String>,
    /// sharedUserId.
    pub shared_user_id: Option<String>,
    /// uses-permission.
    pub uses_permissions: Vec<String>,
    /// permission: those it defines.
    pub permissions: Vec<Permission>,
    /// protected-broadcast: actions that only the system sends. The framework's own package has
    /// some; those of others count for nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protected_broadcasts: Vec<String>,
    /// uses-feature.
    pub features: Vec<Feature>,
    /// The application.
    pub application: Application,
    /// Test runners.
    pub instrumentation: Vec<String>,
}

/// A permission that the package defines.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Permission {
    /// Its name.
    pub name: String,
    /// protectionLevel: 0 normal, 1 dangerous, 2 signature, 4 internal in the lowest four bits;
    /// flags above them.
    pub level: u32,
}

/// uses-feature.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Feature {
    /// Its name; none where only an OpenGL version is asked for.
    pub name: Option<String>,
    /// Does the package do without it?
    pub is_required: bool,
}

/// The application element.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Application {
    /// The Application class.
    pub name: Option<String>,
    /// What a person reads.
    pub label: Option<String>,
    /// The theme of its activities, by a resource's id.
    pub theme: Option<u32>,
    /// Has it DEX code?
    pub has_code: bool,
    /// May a debugger attach?
    pub is_debuggable: bool,
    /// Is it enabled?
    pub is_enabled: bool,
    /// Default process of its components.
    pub process: Option<String>,
    /// Default taskAffinity of its activities: none if the package's name, empty if no task's.
    pub affinity: Option<String>,
    /// AppComponentFactory.
    pub component_factory: Option<String>,
    /// Shared libraries it names.
    pub libraries: Vec<String>,
    /// Activities and aliases, services, receivers, providers, in document order.
    pub components: Vec<Component>,
    /// meta-data.
    pub meta_data: Vec<MetaData>,
    /// Elements of other namespaces, such as RTDroid's real-time declarations.
    pub extensions: Vec<Extension>,
}

impl Manifest {
    /// One that names its package and says no more: version 0, for API 1, without code.
    pub fn new(package: impl Into<String>) -> Self {
        Self {
            package: package.into(),
            version_code: 0,
            version_name: None,
            split: None,
            min_sdk: 1,
            target_sdk: 1,
            max_sdk: None,
            sdk_codename: None,
            shared_user_id: None,
            uses_permissions: Vec::new(),
            permissions: Vec::new(),
            protected_broadcasts: Vec::new(),
            features: Vec::new(),
            application: Application::default(),
            instrumentation: Vec::new(),
        }
    }

    /// Reads the manifest; `table` is needed for what it refers to.
    pub fn parse(bytes: &[u8], table: Option<&Table<'_>>) -> Result<Self, Error> {
        let document = Document::parse(ENTRY, bytes)?;
        let root = document.root();
        if &*root.name != "manifest" {
            return Err(wrong(
                root,
                format!("the root element is <{}>, not <manifest>", root.name),
            ));
        }
        let resources = &Resources::new(bytes.len(), table);
        let at = Attributes {
            element: root,
            resources,
        };
        let package = plain_text(root, "package").unwrap_or_default();
        if !is_package_name(&package) {
            return Err(wrong(
                root,
                format!("package name '{package}' is not allowed"),
            ));
        }
        let low = at
            .integer(attribute::VERSION_CODE)?
            .unwrap_or(0)
            .cast_unsigned();
        let high = at
            .integer(attribute::VERSION_CODE_MAJOR)?
            .unwrap_or(0)
            .cast_unsigned();
        let mut manifest = Self {
            version_code: (u64::from(high) << 32) | u64::from(low),
            version_name: at.text(attribute::VERSION_NAME)?,
            split: plain_text(root, "split"),
            shared_user_id: at.text(attribute::SHARED_USER_ID)?,
            ..Self::new(package)
        };
        let mut application = None;
        let mut asked_for = HashSet::new();
        for (index, element) in document.children(0) {
            let at = Attributes { element, resources };
            match &*element.name {
                "application" if application.is_some() => {
                    return Err(wrong(element, "a second <application>"));
                }
                "application" => {
                    application = Some(manifest.application(&document, index, resources)?);
                }
                _ => manifest.declaration(at, &mut asked_for)?,
            }
        }
        match application {
            Some(application) => manifest.application = application,
            None if manifest.instrumentation.is_empty() => {
                return Err(wrong(root, "neither <application> nor <instrumentation>"));
            }
            None => {}
        }
        Ok(manifest)
    }

    /// `asked_for` holds the permissions that were named before.
    fn declaration(
        &mut self,
        at: Attributes<'_>,
        asked_for: &mut HashSet<String>,
    ) -> Result<(), Error> {
        let name = at.text(attribute::NAME)?;
        match &*at.element.name {
            "uses-sdk" => self.uses_sdk(at)?,
            "uses-permission" | "uses-permission-sdk-23" => {
                // Twice the same is common; the platform keeps one.
                let name = name.filter(|it| asked_for.insert(it.clone()));
                self.uses_permissions.extend(name);
            }
            "permission" => {
                let level = at.integer(attribute::PROTECTION_LEVEL)?.unwrap_or(0);
                let level = level.cast_unsigned();
                self.permissions
                    .extend(name.map(|name| Permission { name, level }));
            }
            "uses-feature" => {
                let is_required = at.boolean(attribute::REQUIRED)?.unwrap_or(true);
                self.features.push(Feature { name, is_required });
            }
            "instrumentation" => self.instrumentation.extend(name),
            "protected-broadcast" => self.protected_broadcasts.extend(name),
            _ => {}
        }
        Ok(())
    }

    fn uses_sdk(&mut self, at: Attributes<'_>) -> Result<(), Error> {
        let level = |id| -> Result<Option<u32>, Error> {
            Ok(at.integer(id)?.and_then(|it| u32::try_from(it).ok()))
        };
        let min = level(attribute::MIN_SDK_VERSION)?;
        if min.is_none() {
            self.sdk_codename = at.text(attribute::MIN_SDK_VERSION)?;
        }
        self.min_sdk = min.unwrap_or(1);
        self.target_sdk = level(attribute::TARGET_SDK_VERSION)?.unwrap_or(self.min_sdk);
        self.max_sdk = level(attribute::MAX_SDK_VERSION)?;
        Ok(())
    }

    fn application(
        &self,
        document: &Document,
        index: usize,
        resources: &Resources<'_>,
    ) -> Result<Application, Error> {
        let element = &document.elements()[index];
        let at = Attributes { element, resources };
        let mut application = Application {
            name: at
                .text(attribute::NAME)?
                .map(|it| class_name(&self.package, &it)),
            label: at.text(attribute::LABEL)?,
            theme: at.reference(attribute::THEME),
            has_code: at.boolean(attribute::HAS_CODE)?.unwrap_or(true),
            is_debuggable: at.boolean(attribute::DEBUGGABLE)?.unwrap_or(false),
            is_enabled: at.boolean(attribute::ENABLED)?.unwrap_or(true),
            process: at.text(attribute::PROCESS)?,
            affinity: at.text(attribute::TASK_AFFINITY)?,
            component_factory: at
                .text(attribute::APP_COMPONENT_FACTORY)?
                .map(|it| class_name(&self.package, &it)),
            ..Application::default()
        };
        for (index, element) in document.children(index) {
            let at = Attributes { element, resources };
            if element.namespace.is_some() {
                application.extensions.push(Extension::of(at)?);
                continue;
            }
            if let Some(kind) = ComponentKind::of(&element.name) {
                let component = Component::parse(kind, &self.package, document, index, resources)?;
                application.components.push(component);
            } else if &*element.name == "meta-data" {
                application.meta_data.push(MetaData::parse(at)?);
            } else if &*element.name == "uses-library" {
                application.libraries.extend(at.text(attribute::NAME)?);
            }
        }
        Ok(application)
    }

    /// The activity that a launcher would start: none of what is disabled is shown there.
    pub fn launcher(&self) -> Option<&Component> {
        let is_enabled = self.application.is_enabled;
        self.application.components.iter().find(|it| {
            (it.kind.is_activity() && it.is_enabled && is_enabled)
                && it.intent_filters.iter().any(|filter| {
                    filter.has_action("android.intent.action.MAIN")
                        && filter.has_category("android.intent.category.LAUNCHER")
                })
        })
    }
}

fn plain_text(element: &Element, name: &str) -> Option<String> {
    match element.by_name(None, name) {
        Some(crate::Value::String(text)) => Some(text.to_string()),
        _ => None,
    }
}

/// At least one dot, parts of letters, digits and '_' that begin with a letter; as the package
/// parser demands.
fn is_package_name(name: &str) -> bool {
    let is_part = |part: &str| {
        part.starts_with(|it: char| it.is_ascii_alphabetic())
            && part
                .chars()
                .all(|it| it.is_ascii_alphanumeric() || it == '_')
    };
    name.len() <= 223 && (name == "android" || (name.contains('.') && name.split('.').all(is_part)))
}

/// `.Main` and `Main` are relative to the package.
fn class_name(package: &str, name: &str) -> String {
    match name.find('.') {
        Some(0) => format!("{package}{name}"),
        Some(_) => name.to_owned(),
        None => format!("{package}.{name}"),
    }
}

fn wrong(element: &Element, text: impl Into<String>) -> Error {
    Error::new(ENTRY, element.offset, Fault::Malformed(text.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn package_names_are_checked_as_the_platform_does() {
        assert!(
            is_package_name("a.b")
                && is_package_name("SpeedoMeterApp.main")
                && is_package_name("a.b_2")
        );
        for name in ["", "a", "a.", ".a", "a.2b", "a.b-c", "a/../b.c", "ä.b"] {
            assert!(!is_package_name(name), "{name}");
        }
    }

    #[test]
    fn class_names_are_relative_to_the_package() {
        assert_eq!(class_name("p.q", ".Main"), "p.q.Main");
        assert_eq!(class_name("p.q", "Main"), "p.q.Main");
        assert_eq!(class_name("p.q", "r.Main"), "r.Main");
    }
}
