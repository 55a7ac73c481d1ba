// SPDX-License-Identifier: Apache-2.0
//! Builds the C half (functions with variable arguments) and the Java half (Android's class
//! loaders, javax.realtime), names the library, and says from which sources it is made: compiled
//! code on disk is for machines made of the same.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

const JAVA: &str = "java";

/// Whatever says what compiled code looks like and what it may assume.
const SOURCES: [&str; 10] = [
    "../abi/src",
    "../classfile/src",
    "../compiler/src",
    "../dex/src",
    "../heap/src",
    "../ir/src",
    "../rt/src",
    "src",
    JAVA,
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
    println!("cargo:rerun-if-env-changed=JAVA_HOME");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    let classes = out.join("classes");
    if let Err(problem) = compile(&classes) {
        println!("cargo:warning=no dalvik.system and no javax.realtime: {problem}");
    }
    write_table(&classes, &out.join("boot_classes.rs"));
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

fn compile(classes: &Path) -> Result<(), String> {
    let _ = std::fs::remove_dir_all(classes);
    let mut sources = Vec::new();
    find(Path::new(JAVA), "java", &mut sources);
    let home = std::env::var_os("JAVA_HOME").map(PathBuf::from);
    let javac = home.map_or_else(|| "javac".into(), |home| home.join("bin/javac"));
    let output = Command::new(&javac)
        .args([
            "--release",
            "17",
            "-encoding",
            "UTF-8",
            "-Xlint:-options",
            "-d",
        ])
        .arg(classes)
        .args(&sources)
        .output()
        .map_err(|error| format!("{}: {error}", javac.display()))?;
    if output.status.success() {
        return Ok(());
    }
    Err(String::from_utf8_lossy(&output.stderr).into_owned())
}

fn find(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        if path.is_dir() {
            find(&path, extension, found);
        } else if path.extension().is_some_and(|own| own == extension) {
            found.push(path);
        }
    }
    found.sort();
}

/// Internal names and bytes, by name.
fn write_table(classes: &Path, table: &Path) {
    let mut found = Vec::new();
    find(classes, "class", &mut found);
    // By name, which is not the order of the files: `A$B.class` lies before `A.class`.
    let rows: BTreeMap<String, String> = found
        .iter()
        .map(|path| {
            let name = path.strip_prefix(classes).expect("found in there");
            let name = name.with_extension("").display().to_string();
            (name, path.display().to_string())
        })
        .collect();
    let rows: String = rows
        .iter()
        .map(|(name, path)| format!("    ({name:?}, include_bytes!({path:?})),\n"))
        .collect();
    std::fs::write(table, format!("&[\n{rows}]\n")).expect("cargo's directory takes a file");
}
