// SPDX-License-Identifier: Apache-2.0
//! Every method of the installed JDK's java.base becomes IR that verifies.

use classfile::{ClassFile, Jimage, to_string_lossy};

const IMAGES: [&str; 2] = [
    "/usr/lib/jvm/java-17-openjdk-amd64/lib/modules",
    "/usr/lib/jvm/default-java/lib/modules",
];

#[test]
fn java_base_translates() {
    let Some(bytes) = IMAGES.iter().find_map(|path| std::fs::read(path).ok()) else {
        eprintln!("skipped: no JDK 17 image in {IMAGES:?}");
        return;
    };
    let image = Jimage::parse(&bytes).unwrap();
    assert_eq!(image.module_of_package("java.lang"), Some("java.base"));
    let mut method_count = 0;
    for (name, content) in image.resources() {
        if !name.starts_with(b"/java.base/") || !name.ends_with(b".class") {
            continue;
        }
        let class = ClassFile::parse(content).unwrap_or_else(|error| {
            panic!("{}: {error}", to_string_lossy(&name));
        });
        for method in class.methods.iter().filter(|method| method.code.is_some()) {
            if let Err(error) = ir::bytecode::translate(&class, method) {
                let method = to_string_lossy(method.name);
                panic!("{}.{method}: {error}", to_string_lossy(&name));
            }
            method_count += 1;
        }
    }
    assert!(method_count > 50_000, "{method_count}");
}
