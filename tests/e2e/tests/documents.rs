// SPDX-License-Identifier: Apache-2.0
//! Every command of README.md and docs/use, run as it stands: blocks marked `sh` here, those marked
//! `sh long` by `make soak`.
//!
//! The blocks of a page run one after another in one shell, from the tree's root, with the built
//! `takt` on the path. README's two `make` commands are not blocks: one of them runs this test.

use std::path::{Path, PathBuf};
use std::process::Command;

use e2e::{Run, takt_path};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
/// Of a page: none waits for a person.
const SECONDS_MAX: &str = "600";

/// README and the pages of docs/use, by name.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(ROOT);
    let entries = std::fs::read_dir(root.join("docs/use")).expect("docs/use is there");
    let mut pages: Vec<_> = entries.map(|it| it.expect("an entry").path()).collect();
    pages.retain(|it| it.extension().is_some_and(|it| it == "md"));
    pages.push(root.join("README.md"));
    pages.sort();
    pages
}

/// The text of all blocks of a kind in a page, in their order.
fn blocks(page: &str, kind: &str) -> String {
    let mut found = String::new();
    let mut fence: Option<&str> = None;
    for line in page.lines() {
        match (fence, line.strip_prefix("```")) {
            (None, Some(opened)) => fence = Some(opened.trim()),
            (Some(_), Some(_)) => fence = None,
            (Some(open), None) if open == kind => {
                found.push_str(line);
                found.push('\n');
            }
            _ => {}
        }
    }
    found
}

/// Runs what the pages show; says of each page that fails which command it was.
fn run_all(kinds: &[&str]) {
    let path = std::env::var("PATH").expect("there is a PATH");
    let takt = takt_path();
    let beside = takt.parent().expect("it lies somewhere").display();
    // The user's own data may be another build's, whose packages another key signed.
    let data = tempfile::tempdir().expect("a temporary directory");
    let mut ran = 0;
    let mut failed = Vec::new();
    for page in pages() {
        let text = std::fs::read_to_string(&page).expect("a page reads");
        let commands: String = kinds.iter().map(|it| blocks(&text, it)).collect();
        if commands.is_empty() {
            continue;
        }
        ran += 1;
        let run = Run::of(
            Command::new("timeout")
                .args([SECONDS_MAX, "bash", "-euxo", "pipefail", "-c", &commands])
                .current_dir(ROOT)
                .env("PATH", format!("{beside}:{path}"))
                .env("XDG_DATA_HOME", data.path()),
        );
        if run.code != 0 {
            let last: Vec<_> = run.stderr.lines().rev().take(30).collect();
            let last: Vec<_> = last.into_iter().rev().collect();
            failed.push(format!(
                "{}: exit code {}\n{}",
                page.display(),
                run.code,
                last.join("\n")
            ));
        }
    }
    assert!(ran > 0, "no page shows a command");
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

#[test]
fn the_commands_of_the_pages_run() {
    run_all(&["sh"]);
}

#[test]
#[ignore = "some minutes: make soak"]
fn the_long_commands_of_the_pages_run() {
    run_all(&["sh", "sh long"]);
}

#[test]
fn blocks_are_told_by_their_kind() {
    let page = "```sh\na\nb\n```\n```text\nc\n```\n```sh long\nd\n```\n```sh\ne\n```\n";
    assert_eq!(blocks(page, "sh"), "a\nb\ne\n");
    assert_eq!(blocks(page, "sh long"), "d\n");
}
