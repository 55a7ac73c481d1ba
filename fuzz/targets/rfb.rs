// SPDX-License-Identifier: Apache-2.0
//! What a client in a browser says, in pieces of any size: it is understood or refused, and what
//! waits for its end is bounded.
#![no_main]

use web::rfb::{CLIP_BYTES_MAX, Parser, VERSION};

/// The first byte says how large the pieces are, and whether greetings go before.
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((&first, rest)) = bytes.split_first() else {
        return;
    };
    let mut parser = Parser::default();
    if first & 0x80 != 0 {
        parser.push(VERSION);
        parser.push(&[1, 0]);
    }
    let size = usize::from(first & 0x7f) + 1;
    for piece in rest.chunks(size) {
        parser.push(piece);
        loop {
            match parser.next() {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(_) => return,
            }
        }
        assert!(parser.waiting() <= CLIP_BYTES_MAX + 8);
    }
});
