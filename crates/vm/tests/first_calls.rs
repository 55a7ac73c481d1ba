// SPDX-License-Identifier: Apache-2.0
//! A method's first call and a class's proof take as long as they are large, and hold up nobody
//! else.

mod programs;

use std::fmt::Write as _;

use programs::{jdk, run_takt, shown};

/// Statements of a large method: some hundred milliseconds to compile.
const STATEMENTS: usize = 1500;
/// Large methods that are compiled, and large classes that are proven, one after the other: on a
/// busy machine one answer may take as long as most of them.
const LARGE: usize = 4;
/// Methods of a class whose proof takes as long as a large method.
const METHODS: usize = 150;

/// `Large.compiled1` and its like are large methods, `Proven1` and its like have many. Main has the
/// collector ask all threads again and again, and counts the answers that came while another thread
/// was in its first call, or before its initialiser ran.
fn source() -> String {
    let mut text = String::from(
        r#"
public class Large {
    static volatile int begun, inside;

    static int answers(int phase) {
        int count = 0;
        while (begun < phase) { Thread.onSpinWait(); }
        while (inside < phase) {
            System.gc();
            if (inside < phase) { count++; }
        }
        return count;
    }

    public static void main(String[] arguments) throws Exception {
        Object[] a = new Object[50], b = new Object[50];
        System.gc();
        StringBuilder counts = new StringBuilder("compiling");
        for (int phase = 1; phase <= PHASES; phase++) {
            int own = phase;
            Thread[] threads = new Thread[2];
            for (int k = 0; k < threads.length; k++) {
                threads[k] = new Thread(() -> { begun = own; compiled(own, a, b); });
                threads[k].start();
            }
            counts.append(' ').append(answers(own));
            for (Thread thread : threads) { thread.join(); }
        }
        System.out.println(counts);
        counts = new StringBuilder("proving");
        for (int phase = PHASES + 1; phase <= 2 * PHASES; phase++) {
            int own = phase;
            Thread prover = new Thread(() -> { begun = own; prove(own - PHASES); });
            prover.start();
            counts.append(' ').append(answers(own));
            prover.join();
        }
        System.out.println(counts);
    }
"#,
    );
    add_large(&mut text);
    (1..=LARGE).for_each(|number| add_proven(&mut text, number));
    text
}

/// A class of many methods.
fn add_proven(text: &mut String, number: usize) {
    let phase = LARGE + number;
    let touch = format!("    static void touch() {{ Large.inside = {phase}; }}\n");
    text.push_str(&format!("\nclass Proven{number} {{\n{touch}"));
    for method in 0..METHODS {
        let head = format!("    static void m{method}(Object[] a, Object[] b) {{\n");
        text.push_str(&head);
        for at in 0..STATEMENTS / 10 {
            let (to, from) = (at % 50, (at + method) % 50);
            writeln!(text, "        a[{to}] = b[{from}];").expect("text takes all");
        }
        text.push_str("    }\n");
    }
    text.push_str("}\n");
}

/// The rest of `Large`.
fn add_large(text: &mut String) {
    let mut add = |more: &str| text.push_str(more);
    add(&format!("    static final int PHASES = {LARGE};\n"));
    for (head, name, tail) in [
        (
            "compiled(int phase, Object[] a, Object[] b)",
            "compiled",
            "(a, b)",
        ),
        ("prove(int phase)", "Proven", ".touch()"),
    ] {
        add(&format!(
            "    static void {head} {{\n        switch (phase) {{\n"
        ));
        for phase in 1..=LARGE {
            add(&format!(
                "            case {phase}: {name}{phase}{tail}; break;\n"
            ));
        }
        add("        }\n    }\n");
    }
    for phase in 1..=LARGE {
        add(&format!(
            "    static void compiled{phase}(Object[] a, Object[] b) {{\n"
        ));
        add(&format!("        inside = {phase};\n"));
        for at in 0..STATEMENTS {
            add(&format!("        a[{}] = b[{}];\n", at % 50, at * 7 % 50));
        }
        add("    }\n");
    }
    add("}\n");
}

#[test]
fn nobody_waits_for_a_first_call_or_a_proof_but_who_needs_it() {
    let jdk = jdk();
    let classes = tempfile::tempdir().expect("a directory for classes");
    let place = classes.path().join("Large.java");
    std::fs::write(&place, source()).expect("the source is written");
    let javac = std::process::Command::new(jdk.join("bin/javac"))
        .args([place.as_os_str(), "-d".as_ref(), classes.path().as_os_str()])
        .status();
    assert!(javac.expect("javac starts").success());
    let cache = tempfile::tempdir().expect("a directory for code");
    let options = ["-Xtakt:verify", "-Xtakt:compile", "-Xmx48m", "Large"];
    let output = run_takt(&jdk, classes.path(), cache.path(), &options);
    let text = String::from_utf8_lossy(&output.stdout);
    let most = |what: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(what));
        let line = line.unwrap_or_else(|| panic!("no count in {}", shown(&output)));
        let counts = line.split_whitespace().map(|it| it.parse::<u32>());
        counts.map(|it| it.expect("a number")).max()
    };
    // One question may have been under way when a method's or a proof's work began, and no more if
    // all wait for that work.
    assert!(most("compiling") > Some(1), "{}", shown(&output));
    assert!(most("proving") > Some(1), "{}", shown(&output));
    let installed = String::from_utf8_lossy(&output.stderr);
    for phase in 1..=LARGE {
        let times = installed
            .matches(&format!("Large.compiled{phase}("))
            .count();
        assert_eq!(times, 1, "of two threads one compiles");
    }
}
