// SPDX-License-Identifier: Apache-2.0
//! Surfaces that an application draws itself: SurfaceView below and above its window, its
//! callbacks, canvases of threads, and a game that is played to a landing and to a crash.

use e2e::Run;
use e2e::apps::{WAYS, Way, colour, run, said};

const RED: [u8; 3] = [255, 0, 0];
const GREEN: [u8; 3] = [0, 255, 0];
const BLUE: [u8; 3] = [0, 0, 255];
const YELLOW: [u8; 3] = [255, 255, 0];
const WHITE: [u8; 3] = [255, 255, 255];

/// What the application says: its callbacks in AOSP's order.
const CALLBACKS: [&str; 18] = [
    "below created, valid true",
    "below changed 300x200",
    "below redraw",
    "above created, valid true",
    "above changed 200x200",
    "above redraw",
    "touched 150 150",
    "dirty [0,100][20,120]",
    "below changed 30x20",
    "below redraw",
    "below destroyed, valid true",
    "canvas null, valid false",
    "IllegalStateException",
    "below created, valid true",
    "below changed 30x20",
    "below redraw",
    "below destroyed, valid true",
    "above destroyed, valid true",
];

#[test]
fn views_with_surfaces_lie_below_and_above_their_window() {
    for way in WAYS {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let at = |name: &str| folder.path().join(name);
        let shot = |name: &str| format!("--screenshot={}", at(name).display());
        let run = run(
            way,
            "surfaces",
            &[
                &shot("first"),
                "--tap=150,150",
                "--key=D",
                &shot("part"),
                "--key=M",
                &shot("moved"),
                "--key=R",
                &shot("stretched"),
                "--key=H",
                "--key=G",
                &shot("hidden"),
                "--key=S",
                &shot("again"),
            ],
        );
        assert_eq!(run.code, 0, "{run:#?}");
        assert_eq!(said(&run.stderr, "Surfaces"), CALLBACKS, "{run:#?}");
        let is = |name: &str, places: &[(usize, usize, [u8; 3])]| {
            for &(x, y, wanted) in places {
                let found = colour(&at(name), x, y);
                assert_eq!(found, wanted, "{name} at {x},{y}: {way:?}");
            }
        };
        // The text is the window's, over the surface below it.
        is(
            "first",
            &[
                (5, 38, WHITE),
                (150, 150, RED),
                (405, 5, YELLOW),
                (500, 100, BLUE),
            ],
        );
        is("part", &[(5, 110, GREEN), (25, 110, RED), (5, 130, RED)]);
        is("moved", &[(340, 150, RED), (55, 110, GREEN)]);
        is(
            "stretched",
            &[(140, 90, YELLOW), (160, 110, RED), (340, 190, RED)],
        );
        assert_ne!(colour(&at("hidden"), 340, 150), RED, "{way:?}");
        is("again", &[(340, 150, RED)]);
    }
}

/// `lockHardwareCanvas`: the canvas is AOSP's that records, so it says that it is accelerated; its
/// renderer draws in software, and what was posted last is shown.
#[test]
fn a_hardware_canvas_is_drawn_by_the_renderer_and_shown() {
    for way in WAYS {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let file = folder.path().join("drawn");
        let shot = format!("--screenshot={}", file.display());
        let run = run(way, "surfaces", &["--key=W", &shot]);
        assert_eq!(run.code, 0, "{run:#?}");
        let said = said(&run.stderr, "Surfaces");
        let hardware = said.iter().filter(|it| it.starts_with("hardware"));
        assert!(hardware.eq(&["hardware true 300x200"; 2]), "{run:#?}");
        for (x, y, wanted) in [(150, 150, GREEN), (210, 110, YELLOW), (5, 100, GREEN)] {
            assert_eq!(colour(&file, x, y), wanted, "{x},{y}: {way:?}");
        }
    }
}

/// A view in the window whose frames an application draws, by the view and by a Surface of its own.
#[test]
fn a_texture_view_shows_what_was_drawn_elsewhere() {
    for way in WAYS {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let at = |name: &str| folder.path().join(name);
        let shot = |name: &str| format!("--screenshot={}", at(name).display());
        let options = [&shot("first")[..], "--key=X", &shot("part")];
        let run = run(way, "surfaces", &options);
        assert_eq!(run.code, 0, "{run:#?}");
        let expected = [
            "available 200x100",
            "updated",
            "released",
            "updated",
            "destroyed",
        ];
        assert_eq!(said(&run.stderr, "Texture"), expected, "{run:#?}");
        assert_eq!(colour(&at("first"), 150, 350), [255, 0, 255], "{way:?}");
        assert_eq!(colour(&at("part"), 150, 350), [255, 0, 255], "{way:?}");
        assert_eq!(colour(&at("part"), 50, 350), [0, 255, 255], "{way:?}");
    }
}

/// The library's thread is found, named and ordinary; what is not there says so by name.
#[test]
fn the_render_thread_is_ordinary_and_what_is_missing_has_a_name() {
    let run = run(Way::Takt, "surfaces", &["--key=T", "--key=N"]);
    let said = said(&run.stderr, "Surfaces");
    let expected = [
        "render threads 1, policy 0",
        "android.webkit.WebView is not supported by Takt yet",
    ];
    assert!(said.windows(2).any(|it| it == expected), "{run:#?}");
    assert_eq!(run.code, 0, "{run:#?}");
}

/// What turns, burns and lets time pass, half a second each.
const LANDING: &str = "DDDDLUURDDDDUUUDUUDUDUDUDDU";

fn lander(options: &[&str]) -> (Run, Vec<String>) {
    let run = run(Way::Takt, "lander", options);
    assert_eq!(run.code, 0, "{run:#?}");
    let said = said(&run.stderr, "Lander");
    (run, said)
}

#[test]
fn a_flight_ends_in_a_landing_and_goes_on_in_an_activity_made_anew() {
    let mut options = vec!["--extra=clock=keys"];
    for (index, key) in LANDING.chars().enumerate() {
        if index == 4 {
            options.push("--key=R");
        }
        options.push(match key {
            'L' => "--key=DPAD_LEFT",
            'R' => "--key=DPAD_RIGHT",
            'U' => "--key=DPAD_UP",
            _ => "--key=DPAD_DOWN",
        });
    }
    let folder = tempfile::tempdir().expect("a temporary directory");
    let path = folder.path().join("landed.png");
    let shot = format!("--screenshot={}", path.display());
    options.push(&shot);
    let (run, said) = lander(&options);
    assert_eq!(
        said,
        ["restored flies at 320,106", "landed with speed 15"],
        "{run:#?}"
    );
    assert_eq!(colour(&path, 365, 442), GREEN, "the pad");
}

#[test]
fn a_flight_that_nobody_steers_ends_in_a_crash() {
    let (run, said) = lander(&["--wait=8s"]);
    assert_eq!(said, ["crashed with speed 117, beside the pad"], "{run:#?}");
}
