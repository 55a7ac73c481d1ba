// SPDX-License-Identifier: Apache-2.0
//! `takt system`: a server that applications of several packages run under, and the commands that
//! speak with it.
//!
//! The server itself is crate `system`. Here are its options, what it cannot know ([`host`]), what
//! confines each of its children ([`confined`]) and what it is first ([`app`]), and the commands
//! ([`adb`], [`am`], [`verbs`]), which show answers ([`show`]) as clients of Android's `adb` see
//! them ([`speech`]).

pub(crate) mod adb;
pub(crate) mod am;
pub(crate) mod app;
mod confined;
mod groups;
mod host;
mod show;
mod speech;
pub(crate) mod verbs;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use ::system::{Bridge, Limits, Options, open, tasks};
use anyhow::{Context, Result};
use rt::policy::Priority;

use self::confined::{Bounds, SCRATCH};
use self::groups::Groups;
use self::host::JavaHost;
use self::speech::Speech;
use crate::admit::here;
use crate::framework::Framework;
use crate::frequency;
use crate::run::confined::Sandbox;
use crate::size::mebibytes;

/// Runs the system server, which several applications share
///
/// Keeps what `takt install` installs in a folder, starts each application in a process of its own,
/// and starts again what failed, later each time. Ends at Ctrl-C or SIGTERM, and all applications
/// with it. Exit code: 0 ended, 2 it did not begin.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  takt system &\n  takt install target/framework/apps/heartbeat.apk\n  takt am startservice -n org.example.heartbeat/.Heartbeat\n  takt ps\n\nWith adb, which finds port 5555 by itself:\n  takt system --adb &\n  adb start-server && takt adb allow ~/.android/adbkey.pub\n  adb wait-for-device && adb install target/framework/apps/heartbeat.apk"
)]
pub(crate) struct Args {
    /// The folder of what is installed; /var/lib/takt for root, else takt/system in
    /// $XDG_DATA_HOME or ~/.local/share
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    #[command(flatten)]
    endpoint: Endpoint,
    /// The time in which a process that was started says that it is there
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, default_value = "10s")]
    start: Duration,
    /// The time in which an application answers each call of its life cycle; later its process is
    /// ended as not responding
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, default_value = "20s")]
    anr: Duration,
    /// How much of a sandbox each application must have: what is offered here, all of it, or none
    #[arg(long, value_enum, default_value_t = Sandbox::Best)]
    sandbox: Sandbox,
    /// Start each application from nothing, and not as a copy of one process that has started; so
    /// does any --java-option
    #[arg(long)]
    no_template: bool,
    /// What each package may keep on disk, such as 512M or 2G, and a file for each 16 KiB of it. It
    /// takes a file system with quotas of users (`mount -o usrquota`) for --state and for /tmp
    #[arg(long, value_name = "SIZE", value_parser = disk, default_value = "1G")]
    disk: u32,
    /// How many processors real-time tasks may use, for the judgement at `takt install` [default:
    /// all that this process may use]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=4096))]
    processors: Option<u32>,
    /// How late the machine itself starts a release, in µs (`takt latency`), for the same
    #[arg(long, default_value_t = tasks::WAKE_US)]
    wake_us: u32,
    /// Grant a package real-time policies up to a priority of 1 to 99; no other has any. SIZE, such
    /// as 256M, is the memory that it has in place of what its manifest declares by `takt.memory`;
    /// one of both must say it
    #[arg(long, value_name = "PACKAGE=PRIORITY[:SIZE]", value_parser = grant)]
    realtime: Vec<RealTime>,
    /// The control group (cgroup v2) that those of real-time packages are made in, such as `/takt`,
    /// without processes; if none is given, the server's own if it is alone there
    #[arg(long, value_name = "GROUP")]
    group: Option<String>,
    /// The most that each application's heap may take, such as 256M; 2G if it is not said. Of a
    /// real-time package it is at most half of what that declares by `takt.memory`
    #[arg(long, value_name = "SIZE", value_parser = heap)]
    heap: Option<u64>,
    /// An option of each application's machine, as `takt java` takes it: -Xmx256m; given once for
    /// each
    #[arg(long, value_name = "OPTION", allow_hyphen_values = true)]
    java_option: Vec<String>,
    /// Listen to Android's `adb` as well, at this port of 127.0.0.1; 5555 if none is given, 0 for
    /// any. Who has a key of `takt adb allow` may give orders there
    #[arg(long, value_name = "PORT", num_args = 0..=1, default_missing_value = "5555")]
    adb: Option<u16>,
    /// Where `cargo xtask framework` has put the Java side
    #[arg(long, value_name = "DIR")]
    framework: Option<PathBuf>,
}

fn disk(text: &str) -> Result<u32> {
    let size = mebibytes(text)?;
    // The kernel takes nought for no limit.
    anyhow::ensure!(size > 0, "more than nothing is wanted");
    Ok(size)
}

/// Below that no application starts.
const HEAP_BYTES_MIN: u64 = 16 << 20;

fn heap(text: &str) -> Result<u64> {
    let size = bytes(text)?;
    anyhow::ensure!(size >= HEAP_BYTES_MIN, "at least 16M is wanted");
    Ok(size)
}

fn bytes(text: &str) -> Result<u64> {
    Ok(u64::from(mebibytes(text)?) << 20)
}

/// A real-time package.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RealTime {
    package: String,
    priority: u8,
    /// What a person says that it has; else its manifest does.
    memory: Option<u64>,
}

fn grant(text: &str) -> Result<RealTime, String> {
    let parsed = text.split_once('=').and_then(|(package, rest)| {
        let (priority, size) = match rest.split_once(':') {
            None => (rest, None),
            Some((priority, size)) => {
                let size = bytes(size).ok().filter(|it| *it > 0)?;
                (priority, Some(size))
            }
        };
        Some(RealTime {
            package: package.to_owned(),
            priority: Priority::new(priority.parse().ok()?)?.get(),
            memory: size,
        })
    });
    let wanted = "PACKAGE=PRIORITY or PACKAGE=PRIORITY:SIZE is wanted, with a priority of 1 to 99 \
                  and a size such as 256M";
    parsed.ok_or_else(|| wanted.to_owned())
}

/// Where the server and its commands meet.
#[derive(clap::Args)]
pub(crate) struct Endpoint {
    /// The server's socket; /run/takt/system for root, else takt/system in $XDG_RUNTIME_DIR
    #[arg(long, value_name = "SOCKET", env = "TAKT_SYSTEM", global = true)]
    socket: Option<PathBuf>,
}

impl Endpoint {
    /// The path, no matter who asks.
    fn path(&self) -> Result<PathBuf> {
        if let Some(path) = &self.socket {
            return Ok(std::path::absolute(path)?);
        }
        if rustix::process::geteuid().is_root() {
            return Ok("/run/takt/system".into());
        }
        let folder = std::env::var_os("XDG_RUNTIME_DIR")
            .context("XDG_RUNTIME_DIR is not set: name the server's socket by --socket")?;
        Ok(PathBuf::from(folder).join("takt/system"))
    }
}

/// What root's server keeps, if no other folder is named.
const STATE_OF_ROOT: &str = "/var/lib/takt";

/// Where the packages of a server write: what it keeps, and what every program may write to.
fn disks(state: &Path) -> Vec<PathBuf> {
    vec![state.join("data"), SCRATCH.into()]
}

/// Whether those of root's server have quotas of users, which `--disk` takes; the reason if not.
pub(crate) fn has_quotas() -> Result<(), String> {
    let disks = disks(STATE_OF_ROOT.as_ref());
    disks.iter().try_for_each(|it| ::sandbox::has_quotas(it))
}

fn state_folder(named: Option<&PathBuf>) -> Result<PathBuf> {
    if let Some(path) = named {
        return Ok(std::path::absolute(path)?);
    }
    if rustix::process::geteuid().is_root() {
        return Ok(STATE_OF_ROOT.into());
    }
    let home = match std::env::var_os("XDG_DATA_HOME").map(PathBuf::from) {
        Some(home) => home,
        None => {
            PathBuf::from(std::env::var_os("HOME").context("HOME is not set")?).join(".local/share")
        }
    };
    Ok(std::path::absolute(home)?.join("takt/system"))
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX / 2)
}

/// Runs until it is asked to end.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    // What no application could start without is missed now, not later.
    let framework = Framework::find(args.framework.as_deref())?;
    crate::jdk::Jdk::find()?;
    let bounds = Bounds {
        how: args.sandbox,
        state: state_folder(args.state.as_ref())?,
        real_time: {
            let all = args.realtime.iter();
            all.map(|it| (it.package.clone(), it.priority)).collect()
        },
        disk_bytes: u64::from(args.disk) << 20,
        groups: Groups::at(args.group.as_deref()),
    };
    bounds.announce(&framework)?;
    frequency::give_back_at_end();
    let options = Options {
        state: bounds.state.clone(),
        socket: args.endpoint.path()?,
        limits: Limits {
            start_ns: nanoseconds(args.start),
            answer_ns: nanoseconds(args.anr),
        },
        framework: framework.manifest()?,
        machine: tasks::machine(args.processors.unwrap_or_else(here), args.wake_us)
            .map_err(anyhow::Error::msg)?,
        real_time: {
            let all = args.realtime.iter();
            all.map(|it| (it.package.clone(), it.memory)).collect()
        },
        keeps_memory: true,
    };
    let host = Arc::new(JavaHost::new(
        args.framework.clone(),
        (args.heap, args.java_option.clone()),
        args.anr,
        bounds,
        // Options are for programs: a template's machine is the usual one.
        !args.no_template && args.java_option.is_empty(),
    )?);
    let daemon = open(&options, host)?;
    eprintln!(
        "takt system: {} packages from {}, listens at {}",
        daemon.packages(),
        options.state.display(),
        options.socket.display()
    );
    if let Some(port) = args.adb {
        let (state, socket) = (&options.state, &options.socket);
        let bridge = Bridge::open(port, state, socket, Arc::new(Speech::default()));
        let bridge = bridge.with_context(|| format!("cannot listen to adb at port {port}"))?;
        eprintln!("takt system: adb at {}", bridge.address());
        bridge.start()?;
    }
    daemon.run();
    eprintln!("takt system: ended");
    Ok(ExitCode::SUCCESS)
}
