// SPDX-License-Identifier: Apache-2.0
//! An application's first day: what most applications do before anything of their own, step by
//! step. tests/apps/first-day/expected.txt says what each step gives, on both machines.

use std::path::Path;

use e2e::apps::{WAYS, Way, command, run, said};
use e2e::{Run, lines};

/// What each day is, in the order of the expected lines.
const DAYS: [&str; 11] = [
    ".Preferences",
    ".Device",
    ".Descriptors",
    ".Sockets",
    ".Observers",
    ".Zones",
    ".Words",
    ".Records",
    ".Owners",
    ".Choices",
    ".Clips",
];

#[test]
fn each_step_gives_what_android_gives() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../apps/first-day/expected.txt");
    let mut expected = lines(&file);
    expected.retain(|it| !it.starts_with('#'));
    for way in WAYS {
        let data = tempfile::tempdir().expect("a temporary directory");
        let run = days(way, data.path(), &DAYS);
        let said = said(&run.stderr, "FirstDay");
        for (said, expected) in said.iter().zip(&expected) {
            assert_eq!(said, expected, "{way:?}: {run:#?}");
        }
        assert_eq!((said.len(), run.code), (expected.len(), 0), "{run:#?}");
        settings_are_kept(way, data.path());
    }
}

/// In the place where the machine's time zone is known, wherever the test runs.
fn days(way: Way, data: &Path, days: &[&str]) -> Run {
    let services = days.iter().flat_map(|it| ["--service", it]);
    let mut command = command(way, "first-day", data);
    // A confined package has no local sockets: docs/operate/security.md.
    command.args(["--sandbox", "none"]);
    command.args(["--anr", "60s"]).args(services);
    Run::of(command.env("TZ", "Europe/Berlin"))
}

/// The process after the first one finds what that one has chosen.
fn settings_are_kept(way: Way, data: &Path) {
    let run = days(way, data, &[".Choices"]);
    let said = said(&run.stderr, "FirstDay");
    assert!(said.iter().any(|it| it == "brightness: 77"), "{run:#?}");
    assert!(said.iter().any(|it| it == "airplane: 0"), "{run:#?}");
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
