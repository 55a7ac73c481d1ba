// SPDX-License-Identifier: Apache-2.0
//! `takt run --screen wayland` on a headless desktop: what a person does there, the application's
//! own log says, and what is seen is what a picture shows.

use std::path::Path;
use std::process::Command;

use e2e::Run;
use e2e::application::Application;
use e2e::apps::{Picture, Way, command, picture};
use e2e::desktop::{CORNER, Desktop};

const SIZE: (u32, u32) = (800, 480);

fn shown(app: &str, desktop: &Desktop, data: &Path) -> Command {
    let mut command = command(Way::Takt, app, data);
    command.args(["--screen", "wayland"]);
    command.envs(desktop.variables());
    command
}

/// Longer than scroll bars are seen after a window has come: then nothing of it moves any longer.
const AT_REST: &str = "--wait=3s";

/// The picture of the untouched form at rest, without a desktop.
fn drawn() -> Picture {
    let data = tempfile::tempdir().expect("a temporary directory");
    let file = data.path().join("drawn.png");
    let mut run = command(Way::Takt, "widgets", data.path());
    let run = Run::of(run.args([AT_REST, "--screenshot"]).arg(&file));
    assert_eq!(run.code, 0, "{run:#?}");
    picture(&file)
}

#[test]
fn a_form_in_a_window_does_what_a_person_does() {
    let mut desktop = Desktop::start();
    let data = tempfile::tempdir().expect("a temporary directory");
    let mut application = Application::start(&mut shown("widgets", &desktop, data.path()));
    application.await_line("focus true");
    desktop.mouse().click(60, 118);
    application.await_line("pressed 1");
    desktop.mouse().click(200, 166);
    desktop.write("Adä", "Return");
    application.await_line("name Adä");
    desktop.mouse().wheel(100, 400, 3);
    application.await_line("top ");
}

#[test]
fn a_window_shows_the_picture_takes_sizes_and_closes() {
    let desktop = Desktop::start();
    let data = tempfile::tempdir().expect("a temporary directory");
    let mut application = Application::start(&mut shown("widgets", &desktop, data.path()));
    application.await_line("focus true");
    desktop.await_picture(&drawn());
    let (x, y) = CORNER;
    desktop.command(&format!(
        "resize set 500 400, move absolute position {x} {y}"
    ));
    application.await_line("again, 500 wide");
    // What is beyond the window is the desktop, which is blue.
    let is_blue = |it: [u8; 3]| it == [0x20, 0x40, 0x60];
    desktop.await_seen(SIZE, |it| {
        is_blue(it.colour(510, 100)) && !is_blue(it.colour(490, 390))
    });
    desktop.command("kill");
    application.await_end();
}

/// A column of pixels through the text of the list's first row.
fn first_row(panel: &Picture) -> Vec<[u8; 3]> {
    let row = (80..140).flat_map(|y| (400..460).map(move |x| (x, y)));
    row.map(|(x, y)| panel.colour(x, y)).collect()
}

/// Nothing of the application waits for the desktop: it goes on, and it ends.
#[test]
fn a_desktop_that_stalls_stops_no_application() {
    let desktop = Desktop::start();
    let data = tempfile::tempdir().expect("a temporary directory");
    let mut run = shown("panel", &desktop, data.path());
    let mut application = Application::start(run.args(["--extra", "seconds=2"]));
    let has_text = |it: &Picture| first_row(it).windows(2).any(|it| it[0] != it[1]);
    let before = desktop.await_seen(SIZE, has_text);
    desktop.signal("-STOP");
    application.await_line("deadlines missed");
    desktop.signal("-CONT");
    // The list has scrolled meanwhile.
    desktop.await_seen(SIZE, |it| first_row(it) != first_row(&before));
    desktop.signal("-STOP");
    application.interrupt();
    application.await_end();
    desktop.signal("-CONT");
}

#[test]
fn a_desktop_that_goes_away_may_come_back() {
    let mut desktop = Desktop::start();
    let data = tempfile::tempdir().expect("a temporary directory");
    let mut application = Application::start(&mut shown("widgets", &desktop, data.path()));
    application.await_line("focus true");
    desktop.kill();
    application.await_line("the window's compositor is gone");
    desktop.again();
    application.await_line("the window is on a compositor again");
    desktop.await_picture(&drawn());
    desktop.mouse().click(60, 118);
    application.await_line("pressed 1");
    application.interrupt();
    application.await_end();
}

#[test]
fn without_a_desktop_it_says_so() {
    let refused = |variables: &[(&str, &str)], text: &str| {
        let data = tempfile::tempdir().expect("a temporary directory");
        let mut run = command(Way::Takt, "widgets", data.path());
        run.args(["--screen", "wayland"])
            .env_remove("WAYLAND_DISPLAY")
            .env("XDG_RUNTIME_DIR", data.path());
        let run = Run::of(run.envs(variables.iter().copied()));
        assert!(run.stderr.contains(text), "{run:#?}");
        assert_eq!(run.code, 2, "{run:#?}");
    };
    refused(&[], "--screen wayland: WAYLAND_DISPLAY is not set");
    let nobody = [("WAYLAND_DISPLAY", "wayland-7")];
    refused(
        &nobody,
        "--screen wayland: cannot connect to the compositor at ",
    );
}
