// SPDX-License-Identifier: Apache-2.0
//! AudioTrack: an application's samples are those in the file, one by one, and the states that it
//! sees are Android's.
#![forbid(unsafe_code)]

use e2e::Run;
use e2e::apps::{WAYS, command, said};

const COUNT: u16 = 12_000;

/// What is after the head of a WAV file's data.
fn samples(wav: &[u8]) -> Vec<u16> {
    let place = wav.windows(4).position(|it| it == b"data");
    let data = &wav[place.expect("a WAV file has data") + 8..];
    let pairs = data.chunks_exact(2);
    pairs.map(|it| u16::from_le_bytes([it[0], it[1]])).collect()
}

#[test]
fn what_is_written_is_what_is_played() {
    for way in WAYS {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let wav = folder.path().join("played.wav");
        let mut command = command(way, "playing", folder.path());
        let device = format!("file:{}", wav.display());
        let run = Run::of(
            command
                .args(["--service", ".Player"])
                .env("TAKT_SOUND", device),
        );
        let expected = [
            "least 512",
            "state 1 1",
            "frames 1024 1024",
            "standing 1024 0",
            "full 0",
            "playing 3",
            "rest true",
            "whole frames 4",
            "outside -2",
            "stopped 1 0",
            "released 0 -3",
            "AudioTrack.MODE_STATIC is not supported by Takt yet",
            "done",
        ];
        assert_eq!(said(&run.stderr, "Playing"), expected, "{way:?} {run:#?}");
        let mut sent: Vec<u16> = (0..COUNT).map(|it| it.wrapping_mul(7)).collect();
        sent.extend([0x0201, 0x0403]);
        let played = samples(&std::fs::read(&wav).expect("the file is written"));
        assert_eq!(played.len(), sent.len(), "{way:?}");
        assert!(played == sent, "{way:?}: a sample differs");
    }
}

/// No card: the builder's own state says so, and why is said once.
#[test]
fn a_missing_card_gives_a_track_without_a_state() {
    for way in WAYS {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let mut command = command(way, "playing", folder.path());
        let card = "alsa:hw:NoSuchCard,0";
        let run = Run::of(
            command
                .args(["--service", ".Player"])
                .env("TAKT_SOUND", card),
        );
        let expected = ["least 512", "state 0 1", "write -3", "done"];
        assert_eq!(said(&run.stderr, "Playing"), expected, "{way:?} {run:#?}");
        assert!(
            run.stderr.contains("TAKT_SOUND names the device"),
            "{run:#?}"
        );
    }
}
