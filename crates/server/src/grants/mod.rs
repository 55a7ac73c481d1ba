// SPDX-License-Identifier: Apache-2.0
//! Grants of single addresses: who may read or change what a provider's permissions keep from them.
//!
//! As `UriGrantsManagerService` has it: a grant by an intent lives with the activity or service
//! that gets it. One by `grantUriPermission` lives until it is taken back. One that may be kept is
//! kept over restarts once its holder takes it.
//!
//! What is not here: trees of documents that a provider is asked about (`forceUriPermissions`).

mod address;
mod rules;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

pub use address::{ADDRESS_BYTES_MAX, Address};
pub use rules::GrantRefused;

use crate::{ActivityId, ServiceId};

/// `FLAG_GRANT_READ_URI_PERMISSION`.
pub const READ: u32 = 1;
/// `FLAG_GRANT_WRITE_URI_PERMISSION`.
pub const WRITE: u32 = 1 << 1;
/// `FLAG_GRANT_PERSISTABLE_URI_PERMISSION`: who gets it may keep it.
pub const PERSISTABLE: u32 = 1 << 6;
/// `FLAG_GRANT_PREFIX_URI_PERMISSION`: for all addresses that begin so.
pub const PREFIX: u32 = 1 << 7;
/// What is granted.
pub const MODES: u32 = READ | WRITE;

/// Grants that one package has given at a time.
pub const GRANTS_PER_GIVER_MAX: usize = 512;
/// All of them.
pub const GRANTS_MAX: usize = 4_096;
/// What one package keeps; the oldest goes for one more. Android keeps 512.
pub const KEPT_PER_HOLDER_MAX: usize = 128;
/// What all keep: at their longest, addresses take 6 MB of the store's snapshot.
pub const KEPT_MAX: usize = 512;

/// What a grant by an intent lives with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Owner {
    /// The activity that got the intent, or the result.
    Activity(ActivityId),
    /// The service that was started by it.
    Service(ServiceId),
}

/// What a grant is for, which is what tells it from others of the same holder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Range {
    /// This address.
    One(String),
    /// All of this authority that begin with these segments.
    Below(String, Vec<String>),
}

impl Range {
    fn of(address: &Address, flags: u32) -> Self {
        match flags & PREFIX {
            0 => Self::One(address.text().to_owned()),
            _ => Self::below(address, address.segments().len()),
        }
    }

    fn below(address: &Address, segments: usize) -> Self {
        let segments = address.segments()[..segments].to_vec();
        Self::Below(address.authority().to_owned(), segments)
    }
}

/// Who holds it, and what it is for.
type Key = (u32, Range);

#[derive(Clone, Debug)]
struct Record {
    address: Address,
    /// Who gave it first: it counts as one of theirs.
    giver: u32,
    /// Whose provider it is.
    provider: String,
    /// Until it is taken back.
    open: u32,
    /// What may be kept.
    persistable: u32,
    /// What is kept, and since when.
    kept: u32,
    since_ms: u64,
    owned: BTreeMap<Owner, u32>,
}

impl Record {
    /// What is granted now. What may be kept ends with what it came with.
    fn modes(&self) -> u32 {
        self.owned
            .values()
            .fold(self.open | self.kept, |all, it| all | it)
    }

    fn may_keep(&self, modes: u32) -> bool {
        self.persistable & modes == modes && self.modes() != 0
    }

    fn has(&self, flags: u32) -> bool {
        let of = match flags & PERSISTABLE {
            0 => self.modes(),
            _ => self.persistable,
        };
        self.modes() != 0 && of & flags & MODES == flags & MODES
    }
}

/// What is kept over restarts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptGrant {
    /// The package that keeps it.
    pub holder: String,
    /// The package that provides it.
    pub provider: String,
    /// The address, without a user.
    pub address: String,
    /// For all addresses that begin so.
    pub is_prefix: bool,
    /// What is kept: [`READ`] and [`WRITE`].
    pub modes: u32,
    /// Since when, in ms since 1970.
    pub since_ms: u64,
}

/// Why a grant is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotKept {
    /// It was not granted so that it may be kept.
    #[error("it was not granted to be kept (FLAG_GRANT_PERSISTABLE_URI_PERMISSION)")]
    NotGranted,
    /// There is no room.
    #[error("packages keep {KEPT_MAX} grants already")]
    Full,
}

/// What is about to be granted, once all of it is known to be right.
#[derive(Clone, Debug)]
pub struct Given {
    holder: u32,
    giver: u32,
    provider: String,
    address: Address,
    flags: u32,
}

/// All grants.
#[derive(Clone, Debug, Default)]
pub struct Grants {
    all: BTreeMap<Key, Record>,
    owned: BTreeMap<Owner, BTreeSet<Key>>,
    given: BTreeMap<u32, usize>,
}

impl Grants {
    /// Has a user these modes for an address? With [`PERSISTABLE`]: so that it may keep them; with
    /// [`PREFIX`]: for all below it too. O(log grants) for each segment of its path.
    pub fn is_held(&self, holder: u32, address: &Address, flags: u32) -> bool {
        let has = |range: Range| {
            let found = self.all.get(&(holder, range));
            found.is_some_and(|it| it.has(flags))
        };
        let mut depths = 0..=address.segments().len();
        flags & PREFIX == 0 && has(Range::of(address, 0))
            || depths.any(|it| has(Range::below(address, it)))
    }

    /// Has a user something of a provider of these authorities? O(what it holds).
    pub fn reaches(&self, holder: u32, authorities: &[String]) -> bool {
        let is_one = |it: &Record| {
            authorities
                .iter()
                .any(|name| name == it.address.authority())
        };
        self.of(holder).any(|(_, it)| is_one(it) && it.modes() != 0)
    }

    fn of(&self, holder: u32) -> impl Iterator<Item = (&Key, &Record)> {
        let from = (holder, Range::One(String::new()));
        let all = self.all.range(from..);
        all.take_while(move |((it, _), _)| *it == holder)
    }

    /// Is there room for so many more of a giver's?
    fn has_room(&self, giver: u32, more: usize) -> bool {
        let given = self.given.get(&giver).copied().unwrap_or_default();
        given + more <= GRANTS_PER_GIVER_MAX && self.all.len() + more <= GRANTS_MAX
    }

    /// Grants it, as long as its owner lives; without one until it is taken back.
    fn give(&mut self, given: Given, owner: Option<Owner>) {
        let key = (given.holder, Range::of(&given.address, given.flags));
        let counts = &mut self.given;
        let record = self.all.entry(key.clone()).or_insert_with(|| {
            *counts.entry(given.giver).or_default() += 1;
            Record {
                address: given.address,
                giver: given.giver,
                provider: given.provider,
                open: 0,
                persistable: 0,
                kept: 0,
                since_ms: 0,
                owned: BTreeMap::new(),
            }
        });
        let modes = given.flags & MODES;
        if given.flags & PERSISTABLE != 0 {
            record.persistable |= modes;
        }
        match owner {
            None => record.open |= modes,
            Some(owner) => {
                *record.owned.entry(owner).or_default() |= modes;
                self.owned.entry(owner).or_default().insert(key);
            }
        }
    }

    /// Ends what lived with owners that do not live any more. O(owners), and what they had.
    fn end_owners(&mut self, is_alive: impl Fn(Owner) -> bool) {
        let gone: Vec<Owner> = self
            .owned
            .keys()
            .copied()
            .filter(|it| !is_alive(*it))
            .collect();
        for owner in gone {
            for key in self.owned.remove(&owner).unwrap_or_default() {
                if let Some(record) = self.all.get_mut(&key) {
                    record.owned.remove(&owner);
                }
                self.end_if_empty(&key);
            }
        }
    }

    fn end_if_empty(&mut self, key: &Key) {
        if self.all.get(key).is_some_and(|it| it.modes() == 0) {
            self.end(key);
        }
    }

    fn end(&mut self, key: &Key) {
        let Some(record) = self.all.remove(key) else {
            return;
        };
        for owner in record.owned.into_keys() {
            self.disown(owner, key);
        }
        if let Entry::Occupied(mut count) = self.given.entry(record.giver) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }

    /// It lives with this owner no more.
    fn disown(&mut self, owner: Owner, key: &Key) {
        if let Entry::Occupied(mut keys) = self.owned.entry(owner) {
            keys.get_mut().remove(key);
            if keys.get().is_empty() {
                keys.remove();
            }
        }
    }

    /// Takes modes back of all at and below an address, or of one holder there: then intents'
    /// grants stay. O(all). Says whether something that is kept has changed.
    fn revoke(&mut self, holder: Option<u32>, address: &Address, modes: u32) -> bool {
        let is_it = |key: &Key, it: &Record| {
            holder.is_none_or(|it| it == key.0) && it.address.begins_with(address)
        };
        let all = self.all.iter().filter(|(key, it)| is_it(key, it));
        let keys: Vec<Key> = all.map(|(key, _)| key.clone()).collect();
        let mut has_changed = false;
        for key in keys {
            if let Some(record) = self.all.get_mut(&key) {
                has_changed |= record.kept & modes != 0;
                record.open &= !modes;
                record.persistable &= !modes;
                record.kept &= !modes;
                if holder.is_none() {
                    record.owned.values_mut().for_each(|it| *it &= !modes);
                }
            }
            self.end_if_empty(&key);
        }
        has_changed
    }

    /// A holder keeps what it may keep.
    ///
    /// # Errors
    ///
    /// [`NotKept`]; then nothing has changed.
    pub fn keep(
        &mut self,
        holder: u32,
        address: &Address,
        modes: u32,
        now_ms: u64,
    ) -> Result<(), NotKept> {
        let mut keys = [0, PREFIX]
            .map(|it| (holder, Range::of(address, it)))
            .to_vec();
        keys.retain(|it| self.all.get(it).is_some_and(|it| it.may_keep(modes)));
        if keys.is_empty() {
            return Err(NotKept::NotGranted);
        }
        let new = keys.iter().filter(|it| self.all[it].kept == 0).count();
        let kept = self.all.values().filter(|it| it.kept != 0).count();
        if new > 0 && kept + new > KEPT_MAX {
            return Err(NotKept::Full);
        }
        for key in keys {
            if let Some(record) = self.all.get_mut(&key) {
                if record.kept == 0 {
                    record.since_ms = now_ms;
                }
                record.kept |= modes;
            }
        }
        self.prune(holder);
        Ok(())
    }

    /// The oldest go of what a holder keeps, if that is too much.
    fn prune(&mut self, holder: u32) {
        let kept = self.of(holder).filter(|(_, it)| it.kept != 0);
        let mut kept: Vec<(u64, Key)> = kept.map(|(key, it)| (it.since_ms, key.clone())).collect();
        kept.sort();
        let surplus = kept.len().saturating_sub(KEPT_PER_HOLDER_MAX);
        for (_, key) in kept.into_iter().take(surplus) {
            if let Some(record) = self.all.get_mut(&key) {
                record.kept = 0;
            }
            self.end_if_empty(&key);
        }
    }

    /// A holder keeps these modes no longer. False if it has nothing there.
    pub fn release(&mut self, holder: u32, address: &Address, modes: u32) -> bool {
        let mut is_there = false;
        for flags in [0, PREFIX] {
            let key = (holder, Range::of(address, flags));
            if let Some(record) = self.all.get_mut(&key) {
                record.kept &= !modes;
                is_there = true;
            }
            self.end_if_empty(&key);
        }
        is_there
    }

    /// What holders keep, each with its holder's user, whose name is left out.
    pub fn kept(&self) -> impl Iterator<Item = (u32, KeptGrant)> {
        let all = self.all.iter().filter(|(_, it)| it.kept != 0);
        all.map(|((holder, range), it)| {
            let kept = KeptGrant {
                holder: String::new(),
                provider: it.provider.clone(),
                address: it.address.text().to_owned(),
                is_prefix: matches!(range, Range::Below(..)),
                modes: it.kept,
                since_ms: it.since_ms,
            };
            (*holder, kept)
        })
    }

    /// What was kept before a restart; its giver is the provider's user.
    fn restore(&mut self, holder: u32, giver: u32, it: &KeptGrant) {
        let Some(address) = Address::new(&it.address).filter(|_| self.has_room(giver, 1)) else {
            return;
        };
        let prefix = if it.is_prefix { PREFIX } else { 0 };
        let key = (holder, Range::of(&address, prefix));
        *self.given.entry(giver).or_default() += 1;
        let modes = it.modes & MODES;
        let record = Record {
            address,
            giver,
            provider: it.provider.clone(),
            open: 0,
            persistable: modes,
            kept: modes,
            since_ms: it.since_ms,
            owned: BTreeMap::new(),
        };
        if self.all.insert(key, record).is_some() {
            *self.given.entry(giver).or_default() -= 1;
        }
    }

    /// A package has ended: what it holds and what its providers give goes. What is kept stays
    /// unless the package `is_gone`.
    pub(crate) fn end_package(&mut self, user: u32, package: &str, is_gone: bool) {
        let is_its = |key: &Key, it: &Record| key.0 == user || it.provider == package;
        let all = self.all.iter().filter(|(key, it)| is_its(key, it));
        let keys: Vec<Key> = all.map(|(key, _)| key.clone()).collect();
        for key in keys {
            if let Some(record) = self.all.get_mut(&key) {
                record.open = 0;
                record.persistable = record.kept;
                for owner in std::mem::take(&mut record.owned).into_keys() {
                    self.disown(owner, &key);
                }
            }
            match is_gone {
                true => self.end(&key),
                false => self.end_if_empty(&key),
            }
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Panics if a rule is broken.
    pub fn assert_consistent(&self) {
        assert!(self.all.len() <= GRANTS_MAX);
        let mut given = BTreeMap::<u32, usize>::new();
        for (key, it) in &self.all {
            assert!(it.modes() != 0 && it.modes() & !MODES == 0, "{key:?}");
            assert!(it.kept & !it.persistable == 0, "{key:?} keeps what it may");
            *given.entry(it.giver).or_default() += 1;
            for owner in it.owned.keys() {
                assert!(self.owned[owner].contains(key), "{key:?} of {owner:?}");
            }
        }
        assert_eq!(given, self.given);
        for (owner, keys) in &self.owned {
            assert!(!keys.is_empty());
            for key in keys {
                assert!(self.all[key].owned.contains_key(owner), "{key:?}");
            }
        }
    }
}
