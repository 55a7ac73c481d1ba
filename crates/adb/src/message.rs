// SPDX-License-Identifier: Apache-2.0
//! [`Message`]: a header of six words and a payload, and [`Decoder`], which finds them in bytes.

/// Command, two arguments, length and sum of the payload, the command's complement.
pub const HEADER_BYTES: usize = 24;

/// What we take and say so in our CNXN: what `adb` of 2015 and later sends at most by TCP.
pub const PAYLOAD_MAX: usize = 256 << 10;

/// What we take of who is not known yet: a greeting, a signature, a key. Android's `adbd` has the
/// same bound.
pub const STRANGER_MAX: usize = 4 << 10;

/// From this version on nobody looks at sums.
pub(crate) const VERSION_WITHOUT_SUMS: u32 = 0x0100_0001;

/// What a message is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// First of both sides: version, room for a payload, who it is.
    Connect,
    /// Kind of what follows; a token, a signature or a key.
    Authenticate,
    /// Opens a stream to a service.
    Open,
    /// Ready for the next write.
    Okay,
    /// Bytes of a stream.
    Write,
    /// The stream is closed.
    Close,
}

impl Command {
    const ALL: [(Self, [u8; 4]); 6] = [
        (Self::Connect, *b"CNXN"),
        (Self::Authenticate, *b"AUTH"),
        (Self::Open, *b"OPEN"),
        (Self::Okay, *b"OKAY"),
        (Self::Write, *b"WRTE"),
        (Self::Close, *b"CLSE"),
    ];

    fn word(self) -> u32 {
        let of = |(command, name): (Self, [u8; 4])| (command == self).then_some(name);
        let name = Self::ALL.into_iter().find_map(of);
        u32::from_le_bytes(name.expect("all are in the list"))
    }

    fn of_word(word: u32) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find_map(|(command, name)| (u32::from_le_bytes(name) == word).then_some(command))
    }
}

/// Why a connection ends.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The first word is none of the six, or the sixth is not its complement. TLS is not spoken.
    #[error("no command: {0:#010x}")]
    Command(u32),
    /// More than [`PAYLOAD_MAX`], or than [`STRANGER_MAX`] of who is not known yet.
    #[error("a payload of {0} bytes; {1} are the limit")]
    Length(u32, usize),
    /// More in all than who is not known yet may say.
    #[error("too many bytes of who is not known")]
    Stranger,
    /// The payload's bytes do not sum up to what the header says.
    #[error("the payload's sum is wrong")]
    Sum,
    /// A command that does not belong here: before the client is known, or not from a client.
    #[error("{0:?} is out of place")]
    OutOfPlace(Command),
    /// The client could not show a key that is known here.
    #[error("the client has no key that is known here")]
    Unknown,
    /// A second stream of a number, or one that has none.
    #[error("stream {0} is open already, or no number")]
    Number(u32),
    /// A connection has opened as many streams as there are numbers.
    #[error("there are no more streams")]
    Streams,
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// What it is for.
    pub command: Command,
    /// The sender's number of the stream, or as the command has it.
    pub first: u32,
    /// The receiver's number of the stream, or as the command has it.
    pub second: u32,
    /// At most [`PAYLOAD_MAX`] bytes.
    pub payload: Vec<u8>,
}

impl Message {
    /// Adds its bytes. The sum is always given: older clients want it.
    pub fn encode(&self, out: &mut Vec<u8>) {
        assert!(self.payload.len() <= PAYLOAD_MAX);
        let command = self.command.word();
        let words = [
            command,
            self.first,
            self.second,
            self.payload.len() as u32,
            sum(&self.payload),
            !command,
        ];
        out.extend(words.iter().flat_map(|it| it.to_le_bytes()));
        out.extend_from_slice(&self.payload);
    }
}

fn sum(bytes: &[u8]) -> u32 {
    let add = |sum: u32, byte: &u8| sum.wrapping_add(u32::from(*byte));
    bytes.iter().fold(0, add)
}

/// Bytes that came, until they are messages. Holds one message at most.
#[derive(Debug)]
pub struct Decoder {
    bytes: Vec<u8>,
    has_sums: bool,
    payload_max: usize,
}

impl Default for Decoder {
    /// Sums are looked at until [`Self::ignore_sums`], and payloads are a stranger's until
    /// [`Self::trust`].
    fn default() -> Self {
        Self {
            bytes: Vec::new(),
            has_sums: true,
            payload_max: STRANGER_MAX,
        }
    }
}

impl Decoder {
    /// Payloads may have [`PAYLOAD_MAX`] from now on.
    pub fn trust(&mut self) {
        self.payload_max = PAYLOAD_MAX;
    }

    /// Bytes that wait for the rest of their message.
    pub fn waiting(&self) -> usize {
        self.bytes.len()
    }

    /// Both sides speak a version that has none.
    pub fn ignore_sums(&mut self) {
        self.has_sums = false;
    }

    /// Takes bytes off the front, until a message is whole or there are no more.
    ///
    /// # Errors
    ///
    /// [`Fault`]: nothing of the connection can be understood from here on.
    pub fn take(&mut self, input: &mut &[u8]) -> Result<Option<Message>, Fault> {
        if !self.fill(HEADER_BYTES, input) {
            return Ok(None);
        }
        let word = |index: usize| {
            let bytes = &self.bytes[index * 4..index * 4 + 4];
            u32::from_le_bytes(bytes.try_into().expect("four bytes"))
        };
        let command = Command::of_word(word(0)).filter(|_| word(5) == !word(0));
        let command = command.ok_or(Fault::Command(word(0)))?;
        let (first, second, length, expected) = (word(1), word(2), word(3), word(4));
        if length as usize > self.payload_max {
            return Err(Fault::Length(length, self.payload_max));
        }
        if !self.fill(HEADER_BYTES + length as usize, input) {
            return Ok(None);
        }
        let payload = self.bytes.split_off(HEADER_BYTES);
        self.bytes.clear();
        if self.has_sums && sum(&payload) != expected {
            return Err(Fault::Sum);
        }
        Ok(Some(Message {
            command,
            first,
            second,
            payload,
        }))
    }

    /// Whether so many bytes are there.
    fn fill(&mut self, count: usize, input: &mut &[u8]) -> bool {
        let missing = count.saturating_sub(self.bytes.len()).min(input.len());
        let (taken, rest) = input.split_at(missing);
        self.bytes.extend_from_slice(taken);
        *input = rest;
        self.bytes.len() >= count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(payload: &[u8]) -> Message {
        Message {
            command: Command::Write,
            first: 7,
            second: 9,
            payload: payload.to_vec(),
        }
    }

    #[test]
    fn messages_are_found_in_pieces_of_any_size() {
        let all = [message(b""), message(b"some text"), message(&[255; 1000])];
        let mut bytes = Vec::new();
        all.iter().for_each(|it| it.encode(&mut bytes));
        for size in [1, 2, 23, 24, 25, 1024, bytes.len()] {
            let mut decoder = Decoder::default();
            let mut found = Vec::new();
            for mut piece in bytes.chunks(size) {
                while let Some(message) = decoder.take(&mut piece).unwrap() {
                    found.push(message);
                }
                assert!(piece.is_empty());
            }
            assert_eq!(found, all, "pieces of {size}");
        }
    }

    #[test]
    fn what_breaks_the_form_is_a_fault() {
        let mut good = Vec::new();
        message(b"text").encode(&mut good);
        let fault = |at: usize, value: u8| {
            let mut bytes = good.clone();
            bytes[at] = value;
            Decoder::default().take(&mut bytes.as_slice())
        };
        assert!(matches!(fault(0, b'X'), Err(Fault::Command(_))));
        assert!(matches!(fault(20, 0), Err(Fault::Command(_))));
        assert!(matches!(fault(15, 1), Err(Fault::Length(_, STRANGER_MAX))));
        assert_eq!(fault(13, 0x10), Err(Fault::Length(0x1004, STRANGER_MAX)));
        assert_eq!(fault(24, b'X'), Err(Fault::Sum));
        let mut bytes = good;
        bytes[24] = b'X';
        let mut decoder = Decoder::default();
        decoder.ignore_sums();
        assert!(decoder.take(&mut bytes.as_slice()).unwrap().is_some());
    }
}
