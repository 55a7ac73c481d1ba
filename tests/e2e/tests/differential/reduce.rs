// SPDX-License-Identifier: Apache-2.0
//! Makes a program smaller that differs: lines and whole blocks go while it still compiles and
//! still differs.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use rt::clock::{Clock as _, Monotonic};
use tempfile::TempDir;

/// A program is as small as it gets in this time.
const LONGEST_NS: u64 = 150_000_000_000;

/// A javac that stays (`Compile.java`).
pub(crate) struct Compiler {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    classes: TempDir,
}

impl Compiler {
    pub(crate) fn start(sources: &str) -> Self {
        let classes = tempfile::tempdir().expect("a directory for classes");
        let javac = Command::new("javac")
            .arg("-d")
            .arg(classes.path())
            .args(["Differ", "Compile"].map(|it| format!("{sources}/{it}.java")))
            .status();
        assert!(javac.expect("javac starts").success());
        let child = Command::new("java")
            .arg("-cp")
            .arg(classes.path())
            .arg("Compile")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut child = child.expect("java starts");
        let input = child.stdin.take().expect("it is piped");
        let output = BufReader::new(child.stdout.take().expect("it is piped"));
        Self {
            child,
            input,
            output,
            classes,
        }
    }

    /// Where the class is that programs print with.
    pub(crate) fn differ(&self) -> &Path {
        self.classes.path()
    }

    pub(crate) fn compiles(&mut self, classes: PathBuf, source: &Path) -> bool {
        writeln!(self.input, "{}\t{}", classes.display(), source.display()).expect("it reads");
        let mut answer = String::new();
        self.output.read_line(&mut answer).expect("it answers");
        answer == "compiled\n"
    }
}

impl Drop for Compiler {
    fn drop(&mut self) {
        // One that has ended is no fault.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The smallest of what still `differs` that was found in five minutes.
pub(crate) fn reduce(source: &str, mut differs: impl FnMut(&str) -> bool) -> String {
    let end = Monotonic.now_ns() + LONGEST_NS;
    let mut lines: Vec<&str> = source.lines().collect();
    let mut size = lines.len() / 2;
    loop {
        let before = lines.len();
        let mut at = 0;
        while at < lines.len() {
            let taken = [without(&lines, at, size), unwrapped(&lines, at)];
            let mut smaller = taken.into_iter().flatten();
            let smaller = smaller.find(|it| Monotonic.now_ns() < end && differs(&it.join("\n")));
            match smaller {
                Some(smaller) => lines = smaller,
                None => at += size.div_ceil(2),
            }
        }
        if Monotonic.now_ns() >= end || (size == 1 && lines.len() == before) {
            return lines.join("\n") + "\n";
        }
        size = (size / 2).max(1);
    }
}

/// Without some lines from `at` on, if they are whole blocks; one line that begins a block takes
/// all of that.
fn without<'a>(lines: &[&'a str], at: usize, size: usize) -> Option<Vec<&'a str>> {
    let mut depth = 0;
    let mut end = at;
    while end < lines.len() && (end < at + size || depth > 0) {
        let (less, more) = braces(lines[end]);
        if less > depth {
            break;
        }
        depth = depth - less + more;
        end += 1;
    }
    (end > at && depth == 0).then(|| [&lines[..at], &lines[end..]].concat())
}

/// Without the first and the last line of the block that begins at `at`.
fn unwrapped<'a>(lines: &[&'a str], at: usize) -> Option<Vec<&'a str>> {
    if braces(lines[at]) != (0, 1) {
        return None;
    }
    let indent = |line: &str| line.len() - line.trim_start().len();
    let inside = lines[at + 1..]
        .iter()
        .position(|it| indent(it) == indent(lines[at]) && it.trim_start().starts_with('}'))?;
    let end = at + 1 + inside;
    let is_plain = braces(lines[end]) == (1, 0);
    is_plain.then(|| [&lines[..at], &lines[at + 1..end], &lines[end + 1..]].concat())
}

/// Whether the line ends a block, and whether it begins one: the ways in which generated lines do.
fn braces(line: &str) -> (usize, usize) {
    let line = line.trim();
    (line.starts_with('}').into(), line.ends_with('{').into())
}
