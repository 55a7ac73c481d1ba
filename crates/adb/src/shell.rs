// SPDX-License-Identifier: Apache-2.0
//! Packets in a stream of the shell, version 2: one byte for the kind, four for the length. What a
//! client sends in such packets is a command's input, and no command here reads any.

const OUTPUT: u8 = 1;
const COMPLAINT: u8 = 2;
const EXIT: u8 = 3;

/// What a command prints.
pub fn output(bytes: &[u8], out: &mut Vec<u8>) {
    packet(OUTPUT, bytes, out);
}

/// What it complains of.
pub fn complaint(bytes: &[u8], out: &mut Vec<u8>) {
    packet(COMPLAINT, bytes, out);
}

/// How it ended.
pub fn exit(code: u8, out: &mut Vec<u8>) {
    packet(EXIT, &[code], out);
}

fn packet(kind: u8, bytes: &[u8], out: &mut Vec<u8>) {
    let length = u32::try_from(bytes.len()).expect("what a command says has a bound");
    out.push(kind);
    out.extend(length.to_le_bytes());
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_have_kind_and_length() {
        let mut out = Vec::new();
        output(b"text", &mut out);
        complaint(b"", &mut out);
        exit(3, &mut out);
        let expected = b"\x01\x04\0\0\0text\x02\0\0\0\0\x03\x01\0\0\0\x03";
        assert_eq!(out, expected);
    }
}
