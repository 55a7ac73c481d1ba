// SPDX-License-Identifier: Apache-2.0
//! Activities, services, receivers and providers, with their intent filters.

use serde::{Deserialize, Serialize};

use super::attribute::{self, Attributes, Resources};
use super::{class_name, wrong};
use crate::xml::{Document, Element};
use crate::{Error, Value};

/// What kind of component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ComponentKind {
    /// An activity.
    Activity,
    /// Another name for an activity.
    ActivityAlias,
    /// A service.
    Service,
    /// A broadcast receiver.
    Receiver,
    /// A content provider.
    Provider,
}

impl ComponentKind {
    pub(super) fn of(tag: &str) -> Option<Self> {
        Some(match tag {
            "activity" => Self::Activity,
            "activity-alias" => Self::ActivityAlias,
            "service" => Self::Service,
            "receiver" => Self::Receiver,
            "provider" => Self::Provider,
            _ => return None,
        })
    }

    /// Can it be started as an activity?
    pub fn is_activity(self) -> bool {
        matches!(self, Self::Activity | Self::ActivityAlias)
    }
}

/// One component.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Component {
    /// What it is.
    pub kind: ComponentKind,
    /// Its class; for an alias, the alias' name.
    pub name: String,
    /// The class behind an alias.
    pub target: Option<String>,
    /// What a person reads.
    pub label: Option<String>,
    /// An activity's theme, by a resource's id; else the application's.
    pub theme: Option<u32>,
    /// Is it enabled?
    pub is_enabled: bool,
    /// May others start it? Without a word of the manifest: has it intent filters?
    pub is_exported: bool,
    /// What a caller needs.
    pub permission: Option<String>,
    /// Its process, if not the application's.
    pub process: Option<String>,
    /// How tasks take an activity.
    pub launch: Launch,
    /// Authorities of a provider.
    pub authorities: Vec<String>,
    /// What who reads or changes a provider's data needs.
    #[serde(default, skip_serializing_if = "Access::is_plain")]
    pub access: Access,
    /// Order in which providers are made: greater first.
    pub init_order: i32,
    /// What it answers to.
    pub intent_filters: Vec<IntentFilter>,
    /// meta-data.
    pub meta_data: Vec<MetaData>,
    /// Elements of other namespaces, such as RTDroid's real-time declarations.
    pub extensions: Vec<Extension>,
}

impl Component {
    /// One that is enabled, not exported, and answers to nothing.
    pub fn new(kind: ComponentKind, name: impl Into<String>) -> Self {
        Self {
            kind,
            name: name.into(),
            target: None,
            label: None,
            theme: None,
            is_enabled: true,
            is_exported: false,
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

    pub(super) fn parse(
        kind: ComponentKind,
        package: &str,
        document: &Document,
        index: usize,
        resources: &Resources<'_>,
    ) -> Result<Self, Error> {
        let element = &document.elements()[index];
        let at = Attributes { element, resources };
        let name = at.text(attribute::NAME)?.filter(|it| !it.is_empty());
        let name = name.ok_or_else(|| lacks(element, "name"))?;
        let target = at.text(attribute::TARGET_ACTIVITY)?;
        if kind == ComponentKind::ActivityAlias && target.is_none() {
            return Err(lacks(element, "targetActivity"));
        }
        let authorities = at.text(attribute::AUTHORITIES)?;
        if kind == ComponentKind::Provider && authorities.is_none() {
            return Err(lacks(element, "authorities"));
        }
        if let Some(text) = &authorities {
            let count = text.split(';').count();
            resources.take_text(element, text, count)?;
        }
        let mut component = Self {
            target: target.map(|it| class_name(package, &it)),
            label: at.text(attribute::LABEL)?,
            theme: at.reference(attribute::THEME),
            is_enabled: at.boolean(attribute::ENABLED)?.unwrap_or(true),
            permission: at.text(attribute::PERMISSION)?,
            process: at.text(attribute::PROCESS)?,
            launch: Launch::parse(at)?,
            authorities: authorities
                .iter()
                .flat_map(|it| it.split(';'))
                .map(str::to_owned)
                .collect(),
            access: Access::parse(document, index, resources)?,
            init_order: at.integer(attribute::INIT_ORDER)?.unwrap_or(0),
            ..Self::new(kind, class_name(package, &name))
        };
        for (index, element) in document.children(index) {
            let at = Attributes { element, resources };
            match &*element.name {
                _ if element.namespace.is_some() => {
                    component.extensions.push(Extension::of(at)?);
                }
                "intent-filter" => {
                    component
                        .intent_filters
                        .push(IntentFilter::parse(document, index, resources)?);
                }
                "meta-data" => component.meta_data.push(MetaData::parse(at)?),
                _ => {}
            }
        }
        component.is_exported = at
            .boolean(attribute::EXPORTED)?
            .unwrap_or(!component.intent_filters.is_empty());
        Ok(component)
    }
}

fn lacks(element: &Element, attribute: &str) -> Error {
    let tag = &element.name;
    wrong(element, format!("<{tag}> without android:{attribute}"))
}

/// A provider's own permissions; without them the component's holds for both.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Access {
    /// readPermission.
    pub read: Option<String>,
    /// writePermission.
    pub write: Option<String>,
    /// grantUriPermissions: may who reaches an address let others reach it?
    pub is_grantable: bool,
    /// Addresses that may be granted, by their paths; empty if all may.
    pub granted_paths: Vec<PathPattern>,
    /// Paths with permissions of their own.
    pub paths: Vec<PathAccess>,
}

impl Access {
    fn parse(document: &Document, index: usize, resources: &Resources<'_>) -> Result<Self, Error> {
        let element = &document.elements()[index];
        let at = Attributes { element, resources };
        let granted = at.boolean(attribute::GRANT_URI_PERMISSIONS)?;
        let mut access = Self {
            read: at.text(attribute::READ_PERMISSION)?,
            write: at.text(attribute::WRITE_PERMISSION)?,
            is_grantable: granted.unwrap_or(false),
            ..Self::default()
        };
        for (_, element) in document.children(index) {
            let at = Attributes { element, resources };
            match &*element.name {
                _ if element.namespace.is_some() => {}
                "path-permission" => access.paths.extend(PathAccess::parse(at)?),
                "grant-uri-permission" => access.granted_paths.extend(PathPattern::parse(at)?),
                _ => {}
            }
        }
        access.is_grantable |= !access.granted_paths.is_empty();
        Ok(access)
    }

    fn is_plain(&self) -> bool {
        *self == Self::default()
    }
}

/// A pattern for the path of an address.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct PathPattern {
    /// As `android.os.PatternMatcher` numbers them: 0 literal, 1 prefix, 2 simple, 3 with sets and
    /// counts, 4 suffix.
    pub kind: i32,
    /// The pattern.
    pub text: String,
}

impl PathPattern {
    /// Of several the last in this order counts, as on Android. None if there is none.
    fn parse(at: Attributes<'_>) -> Result<Option<Self>, Error> {
        let kinds = [
            (4, attribute::PATH_SUFFIX),
            (3, attribute::PATH_ADVANCED_PATTERN),
            (2, attribute::PATH_PATTERN),
            (1, attribute::PATH_PREFIX),
            (0, attribute::PATH),
        ];
        for (kind, attribute) in kinds {
            if let Some(text) = at.text(attribute)? {
                return Ok(Some(Self { kind, text }));
            }
        }
        Ok(None)
    }
}

/// What who reads or changes data of some paths needs: one of these or the provider's own.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct PathAccess {
    /// Which paths.
    pub path: PathPattern,
    /// readPermission.
    pub read: Option<String>,
    /// writePermission.
    pub write: Option<String>,
}

impl PathAccess {
    /// None if it names no path or no permission: Android passes it over.
    fn parse(at: Attributes<'_>) -> Result<Option<Self>, Error> {
        let both = at.text(attribute::PERMISSION)?;
        let read = at
            .text(attribute::READ_PERMISSION)?
            .or_else(|| both.clone());
        let write = at.text(attribute::WRITE_PERMISSION)?.or(both);
        let path = PathPattern::parse(at)?;
        let names_one = read.is_some() || write.is_some();
        Ok(path
            .filter(|_| names_one)
            .map(|path| Self { path, read, write }))
    }
}

/// How tasks take an activity.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Launch {
    /// launchMode: 0 standard, 1 singleTop, 2 singleTask, 3 singleInstance, 4
    /// singleInstancePerTask.
    pub mode: i32,
    /// documentLaunchMode: 0 none, 1 intoExisting, 2 always, 3 never.
    pub document_mode: i32,
    /// taskAffinity: none if the application's, empty if no task's.
    pub affinity: Option<String>,
    /// noHistory.
    pub has_no_history: bool,
    /// configChanges, in ActivityInfo's bits: what it is told of, and not made anew for.
    pub told_changes: i32,
}

/// CONFIG_MCC and CONFIG_MNC: an activity is told of them, unless recreateOnConfigChanges has them.
const TOLD_CHANGES: i32 = 3;

impl Launch {
    fn parse(at: Attributes<'_>) -> Result<Self, Error> {
        Ok(Self {
            mode: at.integer(attribute::LAUNCH_MODE)?.unwrap_or(0),
            document_mode: at.integer(attribute::DOCUMENT_LAUNCH_MODE)?.unwrap_or(0),
            affinity: at.text(attribute::TASK_AFFINITY)?,
            has_no_history: at.boolean(attribute::NO_HISTORY)?.unwrap_or(false),
            told_changes: {
                let told = at.integer(attribute::CONFIG_CHANGES)?.unwrap_or(0);
                let anew = at.integer(attribute::RECREATE_ON_CONFIG_CHANGES)?;
                told | TOLD_CHANGES & !anew.unwrap_or(0)
            },
        })
    }
}

/// An intent filter.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct IntentFilter {
    /// Greater is asked first.
    pub priority: i32,
    /// Actions.
    pub actions: Vec<String>,
    /// Categories.
    pub categories: Vec<String>,
    /// Data patterns.
    pub data: Vec<DataPattern>,
}

impl IntentFilter {
    fn parse(document: &Document, index: usize, resources: &Resources<'_>) -> Result<Self, Error> {
        let at = Attributes {
            element: &document.elements()[index],
            resources,
        };
        let mut filter = Self {
            priority: at.integer(attribute::PRIORITY)?.unwrap_or(0),
            actions: Vec::new(),
            categories: Vec::new(),
            data: Vec::new(),
        };
        for (_, element) in document.children(index) {
            let at = Attributes { element, resources };
            match &*element.name {
                "action" => filter.actions.extend(at.text(attribute::NAME)?),
                "category" => filter.categories.extend(at.text(attribute::NAME)?),
                "data" => filter.data.push(DataPattern::parse(at)?),
                _ => {}
            }
        }
        Ok(filter)
    }

    /// Does it name this action?
    pub fn has_action(&self, action: &str) -> bool {
        self.actions.iter().any(|it| it == action)
    }

    /// Does it name this category?
    pub fn has_category(&self, category: &str) -> bool {
        self.categories.iter().any(|it| it == category)
    }
}

/// The data element of an intent filter.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct DataPattern {
    /// Scheme.
    pub scheme: Option<String>,
    /// Host.
    pub host: Option<String>,
    /// Port.
    pub port: Option<String>,
    /// The whole path.
    pub path: Option<String>,
    /// How the path begins.
    pub path_prefix: Option<String>,
    /// A simple pattern for the path.
    pub path_pattern: Option<String>,
    /// A pattern with sets and counts for the path.
    pub path_advanced_pattern: Option<String>,
    /// How the path ends.
    pub path_suffix: Option<String>,
    /// All that follows the scheme.
    pub ssp: Option<String>,
    /// How that begins.
    pub ssp_prefix: Option<String>,
    /// A simple pattern for it.
    pub ssp_pattern: Option<String>,
    /// A pattern with sets and counts for it.
    pub ssp_advanced_pattern: Option<String>,
    /// How it ends.
    pub ssp_suffix: Option<String>,
    /// MIME type.
    pub mime_type: Option<String>,
    /// A group of MIME types that the application fills while it runs.
    pub mime_group: Option<String>,
}

impl DataPattern {
    fn parse(at: Attributes<'_>) -> Result<Self, Error> {
        Ok(Self {
            scheme: at.text(attribute::SCHEME)?,
            host: at.text(attribute::HOST)?,
            port: at.text(attribute::PORT)?,
            path: at.text(attribute::PATH)?,
            path_prefix: at.text(attribute::PATH_PREFIX)?,
            path_pattern: at.text(attribute::PATH_PATTERN)?,
            path_advanced_pattern: at.text(attribute::PATH_ADVANCED_PATTERN)?,
            path_suffix: at.text(attribute::PATH_SUFFIX)?,
            ssp: at.text(attribute::SSP)?,
            ssp_prefix: at.text(attribute::SSP_PREFIX)?,
            ssp_pattern: at.text(attribute::SSP_PATTERN)?,
            ssp_advanced_pattern: at.text(attribute::SSP_ADVANCED_PATTERN)?,
            ssp_suffix: at.text(attribute::SSP_SUFFIX)?,
            mime_type: at.text(attribute::MIME_TYPE)?,
            mime_group: at.text(attribute::MIME_GROUP)?,
        })
    }
}

/// A meta-data element.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct MetaData {
    /// Its key.
    pub name: Option<String>,
    /// android:value as text.
    pub value: Option<String>,
    /// android:resource, an id.
    pub resource: Option<u32>,
}

impl MetaData {
    pub(super) fn parse(at: Attributes<'_>) -> Result<Self, Error> {
        Ok(Self {
            name: at.text(attribute::NAME)?,
            value: at.text(attribute::VALUE)?,
            resource: at.reference(attribute::RESOURCE),
        })
    }
}

/// An element of a namespace that is not Android's, kept with its attributes as text.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Extension {
    /// The namespace.
    pub namespace: String,
    /// The tag.
    pub name: String,
    /// Attributes in file order.
    pub attributes: Vec<(String, String)>,
}

impl Extension {
    pub(super) fn of(at: Attributes<'_>) -> Result<Self, Error> {
        let element = at.element;
        let copied = |text: &str| {
            at.resources.take_text(element, text, 1)?;
            Ok(text.to_owned())
        };
        let text = |value: &Value| match value {
            Value::String(text) => copied(text),
            Value::Integer(number) => Ok(number.to_string()),
            Value::Boolean(is_set) => Ok(is_set.to_string()),
            Value::Float(number) => Ok(number.to_string()),
            other => Ok(format!("{other:?}")),
        };
        Ok(Self {
            namespace: copied(element.namespace.as_deref().unwrap_or_default())?,
            name: copied(&element.name)?,
            attributes: element
                .attributes
                .iter()
                .map(|it| Ok((copied(&it.name)?, text(&it.value)?)))
                .collect::<Result<_, Error>>()?,
        })
    }
}
