// SPDX-License-Identifier: Apache-2.0
//! DEX files with the checksum made good, so that the fuzzer reaches what lies behind it; all code
//! is listed.
#![no_main]

use dex::{DexFile, Listing};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut bytes = bytes.to_vec();
    if bytes.len() >= 12 {
        let sum = adler2::adler32_slice(&bytes[12..]);
        bytes[8..12].copy_from_slice(&sum.to_le_bytes());
    }
    let Ok(file) = DexFile::parse(&bytes) else {
        return;
    };
    let listing = Listing::new(&file);
    for class in file.classes() {
        for method in class.data(&file).methods() {
            let Some(code) = method.code(&file) else {
                continue;
            };
            if method.check_code(&file).is_err() {
                continue;
            }
            for (pc, unit) in code.units() {
                listing.line(pc, &unit.expect("`check_code` has decoded it"));
            }
        }
    }
});
