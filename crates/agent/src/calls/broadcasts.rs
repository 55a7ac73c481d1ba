// SPDX-License-Identifier: Apache-2.0
//! What processes say of broadcasts: receivers that code has, what is sent, who is done.

use binder::stub::{Answer, Exception, Failure};
use intent::{Authority, Filter, Pattern, PatternKind};
use server::broadcasts::{
    self, BroadcastError, Delivery, Registration, Sender, StickyError, Target,
};
use server::{BroadcastId, Payload};

use super::{Event, Outcome, Receiver, Shout, Wish, full, security, too_much};
use crate::payloads::{intent_of, size};
use crate::state::NotSent;

/// Of a filter: actions, hosts, paths and the rest together, and the bytes of them.
const FILTER_TEXTS_MAX: usize = 1_024;
const FILTER_BYTES_MAX: usize = 64 << 10;
/// `Intent.FLAG_RECEIVER_FOREGROUND`.
pub(crate) const FOREGROUND: i32 = 0x1000_0000;
/// What of that stays fits one answer.
const STAYING_BYTES_MAX: usize = 256 << 10;

fn refused(error: &BroadcastError) -> Failure {
    match error {
        BroadcastError::Protected(_)
        | BroadcastError::Sticky(StickyError::Permission | StickyError::Limited) => security(error),
        _ => full(error),
    }
}

fn bad(text: String) -> Failure {
    Exception::new(Exception::ILLEGAL_ARGUMENT, text).into()
}

fn patterns(texts: &[String], kinds: &[i32]) -> Answer<Vec<Pattern>> {
    let all = texts.iter().zip(kinds);
    all.map(|(text, kind)| {
        let kind = match kind {
            0 => PatternKind::Literal,
            1 => PatternKind::Prefix,
            2 => PatternKind::SimpleGlob,
            3 => PatternKind::AdvancedGlob,
            4 => PatternKind::Suffix,
            other => return Err(bad(format!("no pattern has kind {other}"))),
        };
        let pattern = Pattern::new(kind, text.as_str());
        pattern.ok_or_else(|| bad(format!("{text:?} is no advanced pattern")))
    })
    .collect()
}

fn registration(of: &Receiver) -> Answer<Registration> {
    let lists = [
        &of.actions,
        &of.categories,
        &of.schemes,
        &of.types,
        &of.hosts,
        &of.paths,
        &of.parts,
    ];
    let texts = lists.into_iter().flatten();
    let (count, bytes) = texts.fold((0, 0), |(n, bytes), it| (n + 1, bytes + it.len()));
    if count > FILTER_TEXTS_MAX || bytes > FILTER_BYTES_MAX {
        return Err(bad(format!("a filter with {count} texts of {bytes} bytes")));
    }
    let mut filter = Filter::new(of.priority);
    filter.actions.clone_from(&of.actions);
    filter.categories.clone_from(&of.categories);
    filter.schemes.clone_from(&of.schemes);
    let hosts = of.hosts.iter().zip(&of.ports);
    filter.authorities = hosts
        .map(|(host, port)| Authority::new(host, Some(*port)))
        .collect();
    filter.paths = patterns(&of.paths, &of.path_kinds)?;
    filter.scheme_specific_parts = patterns(&of.parts, &of.part_kinds)?;
    for kind in &of.types {
        let added = filter.add_type(kind);
        added.map_err(|it| bad(it.to_string()))?;
    }
    Ok(Registration {
        receiver: of.number,
        filter,
        permission: of.permission.clone(),
        is_exported: of.is_exported,
    })
}

impl Event<'_> {
    pub(super) fn register(&mut self, receiver: &Receiver) -> Answer<()> {
        let registration = registration(receiver)?;
        let staying = self.state.server.staying(self.uid, &registration);
        let server = &mut self.state.server;
        let Some(process) = server.processes.get(self.process) else {
            return Ok(());
        };
        let (key, package) = (process.key.clone(), process.package.clone());
        let registered = server
            .broadcasts
            .register(self.process, &key, &package, registration);
        registered.map_err(|it| refused(&it))?;
        for it in staying {
            let delivery = Delivery {
                target: Target::Registered(receiver.number),
                ordered: None,
                is_sticky: true,
                standing: it.standing,
                uid: it.uid,
                payload: it.payload,
                outcome: broadcasts::Outcome::default(),
            };
            self.state.deliver(self.process, delivery);
        }
        Ok(())
    }

    pub(super) fn staying(&self, receiver: &Receiver) -> Answer<Vec<Wish>> {
        let registration = registration(receiver)?;
        let found = self.state.server.staying(self.uid, &registration);
        let (mut wishes, mut bytes) = (Vec::new(), 0);
        for it in found {
            let Some(stored) = self.state.payloads.get(it.payload) else {
                continue;
            };
            bytes += size(&stored.wish);
            if bytes > STAYING_BYTES_MAX {
                break;
            }
            wishes.push(stored.wish.clone());
        }
        Ok(wishes)
    }

    pub(super) fn broadcast(&mut self, shout: &Shout, priority: u8) -> Answer<()> {
        let shouted = broadcasts::Shout {
            permissions: shout.permissions.clone(),
            is_ordered: shout.is_ordered,
            is_sticky: shout.is_sticky,
            priority: u8::try_from(shout.priority).ok(),
            outcome: self.outcome(&shout.outcome)?,
            ..broadcasts::Shout::default()
        };
        let sender = Sender {
            uid: self.uid,
            result: (shout.result != 0).then_some((self.process, shout.result)),
            priority,
        };
        let sent = self
            .state
            .broadcast(sender, shout.wish.clone(), shouted, self.now);
        sent.map(drop).map_err(|it| match it {
            NotSent::Intent(it) => too_much(it),
            NotSent::Broadcast(it) => refused(&it),
        })
    }

    pub(super) fn outcome(&mut self, of: &Outcome) -> Answer<broadcasts::Outcome> {
        let data = of.data.clone();
        let bytes = data.as_ref().map_or(0, String::len);
        if bytes > crate::payloads::WISH_BYTES_MAX {
            return Err(too_much(crate::payloads::TooMuch::One(bytes)));
        }
        let has_extras = !of.extras.whole.bytes.is_empty();
        Ok(broadcasts::Outcome {
            code: of.code,
            data,
            extras: has_extras.then(|| self.keep(&of.extras)).transpose()?,
        })
    }

    pub(super) fn take_back(&mut self, wish: &Wish) -> Answer<()> {
        let taken = self.state.server.take_back(self.uid, &intent_of(wish));
        taken.map_err(|it| security(&it))
    }

    pub(super) fn received(&mut self, id: i64, of: &Outcome, is_aborted: bool) -> Answer<()> {
        // One that is refused goes on as well: the next receiver finds no result.
        let outcome = self.outcome(of);
        let (outcome, failure) = match outcome {
            Ok(outcome) => (outcome, None),
            Err(failure) => (broadcasts::Outcome::default(), Some(failure)),
        };
        let id = BroadcastId(id.cast_unsigned());
        let server = &mut self.state.server;
        let payload = server.payload_under_way(id);
        server.received(self.process, id, outcome, is_aborted, self.now);
        if server.payload_under_way(id).is_none() {
            // One that stays is named by that.
            let is_named = |it: &Payload| server.broadcasts.payloads().any(|other| other == *it);
            self.state
                .fleeting
                .extend(payload.filter(|it| !is_named(it)));
        }
        failure.map_or(Ok(()), Err)
    }
}
