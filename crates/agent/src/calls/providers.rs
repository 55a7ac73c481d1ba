// SPDX-License-Identifier: Apache-2.0
//! What processes say of content providers, and of what changes in them.

use std::collections::BTreeSet;

use binder::Binder;
use binder::stub::{Answer, Exception};
use server::grants::Address;
use server::packages::Kind;
use server::providers::{Acquired, Hold, ProviderStep};
use server::server::StartError;

use super::{Event, IAppProxy, ISystemProxy, Step, full, security};
use crate::contents::{AUTHORITIES_MAX, AUTHORITY_BYTES_MAX};
use crate::payloads::{component, flat};

/// Addresses in one change.
const ADDRESSES_MAX: usize = 64;

impl Event<'_> {
    pub(super) fn publish_providers(&mut self, names: &[String], binders: &[Binder]) {
        let packages = &self.state.server.packages;
        let own = self.state.server.processes.get(self.process);
        for (name, binder) in names.iter().zip(binders) {
            let name = component(name);
            let found = name.as_ref();
            let found = found.and_then(|it| packages.named(Kind::Provider, it));
            let is_own = found.is_some_and(|it| {
                let key = it.package.process_of(it.component);
                own.is_some_and(|own| own.key == key)
            });
            if let Some(name) = name.filter(|_| is_own) {
                let contents = &mut self.state.contents;
                contents.publish(name, self.process, binder.clone());
            }
        }
    }

    pub(super) fn acquire_provider(
        &mut self,
        waiter: &IAppProxy,
        authority: &str,
        is_fast: bool,
    ) -> Answer<Option<String>> {
        let hold = match is_fast {
            true => Hold::Fast,
            false => Hold::Loose,
        };
        let name = match self.state.server.packages.provider(authority) {
            Some(found) => found.name(),
            None => return Ok(None),
        };
        self.state.contents.wait(self.process, waiter.clone());
        let server = &mut self.state.server;
        match server.acquire_provider(self.process, authority, hold, self.now) {
            Ok(Acquired::Waiting) => {}
            Ok(Acquired::Here(_)) => {
                let step = ProviderStep::Ready(name.clone());
                self.state.contents.tell(self.process, &step);
            }
            Err(StartError::Denied(denied)) => return Err(security(&denied)),
            Err(StartError::NotFound) => return Ok(None),
            Err(error) => return Err(full(&error)),
        }
        Ok(Some(flat(&name)))
    }

    pub(super) fn provider_binder(&self, name: &str) -> Option<Binder> {
        let name = component(name)?;
        let server = &self.state.server;
        let found = server.packages.named(Kind::Provider, &name)?;
        server.may_use(self.uid, &found).ok()?;
        let home = server.providers.place(&name)?;
        self.state.contents.binder(&name, home)
    }

    pub(super) fn hold_provider(&mut self, name: &str, is_fast: bool) {
        let providers = &mut self.state.server.providers;
        if let Some(name) = component(name) {
            match is_fast {
                true => providers.hold(&name, self.process),
                false => providers.release(&name, self.process),
            };
        }
    }

    pub(super) fn observe(&mut self, authorities: &[String]) -> Answer<()> {
        let is_known = |it: &&String| it.len() <= AUTHORITY_BYTES_MAX;
        let all: BTreeSet<String> = authorities.iter().filter(is_known).cloned().collect();
        if all.len() > AUTHORITIES_MAX {
            let text = format!("{AUTHORITIES_MAX} authorities are observed already");
            return Err(Exception::new(Exception::ILLEGAL_STATE, text).into());
        }
        self.state.contents.observe(self.process, all);
        Ok(())
    }

    /// May this user reach who provides this?
    fn may_use(&self, uid: u32, authority: &str) -> bool {
        let server = &self.state.server;
        let found = server.packages.provider(authority);
        found.is_some_and(|it| server.may_use(uid, &it).is_ok())
    }

    pub(super) fn changed(&mut self, addresses: &[String], flags: i32) -> Answer<()> {
        if addresses.len() > ADDRESSES_MAX {
            let text = format!("{} addresses in one change", addresses.len());
            return Err(Exception::new(Exception::ILLEGAL_ARGUMENT, text).into());
        }
        for address in addresses {
            let known = Address::new(address);
            let Some(known) = known.filter(|it| self.may_use(self.uid, it.authority())) else {
                let text = format!("{address}: nobody that this process reaches provides it");
                return Err(security(&text));
            };
            let authority = known.authority();
            for process in self.state.contents.observers(authority) {
                let uid = self.state.server.processes.get(process);
                let uid = uid.map(|it| it.key.uid);
                if process != self.process && uid.is_some_and(|it| self.may_use(it, authority)) {
                    let step = Step {
                        kind: ISystemProxy::STEP_CHANGE,
                        numbers: vec![flags.into()],
                        texts: vec![address.clone()],
                        ..Step::default()
                    };
                    self.state.push_change(process, step);
                }
            }
        }
        Ok(())
    }
}
