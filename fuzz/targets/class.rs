// SPDX-License-Identifier: Apache-2.0
//! Class files: parsed, held against the format's rules, every method's stack map checked, and its code refused or
//! translated into IR whose references are proven or not.
#![no_main]

use classfile::{ClassFile, access};
use ir::bytecode::{check_frames, flow_at, translate};
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
        let subject = Subject {
            class: class.name,
            super_class: class.super_name,
            name: method.name,
            descriptor: method.descriptor,
            is_static: method.access & access::STATIC != 0,
        };
        let _ = check_references(&function, &subject, &class.constants, &mut Anything);
    }
});
