// SPDX-License-Identifier: Apache-2.0
//! Addresses as `android.net.Uri` cuts them: leniently, and nothing is refused.

/// An address as it was written. Its parts are found anew each time, as most are never looked at.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Uri(String);

impl Uri {
    /// Any text is one.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What stands before the first colon.
    pub fn scheme(&self) -> Option<&str> {
        self.0.split_once(':').map(|(scheme, _)| scheme)
    }

    /// What stands after the first colon, without the fragment; decoded.
    pub fn scheme_specific_part(&self) -> String {
        decode(self.rest().split('#').next().unwrap_or_default())
    }

    /// What stands after the first colon, or all without one.
    fn rest(&self) -> &str {
        self.0.split_once(':').map_or(&*self.0, |(_, rest)| rest)
    }

    /// What stands between `//` and the path, as it is written.
    pub fn authority(&self) -> Option<&str> {
        let rest = self.rest().strip_prefix("//")?;
        rest.split(['/', '\\', '?', '#']).next()
    }

    /// The authority without user and port; decoded.
    pub fn host(&self) -> Option<String> {
        let authority = self.authority()?;
        let host = authority.rsplit_once('@').map_or(authority, |it| it.1);
        let end = port_separator(host).unwrap_or(host.len());
        Some(decode(&host[..end]))
    }

    /// The authority's port, if it is a number.
    pub fn port(&self) -> Option<i32> {
        let authority = self.authority()?;
        let port = &authority[port_separator(authority)? + 1..];
        port.parse().ok()
    }

    /// The path; decoded. None if what follows the scheme does not begin with a slash.
    pub fn path(&self) -> Option<String> {
        self.written_path().map(decode)
    }

    /// What stands between the path's slashes, without what is empty; each decoded.
    pub fn segments(&self) -> Vec<String> {
        let all = self.written_path().unwrap_or_default().split('/');
        all.filter(|it| !it.is_empty()).map(decode).collect()
    }

    fn written_path(&self) -> Option<&str> {
        let rest = self.rest();
        let has_scheme = rest.len() != self.0.len();
        if has_scheme && !rest.starts_with('/') {
            return None;
        }
        let path = match rest.strip_prefix("//") {
            Some(after) => {
                let start = after.find(['/', '\\', '?', '#']).unwrap_or(after.len());
                &after[start..]
            }
            None => rest,
        };
        path.split(['?', '#']).next()
    }
}

/// Where the colon stands that only digits follow.
fn port_separator(authority: &str) -> Option<usize> {
    let digits = authority
        .bytes()
        .rev()
        .take_while(u8::is_ascii_digit)
        .count();
    let before = authority.len() - digits;
    (authority[..before].ends_with(':')).then(|| before - 1)
}

/// Replaces each escape by its byte. What gives no UTF-8 becomes U+FFFD, and so does what is no
/// escape, with the byte of the digits that it has.
fn decode(text: &str) -> String {
    if !text.contains('%') {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    // Bytes of escapes that follow each other: they may make up one character.
    let mut bytes = Vec::new();
    let flush = |out: &mut String, bytes: &mut Vec<u8>| {
        out.push_str(&String::from_utf8_lossy(bytes));
        bytes.clear();
    };
    let mut rest = text.chars();
    while let Some(next) = rest.next() {
        if next != '%' {
            flush(&mut out, &mut bytes);
            out.push(next);
            continue;
        }
        let mut byte = 0;
        for _ in 0..2 {
            let digit = rest.next().map(|it| it.to_digit(16));
            if let Some(Some(digit)) = digit {
                byte = byte * 16 + digit as u8;
                continue;
            }
            flush(&mut out, &mut bytes);
            out.push(char::REPLACEMENT_CHARACTER);
            if digit.is_none() {
                return out;
            }
            break;
        }
        // Android keeps the byte of an escape that is none, too.
        bytes.push(byte);
    }
    flush(&mut out, &mut bytes);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_where_android_has_them() {
        let uri = Uri::new("http://me@host.example:8080/a%20b/c?q=/x#f");
        assert_eq!(uri.scheme(), Some("http"));
        assert_eq!(uri.host().as_deref(), Some("host.example"));
        assert_eq!(uri.port(), Some(8080));
        assert_eq!(uri.path().as_deref(), Some("/a b/c"));
        assert_eq!(
            uri.scheme_specific_part(),
            "//me@host.example:8080/a b/c?q=/x"
        );
    }

    #[test]
    fn what_has_no_such_part_says_so() {
        let opaque = Uri::new("mailto:a@b.example");
        assert_eq!((opaque.host(), opaque.path()), (None, None));
        let relative = Uri::new("a/b?c");
        assert_eq!(relative.scheme(), None);
        assert_eq!(relative.path().as_deref(), Some("a/b"));
        let bare = Uri::new("http://host");
        assert_eq!((bare.port(), bare.path().as_deref()), (None, Some("")));
    }
}
