// SPDX-License-Identifier: Apache-2.0
//! An application's first day: what most applications do before anything of their own, step by
//! step. tests/apps/first-day/expected.txt says what each step gives, on both machines.

use std::path::Path;

use e2e::apps::{WAYS, Way, run, said};
use e2e::lines;

#[test]
fn each_step_gives_what_android_gives() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../apps/first-day/expected.txt");
    let mut expected = lines(&file);
    expected.retain(|it| !it.starts_with('#'));
    let services: Vec<&str> = [".Preferences", ".Device", ".Descriptors", ".Observers"]
        .iter()
        .flat_map(|it| ["--service", it])
        .collect();
    for way in WAYS {
        let run = run(way, "first-day", &services);
        let said = said(&run.stderr, "FirstDay");
        for (said, expected) in said.iter().zip(&expected) {
            assert_eq!(said, expected, "{way:?}: {run:#?}");
        }
        assert_eq!((said.len(), run.code), (expected.len(), 0), "{run:#?}");
    }
}

/// A package without code runs the framework's classes, and an alias that is disabled is no
/// launcher's.
#[test]
fn a_package_may_have_no_code_and_a_disabled_alias() {
    let run = run(Way::Takt, "bare", &["--until-started"]);
    let started = "started: activity org.example.bare.Shown";
    let said = said(&run.stderr, "Takt");
    assert!(said.iter().any(|it| it == started), "{run:#?}");
    assert_eq!(run.code, 0, "{run:#?}");
}
