// SPDX-License-Identifier: Apache-2.0
//! The head of a request, and who is let in: [`Request::answer`] says page, WebSocket, or no.

use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest as _, Sha1};

/// Of a request's head: a browser sends one or two thousand bytes.
pub(crate) const HEAD_BYTES_MAX: usize = 8 << 10;
/// The protocol that the page names; after it comes the token.
pub(crate) const PROTOCOL: &str = "takt.rfb";
/// Added to a WebSocket's key, by RFC 6455.
const KEY_SUFFIX: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const PAGE: &str = include_str!("page/index.html");
const SCRIPT: &str = include_str!("page/screen.js");
/// The page takes what this server gives, and no other page shows it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; \
connect-src 'self'; img-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// A request, as its head says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Request {
    path: String,
    host: String,
    origin: Option<String>,
    key: Option<String>,
    version: Option<String>,
    protocols: Vec<String>,
}

/// What is answered.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// These bytes, and that is all.
    Bytes(Vec<u8>),
    /// These bytes, and RFB follows.
    Socket(Vec<u8>),
}

impl Request {
    /// Reads a head, without the empty line; none if it is none.
    pub(crate) fn parse(head: &[u8]) -> Option<Self> {
        let text = core::str::from_utf8(head).ok()?;
        let mut lines = text.split("\r\n");
        let mut words = lines.next()?.split(' ');
        let (method, path, version) = (words.next()?, words.next()?, words.next()?);
        if method != "GET" || version != "HTTP/1.1" || words.next().is_some() {
            return None;
        }
        let mut request = Self {
            path: path.to_owned(),
            ..Self::default()
        };
        for line in lines {
            let (name, value) = line.split_once(':')?;
            let value = value.trim().to_owned();
            match name.to_ascii_lowercase().as_str() {
                // Two of them would be read differently by different readers.
                "host" if !request.host.is_empty() => return None,
                "host" => request.host = value,
                "origin" => request.origin = Some(value),
                "sec-websocket-key" => request.key = Some(value),
                "sec-websocket-version" => request.version = Some(value),
                "sec-websocket-protocol" => {
                    let names = value.split(',').map(|it| it.trim().to_owned());
                    request.protocols.extend(names);
                }
                _ => {}
            }
        }
        Some(request)
    }

    /// Who is let in where.
    pub(crate) fn answer(&self, token: &str) -> Answer {
        if !is_address(&self.host) {
            return refusal("403 Forbidden", "ask by address or as localhost");
        }
        match self.path.as_str() {
            "/" => Answer::Bytes(file("text/html; charset=utf-8", PAGE)),
            "/screen.js" => Answer::Bytes(file("text/javascript; charset=utf-8", SCRIPT)),
            "/rfb" => self.socket(token),
            _ => refusal("404 Not Found", "there is no such page"),
        }
    }

    fn socket(&self, token: &str) -> Answer {
        let (Some(key), Some("13")) = (&self.key, self.version.as_deref()) else {
            return refusal("426 Upgrade Required", "a WebSocket is wanted");
        };
        let own = format!("http://{}", self.host);
        if self.origin.as_deref() != Some(own.as_str()) {
            return refusal("403 Forbidden", "another page asks");
        }
        let [protocol, given] = &self.protocols[..] else {
            return refusal("403 Forbidden", "no token");
        };
        if protocol != PROTOCOL || !is_same(given, token) {
            return refusal("403 Forbidden", "another token");
        }
        let accept = STANDARD.encode(Sha1::digest(format!("{key}{KEY_SUFFIX}")));
        let head = format!(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Accept: {accept}\r\nSec-WebSocket-Protocol: {PROTOCOL}\r\n\r\n"
        );
        Answer::Socket(head.into_bytes())
    }
}

/// Is a host an address or localhost? A name of another's could be made to lead here.
fn is_address(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name == "localhost" || name.parse::<IpAddr>().is_ok()
}

/// In a time that does not depend on where they differ.
fn is_same(given: &str, token: &str) -> bool {
    let pairs = given.bytes().zip(token.bytes());
    given.len() == token.len() && pairs.fold(0, |all, (one, other)| all | (one ^ other)) == 0
}

fn file(kind: &str, text: &str) -> Vec<u8> {
    page("200 OK", kind, text)
}

fn refusal(status: &str, text: &str) -> Answer {
    Answer::Bytes(page(status, "text/plain; charset=utf-8", text))
}

fn page(status: &str, kind: &str, text: &str) -> Vec<u8> {
    let size = text.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {size}\r\n\
         Content-Security-Policy: {POLICY}\r\nX-Content-Type-Options: nosniff\r\n\
         Referrer-Policy: no-referrer\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n"
    );
    [head.as_bytes(), text.as_bytes()].concat()
}

/// What is answered to what is no request.
pub(crate) fn bad_request() -> Vec<u8> {
    page("400 Bad Request", "text/plain; charset=utf-8", "no request")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef";

    fn status(head: &str) -> String {
        let Some(request) = Request::parse(head.as_bytes()) else {
            return "none".to_owned();
        };
        let (Answer::Bytes(bytes) | Answer::Socket(bytes)) = request.answer(TOKEN);
        let text = String::from_utf8(bytes).unwrap();
        text.split(' ').nth(1).unwrap().to_owned()
    }

    fn socket(host: &str, origin: &str, protocols: &str) -> String {
        status(&format!(
            "GET /rfb HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Protocol: {protocols}"
        ))
    }

    #[test]
    fn only_our_own_page_with_the_token_gets_a_socket() {
        let (host, origin) = ("127.0.0.1:5", "http://127.0.0.1:5");
        let good = format!("{PROTOCOL}, {TOKEN}");
        assert_eq!(socket(host, origin, &good), "101");
        assert_eq!(socket("[::1]:5", "http://[::1]:5", &good), "101");
        assert_eq!(socket("localhost:5", "http://localhost:5", &good), "101");
        assert_eq!(socket(host, "http://127.0.0.1:6", &good), "403");
        assert_eq!(socket(host, "null", &good), "403");
        assert_eq!(
            socket("evil.example:5", "http://evil.example:5", &good),
            "403"
        );
        assert_eq!(socket("127.0.0.1.evil.example", origin, &good), "403");
        assert_eq!(socket(host, origin, PROTOCOL), "403");
        assert_eq!(
            socket(host, origin, &format!("{PROTOCOL}, 0123456789abcdee")),
            "403"
        );
        assert_eq!(
            socket(host, origin, &format!("{PROTOCOL}, {TOKEN}0")),
            "403"
        );
        assert_eq!(socket(host, origin, &format!("{PROTOCOL}, ")), "403");
        assert_eq!(socket(host, origin, &format!("rfb, {TOKEN}")), "403");
    }

    #[test]
    fn what_is_no_request_gets_nothing() {
        assert_eq!(status("GET / HTTP/1.1\r\nHost: localhost"), "200");
        assert_eq!(
            status("GET /screen.js HTTP/1.1\r\nHost: localhost:1"),
            "200"
        );
        assert_eq!(status("GET /rfb HTTP/1.1\r\nHost: localhost:1"), "426");
        assert_eq!(status("GET /../a HTTP/1.1\r\nHost: localhost"), "404");
        assert_eq!(status("GET / HTTP/1.1"), "403");
        assert_eq!(status("POST / HTTP/1.1\r\nHost: localhost"), "none");
        assert_eq!(
            status("GET / HTTP/1.1\r\nHost: localhost\r\nHost: other"),
            "none"
        );
        assert_eq!(status("GET / HTTP/1.1\r\nno header"), "none");
        assert_eq!(status(""), "none");
    }

    #[test]
    fn the_key_is_answered_as_the_standard_has_it() {
        let request = Request {
            path: "/rfb".to_owned(),
            host: "localhost".to_owned(),
            origin: Some("http://localhost".to_owned()),
            key: Some("dGhlIHNhbXBsZSBub25jZQ==".to_owned()),
            version: Some("13".to_owned()),
            protocols: vec![PROTOCOL.to_owned(), TOKEN.to_owned()],
        };
        let Answer::Socket(head) = request.answer(TOKEN) else {
            panic!("let in");
        };
        let head = String::from_utf8(head).unwrap();
        assert!(head.contains("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"));
    }
}
