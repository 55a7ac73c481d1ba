// SPDX-License-Identifier: Apache-2.0
//! [`confine`]: the sandbox of the one application of `takt run`, as far as its user may confine.
//!
//! The application stays this user's: its own data, the shared store of compiled code and the
//! user's real-time rights are all it keeps. docs/operate/security.md has each bound.

use std::fs::{DirBuilder, File};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use clap::ValueEnum;
use sandbox::{
    Access, Bound, Confinement, Grant, Limits, LocalSockets, Network, OtherProcesses, RealTime,
    Report, Spec, Strictness,
};

/// How much of a sandbox there must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sandbox {
    /// What this kernel and user offer; what is missing is said.
    Best,
    /// All of it, or the application is not started.
    Strict,
    /// None: the application has all rights of this user.
    None,
}

impl Sandbox {
    /// None: there is to be no sandbox.
    pub(crate) fn strictness(self) -> Option<Strictness> {
        match self {
            Self::Best => Some(Strictness::Best),
            Self::Strict => Some(Strictness::Strict),
            Self::None => None,
        }
    }
}

/// More threads than any application has that works.
const TASKS_MAX: u64 = 4_096;
/// As on Android.
pub(crate) const OPEN_FILES_MAX: u64 = 32_768;

pub(crate) const INTERNET: &str = "android.permission.INTERNET";
const AS_ROOT: &str = "running as root";

/// What an application is given besides what every program reads.
pub(super) struct Needs<'a> {
    pub(super) permissions: &'a [String],
    /// The display is shown to browsers by the application's own process.
    pub(super) shows_web: bool,
    /// The display is a window of a compositor, which is at a socket.
    pub(super) shows_window: bool,
    /// It calls another process's application, or is called.
    pub(super) has_neighbours: bool,
    /// What it reads: machine, framework, JDK.
    pub(super) reads: Vec<PathBuf>,
    /// Folders that it writes.
    pub(super) writes: Vec<PathBuf>,
    /// Devices that it uses, and folders of them.
    pub(super) devices: Vec<PathBuf>,
    /// Files that options name, which it writes at its end or before.
    pub(super) outputs: Vec<PathBuf>,
    /// A folder in which it makes a socket.
    pub(super) meets_in: Option<PathBuf>,
}

/// Has the command start in the sandbox.
pub(super) fn confine(command: &mut Command, how: Sandbox, needs: Needs<'_>) -> Result<()> {
    let is_root = rustix::process::geteuid().is_root();
    let Some(strictness) = how.strictness() else {
        if is_root {
            eprintln!("takt: {AS_ROOT}: the package may do everything to this machine");
        }
        return Ok(());
    };
    let made = Confinement::prepare(&spec(needs)?, strictness)
        .context("refused: the application cannot be confined (--sandbox)")?;
    let who = match is_root {
        true => AS_ROOT,
        false => "confined",
    };
    tell_missing(made.report(), who);
    made.confine(command);
    Ok(())
}

/// A line on standard error, if anything is missing.
pub(crate) fn tell_missing(report: &Report, who: &str) {
    let missing: Vec<String> = report
        .missing()
        .map(|(bound, why): (Bound, &str)| format!("{bound} ({why})"))
        .collect();
    if !missing.is_empty() {
        eprintln!("takt: {who}: not bounded: {}", missing.join("; "));
    }
}

fn spec(needs: Needs<'_>) -> Result<Spec> {
    let mut files = Grant::system();
    files.extend(
        needs
            .reads
            .into_iter()
            .map(|it| Grant::new(it, Access::Run)),
    );
    let mut write = |path: PathBuf| files.push(Grant::new(path, Access::Write));
    needs.writes.into_iter().for_each(&mut write);
    for folder in needs.devices {
        files.push(Grant::new(folder.clone(), Access::Read));
        files.push(Grant::new(folder, Access::Device));
    }
    let mut write = |path: PathBuf| files.push(Grant::new(path, Access::Write));
    for path in needs.outputs {
        // A rule is for what is there. Where it cannot be made, the application says why.
        let _ = File::options().append(true).create(true).open(&path);
        write(path);
    }
    // Large results of SQLite lie in files without a name, by tmpfile(3): AOSP's library for hosts.
    files.push(Grant::new("/tmp", Access::Scratch));
    files.extend(needs.meets_in.map(|it| Grant::new(it, Access::Socket)));
    let has_internet = needs.permissions.iter().any(|it| it == INTERNET);
    Ok(Spec {
        identity: None,
        files,
        network: match (has_internet, needs.shows_web) {
            (true, _) => Network::Full,
            (false, true) => Network::Listen,
            (false, false) => Network::None,
        },
        local_sockets: match needs.has_neighbours || needs.shows_window {
            true => LocalSockets::Allowed,
            false => LocalSockets::Refused,
        },
        other_processes: match needs.has_neighbours {
            true => OtherProcesses::Listed,
            false => OtherProcesses::Hidden,
        },
        real_time: RealTime::AsUser,
        limits: Limits {
            tasks: Some(TASKS_MAX),
            open_files: Some(OPEN_FILES_MAX),
            locked_bytes: None,
            real_time_us: None,
            kill_order: None,
        },
        group: None,
        disk: None,
        lacks: Vec::new(),
    })
}

/// The user's store of compiled code, made if it is not there, as the machine makes it. It is one
/// for all packages.
pub(super) fn code_store() -> Option<PathBuf> {
    let absolute = |name| {
        let path = PathBuf::from(std::env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    let caches = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    let store = caches.join("takt/code");
    // The machine does without one and says so.
    let _ = DirBuilder::new().recursive(true).mode(0o700).create(&store);
    Some(store)
}

/// The folder of a socket's path.
pub(super) fn folder_of(socket: &Path) -> Result<PathBuf> {
    let path = std::path::absolute(socket)?;
    Ok(path.parent().unwrap_or(Path::new("/")).to_owned())
}
