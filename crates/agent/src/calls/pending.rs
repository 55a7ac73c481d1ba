// SPDX-License-Identifier: Apache-2.0
//! PendingIntents: what one package makes, and another sends in its name.

use binder::Binder;
use binder::stub::Answer;
use server::PendingId;
use server::broadcasts::{Outcome, Sender, Shout};
use server::grants::{MODES, PERSISTABLE, PREFIX};
use server::pending::{IMMUTABLE, Pending, PendingKind};
use server::server::StartError;
use server::services::StartKind;

use super::{Event, Wish, full, refused, security, too_much};
use crate::state::NotSent;

/// `ActivityManager.START_CANCELED` and its kin.
const CANCELLED: i32 = -96;
const NOT_FOUND: i32 = -91;
const NEW_TASK: u32 = 0x1000_0000;

/// `Intent.FILL_IN_…`.
mod fill_in {
    pub(super) const ACTION: u32 = 1;
    pub(super) const DATA: u32 = 1 << 1;
    pub(super) const CATEGORIES: u32 = 1 << 2;
    pub(super) const COMPONENT: u32 = 1 << 3;
    pub(super) const PACKAGE: u32 = 1 << 4;
    pub(super) const IDENTIFIER: u32 = 1 << 8;
}

/// `ActivityManager.INTENT_SENDER_…`.
fn kind_of(number: i32) -> Option<PendingKind> {
    Some(match number {
        1 => PendingKind::Broadcast,
        2 => PendingKind::Activity,
        4 => PendingKind::Service,
        5 => PendingKind::ForegroundService,
        _ => return None,
    })
}

fn number_of(kind: PendingKind) -> i64 {
    match kind {
        PendingKind::Broadcast => 1,
        PendingKind::Activity => 2,
        PendingKind::Service => 4,
        PendingKind::ForegroundService => 5,
    }
}

/// What of an intent the server looks at, as `Intent.fillIn` changes it. Who gets the intent does
/// the same to the rest.
fn fill(wish: &mut Wish, by: &Wish, flags: u32) {
    let has = |flag: u32| flags & flag != 0;
    if by.action.is_some() && (wish.action.is_none() || has(fill_in::ACTION)) {
        wish.action.clone_from(&by.action);
    }
    let is_bare = wish.data.is_none() && wish.r#type.is_none();
    let has_data = by.data.is_some() || by.r#type.is_some();
    if has_data && (is_bare || has(fill_in::DATA)) {
        wish.data.clone_from(&by.data);
        wish.r#type.clone_from(&by.r#type);
    }
    if by.identifier.is_some() && (wish.identifier.is_none() || has(fill_in::IDENTIFIER)) {
        wish.identifier.clone_from(&by.identifier);
    }
    let is_new = wish.categories.is_empty() || has(fill_in::CATEGORIES);
    if !by.categories.is_empty() && is_new {
        wish.categories.clone_from(&by.categories);
    }
    if by.target.is_some() && (wish.target.is_none() || has(fill_in::PACKAGE)) {
        wish.target.clone_from(&by.target);
    }
    if by.component.is_some() && has(fill_in::COMPONENT) {
        wish.component.clone_from(&by.component);
    }
    // Who sends it grants nothing in the creator's name.
    wish.flags |= by.flags & !(MODES | PERSISTABLE | PREFIX).cast_signed();
    wish.fill.clone_from(&by.whole);
    wish.fill_flags = flags.cast_signed();
}

/// How one is sent.
#[derive(Default)]
pub(super) struct Sending<'a> {
    /// What receivers of a broadcast must have.
    pub(super) permission: Option<&'a str>,
    /// The result that a broadcast begins with.
    pub(super) code: i32,
    /// What its sender calls the result that it waits for; 0 if it does not.
    pub(super) result: i64,
    /// Of a broadcast.
    pub(super) priority: u8,
    /// How often the alarm has come that sends it; 0 if none does.
    pub(super) alarm_count: i32,
}

impl Event<'_> {
    /// The one that a binder stands for; none if it has ended.
    pub(super) fn found(&self, binder: &Binder) -> Option<Pending> {
        let id = self.state.senders.find(binder)?;
        self.state.server.pending.peek(id).cloned()
    }

    /// The package that runs in this process.
    fn package(&self) -> Option<String> {
        let process = self.state.server.processes.get(self.process);
        process.map(|it| it.package.clone())
    }

    pub(super) fn pending(
        &mut self,
        (kind, request): (i32, i32),
        wish: &Wish,
        flags: u32,
        make: impl FnOnce() -> Binder,
    ) -> Answer<Option<Binder>> {
        let (Some(kind), Some(package)) = (kind_of(kind), self.package()) else {
            return Ok(None);
        };
        let by = self.kept(wish)?;
        let pending = &mut self.state.server.pending;
        let got = pending.get(&package, kind, request, by, flags);
        let got = got.map_err(|it| full(&it))?;
        Ok(got.map(|id| self.state.senders.of(id, make)))
    }

    pub(super) fn cancel_pending(&mut self, binder: &Binder) {
        let found = self.state.senders.find(binder).zip(self.package());
        if let Some((id, package)) = found {
            self.state.server.pending.cancel(id, &package);
        }
    }

    pub(super) fn watch_pending(&mut self, binder: &Binder, number: i64) -> Answer<bool> {
        let by = (self.process, number);
        let watched = self.state.senders.watch(binder, by);
        watched.map_err(|it| full(&it))
    }

    pub(super) fn pending_numbers(&self, binder: &Binder) -> Option<Vec<i64>> {
        let found = self.found(binder)?;
        let owner = self.state.server.packages.get(&found.key.package)?;
        let intent = &found.key.intent;
        let is_targeted = intent.package.is_some() || intent.component.is_some();
        let kind = number_of(found.key.kind);
        let is_immutable = !found.is_mutable();
        let uid = owner.settings.uid;
        Some(vec![
            uid.into(),
            kind,
            is_immutable.into(),
            is_targeted.into(),
        ])
    }

    pub(super) fn pending_wish(&self, binder: &Binder) -> Answer<Option<Wish>> {
        let Some(found) = self.found(binder) else {
            return Ok(None);
        };
        if self.package().as_ref() != Some(&found.key.package) {
            let text = "the intent of another package's PendingIntent is not shown";
            return Err(security(&text));
        }
        let stored = self.state.payloads.get(found.payload);
        Ok(stored.map(|it| it.wish.clone()))
    }

    pub(super) fn send_pending(
        &mut self,
        binder: &Binder,
        by: &Wish,
        how: &Sending<'_>,
    ) -> Answer<i32> {
        match self.state.senders.find(binder) {
            Some(id) => self.send(id, by, how),
            None => Ok(CANCELLED),
        }
    }

    /// Sends one in the name of who made it.
    pub(super) fn send(&mut self, id: PendingId, by: &Wish, how: &Sending<'_>) -> Answer<i32> {
        let sent = self.state.server.pending.send(id);
        let package = sent.as_ref().map(|it| it.key.package.as_str());
        let owner = package.and_then(|it| self.state.server.packages.get(it));
        let uid = owner.map(|it| it.settings.uid);
        let (Some(sent), Some(uid)) = (sent, uid) else {
            return Ok(CANCELLED);
        };
        let stored = self.state.payloads.get(sent.payload);
        let mut wish = stored.map(|it| it.wish.clone()).unwrap_or_default();
        if sent.is_mutable() && !by.whole.bytes.is_empty() {
            fill(&mut wish, by, sent.flags() & !IMMUTABLE);
        }
        if sent.is_mutable() {
            wish.alarm_count = how.alarm_count;
        }
        match sent.key.kind {
            PendingKind::Activity => self.send_activity(uid, &wish),
            PendingKind::Broadcast => {
                let shout = Shout {
                    permissions: how.permission.map(str::to_owned).into_iter().collect(),
                    is_ordered: how.result != 0,
                    outcome: Outcome {
                        code: how.code,
                        ..Outcome::default()
                    },
                    ..Shout::default()
                };
                let sender = Sender {
                    uid,
                    result: (how.result != 0).then_some((self.process, how.result)),
                    priority: how.priority,
                };
                let sent = self.state.broadcast(sender, wish, shout, self.now);
                sent.map(|_| 0).map_err(|it| match it {
                    NotSent::Intent(it) => too_much(it),
                    NotSent::Broadcast(it) => full(&it),
                })
            }
            PendingKind::Service => self.send_service(uid, &wish, StartKind::Ordinary),
            PendingKind::ForegroundService => self.send_service(uid, &wish, StartKind::Foreground),
        }
    }

    fn send_activity(&mut self, uid: u32, wish: &Wish) -> Answer<i32> {
        let mut asked = self.asked(uid, wish)?;
        let payload = asked.payload;
        asked.flags |= NEW_TASK;
        match self.state.server.start_activity(asked, self.now) {
            Ok((_, name)) => {
                self.state.payloads.resolve(payload, &name);
                Ok(0)
            }
            Err(error) => outcome(&error),
        }
    }

    fn send_service(&mut self, uid: u32, wish: &Wish, kind: StartKind) -> Answer<i32> {
        let asked = self.asked(uid, wish)?;
        match self.state.server.start_service(&asked, kind, self.now) {
            Ok(_) => Ok(0),
            Err(error) => outcome(&error),
        }
    }
}

fn outcome(error: &StartError) -> Answer<i32> {
    refused(error).map_or(Ok(NOT_FOUND), Err)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::Whole;

    fn text(it: &str) -> Option<String> {
        Some(it.to_owned())
    }

    /// As Intent.fillIn: what is there stays, unless its flag is given; a component needs it.
    #[test]
    fn what_a_sender_adds_fills_gaps_alone() {
        let base = Wish {
            action: text("a"),
            flags: 1,
            ..Wish::default()
        };
        let by = Wish {
            action: text("b"),
            data: text("content://d"),
            component: text("p/q.R"),
            categories: vec!["c".to_owned()],
            target: text("t"),
            flags: 4,
            whole: Whole {
                bytes: vec![1],
                ..Whole::default()
            },
            ..Wish::default()
        };
        let mut wish = base.clone();
        fill(&mut wish, &by, 0);
        assert_eq!(wish.action, text("a"));
        assert_eq!((wish.data, wish.target), (text("content://d"), text("t")));
        assert_eq!((wish.component, wish.flags), (None, 5));
        assert_eq!(wish.categories, ["c"]);
        assert_eq!(wish.fill.bytes, [1]);
        let mut wish = base;
        fill(&mut wish, &by, fill_in::ACTION | fill_in::COMPONENT);
        assert_eq!((wish.action, wish.component), (text("b"), text("p/q.R")));
    }
}
