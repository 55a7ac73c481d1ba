// SPDX-License-Identifier: Apache-2.0
//! Plays a sine for some seconds and says what the device and the machine gave:
//! `play DEVICE SECONDS PRIORITY`, as `play alsa:hw:0,0,burst=64 10 80`. Ends with 1 if the
//! hardware ran dry.
#![allow(clippy::print_stdout, reason = "a program for a person")]

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rt::clock::{Clock as _, Monotonic};
use rt::policy::{Policy, Priority};
use sound::{Backend, Direction, Flow, Format, Playback, Stream, StreamError, Wanted};

fn play(device: &str, seconds: u64, priority: u8) -> Result<u32, StreamError> {
    let wanted = Wanted {
        direction: Direction::Output,
        rate: Some(48_000),
        channels: Some(2),
        format: Some(Format::I16),
        capacity: None,
    };
    let calls = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&calls);
    let mut phase = 0.0_f32;
    let callback = move |bytes: &mut [u8], _: u32| {
        for frame in bytes.chunks_exact_mut(4) {
            let sample = ((phase * std::f32::consts::TAU).sin() * 16_000.0) as i16;
            frame[..2].copy_from_slice(&sample.to_le_bytes());
            frame[2..].copy_from_slice(&sample.to_le_bytes());
            phase = (phase + 440.0 / 48_000.0).fract();
        }
        count.fetch_add(1, Ordering::Relaxed);
        Flow::Continue
    };
    let playback = Playback {
        callback: Box::new(callback),
        frames: None,
        policy: Priority::new(priority).map(Policy::Fifo),
    };
    let stream = Stream::open(&Backend::parse(device)?, &wanted, Some(playback), None)?;
    println!("{:?}, buffer {}", stream.granted(), stream.buffer_size());
    let start_ns = Monotonic.now_ns();
    stream.start()?;
    let grant = stream.grant();
    match (grant.granted, grant.refusal) {
        (Some(policy), None) => println!("policy {policy}"),
        (policy, why) => println!("policy {policy:?}: {why:?}"),
    }
    Monotonic.sleep_until(start_ns + seconds * 1_000_000_000);
    let at = stream.timestamp();
    let (written, read) = (stream.frames_written(), stream.frames_read());
    stream.stop()?;
    let calls = calls.load(Ordering::Relaxed);
    println!("{calls} calls, {written} frames written, {read} played, {at:?}");
    println!("underruns {}", stream.xruns());
    Ok(stream.xruns())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [device, seconds, priority] = arguments.as_slice() else {
        eprintln!("play DEVICE SECONDS PRIORITY");
        return ExitCode::from(2);
    };
    let (Ok(seconds), Ok(priority)) = (seconds.parse(), priority.parse()) else {
        eprintln!("seconds and a priority are numbers");
        return ExitCode::from(2);
    };
    match play(device, seconds, priority) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(1),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}
