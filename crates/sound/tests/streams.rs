// SPDX-License-Identifier: Apache-2.0
//! Streams on the back ends without a card: what is played is what is in the file, states change
//! in order, underruns are those of the hardware pointer, and the callback's thread takes no
//! memory.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rt::clock::{Clock as _, Monotonic, thread_time_ns};
use rt::guard::{Breaches, GuardedAllocator, breaches};
use rt::policy::Policy;
use sound::{
    Backend, Call, DeviceError, Direction, Feature, Flow, Format, Model, Playback, Refusal, State,
    Stream, StreamError, Wanted,
};

#[global_allocator]
static ALLOCATOR: GuardedAllocator = GuardedAllocator::system();

const STEREO: Wanted = Wanted {
    direction: Direction::Output,
    rate: Some(48_000),
    channels: Some(2),
    format: Some(Format::I16),
    capacity: None,
};
/// As long as a busy machine may take.
const LONG_NS: u64 = 20_000_000_000;

fn due() -> u64 {
    Monotonic.now_ns() + LONG_NS
}

fn open(device: &str, wanted: &Wanted, playback: Option<Playback>) -> Stream {
    let backend = Backend::parse(device).unwrap();
    Stream::open(&backend, wanted, playback, None).unwrap()
}

/// Waits for a state; every state on the way must be one of `by`.
fn reach(stream: &Stream, goal: State, by: &[State]) {
    let mut seen = stream.state();
    while seen != goal {
        assert!(by.contains(&seen), "{seen:?} on the way to {goal:?}");
        seen = stream.wait_for_change(seen, due()).unwrap();
    }
}

/// A callback that writes 0, 1, 2 … and ends after so many calls.
fn counting(calls: u32) -> Playback {
    let (mut next, mut call) = (0_i16, 0);
    let callback = move |bytes: &mut [u8], of: Call| {
        assert_eq!(bytes.len(), of.frames as usize * 4);
        for sample in bytes.chunks_exact_mut(2) {
            sample.copy_from_slice(&next.to_le_bytes());
            next = next.wrapping_add(1);
        }
        call += 1;
        if call == calls {
            Flow::Stop
        } else {
            Flow::Continue
        }
    };
    Playback {
        callback: Box::new(callback),
        frames: None,
        policy: None,
        reserve: None,
        governor: None,
    }
}

fn samples(path: &Path) -> Vec<i32> {
    let reader = hound::WavReader::open(path).unwrap();
    reader.into_samples::<i32>().map(Result::unwrap).collect()
}

#[test]
fn a_callback_plays_into_a_file_sample_for_sample() {
    let folder = tempfile::tempdir().unwrap();
    for kind in ["file-fast", "file"] {
        let path = folder.path().join(kind);
        let device = format!("{kind}:{}", path.display());
        let stream = open(&device, &STEREO, Some(counting(100)));
        assert_eq!(stream.state(), State::Open);
        stream.start().unwrap();
        let way = [State::Starting, State::Started, State::Stopping];
        reach(&stream, State::Stopped, &way);
        assert_eq!(stream.frames_written(), 6_400);
        assert_eq!(stream.frames_read(), 6_400, "all is played before it stops");
        drop(stream);
        let expected: Vec<i32> = (0..12_800).collect();
        assert_eq!(samples(&path), expected);
    }
}

#[test]
fn requests_follow_the_states() {
    let stream = open("null", &STEREO, Some(counting(0)));
    stream.start().unwrap();
    let again = stream.start();
    assert_eq!(again, Err(StreamError::Refused(Refusal::WrongState)));
    reach(&stream, State::Started, &[State::Starting]);
    assert!(stream.timestamp().is_some());
    stream.pause().unwrap();
    reach(&stream, State::Paused, &[State::Pausing]);
    assert_eq!(stream.timestamp(), None, "only while it moves");
    let (written, read) = (stream.frames_written(), stream.frames_read());
    assert!(read <= written && written <= read + u64::from(stream.buffer_size()));
    stream.flush().unwrap();
    reach(&stream, State::Flushed, &[State::Flushing]);
    assert_eq!(stream.frames_read(), written, "moved past what was dropped");
    stream.start().unwrap();
    reach(&stream, State::Started, &[State::Starting]);
    stream.stop().unwrap();
    reach(&stream, State::Stopped, &[State::Stopping]);
    assert_eq!(stream.frames_read(), stream.frames_written());
    stream.release().unwrap();
    assert_eq!(stream.state(), State::Closing);
    assert!(stream.start().is_err());
    assert_eq!(
        stream.wait_for_change(State::Closing, 0),
        Err(StreamError::TimedOut)
    );
}

#[test]
fn an_underrun_is_counted_once_by_the_pointer() {
    let stream = open("null", &STEREO, None);
    assert_eq!(stream.set_buffer_size(1), 64, "a burst at least");
    assert_eq!(
        stream.set_buffer_size(1_000_000),
        512,
        "the capacity at most"
    );
    assert_eq!(stream.set_buffer_size(128), 128);
    let frames = [7; 512 * 4];
    assert_eq!(
        stream.write(&frames, 0),
        Ok(128),
        "what fits, without a wait"
    );
    assert_eq!(stream.write(&frames, 0), Ok(0));
    stream.start().unwrap();
    assert_eq!(stream.state(), State::Started);
    // It stands at the end of what was written, and stays there.
    let due_ns = due();
    while stream.xruns() == 0 {
        assert!(Monotonic.now_ns() < due_ns);
        Monotonic.sleep_until(Monotonic.now_ns() + 1_000_000);
        let at = stream.timestamp().unwrap();
        assert!(at.frames <= 128);
    }
    Monotonic.sleep_until(Monotonic.now_ns() + 5_000_000);
    assert_eq!(stream.timestamp().unwrap().frames, 128);
    assert_eq!((stream.xruns(), stream.frames_read()), (1, 128));
    assert_eq!(stream.write(&frames[..4 * 64], due()), Ok(64));
    stream.stop().unwrap();
    reach(&stream, State::Stopped, &[State::Stopping]);
    // A busy machine may let it run dry once more before the stop; the stop itself is none.
    assert!(stream.xruns() <= 2, "{}", stream.xruns());
    assert_eq!(stream.frames_read(), 192);
}

#[test]
fn a_write_waits_for_room_and_gives_up_in_time() {
    let stream = open("null", &STEREO, None);
    let frames = [0; 1_000 * 4];
    let due_ns = Monotonic.now_ns() + 3_000_000;
    assert_eq!(stream.write(&frames, due_ns), Ok(128), "it does not move");
    assert!(Monotonic.now_ns() >= due_ns, "never early");
    stream.start().unwrap();
    assert_eq!(stream.write(&frames, due()), Ok(1_000));
    assert_eq!(stream.frames_written(), 1_128);
    assert!(
        stream.frames_read() >= 1_000,
        "the rest fits into the buffer"
    );
    let mut heard = [0; 4];
    let refused = stream.read(&mut heard, 0);
    assert_eq!(refused, Err(StreamError::Refused(Refusal::WrongState)));
}

#[test]
fn a_files_end_is_a_disconnect() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("in.wav");
    let device = format!("file-fast:{}", path.display());
    let stream = open(&device, &STEREO, Some(counting(3)));
    stream.start().unwrap();
    reach(
        &stream,
        State::Stopped,
        &[State::Starting, State::Started, State::Stopping],
    );
    drop(stream);
    let told = Arc::new(AtomicU32::new(0));
    let hear = Arc::clone(&told);
    let input = Wanted {
        direction: Direction::Input,
        format: Some(Format::I32),
        ..STEREO
    };
    let backend = Backend::parse(&device).unwrap();
    let hook = Box::new(move || {
        hear.fetch_add(1, Ordering::SeqCst);
    });
    let stream = Stream::open(&backend, &input, None, Some(hook)).unwrap();
    let mut heard = vec![0; 200 * 8];
    assert_eq!(stream.read(&mut heard, 0), Ok(0), "it does not move");
    stream.start().unwrap();
    assert_eq!(stream.read(&mut heard, due()), Ok(192));
    for (index, sample) in heard[..192 * 8].chunks_exact(4).enumerate() {
        let sample = i32::from_le_bytes(sample.try_into().unwrap());
        assert_eq!(sample, (index as i32) << 16);
    }
    assert_eq!(stream.state(), State::Disconnected);
    let gone = Err(StreamError::Refused(Refusal::Disconnected));
    assert_eq!(stream.read(&mut heard, 0), gone);
    assert_eq!(stream.start(), gone.map(drop));
    assert_eq!(told.load(Ordering::SeqCst), 1);
    let other = Wanted {
        rate: Some(44_100),
        ..input
    };
    let refused = Stream::open(&backend, &other, None, None).unwrap_err();
    assert_eq!(refused, DeviceError::Unsupported(Feature::Rate));
}

#[test]
fn an_input_goes_on_after_a_stop() {
    let input = Wanted {
        direction: Direction::Input,
        ..STEREO
    };
    let heard = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&heard);
    let playback = Playback {
        callback: Box::new(move |bytes, call| {
            assert!(bytes.iter().all(|it| *it == 0), "silence");
            match count.fetch_add(call.frames.into(), Ordering::SeqCst) {
                576 => Flow::Stop,
                _ => Flow::Continue,
            }
        }),
        frames: None,
        policy: None,
        reserve: None,
        governor: None,
    };
    let stream = open("null", &input, Some(playback));
    assert_eq!(
        stream.pause(),
        Err(StreamError::Refused(Refusal::NotForInput))
    );
    let way = [State::Starting, State::Started, State::Stopping];
    stream.start().unwrap();
    reach(&stream, State::Stopped, &way);
    assert_eq!(heard.load(Ordering::SeqCst), 640);
    stream.start().unwrap();
    let due_ns = due();
    while heard.load(Ordering::SeqCst) < 1_280 {
        assert!(Monotonic.now_ns() < due_ns);
        Monotonic.sleep_until(Monotonic.now_ns() + 1_000_000);
    }
    stream.stop().unwrap();
    reach(&stream, State::Stopped, &way);
    let (read, heard) = (stream.frames_read(), heard.load(Ordering::SeqCst));
    assert!(heard <= read, "past what nobody read when it stopped");
    assert!(read <= heard + 2 * 512, "at most a buffer at each stop");
    assert_eq!(stream.frames_written(), read);
}

#[test]
fn the_callbacks_thread_takes_no_memory_and_says_its_policy() {
    let before = breaches();
    let calls = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&calls);
    let playback = Playback {
        callback: Box::new(move |bytes, _| {
            assert!(rt::guard::is_in_section());
            bytes.fill(1);
            count.fetch_add(1, Ordering::SeqCst);
            Flow::Continue
        }),
        frames: Some(96),
        policy: Some(Policy::fifo(2)),
        reserve: None,
        governor: None,
    };
    let stream = open("null,burst=128", &STEREO, Some(playback));
    assert_eq!((stream.chunk(), stream.buffer_size()), (96, 256));
    assert_eq!(stream.grant().granted, None);
    stream.start().unwrap();
    let due_ns = due();
    while calls.load(Ordering::SeqCst) < 40 {
        assert!(Monotonic.now_ns() < due_ns);
        Monotonic.sleep_until(Monotonic.now_ns() + 1_000_000);
    }
    let grant = stream.grant();
    assert_eq!(grant.asked, Some(Policy::fifo(2)));
    // Without the right to it, the refusal says so; never neither.
    assert_eq!(
        grant.granted != grant.asked,
        grant.refusal.is_some(),
        "{grant:?}"
    );
    stream.stop().unwrap();
    reach(&stream, State::Stopped, &[State::Started, State::Stopping]);
    assert_eq!(stream.frames_written(), calls.load(Ordering::SeqCst) * 96);
    assert_eq!(breaches(), before);
    assert_eq!(before, Breaches::default());
}

#[test]
fn a_reservation_follows_the_work_or_says_why_not() {
    for reserve in [Model::Paper, Model::Ours] {
        let calls = Arc::new(AtomicU64::new(0));
        let count = Arc::clone(&calls);
        let playback = Playback {
            callback: Box::new(move |_, call| {
                assert_eq!(call.units, 3);
                count.fetch_add(1, Ordering::SeqCst);
                Flow::Continue
            }),
            frames: None,
            policy: None,
            reserve: Some(reserve),
            governor: None,
        };
        let stream = open("null,burst=480", &STEREO, Some(playback));
        stream.set_work_units(3);
        stream.start().unwrap();
        let due_ns = due();
        while calls.load(Ordering::SeqCst) < 60 {
            assert!(Monotonic.now_ns() < due_ns);
            Monotonic.sleep_until(Monotonic.now_ns() + 1_000_000);
        }
        let grant = stream.grant();
        match (grant.granted.unwrap(), &grant.refusal) {
            (Policy::Deadline(it), None) => {
                assert_eq!((it.deadline_ns, it.period_ns), (10_000_000, 10_000_000));
                // Next to no work, so next to all of the first 94 % is given back.
                assert!(it.runtime_ns < 9_400_000, "{it:?}");
            }
            (policy, refusal) => {
                assert_eq!(Some(policy), grant.started, "back where it began");
                assert!(refusal.is_some());
            }
        }
        assert!(!grant.started.unwrap().is_real_time());
        stream.stop().unwrap();
        reach(&stream, State::Stopped, &[State::Started, State::Stopping]);
    }
}

#[test]
fn what_is_not_there_says_so() {
    for device in ["alsa:no-such-card", "file:/no/such/folder/x.wav"] {
        let backend = Backend::parse(device).unwrap();
        let error = Stream::open(&backend, &STEREO, None, None).unwrap_err();
        assert!(matches!(error, DeviceError::Unavailable(_)), "{error}");
    }
    let playback = Playback {
        frames: Some(400),
        ..counting(1)
    };
    // Asked for with the stream, so the buffer has room for two.
    let stream = open("null", &STEREO, Some(playback));
    assert_eq!(stream.buffer_size(), 800);
}

/// Processor time of a call that nobody announced, of a period of 10 ms.
const JUMP_NS: u64 = 8_000_000;

#[test]
fn a_call_beyond_its_reservation_is_met_and_counted() {
    let calls = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&calls);
    let callback = move |_: &mut [u8], _: Call| {
        let call = count.fetch_add(1, Ordering::SeqCst);
        // After enough of next to nothing that little is reserved.
        if call > 0 && call.is_multiple_of(40) {
            let end_ns = thread_time_ns() + JUMP_NS;
            while thread_time_ns() < end_ns {}
        }
        Flow::Continue
    };
    let playback = Playback {
        callback: Box::new(callback),
        frames: None,
        policy: None,
        reserve: Some(Model::Ours),
        governor: None,
    };
    let stream = open("null,burst=480", &STEREO, Some(playback));
    stream.start().unwrap();
    let due_ns = due();
    while calls.load(Ordering::SeqCst) < 60 {
        assert!(Monotonic.now_ns() < due_ns);
        Monotonic.sleep_until(Monotonic.now_ns() + 1_000_000);
    }
    let (found, grant) = (stream.overruns(), stream.grant());
    // Held back by the kernel, the thread may be late more than once until it has caught up.
    if grant.refusal.is_none() {
        assert!(found.freed + found.late >= 1, "{found:?}, {grant:?}");
    }
    stream.stop().unwrap();
    reach(&stream, State::Stopped, &[State::Started, State::Stopping]);
}

/// A callback that writes one value `calls` times.
fn level(value: f32, calls: u32) -> Playback {
    let mut call = 0;
    let callback = move |bytes: &mut [u8], _: Call| {
        for sample in bytes.chunks_exact_mut(4) {
            sample.copy_from_slice(&value.to_le_bytes());
        }
        call += 1;
        match call < calls {
            true => Flow::Continue,
            false => Flow::Stop,
        }
    };
    Playback {
        callback: Box::new(callback),
        frames: None,
        policy: None,
        reserve: None,
        governor: None,
    }
}

#[test]
fn streams_of_one_device_are_added_up() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mixed");
    let device = format!("mix:file:{},burst=480", path.display());
    let wanted = Wanted {
        format: Some(Format::F32),
        ..STEREO
    };
    let one = open(&device, &wanted, Some(level(0.25, 30)));
    let two = open(&device, &wanted, Some(level(0.5, 20)));
    one.start().unwrap();
    two.start().unwrap();
    let way = [State::Starting, State::Started, State::Stopping];
    reach(&one, State::Stopped, &way);
    reach(&two, State::Stopped, &way);
    assert_eq!((one.frames_read(), two.frames_read()), (14_400, 9_600));
    drop((one, two));
    let reader = hound::WavReader::open(&path).unwrap();
    let samples: Vec<f32> = reader.into_samples().map(Result::unwrap).collect();
    let count = |value: f32| samples.iter().filter(|it| **it == value).count();
    // Each was heard whole, alone or with the other one.
    assert_eq!(count(0.25) + count(0.75), 2 * 14_400);
    assert_eq!(count(0.5) + count(0.75), 2 * 9_600);
    assert!(count(0.75) > 0, "they overlap");
    let others = samples.len() - count(0.25) - count(0.5) - count(0.75);
    assert_eq!(others, count(0.0), "else it is silent");
}

#[test]
fn a_mixer_resamples() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mixed");
    let device = format!("mix:file:{},burst=480", path.display());
    let first = open(&device, &STEREO, None);
    let wanted = Wanted {
        format: Some(Format::F32),
        rate: Some(44_100),
        ..STEREO
    };
    let other = open(&device, &wanted, Some(level(0.5, 50)));
    assert_eq!(
        (first.granted().rate, other.granted().rate),
        (48_000, 44_100)
    );
    other.start().unwrap();
    let way = [State::Starting, State::Started, State::Stopping];
    reach(&other, State::Stopped, &way);
    drop((first, other));
    let reader = hound::WavReader::open(&path).unwrap();
    assert_eq!(reader.spec().sample_rate, 48_000);
    let samples: Vec<f32> = reader.into_samples().map(Result::unwrap).collect();
    let heard = samples
        .iter()
        .filter(|it| (**it - 0.5).abs() < 0.01)
        .count()
        / 2;
    let expected = 50 * 480 * 48_000 / 44_100;
    // What rings at its two ends, and what stays in the filter.
    assert!(
        heard <= expected && expected - heard < 1_000,
        "{heard} of {expected}"
    );
}
