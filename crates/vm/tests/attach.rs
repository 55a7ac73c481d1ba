// SPDX-License-Identifier: Apache-2.0
//! The JDK's own tools ask a machine that runs.

mod programs;

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use programs::{compile, jdk, machine};

/// A program that says that it is ready, and what it says from then on.
fn start(
    jdk: &Path,
    classes: &Path,
    option: &str,
) -> (Child, BufReader<std::process::ChildStdout>) {
    // As a HotSpot process starts its children, and then some.
    let mut program = Command::new("env")
        .arg("--block-signal=QUIT,HUP,INT,TERM,SEGV,RTMAX-3")
        .arg(jdk.join("bin/java"))
        .arg(format!("-XXaltjvm={}", machine().display()))
        .args([option, "-Xtakt:no-code-cache", "-Dasked=of Java", "-cp"])
        .arg(classes)
        .arg("Asked")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the launcher starts");
    let mut said = BufReader::new(program.stdout.take().expect("it is piped"));
    let mut line = String::new();
    said.read_line(&mut line).expect("it says something");
    assert_eq!(line, "ready\n");
    (program, said)
}

fn ask(jdk: &Path, tool: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(jdk.join("bin").join(tool));
    command.args(arguments).output().expect("the tool starts")
}

fn said(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Ends the program; gives the rest of what it said.
fn end(mut program: Child, mut output: BufReader<std::process::ChildStdout>) -> String {
    drop(program.stdin.take());
    let mut rest = String::new();
    output.read_to_string(&mut rest).expect("text");
    assert!(program.wait().expect("it ends").success());
    rest
}

/// Has the program shut down; gives its exit code.
fn end_by_term(mut program: Child) -> Option<i32> {
    let pid = program.id().to_string();
    let kill = Command::new("kill").args(["-TERM", &pid]).status();
    assert!(kill.expect("kill starts").success());
    // Its input ends too, so that who was not told ends as well, but otherwise.
    let _input = program.stdin.take();
    program.wait().expect("it ends").code()
}

#[test]
fn tools_of_the_jdk_are_answered() {
    let jdk = jdk();
    let classes = compile(&jdk, &["tools/Asked".to_owned()]);
    // Without the signal's handler the machine listens from the start.
    let own = "-Dhandler=own";
    for option in [own, "-Xrs"] {
        let (program, output) = start(&jdk, classes.path(), option);
        let pid = program.id().to_string();

        // By the file that says so.
        let listed = format!("{pid} Asked\n");
        for tool in [&["jps", "-l"][..], &["jcmd", "-l"]] {
            let list = said(&ask(&jdk, tool[0], &tool[1..]));
            assert!(list.replace(" \n", "\n").contains(&listed), "{list}");
        }

        let threads = said(&ask(&jdk, "jstack", &[&pid]));
        assert!(threads.contains("\"main\" #1 prio=5"), "{threads}");
        assert!(
            threads.contains("Asked.waitForTheEnd(Asked.java:8)"),
            "{threads}"
        );
        assert_eq!(threads.matches("Full thread dump").count(), 1);
        let properties = said(&ask(&jdk, "jinfo", &["-sysprops", &pid]));
        assert!(properties.contains("asked=of Java"), "{properties}");
        let line = said(&ask(&jdk, "jcmd", &[&pid, "VM.command_line"]));
        assert!(line.contains("java_command: Asked"), "{line}");
        let collected = said(&ask(&jdk, "jcmd", &[&pid, "GC.run"]));
        assert!(collected.contains("executed successfully"), "{collected}");
        let figures = said(&ask(&jdk, "jcmd", &[&pid, "Takt.report"]));
        assert!(figures.contains("\n  epochs: "), "{figures}");
        let superpages = said(&ask(&jdk, "jcmd", &[&pid, "Takt.superpages"]));
        assert!(superpages.contains("heap in memory: "), "{superpages}");

        let unknown = ask(&jdk, "jcmd", &[&pid, "VM.nothing"]);
        let error = String::from_utf8_lossy(&unknown.stderr);
        assert!(!unknown.status.success() && error.contains("Unknown diagnostic command"));
        let unsupported = ask(&jdk, "jmap", &["-histo", &pid]);
        let error = String::from_utf8_lossy(&unsupported.stderr);
        assert!(
            error.contains("Takt does not support the operation inspectheap"),
            "{error}"
        );

        // Requests that are none are not answered, and keep nobody else from it.
        let socket = format!("/tmp/.java_pid{pid}");
        for wrong in [&b"1\0jcmd"[..], b"1\0\xff\xff\0\0\0\0", &[b'x'; 10_000]] {
            let mut stream = UnixStream::connect(&socket).expect("it listens");
            // It may be gone before it has read all.
            let _ = stream.write_all(wrong);
            let _ = stream.shutdown(std::net::Shutdown::Write);
            let mut answer = Vec::new();
            let _ = stream.read_to_end(&mut answer);
            assert_eq!(answer, b"");
        }
        let mut stream = UnixStream::connect(&socket).expect("it listens");
        stream.write_all(b"2\0jcmd\0\0\0\0").expect("it listens");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("text");
        assert!(answer.starts_with("101\n"), "{answer}");
        assert!(said(&ask(&jdk, "jcmd", &[&pid, "VM.uptime"])).contains(" s\n"));

        if option == own {
            assert_eq!(end_by_term(program), Some(128 + 15));
        } else {
            assert_eq!(end(program, output), "done\n");
        }
        assert!(!Path::new(&socket).exists());
    }
}
