// SPDX-License-Identifier: Apache-2.0
//! A resource table, asked for what its types may hold: the first bytes are ids.
#![no_main]

use apk::Table;

/// Of each input.
const IDS: usize = 8;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((ids, rest)) = bytes.split_first_chunk::<{ 4 * IDS }>() else {
        return;
    };
    let Ok(table) = Table::parse("resources.arsc", rest) else {
        return;
    };
    for id in ids.chunks_exact(4) {
        let id = u32::from_le_bytes([id[0], id[1], id[2], id[3]]);
        let _ = (table.resolve(id, 34), table.resolve(0x7f00_0000 | id & 0x3_000f, 34));
    }
});
