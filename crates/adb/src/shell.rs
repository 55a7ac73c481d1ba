// SPDX-License-Identifier: Apache-2.0
//! Packets in a stream of the shell, version 2: one byte for the kind, four for the length.

/// What of a packet may come from a client at once; `adb` sends 4 KiB.
pub const PACKET_MAX: usize = 64 << 10;
const HEAD: usize = 5;

/// What a packet is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Packet {
    /// For the command's input.
    Input(Vec<u8>),
    /// Of the command's output.
    Output(Vec<u8>),
    /// Of the command's complaints.
    Complaint(Vec<u8>),
    /// How the command ended.
    Exit(u8),
    /// There is no more input.
    InputEnds,
    /// The window's size as text; of no use to a command without a terminal.
    Window(Vec<u8>),
}

/// Why a stream is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PacketFault {
    /// None of the six.
    #[error("no packet is of kind {0}")]
    Kind(u8),
    /// More than [`PACKET_MAX`].
    #[error("a packet of {0} bytes; {PACKET_MAX} are the limit")]
    Length(u32),
    /// An end without a number.
    #[error("an exit code is one byte")]
    Exit,
}

impl Packet {
    /// Adds its bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let (kind, bytes): (u8, &[u8]) = match self {
            Self::Input(bytes) => (0, bytes),
            Self::Output(bytes) => (1, bytes),
            Self::Complaint(bytes) => (2, bytes),
            Self::Exit(code) => (3, std::slice::from_ref(code)),
            Self::InputEnds => (4, &[]),
            Self::Window(bytes) => (5, bytes),
        };
        out.push(kind);
        out.extend((bytes.len() as u32).to_le_bytes());
        out.extend_from_slice(bytes);
    }

    /// Takes one off the front of `bytes`, if it is whole.
    pub fn take(bytes: &mut Vec<u8>) -> Result<Option<Self>, PacketFault> {
        let Some(head) = bytes.first_chunk::<HEAD>() else {
            return Ok(None);
        };
        let [kind, a, b, c, d] = *head;
        let length = u32::from_le_bytes([a, b, c, d]);
        if kind > 5 {
            return Err(PacketFault::Kind(kind));
        }
        if length as usize > PACKET_MAX {
            return Err(PacketFault::Length(length));
        }
        let end = HEAD + length as usize;
        if bytes.len() < end {
            return Ok(None);
        }
        let body = bytes[HEAD..end].to_vec();
        bytes.drain(..end);
        Ok(Some(match kind {
            0 => Self::Input(body),
            1 => Self::Output(body),
            2 => Self::Complaint(body),
            3 => match *body {
                [code] => Self::Exit(code),
                _ => return Err(PacketFault::Exit),
            },
            4 => Self::InputEnds,
            _ => Self::Window(body),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_taken_as_they_are_given() {
        let all = [
            Packet::Input(b"text".to_vec()),
            Packet::Output(vec![0; PACKET_MAX]),
            Packet::Complaint(Vec::new()),
            Packet::Exit(3),
            Packet::InputEnds,
            Packet::Window(b"24x80,0x0\0".to_vec()),
        ];
        let mut bytes = Vec::new();
        all.iter().for_each(|it| it.encode(&mut bytes));
        for expected in all {
            assert_eq!(Packet::take(&mut bytes), Ok(Some(expected)));
        }
        assert_eq!(Packet::take(&mut bytes), Ok(None));
        let refused = |bytes: &[u8]| Packet::take(&mut bytes.to_vec()).unwrap_err();
        assert_eq!(refused(&[6, 0, 0, 0, 0]), PacketFault::Kind(6));
        assert_eq!(refused(&[0, 1, 0, 1, 0]), PacketFault::Length(65537));
        assert_eq!(refused(&[3, 0, 0, 0, 0]), PacketFault::Exit);
    }
}
