// SPDX-License-Identifier: Apache-2.0
//! `PendingIntent`: an intent that others send in the name of the package that made it.

use std::collections::{BTreeMap, HashMap};

use intent::Intent;

use crate::id::Numbers;
use crate::{Payload, PendingId};

/// `FLAG_ONE_SHOT`: it is sent once.
pub const ONE_SHOT: u32 = 1 << 30;
/// `FLAG_NO_CREATE`: only one that is there.
pub const NO_CREATE: u32 = 1 << 29;
/// `FLAG_CANCEL_CURRENT`: one that is there ends.
pub const CANCEL_CURRENT: u32 = 1 << 28;
/// `FLAG_UPDATE_CURRENT`: one that is there gets this intent's extras.
pub const UPDATE_CURRENT: u32 = 1 << 27;
/// `FLAG_IMMUTABLE`: who sends it adds nothing.
pub const IMMUTABLE: u32 = 1 << 26;

/// Of one package; Android warns at two thousand.
pub const PENDING_PER_PACKAGE_MAX: usize = 1_024;
/// Of all.
pub const PENDING_MAX: usize = 16_384;

/// What is started when it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PendingKind {
    /// An activity.
    Activity,
    /// A service.
    Service,
    /// A service in the foreground.
    ForegroundService,
    /// A broadcast.
    Broadcast,
}

/// What tells one from others: without extras, as `Intent.filterEquals`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PendingKey {
    /// In whose name.
    pub package: String,
    /// What is started.
    pub kind: PendingKind,
    /// The application's number.
    pub request: i32,
    /// The intent.
    pub intent: Intent,
    /// Those flags that stay with it.
    flags: u32,
}

/// One that is there.
#[derive(Clone, Debug)]
pub struct Pending {
    /// What it is.
    pub key: PendingKey,
    /// The rest of its intent.
    pub payload: Payload,
}

impl Pending {
    /// Those of its flags that stay with it.
    pub fn flags(&self) -> u32 {
        self.key.flags
    }

    /// May who sends it add to its intent?
    pub fn is_mutable(&self) -> bool {
        self.key.flags & IMMUTABLE == 0
    }
}

/// No room for one more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} has too many pending intents, or all packages together")]
pub struct TooMany(String);

/// All of them.
#[derive(Clone, Debug, Default)]
pub struct PendingIntents {
    all: BTreeMap<PendingId, Pending>,
    by_key: HashMap<PendingKey, PendingId>,
    counts: BTreeMap<String, usize>,
    numbers: Numbers,
    ended: u64,
}

impl PendingIntents {
    /// One of this package, kind, number and intent. None with [`NO_CREATE`] if it is not there.
    ///
    /// # Errors
    ///
    /// [`TooMany`]
    pub fn get(
        &mut self,
        package: &str,
        kind: PendingKind,
        request: i32,
        by: (Intent, Payload),
        flags: u32,
    ) -> Result<Option<PendingId>, TooMany> {
        let (intent, payload) = by;
        let key = PendingKey {
            package: package.to_owned(),
            kind,
            request,
            intent,
            flags: flags & !(NO_CREATE | CANCEL_CURRENT | UPDATE_CURRENT),
        };
        if let Some(id) = self.by_key.get(&key).copied() {
            if flags & CANCEL_CURRENT == 0 {
                let pending = self.all.get_mut(&id);
                if let Some(pending) = pending.filter(|_| flags & UPDATE_CURRENT != 0) {
                    pending.payload = payload;
                }
                return Ok(Some(id));
            }
            self.remove(id);
        }
        if flags & NO_CREATE != 0 {
            return Ok(None);
        }
        let own = self.counts.get(package).copied().unwrap_or_default();
        if own >= PENDING_PER_PACKAGE_MAX || self.all.len() >= PENDING_MAX {
            return Err(TooMany(package.to_owned()));
        }
        let id = PendingId(self.numbers.next());
        self.by_key.insert(key.clone(), id);
        self.all.insert(id, Pending { key, payload });
        *self.counts.entry(package.to_owned()).or_default() += 1;
        Ok(Some(id))
    }

    /// It is sent: what is to be started. None if it was cancelled, or sent once already.
    pub fn send(&mut self, id: PendingId) -> Option<Pending> {
        let pending = self.all.get(&id)?.clone();
        if pending.key.flags & ONE_SHOT != 0 {
            self.remove(id);
        }
        Some(pending)
    }

    /// Its package takes it back. False if it is not there, or another's.
    pub fn cancel(&mut self, id: PendingId, package: &str) -> bool {
        let is_own = self
            .all
            .get(&id)
            .is_some_and(|it| it.key.package == package);
        if is_own {
            self.remove(id);
        }
        is_own
    }

    /// All of a package end.
    pub fn end_package(&mut self, package: &str) {
        let own = self.all.iter().filter(|(_, it)| it.key.package == package);
        let own: Vec<_> = own.map(|(id, _)| *id).collect();
        for id in own {
            self.remove(id);
        }
    }

    /// One of them.
    pub fn peek(&self, id: PendingId) -> Option<&Pending> {
        self.all.get(&id)
    }

    /// What their intents are named by.
    pub fn payloads(&self) -> impl Iterator<Item = Payload> + '_ {
        self.all.values().map(|it| it.payload)
    }

    /// How many have ended so far: who keeps something beside them looks when this grows.
    pub fn ended(&self) -> u64 {
        self.ended
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    fn remove(&mut self, id: PendingId) {
        let Some(gone) = self.all.remove(&id) else {
            return;
        };
        self.ended += 1;
        self.by_key.remove(&gone.key);
        if let Some(count) = self.counts.get_mut(&gone.key.package) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&gone.key.package);
            }
        }
    }

    /// Panics if a rule is broken.
    pub fn assert_consistent(&self) {
        assert_eq!(self.all.len(), self.by_key.len());
        assert_eq!(self.all.len(), self.counts.values().sum::<usize>());
        assert!(
            self.counts
                .values()
                .all(|it| *it <= PENDING_PER_PACKAGE_MAX)
        );
    }
}
