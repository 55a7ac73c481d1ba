// SPDX-License-Identifier: Apache-2.0
//! [`Input`]: a seat of the compositor's as one of ours: pointer, keyboard, touch.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use rt::clock::{Clock as _, Monotonic};
use screen::Touch;
use screen::back_end::{KEYMAP_BYTES_MAX, Layout, LayoutFault, Seat, Stage};
use wayland_client::protocol::wl_compositor::WlCompositor;
use wayland_client::protocol::wl_keyboard::{self, KeyState, KeymapFormat, WlKeyboard};
use wayland_client::protocol::wl_pointer::{self, Axis, ButtonState, WlPointer};
use wayland_client::protocol::wl_seat::{self, Capability, WlSeat};
use wayland_client::protocol::wl_surface::WlSurface;
use wayland_client::protocol::wl_touch::{self, WlTouch};
use wayland_client::{Connection, Dispatch, Proxy as _, QueueHandle, WEnum};

use crate::buffer::Buffer;
use crate::session::{Callback, State};

/// Of linux/input-event-codes.h.
const BTN_LEFT: u32 = 0x110;
const BTN_RIGHT: u32 = 0x111;
/// The seat's number among those of all back ends.
const SEAT: u32 = 0;
/// What axis_value120 and axis have for one notch.
const NOTCH_120: f32 = 120.0;
const NOTCH: f32 = 10.0;
/// wl_pointer.frame came with it.
const FRAME_VERSION: u32 = 5;

/// What a wheel did within one frame of a pointer's events: to the right and down.
#[derive(Default)]
struct Wheel {
    /// Whole notches and parts of them, if it has any.
    notches: Option<[f32; 2]>,
    /// Otherwise lengths.
    lengths: [f32; 2],
}

/// A key that goes on.
struct Repeat {
    key: u32,
    due_ns: u64,
    /// The compositor has heard of the last time: one that stalls does not say that the key is up.
    is_heard: bool,
}

/// A seat.
pub(crate) struct Input {
    seat: Seat,
    stage: Arc<dyn Stage>,
    layout: Option<Layout>,
    wl: Option<WlSeat>,
    pointer: Option<WlPointer>,
    keyboard: Option<WlKeyboard>,
    touch: Option<WlTouch>,
    place: (f32, f32),
    buttons: u8,
    wheel: Wheel,
    cursor: WlSurface,
    _arrow: Buffer,
    repeat: Option<Repeat>,
    /// Nanoseconds before a key goes on, and between two times; none if keys do not.
    pace_ns: Option<(u64, u64)>,
    queue: QueueHandle<State>,
}

impl Input {
    pub(crate) fn new(
        stage: Arc<dyn Stage>,
        wl: Option<WlSeat>,
        (compositor, arrow): (&WlCompositor, Buffer),
        queue: &QueueHandle<State>,
    ) -> Self {
        let cursor = compositor.create_surface(queue, ());
        cursor.attach(Some(&arrow.wl), 0, 0);
        let (width, height) = arrow.size();
        cursor.damage_buffer(0, 0, width as i32, height as i32);
        cursor.commit();
        Self {
            seat: Seat::new(Arc::clone(&stage), SEAT),
            stage,
            layout: None,
            wl,
            pointer: None,
            keyboard: None,
            touch: None,
            place: (0.0, 0.0),
            buttons: 0,
            wheel: Wheel::default(),
            cursor,
            _arrow: arrow,
            repeat: None,
            pace_ns: None,
            queue: queue.clone(),
        }
    }

    /// When a key that is held goes on.
    pub(crate) fn due_ns(&self) -> Option<u64> {
        let repeat = self.repeat.as_ref().filter(|it| it.is_heard)?;
        Some(repeat.due_ns)
    }

    /// The compositor is there.
    pub(crate) fn is_heard(&mut self) {
        if let Some(repeat) = &mut self.repeat {
            repeat.is_heard = true;
        }
    }

    /// A key that is held goes on, if it is time.
    pub(crate) fn repeat(&mut self, connection: &Connection, now_ns: u64) {
        let (Some(layout), Some(repeat), Some((_, pace_ns))) =
            (&self.layout, &mut self.repeat, self.pace_ns)
        else {
            return;
        };
        if !repeat.is_heard || now_ns < repeat.due_ns {
            return;
        }
        repeat.due_ns = now_ns + pace_ns;
        repeat.is_heard = false;
        connection.display().sync(&self.queue, Callback::Repeat);
        if let Some(keysym) = layout.keysym(repeat.key) {
            self.seat.key(keysym, true);
        }
    }

    /// What the seat has from now on.
    fn has(&mut self, capabilities: Capability) {
        let (Some(wl), queue) = (&self.wl, &self.queue) else {
            return;
        };
        match (
            capabilities.contains(Capability::Pointer),
            self.pointer.take(),
        ) {
            (true, old) => self.pointer = Some(old.unwrap_or_else(|| wl.get_pointer(queue, ()))),
            (false, Some(old)) if old.version() >= 3 => old.release(),
            (false, _) => {}
        }
        match (
            capabilities.contains(Capability::Keyboard),
            self.keyboard.take(),
        ) {
            (true, old) => self.keyboard = Some(old.unwrap_or_else(|| wl.get_keyboard(queue, ()))),
            (false, Some(old)) if old.version() >= 3 => old.release(),
            (false, _) => {}
        }
        match (capabilities.contains(Capability::Touch), self.touch.take()) {
            (true, old) => self.touch = Some(old.unwrap_or_else(|| wl.get_touch(queue, ()))),
            (false, Some(old)) if old.version() >= 3 => old.release(),
            (false, _) => {}
        }
        if self.keyboard.is_none() {
            self.let_keys_go();
        }
        if self.touch.is_none() && self.pointer.is_none() {
            self.seat.let_fingers_go();
        }
    }

    fn let_keys_go(&mut self) {
        self.repeat = None;
        self.seat.let_keys_go();
    }

    fn move_to(&mut self, x: f64, y: f64) {
        self.place = (x as f32, y as f32);
        self.seat.mouse(self.buttons, self.place);
    }

    fn press(&mut self, button: u32, is_down: bool) {
        let bit = match button {
            BTN_LEFT => Seat::LEFT,
            BTN_RIGHT => Seat::RIGHT,
            _ => return,
        };
        match is_down {
            true => self.buttons |= bit,
            false => self.buttons &= !bit,
        }
        self.seat.mouse(self.buttons, self.place);
    }

    fn turn(&mut self, axis: WEnum<Axis>, notches: Option<f32>, length: f32) {
        let index = match axis {
            WEnum::Value(Axis::HorizontalScroll) => 0,
            WEnum::Value(Axis::VerticalScroll) => 1,
            _ => return,
        };
        self.wheel.lengths[index] += length;
        if let Some(notches) = notches {
            self.wheel.notches.get_or_insert_default()[index] += notches;
        }
    }

    /// A pointer's events that belong together have been told.
    fn end_frame(&mut self) {
        let wheel = std::mem::take(&mut self.wheel);
        let lengths = wheel.lengths.map(|it| it / NOTCH);
        let [right, down] = wheel.notches.unwrap_or(lengths);
        if (right, down) != (0.0, 0.0) {
            self.seat.wheel(self.place, (right, -down));
        }
    }

    fn take_keymap(&mut self, format: WEnum<KeymapFormat>, file: &OwnedFd, bytes: u32) {
        self.let_keys_go();
        let is_xkb = format == WEnum::Value(KeymapFormat::XkbV1);
        self.layout = match is_xkb.then(|| keymap(file, bytes as usize)) {
            Some(Ok(layout)) => Some(layout),
            Some(Err(fault)) => {
                self.stage.say(&format!("no keyboard: {fault}"));
                None
            }
            None => None,
        };
    }

    fn key(&mut self, key: u32, is_down: bool) {
        let Some(layout) = &self.layout else {
            return;
        };
        if is_down && layout.repeats(key) {
            self.repeat = self.pace_ns.map(|(delay_ns, _)| Repeat {
                key,
                due_ns: Monotonic.now_ns() + delay_ns,
                is_heard: true,
            });
        } else if self.repeat.as_ref().is_some_and(|it| it.key == key) {
            self.repeat = None;
        }
        if let Some(keysym) = layout.keysym(key) {
            self.seat.key(keysym, is_down);
        }
    }

    fn set_pace(&mut self, rate: i32, delay: i32) {
        let rate = u64::try_from(rate).ok().filter(|it| *it > 0);
        let delay_ns = u64::from(delay.max(0).unsigned_abs()) * 1_000_000;
        self.pace_ns = rate.map(|rate| (delay_ns, 1_000_000_000 / rate));
    }

    fn finger(&mut self, id: i32, touch: Touch, place: (f32, f32)) {
        // Who has more fingers than a byte has names uses ten of them.
        if let Ok(finger) = u8::try_from(id) {
            self.seat.finger(finger, touch, place);
        }
    }

    fn lift(&mut self, id: i32) {
        if let Ok(finger) = u8::try_from(id) {
            self.seat.lift(finger);
        }
    }
}

/// The layout that a compositor's file has.
fn keymap(file: &OwnedFd, bytes: usize) -> Result<Layout, LayoutFault> {
    if bytes > KEYMAP_BYTES_MAX {
        return Err(LayoutFault::Size);
    }
    let mut text = vec![0; bytes];
    let mut read = 0;
    while read < bytes {
        match rustix::io::pread(file, &mut text[read..], read as u64) {
            Ok(0) => break,
            Ok(count) => read += count,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(LayoutFault::Text(error.to_string())),
        }
    }
    text.truncate(read);
    Layout::parse(&text)
}

impl Dispatch<WlSeat, ()> for State {
    fn event(
        state: &mut Self,
        _: &WlSeat,
        event: wl_seat::Event,
        (): &(),
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        if let wl_seat::Event::Capabilities {
            capabilities: WEnum::Value(capabilities),
        } = event
        {
            state.input.has(capabilities);
        }
    }
}

impl Dispatch<WlPointer, ()> for State {
    fn event(
        state: &mut Self,
        pointer: &WlPointer,
        event: wl_pointer::Event,
        (): &(),
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        let input = &mut state.input;
        match event {
            wl_pointer::Event::Enter {
                serial,
                surface_x,
                surface_y,
                ..
            } => {
                pointer.set_cursor(serial, Some(&input.cursor), 0, 0);
                input.move_to(surface_x, surface_y);
            }
            wl_pointer::Event::Leave { .. } => {
                // Fingers on a touch screen go on.
                let was_down = std::mem::take(&mut input.buttons) != 0;
                if was_down {
                    input.seat.let_fingers_go();
                }
            }
            wl_pointer::Event::Motion {
                surface_x,
                surface_y,
                ..
            } => input.move_to(surface_x, surface_y),
            wl_pointer::Event::Button {
                button,
                state: WEnum::Value(it),
                ..
            } => input.press(button, it == ButtonState::Pressed),
            wl_pointer::Event::Axis { axis, value, .. } => {
                input.turn(axis, None, value as f32);
                if pointer.version() < FRAME_VERSION {
                    input.end_frame();
                }
            }
            wl_pointer::Event::AxisDiscrete { axis, discrete } => {
                input.turn(axis, Some(discrete as f32), 0.0);
            }
            wl_pointer::Event::AxisValue120 { axis, value120 } => {
                input.turn(axis, Some(value120 as f32 / NOTCH_120), 0.0);
            }
            wl_pointer::Event::Frame => input.end_frame(),
            _ => {}
        }
    }
}

impl Dispatch<WlKeyboard, ()> for State {
    fn event(
        state: &mut Self,
        _: &WlKeyboard,
        event: wl_keyboard::Event,
        (): &(),
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        let input = &mut state.input;
        match event {
            wl_keyboard::Event::Keymap { format, fd, size } => {
                input.take_keymap(format, &fd, size);
            }
            wl_keyboard::Event::Leave { .. } => input.let_keys_go(),
            wl_keyboard::Event::Key {
                key,
                state: WEnum::Value(it),
                ..
            } => match it {
                KeyState::Pressed => input.key(key, true),
                KeyState::Released => input.key(key, false),
                _ => {}
            },
            wl_keyboard::Event::Modifiers {
                mods_depressed,
                mods_latched,
                mods_locked,
                group,
                ..
            } => {
                if let Some(layout) = &mut input.layout {
                    layout.hold([mods_depressed, mods_latched, mods_locked], group);
                }
            }
            wl_keyboard::Event::RepeatInfo { rate, delay } => input.set_pace(rate, delay),
            _ => {}
        }
    }
}

impl Dispatch<WlTouch, ()> for State {
    fn event(
        state: &mut Self,
        _: &WlTouch,
        event: wl_touch::Event,
        (): &(),
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        let input = &mut state.input;
        match event {
            wl_touch::Event::Down { id, x, y, .. } => {
                input.finger(id, Touch::Down, (x as f32, y as f32));
            }
            wl_touch::Event::Motion { id, x, y, .. } => {
                input.finger(id, Touch::Move, (x as f32, y as f32));
            }
            wl_touch::Event::Up { id, .. } => input.lift(id),
            wl_touch::Event::Cancel => input.seat.let_fingers_go(),
            _ => {}
        }
    }
}
