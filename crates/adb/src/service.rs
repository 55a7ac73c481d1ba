// SPDX-License-Identifier: Apache-2.0
//! [`Service`]: what a stream is opened to, by its name.

/// What a client asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Service {
    /// A command, its output as it comes.
    Shell(String),
    /// A command in packets of [`crate::shell`]: streams apart, and how it ended.
    ShellPackets(String),
    /// A command whose input is bytes alone: `package install -S N`.
    Exec(String),
    /// Files, in requests of [`crate::sync`].
    Sync,
}

impl Service {
    /// By the name in an OPEN; `None` for any other: ports, restarts, words of `abb_exec`.
    pub fn parse(name: &[u8]) -> Option<Self> {
        let name = name.strip_suffix(b"\0").unwrap_or(name);
        let name = std::str::from_utf8(name).ok()?;
        if name.contains('\0') {
            return None;
        }
        if name == "sync:" {
            return Some(Self::Sync);
        }
        let (head, rest) = name.split_once(':')?;
        let mut words = head.split(',');
        let rest = rest.to_owned();
        match words.next() {
            Some("shell") if words.any(|it| it == "v2") => Some(Self::ShellPackets(rest)),
            Some("shell") => Some(Self::Shell(rest)),
            Some("exec") => Some(Self::Exec(rest)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_go_by_name() {
        let cases: [(&[u8], Service); 4] = [
            (b"shell:ls -l\0", Service::Shell("ls -l".into())),
            (
                b"shell,v2,TERM=xterm,raw:a:b\0",
                Service::ShellPackets("a:b".into()),
            ),
            (b"exec:cmd package", Service::Exec("cmd package".into())),
            (b"sync:\0", Service::Sync),
        ];
        for (name, service) in cases {
            assert_eq!(Service::parse(name), Some(service));
        }
        let others: [&[u8]; 7] = [
            b"shell:\xff",
            b"",
            b"shell",
            b"tcp:5555\0",
            b"root:\0",
            b"jdwp:1\0",
            b"exec:a\0b",
        ];
        for name in others {
            assert_eq!(Service::parse(name), None);
        }
    }
}
