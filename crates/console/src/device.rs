// SPDX-License-Identifier: Apache-2.0
//! [`Device`]: a keyboard, a mouse or a touch screen of the kernel's, and what a [`Person`] does
//! there.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::Arc;

use evdev::raw_stream::RawDevice;
use evdev::{AbsoluteAxisCode, EventType, InputEvent, KeyCode, PropType, RelativeAxisCode};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use screen::Touch;
use screen::back_end::{Deed, Layout, Seat, Stage};

/// Of linux/input-event-codes.h.
const SYN_REPORT: u16 = 0;
const SYN_DROPPED: u16 = 3;
const BTN_LEFT: u16 = 0x110;
const BTN_RIGHT: u16 = 0x111;
const BTN_TOUCH: u16 = 0x14a;
const REL_X: u16 = 0;
const REL_Y: u16 = 1;
const REL_HWHEEL: u16 = 6;
const REL_WHEEL: u16 = 8;
const ABS_X: u16 = 0;
const ABS_Y: u16 = 1;
const ABS_MT_SLOT: u16 = 0x2f;
const ABS_MT_POSITION_X: u16 = 0x35;
const ABS_MT_POSITION_Y: u16 = 0x36;
const ABS_MT_TRACKING_ID: u16 = 0x39;
/// Keys that XKB has numbers for.
const KEYS: std::ops::Range<u16> = 1..248;
/// Keys that a machine's case has: KEY_POWER, KEY_SLEEP, KEY_WAKEUP. They are not for us.
const CASE_KEYS: [u16; 3] = [116, 142, 143];
/// Fingers that one device tells apart; a seat has fewer.
const SLOTS: usize = 16;
/// Devices whose fingers have names of their own.
const NUMBERS: u8 = 15;
/// X11's numbers: Ctrl and Alt with it end the application, since no terminal hears Ctrl-C.
const BACKSPACE: u32 = 0xff08;
const CTRL: [u32; 2] = [0xffe3, 0xffe4];
const ALT: [u32; 2] = [0xffe9, 0xffea];

/// Who sits before the screen, at all devices together.
pub(crate) struct Person {
    stage: Arc<dyn Stage>,
    seat: Seat,
    layout: Layout,
    size: (u32, u32),
    mouse: Option<(f32, f32)>,
    buttons: u8,
    /// Ctrl and Alt are down.
    chord: [bool; 2],
}

impl Person {
    pub(crate) fn new(stage: Arc<dyn Stage>, layout: Layout, size: (u32, u32)) -> Self {
        Self {
            seat: Seat::new(Arc::clone(&stage), 0),
            stage,
            layout,
            size,
            mouse: None,
            buttons: 0,
            chord: [false; 2],
        }
    }

    /// The screen has another size.
    pub(crate) fn resize(&mut self, size: (u32, u32)) {
        self.size = size;
    }

    /// Where the mouse is, once it has moved.
    pub(crate) fn mouse(&self) -> Option<(i32, i32)> {
        self.mouse.map(|(x, y)| (x as i32, y as i32))
    }

    fn move_by(&mut self, right: i32, down: i32) {
        let (width, height) = (self.size.0 as f32, self.size.1 as f32);
        let (x, y) = self.mouse.unwrap_or((width / 2.0, height / 2.0));
        let x = (x + right as f32).clamp(0.0, width - 1.0);
        let y = (y + down as f32).clamp(0.0, height - 1.0);
        self.move_to((x, y));
    }

    fn move_to(&mut self, place: (f32, f32)) {
        self.mouse = Some(place);
        self.seat.mouse(self.buttons, place);
    }

    fn press(&mut self, bit: u8, is_down: bool) {
        match is_down {
            true => self.buttons |= bit,
            false => self.buttons &= !bit,
        }
        let (width, height) = self.size;
        let middle = (width as f32 / 2.0, height as f32 / 2.0);
        self.seat.mouse(self.buttons, self.mouse.unwrap_or(middle));
    }

    fn key(&mut self, key: u32, is_down: bool) {
        let (layout, seat) = (&mut self.layout, &mut self.seat);
        let (chord, stage) = (&mut self.chord, &self.stage);
        layout.press(key, is_down, |keysym, is_down| {
            for (held, keysyms) in chord.iter_mut().zip([CTRL, ALT]) {
                if keysyms.contains(&keysym) {
                    *held = is_down;
                }
            }
            if is_down && keysym == BACKSPACE && *chord == [true; 2] {
                stage.take(Deed::Close);
            } else {
                seat.key(keysym, is_down);
            }
        });
    }

    /// The kernel says that a key goes on.
    fn repeat(&mut self, key: u32) {
        if let Some(keysym) = self.layout.keysym(key).filter(|_| self.layout.repeats(key)) {
            self.seat.key(keysym, true);
        }
    }
}

/// From the least to the largest number of an axis.
#[derive(Clone, Copy, Debug)]
struct Axis {
    least: i32,
    count: f32,
}

impl Axis {
    fn new(least: i32, most: i32) -> Self {
        let count = (i64::from(most) - i64::from(least) + 1).max(1);
        Self {
            least,
            count: count as f32,
        }
    }

    fn place(self, value: i32, pixels: u32) -> f32 {
        let part = (i64::from(value) - i64::from(self.least)) as f32 / self.count;
        (part * pixels as f32).clamp(0.0, pixels as f32 - 1.0)
    }
}

/// How a device says places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Fingers in slots.
    Fingers,
    /// One finger or pen.
    Finger,
    /// A mouse that knows where it is.
    Tablet,
    /// Whatever else: movements, keys.
    Relative,
}

/// A finger, as the device tells of it.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    is_down: bool,
    /// The seat knows.
    was_down: bool,
    is_changed: bool,
    x: i32,
    y: i32,
}

/// A device that is ours alone.
pub(crate) struct Device {
    raw: RawDevice,
    kind: Kind,
    axes: (Axis, Axis),
    number: u8,
    slots: [Slot; SLOTS],
    slot: usize,
    motion: (i32, i32),
    wheel: (i32, i32),
    /// Keys that are down.
    keys: Vec<u32>,
    /// Buttons that are down.
    buttons: u8,
    /// Events are missing until the next report.
    is_torn: bool,
}

impl Device {
    /// Opens one, if it is of a kind that a person uses here.
    pub(crate) fn open(path: &Path, number: u8) -> io::Result<Option<Self>> {
        let mut raw = RawDevice::open(path)?;
        let Some(kind) = kind(&raw) else {
            return Ok(None);
        };
        fcntl_setfl(&raw, fcntl_getfl(&raw)? | OFlags::NONBLOCK)?;
        // Else the kernel gives keys to a login on a terminal as well.
        raw.grab()?;
        let state = match kind {
            Kind::Relative => None,
            _ => Some(raw.get_abs_state()?),
        };
        let axis = |code: u16| {
            let found = state.map(|it| it[usize::from(code)]);
            found.map_or(Axis::new(0, 0), |it| Axis::new(it.minimum, it.maximum))
        };
        let axes = match kind {
            Kind::Fingers => (axis(ABS_MT_POSITION_X), axis(ABS_MT_POSITION_Y)),
            _ => (axis(ABS_X), axis(ABS_Y)),
        };
        let slot = state.map_or(0, |it| it[usize::from(ABS_MT_SLOT)].value);
        Ok(Some(Self {
            raw,
            kind,
            axes,
            number: number % NUMBERS,
            slots: [Slot::default(); SLOTS],
            slot: usize::try_from(slot).unwrap_or(SLOTS),
            motion: (0, 0),
            wheel: (0, 0),
            keys: Vec::new(),
            buttons: 0,
            is_torn: false,
        }))
    }

    /// Takes what it has to say; an error is its end.
    pub(crate) fn hear(&mut self, person: &mut Person) -> io::Result<()> {
        let events: Vec<InputEvent> = match self.raw.fetch_events() {
            Ok(events) => events.collect(),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        };
        for event in events {
            self.take(event, person);
        }
        Ok(())
    }

    fn take(&mut self, event: InputEvent, person: &mut Person) {
        let (code, value) = (event.code(), event.value());
        match event.event_type() {
            EventType::SYNCHRONIZATION if code == SYN_DROPPED => {
                self.is_torn = true;
                self.let_go(person);
            }
            EventType::SYNCHRONIZATION if code == SYN_REPORT => {
                let was_torn = std::mem::take(&mut self.is_torn);
                if !was_torn {
                    self.report(person);
                }
            }
            _ if self.is_torn => {}
            EventType::KEY => self.press(code, value, person),
            EventType::RELATIVE => match code {
                REL_X => self.motion.0 += value,
                REL_Y => self.motion.1 += value,
                REL_HWHEEL => self.wheel.0 += value,
                REL_WHEEL => self.wheel.1 += value,
                _ => {}
            },
            EventType::ABSOLUTE => self.place(code, value),
            _ => {}
        }
    }

    fn press(&mut self, code: u16, value: i32, person: &mut Person) {
        let bit = match code {
            BTN_LEFT => Seat::LEFT,
            BTN_RIGHT => Seat::RIGHT,
            BTN_TOUCH if self.kind == Kind::Finger => {
                self.slots[0].is_down = value != 0;
                self.slots[0].is_changed = true;
                return;
            }
            code if KEYS.contains(&code) => return self.key(code.into(), value, person),
            _ => return,
        };
        // Where it was pressed is told before.
        self.report(person);
        match value {
            0 => self.buttons &= !bit,
            _ => self.buttons |= bit,
        }
        person.press(bit, value != 0);
    }

    fn key(&mut self, key: u32, value: i32, person: &mut Person) {
        let was_down = self.keys.contains(&key);
        match value {
            0 if was_down => {
                self.keys.retain(|it| *it != key);
                person.key(key, false);
            }
            1 if !was_down => {
                self.keys.push(key);
                person.key(key, true);
            }
            2 if was_down => person.repeat(key),
            _ => {}
        }
    }

    fn place(&mut self, code: u16, value: i32) {
        let is_single = self.kind != Kind::Fingers;
        if code == ABS_MT_SLOT {
            self.slot = usize::try_from(value).unwrap_or(SLOTS);
            return;
        }
        let index = if is_single { 0 } else { self.slot };
        let Some(slot) = self.slots.get_mut(index) else {
            return;
        };
        match code {
            ABS_X if is_single => slot.x = value,
            ABS_Y if is_single => slot.y = value,
            ABS_MT_POSITION_X => slot.x = value,
            ABS_MT_POSITION_Y => slot.y = value,
            ABS_MT_TRACKING_ID => slot.is_down = value >= 0,
            _ => return,
        }
        slot.is_changed = true;
    }

    /// All that belongs together has come.
    fn report(&mut self, person: &mut Person) {
        let (right, down) = std::mem::take(&mut self.motion);
        if (right, down) != (0, 0) {
            person.move_by(right, down);
        }
        let (columns, rows) = self.axes;
        let size = person.size;
        let place = |slot: &Slot| (columns.place(slot.x, size.0), rows.place(slot.y, size.1));
        if self.kind == Kind::Tablet && std::mem::take(&mut self.slots[0].is_changed) {
            person.move_to(place(&self.slots[0]));
        }
        let changed = self.slots.iter_mut().enumerate();
        for (index, slot) in changed.filter(|it| it.1.is_changed) {
            slot.is_changed = false;
            let finger = self.number * SLOTS as u8 + index as u8;
            let was_down = std::mem::replace(&mut slot.was_down, slot.is_down);
            match (was_down, slot.is_down) {
                (false, true) => person.seat.finger(finger, Touch::Down, place(slot)),
                (true, true) => person.seat.finger(finger, Touch::Move, place(slot)),
                (true, false) => person.seat.lift(finger),
                (false, false) => {}
            }
        }
        let (right, up) = std::mem::take(&mut self.wheel);
        if let Some(place) = person.mouse.filter(|_| (right, up) != (0, 0)) {
            person.seat.wheel(place, (right as f32, up as f32));
        }
    }

    /// It has gone, or has lost count: nothing of it is down.
    pub(crate) fn let_go(&mut self, person: &mut Person) {
        for key in std::mem::take(&mut self.keys) {
            person.key(key, false);
        }
        for bit in [Seat::LEFT, Seat::RIGHT] {
            if self.buttons & bit != 0 {
                person.press(bit, false);
            }
        }
        self.buttons = 0;
        if self.slots.iter().any(|it| it.was_down) {
            // Who has lost a finger meant none of the gesture.
            person.seat.let_fingers_go();
        }
        self.slots = [Slot::default(); SLOTS];
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.raw.as_fd()
    }
}

/// What a device is for; none for what no person uses.
fn kind(raw: &RawDevice) -> Option<Kind> {
    let has_axis = |it| {
        raw.supported_absolute_axes()
            .is_some_and(|all| all.contains(it))
    };
    let has_key = |it| raw.supported_keys().is_some_and(|all| all.contains(it));
    let has_motion = raw
        .supported_relative_axes()
        .is_some_and(|all| all.contains(RelativeAxisCode::REL_X));
    let is_pad = raw.properties().contains(PropType::POINTER);
    let is_key = |it: KeyCode| KEYS.contains(&it.0) && !CASE_KEYS.contains(&it.0);
    let is_keyboard = raw.supported_keys().is_some_and(|it| it.iter().any(is_key));
    if has_axis(AbsoluteAxisCode::ABS_MT_POSITION_X) && !is_pad {
        Some(Kind::Fingers)
    } else if has_axis(AbsoluteAxisCode::ABS_X) && has_key(KeyCode::BTN_TOUCH) && !is_pad {
        Some(Kind::Finger)
    } else if has_axis(AbsoluteAxisCode::ABS_X) && has_key(KeyCode::BTN_LEFT) && !is_pad {
        Some(Kind::Tablet)
    } else {
        (has_motion || is_keyboard).then_some(Kind::Relative)
    }
}
