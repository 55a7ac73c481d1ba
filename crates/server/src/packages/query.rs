// SPDX-License-Identifier: Apache-2.0
//! Which component takes an intent: queries of the package manager with their flags.

use std::cmp::Reverse;
use std::collections::HashSet;

use apk::ComponentKind;
use intent::{Component, Intent, Match, Pattern, PatternKind};

use super::{Enabled, FIRST_UID, Package, Packages};
use crate::grants::{Address, READ, WRITE};

/// Only filters of the category DEFAULT.
pub const MATCH_DEFAULT_ONLY: u64 = 0x0001_0000;
/// Also what is switched off.
pub const MATCH_DISABLED: u64 = 0x0000_0200;
/// Also what is switched off until it is used.
pub const MATCH_DISABLED_UNTIL_USED: u64 = 0x0000_8000;
/// Only packages of the system.
pub const MATCH_SYSTEM_ONLY: u64 = 0x0010_0000;

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Activities and their other names.
    Activity,
    /// Services.
    Service,
    /// Receivers of the manifest.
    Receiver,
    /// Providers, by filter.
    Provider,
}

impl Kind {
    /// Of a manifest's component.
    pub fn of(kind: ComponentKind) -> Self {
        match kind {
            ComponentKind::Activity | ComponentKind::ActivityAlias => Self::Activity,
            ComponentKind::Service => Self::Service,
            ComponentKind::Receiver => Self::Receiver,
            ComponentKind::Provider => Self::Provider,
        }
    }
}

/// A component that takes an intent.
#[derive(Clone, Debug)]
pub struct Found<'a> {
    /// Its package.
    pub package: &'a Package,
    /// What the manifest says.
    pub component: &'a apk::Component,
    /// Of the filter.
    pub priority: i32,
    /// The filter has the category DEFAULT.
    pub is_default: bool,
    /// How closely it matches; none if the intent names the component.
    pub closeness: Option<Match>,
}

impl Found<'_> {
    /// Its package and class.
    pub fn name(&self) -> Component {
        Component {
            package: self.package.settings.name.clone(),
            class: self.component.name.clone(),
        }
    }

    fn rank(&self) -> (i32, bool, Option<Match>, bool) {
        let is_system = self.package.settings.is_system;
        (self.priority, self.is_default, self.closeness, is_system)
    }
}

/// Who takes an intent that is for one.
#[derive(Clone, Debug)]
pub enum Best<'a> {
    /// Nobody.
    None,
    /// This one.
    One(Found<'a>),
    /// Several that are as good: a person chooses.
    Several(Vec<Found<'a>>),
}

/// Why a component is not for a caller.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// It is not exported.
    #[error("{0:?} is not exported")]
    NotExported(Component),
    /// The caller lacks the permission that it asks for.
    #[error("{0:?} asks for {1}")]
    Permission(Component, String),
}

impl Packages {
    /// All components that take an intent, the best first.
    pub fn query(&self, kind: Kind, intent: &Intent, flags: u64) -> Vec<Found<'_>> {
        if let Some(name) = &intent.component {
            let found = self.named(kind, name).filter(|it| is_seen(it, flags));
            return found.into_iter().collect();
        }
        let Some(resolver) = self.resolvers.get(&kind) else {
            return Vec::new();
        };
        let default_only = flags & MATCH_DEFAULT_ONLY != 0;
        let mut seen = HashSet::new();
        let mut found = Vec::new();
        for it in resolver.in_order(intent, default_only) {
            // By the filter that is come upon first, though another may be closer: as Android.
            if seen.contains(it.owner) {
                continue;
            }
            let Some(one) = self.at(it.owner.0.as_str(), it.owner.1) else {
                continue;
            };
            let one = Found {
                priority: it.filter.priority,
                is_default: it.filter.has_category(intent::CATEGORY_DEFAULT),
                closeness: Some(it.closeness),
                ..one
            };
            if is_seen(&one, flags) {
                seen.insert(it.owner.clone());
                found.push(one);
            }
        }
        found.sort_by(|left, right| {
            let name = |it: &Found<'_>| it.package.settings.name.clone();
            (Reverse(left.rank()), name(left)).cmp(&(Reverse(right.rank()), name(right)))
        });
        found
    }

    /// The one that an intent for one goes to.
    pub fn best(&self, kind: Kind, intent: &Intent, flags: u64) -> Best<'_> {
        let mut found = self.query(kind, intent, flags);
        let Some(first) = found.first() else {
            return Best::None;
        };
        let best = (first.priority, first.is_default);
        let is_alone = found
            .get(1)
            .is_none_or(|it| (it.priority, it.is_default) != best);
        if is_alone || kind != Kind::Activity {
            return Best::One(found.swap_remove(0));
        }
        found.retain(|it| (it.priority, it.is_default) == best);
        Best::Several(found)
    }

    /// The component of this name.
    pub fn named(&self, kind: Kind, name: &Component) -> Option<Found<'_>> {
        let package = self.by_name.get(&name.package)?;
        let all = &package.manifest.application.components;
        let is_it = |it: &apk::Component| it.name == name.class && Kind::of(it.kind) == kind;
        let at = all.iter().position(is_it)?;
        self.at(&name.package, at)
    }

    /// The provider of an authority.
    pub fn provider(&self, authority: &str) -> Option<Found<'_>> {
        let (package, at) = self.authorities.get(authority)?;
        self.at(package, *at).filter(|it| is_seen(it, 0))
    }

    fn at(&self, package: &str, at: usize) -> Option<Found<'_>> {
        let package = self.by_name.get(package)?;
        Some(Found {
            package,
            component: package.manifest.application.components.get(at)?,
            priority: 0,
            is_default: false,
            closeness: None,
        })
    }

    /// May this user reach the component?
    ///
    /// # Errors
    ///
    /// [`Denied`]
    pub fn may_reach(&self, uid: u32, found: &Found<'_>) -> Result<(), Denied> {
        if uid < FIRST_UID || uid == found.package.settings.uid {
            return Ok(());
        }
        if !found.component.is_exported {
            return Err(Denied::NotExported(found.name()));
        }
        match &found.component.permission {
            Some(it) if !self.may(uid, it) => Err(Denied::Permission(found.name(), it.clone())),
            _ => Ok(()),
        }
    }
}

impl Found<'_> {
    /// May who reaches this address of the provider's let others reach it?
    pub fn lets_grant(&self, address: &Address) -> bool {
        let access = &self.component.access;
        let (path, mut all) = (address.path(), access.granted_paths.iter());
        access.is_grantable && (access.granted_paths.is_empty() || all.any(|it| matches(it, &path)))
    }
}

impl Packages {
    /// Has this user these modes for an address of the provider's by permission, without a grant? A
    /// path's own permission is as good as the provider's, and where there is one, who lacks both
    /// has nothing.
    pub fn holds(&self, uid: u32, found: &Found<'_>, address: &Address, modes: u32) -> bool {
        if uid < FIRST_UID || uid == found.package.settings.uid {
            return true;
        }
        if !found.component.is_exported {
            return false;
        }
        let (access, both) = (&found.component.access, &found.component.permission);
        let path = address.path();
        let own = || access.paths.iter().filter(|it| matches(&it.path, &path));
        let is_met = |whole: &Option<String>, own: Vec<&String>| {
            let whole = whole.as_ref().or(both.as_ref());
            let is_open = whole.is_none() && own.is_empty();
            is_open || whole.into_iter().chain(own).any(|it| self.may(uid, it))
        };
        let reads = || own().filter_map(|it| it.read.as_ref()).collect();
        let writes = || own().filter_map(|it| it.write.as_ref()).collect();
        (modes & READ == 0 || is_met(&access.read, reads()))
            && (modes & WRITE == 0 || is_met(&access.write, writes()))
    }

    /// May this user reach the provider, to read or to change some of its data? Its process asks
    /// once more for each address.
    ///
    /// # Errors
    ///
    /// [`Denied`]
    pub fn may_use(&self, uid: u32, found: &Found<'_>) -> Result<(), Denied> {
        if uid < FIRST_UID || uid == found.package.settings.uid {
            return Ok(());
        }
        if !found.component.is_exported {
            return Err(Denied::NotExported(found.name()));
        }
        let (access, both) = (&found.component.access, &found.component.permission);
        let all = [&access.read, &access.write].map(|it| it.as_ref().or(both.as_ref()));
        let mut own = access.paths.iter().flat_map(|it| [&it.read, &it.write]);
        let is_open = all
            .iter()
            .any(|it| it.is_none_or(|name| self.may(uid, name)))
            || own.any(|it| it.as_ref().is_some_and(|name| self.may(uid, name)));
        match all[0] {
            Some(name) if !is_open => Err(Denied::Permission(found.name(), name.clone())),
            _ => Ok(()),
        }
    }
}

/// By a pattern of a manifest; one that cannot be read matches nothing.
fn matches(pattern: &apk::PathPattern, path: &str) -> bool {
    let kind = match pattern.kind {
        0 => PatternKind::Literal,
        1 => PatternKind::Prefix,
        2 => PatternKind::SimpleGlob,
        3 => PatternKind::AdvancedGlob,
        _ => PatternKind::Suffix,
    };
    Pattern::new(kind, pattern.text.as_str()).is_some_and(|it| it.matches(path))
}

fn is_seen(found: &Found<'_>, flags: u64) -> bool {
    let has = |flag: u64| flags & flag != 0;
    if has(MATCH_SYSTEM_ONLY) && !found.package.settings.is_system {
        return false;
    }
    if has(MATCH_DISABLED) {
        return true;
    }
    let settings = &found.package.settings;
    let by_manifest = found.package.manifest.application.is_enabled;
    let whole = match settings.enabled {
        Enabled::Default => by_manifest,
        // Used, it is as its manifest says.
        it @ Enabled::DisabledUntilUsed => it.is_on(flags) && by_manifest,
        other => other.is_on(flags),
    };
    let own = settings.components.get(&found.component.name);
    let own = match own.copied().unwrap_or_default() {
        Enabled::Default => found.component.is_enabled,
        other => other.is_on(flags),
    };
    whole && own
}

impl Enabled {
    fn is_on(self, flags: u64) -> bool {
        match self {
            Self::Default | Self::Enabled => true,
            Self::Disabled | Self::DisabledByUser => false,
            Self::DisabledUntilUsed => flags & MATCH_DISABLED_UNTIL_USED != 0,
        }
    }
}
