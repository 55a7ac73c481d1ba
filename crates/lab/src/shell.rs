// SPDX-License-Identifier: Apache-2.0
//! Words for the guest's shell.

/// Quotes bytes so that a POSIX shell reads them as one word, whatever they hold (but NUL, which no
/// argument can).
pub(crate) fn quote(word: &[u8]) -> Vec<u8> {
    let mut quoted = vec![b'\''];
    for &byte in word {
        if byte == b'\'' {
            quoted.extend_from_slice(b"'\\''");
        } else {
            quoted.push(byte);
        }
    }
    quoted.push(b'\'');
    quoted
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;
    use std::process::Command;

    use super::*;

    #[test]
    fn a_shell_reads_back_every_byte() {
        let every: Vec<u8> = (1..=255).chain(*b"''\\'$(x)`y` \n").collect();
        let mut script = b"printf %s ".to_vec();
        script.extend(quote(&every));
        let output = Command::new("sh")
            .arg("-c")
            .arg(std::ffi::OsStr::from_bytes(&script))
            .output()
            .unwrap();
        assert_eq!(output.stdout, every);
    }
}
