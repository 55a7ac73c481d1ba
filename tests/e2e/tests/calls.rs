// SPDX-License-Identifier: Apache-2.0
//! `takt bench rpc`, `rpc-scale` and `ipc`: calls between two processes are measured, each way with
//! its figures.
//! Times are the machine's; what is judged in the lab is not judged here.

use e2e::Run;

#[test]
fn calls_are_measured_beside_ordinary_callers_and_a_hog() {
    let words = "bench rpc --callers 0,5 --calls 50 --java --no-control --json";
    let run = Run::takt(&words.split(' ').collect::<Vec<_>>());
    assert_eq!(run.code, 0, "{run:#?}");
    let rows = run.json();
    let rows = rows.as_array().expect("rows");
    let setup = |it: &serde_json::Value| {
        let is = |name| it[name].as_bool().expect("a boolean");
        (it["callers"].as_u64(), is("has_hog"), is("is_java"))
    };
    let setups: Vec<_> = rows.iter().map(setup).collect();
    let expected = [
        (0, false, false),
        (5, false, false),
        (0, true, false),
        (0, false, true),
        (5, false, true),
    ];
    assert_eq!(setups, expected.map(|it| (Some(it.0), it.1, it.2)));
    for row in rows {
        assert_eq!(row["transport"], "lent");
        assert!(row["call"]["max_ns"].as_u64() > Some(0), "{row:#}");
        assert!(row["back"]["max_ns"].as_u64() > Some(0), "{row:#}");
    }
    for row in [&rows[1], &rows[4]] {
        assert!(row["others"].as_u64() >= Some(10), "{row:#}");
    }
}

#[test]
fn callers_in_a_guest_keep_their_order() {
    let words = "bench rpc-scale --lab --callers 4 --rounds 30 --others 5 --seeds 1 --check --json";
    let run = Run::takt(&words.split(' ').collect::<Vec<_>>());
    assert_eq!(run.code, 0, "{run:#?}");
    let rows = run.json();
    let rows = rows.as_array().expect("rows");
    for row in rows {
        assert_eq!(row["calls"], 4 * 30);
        assert_eq!(row["inverted"], 0);
        let is_idle = row["service_us"] == 0;
        assert!(is_idle || row["pairs"].as_u64() > Some(0), "{row:#}");
    }
    assert_eq!(
        rows.len(),
        4,
        "two services, each with one looper and with two"
    );
}

#[test]
fn callers_are_measured_with_one_looper_and_with_two() {
    let words = "bench rpc-scale --callers 1,3 --rounds 10 --windows 2";
    let run = Run::takt(&words.split(' ').collect::<Vec<_>>());
    assert_eq!(run.code, 0, "{run:#?}");
    let text = "Service 200 µs, most callers: the median with two loopers is";
    assert!(run.stdout.contains(text), "{run:#?}");
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
fn a_round_trip_is_measured_in_each_way() {
    let words = "bench ipc --calls 50 --windows 2 --java --json";
    let run = Run::takt(&words.split(' ').collect::<Vec<_>>());
    assert_eq!(run.code, 0, "{run:#?}");
    let rows = run.json();
    let mut ways = vec![
        "lent",
        "lent, filtered",
        "lent, Java",
        "bare futex",
        "unix socket",
    ];
    if std::thread::available_parallelism().is_ok_and(|it| it.get() > 1) {
        ways.extend(["lent, spinning", "unix socket, apart"]);
    }
    for bytes in [4, 124] {
        for &way in &ways {
            let is_it = |it: &&serde_json::Value| it["way"] == way && it["bytes"] == bytes;
            let row = rows.as_array().and_then(|all| all.iter().find(is_it));
            let count = row.and_then(|it| it["count"].as_u64());
            assert_eq!(count, Some(100), "{way}, {bytes}");
        }
    }
}
