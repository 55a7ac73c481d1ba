// SPDX-License-Identifier: Apache-2.0
//! Builds the C half (functions with variable arguments), names the library, and says from which
//! sources it is made: compiled code on disk is for machines made of the same.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// Whatever says what compiled code looks like and what it may assume.
const SOURCES: [&str; 8] = [
    "../abi/src",
    "../classfile/src",
    "../compiler/src",
    "../heap/src",
    "../ir/src",
    "../rt/src",
    "src",
    "../../Cargo.lock",
];

fn main() {
    println!("cargo:rerun-if-changed=src/c/variadic.c");
    cc::Build::new()
        .file("src/c/variadic.c")
        .warnings(true)
        .compile("takt_variadic");
    // The JDK's libraries ask for libjvm.so by this name.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libjvm.so");
    let mut hasher = DefaultHasher::new();
    for source in SOURCES {
        println!("cargo:rerun-if-changed={source}");
        hash(Path::new(source), &mut hasher);
    }
    let version = env!("CARGO_PKG_VERSION");
    println!(
        "cargo:rustc-env=TAKT_CODE_VERSION={version}-{:016x}",
        hasher.finish()
    );
}

fn hash(path: &Path, hasher: &mut DefaultHasher) {
    if path.is_file() {
        path.file_name().hash(hasher);
        std::fs::read(path)
            .expect("sources can be read")
            .hash(hasher);
        return;
    }
    let entries = std::fs::read_dir(path).expect("the crates lie side by side");
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths.iter().for_each(|path| hash(path, hasher));
}
