// SPDX-License-Identifier: Apache-2.0
//! Plays bursts whose work jumps between that of 5 and of 185 notes each half second, under a
//! reservation: `jump DEVICE SECONDS WHEN [cpufreq]`, as `jump alsa:hw:0,0,burst=64 10 never`.
//! `WHEN` is when the work is announced: `before` the call, `late` (by a thread beside), `never`. A
//! note is 6.34 µs of processor time, so that 185 take 88 % of a burst of 64 frames at 48 kHz. With
//! `cpufreq` the processors' speed follows. Ends with 1 if the hardware ran dry.
#![allow(clippy::print_stdout, reason = "a program for a person")]

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use rt::clock::{Clock as _, Monotonic, thread_time_ns};
use rt::policy::Policy;
use sound::{
    Backend, Call, Direction, Flow, Format, Governor, Model, Playback, Stream, StreamError, Wanted,
};

const FEW: u32 = 5;
const MANY: u32 = 185;
const NOTE_NS: u64 = 6_343;
/// Half a second of bursts.
const STEP: u64 = 375;

#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    Before,
    Late,
    Never,
}

fn notes_of(call: u64) -> u32 {
    match (call / STEP).is_multiple_of(2) {
        true => FEW,
        false => MANY,
    }
}

fn play(
    device: &str,
    seconds: u64,
    when: When,
    governor: Option<Arc<Governor>>,
) -> Result<u32, StreamError> {
    let wanted = Wanted {
        direction: Direction::Output,
        rate: Some(48_000),
        channels: Some(2),
        format: Some(Format::I16),
        capacity: None,
    };
    let calls = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&calls);
    let own: Arc<OnceLock<Weak<Stream>>> = Arc::default();
    let stream_of = Arc::clone(&own);
    let callback = move |_: &mut [u8], _: Call| {
        let call = count.fetch_add(1, Ordering::Relaxed);
        if when == When::Before
            && let Some(stream) = stream_of.get().and_then(Weak::upgrade)
        {
            stream.set_work_units(notes_of(call + 1));
        }
        let end_ns = thread_time_ns() + u64::from(notes_of(call)) * NOTE_NS;
        while thread_time_ns() < end_ns {}
        Flow::Continue
    };
    let playback = Playback {
        callback: Box::new(callback),
        frames: None,
        policy: Some(Policy::fifo(80)),
        reserve: Some(Model::Ours),
        governor,
    };
    let stream = Stream::open(&Backend::parse(device)?, &wanted, Some(playback), None)?;
    let stream = Arc::new(stream);
    let _first = own.set(Arc::downgrade(&stream));
    println!("{:?}, buffer {}", stream.granted(), stream.buffer_size());
    stream.set_work_units(FEW);
    let end_ns = Monotonic.now_ns() + seconds * 1_000_000_000;
    stream.start()?;
    while Monotonic.now_ns() < end_ns {
        Monotonic.sleep_until(Monotonic.now_ns() + 500_000);
        if when == When::Late {
            stream.set_work_units(notes_of(calls.load(Ordering::Relaxed)));
        }
    }
    let grant = stream.grant();
    stream.stop()?;
    println!("policy {:?}, refused {:?}", grant.granted, grant.refusal);
    println!("{} calls", calls.load(Ordering::Relaxed));
    println!("{:?}", stream.overruns());
    println!("underruns {}", stream.xruns());
    Ok(stream.xruns())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (words, is_steered) = match words[..] {
        [ref words @ .., "cpufreq"] => (words, true),
        ref words => (words, false),
    };
    let parsed = match words {
        [device, seconds, when] => {
            let when = match *when {
                "before" => Some(When::Before),
                "late" => Some(When::Late),
                "never" => Some(When::Never),
                _ => None,
            };
            seconds.parse().ok().zip(when).map(|it| (device, it))
        }
        _ => None,
    };
    let Some((device, (seconds, when))) = parsed else {
        eprintln!("jump DEVICE SECONDS before|late|never [cpufreq]");
        return ExitCode::from(2);
    };
    let governor = match is_steered.then(sound::steered::governor).transpose() {
        Ok(governor) => governor,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    match play(device, seconds, when, governor) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(1),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}
