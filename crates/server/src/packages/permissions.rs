// SPDX-License-Identifier: Apache-2.0
//! Permissions: who defines them, and who is granted them.
//!
//! A normal one is granted to who asks. A dangerous one is granted at install as its flags say, or
//! by a person later. One of signature goes to packages of its definer's signers alone.

use super::{FRAMEWORK, Package, Packages};
use crate::frequency::LOCK_FREQUENCY;

/// The level of a permission, out of `protectionLevel`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// Granted to who asks.
    Normal,
    /// Granted by a person.
    Dangerous,
    /// Granted to the definer's signers.
    Signature,
    /// Granted by the system's own rules, of which there are none here.
    Internal,
}

impl Protection {
    /// Of the manifest's number.
    pub fn of(level: u32) -> Self {
        // `signatureOrSystem`, as the oldest packages have it: the system is signed as well.
        match level & 0xf {
            0 => Self::Normal,
            1 => Self::Dangerous,
            2 | 3 => Self::Signature,
            _ => Self::Internal,
        }
    }
}

/// From this target on, dangerous permissions wait for a person: Android 6.
const RUNTIME_SDK: u32 = 23;

/// A permission and who defines it.
#[derive(Clone, Debug)]
pub(super) struct Definition {
    pub(super) package: String,
    pub(super) protection: Protection,
}

/// Why a permission is not changed by a person.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GrantError {
    /// No such package.
    #[error("{0} is not installed")]
    NoPackage(String),
    /// The manifest does not ask for it.
    #[error("{0} does not ask for {1}")]
    NotAsked(String, String),
    /// Nobody defines it, or it is not one that a person grants.
    #[error("{0} is no permission that a person grants")]
    NotDangerous(String),
}

impl Packages {
    /// What the framework's own manifest says: Android's permissions, and the broadcasts that are
    /// the system's. Its components live in the system's process, of which there is none here.
    pub fn know_framework(&mut self, manifest: &apk::Manifest) {
        // Our own: it changes all of the machine, so a person grants it.
        let own = Definition {
            package: FRAMEWORK.to_owned(),
            protection: Protection::Dangerous,
        };
        self.permissions.insert(LOCK_FREQUENCY.to_owned(), own);
        for it in &manifest.permissions {
            let definition = Definition {
                package: FRAMEWORK.to_owned(),
                protection: Protection::of(it.level),
            };
            self.permissions.insert(it.name.clone(), definition);
        }
        let actions = manifest.protected_broadcasts.iter().cloned();
        self.protected.extend(actions);
    }

    /// May only the system send broadcasts of this action?
    pub fn is_protected(&self, action: &str) -> bool {
        self.protected.contains(action)
    }

    /// Whatever a package asks for is granted from now on: who runs it has installed it.
    pub fn grant_all(&mut self) {
        self.grants_all = true;
    }

    /// Grants a dangerous permission, or takes it back.
    ///
    /// # Errors
    ///
    /// [`GrantError`]
    pub fn set_granted(
        &mut self,
        package: &str,
        permission: &str,
        grant: Grant,
    ) -> Result<(), GrantError> {
        let found = self.by_name.get_mut(package);
        let found = found.ok_or_else(|| GrantError::NoPackage(package.to_owned()))?;
        if !found.asks_for(permission) {
            let (package, permission) = (package.to_owned(), permission.to_owned());
            return Err(GrantError::NotAsked(package, permission));
        }
        let definition = self.permissions.get(permission);
        if definition.is_none_or(|it| it.protection != Protection::Dangerous) {
            return Err(GrantError::NotDangerous(permission.to_owned()));
        }
        let chosen = &mut found.settings.granted;
        match grant {
            Grant::Granted => chosen.insert(permission.to_owned()),
            Grant::Denied => chosen.remove(permission),
        };
        Ok(())
    }

    /// Has the package this permission?
    pub fn is_granted(&self, package: &str, permission: &str) -> bool {
        let Some(found) = self
            .by_name
            .get(package)
            .filter(|it| it.asks_for(permission))
        else {
            return false;
        };
        if self.grants_all {
            return true;
        }
        let Some(definition) = self.permissions.get(permission) else {
            return false;
        };
        match definition.protection {
            Protection::Normal => true,
            Protection::Dangerous => {
                found.manifest.target_sdk < RUNTIME_SDK
                    || found.settings.granted.contains(permission)
            }
            Protection::Signature => {
                let definer = self.by_name.get(&definition.package);
                definer.is_some_and(|it| it.has_signers_of(found))
            }
            Protection::Internal => false,
        }
    }

    /// Has this user the permission? The system has each.
    pub fn may(&self, uid: u32, permission: &str) -> bool {
        uid < super::FIRST_UID
            || self
                .of_uid(uid)
                .is_some_and(|it| self.is_granted(&it.settings.name, permission))
    }

    /// What its dangerous permissions are, of those that it asks for.
    pub(super) fn dangerous_of(&self, package: &Package) -> Vec<String> {
        let asked = package.manifest.uses_permissions.iter();
        let is_dangerous = |name: &String| {
            let definition = self.permissions.get(name);
            definition.is_some_and(|it| it.protection == Protection::Dangerous)
        };
        asked.filter(|it| is_dangerous(it)).cloned().collect()
    }
}

/// What a person decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grant {
    /// It may.
    Granted,
    /// It may not.
    Denied,
}
