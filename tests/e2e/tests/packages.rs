// SPDX-License-Identifier: Apache-2.0
//! `takt run` over other people's packages on our machine: each ends as tests/apk/run.txt says. The
//! list may only grow: more ways to start a package, and "started" where an unsupported feature
//! stood.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use e2e::{Run, cache, lines};

const PACKAGES: &str = "apks/fdroidserver-2.4.5/tests";
/// Packages that run at once.
const WORKERS: usize = 2;

/// How `takt run NAME OPTIONS` ends, in the words of the list's head.
fn outcome(name: &str, options: &str) -> String {
    let data = tempfile::tempdir().expect("a temporary directory");
    let file = cache().join(PACKAGES).join(name);
    assert!(file.exists(), "{}: run tools/setup", file.display());
    let (file, data) = (file.to_string_lossy(), data.path().to_string_lossy());
    let mut words = vec!["run", &file, "--until-started", "--data", &data];
    words.extend(options.split_whitespace());
    let run = Run::takt(&words);
    let log = |start: &str| {
        let of = |line: &str| Some(line.split_once(start)?.1.to_owned());
        run.stderr.lines().rev().find_map(of)
    };
    let unsupported = run.stderr.lines().rev().find_map(|line| {
        let (text, _) = line.split_once(" is not supported by Takt yet")?;
        line.contains("AndroidRuntime").then_some(())?;
        text.rsplit("Exception: ").next()
    });
    let own = log(", PID: ").and_then(|_| first_after_process(&run.stderr));
    let cause = log(" E AndroidRuntime: Caused by: ").or(own);
    let cause = cause.map(|it| it.split(" on path: ").next().unwrap_or_default().to_owned());
    match (run.code, unsupported) {
        (0, _) if log(": nothing to launch: ").is_some() => "nothing to launch".to_owned(),
        (0, _) => match log(": started: ") {
            Some(what) => format!("started {what}"),
            None => run.stderr,
        },
        (1, Some(what)) => format!("unsupported {what}"),
        (1, None) if cause.is_some() => format!("throws {}", cause.unwrap_or_default()),
        (2, _) if run.stderr.contains(": refused: ") => "refused".to_owned(),
        (code, _) => format!("ends with {code}: {}", run.stderr),
    }
}

/// What was thrown, behind "FATAL EXCEPTION" and "Process".
fn first_after_process(log: &str) -> Option<String> {
    let mut lines = log.lines().map(|it| it.split_once(" E AndroidRuntime: "));
    lines.find(|it| it.is_some_and(|(_, text)| text.starts_with("Process: ")))?;
    Some(lines.next()??.1.to_owned())
}

fn list() -> Vec<String> {
    let all = lines(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../apk/run.txt"));
    all.into_iter().filter(|it| !it.starts_with('#')).collect()
}

/// "NAME<tab>OPTIONS<tab>OUTCOME".
fn fields(line: &str) -> [&str; 3] {
    let fields: Vec<&str> = line.split('\t').collect();
    fields.try_into().expect("three fields")
}

#[test]
fn packages_end_as_listed() {
    let (list, next) = (list(), AtomicUsize::new(0));
    let work = || {
        let mut wrong = Vec::new();
        while let Some(line) = list.get(next.fetch_add(1, Ordering::Relaxed)) {
            let [name, options, expected] = fields(line);
            let outcome = outcome(name, options);
            if outcome != expected {
                wrong.push(format!("{name}\t{options}\t{outcome}"));
            }
        }
        wrong
    };
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(work)).collect();
        let results = workers.into_iter().map(|it| it.join().expect("no panic"));
        results.flatten().collect()
    });
    assert!(
        wrong.is_empty(),
        "these end otherwise:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn every_package_is_listed() {
    let place = cache().join(PACKAGES);
    let listed: BTreeSet<PathBuf> = list()
        .iter()
        .map(|line| place.join(fields(line)[0]))
        .collect();
    for folder in [place.clone(), place.join("repo")] {
        for entry in std::fs::read_dir(folder).expect("run tools/setup") {
            let path = entry.expect("an entry").path();
            let is_package = path.extension().is_some_and(|it| it == "apk");
            assert!(!is_package || listed.contains(&path), "{}", path.display());
        }
    }
}
