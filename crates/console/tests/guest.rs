// SPDX-License-Identifier: Apache-2.0
//! The machine's own screen, in a guest of the lab: a card without a monitor (vkms) and devices
//! that nobody holds (uinput). `cargo xtask test --only screen` runs it there; elsewhere there is
//! no card to take.

mod lab;

use std::sync::Arc;

use console::{Fault, Wish};
use evdev::uinput::VirtualDevice;
use evdev::{AbsoluteAxisCode, AttributeSet, EventType, KeyCode, RelativeAxisCode};
use lab::{PATIENCE_NS, SIZE, Seen, emit, keyboard, keys, press, sum, touch_screen};
use rt::clock::{Clock as _, Monotonic};
use rt::sync::{PiCondvar, PiMutex};
use screen::back_end::{Arrow, Deed, Stage};
use screen::{Display, Picture, Rect, Screen, Touch, WindowId, WindowKind};

/// Flips whose order is looked at.
const FLIPS: u8 = 30;

/// One window that covers the display, and all that was done.
struct Wall {
    screen: PiMutex<Screen>,
    changed: PiCondvar,
    window: WindowId,
    deeds: PiMutex<Vec<Deed>>,
    done: PiCondvar,
}

impl Wall {
    fn new() -> Arc<Self> {
        let mut screen = Screen::new(Display::PANEL);
        let window = screen.add(WindowKind::Application, true).unwrap();
        Arc::new(Self {
            screen: PiMutex::new(screen),
            changed: PiCondvar::new(),
            window,
            deeds: PiMutex::new(Vec::new()),
            done: PiCondvar::new(),
        })
    }

    fn cover(&self, (width, height): (u32, u32)) {
        let mut screen = self.screen.lock();
        screen.resize(width, height, 0).unwrap();
        let wish = screen::Wish {
            width: -1,
            height: -1,
            ..screen::Wish::default()
        };
        screen.place(self.window, &wish, Rect::default()).unwrap();
        screen.set_visible(self.window, true, 0).unwrap();
    }

    /// A picture with a border, so that a shift would be seen.
    fn paint(&self, grey: u8) {
        let mut screen = self.screen.lock();
        let (width, height) = screen.surface_size(self.window).unwrap();
        let mut pixels = [grey, grey / 2, 255 - grey, 255].repeat((width * height) as usize);
        pixels[..40].fill(255);
        screen.post(self.window, (width, height), &pixels).unwrap();
        self.changed.notify_all(&screen);
    }

    fn picture_now(&self) -> Picture {
        self.screen.lock().compose()
    }

    /// Waits for something to be done, and forgets what was done before.
    fn await_deed(&self, wanted: &Deed) {
        let due_ns = Monotonic.now_ns() + PATIENCE_NS;
        let mut deeds = self.deeds.lock();
        loop {
            if let Some(index) = deeds.iter().position(|it| it == wanted) {
                deeds.drain(..=index);
                return;
            }
            assert!(Monotonic.now_ns() < due_ns, "no {wanted:?} in {:?}", *deeds);
            let _ = self.done.wait_until(&mut deeds, due_ns);
        }
    }

    fn await_finger(&self, wanted: Touch, (x, y): (f32, f32)) -> u32 {
        let due_ns = Monotonic.now_ns() + PATIENCE_NS;
        let mut deeds = self.deeds.lock();
        loop {
            let is_there = |it: &Deed| {
                matches!(it, Deed::Finger { touch, place, .. }
                if *touch == wanted && (place.0 - x).abs() < 2.0 && (place.1 - y).abs() < 2.0)
            };
            if let Some(index) = deeds.iter().position(is_there) {
                let found = deeds.drain(..=index).next_back();
                let Some(Deed::Finger { name, .. }) = found else {
                    unreachable!("it was found")
                };
                return name;
            }
            let now_ns = Monotonic.now_ns();
            assert!(now_ns < due_ns, "no {wanted:?} at {x}, {y} in {:?}", *deeds);
            let _ = self.done.wait_until(&mut deeds, due_ns);
        }
    }
}

impl Stage for Wall {
    fn picture(&self, unlike: Option<u64>, due_ns: u64) -> Option<(u64, Picture)> {
        let mut screen = self.screen.lock();
        while Some(screen.revision()) == unlike {
            if Monotonic.now_ns() >= due_ns {
                return None;
            }
            let _ = self.changed.wait_until(&mut screen, due_ns);
        }
        Some((screen.revision(), screen.compose()))
    }

    fn size(&self) -> (u32, u32) {
        let display = self.screen.lock().display();
        (display.width, display.height)
    }

    fn take(&self, deed: Deed) {
        let mut deeds = self.deeds.lock();
        deeds.push(deed);
        self.done.notify_all(&deeds);
    }

    fn say(&self, text: &str) {
        eprintln!("{text}");
    }
}

/// The arrow above a picture.
fn with_arrow(picture: &Picture, (x, y): (u32, u32)) -> Vec<u8> {
    let (width, height) = picture.size();
    let mut bytes = picture.bytes().to_vec();
    for row in 0..Arrow::HEIGHT.min(height - y) {
        for column in 0..Arrow::WIDTH.min(width - x) {
            if let Some(light) = Arrow::light(column, row) {
                let place = ((y + row) * width + x + column) as usize * 3;
                bytes[place..place + 3].fill(light);
            }
        }
    }
    bytes
}

fn mouse() -> VirtualDevice {
    let axes: AttributeSet<RelativeAxisCode> = [
        RelativeAxisCode::REL_X,
        RelativeAxisCode::REL_Y,
        RelativeAxisCode::REL_WHEEL,
    ]
    .into_iter()
    .collect();
    VirtualDevice::builder()
        .expect("uinput")
        .name("mouse")
        .with_keys(&keys(&[KeyCode::BTN_LEFT, KeyCode::BTN_RIGHT]))
        .unwrap()
        .with_relative_axes(&axes)
        .unwrap()
        .build()
        .unwrap()
}

fn code(code: i32, meta: i32, is_down: bool) -> Deed {
    Deed::Code {
        code,
        meta,
        is_down,
    }
}

#[test]
#[ignore = "needs a guest with vkms, uinput and evdev"]
fn a_screen_without_a_desktop() {
    let mut keys = keyboard();
    let touch = touch_screen();
    let mouse = mouse();
    let wall = Wall::new();
    let wish = Wish {
        layout: "de".to_owned(),
        size: Some(SIZE),
        ..Wish::default()
    };
    let console = console::start(wish.clone(), Arc::clone(&wall) as Arc<dyn Stage>);
    let console = console.unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(console.size(), SIZE);
    wall.cover(console.size());
    wall.paint(200);
    Seen::await_sum(sum(wall.picture_now().bytes()), "a picture");
    flips_come_in_order(&wall, &console);
    let again = console::start(wish, Arc::clone(&wall) as Arc<dyn Stage>);
    assert!(matches!(again, Err(Fault::Taken { .. })), "{again:?}");
    keys_are_those_of_their_layout(&wall, &mut keys);
    fingers_are_where_they_are(&wall, touch, console.size());
    a_mouse_is_seen(&wall, mouse, console.size());
    // What is pulled out is not held any longer, and another one may come.
    press(&mut keys, KeyCode::KEY_LEFTCTRL, true);
    wall.await_deed(&code(113, 0x3000, true));
    drop(keys);
    wall.await_deed(&code(113, 0, false));
    let mut keys = keyboard();
    let due_ns = Monotonic.now_ns() + 3_000_000_000;
    Monotonic.sleep_until(due_ns);
    for key in [
        KeyCode::KEY_LEFTCTRL,
        KeyCode::KEY_LEFTALT,
        KeyCode::KEY_BACKSPACE,
    ] {
        press(&mut keys, key, true);
    }
    wall.await_deed(&Deed::Close);
}

fn flips_come_in_order(wall: &Wall, console: &console::Console) {
    for grey in 0..FLIPS {
        let before = console.flips();
        wall.paint(grey);
        let due_ns = Monotonic.now_ns() + PATIENCE_NS;
        while console.flips() == before {
            assert!(Monotonic.now_ns() < due_ns, "no flip");
            Monotonic.sleep_until(Monotonic.now_ns() + 1_000_000);
        }
    }
    assert_eq!(console.disorder(), 0, "of {} flips", console.flips());
}

fn keys_are_those_of_their_layout(wall: &Wall, keys: &mut VirtualDevice) {
    press(keys, KeyCode::KEY_Y, true);
    wall.await_deed(&Deed::Text('z', Some(54)));
    press(keys, KeyCode::KEY_Y, false);
    press(keys, KeyCode::KEY_LEFTSHIFT, true);
    press(keys, KeyCode::KEY_Y, true);
    wall.await_deed(&Deed::Text('Z', Some(54)));
    press(keys, KeyCode::KEY_Y, false);
    press(keys, KeyCode::KEY_LEFTSHIFT, false);
    wall.await_deed(&code(59, 0, false));
}

fn fingers_are_where_they_are(wall: &Wall, mut touch: VirtualDevice, size: (u32, u32)) {
    let (slot, id) = (
        AbsoluteAxisCode::ABS_MT_SLOT.0,
        AbsoluteAxisCode::ABS_MT_TRACKING_ID.0,
    );
    let (x, y) = (
        AbsoluteAxisCode::ABS_MT_POSITION_X.0,
        AbsoluteAxisCode::ABS_MT_POSITION_Y.0,
    );
    let place = |(x, y): (f32, f32)| (x * size.0 as f32 / 1000.0, y * size.1 as f32 / 1000.0);
    let both = [
        (slot, 0),
        (id, 1),
        (x, 100),
        (y, 200),
        (slot, 1),
        (id, 2),
        (x, 500),
        (y, 600),
    ];
    emit(&mut touch, EventType::ABSOLUTE, &both);
    let first = wall.await_finger(Touch::Down, place((100.0, 200.0)));
    let second = wall.await_finger(Touch::Down, place((500.0, 600.0)));
    assert_ne!(first, second);
    emit(&mut touch, EventType::ABSOLUTE, &[(x, 700)]);
    assert_eq!(
        wall.await_finger(Touch::Move, place((700.0, 600.0))),
        second
    );
    emit(&mut touch, EventType::ABSOLUTE, &[(id, -1)]);
    assert_eq!(wall.await_finger(Touch::Up, place((700.0, 600.0))), second);
    // It is pulled out with a finger on it.
    drop(touch);
    assert_eq!(
        wall.await_finger(Touch::Cancel, place((100.0, 200.0))),
        first
    );
}

fn a_mouse_is_seen(wall: &Wall, mut mouse: VirtualDevice, size: (u32, u32)) {
    let (x, y) = (RelativeAxisCode::REL_X.0, RelativeAxisCode::REL_Y.0);
    emit(&mut mouse, EventType::RELATIVE, &[(x, 10), (y, -20)]);
    let place = (size.0 / 2 + 10, size.1 / 2 - 20);
    let wanted = sum(&with_arrow(&wall.picture_now(), place));
    Seen::await_sum(wanted, "an arrow");
    press(&mut mouse, KeyCode::BTN_LEFT, true);
    wall.await_finger(Touch::Down, (place.0 as f32, place.1 as f32));
    // Out of the display it does not go.
    emit(
        &mut mouse,
        EventType::RELATIVE,
        &[(x, 100_000), (y, 100_000)],
    );
    wall.await_finger(Touch::Move, (size.0 as f32 - 1.0, size.1 as f32 - 1.0));
    press(&mut mouse, KeyCode::BTN_LEFT, false);
    let wheel = RelativeAxisCode::REL_WHEEL.0;
    emit(&mut mouse, EventType::RELATIVE, &[(wheel, -2)]);
    wall.await_deed(&Deed::Scroll {
        place: (size.0 as f32 - 1.0, size.1 as f32 - 1.0),
        right: 0.0,
        up: -2.0,
    });
}

#[test]
fn a_card_that_is_not_there_is_named() {
    let wish = Wish {
        card: Some("/dev/dri/nowhere".into()),
        ..Wish::default()
    };
    let fault = console::start(wish, Wall::new()).unwrap_err();
    let text = fault.to_string();
    assert!(
        text.starts_with("/dev/dri/nowhere cannot be opened"),
        "{text}"
    );
}
