// SPDX-License-Identifier: Apache-2.0
//! [`Requests`] of the stream `sync:`. No file is pushed, pulled or listed here: a client hears so
//! in words, instead of a stream that closes.

/// Of a path with its mode, as `adb` has it.
pub const PATH_MAX: usize = 1024;
const HEAD: usize = 8;

/// What a client asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// What is at a path: asked before each push.
    Stat,
    /// A file comes, or is wanted, or a list of files.
    Files,
    /// There are no more requests.
    Quit,
}

/// Why a stream is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestFault {
    /// None that a client begins with.
    #[error("no request")]
    Name,
    /// Beyond [`PATH_MAX`].
    #[error("{0} bytes are too many for a path")]
    Length(u32),
}

/// Bytes that came, until they are requests. Holds one at most.
#[derive(Debug, Default)]
pub struct Requests {
    head: Vec<u8>,
    /// Bytes of the path that are still to come: nobody reads them.
    left: usize,
}

impl Requests {
    /// Takes bytes off the front, until a request is whole or there are no more.
    ///
    /// # Errors
    ///
    /// [`RequestFault`]
    pub fn take(&mut self, input: &mut &[u8]) -> Result<Option<Request>, RequestFault> {
        if self.head.len() < HEAD {
            let count = (HEAD - self.head.len()).min(input.len());
            let (taken, rest) = input.split_at(count);
            self.head.extend_from_slice(taken);
            *input = rest;
            if self.head.len() < HEAD {
                return Ok(None);
            }
            self.left = self.path_bytes()?;
        }
        let count = self.left.min(input.len());
        *input = &input[count..];
        self.left -= count;
        if self.left > 0 {
            return Ok(None);
        }
        let request = match &self.head[..4] {
            b"STAT" => Request::Stat,
            b"QUIT" => Request::Quit,
            _ => Request::Files,
        };
        self.head.clear();
        Ok(Some(request))
    }

    fn path_bytes(&self) -> Result<usize, RequestFault> {
        let (name, number) = self.head.split_at(4);
        let number = u32::from_le_bytes(number.try_into().expect("four bytes"));
        match name {
            b"STAT" | b"SEND" | b"RECV" | b"LIST" => {}
            b"QUIT" => return Ok(0),
            _ => return Err(RequestFault::Name),
        }
        match number as usize <= PATH_MAX {
            true => Ok(number as usize),
            false => Err(RequestFault::Length(number)),
        }
    }
}

/// The answer to [`Request::Stat`]: nothing is there.
pub fn nothing_there(out: &mut Vec<u8>) {
    out.extend_from_slice(b"STAT");
    // Mode, size, time.
    out.extend_from_slice(&[0; 12]);
}

/// The answer to all else: this reason.
pub fn fail(reason: &str, out: &mut Vec<u8>) {
    let length = u32::try_from(reason.len()).expect("a reason is short");
    out.extend_from_slice(b"FAIL");
    out.extend(length.to_le_bytes());
    out.extend_from_slice(reason.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(name: &[u8; 4], body: &[u8]) -> Vec<u8> {
        let length = (body.len() as u32).to_le_bytes();
        [name.as_slice(), &length, body].concat()
    }

    #[test]
    fn requests_are_found_in_pieces_of_any_size() {
        let bytes = [
            request(b"STAT", b"/data/app.apk"),
            request(b"SEND", &[b'a'; PATH_MAX]),
            request(b"LIST", b""),
            request(b"QUIT", b""),
        ]
        .concat();
        for size in [1, 3, 8, 9, bytes.len()] {
            let (mut requests, mut found) = (Requests::default(), Vec::new());
            for mut piece in bytes.chunks(size) {
                while let Some(request) = requests.take(&mut piece).unwrap() {
                    found.push(request);
                }
                assert!(piece.is_empty());
            }
            let expected = [Request::Stat, Request::Files, Request::Files, Request::Quit];
            assert_eq!(found, expected, "pieces of {size}");
        }
    }

    #[test]
    fn what_is_no_request_is_refused() {
        let refused = |bytes: Vec<u8>| {
            let outcome = Requests::default().take(&mut bytes.as_slice());
            outcome.unwrap_err()
        };
        assert_eq!(refused(request(b"DATA", b"bytes")), RequestFault::Name);
        let long = request(b"STAT", &[0; PATH_MAX + 1]);
        assert_eq!(refused(long), RequestFault::Length(1025));
    }

    #[test]
    fn answers_have_the_lengths_that_adb_reads() {
        let mut out = Vec::new();
        nothing_there(&mut out);
        assert_eq!(out.len(), 16);
        fail("no", &mut out);
        assert_eq!(out[16..], *b"FAIL\x02\0\0\0no");
    }
}
