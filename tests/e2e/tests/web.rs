// SPDX-License-Identifier: Apache-2.0
//! `takt run --screen web` in headless Chromium: what a person does in the page, the application's
//! own log says.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use e2e::Run;
use e2e::application::Application;
use e2e::apps::{Picture, Way, command, picture};
use e2e::browser::Browser;

/// Of so many pixels one is looked at.
const SAMPLE: usize = 13;
/// The page's bar, above the display.
const BAR: u32 = 32;

fn address(data: &Path) -> String {
    let file = data.join(".takt/screen-address");
    let mode = std::fs::metadata(&file).expect("the address").permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
    std::fs::read_to_string(&file)
        .expect("ours")
        .trim()
        .to_owned()
}

/// The page shows what a screenshot without a browser shows, but for a cursor that blinks.
fn shows_the_picture(browser: &mut Browser) {
    let data = tempfile::tempdir().expect("a temporary directory");
    let file = data.path().join("form.png");
    let mut run = command(Way::Takt, "widgets", data.path());
    let run = Run::of(run.arg("--screenshot").arg(&file));
    assert_eq!(run.code, 0, "{run:#?}");
    let Picture {
        width,
        height,
        bytes,
    } = picture(&file);
    let sampled = format!(
        "(() => {{
            const page = document.getElementById('display');
            const at = page.getContext('2d').getImageData(0, 0, {width}, {height}).data;
            const seen = [];
            for (let i = 0; i < at.length; i += 4 * {SAMPLE})
                seen.push(at[i] << 16 | at[i + 1] << 8 | at[i + 2]);
            return seen;
        }})()"
    );
    let seen = browser.value(&sampled);
    let seen: Vec<u64> = serde_json::from_value(seen).expect("numbers");
    let colour = |it: &[u8]| it.iter().fold(0, |all, byte| all << 8 | u64::from(*byte));
    let wanted: Vec<u64> = bytes.chunks(3).step_by(SAMPLE).map(colour).collect();
    assert_eq!(seen.len(), wanted.len());
    let differ = seen
        .iter()
        .zip(&wanted)
        .filter(|(seen, wanted)| seen != wanted);
    let differ = differ.count();
    assert!(
        differ * 100 < seen.len(),
        "{differ} of {} pixels differ",
        seen.len()
    );
    let colours: std::collections::BTreeSet<_> = wanted.iter().collect();
    assert!(colours.len() > 20, "a picture of a form has more colours");
}

#[test]
fn a_form_in_a_browser_does_what_a_person_does() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let mut run = command(Way::Takt, "widgets", data.path());
    let mut application = Application::start(run.arg("--screen=web"));
    application.await_line("the display's address is in ");
    let address = address(data.path());
    let token = address.split('#').nth(1).expect("a token");
    application.await_line("focus true");
    let mut browser = Browser::open(&address, 900, 700);
    browser.await_true("document.body.dataset.state === 'connected'");
    browser.await_true("document.body.dataset.updates >= 1");
    assert_eq!(
        browser.value("location.hash"),
        "",
        "the token is in no address line"
    );
    shows_the_picture(&mut browser);
    let before = browser.screenshot();

    browser.click(60, BAR + 118);
    application.await_line("pressed 1");
    browser.click(200, BAR + 166);
    for (name, text) in [
        ("A", "A"),
        ("d", "d"),
        ("x", "x"),
        ("Backspace", ""),
        ("a", "a"),
    ] {
        browser.key(name, text);
    }
    browser.key("Enter", "\r");
    application.await_line("name Ada");
    assert!(before != browser.screenshot(), "nothing of it is seen");
    browser.wheel(100, BAR + 400, 300);
    application.await_line("top ");

    browser.value("document.getElementById('rotate').click()");
    application.await_line("again, 480 wide");
    browser.await_true("document.getElementById('display').width === 480");
    browser.value("document.getElementById('fit').click()");
    browser.await_true("document.getElementById('display').width === innerWidth");

    application.interrupt();
    browser.await_true("document.body.dataset.state === 'the application has ended'");
    let log = application.await_end();
    assert!(
        !log.iter().any(|it| it.contains(token)),
        "the token is in the log"
    );
}

/// Two fingers of a touch screen are one gesture of the application's, with a number each.
#[test]
fn several_fingers_in_a_browser_are_one_gesture() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let mut run = command(Way::Takt, "widgets", data.path());
    let mut application = Application::start(run.arg("--screen=web"));
    application.await_line("the display's address is in ");
    let address = address(data.path());
    application.await_line("focus true");
    let mut browser = Browser::open(&address, 900, 700);
    browser.await_true("document.body.dataset.updates >= 1");

    let at = |x, y| (x, BAR + y);
    let finger = |id, (x, y)| (id, x, y);
    let first = finger(0, at(500, 60));
    browser.fingers("touchStart", &[first]);
    browser.fingers("touchStart", &[first, finger(1, at(700, 90))]);
    application.await_line("fingers ACTION_POINTER_DOWN(1) 0@500,60 1@700,90");
    browser.fingers("touchMove", &[first, finger(1, at(720, 95))]);
    application.await_line("fingers ACTION_MOVE 0@500,60 1@720,95");
    browser.fingers("touchEnd", &[first]);
    application.await_line("fingers ACTION_POINTER_UP(0) 0@500,60 1@720,95");
    browser.fingers(
        "touchStart",
        &[finger(1, at(720, 95)), finger(2, at(400, 50))],
    );
    application.await_line("fingers ACTION_POINTER_DOWN(0) 0@400,50 1@720,95");
    browser.fingers("touchEnd", &[]);
    application.await_line("fingers ACTION_POINTER_UP(");
    application.interrupt();
    application.await_end();
}
