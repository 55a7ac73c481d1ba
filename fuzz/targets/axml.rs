// SPDX-License-Identifier: Apache-2.0
//! A binary manifest beside a resource table; the first two bytes say where one ends.
#![no_main]

use apk::{Manifest, Table};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((size, rest)) = bytes.split_first_chunk::<2>() else {
        return;
    };
    let split = usize::from(u16::from_le_bytes(*size)).min(rest.len());
    let (manifest, resources) = rest.split_at(split);
    let table = Table::parse("resources.arsc", resources).ok();
    let _ = Manifest::parse(manifest, table.as_ref());
});
