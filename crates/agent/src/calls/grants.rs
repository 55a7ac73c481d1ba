// SPDX-License-Identifier: Apache-2.0
//! What processes grant of single addresses, and what they ask about grants.

use binder::stub::{Answer, Exception};
use rt::clock::wall_ns;
use server::grants::{Address, MODES, NotKept, PERSISTABLE, PREFIX};

use super::{Event, Kept, full, security};

fn flags_of(flags: i32) -> Answer<u32> {
    let flags = flags.cast_unsigned();
    match flags & !(MODES | PERSISTABLE | PREFIX) {
        0 => Ok(flags),
        other => {
            let text = format!("{other:#x} is no flag of a grant");
            Err(Exception::new(Exception::ILLEGAL_ARGUMENT, text).into())
        }
    }
}

impl Event<'_> {
    /// What has no package or is no content is not granted, as on Android.
    pub(super) fn grant_address(&mut self, target: &str, address: &str, flags: i32) -> Answer<()> {
        let flags = flags_of(flags)?;
        let server = &mut self.state.server;
        let holder = server.packages.get(target).map(|it| it.settings.uid);
        let Some((holder, address)) = holder.zip(Address::new(address)) else {
            return Ok(());
        };
        let given = server.to_grant((self.uid, holder), &[address], flags);
        server.grant(given.map_err(|it| security(&it))?, None);
        Ok(())
    }

    /// Says whether something that is kept has changed.
    pub(super) fn revoke_address(
        &mut self,
        target: Option<&str>,
        address: &str,
        modes: i32,
    ) -> bool {
        let server = &mut self.state.server;
        let from = target.map(|it| server.packages.get(it).map(|it| it.settings.uid));
        let (Some(address), Some(from)) = (
            Address::new(address),
            from.map_or(Some(None), |it| it.map(Some)),
        ) else {
            return false;
        };
        server.revoke(self.uid, from, &address, modes.cast_unsigned())
    }

    pub(super) fn has_address(&mut self, address: &str, pid: i32, user: u32, flags: i32) -> bool {
        let process = self.state.of_pid(pid);
        let server = &mut self.state.server;
        let process = process.and_then(|it| server.processes.get(it));
        let user = process.map_or(user, |it| it.key.uid);
        let address = Address::new(address);
        address.is_some_and(|it| server.is_granted(user, &it, flags.cast_unsigned()))
    }

    pub(super) fn keep_address(&mut self, address: &str, modes: i32) -> Answer<()> {
        let modes = flags_of(modes)? & MODES;
        let grants = &mut self.state.server.grants;
        let kept = match Address::new(address) {
            Some(it) => grants.keep(self.uid, &it, modes, wall_ns() / 1_000_000),
            None => Err(NotKept::NotGranted),
        };
        kept.map_err(|it| match it {
            NotKept::NotGranted => security(&format!("{address}: {it}")),
            NotKept::Full => full(&it),
        })
    }

    pub(super) fn release_address(&mut self, address: &str, modes: i32) -> bool {
        let modes = modes.cast_unsigned() & MODES;
        let address = Address::new(address);
        let grants = &mut self.state.server.grants;
        address.is_some_and(|it| grants.release(self.uid, &it, modes))
    }

    pub(super) fn kept_addresses(&self, is_of_others: bool) -> Vec<Kept> {
        let server = &self.state.server;
        let own = server.packages.of_uid(self.uid).map(|it| &it.settings.name);
        let is_asked = |holder: u32, provider: &String| match is_of_others {
            true => holder == self.uid,
            false => own == Some(provider) && holder != self.uid,
        };
        let all = server.grants.kept();
        all.filter(|(holder, it)| is_asked(*holder, &it.provider))
            .map(|(_, it)| Kept {
                address: it.address,
                is_prefix: it.is_prefix,
                modes: it.modes.cast_signed(),
                since: it.since_ms.cast_signed(),
            })
            .collect()
    }
}
