// SPDX-License-Identifier: Apache-2.0
//! DEX files with the checksum made good: every class becomes a class file that parses, every
//! method is refused or becomes IR whose references are proven or not.
#![no_main]

use classfile::ClassFile;
use dex::DexFile;
use ir::dex::{Outline, translate};
use ir::{Subject, check_references};

use anything::Anything;

#[path = "../../crates/ir/tests/anything/mod.rs"]
mod anything;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut bytes = bytes.to_vec();
    if bytes.len() >= 12 {
        let sum = adler2::adler32_slice(&bytes[12..]);
        bytes[8..12].copy_from_slice(&sum.to_le_bytes());
    }
    let Ok(file) = DexFile::parse(&bytes) else {
        return;
    };
    for class in file.classes() {
        let Ok(outline) = Outline::new(&file, &class) else {
            continue;
        };
        // Descriptors that are too long for a class file are refused here.
        let Ok(parsed) = ClassFile::parse(&outline.bytes) else {
            continue;
        };
        for (method, described) in outline.methods.iter().zip(&parsed.methods) {
            if method.code(&file).is_none() {
                continue;
            }
            let Ok(function) = translate(&file, &outline, method) else {
                continue;
            };
            let subject = Subject::of(&parsed, described);
            let _ = check_references(&function, &subject, &parsed.constants, &mut Anything);
        }
    }
});
