// SPDX-License-Identifier: Apache-2.0
//! Installed packages: what each declares, what was decided about it, and whose intents it takes.
//!
//! [`Settings`] is what is kept over restarts; the manifest is read again from the package. Who
//! asks is `query`, who may is `permissions`.
//!
//! What is not here: sharedUserId, splits, rotated signers, groups of MIME types, and packages that
//! do not see each other.

mod filter;
mod permissions;
mod query;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use intent::{FilterId, Resolver};
use serde::{Deserialize, Serialize};

pub use filter::filter;
pub use permissions::{Grant, GrantError, Protection};
pub use query::{
    Best, Denied, Found, Kind, MATCH_DEFAULT_ONLY, MATCH_DISABLED, MATCH_DISABLED_UNTIL_USED,
    MATCH_SYSTEM_ONLY,
};

use crate::ProcessKey;
use crate::activities::{Declaration, DocumentMode, LaunchMode};

/// Packages at once: a manifest is some ten kilobytes here.
pub const PACKAGES_MAX: usize = 256;
/// Components of one package; the largest in the field have a thousand.
pub const COMPONENTS_MAX: usize = 4_096;
/// Filters of one package.
pub const FILTERS_MAX: usize = 16_384;
/// The first user of an application, as on Android.
pub const FIRST_UID: u32 = 10_000;
/// The last.
pub const LAST_UID: u32 = 19_999;
/// The framework's own package, which defines Android's permissions.
pub const FRAMEWORK: &str = "android";
/// Its user.
pub const SYSTEM_UID: u32 = 1_000;
/// The API level of the framework that applications run on.
pub const SDK: u32 = 35;

/// `COMPONENT_ENABLED_STATE_*`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Enabled {
    /// As the manifest says.
    #[default]
    Default,
    /// On.
    Enabled,
    /// Off.
    Disabled,
    /// Off by a person.
    DisabledByUser,
    /// Off until it is used.
    DisabledUntilUsed,
}

/// What was decided about a package: this is kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: u64,
    /// SHA-256 of its signers' certificates, sorted.
    pub signers: BTreeSet<String>,
    /// Its user.
    pub uid: u32,
    /// Where the package lies, in the store.
    pub code: String,
    /// It belongs to the system.
    pub is_system: bool,
    /// Dangerous permissions that it has.
    pub granted: BTreeSet<String>,
    /// Is the application switched on?
    pub enabled: Enabled,
    /// Components that are not as the manifest says.
    pub components: BTreeMap<String, Enabled>,
}

/// An installed package.
#[derive(Clone, Debug)]
pub struct Package {
    /// What it declares.
    pub manifest: apk::Manifest,
    /// What was decided.
    pub settings: Settings,
    filters: Vec<(Kind, FilterId)>,
}

/// What is to be installed.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// What it declares.
    pub manifest: apk::Manifest,
    /// SHA-256 of its signers' certificates.
    pub signers: BTreeSet<String>,
    /// Where it will lie, in the store.
    pub code: String,
    /// Dangerous permissions that it asks for.
    pub dangerous: Grant,
    /// It belongs to the system.
    pub is_system: bool,
}

/// Why a package is not installed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InstallError {
    /// Nobody signed it.
    #[error("{0} is not signed")]
    NotSigned(String),
    /// It is there already, signed by others.
    #[error("{0} is installed, signed by others")]
    OtherSigners(String),
    /// It is there already, newer.
    #[error("{name}: version {new} is older than {old}, which is installed")]
    Downgrade {
        /// The package.
        name: String,
        /// What is installed.
        old: u64,
        /// What was to be.
        new: u64,
    },
    /// It wants a newer Android.
    #[error("{0} wants API {1}, and here is {SDK}")]
    Sdk(String, u32),
    /// What it asks for is not there.
    #[error("{0}: {1} is not supported by Takt yet")]
    NotSupported(String, &'static str),
    /// Another package defines this permission.
    #[error("{0} is a permission of {1} already")]
    PermissionTaken(String, String),
    /// Another package provides this authority.
    #[error("{0} is an authority of {1} already")]
    AuthorityTaken(String, String),
    /// A filter that cannot be read.
    #[error("{0}: {1}")]
    Filter(String, String),
    /// The bound is reached.
    #[error("there is no room for {0}: {1}")]
    Full(String, &'static str),
    /// It is a real-time package, and its memory is not there.
    #[error(transparent)]
    Memory(#[from] crate::memory::MemoryError),
}

/// What came of an install.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Installed {
    /// It was not there; its data directory is new, for this user.
    New(u32),
    /// It replaces an older one; its processes end.
    Replaced(u32),
}

/// All packages.
#[derive(Clone, Debug, Default)]
pub struct Packages {
    by_name: BTreeMap<String, Package>,
    by_uid: BTreeMap<u32, String>,
    resolvers: HashMap<Kind, Resolver<(String, usize)>>,
    authorities: BTreeMap<String, (String, usize)>,
    permissions: BTreeMap<String, permissions::Definition>,
    /// Actions of broadcasts that no application sends.
    protected: BTreeSet<String>,
    /// What is asked for is granted.
    grants_all: bool,
}

/// Actions of which nobody, not even the system, may take all: a person chooses.
const SHARED_ACTIONS: [&str; 4] = [
    "android.intent.action.SEND",
    "android.intent.action.SENDTO",
    "android.intent.action.SEND_MULTIPLE",
    "android.intent.action.VIEW",
];

fn may_be_first(filter: &intent::Filter) -> bool {
    let mut actions = filter.actions.iter();
    !actions.any(|it| SHARED_ACTIONS.contains(&it.as_str()))
}

impl Enabled {
    /// By Android's number.
    pub fn of(number: i32) -> Option<Self> {
        Some(match number {
            0 => Self::Default,
            1 => Self::Enabled,
            2 => Self::Disabled,
            3 => Self::DisabledByUser,
            4 => Self::DisabledUntilUsed,
            _ => return None,
        })
    }

    /// Android's number.
    pub fn number(self) -> i32 {
        match self {
            Self::Default => 0,
            Self::Enabled => 1,
            Self::Disabled => 2,
            Self::DisabledByUser => 3,
            Self::DisabledUntilUsed => 4,
        }
    }
}

impl Packages {
    /// Installs a package, or replaces an older one of the same signers.
    ///
    /// # Errors
    ///
    /// [`InstallError`]; then nothing has changed.
    pub fn install(&mut self, candidate: Candidate) -> Result<Installed, InstallError> {
        self.check(&candidate)?;
        let filters = read_filters(&candidate.manifest)?;
        let name = candidate.manifest.package.clone();
        let old = self.by_name.get(&name).map(|it| it.settings.clone());
        let uid = match &old {
            Some(old) => old.uid,
            None if name == FRAMEWORK => SYSTEM_UID,
            None => self.free_uid().ok_or_else(|| full(&name, "users"))?,
        };
        self.withdraw(&name);
        let settings = Settings {
            version: candidate.manifest.version_code,
            signers: candidate.signers,
            uid,
            code: candidate.code,
            is_system: candidate.is_system,
            granted: old
                .as_ref()
                .map(|it| it.granted.clone())
                .unwrap_or_default(),
            enabled: old.as_ref().map(|it| it.enabled).unwrap_or_default(),
            components: kept_components(old.as_ref(), &candidate.manifest),
            name: name.clone(),
        };
        self.publish(candidate.manifest, settings, filters);
        if candidate.dangerous == Grant::Granted {
            let dangerous = self.dangerous_of(&self.by_name[&name]);
            if let Some(package) = self.by_name.get_mut(&name) {
                package.settings.granted.extend(dangerous);
            }
        }
        Ok(match old {
            Some(_) => Installed::Replaced(uid),
            None => Installed::New(uid),
        })
    }

    /// A package as it was before a restart.
    ///
    /// # Errors
    ///
    /// [`InstallError`], if the package that lies there is not the one that was installed.
    pub fn restore(
        &mut self,
        manifest: apk::Manifest,
        settings: Settings,
    ) -> Result<(), InstallError> {
        let is_it = manifest.package == settings.name && manifest.version_code == settings.version;
        if !is_it || self.by_uid.contains_key(&settings.uid) {
            return Err(InstallError::OtherSigners(settings.name));
        }
        self.check(&Candidate {
            manifest: manifest.clone(),
            signers: settings.signers.clone(),
            code: settings.code.clone(),
            dangerous: Grant::Denied,
            is_system: settings.is_system,
        })?;
        let filters = read_filters(&manifest)?;
        self.publish(manifest, settings, filters);
        Ok(())
    }

    /// Takes a package away. None if it is not there.
    pub fn uninstall(&mut self, name: &str) -> Option<Settings> {
        self.withdraw(name).map(|it| it.settings)
    }

    /// Switches a component, or without a class the whole application. False if it is not there.
    pub fn set_enabled(&mut self, name: &str, class: Option<&str>, state: Enabled) -> bool {
        let Some(package) = self.by_name.get_mut(name) else {
            return false;
        };
        let Some(class) = class else {
            package.settings.enabled = state;
            return true;
        };
        let all = &package.manifest.application.components;
        if !all.iter().any(|it| it.name == class) {
            return false;
        }
        match state {
            Enabled::Default => package.settings.components.remove(class),
            _ => package.settings.components.insert(class.to_owned(), state),
        };
        true
    }

    /// A package by its name.
    pub fn get(&self, name: &str) -> Option<&Package> {
        self.by_name.get(name)
    }

    /// The package of a user.
    pub fn of_uid(&self, uid: u32) -> Option<&Package> {
        self.by_name.get(self.by_uid.get(&uid)?)
    }

    /// All, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Package> {
        self.by_name.values()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    fn check(&self, candidate: &Candidate) -> Result<(), InstallError> {
        let manifest = &candidate.manifest;
        let name = &manifest.package;
        let lacks = |what| Err(InstallError::NotSupported(name.clone(), what));
        if manifest.split.is_some() {
            return lacks("a split package");
        }
        if manifest.shared_user_id.is_some() {
            return lacks("sharedUserId");
        }
        if candidate.signers.is_empty() && !candidate.is_system {
            return Err(InstallError::NotSigned(name.clone()));
        }
        if name == FRAMEWORK && !candidate.is_system {
            return Err(InstallError::OtherSigners(name.clone()));
        }
        if manifest.min_sdk > SDK {
            return Err(InstallError::Sdk(name.clone(), manifest.min_sdk));
        }
        match self.by_name.get(name).map(|it| &it.settings) {
            Some(old) if old.signers != candidate.signers => {
                return Err(InstallError::OtherSigners(name.clone()));
            }
            Some(old) if old.version > manifest.version_code => {
                return Err(InstallError::Downgrade {
                    name: name.clone(),
                    old: old.version,
                    new: manifest.version_code,
                });
            }
            None if self.by_name.len() >= PACKAGES_MAX => return Err(full(name, "packages")),
            _ => {}
        }
        if manifest.application.components.len() > COMPONENTS_MAX {
            return Err(full(name, "components"));
        }
        self.check_names(manifest)
    }

    /// Nobody else has its permissions and authorities.
    fn check_names(&self, manifest: &apk::Manifest) -> Result<(), InstallError> {
        let is_other = |owner: &str| owner != manifest.package;
        for it in &manifest.permissions {
            // As on Android, what the framework defines is not defined again, silently.
            if let Some(taken) = self.permissions.get(&it.name)
                && is_other(&taken.package)
                && taken.package != FRAMEWORK
            {
                let owner = taken.package.clone();
                return Err(InstallError::PermissionTaken(it.name.clone(), owner));
            }
        }
        for component in &manifest.application.components {
            for authority in &component.authorities {
                if let Some((owner, _)) = self.authorities.get(authority)
                    && is_other(owner)
                {
                    let (authority, owner) = (authority.clone(), owner.clone());
                    return Err(InstallError::AuthorityTaken(authority, owner));
                }
            }
        }
        Ok(())
    }

    fn free_uid(&self) -> Option<u32> {
        (FIRST_UID..=LAST_UID).find(|it| !self.by_uid.contains_key(it))
    }

    fn publish(
        &mut self,
        manifest: apk::Manifest,
        settings: Settings,
        read: Vec<(Kind, usize, intent::Filter)>,
    ) {
        let name = settings.name.clone();
        let mut filters = Vec::with_capacity(read.len());
        for (kind, at, mut filter) in read {
            if kind == Kind::Activity && !(settings.is_system && may_be_first(&filter)) {
                // Nobody but the system puts itself before others, as on Android.
                filter.priority = filter.priority.min(0);
            }
            let resolver = self.resolvers.entry(kind).or_default();
            let id = resolver.add((name.clone(), at), name.clone(), filter);
            filters.push((kind, id));
        }
        for (at, component) in manifest.application.components.iter().enumerate() {
            for authority in &component.authorities {
                let owner = (name.clone(), at);
                self.authorities.entry(authority.clone()).or_insert(owner);
            }
        }
        for it in &manifest.permissions {
            let definition = permissions::Definition {
                package: name.clone(),
                protection: Protection::of(it.level),
            };
            let taken = self.permissions.get(&it.name);
            if taken.is_none_or(|it| it.package != FRAMEWORK) {
                self.permissions.insert(it.name.clone(), definition);
            }
        }
        self.by_uid.insert(settings.uid, name.clone());
        let package = Package {
            manifest,
            settings,
            filters,
        };
        self.by_name.insert(name, package);
    }

    fn withdraw(&mut self, name: &str) -> Option<Package> {
        let package = self.by_name.remove(name)?;
        self.by_uid.remove(&package.settings.uid);
        for (kind, id) in &package.filters {
            if let Some(resolver) = self.resolvers.get_mut(kind) {
                resolver.remove(*id);
            }
        }
        self.authorities.retain(|_, (owner, _)| owner != name);
        self.permissions.retain(|_, it| it.package != name);
        Some(package)
    }

    /// Panics if a rule is broken.
    pub fn assert_consistent(&self) {
        assert!(self.by_name.len() <= PACKAGES_MAX);
        assert_eq!(self.by_name.len(), self.by_uid.len(), "one user each");
        let filters: usize = self.by_name.values().map(|it| it.filters.len()).sum();
        let kept: usize = self.resolvers.values().map(Resolver::len).sum();
        assert_eq!(filters, kept, "no filter without its package");
        for (owner, at) in self.authorities.values() {
            let all = &self.by_name[owner].manifest.application.components;
            assert!(*at < all.len());
        }
        for it in self.permissions.values() {
            assert!(it.package == FRAMEWORK || self.by_name.contains_key(&it.package));
        }
    }
}

impl Package {
    /// Does the manifest ask for it?
    pub fn asks_for(&self, permission: &str) -> bool {
        let mut asked = self.manifest.uses_permissions.iter();
        asked.any(|it| it == permission)
    }

    fn has_signers_of(&self, other: &Self) -> bool {
        let is_same = self.settings.signers == other.settings.signers;
        is_same && !self.settings.signers.is_empty()
    }

    /// The process that a component lives in.
    pub fn process_of(&self, component: &apk::Component) -> ProcessKey {
        let application = &self.manifest.application;
        let given = component.process.as_ref().or(application.process.as_ref());
        let name = match given {
            Some(it) if it.starts_with(':') => format!("{}{it}", self.settings.name),
            Some(it) => it.clone(),
            None => self.settings.name.clone(),
        };
        ProcessKey {
            uid: self.settings.uid,
            name,
        }
    }

    /// An activity as tasks take it; of an alias, the class behind it.
    pub fn activity(&self, component: &apk::Component) -> Declaration {
        let application = &self.manifest.application;
        let all = &application.components;
        let target = component.target.as_ref();
        let target = target.and_then(|it| all.iter().find(|other| other.name == *it));
        let real = target.unwrap_or(component);
        let affinity = real.launch.affinity.as_ref();
        let affinity = affinity.or(application.affinity.as_ref());
        let affinity = affinity.unwrap_or(&self.settings.name).clone();
        let is_home = component
            .intent_filters
            .iter()
            .any(|it| it.has_category("android.intent.category.HOME"));
        Declaration {
            component: intent::Component {
                package: self.settings.name.clone(),
                class: real.name.clone(),
            },
            process: self.process_of(real),
            launch_mode: LaunchMode::of(real.launch.mode),
            document_mode: DocumentMode::of(real.launch.document_mode),
            affinity: Some(affinity).filter(|it| !it.is_empty()),
            has_no_history: real.launch.has_no_history,
            is_home,
        }
    }
}

fn full(name: &str, what: &'static str) -> InstallError {
    InstallError::Full(name.to_owned(), what)
}

fn read_filters(
    manifest: &apk::Manifest,
) -> Result<Vec<(Kind, usize, intent::Filter)>, InstallError> {
    let mut filters = Vec::new();
    for (at, component) in manifest.application.components.iter().enumerate() {
        for declared in &component.intent_filters {
            let read = filter(declared);
            let read = read.map_err(|it| InstallError::Filter(component.name.clone(), it))?;
            filters.push((Kind::of(component.kind), at, read));
        }
    }
    if filters.len() > FILTERS_MAX {
        return Err(full(&manifest.package, "filters"));
    }
    Ok(filters)
}

/// Switches of components that the new version has as well.
fn kept_components(old: Option<&Settings>, new: &apk::Manifest) -> BTreeMap<String, Enabled> {
    let mut kept = old.map(|it| it.components.clone()).unwrap_or_default();
    let all = &new.application.components;
    kept.retain(|name, _| all.iter().any(|it| it.name == *name));
    kept
}
