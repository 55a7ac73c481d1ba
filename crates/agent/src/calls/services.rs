// SPDX-License-Identifier: Apache-2.0
//! What processes say of services, and ask for.

use binder::Binder;
use binder::stub::{Answer, Failure};
use intent::Intent;
use server::packages::{Best, Kind};
use server::server::StartError;
use server::services::{AfterStart, StartKind};
use server::{ConnectionId, Payload};

use super::{Event, Wish, refused};
use crate::payloads::{flat, intent_of};

impl Event<'_> {
    /// An intent that is kept, with its number.
    pub(super) fn kept(&mut self, wish: &Wish) -> Answer<(Intent, Payload)> {
        let payload = self.keep(wish)?;
        let intent = self.state.payloads.get(payload).map(|it| it.intent.clone());
        Ok((intent.unwrap_or_default(), payload))
    }

    pub(super) fn start_service(
        &mut self,
        wish: &Wish,
        is_foreground: bool,
    ) -> Answer<Option<String>> {
        let kind = match is_foreground {
            true => StartKind::Foreground,
            false => StartKind::Ordinary,
        };
        let asked = self.asked(self.uid, wish)?;
        match self.state.server.start_service(&asked, kind, self.now) {
            Ok(name) => Ok(Some(flat(&name))),
            Err(error) => missing(&error, None),
        }
    }

    pub(super) fn stop_service(&mut self, wish: &Wish) -> Answer<bool> {
        let (intent, _) = self.kept(wish)?;
        let packages = &self.state.server.packages;
        let Best::One(found) = packages.best(Kind::Service, &intent, 0) else {
            return Ok(false);
        };
        let allowed = packages.may_reach(self.uid, &found);
        let component = found.name();
        if let Err(denied) = allowed {
            return missing(&StartError::Denied(denied), false);
        }
        let (services, mut cx) = self.state.server.services(self.now);
        Ok(services.stop(&component, &mut cx))
    }

    pub(super) fn stop_service_self(&mut self, service: i64, start: i32) -> bool {
        let Some(id) = self.service(service) else {
            return false;
        };
        let (services, mut cx) = self.state.server.services(self.now);
        services.stop_self(id, start, &mut cx)
    }

    pub(super) fn bind_service(&mut self, wish: &Wish, flags: i64) -> Answer<i64> {
        let by = self.kept(wish)?;
        let (client, flags) = (self.process, flags.cast_unsigned());
        let bound = self.state.server.bind_service(client, by, flags, self.now);
        match bound {
            Ok(connection) => Ok(connection.0.cast_signed()),
            Err(error) => missing(&error, 0),
        }
    }

    pub(super) fn unbind_service(&mut self, connection: i64) -> bool {
        let id = ConnectionId(connection.cast_unsigned());
        let (services, mut cx) = self.state.server.services(self.now);
        let was_bound = services.unbind(id, self.process, &mut cx);
        if was_bound {
            self.state.unbound(id);
        }
        was_bound
    }

    pub(super) fn peek(&self, wish: &Wish) -> Answer<Option<Binder>> {
        let intent = intent_of(wish);
        let server = &self.state.server;
        let Best::One(found) = server.packages.best(Kind::Service, &intent, 0) else {
            return Ok(None);
        };
        if let Err(denied) = server.packages.may_reach(self.uid, &found) {
            return missing(&StartError::Denied(denied), None);
        }
        let id = server.services.find(&found.name());
        let by = id.and_then(|id| Some((id, server.services.binding(id, &intent)?)));
        Ok(by.and_then(|by| self.state.published(by)))
    }

    pub(super) fn publish(&mut self, service: i64, intent: i64, binder: Option<Binder>) {
        let payload = Payload(intent.cast_unsigned());
        let intent = self.state.payloads.get(payload).map(|it| it.intent.clone());
        if let Some((id, intent)) = self.service(service).zip(intent) {
            self.state.publish((id, payload), self.process, binder);
            let (services, mut cx) = self.state.server.services(self.now);
            services.published(id, &intent, &mut cx);
        }
    }

    pub(super) fn unbound(&mut self, service: i64, intent: i64, wants_rebind: bool) {
        let payload = Payload(intent.cast_unsigned());
        let intent = self.state.payloads.get(payload).map(|it| it.intent.clone());
        if let Some((id, intent)) = self.service(service).zip(intent) {
            let (services, mut cx) = self.state.server.services(self.now);
            services.unbound(id, &intent, wants_rebind, &mut cx);
        }
    }

    pub(super) fn service_done(&mut self, service: i64, start: i32, result: i32) {
        let Some(id) = self.service(service) else {
            return;
        };
        let (services, mut cx) = self.state.server.services(self.now);
        match start > 0 {
            true => services.started(id, start, AfterStart::of(result), &mut cx),
            false => services.done(id, &mut cx),
        }
    }

    pub(super) fn set_foreground(&mut self, service: i64, is_on: bool) {
        if let Some(id) = self.service(service) {
            let (services, mut cx) = self.state.server.services(self.now);
            services.set_foreground(id, is_on, &mut cx);
        }
    }
}

/// An exception, or what stands for nothing.
fn missing<T>(error: &StartError, nothing: T) -> Result<T, Failure> {
    refused(error).map_or(Ok(nothing), Err)
}
