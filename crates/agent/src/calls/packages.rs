// SPDX-License-Identifier: Apache-2.0
//! What processes ask about packages, their own and others'. Every package sees every other.

use std::collections::BTreeMap;

use binder::stub::{Answer, Exception};
use serde::Serialize;
use server::packages::{Enabled, Kind};

use super::{Event, ISystemProxy, Wish, security};
use crate::payloads::{flat, intent_of};
use crate::place::Place;

/// Of a description: what a call carries with room to spare, as each letter takes two bytes there.
const DESCRIPTION_BYTES_MAX: usize = 256 << 10;

/// As `takt run` describes its package to the launcher, with the user.
#[derive(Serialize)]
struct Description<'a> {
    manifest: &'a apk::Manifest,
    apk: std::path::PathBuf,
    libraries: std::path::PathBuf,
    data: std::path::PathBuf,
    uid: u32,
    /// How it was switched, and its components, by PackageManager's numbers.
    enabled: i32,
    switched: BTreeMap<&'a str, i32>,
}

impl Event<'_> {
    pub(super) fn describe(&self, name: &str, place: &Place) -> Answer<Option<String>> {
        let Some(package) = self.state.server.packages.get(name) else {
            return Ok(None);
        };
        let settings = &package.settings;
        let description = Description {
            manifest: &package.manifest,
            apk: place.code(&settings.code),
            libraries: place.libraries(&settings.code),
            data: place.data(&settings.name),
            uid: settings.uid,
            enabled: settings.enabled.number(),
            switched: settings
                .components
                .iter()
                .map(|(name, it)| (name.as_str(), it.number()))
                .collect(),
        };
        let text = serde_json::to_string(&description).unwrap_or_default();
        if text.len() > DESCRIPTION_BYTES_MAX || text.is_empty() {
            let text = format!(
                "the description of {name} has {} bytes, and {DESCRIPTION_BYTES_MAX} are the limit",
                text.len()
            );
            return Err(Exception::new(Exception::ILLEGAL_STATE, text).into());
        }
        Ok(Some(text))
    }

    pub(super) fn query(&self, kind: i32, wish: &Wish, flags: i64) -> Answer<Vec<String>> {
        let kind = match kind {
            ISystemProxy::ACTIVITIES => Kind::Activity,
            ISystemProxy::SERVICES => Kind::Service,
            ISystemProxy::RECEIVERS => Kind::Receiver,
            ISystemProxy::PROVIDERS => Kind::Provider,
            _ => return Ok(Vec::new()),
        };
        let (packages, flags) = (&self.state.server.packages, flags.cast_unsigned());
        let found = packages.query(kind, &intent_of(wish), flags);
        Ok(found.iter().map(|it| flat(&it.name())).collect())
    }

    /// A package switches itself alone.
    pub(super) fn set_enabled(
        &mut self,
        (package, class): (&str, Option<&str>),
        state: i32,
        are_kept: bool,
    ) -> Answer<()> {
        let wrong = |text: String| Exception::new(Exception::ILLEGAL_ARGUMENT, text);
        let known = Enabled::of(state);
        let known = known.ok_or_else(|| wrong(format!("no state has number {state}")))?;
        let server = &mut self.state.server;
        let is_own = server.packages.of_uid(self.uid);
        if is_own.is_none_or(|it| it.settings.name != package) {
            let text = format!("user {} does not switch what is of {package}", self.uid);
            return Err(security(&text));
        }
        let is_there = server.switch((package, class), known, are_kept, self.now);
        match is_there {
            true => Ok(()),
            false => {
                let class = class.unwrap_or_default();
                Err(wrong(format!(
                    "Component class {class} does not exist in {package}"
                ))
                .into())
            }
        }
    }

    pub(super) fn enabled_of(&self, package: &str, class: Option<&str>) -> i32 {
        let found = self.state.server.packages.get(package);
        let found = found.map(|it| match class {
            None => it.settings.enabled,
            Some(class) => it
                .settings
                .components
                .get(class)
                .copied()
                .unwrap_or_default(),
        });
        found.unwrap_or_default().number()
    }

    pub(super) fn provider_of(&self, authority: &str) -> Option<String> {
        let found = self.state.server.packages.provider(authority)?;
        Some(flat(&found.name()))
    }

    pub(super) fn packages_of(&self, user: Option<u32>) -> Vec<String> {
        let all = self.state.server.packages.iter();
        let all = all.filter(|it| user.is_none_or(|user| it.settings.uid == user));
        all.map(|it| it.settings.name.clone()).collect()
    }

    pub(super) fn has(&self, permission: &str, pid: i32, user: u32) -> bool {
        let server = &self.state.server;
        let process = self.state.of_pid(pid);
        let process = process.and_then(|it| server.processes.get(it));
        let user = process.map_or(user, |it| it.key.uid);
        server.packages.may(user, permission)
    }
}
