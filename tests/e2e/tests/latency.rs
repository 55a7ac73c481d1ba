// SPDX-License-Identifier: Apache-2.0
//! `takt latency` measures what it says, keeps every value, and fails with a reason.
#![forbid(unsafe_code)]

use e2e::{Run, lines};

#[test]
fn every_release_is_a_value_or_an_overrun() {
    let out = tempfile::tempdir().unwrap();
    let directory = out.path().to_str().unwrap();
    let run = Run::takt(&[
        "latency", "-D", "500ms", "-t", "2", "--json", "--out", directory,
    ]);
    let json = run.json();
    for thread in json["threads"].as_array().unwrap() {
        let (count, overruns) = (&thread["count"], &thread["overrun_count"]);
        // Overruns of the loop's last turn lie beyond the 500 releases.
        let (count, overruns) = (count.as_u64().unwrap(), overruns.as_u64().unwrap());
        assert!(count <= 500 && 500 <= count + overruns, "{json:#}");
        assert!(
            thread["min_ns"].as_u64() <= thread["p50_ns"].as_u64(),
            "{json:#}"
        );
        assert!(
            thread["p99_99_ns"].as_u64() <= thread["max_ns"].as_u64(),
            "{json:#}"
        );
    }
    let total = json["all"]["count"].as_u64().unwrap();
    let samples = lines(&out.path().join("samples.csv"));
    assert_eq!(samples[0], "index,thread_0_ns,thread_1_ns");
    let filled = |line: &String| line.split(',').skip(1).filter(|it| !it.is_empty()).count() as u64;
    assert_eq!(samples[1..].iter().map(filled).sum::<u64>(), total);
    let buckets = lines(&out.path().join("histogram.csv"));
    let count = |line: &String| line.rsplit(',').next().unwrap().parse::<u64>().unwrap();
    assert_eq!(buckets[1..].iter().map(count).sum::<u64>(), total);
    assert!(
        std::fs::read(out.path().join("latency.png"))
            .unwrap()
            .starts_with(b"\x89PNG")
    );
    assert!(
        lines(&out.path().join("latency.svg"))
            .concat()
            .contains("takt latency")
    );
}

#[test]
fn cyclictest_runs_beside_under_each_load() {
    for load in ["none", "hackbench-like", "memory"] {
        let args = [
            "latency",
            "-D",
            "600ms",
            "--load",
            load,
            "--compare",
            "cyclictest",
            "--json",
        ];
        let json = Run::takt(&args).json();
        assert_eq!(json["cyclictest"]["count"], 600, "{json:#}");
        assert!(json["median_ratio"].as_f64().unwrap() > 0.0, "{json:#}");
        assert_eq!(json["load"], load);
    }
}

#[test]
fn an_ordinary_user_gets_a_marked_result_or_a_refusal() {
    let run = Run::takt_as_nobody(&["latency", "-D", "50ms", "--json"]);
    let json = run.json();
    assert_eq!(
        (run.code, &json["is_degraded"]),
        (0, &true.into()),
        "{json:#}"
    );
    assert_eq!(json["policy_granted"], "other (nice 0)");
    let remarks = json["remarks"].to_string();
    assert!(
        remarks.contains("CAP_IPC_LOCK") && remarks.contains("CAP_SYS_NICE"),
        "{remarks}"
    );
    assert!(remarks.contains("limits.d"), "{remarks}");

    let run = Run::takt_as_nobody(&["latency", "-D", "50ms"]);
    assert!(
        run.stdout.contains("DEGRADED: measured as other"),
        "{run:#?}"
    );

    let run = Run::takt_as_nobody(&["latency", "-D", "50ms", "--strict"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{run:#?}");
    assert!(run.stderr.contains("CAP_IPC_LOCK"), "{run:#?}");
}

#[test]
fn impossible_wishes_are_refused_with_the_reason() {
    for (args, reason) in [
        (["-D", "1us"].as_slice(), "shorter than one --period"),
        (&["--period", "0s"], "no usable time"),
        (&["--priority", "100"], "1..=99"),
        (&["--affinity", "3-1"], "no list of CPUs"),
        (&["--affinity", "1000", "-D", "10ms"], "on CPUs 1000"),
        (&["--runtime", "1ms"], "--policy deadline"),
        (
            &["--policy", "deadline", "--compare", "cyclictest"],
            "knows no SCHED_DEADLINE",
        ),
        (
            &["--policy", "deadline", "--runtime", "2ms", "-D", "10ms"],
            "runtime ≤ deadline ≤ period",
        ),
        (&["--out", "/proc/none"], "cannot make /proc/none"),
    ] {
        let run = Run::takt(&[&["latency", "--strict"], args].concat());
        assert_eq!(
            (run.code, run.stdout.as_str()),
            (2, ""),
            "{args:?}: {run:#?}"
        );
        assert!(run.stderr.contains(reason), "{args:?}: {run:#?}");
    }
}
