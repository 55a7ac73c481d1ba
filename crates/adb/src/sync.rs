// SPDX-License-Identifier: Apache-2.0
//! Requests in the stream `sync:`: a file is pushed. Files are neither listed nor given out.

/// Of a path with its mode.
pub const PATH_MAX: usize = 1024;
/// Of a piece of a file, as `adb` has it.
pub const DATA_MAX: usize = 64 << 10;
const HEAD: usize = 8;

/// What a client asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// What is at this path, in one of three forms.
    Stat(StatForm, String),
    /// A file begins: where it goes, and its mode.
    Send(String, u32),
    /// A piece of it.
    Data(Vec<u8>),
    /// It ends; when it was changed.
    Done(u32),
    /// There are no more requests.
    Quit,
}

/// Which answer a client wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatForm {
    /// Three words.
    First,
    /// Of what a link leads to.
    Second,
    /// Of a link itself.
    SecondOfLink,
}

/// Why a stream is closed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestFault {
    /// Nothing that is offered here: lists, files to the client, compressed files.
    #[error("'{0}' is not offered")]
    Name(String),
    /// Beyond [`PATH_MAX`] or [`DATA_MAX`].
    #[error("{0} bytes are too many")]
    Length(u32),
    /// A path that is no text, or a mode that is no number.
    #[error("not a path with a mode")]
    Path,
}

impl Request {
    /// Takes one off the front of `bytes`, if it is whole.
    pub fn take(bytes: &mut Vec<u8>) -> Result<Option<Self>, RequestFault> {
        let Some(head) = bytes.first_chunk::<HEAD>() else {
            return Ok(None);
        };
        let (name, number) = head.split_at(4);
        let number = u32::from_le_bytes(number.try_into().expect("four bytes"));
        let limit = match name {
            b"STAT" | b"STA2" | b"LST2" | b"SEND" => PATH_MAX,
            b"DATA" => DATA_MAX,
            // Their number is no length.
            b"DONE" => {
                bytes.drain(..HEAD);
                return Ok(Some(Self::Done(number)));
            }
            b"QUIT" => {
                bytes.drain(..HEAD);
                return Ok(Some(Self::Quit));
            }
            other => {
                let name = String::from_utf8_lossy(other).into_owned();
                return Err(RequestFault::Name(name));
            }
        };
        if number as usize > limit {
            return Err(RequestFault::Length(number));
        }
        let end = HEAD + number as usize;
        if bytes.len() < end {
            return Ok(None);
        }
        let name: [u8; 4] = name.try_into().expect("four bytes");
        let body = bytes[HEAD..end].to_vec();
        bytes.drain(..end);
        let text = |body: Vec<u8>| String::from_utf8(body).map_err(|_| RequestFault::Path);
        Ok(Some(match &name {
            b"STAT" => Self::Stat(StatForm::First, text(body)?),
            b"STA2" => Self::Stat(StatForm::Second, text(body)?),
            b"LST2" => Self::Stat(StatForm::SecondOfLink, text(body)?),
            b"DATA" => Self::Data(body),
            _ => {
                let text = text(body)?;
                let (path, mode) = text.rsplit_once(',').ok_or(RequestFault::Path)?;
                let mode = mode.parse().map_err(|_| RequestFault::Path)?;
                Self::Send(path.to_owned(), mode)
            }
        }))
    }
}

/// What is at a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// As the kernel has it; 0: nothing is there.
    pub mode: u32,
    /// In bytes.
    pub size: u64,
    /// In seconds since 1970.
    pub modified: u64,
}

/// The file is there.
pub fn okay(out: &mut Vec<u8>) {
    out.extend_from_slice(b"OKAY\0\0\0\0");
}

/// It is not, for this reason.
pub fn fail(reason: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"FAIL");
    out.extend((reason.len() as u32).to_le_bytes());
    out.extend_from_slice(reason.as_bytes());
}

/// The answer to [`Request::Stat`].
pub fn stat(form: StatForm, found: Stat, out: &mut Vec<u8>) {
    const NOTHING_THERE: u32 = 2;
    let word = |it: u32| it.to_le_bytes();
    match form {
        StatForm::First => {
            out.extend_from_slice(b"STAT");
            let size = u32::try_from(found.size).unwrap_or(u32::MAX);
            let modified = u32::try_from(found.modified).unwrap_or(u32::MAX);
            out.extend([found.mode, size, modified].iter().flat_map(|it| word(*it)));
        }
        StatForm::Second | StatForm::SecondOfLink => {
            out.extend_from_slice(match form {
                StatForm::SecondOfLink => b"LST2",
                _ => b"STA2",
            });
            let error = if found.mode == 0 { NOTHING_THERE } else { 0 };
            out.extend(word(error));
            // Device and file number: of no meaning to who is elsewhere.
            out.extend_from_slice(&[0; 16]);
            // Mode, links, user, group.
            out.extend([found.mode, 1, 0, 0].iter().flat_map(|it| word(*it)));
            let times = [found.size, found.modified, found.modified, found.modified];
            out.extend(times.iter().flat_map(|it| it.to_le_bytes()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(name: &[u8; 4], body: &[u8]) -> Vec<u8> {
        let length = (body.len() as u32).to_le_bytes();
        [name.as_slice(), &length, body].concat()
    }

    #[test]
    fn a_push_is_four_requests() {
        let mut bytes = [
            request(b"STA2", b"/data/app.apk"),
            request(b"SEND", b"/data/a,b.apk,33188"),
            request(b"DATA", b"some bytes"),
            [b"DONE".as_slice(), &7_u32.to_le_bytes()].concat(),
            request(b"QUIT", b""),
        ]
        .concat();
        let mut next = || Request::take(&mut bytes).unwrap();
        let path = "/data/app.apk".to_owned();
        assert_eq!(next(), Some(Request::Stat(StatForm::Second, path)));
        assert_eq!(next(), Some(Request::Send("/data/a,b.apk".to_owned(), 33188)));
        assert_eq!(next(), Some(Request::Data(b"some bytes".to_vec())));
        assert_eq!(next(), Some(Request::Done(7)));
        assert_eq!(next(), Some(Request::Quit));
        assert_eq!(next(), None);
    }

    #[test]
    fn what_is_not_offered_is_refused() {
        let refused = |mut bytes: Vec<u8>| Request::take(&mut bytes).unwrap_err();
        let fault = refused(request(b"RECV", b"/etc/shadow"));
        assert_eq!(fault, RequestFault::Name("RECV".to_owned()));
        assert_eq!(refused(request(b"SEND", b"/no/mode")), RequestFault::Path);
        assert_eq!(refused(request(b"SEND", b"/a,x")), RequestFault::Path);
        assert_eq!(refused(request(b"STAT", b"\xff")), RequestFault::Path);
        let long = request(b"DATA", &vec![0; DATA_MAX + 1]);
        assert_eq!(refused(long), RequestFault::Length(65537));
    }

    #[test]
    fn answers_have_the_lengths_that_adb_reads() {
        let length = |form| {
            let mut out = Vec::new();
            stat(form, Stat::default(), &mut out);
            out.len()
        };
        assert_eq!(length(StatForm::First), 16);
        assert_eq!(length(StatForm::Second), 72);
    }
}
