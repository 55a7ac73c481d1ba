// SPDX-License-Identifier: Apache-2.0
//! Class files: parsed, held against the format's rules, every method's stack map checked, and its
//! code refused or translated into IR whose references are proven or not.
#![no_main]

use classfile::ClassFile;
use ir::bytecode::{check_frames, flow_at, translate};
use ir::{Subject, check_references};

use anything::Anything;

#[path = "../../crates/ir/tests/anything/mod.rs"]
mod anything;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(class) = ClassFile::parse(bytes) else {
        return;
    };
    let _ = class.check();
    for index in 0..=class.constants.count() as u16 {
        let _ = (
            class.constants.get(index),
            class.constants.member(index),
            class.constants.dynamic(index),
        );
    }
    for method in &class.methods {
        let Some(code) = &method.code else { continue };
        let _ = check_frames(&class, method);
        for at in 0..=code.bytes.len().min(usize::from(u16::MAX)) as u16 {
            let _ = flow_at(code, at);
        }
        let Ok(function) = translate(&class, method) else {
            continue;
        };
        let subject = Subject::of(&class, method);
        let _ = check_references(&function, &subject, &class.constants, &mut Anything);
    }
});
