// SPDX-License-Identifier: Apache-2.0
//! Every method of the installed JDK's java.base becomes IR that verifies, the classes of
//! references included.

use std::collections::HashMap;

use classfile::{ClassFile, Jimage, access, to_string_lossy};
use ir::{Hierarchy, MemberRef, Subject, check_references};

const IMAGES: [&str; 2] = [
    "/usr/lib/jvm/java-17-openjdk-amd64/lib/modules",
    "/usr/lib/jvm/default-java/lib/modules",
];

/// The class library's image; without it nothing can be tested here.
fn image() -> Vec<u8> {
    let found = IMAGES.iter().find_map(|path| std::fs::read(path).ok());
    found.unwrap_or_else(|| {
        panic!("no image of a JDK 17 in {IMAGES:?}: install openjdk-17-jdk-headless")
    })
}

type Classes<'a> = HashMap<&'a [u8], ClassFile<'a>>;

/// Classes as the image has them; `own` is under proof.
struct ImageClasses<'a> {
    classes: &'a Classes<'a>,
    own: &'a [u8],
}

fn package(name: &[u8]) -> &[u8] {
    let end = name.iter().rposition(|&byte| byte == b'/');
    &name[..end.unwrap_or(0)]
}

impl<'a> ImageClasses<'a> {
    fn ancestors(&self, name: &[u8]) -> impl Iterator<Item = &'a ClassFile<'a>> {
        let classes = self.classes;
        std::iter::successors(classes.get(name), |class| classes.get(class.super_name?))
    }
}

impl Hierarchy for ImageClasses<'_> {
    type Error = String;

    fn is_assignable(&mut self, from: &[u8], to: &[u8]) -> Result<bool, String> {
        let missing = || format!("{} is not in java.base", to_string_lossy(to));
        let target = self.classes.get(to).ok_or_else(missing)?;
        Ok(target.access & access::INTERFACE != 0
            || self.ancestors(from).any(|class| class.name == to))
    }

    fn is_protected_elsewhere(
        &mut self,
        member: &MemberRef<'_>,
        is_method: bool,
    ) -> Result<bool, String> {
        if !self.ancestors(self.own).any(|c| *c.name == *member.class) {
            return Ok(false);
        }
        let is_it = |name: &[u8], descriptor: &[u8]| {
            *name == *member.name && *descriptor == *member.descriptor
        };
        let found = self.ancestors(&member.class).find_map(|class| {
            let access = if is_method {
                let mut methods = class.methods.iter();
                methods.find(|m| is_it(m.name, m.descriptor))?.access
            } else {
                let mut fields = class.fields.iter();
                fields.find(|f| is_it(f.name, f.descriptor))?.access
            };
            Some((class, access))
        });
        Ok(found.is_some_and(|(class, access)| {
            access & access::PROTECTED != 0 && package(class.name) != package(self.own)
        }))
    }
}

#[test]
fn java_base_translates() {
    let bytes = image();
    let image = Jimage::parse(&bytes).unwrap();
    assert_eq!(image.module_of_package("java.lang"), Some("java.base"));
    let mut classes = Classes::new();
    for (name, content) in image.resources() {
        if name.starts_with(b"/java.base/") && name.ends_with(b".class") {
            let class = ClassFile::parse(content).unwrap_or_else(|error| {
                panic!("{}: {error}", to_string_lossy(&name));
            });
            if !name.ends_with(b"/module-info.class") {
                class.check().unwrap_or_else(|error| {
                    panic!("{}: {error}", to_string_lossy(&name));
                });
            }
            classes.insert(class.name, class);
        }
    }
    let mut method_count = 0;
    for class in classes.values() {
        for method in class.methods.iter().filter(|method| method.code.is_some()) {
            let name = || {
                format!(
                    "{}.{}{}",
                    to_string_lossy(class.name),
                    to_string_lossy(method.name),
                    to_string_lossy(method.descriptor)
                )
            };
            ir::bytecode::check_frames(class, method)
                .unwrap_or_else(|error| panic!("{}: {error}", name()));
            let function = ir::bytecode::translate(class, method)
                .unwrap_or_else(|error| panic!("{}: {error}", name()));
            assert!(
                !function.notes_locks(),
                "{}: locking is not proven structured",
                name()
            );
            let subject = Subject::of(class, method);
            let mut hierarchy = ImageClasses {
                classes: &classes,
                own: class.name,
            };
            check_references(&function, &subject, &class.constants, &mut hierarchy)
                .unwrap_or_else(|error| panic!("{}: {error:?}", name()));
            method_count += 1;
        }
    }
    assert!(method_count > 50_000, "{method_count}");
}
