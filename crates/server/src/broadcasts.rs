// SPDX-License-Identifier: Apache-2.0
//! Who of the manifests' receivers gets a broadcast. Receivers that code registers are known to
//! their processes alone.

use intent::{Component, Intent};

use crate::packages::Kind;
use crate::{ProcessId, Server};

/// Receivers that one broadcast reaches; the rest is counted as not reached.
pub const RECEIVERS_MAX: usize = 64;

/// A receiver that gets a broadcast.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receiver {
    /// Its name.
    pub component: Component,
    /// The process that it lives in, which was demanded.
    pub process: ProcessId,
}

impl Server {
    /// The receivers that a user may reach and that have the permission it asks for, in the order
    /// of their priorities. Their processes are demanded; one that there is no room for is left
    /// out, with its receiver.
    pub fn broadcast(
        &mut self,
        uid: u32,
        intent: &Intent,
        permission: Option<&str>,
        now: u64,
    ) -> Vec<Receiver> {
        if uid == 0 {
            self.forgive_receivers(intent, now);
        }
        let found = self.packages.query(Kind::Receiver, intent, 0);
        let mut receivers = Vec::new();
        for it in found.iter().take(RECEIVERS_MAX) {
            let settings = &it.package.settings;
            let has = permission.is_none_or(|name| self.packages.may(settings.uid, name));
            if !has || self.packages.may_reach(uid, it).is_err() {
                continue;
            }
            let key = it.package.process_of(it.component);
            let demanded = self
                .processes
                .demand(&key, &settings.name, now, &mut self.effects);
            if let Ok(process) = demanded {
                let component = it.name();
                receivers.push(Receiver { component, process });
            }
        }
        receivers
    }

    /// A person's broadcast does not wait for who has failed.
    fn forgive_receivers(&mut self, intent: &Intent, now: u64) {
        for it in self.packages.query(Kind::Receiver, intent, 0) {
            let uid = it.package.settings.uid;
            self.processes.forgive(uid, now, &mut self.effects);
        }
    }
}
