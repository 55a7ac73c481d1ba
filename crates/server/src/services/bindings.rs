// SPDX-License-Identifier: Apache-2.0
//! Who has bound a service, by which intents, and what each is given.

use intent::Intent;

use super::{
    BINDINGS_MAX, CONNECTIONS_MAX, CONNECTIONS_PER_USER_MAX, Full, ServiceDeclaration, ServiceStep,
    Services, answer, ask,
};
use crate::{ConnectionId, Cx, Effect, Payload, ProcessId, ServiceId};

/// `BIND_AUTO_CREATE`.
pub const AUTO_CREATE: u64 = 1;

#[derive(Clone, Debug)]
pub(super) struct Binding {
    pub(super) intent: Intent,
    pub(super) payload: Payload,
    pub(super) is_asked: bool,
    pub(super) is_published: bool,
    pub(super) wants_rebind: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Connection {
    pub(super) service: ServiceId,
    pub(super) client: ProcessId,
    pub(super) intent: Intent,
    pub(super) has_auto_create: bool,
    pub(super) is_connected: bool,
}

impl Services {
    /// Binds a service. None if it is not there and nothing asks for it to be made.
    ///
    /// # Errors
    ///
    /// [`Full`]
    pub fn bind(
        &mut self,
        declaration: &ServiceDeclaration,
        client: ProcessId,
        by: (Intent, Payload),
        flags: u64,
        cx: &mut Cx<'_>,
    ) -> Result<ConnectionId, Full> {
        if self.connections.len() >= CONNECTIONS_MAX {
            return Err(Full("connections"));
        }
        let user = |id: ProcessId| Some(cx.processes.get(id)?.key.uid);
        let own = user(client);
        let of_user = self
            .connections
            .values()
            .filter(|it| user(it.client) == own);
        if of_user.count() >= CONNECTIONS_PER_USER_MAX {
            return Err(Full("connections of one user"));
        }
        let (intent, payload) = by;
        let id = self.record(declaration)?;
        let has_auto_create = flags & AUTO_CREATE != 0;
        let Some(service) = self.all.get_mut(&id) else {
            return Err(Full("services"));
        };
        if !service.bindings.iter().any(|it| it.intent == intent) {
            if service.bindings.len() >= BINDINGS_MAX {
                self.end_unused(id, cx);
                return Err(Full("intents that one service is bound by"));
            }
            service.bindings.push(Binding {
                intent: intent.clone(),
                payload,
                is_asked: false,
                is_published: false,
                wants_rebind: false,
            });
        }
        let connection = ConnectionId(self.numbers.next());
        let made = Connection {
            service: id,
            client,
            intent,
            has_auto_create,
            is_connected: false,
        };
        self.connections.insert(connection, made);
        if has_auto_create {
            self.bring_up(id, cx);
        } else {
            self.run_waiting(id, cx);
        }
        self.connect(id, cx);
        let bound = self.is_there(id).then_some(connection);
        bound.ok_or(Full("processes"))
    }

    /// Ends a connection. False if it is not there, or is another process's.
    pub fn unbind(&mut self, id: ConnectionId, client: ProcessId, cx: &mut Cx<'_>) -> bool {
        let is_own = self
            .connections
            .get(&id)
            .is_some_and(|it| it.client == client);
        if is_own {
            self.drop_connection(id, cx);
        }
        is_own
    }

    pub(super) fn drop_connection(&mut self, id: ConnectionId, cx: &mut Cx<'_>) {
        let Some(gone) = self.connections.remove(&id) else {
            return;
        };
        let is_same = |it: &Connection| it.service == gone.service && it.intent == gone.intent;
        let is_last = !self.connections.values().any(is_same);
        let Some(service) = self.all.get_mut(&gone.service) else {
            return;
        };
        let binding = service
            .bindings
            .iter_mut()
            .find(|it| it.intent == gone.intent);
        let asked = binding.filter(|it| is_last && it.is_asked && service.is_created);
        if let Some(binding) = asked {
            binding.is_asked = false;
            let intent = binding.payload;
            ask(gone.service, service, ServiceStep::Unbind { intent }, cx);
        }
        self.end_unused(gone.service, cx);
    }

    /// `onBind` has returned a binder for this intent.
    pub fn published(&mut self, id: ServiceId, intent: &Intent, cx: &mut Cx<'_>) {
        if let Some(service) = self.all.get_mut(&id) {
            answer(id, service, cx);
            let found = service.bindings.iter_mut().find(|it| it.intent == *intent);
            if let Some(binding) = found.filter(|it| it.is_asked) {
                binding.is_published = true;
            }
        }
        self.connect(id, cx);
    }

    /// `onUnbind` has returned, and says whether it wants `onRebind`.
    pub fn unbound(&mut self, id: ServiceId, intent: &Intent, wants: bool, cx: &mut Cx<'_>) {
        if let Some(service) = self.all.get_mut(&id) {
            answer(id, service, cx);
            let found = service.bindings.iter_mut().find(|it| it.intent == *intent);
            if let Some(binding) = found {
                binding.wants_rebind = wants;
            }
        }
        self.run_waiting(id, cx);
    }

    /// What this intent was bound by first; none if nobody has bound it.
    pub fn binding(&self, id: ServiceId, intent: &Intent) -> Option<Payload> {
        let mut bindings = self.all.get(&id)?.bindings.iter();
        let found = bindings.find(|it| it.intent == *intent);
        found.map(|it| it.payload)
    }

    pub(super) fn is_auto_created(&self, id: ServiceId) -> bool {
        let mut all = self.connections.values();
        all.any(|it| it.service == id && it.has_auto_create)
    }

    /// Tells clients of binders that are there.
    pub(super) fn connect(&mut self, id: ServiceId, cx: &mut Cx<'_>) {
        let Some(service) = self.all.get(&id) else {
            return;
        };
        let waiting = self.connections.iter_mut();
        for (connection, it) in waiting.filter(|(_, it)| it.service == id && !it.is_connected) {
            let binding = service.bindings.iter().find(|its| its.intent == it.intent);
            if let Some(binding) = binding.filter(|it| it.is_published) {
                it.is_connected = true;
                cx.effects.push(Effect::Service {
                    process: it.client,
                    service: id,
                    step: ServiceStep::Connected {
                        connection: *connection,
                        intent: binding.payload,
                    },
                });
            }
        }
    }
}
