// SPDX-License-Identifier: Apache-2.0
//! Sound at 2.67 ms in a deterministic guest: an excerpt of `cargo xtask soak --only audio-lab`.
#![forbid(unsafe_code)]

use e2e::Run;

#[test]
fn bursts_that_jump_beside_a_load_have_no_underrun() {
    let lab = ["bench", "audio", "--lab", "--check", "--json"];
    let ours = ["--only", "ours", "--load", "hackbench-like"];
    let short = ["--step", "250ms", "--turns", "2", "--random", "2"];
    let run = Run::takt(&[&lab[..], &ours, &short].concat());
    let rows = run.json();
    let row = &rows[0];
    // Four steps of 187 bursts, and the last call's.
    assert_eq!(row["bursts"], 4 * 187, "{rows:#}");
    assert_eq!(row["underruns"], 0, "{rows:#}");
    assert_eq!(row["latency_ns"], 2_666_666, "{rows:#}");
    assert_eq!(run.code, 0, "{run:#?}");
}
