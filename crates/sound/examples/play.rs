// SPDX-License-Identifier: Apache-2.0
//! Plays a sine for some seconds and says what the device and the machine gave:
//! `play DEVICE SECONDS PRIORITY [NOTES]`, as `play alsa:hw:0,0,burst=64 10 80`. With notes, its
//! thread has a reservation, and by turns 5 and so many notes are computed. Ends with 1 if the
//! hardware ran dry.
#![allow(clippy::print_stdout, reason = "a program for a person")]

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rt::clock::{Clock as _, Monotonic};
use rt::policy::{Policy, Priority};
use sound::{Backend, Call, Direction, Flow, Format, Model, Playback, Stream, StreamError, Wanted};

const NOTES_MIN: u32 = 5;
fn play(device: &str, seconds: u64, priority: u8, notes: u32) -> Result<u32, StreamError> {
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
    let callback = move |bytes: &mut [u8], call: Call| {
        let notes = call.units;
        for frame in bytes.chunks_exact_mut(4) {
            let mut sum = 0.0;
            for note in 0..notes {
                sum += (phase * (note + 1) as f32 * std::f32::consts::TAU).sin();
            }
            let sample = (sum * 16_000.0 / notes as f32) as i16;
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
        reserve: (notes > 0).then_some(Model::Ours),
        governor: None,
    };
    let stream = Stream::open(&Backend::parse(device)?, &wanted, Some(playback), None)?;
    println!("{:?}, buffer {}", stream.granted(), stream.buffer_size());
    let start_ns = Monotonic.now_ns();
    stream.set_work_units(NOTES_MIN.min(notes.max(1)));
    stream.start()?;
    for second in 1..=seconds {
        Monotonic.sleep_until(start_ns + second * 1_000_000_000);
        let grant = stream.grant();
        match (grant.granted, grant.refusal) {
            (Some(policy), None) => println!("policy {policy}"),
            (policy, why) => println!("policy {policy:?}: {why:?}"),
        }
        if notes > 0 && second.is_multiple_of(3) {
            let next = if second / 3 % 2 == 1 {
                notes
            } else {
                NOTES_MIN
            };
            stream.set_work_units(next);
        }
    }
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
    let (device, numbers) = match arguments.split_first() {
        Some((device, numbers)) if (2..=3).contains(&numbers.len()) => (device, numbers),
        _ => {
            eprintln!("play DEVICE SECONDS PRIORITY [NOTES]");
            return ExitCode::from(2);
        }
    };
    let number = |at: usize| numbers.get(at).map_or(Ok(0), |it| it.parse::<u32>());
    let (Ok(seconds), Ok(priority), Ok(notes)) = (number(0), number(1), number(2)) else {
        eprintln!("seconds, a priority and notes are numbers");
        return ExitCode::from(2);
    };
    let priority = u8::try_from(priority).unwrap_or(0);
    match play(device, seconds.into(), priority, notes) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(1),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}
