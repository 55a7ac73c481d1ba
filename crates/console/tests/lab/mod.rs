// SPDX-License-Identifier: Apache-2.0
//! What a guest has in place of a monitor and hands: vkms counts what it shows, and uinput makes
//! devices.

#![allow(dead_code, reason = "each test program uses its part")]

use std::fs::OpenOptions;
use std::io::{BufRead as _, BufReader, Write as _};

use evdev::uinput::VirtualDevice;
use evdev::{
    AbsInfo, AbsoluteAxisCode, AttributeSet, EventType, InputEvent, KeyCode, PropType,
    UinputAbsSetup,
};
use rt::clock::{Clock as _, Monotonic};

/// What a test waits for something that must come, in virtual time.
pub(crate) const PATIENCE_NS: u64 = 20_000_000_000;
pub(crate) const CRC: &str = "/sys/kernel/debug/dri/0/crtc-0/crc";
/// One of the card's modes: a guest counts each pixel's instructions.
pub(crate) const SIZE: (u32, u32) = (640, 480);
/// The least and the largest number of the touch screen's axes.
pub(crate) const AXIS: (i32, i32) = (0, 999);

/// What vkms has made of all planes, as the kernel counts it. It does so, at length, only while
/// somebody listens.
pub(crate) struct Seen;

impl Seen {
    /// Waits until the display shows a picture of this sum.
    pub(crate) fn await_sum(wanted: u32, what: &str) {
        let mut control = OpenOptions::new()
            .write(true)
            .open(format!("{CRC}/control"))
            .expect("debugfs");
        control.write_all(b"auto").expect("a source");
        let data = std::fs::File::open(format!("{CRC}/data")).expect("sums");
        let mut data = BufReader::new(data);
        let due_ns = Monotonic.now_ns() + PATIENCE_NS;
        while Monotonic.now_ns() < due_ns {
            let mut line = String::new();
            data.read_line(&mut line).expect("a sum");
            let last = line.split_whitespace().last().unwrap_or_default();
            let number = last.trim_start_matches("0x");
            if u32::from_str_radix(number, 16) == Ok(wanted) {
                return;
            }
        }
        panic!("{what} is not seen");
    }
}

/// The kernel's CRC-32 of pixels of four words of sixteen bits: alpha, red, green, blue.
pub(crate) fn sum(bytes: &[u8]) -> u32 {
    let mut words = Vec::with_capacity(bytes.len() / 3 * 8);
    for pixel in bytes.chunks_exact(3) {
        words.extend(u16::MAX.to_le_bytes());
        for colour in pixel {
            words.extend((u16::from(*colour) * 257).to_le_bytes());
        }
    }
    let mut hasher = crc32fast::Hasher::new_with_initial(u32::MAX);
    hasher.update(&words);
    !hasher.finalize()
}

pub(crate) fn keys(all: &[KeyCode]) -> AttributeSet<KeyCode> {
    all.iter().copied().collect()
}

pub(crate) fn keyboard() -> VirtualDevice {
    let all = [
        KeyCode::KEY_Y,
        KeyCode::KEY_LEFTSHIFT,
        KeyCode::KEY_LEFTCTRL,
        KeyCode::KEY_LEFTALT,
        KeyCode::KEY_BACKSPACE,
    ];
    let builder = VirtualDevice::builder().expect("uinput").name("keys");
    builder.with_keys(&keys(&all)).unwrap().build().unwrap()
}

pub(crate) fn touch_screen() -> VirtualDevice {
    let axis =
        |code, (least, most)| UinputAbsSetup::new(code, AbsInfo::new(0, least, most, 0, 0, 0));
    let direct: AttributeSet<PropType> = [PropType::DIRECT].into_iter().collect();
    VirtualDevice::builder()
        .expect("uinput")
        .name("touch")
        .with_properties(&direct)
        .unwrap()
        .with_keys(&keys(&[KeyCode::BTN_TOUCH]))
        .unwrap()
        .with_absolute_axis(&axis(AbsoluteAxisCode::ABS_MT_SLOT, (0, 9)))
        .unwrap()
        .with_absolute_axis(&axis(AbsoluteAxisCode::ABS_MT_TRACKING_ID, (0, 65535)))
        .unwrap()
        .with_absolute_axis(&axis(AbsoluteAxisCode::ABS_MT_POSITION_X, AXIS))
        .unwrap()
        .with_absolute_axis(&axis(AbsoluteAxisCode::ABS_MT_POSITION_Y, AXIS))
        .unwrap()
        .build()
        .unwrap()
}

pub(crate) fn emit(device: &mut VirtualDevice, kind: EventType, events: &[(u16, i32)]) {
    let event = |(code, value): &(u16, i32)| InputEvent::new(kind.0, *code, *value);
    let events: Vec<InputEvent> = events.iter().map(event).collect();
    device.emit(&events).expect("the kernel takes them");
}

pub(crate) fn press(device: &mut VirtualDevice, key: KeyCode, is_down: bool) {
    emit(device, EventType::KEY, &[(key.0, is_down.into())]);
}
