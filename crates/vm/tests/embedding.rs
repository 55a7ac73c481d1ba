// SPDX-License-Identifier: Apache-2.0
//! The machine inside a program that is not the JDK's launcher (embedding.c, placed_stack.c).

mod programs;

use std::path::Path;
use std::process::{Command, Output};

use programs::{build, compile, jdk, shown};

/// Runs it over the classes beside it, where its code is kept too; `name` is what it takes before
/// options.
fn run(jdk: &Path, program: &Path, name: Option<&str>, options: &[&str]) -> Output {
    let classes = program.parent().expect("a folder").display();
    Command::new(program)
        .args(name)
        .arg(format!("-Djava.class.path={classes}"))
        .arg(format!("-Xtakt:code-cache={classes}/code"))
        .args(options)
        .env("JAVA_HOME", jdk)
        .output()
        .expect("the program starts")
}

#[test]
fn the_thread_that_destroyed_the_machine_may_end() {
    let jdk = jdk();
    let classes = compile(&jdk, &["Leaving".to_owned()]);
    let program = classes.path().join("embedding");
    build(&jdk, "embedding.c", &program);
    let output = run(&jdk, &program, None, &[]);
    assert_eq!(shown(&output), "Some(0)\nleft\ngone\n");
}

/// Fails where each half of a word of a foreign frame is a root if it lies in an object: the
/// thread's stack lies so that its own addresses do. A list full of nodes is found by halves that
/// are the start of one: it is gone only where foreign frames are left out.
#[test]
fn a_stack_whose_addresses_end_like_references_keeps_nothing() {
    let jdk = jdk();
    let classes = compile(&jdk, &["memory/Placed", "memory/Filled"].map(str::to_owned));
    let program = classes.path().join("placed");
    build(&jdk, "placed_stack.c", &program);
    for collector in ["-Xtakt:gc=rc", "-Xtakt:gc=stw"] {
        for name in ["Placed", "Filled"] {
            let output = run(&jdk, &program, Some(name), &[collector, "-Xmx48m"]);
            assert_eq!(shown(&output), "Some(0)\ngone\n", "{collector} {name}");
        }
    }
}

/// HotSpot says the same, but that it has no end of references, and throws nothing where it answers
/// -1.
#[test]
fn native_code_cannot_take_too_much_or_leave_locks() {
    let jdk = jdk();
    let classes = compile(&jdk, &["memory/Natives".to_owned()]);
    let program = classes.path().join("natives");
    build(&jdk, "natives.c", &program);
    let output = run(&jdk, &program, None, &["-Xmx64m"]);
    let expected = "Some(0)\n\
        more than 300000 references: yes, then: java.lang.OutOfMemoryError\n\
        capacity: 0 -1 -1, thrown: java.lang.OutOfMemoryError\n\
        frame: 0 -1 -1, thrown: java.lang.OutOfMemoryError\n\
        deep: java.lang.OutOfMemoryError\n\
        synchronized: java.lang.OutOfMemoryError, held: no\n\
        versions: 0 0 -3 -3\n\
        detached with Java frames: -1, then: still here\n\
        detached with monitors: 0, again: 0\n\
        monitors: free\n";
    assert_eq!(shown(&output), expected);
}
