// SPDX-License-Identifier: Apache-2.0
//! [`Payloads`]: intents and results' data, which the state machine knows by number.
//!
//! Broadcasts that do not stay go when they are delivered. Of the rest nobody says when one is done
//! with: what nothing names any more goes when half as much again has come as was left the last
//! time.

use std::collections::{BTreeMap, BTreeSet};

use intent::{Component, Intent, Uri};
use server::Payload;
use server::grants::{Address, MODES};

use crate::calls::{Whole, Wish};

/// Of one intent: some dozens of them go into one answer.
pub const WISH_BYTES_MAX: usize = 128 << 10;
/// Addresses that one intent grants.
pub(crate) const ADDRESSES_MAX: usize = 256;
/// Of all intents.
pub const BYTES_MAX: usize = 32 << 20;
/// Intents: more than activities, starts, bindings and pending intents have in any test.
pub(crate) const PAYLOADS_MAX: usize = 32_768;
/// A descriptor of the server's counts as so many bytes: so 2,048 are kept, and 8 of one intent.
const FILE_BYTES: usize = 16 << 10;
/// A reference to a binder of its sender's.
const BINDER_BYTES: usize = 4 << 10;
/// Looks for what is not named begin here.
const SWEEP_BYTES_MIN: usize = 1 << 20;

/// An intent and what the server reads of it.
#[derive(Debug)]
pub struct Stored {
    /// As its sender has it.
    pub wish: Wish,
    /// What the server looks at.
    pub intent: Intent,
    bytes: usize,
}

/// It does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TooMuch {
    /// One alone.
    #[error("an intent of {0} bytes: at most {WISH_BYTES_MAX} are kept")]
    One(usize),
    /// Addresses that one grants.
    #[error("an intent that grants {0} addresses: at most {ADDRESSES_MAX}")]
    Addresses(usize),
    /// All together.
    #[error("there is no room for more intents")]
    All,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Payloads {
    all: BTreeMap<u64, Stored>,
    last: u64,
    bytes: usize,
    sweep_bytes: usize,
}

impl Payloads {
    /// Keeps one. `named` says which are named by anything now.
    pub(crate) fn keep(
        &mut self,
        wish: Wish,
        named: impl FnOnce() -> BTreeSet<Payload>,
    ) -> Result<Payload, TooMuch> {
        let bytes = size(&wish);
        if bytes > WISH_BYTES_MAX {
            return Err(TooMuch::One(bytes));
        }
        let is_due = self.bytes + bytes > self.sweep_bytes.max(SWEEP_BYTES_MIN);
        if is_due || self.all.len() >= PAYLOADS_MAX / 2 {
            self.sweep(&named());
        }
        self.add(wish)
    }

    /// Whether one more fits that is not too large.
    pub(crate) fn has_room(&self, wish: &Wish) -> bool {
        self.bytes + size(wish) <= BYTES_MAX && self.all.len() < PAYLOADS_MAX
    }

    /// Keeps one, and lets nothing go for it.
    pub(crate) fn add(&mut self, wish: Wish) -> Result<Payload, TooMuch> {
        let bytes = size(&wish);
        if bytes > WISH_BYTES_MAX {
            return Err(TooMuch::One(bytes));
        }
        if self.bytes + bytes > BYTES_MAX || self.all.len() >= PAYLOADS_MAX {
            return Err(TooMuch::All);
        }
        self.last += 1;
        self.bytes += bytes;
        let intent = intent_of(&wish);
        let stored = Stored {
            wish,
            intent,
            bytes,
        };
        self.all.insert(self.last, stored);
        Ok(Payload(self.last))
    }

    /// Lets one go that nothing names any more.
    pub(crate) fn remove(&mut self, number: Payload) {
        if let Some(gone) = self.all.remove(&number.0) {
            self.bytes -= gone.bytes;
        }
    }

    fn sweep(&mut self, named: &BTreeSet<Payload>) {
        self.all
            .retain(|number, _| named.contains(&Payload(*number)));
        self.bytes = self.all.values().map(|it| it.bytes).sum();
        self.sweep_bytes = self.bytes + self.bytes / 2;
    }

    /// It goes to this component, as was found.
    pub fn resolve(&mut self, number: Payload, component: &Component) {
        if let Some(stored) = self.all.get_mut(&number.0) {
            stored.wish.component = Some(flat(component));
        }
    }

    /// One of them.
    pub fn get(&self, number: Payload) -> Option<&Stored> {
        self.all.get(&number.0)
    }

    /// How many, and how large.
    pub fn counts(&self) -> (usize, usize) {
        (self.all.len(), self.bytes)
    }
}

/// Bytes of a wish.
pub(crate) fn size(wish: &Wish) -> usize {
    let texts = [
        &wish.action,
        &wish.data,
        &wish.r#type,
        &wish.identifier,
        &wish.target,
        &wish.component,
    ];
    let texts = texts.into_iter().flatten();
    let lists = [&wish.categories, &wish.extras, &wish.addresses];
    let all = texts.chain(lists.into_iter().flatten());
    // Each text has a head of its own.
    let parcels = weight(&wish.whole) + weight(&wish.fill);
    parcels + all.map(|it| it.len() + 24).sum::<usize>()
}

/// Bytes of a parcel with what its objects count for.
fn weight(whole: &Whole) -> usize {
    let objects = whole.binders.len() * BINDER_BYTES + whole.files.len() * FILE_BYTES;
    whole.bytes.len() + whole.places.len() * 4 + objects
}

/// Binders in a wish.
pub(crate) fn binders(wish: &Wish) -> usize {
    wish.whole.binders.len() + wish.fill.binders.len()
}

/// As `ComponentName.flattenToString` has it.
pub fn flat(component: &Component) -> String {
    format!("{}/{}", component.package, component.class)
}

/// The same, read; a class that begins with a dot lies in the package.
pub fn component(text: &str) -> Option<Component> {
    let (package, class) = text.split_once('/')?;
    let class = match class.starts_with('.') {
        true => format!("{package}{class}"),
        false => class.to_owned(),
    };
    Some(Component {
        package: package.to_owned(),
        class,
    })
}

/// What the server looks at.
pub fn intent_of(wish: &Wish) -> Intent {
    Intent {
        action: wish.action.clone(),
        data: wish.data.clone().map(Uri::new),
        kind: wish.r#type.clone(),
        categories: wish.categories.iter().cloned().collect(),
        package: wish.target.clone(),
        component: wish.component.as_deref().and_then(component),
        identifier: wish.identifier.clone(),
    }
}

/// What an intent's flags grant: its data, and what is in its clip.
pub(crate) fn granted(wish: &Wish) -> Result<Vec<Address>, TooMuch> {
    if wish.flags.cast_unsigned() & MODES == 0 {
        return Ok(Vec::new());
    }
    let count = wish.addresses.len();
    if count > ADDRESSES_MAX {
        return Err(TooMuch::Addresses(count));
    }
    let all = wish.data.iter().chain(&wish.addresses);
    Ok(all.filter_map(|it| Address::new(it)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(bytes: usize) -> Wish {
        Wish {
            whole: Whole {
                bytes: vec![0; bytes],
                ..Whole::default()
            },
            ..Wish::default()
        }
    }

    #[test]
    fn what_is_named_stays_and_the_rest_goes() {
        let mut payloads = Payloads::default();
        let kept = payloads.keep(wish(1000), BTreeSet::new).unwrap();
        for _ in 0..100_000 {
            payloads
                .keep(wish(1000), || BTreeSet::from([kept]))
                .unwrap();
        }
        assert!(payloads.get(kept).is_some());
        assert!(payloads.counts().1 <= 2 * SWEEP_BYTES_MIN);
    }

    #[test]
    fn too_much_is_refused_and_leaves_nothing() {
        let mut payloads = Payloads::default();
        let large = payloads.keep(wish(WISH_BYTES_MAX + 1), BTreeSet::new);
        assert_eq!(large, Err(TooMuch::One(WISH_BYTES_MAX + 1)));
        let mut named = BTreeSet::new();
        let refused = loop {
            match payloads.keep(wish(WISH_BYTES_MAX - 100), || named.clone()) {
                Ok(number) => named.insert(number),
                Err(error) => break error,
            };
        };
        assert_eq!(refused, TooMuch::All);
        assert!(payloads.counts().1 <= BYTES_MAX);
    }

    #[test]
    fn files_of_one_intent_and_of_all_are_few() {
        let file = std::sync::Arc::new(std::os::fd::OwnedFd::from(
            std::fs::File::open("/dev/null").unwrap(),
        ));
        let with = |count: usize| Wish {
            whole: Whole {
                files: vec![std::sync::Arc::clone(&file); count],
                ..Whole::default()
            },
            ..Wish::default()
        };
        let mut payloads = Payloads::default();
        let nine = payloads.keep(with(9), BTreeSet::new);
        assert_eq!(nine, Err(TooMuch::One(9 * FILE_BYTES)));
        let mut named = BTreeSet::new();
        while let Ok(number) = payloads.keep(with(8), || named.clone()) {
            named.insert(number);
        }
        assert_eq!(named.len() * 8, BYTES_MAX / FILE_BYTES);
    }

    #[test]
    fn a_component_is_read_as_android_writes_it() {
        let expected = Component {
            package: "p.a".to_owned(),
            class: "p.a.Main".to_owned(),
        };
        assert_eq!(component("p.a/.Main"), Some(expected.clone()));
        assert_eq!(component(&flat(&expected)), Some(expected));
        assert_eq!(component("p.a"), None);
    }
}
