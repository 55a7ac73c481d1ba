// SPDX-License-Identifier: Apache-2.0
//! `android.content.IntentFilter`: what an intent must be for a component to take it.

use std::collections::BTreeSet;
use std::fmt;

use crate::{Intent, Pattern, Uri};

/// How an intent's data matched; the greater, the closer. The numbers are Android's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Match {
    /// The filter has no data, the intent neither.
    Empty = 0x0010_0000,
    /// By scheme.
    Scheme = 0x0020_0000,
    /// By host.
    Host = 0x0030_0000,
    /// By host and port.
    Port = 0x0040_0000,
    /// By path.
    Path = 0x0050_0000,
    /// By what follows the scheme.
    SchemeSpecificPart = 0x0058_0000,
    /// By MIME type.
    Type = 0x0060_0000,
}

impl Match {
    /// What `IntentFilter.match` returns.
    pub fn number(self) -> i32 {
        const ADJUSTMENT_NORMAL: i32 = 0x8000;
        self as i32 + ADJUSTMENT_NORMAL
    }
}

/// Why an intent does not match. The numbers are Android's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// The type of its data.
    Type = -1,
    /// Its data.
    Data = -2,
    /// Its action.
    Action = -3,
    /// A category that the filter lacks.
    Category = -4,
}

impl Mismatch {
    /// What `IntentFilter.match` returns.
    pub fn number(self) -> i32 {
        self as i32
    }
}

/// A MIME type without a slash, or with nothing on one side of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MalformedMimeType(pub String);

impl fmt::Display for MalformedMimeType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no MIME type", self.0)
    }
}

impl core::error::Error for MalformedMimeType {}

/// A host, which may begin with `*`, and a port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Authority {
    /// Without the star.
    host: String,
    is_wild: bool,
    port: Option<i32>,
}

impl Authority {
    /// As the manifest writes them.
    pub fn new(host: &str, port: Option<i32>) -> Self {
        let wild = host.strip_prefix('*');
        Self {
            host: wild.unwrap_or(host).to_owned(),
            is_wild: wild.is_some(),
            // Android keeps -1 for a port that was not given.
            port: port.filter(|it| *it >= 0),
        }
    }

    fn matches(&self, data: &Uri) -> Option<Match> {
        let host: Vec<u16> = data.host()?.encode_utf16().collect();
        let own: Vec<u16> = self.host.encode_utf16().collect();
        let start = match host.len().checked_sub(own.len())? {
            start if self.is_wild => start,
            0 => 0,
            _ => return None,
        };
        if !equals_ignoring_case(&host[start..], &own) {
            return None;
        }
        match self.port {
            None => Some(Match::Host),
            Some(port) => (data.port() == Some(port)).then_some(Match::Port),
        }
    }
}

/// As `String.compareToIgnoreCase`, which compares unit by unit.
fn equals_ignoring_case(left: &[u16], right: &[u16]) -> bool {
    let mut pairs = left.iter().zip(right);
    left.len() == right.len() && pairs.all(|(a, b)| folded(*a) == folded(*b))
}

/// A character in the case that Java compares; half of a pair stays as it is.
fn folded(unit: u16) -> u32 {
    let Some(it) = char::from_u32(unit.into()) else {
        return unit.into();
    };
    let upper = single(it.to_uppercase()).unwrap_or(it);
    single(upper.to_lowercase()).unwrap_or(upper).into()
}

/// The only one of them.
fn single(mut of: impl Iterator<Item = char>) -> Option<char> {
    of.next().filter(|_| of.next().is_none())
}

/// What an intent must be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// The greater is asked first.
    pub priority: i32,
    /// One of them must be the intent's, if it has one.
    pub actions: Vec<String>,
    /// All of the intent's must be among them.
    pub categories: Vec<String>,
    /// Schemes of the data.
    pub schemes: Vec<String>,
    /// What may follow the scheme.
    pub scheme_specific_parts: Vec<Pattern>,
    /// Who may stand in an address.
    pub authorities: Vec<Authority>,
    /// What paths an address may have.
    pub paths: Vec<Pattern>,
    /// MIME types; of `base/*` the base.
    types: Vec<String>,
    has_partial_types: bool,
}

impl Filter {
    /// One that takes no intent with an action yet.
    pub fn new(priority: i32) -> Self {
        Self {
            priority,
            ..Self::default()
        }
    }

    /// Adds a MIME type: `base/sub`, `base/*` or `*/*`.
    ///
    /// # Errors
    ///
    /// [`MalformedMimeType`]
    pub fn add_type(&mut self, kind: &str) -> Result<(), MalformedMimeType> {
        let (base, sub) = kind
            .split_once('/')
            .filter(|(base, sub)| !base.is_empty() && !sub.is_empty())
            .ok_or_else(|| MalformedMimeType(kind.to_owned()))?;
        let is_partial = sub == "*";
        self.has_partial_types |= is_partial;
        let kept = if is_partial { base } else { kind };
        if !self.types.iter().any(|it| it == kept) {
            self.types.push(kept.to_owned());
        }
        Ok(())
    }

    /// Its MIME types; of `base/*` the base.
    pub(crate) fn types(&self) -> &[String] {
        &self.types
    }

    /// Whether it has this category.
    pub fn has_category(&self, category: &str) -> bool {
        self.categories.iter().any(|it| it == category)
    }

    /// How closely an intent matches.
    ///
    /// # Errors
    ///
    /// The first thing that does not: action, data or its type, categories.
    pub fn matches(&self, intent: &Intent) -> Result<Match, Mismatch> {
        if let Some(action) = &intent.action
            && !self.actions.contains(action)
        {
            return Err(Mismatch::Action);
        }
        let found = self.matches_data(intent.kind.as_deref(), intent.data.as_ref())?;
        self.has_categories(&intent.categories)
            .then_some(found)
            .ok_or(Mismatch::Category)
    }

    fn has_categories(&self, asked: &BTreeSet<String>) -> bool {
        asked.iter().all(|it| self.categories.contains(it))
    }

    fn matches_data(&self, kind: Option<&str>, data: Option<&Uri>) -> Result<Match, Mismatch> {
        if self.types.is_empty() && self.schemes.is_empty() {
            let is_bare = kind.is_none() && data.is_none();
            return is_bare.then_some(Match::Empty).ok_or(Mismatch::Data);
        }
        let found = self.matches_address(data)?;
        match kind {
            _ if self.types.is_empty() && kind.is_none() => Ok(found),
            Some(kind) if self.takes_type(kind) => Ok(Match::Type),
            _ => Err(Mismatch::Type),
        }
    }

    fn matches_address(&self, data: Option<&Uri>) -> Result<Match, Mismatch> {
        let scheme = data.and_then(Uri::scheme).unwrap_or_default();
        if self.schemes.is_empty() {
            // A filter that names types alone takes data of providers and files as well.
            let is_usual = ["", "content", "file"].contains(&scheme);
            return is_usual.then_some(Match::Empty).ok_or(Mismatch::Data);
        }
        if !self.schemes.iter().any(|it| it == scheme) {
            return Err(Mismatch::Data);
        }
        let by_part = self.matches_scheme_specific_part(data);
        if by_part == Some(true) {
            return Ok(Match::SchemeSpecificPart);
        }
        if self.authorities.is_empty() {
            let is_open = by_part.is_none();
            return is_open.then_some(Match::Scheme).ok_or(Mismatch::Data);
        }
        let data = data.ok_or(Mismatch::Data)?;
        let mut found = self.authorities.iter().filter_map(|it| it.matches(data));
        let found = found.next().ok_or(Mismatch::Data)?;
        if self.paths.is_empty() {
            return Ok(found);
        }
        let path = data.path().ok_or(Mismatch::Data)?;
        let has_path = self.paths.iter().any(|it| it.matches(&path));
        has_path.then_some(Match::Path).ok_or(Mismatch::Data)
    }

    /// None if it is not asked for, or there is no data.
    fn matches_scheme_specific_part(&self, data: Option<&Uri>) -> Option<bool> {
        if self.scheme_specific_parts.is_empty() {
            return None;
        }
        let part = data?.scheme_specific_part();
        let mut parts = self.scheme_specific_parts.iter();
        Some(parts.any(|it| it.matches(&part)))
    }

    fn takes_type(&self, kind: &str) -> bool {
        let has = |it: &str| self.types.iter().any(|own| own == it);
        if has(kind) || (kind == "*/*" && !self.types.is_empty()) {
            return true;
        }
        let Some((base, sub)) = kind.split_once('/').filter(|(base, _)| !base.is_empty()) else {
            return self.has_partial_types && has("*");
        };
        if self.has_partial_types && (has("*") || has(base)) {
            return true;
        }
        // Any type of that base will do.
        let begins = |it: &String| it.strip_prefix(base).is_some_and(|it| it.starts_with('/'));
        sub == "*" && self.types.iter().any(begins)
    }
}
