// SPDX-License-Identifier: Apache-2.0
//! Oboe, the library that Android's audio applications are written against: its stream code,
//! unchanged, is built for this machine and plays by ours.
//!
//! The package `oboe-sys` carries the sources; Cargo fetches it. What of Android's system headers
//! they include lies in `cpp/include`. Streams over OpenSL ES are replaced by none.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rt::sync::PiMutex;

const FRAMES: i32 = 6_400;

/// The library, beside the test.
fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().to_owned()
}

fn own() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cpp")
}

fn succeed(what: &str, output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let problems = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what}: {said}{problems}");
    said
}

/// Where Cargo keeps Oboe's sources.
fn sources() -> PathBuf {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--locked", "--format-version", "1"])
        .arg("--manifest-path")
        .arg(own().join("Cargo.toml"))
        .output()
        .unwrap();
    let text = succeed("cargo metadata", &output);
    let manifest = text
        .split('"')
        .find(|it| it.contains("/oboe-sys-") && it.ends_with("/Cargo.toml"));
    let folder = Path::new(manifest.unwrap()).parent().unwrap();
    folder.join("oboe")
}

fn compiler(oboe: &Path) -> Command {
    let mut command = Command::new("c++");
    let flags = ["-std=c++17", "-O1", "-D__ANDROID__", "-D__ANDROID_NDK__"];
    command.args(flags).arg("-include");
    command.arg(own().join("include/prelude.h"));
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    let places = [
        own().join("include"),
        oboe.join("include"),
        oboe.join("src"),
        ours,
    ];
    for place in places {
        command.arg("-I").arg(place);
    }
    command
}

/// Oboe's files but those of OpenSL ES.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("opensles") {
            files(&path, found);
        } else if path.extension().is_some_and(|it| it == "cpp") {
            found.push(path);
        }
    }
}

/// Builds Oboe and the client into `folder`.
fn build(folder: &Path) -> PathBuf {
    let oboe = sources();
    let mut found = Vec::new();
    files(&oboe.join("src"), &mut found);
    assert!(found.len() > 40, "{found:?}");
    let left = PiMutex::new(found.into_iter().enumerate());
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    let next = left.lock().next();
                    let Some((number, file)) = next else { break };
                    let object = folder.join(format!("{number}.o"));
                    let mut command = compiler(&oboe);
                    command.arg("-w").arg("-c").arg(&file).arg("-o").arg(object);
                    succeed(&file.display().to_string(), &command.output().unwrap());
                }
            });
        }
    });
    let program = folder.join("client");
    let mut command = compiler(&oboe);
    command.arg(own().join("client.cpp"));
    for entry in std::fs::read_dir(folder).unwrap() {
        command.arg(entry.unwrap().path());
    }
    command.args(["-ldl", "-lpthread", "-o"]).arg(&program);
    succeed("client", &command.output().unwrap());
    program
}

#[test]
#[ignore = "fetches and builds Oboe: a minute or two; `cargo xtask soak --only oboe`"]
fn oboe_plays_by_ours_sample_for_sample() {
    let folder = tempfile::tempdir().unwrap();
    let program = build(folder.path());
    for kind in ["file-fast", "file"] {
        for (way, says) in [("calls", "calls 100\n"), ("writes", "written 6400\n")] {
            let path = folder.path().join(format!("{kind}-{way}"));
            let output = Command::new(&program)
                .arg(way)
                .env("TAKT_SOUND", format!("{kind}:{}", path.display()))
                .env("LD_LIBRARY_PATH", library())
                .output()
                .unwrap();
            let said = succeed(&format!("{kind}, {way}"), &output);
            assert!(said.contains(says), "{said}");
            let reader = hound::WavReader::open(&path).unwrap();
            let heard: Vec<i32> = reader.into_samples().map(Result::unwrap).collect();
            let expected: Vec<i32> = (0..2 * FRAMES).collect();
            assert!(heard == expected, "{kind}, {way}: {} samples", heard.len());
        }
    }
}
