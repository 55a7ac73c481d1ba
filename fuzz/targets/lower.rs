// SPDX-License-Identifier: Apache-2.0
//! DEX files with the checksum made good: every class becomes a class file that parses, every method is refused or
//! becomes IR whose references are proven or not.
#![no_main]

use classfile::{ClassFile, access};
use dex::DexFile;
use ir::dex::{Outline, translate};
use ir::{Hierarchy, MemberRef, Subject, check_references};

/// Classes that are all one.
struct Anything;

impl Hierarchy for Anything {
    type Error = ();

    fn is_assignable(&mut self, _from: &[u8], _to: &[u8]) -> Result<bool, ()> {
        Ok(true)
    }

    fn is_protected_elsewhere(
        &mut self,
        _member: &MemberRef<'_>,
        _is_method: bool,
    ) -> Result<bool, ()> {
        Ok(false)
    }
}

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
            let subject = Subject {
                class: parsed.name,
                super_class: parsed.super_name,
                name: described.name,
                descriptor: described.descriptor,
                is_static: described.access & access::STATIC != 0,
            };
            let _ = check_references(&function, &subject, &parsed.constants, &mut Anything);
        }
    }
});
