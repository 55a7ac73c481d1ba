// SPDX-License-Identifier: Apache-2.0
//! Intents, their filters, and which filter takes which intent, as Android has it.
//!
//! - [`Uri`]: the parts of an address, cut as `android.net.Uri` cuts them.
//! - [`Pattern`]: the patterns of `android.os.PatternMatcher`.
//! - [`Filter`]: `android.content.IntentFilter`, and why it does not match.
//! - [`Resolver`]: all filters that match, the most important first, found by an index.
//!
//! Everything here is a value: no files, clocks or threads. Texts are what the other side sent; the
//! time of each call is linear in them, but for patterns, whose bound stands there.
//!
//! What is not here: groups of MIME types, groups of relative addresses, and extras in filters.

mod filter;
mod intent;
mod pattern;
mod resolver;
mod uri;

pub use filter::{Authority, Filter, MalformedMimeType, Match, Mismatch};
pub use intent::{Component, Intent};
pub use pattern::{Pattern, PatternKind};
pub use resolver::{FilterId, Resolved, Resolver};
pub use uri::Uri;

/// The category that an intent must find in a filter unless it names a component.
pub const CATEGORY_DEFAULT: &str = "android.intent.category.DEFAULT";
