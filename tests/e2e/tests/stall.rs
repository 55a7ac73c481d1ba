// SPDX-License-Identifier: Apache-2.0
//! `takt bench stall`: a real-time thread logs while ordinary threads wait in a pipe that nobody
//! reads.

use e2e::Run;

/// A thread that waited with them would end no window: the bench gives up after two minutes.
#[test]
fn a_full_pipe_keeps_no_real_time_thread_waiting() {
    let words = "bench stall --only e --releases 200 --warmup 50 --json";
    let run = Run::takt(&words.split(' ').collect::<Vec<_>>());
    assert_eq!(run.code, 0, "{run:#?}");
    let rows = run.json();
    let row = &rows[1];
    assert_eq!(row["load"], "e", "{run:#?}");
    assert!(row["releases"].as_u64() >= Some(200), "{row:#}");
    assert_eq!(row["memory_errors"], 0, "{row:#}");
}
