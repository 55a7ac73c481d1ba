// SPDX-License-Identifier: Apache-2.0
//! Whole packages: parse, and check what is signed.
#![no_main]

use apk::{Apk, Signatures};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(package) = Apk::parse(bytes) {
        Signatures::check(&package.archive);
    }
});
