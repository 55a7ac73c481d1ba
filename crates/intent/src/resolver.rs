// SPDX-License-Identifier: Apache-2.0
//! All filters that take an intent, the most important first: `com.android.server.IntentResolver`.
//!
//! Filters stand in lists by scheme, by type and by action, so that an intent looks at those alone
//! that share one of them. A search is linear in these lists. Of equal priority the order is
//! Android's: filters of the whole type, of its base, of any type, by scheme; in each list as they
//! were added. A filter that stands in two of the lists is found twice unless the caller asks for
//! each once, as `ComponentResolver` does.

use std::collections::{HashMap, HashSet};

use crate::{CATEGORY_DEFAULT, Filter, Intent, Match};

/// A filter's place in its resolver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FilterId(u64);

/// A filter that takes the intent.
#[derive(Clone, Debug)]
pub struct Resolved<'a, T> {
    /// Its place.
    pub id: FilterId,
    /// What it belongs to.
    pub owner: &'a T,
    /// The filter.
    pub filter: &'a Filter,
    /// How closely it matches.
    pub closeness: Match,
}

/// A list of filters that share something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum List {
    Scheme,
    /// Of filters without any data.
    Action,
    /// Of filters with types.
    TypedAction,
    /// `base/sub`.
    Type,
    /// `base` of `base/sub`.
    Base,
    /// `base` of `base/*`, and `*` of `*/*`.
    Wild,
}

#[derive(Clone, Debug)]
struct Entry<T> {
    owner: T,
    package: String,
    filter: Filter,
}

/// Filters with what each belongs to.
#[derive(Clone, Debug)]
pub struct Resolver<T> {
    entries: HashMap<FilterId, Entry<T>>,
    next: u64,
    lists: HashMap<(List, String), Vec<FilterId>>,
}

impl<T> Default for Resolver<T> {
    fn default() -> Self {
        Self {
            entries: HashMap::new(),
            next: 0,
            lists: HashMap::new(),
        }
    }
}

impl<T> Resolver<T> {
    /// How many filters there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Adds a filter of a package.
    pub fn add(&mut self, owner: T, package: impl Into<String>, filter: Filter) -> FilterId {
        let id = FilterId(self.next);
        self.next += 1;
        for key in keys(&filter) {
            self.lists.entry(key).or_default().push(id);
        }
        let package = package.into();
        let entry = Entry {
            owner,
            package,
            filter,
        };
        self.entries.insert(id, entry);
        id
    }

    /// Takes a filter away; none if it is gone already.
    pub fn remove(&mut self, id: FilterId) -> Option<T> {
        let entry = self.entries.remove(&id)?;
        for key in keys(&entry.filter) {
            if let Some(ids) = self.lists.get_mut(&key) {
                ids.retain(|it| *it != id);
                if ids.is_empty() {
                    self.lists.remove(&key);
                }
            }
        }
        Some(entry.owner)
    }

    /// Whose filters take the intent, the greater priority first. `default_only` asks for filters
    /// of [`CATEGORY_DEFAULT`], as an activity that is started must have it.
    pub fn query(&self, intent: &Intent, default_only: bool) -> Vec<Resolved<'_, T>> {
        let mut found: Vec<Resolved<'_, T>> = self.in_order(intent, default_only).collect();
        found.sort_by_key(|it| core::cmp::Reverse(it.filter.priority));
        found
    }

    /// The same in the order in which Android comes upon them: by type, then by scheme, then by
    /// action. A filter that stands in several of these lists comes several times.
    pub fn in_order<'a>(
        &'a self,
        intent: &Intent,
        default_only: bool,
    ) -> impl Iterator<Item = Resolved<'a, T>> {
        let ids = cuts(intent)
            .into_iter()
            .flat_map(|key| self.lists.get(&key).into_iter().flatten());
        ids.filter_map(move |id| self.resolve(*id, intent, default_only))
    }

    /// As [`query`](Self::query), each filter once.
    pub fn query_once(&self, intent: &Intent, default_only: bool) -> Vec<Resolved<'_, T>> {
        let mut seen = HashSet::new();
        let mut found = self.query(intent, default_only);
        found.retain(|it| seen.insert(it.id));
        found
    }

    fn resolve(
        &self,
        id: FilterId,
        intent: &Intent,
        default_only: bool,
    ) -> Option<Resolved<'_, T>> {
        let Entry {
            owner,
            package,
            filter,
        } = self.entries.get(&id)?;
        let is_asked = intent.package.as_ref().is_none_or(|it| it == package);
        if !is_asked || (default_only && !filter.has_category(CATEGORY_DEFAULT)) {
            return None;
        }
        let closeness = filter.matches(intent).ok()?;
        Some(Resolved {
            id,
            owner,
            filter,
            closeness,
        })
    }
}

/// The lists that a filter stands in, each once.
fn keys(filter: &Filter) -> HashSet<(List, String)> {
    let mut keys = HashSet::new();
    let mut add = |list, key: &str| {
        keys.insert((list, key.to_owned()));
    };
    for scheme in &filter.schemes {
        add(List::Scheme, scheme);
    }
    for kind in filter.types() {
        match kind.split_once('/') {
            Some((base, _)) => {
                add(List::Base, base);
                add(List::Type, kind);
            }
            None => {
                add(List::Wild, kind);
                add(List::Type, &format!("{kind}/*"));
            }
        }
    }
    let is_typed = !filter.types().is_empty();
    for action in &filter.actions {
        if is_typed {
            add(List::TypedAction, action);
        } else if filter.schemes.is_empty() {
            add(List::Action, action);
        }
    }
    keys
}

/// The lists that an intent looks at, in order.
fn cuts(intent: &Intent) -> Vec<(List, String)> {
    let mut cuts = Vec::new();
    let mut look = |list, key: &str| cuts.push((list, key.to_owned()));
    let kind = intent.kind.as_deref();
    let parts = kind.and_then(|it| it.split_once('/'));
    match (
        parts.filter(|(base, _)| !base.is_empty()),
        kind,
        &intent.action,
    ) {
        (Some(("*", _)), _, Some(action)) => look(List::TypedAction, action),
        (Some((base, sub)), Some(kind), _) if base != "*" => {
            let (list, key) = if sub == "*" {
                (List::Base, base)
            } else {
                (List::Type, kind)
            };
            look(list, key);
            look(List::Wild, base);
            look(List::Wild, "*");
        }
        _ => {}
    }
    match (intent.scheme(), kind, &intent.action) {
        (Some(scheme), _, _) => look(List::Scheme, scheme),
        (None, None, Some(action)) => look(List::Action, action),
        _ => {}
    }
    cuts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_alone_finds_its_filter() {
        let mut filter = Filter::new(0);
        filter.actions.push("VIEW".into());
        filter.add_type("text/plain").expect("a type");
        filter.add_type("image/png").expect("a type");
        let mut resolver = Resolver::default();
        resolver.add((), "q", filter);
        let intent = Intent {
            kind: Some("image/png".into()),
            ..Intent::default()
        };
        assert_eq!(resolver.query(&intent, false).len(), 1);
    }
}
