// SPDX-License-Identifier: Apache-2.0
//! [`Address`]: what a content provider calls a piece of its data.

use intent::Uri;

/// Bytes of one.
pub const ADDRESS_BYTES_MAX: usize = 2_048;

/// `content://authority/path`, without the user of Android's that it may name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    text: String,
    authority: String,
    segments: Vec<String>,
}

impl Address {
    /// None of what is no address of content, or longer than [`ADDRESS_BYTES_MAX`].
    pub fn new(text: &str) -> Option<Self> {
        if text.len() > ADDRESS_BYTES_MAX {
            return None;
        }
        let uri = Uri::new(text);
        let whole = uri
            .authority()
            .filter(|_| uri.scheme() == Some("content"))?;
        // There is one user.
        let authority = whole.rsplit_once('@').map_or(whole, |(_, it)| it);
        let start = text.find(whole)?;
        let rest = &text[start + whole.len()..];
        Some(Self {
            text: format!("content://{authority}{rest}"),
            authority: authority.to_owned(),
            segments: uri.segments(),
        })
    }

    /// As it is written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Who provides it.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// What stands between the path's slashes; decoded.
    pub fn segments(&self) -> &[String] {
        &self.segments
    }

    /// Its path, as `Uri.getPath` has it.
    pub fn path(&self) -> String {
        Uri::new(self.text.as_str()).path().unwrap_or_default()
    }

    /// Does its path begin with another's, segment by segment?
    pub fn begins_with(&self, other: &Self) -> bool {
        self.authority == other.authority && self.segments.starts_with(&other.segments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_authority_is_cut_from_its_address() {
        for (text, expected) in [
            ("content://p.q/rows/1", Some("p.q")),
            ("content://0@p.q", Some("p.q")),
            ("content://p.q?x=a/b@c", Some("p.q")),
            ("content:p.q", None),
            ("http://p.q/rows", None),
            ("rows", None),
        ] {
            let found = Address::new(text);
            assert_eq!(found.as_ref().map(Address::authority), expected, "{text}");
        }
        let long = format!("content://p/{}", "x".repeat(ADDRESS_BYTES_MAX));
        assert_eq!(Address::new(&long), None);
    }

    #[test]
    fn its_user_is_left_out_and_its_path_is_decoded() {
        let it = Address::new("content://0@p.q/a%20b//c?d").expect("an address");
        assert_eq!(it.text(), "content://p.q/a%20b//c?d");
        assert_eq!(it.segments(), ["a b", "c"]);
        assert_eq!(it.path(), "/a b//c");
    }

    #[test]
    fn a_prefix_ends_where_a_segment_does() {
        let at = |path: &str| Address::new(&format!("content://p{path}")).expect("an address");
        assert!(at("/a/b").begins_with(&at("/a/")));
        assert!(at("/a/b").begins_with(&at("")));
        assert!(!at("/ab").begins_with(&at("/a")));
        let other = Address::new("content://q/a/b").expect("an address");
        assert!(!other.begins_with(&at("/a")));
    }
}
