// SPDX-License-Identifier: Apache-2.0
//! AIDL: a file is parsed or refused, and what is parsed has stubs or is refused.
#![no_main]

use aidl::{Document, Library};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let lines = u32::try_from(text.lines().count().max(1)).unwrap_or(u32::MAX);
    let document = match Document::parse("fuzz.aidl", text) {
        Ok(it) => it,
        Err(error) => {
            assert!(error.span.line <= lines + 1, "{error}");
            return;
        }
    };
    let made = Library::new(vec![document]).and_then(|it| it.rust(&[("F", "super::F")]));
    if let Ok(stubs) = made {
        // Names and texts of AIDL are ASCII: nothing else comes out.
        assert!(stubs.is_ascii());
    }
});
