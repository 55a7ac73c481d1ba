// SPDX-License-Identifier: Apache-2.0
//! Every class of real packages becomes a class file, and every method IR whose references are proven.

use std::collections::HashSet;
use std::path::PathBuf;

use classfile::ClassFile;
use dex::DexFile;
use ir::dex::{Outline, translate};
use ir::{Hierarchy, MemberRef, Subject, check_references};

/// Classes that are all one, except that no class of the file's own is another that it is not.
#[derive(Default)]
struct Anything {
    asked: HashSet<(Vec<u8>, Vec<u8>)>,
}

impl Hierarchy for Anything {
    type Error = std::convert::Infallible;

    fn is_assignable(&mut self, from: &[u8], to: &[u8]) -> Result<bool, Self::Error> {
        self.asked.insert((from.to_vec(), to.to_vec()));
        Ok(true)
    }

    fn is_protected_elsewhere(
        &mut self,
        _member: &MemberRef<'_>,
        _is_method: bool,
    ) -> Result<bool, Self::Error> {
        Ok(false)
    }
}

/// The DEX files of the packages that tools/setup fetches.
fn samples() -> Vec<(String, Vec<u8>)> {
    let mut samples = Vec::new();
    for path in packages() {
        let bytes = std::fs::read(&path).expect("a package reads");
        let Ok(archive) = apk::Archive::parse(&bytes) else {
            continue;
        };
        for number in 1.. {
            let name = match number {
                1 => "classes.dex".to_owned(),
                number => format!("classes{number}.dex"),
            };
            let Ok(code) = archive.read(&name) else { break };
            samples.push((format!("{}!{name}", path.display()), code.into_owned()));
        }
    }
    samples.sort_by_key(|(_, code)| code.len());
    samples.dedup_by(|a, b| a.1 == b.1);
    assert!(
        samples.len() > 10,
        "packages for tests are missing: run tools/setup"
    );
    samples
}

fn packages() -> Vec<PathBuf> {
    let home = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let cache = home("TAKT_CACHE").unwrap_or_else(|| {
        let cache = home("XDG_CACHE_HOME").or_else(|| home("HOME").map(|it| it.join(".cache")));
        cache.expect("a home directory").join("takt")
    });
    let folder = cache.join("apks/fdroidserver-2.4.5/tests");
    let list = |folder: PathBuf| std::fs::read_dir(folder).into_iter().flatten();
    let files = list(folder.clone()).chain(list(folder.join("repo")));
    let mut paths: Vec<PathBuf> = files.map(|it| it.expect("an entry").path()).collect();
    paths.retain(|it| it.extension().is_some_and(|it| it == "apk"));
    paths.sort();
    paths
}

/// Lowers and proves all there is; gives how many methods did and what was said of the others.
fn lower(file: &DexFile<'_>) -> (usize, Vec<String>) {
    let (mut count, mut refused) = (0, Vec::new());
    for class in file.classes() {
        let name = file.descriptor(class.class);
        let outline = match Outline::new(file, &class) {
            Ok(outline) => outline,
            Err(what) => {
                refused.push(format!("{name}: {what}"));
                continue;
            }
        };
        let parsed = ClassFile::parse(&outline.bytes);
        let parsed = parsed.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(parsed.methods.len(), outline.methods.len());
        let methods = outline.methods.iter().zip(&parsed.methods);
        for (method, described) in methods.filter(|(it, _)| it.code(file).is_some()) {
            match prove(file, &outline, method, &parsed, described) {
                Ok(()) => count += 1,
                Err(what) => {
                    let method = classfile::to_string_lossy(described.name);
                    refused.push(format!("{name}.{method}: {what}"));
                }
            }
        }
    }
    (count, refused)
}

fn prove(
    file: &DexFile<'_>,
    outline: &Outline<'_>,
    method: &dex::Method,
    class: &ClassFile<'_>,
    described: &classfile::Method<'_>,
) -> Result<(), String> {
    let function = translate(file, outline, method).map_err(|error| error.to_string())?;
    let subject = Subject {
        class: class.name,
        super_class: class.super_name,
        name: described.name,
        descriptor: described.descriptor,
        is_static: described.access & classfile::access::STATIC != 0,
    };
    let mut hierarchy = Anything::default();
    check_references(&function, &subject, &class.constants, &mut hierarchy)
        .map_err(|error| error.to_string())
}

#[test]
fn real_packages_translate() {
    let mut total = 0;
    let mut problems = Vec::new();
    for (name, bytes) in samples() {
        let Ok(file) = DexFile::parse(&bytes) else {
            continue;
        };
        let (count, refused) = lower(&file);
        total += count;
        problems.extend(refused.into_iter().map(|it| format!("{name}: {it}")));
    }
    println!("{total} methods");
    assert!(
        problems.is_empty(),
        "{} of {total}:\n{}",
        problems.len(),
        problems.join("\n")
    );
    assert!(total > 1_000, "{total}");
}
