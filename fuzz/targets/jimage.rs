// SPDX-License-Identifier: Apache-2.0
//! Module images: every resource that the tables name is found again or not there.
#![no_main]

use classfile::{Jimage, to_string_lossy};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(image) = Jimage::parse(bytes) else {
        return;
    };
    for (name, content) in image.resources() {
        let name = to_string_lossy(&name);
        let Some((module, path)) = name.strip_prefix('/').and_then(|it| it.split_once('/')) else {
            continue;
        };
        let _ = (
            image.find(module, path),
            image.module_of_package(&path.replace('/', ".")),
            content.first(),
        );
    }
});
