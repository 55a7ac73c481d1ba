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
    /// Anything else, by its name.
    Other(String),
}

impl Service {
    /// By the name in an OPEN; `None` if that is no text.
    pub fn parse(name: &[u8]) -> Option<Self> {
        let name = name.strip_suffix(b"\0").unwrap_or(name);
        let name = std::str::from_utf8(name).ok()?;
        if name.contains('\0') {
            // Words of abb_exec; we do not offer that.
            return Some(Self::Other(name.replace('\0', " ")));
        }
        if name == "sync:" {
            return Some(Self::Sync);
        }
        let (head, rest) = name.split_once(':').unwrap_or((name, ""));
        let mut words = head.split(',');
        let rest = rest.to_owned();
        Some(match words.next() {
            Some("shell") if words.any(|it| it == "v2") => Self::ShellPackets(rest),
            Some("shell") => Self::Shell(rest),
            Some("exec") => Self::Exec(rest),
            _ => Self::Other(name.to_owned()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_go_by_name() {
        let cases: [(&[u8], Service); 6] = [
            (b"shell:ls -l\0", Service::Shell("ls -l".into())),
            (
                b"shell,v2,TERM=xterm,raw:a:b\0",
                Service::ShellPackets("a:b".into()),
            ),
            (b"exec:cmd package", Service::Exec("cmd package".into())),
            (b"sync:\0", Service::Sync),
            (b"tcp:5555\0", Service::Other("tcp:5555".into())),
            (b"", Service::Other(String::new())),
        ];
        for (name, service) in cases {
            assert_eq!(Service::parse(name), Some(service));
        }
        assert_eq!(Service::parse(b"shell:\xff"), None);
    }
}
