// SPDX-License-Identifier: Apache-2.0
//! Applications that `cargo xtask framework` has built, and what they say in the log.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{Run, takt_path};

/// How an application runs: its DEX on our machine, or its class files on HotSpot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// As users run it.
    Takt,
    /// For comparison.
    Hotspot,
}

/// Both.
pub const WAYS: [Way; 2] = [Way::Takt, Way::Hotspot];

/// target/framework/apps, beside the release directory.
pub fn folder() -> PathBuf {
    let target = takt_path().ancestors().nth(2).expect("a target").to_owned();
    let apps = target.join("framework/apps");
    assert!(apps.exists(), "run `cargo xtask framework` first");
    apps
}

/// Our classes, those of `parts` of target/framework in front, and AOSP's behind them.
pub fn class_path(parts: &[&str]) -> String {
    let apps = folder();
    let place = apps.parent().expect("target/framework");
    let android = std::fs::read_to_string(place.join("android-all.path")).expect("it is built");
    let ours = parts.iter().chain(&["redirected", "classes"]);
    let path = ours.map(|it| place.join(it)).chain([android.trim().into()]);
    let path = std::env::join_paths(path).expect("no colon in them");
    path.into_string().expect("our paths are text")
}

/// What a class of framework/test answers to lines, under the JDK's own machine and with AOSP's
/// queue replaced by ours. It answers only after it has read all.
pub fn ask_class(name: &str, lines: &[String]) -> Vec<String> {
    let place = folder();
    let place = place.parent().expect("target/framework");
    let natives = place.join("libnatives.so");
    let mut java = Command::new("java")
        .arg(format!("-Dtakt.natives={}", natives.display()))
        .args(["-cp", &class_path(&["headless", "realtime"])])
        .arg(name)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("java starts");
    let mut input = java.stdin.take().expect("piped");
    let text = lines.join("\n");
    input.write_all(text.as_bytes()).expect("it reads");
    drop(input);
    let output = java.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", output.status);
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    text.lines().map(str::to_owned).collect()
}

/// `takt run` of an application until it ends, with a data directory of its own.
pub fn run(way: Way, app: &str, options: &[&str]) -> Run {
    let data = tempfile::tempdir().expect("a temporary directory");
    Run::of(command(way, app, data.path()).args(options))
}

/// The same, not started yet.
pub fn command(way: Way, app: &str, data: &Path) -> Command {
    let mut command = Command::new(takt_path());
    command.arg("run").arg(folder().join(format!("{app}.apk")));
    command.arg("--data").arg(data);
    if way == Way::Hotspot {
        let classes = folder().join(app).join("classes");
        command.args(["--machine", "hotspot", "--classes"]);
        command.arg(classes);
    }
    command
}

/// What is in the log under a tag, in order.
pub fn said(log: &str, tag: &str) -> Vec<String> {
    log.lines()
        .filter_map(|line| {
            let (head, text) = line.split_once(": ")?;
            (head.split_whitespace().last() == Some(tag)).then(|| text.to_owned())
        })
        .collect()
}

/// A picture: three bytes for each pixel.
#[derive(Debug)]
pub struct Picture {
    /// In pixels.
    pub width: usize,
    /// In pixels.
    pub height: usize,
    /// Red, green and blue of each pixel, row by row.
    pub bytes: Vec<u8>,
}

impl Picture {
    /// Red, green and blue at a place.
    pub fn colour(&self, x: usize, y: usize) -> [u8; 3] {
        let start = (y * self.width + x) * 3;
        [
            self.bytes[start],
            self.bytes[start + 1],
            self.bytes[start + 2],
        ]
    }

    /// Where another one of the same size has another colour.
    pub fn differing(&self, other: &Self) -> Vec<(usize, usize)> {
        let pairs = self.bytes.chunks(3).zip(other.bytes.chunks(3));
        let differ = pairs.enumerate().filter(|(_, (own, its))| own != its);
        let place = |index| (index % self.width, index / self.width);
        differ.map(|(index, _)| place(index)).collect()
    }
}

/// The picture in a file.
pub fn picture(path: &Path) -> Picture {
    let file = std::fs::File::open(path);
    let file = file.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let decoder = png::Decoder::new(std::io::BufReader::new(file));
    let mut reader = decoder.read_info().expect("a PNG");
    let mut bytes = vec![0; reader.output_buffer_size().expect("a size")];
    let info = reader.next_frame(&mut bytes).expect("a picture");
    Picture {
        width: info.width as usize,
        height: info.height as usize,
        bytes,
    }
}

/// The red, green and blue of a picture at a place.
pub fn colour(path: &Path, x: usize, y: usize) -> [u8; 3] {
    picture(path).colour(x, y)
}
