// SPDX-License-Identifier: Apache-2.0
//! Java's sound: an application's samples are those in the file, one by one, and the states that it
//! sees are Android's. What AudioRecord gives are those of another file.
#![forbid(unsafe_code)]

use std::f64::consts::TAU;
use std::path::Path;

use e2e::Run;
use e2e::apps::{WAYS, Way, command, said};
use rt::policy::{Policy, Reservation, Tid};
use rt::thread::Builder;

const COUNT: u16 = 12_000;

/// What is after the head of a WAV file's data.
fn data(wav: &Path) -> Vec<u8> {
    let mut wav = std::fs::read(wav).expect("the file is written");
    let place = wav.windows(4).position(|it| it == b"data");
    wav.split_off(place.expect("a WAV file has data") + 8)
}

fn samples(wav: &Path) -> Vec<u16> {
    let data = data(wav);
    let pairs = data.chunks_exact(2);
    pairs.map(|it| u16::from_le_bytes([it[0], it[1]])).collect()
}

/// The application's samples.
fn numbered(range: std::ops::Range<u16>) -> impl Iterator<Item = u16> {
    range.map(|it| it.wrapping_mul(7))
}

/// A WAV file of these samples, 48,000 a second.
fn recording(samples: &[u16]) -> Vec<u8> {
    let data: Vec<u8> = samples.iter().flat_map(|it| it.to_le_bytes()).collect();
    let size = data.len() as u32;
    let mut wav = Vec::new();
    wav.extend(b"RIFF");
    wav.extend((size + 36).to_le_bytes());
    wav.extend(b"WAVEfmt ");
    wav.extend([16, 0, 0, 0, 1, 0, 1, 0]);
    wav.extend(48_000_u32.to_le_bytes());
    wav.extend(96_000_u32.to_le_bytes());
    wav.extend([2, 0, 16, 0]);
    wav.extend(b"data");
    wav.extend(size.to_le_bytes());
    wav.extend(data);
    wav
}

fn run(way: Way, part: &str, data: &Path, device: &str) -> Run {
    let mut command = command(way, "playing", data);
    command.args(["--service", ".Player", "--extra", &format!("part={part}")]);
    Run::of(command.env("TAKT_SOUND", device))
}

/// A part of the application says `expected`, and the file holds `sent`.
fn check(ways: &[Way], part: &str, expected: &[&str], sent: &[u16]) {
    for &way in ways {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let wav = folder.path().join("played.wav");
        let run = run(way, part, folder.path(), &format!("file:{}", wav.display()));
        assert_eq!(said(&run.stderr, "Playing"), expected, "{way:?} {run:#?}");
        let played = samples(&wav);
        assert_eq!(played.len(), sent.len(), "{way:?}");
        assert!(played == sent, "{way:?}: a sample differs");
    }
}

#[test]
fn what_is_written_is_what_is_played() {
    let expected = [
        "device 48000 48000 64",
        "least 512",
        "state 1 1",
        "frames 1024 1024",
        "standing 1024 0 false",
        "full 0",
        "playing 3 true",
        "rest true",
        "whole frames 4",
        "outside -2",
        "stopped 1 0",
        "released 0 -3",
        "done",
    ];
    let sent: Vec<u16> = numbered(0..COUNT).chain([0x0201, 0x0403]).collect();
    check(&WAYS, "stream", &expected, &sent);
}

#[test]
fn buffers_on_both_sides_of_the_heap_and_a_volume() {
    let expected = [
        "heap 24000 0",
        "direct 24000 0",
        "read-only 4",
        "volume 0 2",
        "AudioTrack.setPlaybackRate to another than its own is not supported by Takt yet",
        "rate 0 loop -3",
        "done",
    ];
    let both = numbered(0..COUNT).chain(numbered(0..COUNT));
    let half = [500, -500_i16 as u16];
    let sent: Vec<u16> = both.chain(numbered(0..2)).chain(half).collect();
    check(&[Way::Takt], "buffers", &expected, &sent);
}

#[test]
fn a_static_buffer_is_played_with_its_loop() {
    let expected = [
        "state 2 640",
        "write 640 1",
        "loops 0 -2 -2",
        "looped 1152",
        "playing -3 -3",
        "again 0 0 0",
        "half 320",
        "done",
    ];
    let looped = numbered(0..320).chain(numbered(64..320));
    let sent: Vec<u16> = looped
        .chain(numbered(64..640))
        .chain(numbered(320..640))
        .collect();
    check(&WAYS, "static", &expected, &sent);
}

#[test]
fn a_marker_is_told_once_and_periods_until_the_end() {
    let expected = [
        "set 0 0 2000 3000",
        "before false",
        "marker true 1",
        "stamp true true true true",
        "heard true true",
        "done",
    ];
    let sent: Vec<u16> = numbered(0..COUNT).collect();
    check(&[Way::Takt], "marks", &expected, &sent);
}

/// No card: the track's own state says so, and why is said once.
#[test]
fn a_missing_card_gives_a_track_without_a_state() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let run = run(Way::Takt, "stream", folder.path(), "alsa:hw:NoSuchCard,0");
    let expected = [
        "device -1 null null",
        "least -1",
        "state 0 1",
        "write -3",
        "done",
    ];
    assert_eq!(said(&run.stderr, "Playing"), expected, "{run:#?}");
    assert!(
        run.stderr.contains("TAKT_SOUND names the device"),
        "{run:#?}"
    );
}

#[test]
fn what_is_recorded_is_what_is_in_the_file() {
    for way in WAYS {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let wav = folder.path().join("heard.wav");
        let samples: Vec<u16> = numbered(0..COUNT).collect();
        std::fs::write(&wav, recording(&samples)).expect("it is written");
        let mut command = command(way, "playing", folder.path());
        command.args(["--service", ".Player", "--extra", "part=record"]);
        command.env("TAKT_SOUND_INPUT", format!("file:{}", wav.display()));
        let run = Run::of(command.env("TAKT_SOUND", "null"));
        let expected = [
            "least 256",
            "state 1 1",
            "standing 0",
            "recording 3 5000",
            "bytes 10000",
            "direct 2000",
            "same true",
            "rest 1000 -6",
            "released 0",
            "done",
        ];
        assert_eq!(said(&run.stderr, "Playing"), expected, "{way:?} {run:#?}");
    }
}

/// Whether this machine reserves time for our threads.
fn is_reserving() -> bool {
    let reservation = Policy::Deadline(Reservation {
        runtime_ns: 1_000_000,
        deadline_ns: 10_000_000,
        period_ns: 10_000_000,
    });
    let thread = Builder::new("asks").spawn(move || reservation.apply(Tid::current()).is_ok());
    thread.expect("a thread").join()
}

#[test]
fn a_hint_session_reserves_what_its_thread_uses() {
    let is_reserving = is_reserving();
    for way in WAYS {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let run = run(way, "hints", folder.path(), "null");
        let foreign = "thread 1 does not belong to the application";
        let expected: &[&str] = match is_reserving {
            true => &[
                "rate 100000",
                foreign,
                "session 6 true",
                "learned true true",
                "updated 6",
                "closed true",
                "done",
            ],
            false => &["rate 100000", foreign, "no session true", "done"],
        };
        // Lines of a real-time thread are written by another one, so they may come later.
        let mut told = said(&run.stderr, "Playing");
        told.sort_by_key(|line| expected.iter().position(|it| it == line));
        assert_eq!(told, expected, "{way:?} {run:#?}");
        let told = run.stderr.contains("PerformanceHint: no session");
        assert_eq!(told, !is_reserving, "{run:#?}");
    }
}

/// A periodic real-time thread with a hint session of its own: all its periods are reserved.
#[test]
fn a_periodic_real_time_thread_runs_on_the_predictor() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let run = run(Way::Takt, "periodic", folder.path(), "null");
    let told = match is_reserving() {
        true => "reserved true, released true, learned true, then 1",
        false => "no session",
    };
    assert_eq!(said(&run.stderr, "Playing"), [told, "done"], "{run:#?}");
}

/// A part that plays nothing says `expected`, on both machines.
fn check_told(part: &str, expected: &[&str]) {
    for way in WAYS {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let run = run(way, part, folder.path(), "null");
        assert_eq!(said(&run.stderr, "Playing"), expected, "{way:?} {run:#?}");
    }
}

/// As AOSP's MediaFocusControl tells the listeners of one application.
#[test]
fn the_focus_goes_to_who_asks_last_and_comes_back() {
    let expected = [
        "a 1",
        "a again 1",
        "b ducks 1 a-3",
        "c pauses 1 a-2 b-2",
        "b goes 1",
        "d alone 1 c-2",
        "d goes 1 c1",
        "c goes 1 a1",
        "b over a 1 a-3",
        "e for good 1 a-1 b-1",
        "e goes 1",
        "e goes again 1",
        "plain -1",
        "lost true 1 1 1",
        "granted 101, failed 4899, told",
        "after 1 1",
        "thrown true",
        "others hear 1 b-1",
        "done",
    ];
    check_told("focus", &expected);
}

/// As AOSP's service with `config_useFixedVolume`.
#[test]
fn volumes_are_fixed() {
    let expected = [
        "fixed true 0 2",
        "volume 15 0 15 false",
        "after 15 false",
        "others 1-5 0-7 1-7 0-7",
        "Bad stream type 99",
        "done",
    ];
    check_told("volumes", &expected);
}

/// An encoding's samples, from an array and a direct buffer, are the file's to the bit.
fn check_form(part: &str, encoding: u32, sample: impl Fn(i32) -> Vec<u8>) {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let wav = folder.path().join("played.wav");
    let device = format!("file-fast:{}", wav.display());
    let run = run(Way::Takt, part, folder.path(), &device);
    let format = format!("format {encoding} 1");
    let expected = [&format, "array 1500", "direct 1500", "done"];
    assert_eq!(said(&run.stderr, "Playing"), expected, "{run:#?}");
    let sent: Vec<u8> = (0..3_000).flat_map(sample).collect();
    assert!(data(&wav) == sent, "{part}: a sample differs");
}

#[test]
fn other_forms_of_samples_are_played_to_the_bit() {
    check_form("floats", 4, |it| {
        ((it - 1_500) as f32 / 2_048.0).to_le_bytes().to_vec()
    });
    check_form("24", 21, |it| (it * 5_003).to_le_bytes()[..3].to_vec());
    check_form("32", 22, |it| {
        it.wrapping_mul(1_000_003).to_le_bytes().to_vec()
    });
}

#[test]
fn a_pause_loses_no_sample() {
    let expected = [
        "first 6000",
        "paused 2 true",
        "stands true",
        "goes on 3 6000",
        "done",
    ];
    let sent: Vec<u16> = numbered(0..COUNT).collect();
    check(&WAYS, "pause", &expected, &sent);
}

#[test]
fn a_file_is_recorded_in_floats() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let wav = folder.path().join("heard.wav");
    let samples: Vec<u16> = numbered(0..4_000).collect();
    std::fs::write(&wav, recording(&samples)).expect("it is written");
    let mut command = command(Way::Takt, "playing", folder.path());
    command.args(["--service", ".Player", "--extra", "part=record-floats"]);
    command.env("TAKT_SOUND_INPUT", format!("file:{}", wav.display()));
    let run = Run::of(command.env("TAKT_SOUND", "null"));
    let expected = ["floats 4000 true -6", "done"];
    assert_eq!(said(&run.stderr, "Playing"), expected, "{run:#?}");
}

/// Who reads the file goes away: the track is dead, and says so.
#[test]
fn a_device_that_goes_away_ends_the_track() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let pipe = folder.path().join("pipe.wav");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("mkfifo is there").success());
    let reads = pipe.clone();
    let reader = Builder::new("reads").spawn(move || {
        let mut file = std::fs::File::open(reads).expect("it is a pipe");
        let mut some = [0; 32_768];
        std::io::Read::read_exact(&mut file, &mut some).is_ok()
    });
    let device = format!("file-fast:{}", pipe.display());
    let run = run(Way::Takt, "lose", folder.path(), &device);
    assert!(reader.expect("a thread").join(), "{run:#?}");
    let expected = ["plays 1", "ended -6 -6", "released 0", "done"];
    assert_eq!(said(&run.stderr, "Playing"), expected, "{run:#?}");
}

const RATE: f64 = 48_000.0;

/// The amplitude of one frequency in these samples: Goertzel's filter.
fn amplitude(samples: &[u16], hertz: f64) -> f64 {
    let twice = 2.0 * (TAU * hertz / RATE).cos();
    let (mut last, mut before) = (0.0, 0.0);
    for sample in samples {
        let next = f64::from(sample.cast_signed()) + twice * last - before;
        (before, last) = (last, next);
    }
    let power = last * last + before * before - twice * last * before;
    2.0 * power.sqrt() / samples.len() as f64
}

/// A letter strikes a key in the window, which sounds and fades.
#[test]
fn a_letter_strikes_a_key() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let wav = folder.path().join("keys.wav");
    let mut command = command(Way::Takt, "synth", folder.path());
    command.args(["--activity", ".Keyboard", "--wait", "200ms"]);
    command.args(["--key", "A", "--wait", "200ms", "--screenshot"]);
    command.arg(folder.path().join("keys.png"));
    let device = format!("file:{}", wav.display());
    let run = Run::of(command.env("TAKT_SOUND", device));
    assert_eq!(run.code, 0, "{run:#?}");
    let played = samples(&wav);
    let first = played.iter().position(|it| *it != 0);
    let first = first.unwrap_or_else(|| panic!("nothing sounds: {run:#?}"));
    let last = played.iter().rposition(|it| *it != 0).unwrap_or(first);
    // A burst at least, and its fading: 5 ms.
    let frames = last - first;
    assert!((64..24_000).contains(&frames), "{frames} frames {run:#?}");
}

/// `service` plays three words, the last a rest.
fn play_tune(service: &str, folder: &Path) -> std::path::PathBuf {
    let wav = folder.join("tune.wav");
    let mut command = command(Way::Takt, "synth", folder);
    command.args(["--service", service, "--extra", "millis=500"]);
    command.args(["--extra", "notes=a4 c5+e5 -"]);
    let device = format!("file-fast:{}", wav.display());
    let run = Run::of(command.env("TAKT_SOUND", device));
    let told = said(&run.stderr, "Synth");
    assert_eq!(told, ["played 72000 frames, underruns 0"], "{run:#?}");
    wav
}

/// examples/synth: each chord has its frequencies, as loud as one key is, and its frames.
#[test]
fn the_synth_plays_the_notes_that_are_asked_for() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    check_tune(&samples(&play_tune(".Tune", folder.path())));
}

/// The same by the package's own library in C, on AAudio, inside the sandbox.
#[test]
fn the_synth_plays_by_its_own_library_too() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let data = data(&play_tune(".NativeTune", folder.path()));
    let floats = data.chunks_exact(4).map(|it| {
        let float = f32::from_le_bytes([it[0], it[1], it[2], it[3]]);
        (f64::from(float) * f64::from(i16::MAX)).round() as i16 as u16
    });
    check_tune(&floats.collect::<Vec<_>>());
}

fn check_tune(played: &[u16]) {
    assert_eq!(played.len(), 72_000);
    let (a, c_sharp, c, e) = (440.0, 554.37, 523.25, 659.26);
    let sounding = [(0, [a, a], [c, e]), (24_000, [c, e], [a, c_sharp])];
    for (start, there, absent) in sounding {
        let middle = &played[start + 2_400..start + 21_600];
        for hertz in there {
            let loud = amplitude(middle, hertz);
            assert!((3_900.0..4_300.0).contains(&loud), "{hertz}: {loud}");
        }
        for hertz in absent {
            let loud = amplitude(middle, hertz);
            assert!(loud < 100.0, "{hertz}: {loud}");
        }
    }
    let faded = &played[48_000 + 480..];
    assert!(faded.iter().all(|it| *it == 0), "a rest is silent");
}

#[test]
fn the_synth_says_what_is_no_note() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let mut command = command(Way::Takt, "synth", folder.path());
    command.args(["--service", ".Tune", "--extra", "notes=c4 h9"]);
    let run = Run::of(command.env("TAKT_SOUND", "null"));
    let expected = ["plays nothing: no note: 'h9'; such as c4, f#3 or b6 are"];
    assert_eq!(said(&run.stderr, "Synth"), expected, "{run:#?}");
}
