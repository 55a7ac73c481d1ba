// SPDX-License-Identifier: Apache-2.0
//! Sizes on the command line.

use anyhow::{Context, Result, bail};

/// MiB of `512M`, `2G`, or a number of MiB.
pub(crate) fn mebibytes(text: &str) -> Result<u32> {
    let digits = text.trim_end_matches(['M', 'm', 'G', 'g']);
    let number: u32 = digits
        .parse()
        .with_context(|| format!("'{text}' is not like 512M or 2G"))?;
    let scale = match &text[digits.len()..] {
        "" | "M" | "m" => 1,
        "G" | "g" => 1024,
        _ => bail!("'{text}' is not like 512M or 2G"),
    };
    number
        .checked_mul(scale)
        .context("more than any machine has")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_parse() {
        assert_eq!(mebibytes("512").unwrap(), 512);
        assert_eq!(mebibytes("512M").unwrap(), 512);
        assert_eq!(mebibytes("2G").unwrap(), 2048);
        for wrong in ["", "G", "2GG", "-1", "2T", "9999999G"] {
            assert!(mebibytes(wrong).is_err(), "{wrong}");
        }
    }
}
