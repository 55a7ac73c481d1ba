// SPDX-License-Identifier: Apache-2.0
//! Broadcasts in the order of their priority, with all processes that they go through: the server
//! of `takt system`, senders and a receiver, by `takt bench`.

use e2e::Run;
use serde_json::Value;

fn number(row: &Value, name: &str) -> u64 {
    row[name].as_u64().expect(name)
}

#[test]
fn a_less_urgent_broadcast_never_goes_before_one_that_waits_as_well() {
    let rows = Run::takt(&["bench", "intent-order", "--rounds", "60", "--json"]).json();
    let ours = &rows[0]["races"];
    for kind in ["races", "of_turns", "stayed"] {
        assert!(number(ours, kind) > 0, "{kind}: {rows}");
    }
    assert_eq!(number(ours, "failures"), 0, "{rows}");
    assert!(number(&rows[1]["races"], "failures") > 0, "{rows}");
}

/// Ten ordinary threads of one package send without a pause.
#[test]
fn a_storm_of_an_ordinary_package_loses_no_urgent_broadcast_and_ends_nobody() {
    let words = [
        "bench",
        "intents",
        "--order",
        "storm",
        "--broadcasts",
        "500",
    ];
    let rows = Run::takt(&[&words[..], &["--json"]].concat()).json();
    let times = &rows[0]["times"];
    assert_eq!(number(times, "count"), 100, "{rows}");
    assert_eq!(number(times, "at_other_priority"), 0, "{rows}");
    assert!(number(times, "ordinary") > 0, "{rows}");
}
