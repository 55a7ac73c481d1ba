// SPDX-License-Identifier: Apache-2.0
//! AOSP's SQLite through its own Java: 100,000 rows in transactions of a thousand, read whole, and
//! killed twice on the way.

use e2e::Run;
use e2e::application::Application;
use e2e::apps::{Way, command, said};

const AT_ONCE: u64 = 1000;
const TOTAL: u64 = 100_000;

fn start(data: &std::path::Path) -> std::process::Command {
    let mut ledger = command(Way::Takt, "ledger", data);
    ledger.args(["--service", ".Bookkeeper"]);
    ledger
}

/// The rows that a process found, and that the file was in order.
fn found(line: &str) -> u64 {
    let (_, rest) = line.split_once("found ").expect("what was found");
    let (count, rest) = rest.split_once(',').expect("a count");
    assert_eq!(rest, " integrity ok");
    count.parse().expect("a number")
}

#[test]
fn what_a_transaction_kept_is_there_after_kill_9() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let mut kept = 0;
    for until in [30_000, 70_000] {
        let mut ledger = Application::start(&mut start(data.path()));
        let begun = found(&ledger.await_line("found "));
        // What was said to be kept, and at most one transaction more.
        assert!([kept, kept + AT_ONCE].contains(&begun), "{begun} of {kept}");
        ledger.await_line(&format!("kept {until}"));
        let seen = ledger.kill();
        let last = seen.iter().rev().find_map(|it| it.split_once("kept "));
        kept = last.expect("a transaction").1.parse().expect("a number");
        assert!(until <= kept && kept < TOTAL, "killed on the way");
    }
    let run = Run::of(&mut start(data.path()));
    let said = said(&run.stderr, "Ledger");
    let begun = found(&said[0]);
    assert!([kept, kept + AT_ONCE].contains(&begun), "{begun} of {kept}");
    let last = said.last().expect("lines");
    assert_eq!(last, "read 100000, of 7: 100, integrity ok", "{run:#?}");
    assert_eq!(run.code, 0);
}
