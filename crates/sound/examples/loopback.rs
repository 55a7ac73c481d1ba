// SPDX-License-Identifier: Apache-2.0
//! Plays numbered frames into one end of a loop and looks for them at the other:
//! `loopback OUTPUT INPUT FRAMES`, as `loopback alsa:hw:0,0,burst=512 alsa:hw:0,1,burst=512 96000`.
//! Played by a callback, recorded by blocking reads. Ends with 1 if a frame is missing or changed.
#![allow(clippy::print_stdout, reason = "a program for a person")]

use std::process::ExitCode;

use rt::clock::{Clock as _, Monotonic};
use sound::{Backend, Call, Direction, Flow, Format, Playback, State, Stream, StreamError, Wanted};

const STEREO: Wanted = Wanted {
    direction: Direction::Output,
    rate: Some(48_000),
    channels: Some(2),
    format: Some(Format::I16),
    capacity: None,
};
const SECOND_NS: u64 = 1_000_000_000;

/// Frame `n` carries `n` in its 32 bits, from one on.
fn numbered() -> Playback {
    let mut next = 1_u32;
    let callback = move |bytes: &mut [u8], _: Call| {
        for frame in bytes.chunks_exact_mut(4) {
            frame.copy_from_slice(&next.to_le_bytes());
            next += 1;
        }
        Flow::Continue
    };
    Playback {
        callback: Box::new(callback),
        frames: None,
        policy: None,
        reserve: None,
        governor: None,
    }
}

/// Frames in their order, frames out of it, silence before the first.
#[derive(Debug, Default)]
struct Heard {
    exact: u32,
    wrong: u32,
    silent: u32,
    last: u32,
}

impl Heard {
    fn take(&mut self, frame: u32) {
        match (self.last, frame) {
            (0, 0) => self.silent += 1,
            (last, next) if last == 0 || next == last.wrapping_add(1) => {
                self.exact += 1;
                self.last = next;
            }
            (_, next) => {
                self.wrong += 1;
                self.last = next;
            }
        }
    }
}

fn listen(output: &str, input: &str, frames: u32) -> Result<bool, StreamError> {
    let recorded = Wanted {
        direction: Direction::Input,
        ..STEREO
    };
    let player = Stream::open(&Backend::parse(output)?, &STEREO, Some(numbered()), None)?;
    let recorder = Stream::open(&Backend::parse(input)?, &recorded, None, None)?;
    recorder.start()?;
    player.start()?;
    let mut heard = Heard::default();
    let mut bytes = [0; 4 * 480];
    let due_ns = Monotonic.now_ns() + 60 * SECOND_NS;
    while heard.exact + heard.wrong < frames && Monotonic.now_ns() < due_ns {
        let count = recorder.read(&mut bytes, Monotonic.now_ns() + SECOND_NS)?;
        for frame in bytes[..4 * count].chunks_exact(4) {
            heard.take(u32::from_le_bytes([frame[0], frame[1], frame[2], frame[3]]));
        }
    }
    println!("{heard:?}");
    println!(
        "underruns {}, overruns {}",
        player.xruns(),
        recorder.xruns()
    );
    recorder.stop()?;
    let stopped = recorder.wait_for_change(State::Stopping, Monotonic.now_ns() + SECOND_NS)?;
    println!("recorder {stopped:?}, read {}", recorder.frames_read());
    Ok(heard.exact >= frames && heard.wrong == 0)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [output, input, frames] = arguments.as_slice() else {
        eprintln!("loopback OUTPUT INPUT FRAMES");
        return ExitCode::from(2);
    };
    match listen(output, input, frames.parse().unwrap_or(0)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}
