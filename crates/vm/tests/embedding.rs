// SPDX-License-Identifier: Apache-2.0
//! The machine inside a program that is not the JDK's launcher (embedding.c).

mod programs;

use std::path::Path;
use std::process::Command;

use programs::{JDKS, compile, jdk, machine, shown};

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/embedding.c");

/// `embedding.c`, linked with the machine that was built with this test.
fn build(jdk: &Path, program: &Path) {
    let include = jdk.join("include");
    let libraries = machine();
    let cc = Command::new("cc")
        .args(["-Wall", "-Werror", "-pthread", "-o"])
        .arg(program)
        .arg(SOURCE)
        .arg(format!("-I{}", include.display()))
        .arg(format!("-I{}/linux", include.display()))
        .arg(format!("-L{}", libraries.display()))
        .arg(format!("-Wl,-rpath,{}", libraries.display()))
        .arg("-ljvm")
        .output()
        .expect("a C compiler");
    assert!(cc.status.success(), "{}", shown(&cc));
}

#[test]
fn the_thread_that_destroyed_the_machine_may_end() {
    let Some(jdk) = jdk() else {
        eprintln!("skipped: no JDK 17 found in JAVA_HOME or {JDKS:?}");
        return;
    };
    let classes = compile(&jdk, &["Leaving".to_owned()]);
    let program = classes.path().join("embedding");
    build(&jdk, &program);
    let output = Command::new(&program)
        .arg(format!("-Djava.class.path={}", classes.path().display()))
        .arg(format!(
            "-Xtakt:code-cache={}/code",
            classes.path().display()
        ))
        .env("JAVA_HOME", &jdk)
        .output()
        .expect("the program starts");
    assert_eq!(shown(&output), "Some(0)\nleft\ngone\n");
}
