// SPDX-License-Identifier: Apache-2.0
//! `takt bench rpc` and `ipc`: calls between two processes are measured, each way with its figures.
//! Times are the machine's; what is judged in the lab is not judged here.

use e2e::Run;

#[test]
fn calls_are_measured_beside_ordinary_callers_and_a_hog() {
    let words = "bench rpc --callers 0,5 --calls 50 --json";
    let run = Run::takt(&words.split(' ').collect::<Vec<_>>());
    assert_eq!(run.code, 0, "{run:#?}");
    let rows = run.json();
    let rows = rows.as_array().expect("rows");
    let setup = |it: &serde_json::Value| (it["callers"].as_u64(), it["has_hog"].as_bool());
    let setups: Vec<_> = rows.iter().map(setup).collect();
    let expected = [(0, false), (5, false), (0, true)];
    assert_eq!(setups, expected.map(|it| (Some(it.0), Some(it.1))));
    for row in rows {
        assert_eq!(row["transport"], "lent");
        assert!(row["call"]["max_ns"].as_u64() > Some(0), "{row:#}");
        assert!(row["back"]["max_ns"].as_u64() > Some(0), "{row:#}");
    }
    assert!(rows[1]["others"].as_u64() >= Some(10), "{:#}", rows[1]);
}

#[test]
fn the_extended_driver_is_measured_in_a_guest() {
    let words = "bench rpc --lab --transport extended --callers 0 --calls 10 --seeds 1 --json";
    let run = Run::takt(&words.split(' ').collect::<Vec<_>>());
    assert_eq!(run.code, 0, "{run:#?}");
    let rows = run.json();
    for row in rows.as_array().expect("rows") {
        assert_eq!(row["transport"], "extended");
        assert!(row["call"]["max_ns"].as_u64() > Some(0), "{row:#}");
    }
}

#[test]
fn a_round_trip_is_measured_in_three_ways() {
    let run = Run::takt(&["bench", "ipc", "--calls", "50", "--windows", "2", "--json"]);
    assert_eq!(run.code, 0, "{run:#?}");
    let rows = run.json();
    for bytes in [4, 124] {
        for way in ["lent", "bare futex", "unix socket"] {
            let is_it = |it: &&serde_json::Value| it["way"] == way && it["bytes"] == bytes;
            let row = rows.as_array().and_then(|all| all.iter().find(is_it));
            let count = row.and_then(|it| it["count"].as_u64());
            assert_eq!(count, Some(100), "{way}, {bytes}");
        }
    }
}
