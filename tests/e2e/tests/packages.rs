// SPDX-License-Identifier: Apache-2.0
//! `takt run` over other people's packages on our machine: each ends as tests/apk/run.txt says. The list may only grow: more
//! packages, and "started" where an unsupported feature stood.

use std::path::Path;

use e2e::{Run, cache, lines};

const PACKAGES: &str = "apks/fdroidserver-2.4.5/tests";

/// "NAME<tab>started", or "NAME<tab>unsupported<tab>WHAT", or "NAME<tab>refused", or the last lines of what else happened.
fn outcome(name: &str) -> String {
    let data = tempfile::tempdir().expect("a temporary directory");
    let file = cache().join(PACKAGES).join(name);
    assert!(file.exists(), "{}: run tools/setup", file.display());
    let (file, data) = (file.to_string_lossy(), data.path().to_string_lossy());
    let run = Run::takt(&["run", &file, "--until-started", "--data", &data]);
    let unsupported = run.stderr.lines().rev().find_map(|line| {
        let (text, _) = line.split_once(" is not supported by Takt yet")?;
        line.contains("AndroidRuntime").then_some(())?;
        text.rsplit(' ').next()
    });
    match (run.code, unsupported) {
        (0, _) if run.stderr.contains(": started: ") => format!("{name}\tstarted"),
        (1, Some(what)) => format!("{name}\tunsupported\t{what}"),
        (2, _) if run.stderr.contains(": refused: ") => format!("{name}\trefused"),
        _ => format!("{name}\t{}", run.stderr),
    }
}

#[test]
fn packages_end_as_listed() {
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("../apk/run.txt");
    for expected in lines(&list) {
        let name = expected.split('\t').next().expect("a name");
        assert_eq!(outcome(name), expected);
    }
}
