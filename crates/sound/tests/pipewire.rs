// SPDX-License-Identifier: Apache-2.0
//! Streams on a real PipeWire server with a session manager, in folders of their own, and with a
//! sink that is none: what is played is what the sink's monitor gives, to another program and to an
//! input of ours; a server that ends disconnects its streams; without one the refusal says so.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use rt::clock::{Clock as _, Monotonic};
use sound::{Backend, Call, DeviceError, Direction, Flow, Format, Playback, State, Stream, Wanted};

const SINK: &str = r#"
context.objects = [
  { factory = adapter
    args = {
      factory.name = support.null-audio-sink
      node.name = nowhere
      media.class = Audio/Sink
      audio.position = [ FL FR ]
      monitor.passthrough = true
    }
  }
]
"#;
/// The manager finds the server once that is there.
const SERVE: &str = "pipewire & for i in $(seq 100); do [ -S \"$XDG_RUNTIME_DIR/pipewire-0\" ] && \
                     break; sleep 0.1; done; exec wireplumber";
const FRAMES: i16 = 30_000;
/// The recorder is an ordinary program.
const HEARD_MIN: usize = 2_000;
const LONG_NS: u64 = 30_000_000_000;
const STEREO: Wanted = Wanted {
    direction: Direction::Output,
    rate: Some(48_000),
    channels: Some(2),
    format: Some(Format::I16),
    capacity: None,
};

struct Server {
    folder: tempfile::TempDir,
    /// Leads a group of processes.
    session: Child,
}

impl Server {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let parts = folder.path().join("conf/pipewire/pipewire.conf.d");
        std::fs::create_dir_all(&parts).unwrap();
        std::fs::write(parts.join("sink.conf"), SINK).unwrap();
        let mut session = command("dbus-run-session", folder.path());
        session.args(["--", "sh", "-c", SERVE]).process_group(0);
        let session = session.spawn().expect("dbus-daemon is installed");
        Self { folder, session }
    }

    fn command(&self, program: impl AsRef<Path>) -> Command {
        command(program, self.folder.path())
    }

    fn end(&mut self) {
        let group = format!("-{}", self.session.id());
        let kill = Command::new("kill").args(["-9", "--", &group]).status();
        assert!(kill.expect("kill is there").success());
        self.session.wait().unwrap();
    }

    /// The session manager gives a sink its ports. A stream that came before it may stay alone.
    fn await_manager(&self) {
        self.await_text("pw-link", &["--input"], "nowhere:playback_FL");
    }

    /// Waits until a program's output has a text.
    fn await_text(&self, program: &str, words: &[&str], text: &str) {
        let due_ns = Monotonic.now_ns() + LONG_NS;
        loop {
            let output = self.command(program).args(words).output().unwrap();
            if String::from_utf8_lossy(&output.stdout).contains(text) {
                return;
            }
            assert!(Monotonic.now_ns() < due_ns, "{output:?}");
            Monotonic.sleep_until(Monotonic.now_ns() + 100_000_000);
        }
    }

    /// This program again, which plays on this server.
    fn player(&self, body: &str) -> Command {
        let mut player = self.command(std::env::current_exe().unwrap());
        player.args(["--ignored", "--exact", "--nocapture", body]);
        player
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if matches!(self.session.try_wait(), Ok(None)) {
            self.end();
        }
    }
}

fn command(program: impl AsRef<Path>, folder: &Path) -> Command {
    let mut command = Command::new(program.as_ref());
    command
        .env("XDG_RUNTIME_DIR", folder)
        .env("XDG_CONFIG_HOME", folder.join("conf"))
        .env("XDG_STATE_HOME", folder.join("state"))
        .env("HOME", folder)
        .env_remove("DBUS_SESSION_BUS_ADDRESS")
        .stdin(Stdio::null());
    command
}

fn open(playback: Playback) -> Result<Stream, DeviceError> {
    let backend = Backend::parse("pipewire").unwrap();
    Stream::open(&backend, &STEREO, Some(playback), None)
}

fn playback(mut callback: impl FnMut(&mut [u8]) -> Flow + Send + 'static) -> Playback {
    Playback {
        callback: Box::new(move |bytes: &mut [u8], _: Call| callback(bytes)),
        frames: None,
        policy: None,
        reserve: None,
        governor: None,
    }
}

fn reach(stream: &Stream, goal: State) {
    let due_ns = Monotonic.now_ns() + LONG_NS;
    let mut seen = stream.state();
    while seen != goal {
        seen = stream.wait_for_change(seen, due_ns).unwrap();
    }
}

/// 1, 2, 3 … on the left, and silence before and behind it.
#[test]
#[ignore = "what the first test runs beside a server"]
fn counts() {
    let mut next = -4_800;
    let stream = open(playback(move |bytes| {
        for frame in bytes.chunks_exact_mut(4) {
            next += 1;
            let value = if (1..=FRAMES).contains(&next) {
                next
            } else {
                0
            };
            frame[..2].copy_from_slice(&value.to_le_bytes());
        }
        match next < FRAMES {
            true => Flow::Continue,
            false => Flow::Stop,
        }
    }));
    let stream = stream.unwrap();
    stream.start().unwrap();
    reach(&stream, State::Stopped);
    assert_eq!(
        stream.frames_read(),
        stream.frames_written(),
        "all is taken"
    );
    // What the server has taken it plays with its next quanta.
    Monotonic.sleep_until(Monotonic.now_ns() + 300_000_000);
    println!("underruns {}", stream.xruns());
}

#[test]
#[ignore = "what the second test runs beside a server"]
fn plays_for_ever() {
    let stream = open(playback(|_| Flow::Continue)).unwrap();
    stream.start().unwrap();
    reach(&stream, State::Started);
    println!("plays");
    reach(&stream, State::Disconnected);
    println!("disconnected");
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn what_is_played_is_what_the_sink_has() {
    let server = Server::start();
    server.await_manager();
    let heard: PathBuf = server.folder.path().join("heard.wav");
    let mut record = server.command("pw-record");
    record
        .args([
            "--target",
            "nowhere",
            "-P",
            "{ stream.capture.sink = true }",
        ])
        .args(["--format", "f32", "--rate", "48000", "--channels", "2"])
        .arg(&heard);
    let mut record = record.spawn().expect("pipewire-bin is installed");
    server.await_text("pw-link", &["--links"], "pw-record:input_FL");
    let player = server.player("counts").output().unwrap();
    assert!(player.status.success(), "{player:?}");
    let interrupt = Command::new("kill")
        .args(["-INT", &record.id().to_string()])
        .status();
    assert!(interrupt.unwrap().success());
    record.wait().unwrap();
    let reader = hound::WavReader::open(&heard).unwrap();
    let left = reader.into_samples::<f32>().map(Result::unwrap).step_by(2);
    let left: Vec<i32> = left.map(|it| (it * 32_768.0) as i32).collect();
    check(&left, &text(&player));
}

/// On a machine that others fill, who records or the graph misses quanta: the rest is in order.
fn check(left: &[i32], said: &str) {
    let begun = left.iter().skip_while(|it| **it == 0);
    let found: Vec<i32> = begun
        .take(FRAMES as usize)
        .copied()
        .filter(|it| *it != 0)
        .collect();
    assert!(
        found.is_sorted_by(|a, b| a < b),
        "none twice, none elsewhere"
    );
    assert!(found.iter().all(|it| (1..=FRAMES.into()).contains(it)));
    assert!(found.len() > HEARD_MIN, "{} frames, {said}", found.len());
}

/// Prints what is on the left of the sink's monitor, from the first sound on.
#[test]
#[ignore = "what the next test runs beside a server"]
fn hears() {
    let backend = Backend::parse("pipewire:nowhere.monitor").unwrap();
    let input = Wanted {
        direction: Direction::Input,
        ..STEREO
    };
    let stream = Stream::open(&backend, &input, None, None).unwrap();
    assert!(stream.granted().burst >= 16, "a quantum");
    stream.start().unwrap();
    println!("records");
    let (mut bytes, mut left) = ([0; 4_096], Vec::new());
    let due_ns = Monotonic.now_ns() + LONG_NS;
    while left.len() < FRAMES as usize && Monotonic.now_ns() < due_ns {
        let count = stream.read(&mut bytes, due_ns).unwrap();
        for frame in bytes[..count * 4].chunks_exact(4) {
            let value = i16::from_le_bytes([frame[0], frame[1]]);
            if value != 0 || !left.is_empty() {
                left.push(value);
            }
        }
    }
    println!("{left:?}");
}

#[test]
fn what_the_sink_has_is_recorded() {
    let server = Server::start();
    server.await_manager();
    let mut hearing = server
        .player("hears")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(hearing.stdout.take().unwrap()).lines();
    let mut line = |begin: &str| {
        lines
            .find_map(|it| it.ok().filter(|it| it.starts_with(begin)))
            .unwrap_or_else(|| panic!("no line '{begin}'"))
    };
    line("records");
    let player = server.player("counts").output().unwrap();
    assert!(player.status.success(), "{player:?}");
    let numbers = line("[");
    let numbers = numbers.trim_matches(['[', ']']).split(", ");
    let left: Vec<i32> = numbers.map(|it| it.parse().unwrap()).collect();
    check(&left, &text(&player));
    assert!(hearing.wait().unwrap().success());
}

#[test]
fn a_server_that_ends_disconnects_and_none_is_refused_by_name() {
    let mut server = Server::start();
    server.await_manager();
    let player = server
        .player("plays_for_ever")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    server.await_text("pw-link", &["--links"], "takt:output_FL");
    server.end();
    let ended = player.wait_with_output().unwrap();
    assert!(text(&ended).contains("disconnected"), "{ended:?}");
    let none = server.player("plays_for_ever").output().unwrap();
    let refused = String::from_utf8_lossy(&none.stderr).into_owned();
    assert!(refused.contains("Unavailable(\"pipewire: "), "{none:?}");
}
