// SPDX-License-Identifier: Apache-2.0
//! Broadcasts that stay: who registers later gets them as well.

use intent::Intent;

use super::{BROADCAST_STICKY, Registration, Shout, Standing};
use crate::packages::FIRST_UID;
use crate::{Payload, Server};

/// Of one user.
pub const STICKY_PER_PACKAGE_MAX: usize = 64;
/// Of all.
pub const STICKY_MAX: usize = 512;

/// Why one does not stay.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StickyError {
    /// Its sender may not.
    #[error("sticky broadcasts ask for {BROADCAST_STICKY}")]
    Permission,
    /// As on Android.
    #[error("a sticky broadcast can neither ask for permissions nor name a component")]
    Limited,
    /// No room.
    #[error("{STICKY_PER_PACKAGE_MAX} sticky broadcasts of a user stay, and {STICKY_MAX} of all")]
    Full,
}

#[derive(Clone, Debug)]
struct Sticky {
    intent: Intent,
    staying: Staying,
}

/// One that stays, for who registers later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Staying {
    /// Its sender's user.
    pub uid: u32,
    /// The intent.
    pub payload: Payload,
    /// Before which others it goes.
    pub standing: Standing,
}

/// All of them, in the order in which they came.
#[derive(Clone, Debug, Default)]
pub(super) struct Stickies(Vec<Sticky>);

impl Stickies {
    pub(super) fn payloads(&self) -> impl Iterator<Item = Payload> + '_ {
        self.0.iter().map(|it| it.staying.payload)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn assert_consistent(&self) {
        assert!(self.0.len() <= STICKY_MAX);
        for it in &self.0 {
            let own = self.0.iter();
            let own = own.filter(|other| other.staying.uid == it.staying.uid);
            assert!(own.count() <= STICKY_PER_PACKAGE_MAX);
            let same = self.0.iter().filter(|other| other.intent == it.intent);
            assert_eq!(same.count(), 1, "one of each");
        }
    }
}

impl Server {
    /// It is a normal permission of Android's own: who asks for it has it.
    fn may_stick(&self, uid: u32) -> bool {
        let package = self.packages.of_uid(uid);
        uid < FIRST_UID || package.is_some_and(|it| it.asks_for(BROADCAST_STICKY))
    }

    /// One that is like it gives way, no matter who sent that.
    pub(super) fn stay(
        &mut self,
        uid: u32,
        shout: &Shout,
        standing: Standing,
    ) -> Result<(), StickyError> {
        if !self.may_stick(uid) {
            return Err(StickyError::Permission);
        }
        if !shout.permissions.is_empty() || shout.intent.component.is_some() {
            return Err(StickyError::Limited);
        }
        let all = &mut self.broadcasts.sticky.0;
        let sticky = Sticky {
            intent: shout.intent.clone(),
            staying: Staying {
                uid,
                payload: shout.payload,
                standing,
            },
        };
        let same = all.iter().position(|it| it.intent == sticky.intent);
        let is_own = same.is_some_and(|at| all[at].staying.uid == uid);
        let own = all.iter().filter(|it| it.staying.uid == uid).count() - usize::from(is_own);
        let others = all.len() - usize::from(same.is_some());
        if own >= STICKY_PER_PACKAGE_MAX || others >= STICKY_MAX {
            return Err(StickyError::Full);
        }
        match same {
            Some(at) => all[at] = sticky,
            None => all.push(sticky),
        }
        Ok(())
    }

    /// Takes one back.
    ///
    /// # Errors
    ///
    /// [`StickyError::Permission`]
    pub fn take_back(&mut self, uid: u32, intent: &Intent) -> Result<(), StickyError> {
        if !self.may_stick(uid) {
            return Err(StickyError::Permission);
        }
        self.broadcasts.sticky.0.retain(|it| it.intent != *intent);
        Ok(())
    }

    /// What of that stays a receiver of this user gets, in order. O(n log n), with n at most
    /// [`STICKY_MAX`].
    pub fn staying(&self, uid: u32, by: &Registration) -> Vec<Staying> {
        let all = self.broadcasts.sticky.0.iter();
        let found = all.filter(|it| {
            let sender = it.staying.uid;
            let is_own = sender < FIRST_UID || sender == uid;
            let permission = by.permission.as_ref();
            let is_open = permission.is_none_or(|name| self.packages.may(sender, name));
            (is_own || (by.is_exported && is_open)) && by.filter.matches(&it.intent).is_ok()
        });
        let mut found: Vec<Staying> = found.map(|it| it.staying).collect();
        // The order of equal ones stays.
        found.sort_by_key(|it| std::cmp::Reverse(it.standing.rank));
        found
    }

    /// What a package has left goes with it.
    pub(crate) fn end_sticky(&mut self, uid: u32) {
        self.broadcasts.sticky.0.retain(|it| it.staying.uid != uid);
    }
}
