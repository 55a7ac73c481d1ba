// SPDX-License-Identifier: Apache-2.0
//! `takt run` with a display: AOSP's views in a picture, and what taps, text and keys do. The
//! pictures of both machines are the same to the last byte.

use std::path::Path;
use std::process::Command;

use e2e::Run;
use e2e::application::Application;
use e2e::apps::{WAYS, Way, command, run, said};

/// Where things lie on a display of 800 by 480.
const PRESS: &str = "--tap=60,118";
const NAME: &str = "--tap=200,166";
const AGREE: &str = "--tap=30,204";
const THIRD: &str = "--tap=100,342";

fn picture(folder: &Path, name: &str) -> Vec<u8> {
    let path = folder.join(name);
    let bytes = std::fs::read(&path);
    bytes.unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn a_form_is_drawn_and_does_what_it_is_told() {
    let pictures = WAYS.map(|way| {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let shot = |name: &str| format!("--screenshot={}", folder.path().join(name).display());
        let (before, pressed, filled) = (shot("before"), shot("pressed"), shot("filled"));
        let run = run(
            way,
            "widgets",
            &[
                &before,
                PRESS,
                &pressed,
                NAME,
                "--text=Ada",
                "--key=ENTER",
                AGREE,
                THIRD,
                &filled,
            ],
        );
        let expected = [
            "focus true",
            "pressed 1",
            "name Ada",
            "name Ada",
            "agreed true",
            "row third",
        ];
        let said = said(&run.stderr, "Widgets");
        // An editor hears of the key when it goes down and when it goes up, as on Android.
        assert_eq!(said[..6], expected, "{run:#?}");
        assert_eq!(run.code, 0, "{run:#?}");
        ["before", "pressed", "filled"].map(|name| picture(folder.path(), name))
    });
    let [ours, hotspot] = &pictures;
    assert!(ours == hotspot, "the two machines draw differently");
    let [before, pressed, filled] = ours;
    assert!(before != pressed, "the tap changed nothing that is seen");
    assert!(pressed != filled, "the text changed nothing that is seen");
}

/// While its window is there: a report at the end has none.
#[test]
fn who_attaches_hears_how_windows_lie_in_memory() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let mut command = command(Way::Takt, "widgets", data.path());
    command.args(["--sandbox=none", "--screen=picture", "--wait=100s"]);
    let mut application = Application::start(&mut command);
    let line = application.await_line("focus true");
    // Date, time, process.
    let pid = line.split_whitespace().nth(2).expect("a number");
    let run = Run::of(Command::new("jcmd").args([pid, "Takt.superpages"]));
    let granted = "KiB of it in superpages";
    let of = |what: &str| {
        let mut lines = run.stdout.lines().filter(|it| it.ends_with(granted));
        let line = lines.find(|it| it.starts_with(what));
        let line = line.unwrap_or_else(|| panic!("no {what} in {run:#?}"));
        line.split_whitespace().nth(3)?.parse::<u64>().ok()
    };
    assert!(of("heap in memory: ") > Some(0), "{run:#?}");
    // Two buffers of 800 by 480.
    assert!(of("windows in memory: ") >= Some(2 * 1500), "{run:#?}");
    drop(application);
}

/// A dialog, a menu, a list of choices: windows above the activity's own.
#[test]
fn other_windows_lie_above_an_activitys_own() {
    let run = run(
        Way::Takt,
        "dialogs",
        &[
            "--tap=100,72",
            "--tap=560,291",
            "--tap=100,72",
            "--key=BACK",
            "--tap=100,120",
            "--tap=40,216",
            "--tap=100,216",
            "--tap=20,248",
            "--tap=100,168",
        ],
    );
    let expected = [
        "colour red",
        "yes",
        "cancelled",
        "chosen Two",
        "colour blue",
    ];
    assert_eq!(said(&run.stderr, "Dialogs"), expected, "{run:#?}");
    assert_eq!(run.code, 0, "{run:#?}");
}

/// The activity ends, and with it the application: no step comes after the last window.
#[test]
fn back_ends_an_activity_where_nothing_takes_it() {
    let run = run(Way::Takt, "widgets", &["--key=BACK", "--wait=1h"]);
    assert_eq!(run.code, 0, "{run:#?}");
    let end = "no activity, service or broadcast is left";
    assert!(run.stderr.contains(end), "{run:#?}");
}

/// An activity whose manifest names all that a turn changes is told of it. One that names a part is
/// made anew, and an alias has what its target names.
#[test]
fn an_activity_is_told_of_changes_that_its_manifest_names() {
    let told = ["created, 800 wide", "told, 480 wide, resources 480"];
    let anew = ["created, 800 wide", "destroyed", "created again, 480 wide"];
    for (activity, expected) in [(".Steady", &told[..]), (".Alias", &told), (".Anew", &anew)] {
        let run = run(
            Way::Takt,
            "widgets",
            &["--activity", activity, "--rotate", "--wait=1s"],
        );
        assert_eq!(run.code, 0, "{run:#?}");
        let said = said(&run.stderr, "Widgets");
        assert_eq!(said[..said.len() - 1], *expected, "{activity}: {run:#?}");
        assert_eq!(said[said.len() - 1], "destroyed", "{run:#?}");
    }
}

#[test]
fn a_step_that_cannot_be_done_says_its_name() {
    let refused = |options: &[&str], text: &str| {
        let run: Run = run(Way::Takt, "widgets", options);
        assert!(run.stderr.contains(text), "{run:#?}");
        assert_eq!(run.code, 2, "{run:#?}");
    };
    refused(
        &["--text=lost"],
        "--text lost: no view that takes text has the focus",
    );
    refused(
        &["--key=NOKEY"],
        "--key NOKEY: no key of Android's has this name",
    );
    let nowhere = "--screenshot=/nowhere/a.png";
    refused(
        &[nowhere],
        "--screenshot /nowhere/a.png: cannot write /nowhere/a.png",
    );
    refused(&["--tap=1"], "X,Y in pixels is wanted");
    refused(
        &["--display=8"],
        "WIDTHxHEIGHT or WIDTHxHEIGHT@DPI is wanted",
    );
}

/// In the lab's guest there is one: crates/console/tests/guest.rs.
#[test]
fn without_a_graphics_card_it_says_so() {
    if Path::new("/dev/dri").exists() {
        eprintln!("this machine has a graphics card");
        return;
    }
    let run = run(Way::Takt, "widgets", &["--screen=drm"]);
    let text = "--screen drm: there is no graphics card";
    assert!(run.stderr.contains(text), "{run:#?}");
    assert_eq!(run.code, 2, "{run:#?}");
}
