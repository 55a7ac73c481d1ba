// SPDX-License-Identifier: Apache-2.0
//! Who may grant which address to whom, as part of all rooms together.

use intent::Component;

use super::{Address, GRANTS_PER_GIVER_MAX, Given, KeptGrant, MODES, Owner, PERSISTABLE};
use crate::Server;
use crate::packages::{Denied, FIRST_UID, Found};

/// Why an address is not granted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GrantRefused {
    /// Its provider lets nobody do so.
    #[error("{0:?} does not let {1} be granted (android:grantUriPermissions)")]
    NotGrantable(Component, String),
    /// Who grants it may not reach it so itself.
    #[error("user {0} may not reach {1} itself, and cannot grant it")]
    NotHeld(u32, String),
    /// Who grants it has given too many.
    #[error("user {0} has granted {GRANTS_PER_GIVER_MAX} addresses already, or all have too many")]
    Full(u32),
}

impl Server {
    /// Grants what lives no longer is ended first.
    fn end_stale_grants(&mut self) {
        let (activities, services) = (&self.activities, &self.services);
        self.grants.end_owners(|owner| match owner {
            Owner::Activity(id) => activities.get(id).is_some(),
            Owner::Service(id) => services.get(id).is_some(),
        });
    }

    /// What of these addresses a package's user is to be granted by another: what it may reach
    /// already is left out, and what nobody provides.
    ///
    /// # Errors
    ///
    /// [`GrantRefused`]; then nothing is granted.
    pub fn to_grant(
        &mut self,
        (giver, holder): (u32, u32),
        addresses: &[Address],
        flags: u32,
    ) -> Result<Vec<Given>, GrantRefused> {
        let mut all = Vec::new();
        if flags & MODES == 0 || addresses.is_empty() {
            return Ok(all);
        }
        self.end_stale_grants();
        for address in addresses {
            let Some(found) = self.packages.provider(address.authority()) else {
                continue;
            };
            let is_needed = !self.packages.holds(holder, &found, address, flags);
            if !is_needed && flags & PERSISTABLE == 0 {
                continue;
            }
            if is_needed && !found.lets_grant(address) {
                let text = address.text().to_owned();
                return Err(GrantRefused::NotGrantable(found.name(), text));
            }
            let may = !is_needed
                || self.packages.holds(giver, &found, address, flags)
                || self.grants.is_held(giver, address, flags);
            if !may {
                return Err(GrantRefused::NotHeld(giver, address.text().to_owned()));
            }
            all.push(Given {
                holder,
                giver,
                provider: found.package.settings.name.clone(),
                address: address.clone(),
                flags,
            });
        }
        match self.grants.has_room(giver, all.len()) {
            true => Ok(all),
            false => Err(GrantRefused::Full(giver)),
        }
    }

    /// Grants what [`Server::to_grant`] has found.
    pub fn grant(&mut self, given: Vec<Given>, owner: Option<Owner>) {
        for it in given {
            self.grants.give(it, owner);
        }
    }

    /// Has a user a grant of these modes, or is it the system's?
    pub fn is_granted(&mut self, uid: u32, address: &Address, flags: u32) -> bool {
        self.end_stale_grants();
        uid < FIRST_UID || self.grants.is_held(uid, address, flags)
    }

    /// May this user reach a provider, by its permissions or a grant of something that it has?
    ///
    /// # Errors
    ///
    /// [`Denied`]
    pub fn may_use(&self, uid: u32, found: &Found<'_>) -> Result<(), Denied> {
        let denied = self.packages.may_use(uid, found);
        denied.or_else(
            |it| match self.grants.reaches(uid, &found.component.authorities) {
                true => Ok(()),
                false => Err(it),
            },
        )
    }

    /// Takes modes back. Who may reach the address by permission takes them from all, or from one
    /// package; who may not gives up its own. Says whether something that is kept has changed.
    pub fn revoke(&mut self, uid: u32, from: Option<u32>, address: &Address, modes: u32) -> bool {
        self.end_stale_grants();
        let Some(found) = self.packages.provider(address.authority()) else {
            return false;
        };
        let from = match self.packages.holds(uid, &found, address, modes) {
            true => from,
            false => Some(uid),
        };
        self.grants.revoke(from, address, modes & MODES)
    }

    /// Grants that were kept before a restart, of packages that are there.
    pub fn restore_grants(&mut self, kept: &[KeptGrant]) {
        for it in kept {
            let holder = self.packages.get(&it.holder).map(|it| it.settings.uid);
            let provider = Address::new(&it.address);
            let provider = provider.and_then(|it| self.packages.provider(it.authority()));
            let Some((holder, found)) = holder.zip(provider) else {
                continue;
            };
            let settings = &found.package.settings;
            if settings.name == it.provider {
                self.grants.restore(holder, settings.uid, it);
            }
        }
    }

    /// What is to be kept now, each with its holder's name.
    pub fn kept_grants(&self) -> Vec<KeptGrant> {
        let named = |(uid, it): (u32, KeptGrant)| {
            let holder = self.packages.of_uid(uid)?.settings.name.clone();
            Some(KeptGrant { holder, ..it })
        };
        self.grants.kept().filter_map(named).collect()
    }
}
