// SPDX-License-Identifier: Apache-2.0
//! Starts the `takt` that was built for release and gives what a person would see: [`Run`].
#![forbid(unsafe_code)]

pub mod application;
pub mod apps;
pub mod bound;
pub mod browser;
pub mod debug_bridge;
pub mod desktop;
pub mod world;

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The user that owns nothing.
const NOBODY: u32 = 65534;

/// What a command left behind.
#[derive(Debug)]
pub struct Run {
    /// Its exit code; 128 + n when signal n ended it.
    pub code: i32,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

impl Run {
    /// Runs `takt` with these arguments.
    pub fn takt(args: &[&str]) -> Self {
        Self::of(Command::new(takt_path()).args(args))
    }

    /// Runs `takt` as a user without any privilege: as another one if we are root, else without
    /// what our limits allow.
    pub fn takt_as_nobody(args: &[&str]) -> Self {
        if !is_root() {
            let limits = ["--rtprio=0", "--nice=0", "--memlock=65536"];
            let mut prlimit = Command::new("prlimit");
            return Self::of(prlimit.args(limits).arg(takt_path()).args(args));
        }
        // The build directory may lie where that user cannot go.
        let directory = tempfile::tempdir().expect("a temporary directory");
        let open_to_all = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(directory.path(), open_to_all).expect("it is ours");
        let program = directory.path().join("takt");
        std::fs::copy(takt_path(), &program).expect("takt copies");
        Self::of(
            Command::new(&program)
                .args(args)
                .uid(NOBODY)
                .gid(NOBODY)
                .current_dir("/"),
        )
    }

    /// Its standard output as JSON; panics with all that it said if it is none.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    /// Runs a command that is already put together, for no longer than [`bound::output`] lets it.
    pub fn of(command: &mut Command) -> Self {
        use std::os::unix::process::ExitStatusExt;
        let output = bound::output(command);
        let output = output.unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let signal = output.status.signal().unwrap_or(0);
        Self {
            code: output.status.code().unwrap_or(128 + signal),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Options that tests of the machine start it with, between blanks in `TAKT_TEST_OPTIONS`: `cargo
/// xtask soak --only passes`.
pub fn machine_options() -> Vec<String> {
    let words = std::env::var("TAKT_TEST_OPTIONS").unwrap_or_default();
    words.split_whitespace().map(str::to_owned).collect()
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|it| it.uid() == 0)
}

/// The release build of `takt`, beside the directory that this test was built in.
pub fn takt_path() -> PathBuf {
    let test = std::env::current_exe().expect("a running program has a file");
    let target = test.ancestors().nth(3).expect("target/debug/deps/test");
    let path = target.join("release/takt");
    assert!(
        path.is_file(),
        "{} is not built: cargo build --release -p cli",
        path.display()
    );
    path
}

/// The lines of a file, panicking with its name if it is not there.
pub fn lines(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path);
    let text = text.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(str::to_owned).collect()
}

/// Where tools/setup puts what it fetches.
pub fn cache() -> PathBuf {
    if let Some(cache) = std::env::var_os("TAKT_CACHE") {
        return cache.into();
    }
    let home = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")));
    home.expect("a home directory").join("takt")
}

/// The jar among those that tools/setup fetches whose name starts with `start`.
pub fn jar(start: &str) -> String {
    let folder = cache().join("maven");
    let entries = std::fs::read_dir(&folder).expect("run tools/setup");
    let mut paths = entries.map(|it| it.expect("an entry").path());
    let found = paths.find(|it| {
        it.file_name()
            .is_some_and(|it| it.to_string_lossy().starts_with(start))
    });
    found
        .unwrap_or_else(|| panic!("no {start}* in {}: run tools/setup", folder.display()))
        .display()
        .to_string()
}
