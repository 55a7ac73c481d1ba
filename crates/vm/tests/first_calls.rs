// SPDX-License-Identifier: Apache-2.0
//! A method's first call and a class's proof take as long as they are large, and hold up nobody
//! else.

mod programs;

use std::fmt::Write as _;

use programs::{jdk, run_takt, shown};

/// Statements of a large method: some hundred milliseconds to compile.
const STATEMENTS: usize = 1500;
/// Methods of a class whose proof takes as long.
const METHODS: usize = 200;

/// `Large.compiled` is a large method, the class `Proven` has many. Main has the collector ask all
/// threads again and again, and counts the answers that came while another thread was in its first
/// call, or before its initialiser ran.
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
        Thread[] threads = new Thread[2];
        for (int k = 0; k < threads.length; k++) {
            threads[k] = new Thread(() -> { begun = 1; compiled(a, b); });
            threads[k].start();
        }
        System.out.println("compiling " + answers(1));
        for (Thread thread : threads) { thread.join(); }
        Thread prover = new Thread(() -> { begun = 2; Proven.touch(); });
        prover.start();
        System.out.println("proving " + answers(2));
        prover.join();
    }

    static void compiled(Object[] a, Object[] b) {
        inside = 1;
"#,
    );
    let mut store = |indent: &str, at: usize| {
        let (to, from) = (at % 50, at * 7 % 50);
        writeln!(text, "{indent}a[{to}] = b[{from}];").expect("text takes all");
    };
    (0..STATEMENTS).for_each(|at| store("        ", at));
    text.push_str("    }\n}\n\nclass Proven {\n    static void touch() { Large.inside = 2; }\n");
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
    text
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
    let count = |what: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(what));
        let line = line.unwrap_or_else(|| panic!("no count in {}", shown(&output)));
        line.trim().parse::<u32>().expect("a number")
    };
    // One question may have been under way when the work began.
    assert!(count("compiling") > 1, "{}", shown(&output));
    assert!(count("proving") > 1, "{}", shown(&output));
    let installed = String::from_utf8_lossy(&output.stderr);
    let times = installed.matches("Large.compiled(").count();
    assert_eq!(times, 1, "of two threads one compiles");
}
