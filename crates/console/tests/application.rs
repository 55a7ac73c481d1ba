// SPDX-License-Identifier: Apache-2.0
//! A whole application on the machine's own screen, in a guest of the lab. `cargo xtask soak --only
//! console` runs it: it has taken the application's pictures on the host before.

mod lab;

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use evdev::uinput::VirtualDevice;
use evdev::{AbsoluteAxisCode, EventType, KeyCode};
use lab::{AXIS, SIZE, Seen, emit, keyboard, press, sum, touch_screen};
use rt::clock::{Clock as _, Monotonic};

/// What starts the application, its words parted by blanks.
const COMMAND: &str = "CONSOLE_TEST_COMMAND";
/// A folder with the pictures `before.png` and `after.png`.
const PICTURES: &str = "CONSOLE_TEST_PICTURES";
/// The button that makes the one the other.
const BUTTON: (i32, i32) = (60, 118);
/// An emulated machine starts the framework.
const START_NS_MAX: u64 = 600_000_000_000;

/// What vkms shows, by its own sum, is what `--screenshot` wrote on the host; a finger presses the
/// button; the keys that end a program end it.
#[test]
#[ignore = "needs a guest, and pictures: cargo xtask soak --only console"]
fn an_application_is_seen_and_touched() {
    let variable = |name: &str| std::env::var(name).unwrap_or_else(|_| panic!("no {name}"));
    let pictures = variable(PICTURES);
    let shown = |name: &str| sum(&pixels(&Path::new(&pictures).join(name)));
    let (before, after) = (shown("before.png"), shown("after.png"));
    assert_ne!(before, after);
    let (mut keys, mut touch) = (keyboard(), touch_screen());
    let place = std::env::temp_dir().join("application.log");
    let log = File::create(&place).unwrap();
    let errors = log.try_clone().unwrap();
    let command = variable(COMMAND);
    let mut words = command.split_whitespace();
    let mut application = Command::new(words.next().expect("a command"));
    application.args(words).stdin(Stdio::null());
    let mut application = application.stdout(log).stderr(errors).spawn().unwrap();
    await_line(&place, "focus true");
    Seen::await_sum(before, "the application's window");
    tap(&mut touch, BUTTON);
    await_line(&place, "pressed 1");
    Seen::await_sum(after, "the pressed button's picture");
    for key in [
        KeyCode::KEY_LEFTCTRL,
        KeyCode::KEY_LEFTALT,
        KeyCode::KEY_BACKSPACE,
    ] {
        press(&mut keys, key, true);
    }
    let status = application.wait().unwrap();
    assert_eq!(status.code(), Some(0), "as by Ctrl-C");
}

/// Until the application has said something.
fn await_line(place: &Path, line: &str) {
    let due_ns = Monotonic.now_ns() + START_NS_MAX;
    loop {
        let now_ns = Monotonic.now_ns();
        let log = std::fs::read(place).unwrap();
        let log = String::from_utf8_lossy(&log);
        if log.contains(line) {
            return;
        }
        assert!(now_ns < due_ns, "no '{line}' in:\n{log}");
        Monotonic.sleep_until(now_ns + 500_000_000);
    }
}

fn tap(touch: &mut VirtualDevice, (x, y): (i32, i32)) {
    let axis = |at: i32, of: u32| at * (AXIS.1 + 1) / of.cast_signed();
    let down = [
        (AbsoluteAxisCode::ABS_MT_SLOT.0, 0),
        (AbsoluteAxisCode::ABS_MT_TRACKING_ID.0, 1),
        (AbsoluteAxisCode::ABS_MT_POSITION_X.0, axis(x, SIZE.0)),
        (AbsoluteAxisCode::ABS_MT_POSITION_Y.0, axis(y, SIZE.1)),
    ];
    emit(touch, EventType::ABSOLUTE, &down);
    Monotonic.sleep_until(Monotonic.now_ns() + 100_000_000);
    let up = [(AbsoluteAxisCode::ABS_MT_TRACKING_ID.0, -1)];
    emit(touch, EventType::ABSOLUTE, &up);
}

/// Three bytes for each pixel of a picture that `takt run` wrote.
fn pixels(path: &Path) -> Vec<u8> {
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut reader = png::Decoder::new(std::io::BufReader::new(file))
        .read_info()
        .unwrap();
    let size = reader.output_buffer_size().expect("it fits");
    let mut bytes = vec![0; size];
    let frame = reader.next_frame(&mut bytes).unwrap();
    assert_eq!((frame.width, frame.height), SIZE);
    assert_eq!(frame.color_type, png::ColorType::Rgb);
    bytes
}
