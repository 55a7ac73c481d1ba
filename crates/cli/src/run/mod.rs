// SPDX-License-Identifier: Apache-2.0
//! `takt run`: an Android application in one process with its system server.
//!
//! The package is verified here; `takt.server.Launcher` in framework/src is told what it declares
//! and what to start.

pub(crate) mod confined;
mod folder;
mod of_system;
mod script;
mod sealed;
pub(crate) mod sound;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use apk::{Apk, Manifest};
use clap::ValueEnum;
use rt::frequency::Cpufreq;
use screen::Display;
use serde::Serialize;
use server::frequency::LOCK_FREQUENCY;

use self::confined::{Needs, Sandbox};
use self::folder::{DataFolder, Owner};
pub(crate) use self::of_system::description;
use self::script::{Script, Step};
pub(crate) use self::sealed::Sealed;
use crate::apk::HOST_ABI;
use crate::framework::{Framework, Front};
use crate::frequency;
use crate::java;
use crate::jdk::Jdk;

/// Runs an Android application from its package
///
/// Starts the launcher's activity, or what the options name, and writes the log in logcat's form to
/// standard error. Ctrl-C ends all components in order. Exit code: 0 ended, 1 ended by an exception
/// that nothing caught, 2 refused, 3 ended because it did not respond.
#[derive(clap::Args)]
#[command(
    after_help = "Example:\n  takt run target/framework/apps/heartbeat.apk --service .Heartbeat --for 10s --report\n  takt run target/framework/apps/widgets.apk --tap 150,130 --screenshot out/widgets.png\n  takt run target/framework/apps/widgets.apk --screen web\n  takt run target/framework/apps/widgets.apk --screen wayland"
)]
pub(crate) struct Args {
    /// The package
    file: PathBuf,
    #[command(flatten)]
    intents: Intents,
    /// End after this time, as by Ctrl-C
    #[arg(long = "for", value_name = "TIME", value_parser = humantime::parse_duration)]
    limit: Option<Duration>,
    /// The time in which the application answers each call of its life cycle; later it is ended as
    /// not responding
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration, default_value = "20s")]
    anr: Duration,
    /// End as soon as onResume, onStartCommand or onReceive has returned
    #[arg(long)]
    until_started: bool,
    /// Where the application keeps its files
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// The Java machine
    #[arg(long, value_enum, default_value_t = Machine::Takt)]
    machine: Machine,
    /// The collector of Takt's machine
    #[arg(long, value_enum)]
    gc: Option<Collector>,
    /// The most that the heap may take, as `java -Xmx` has it: 64m, 1g
    #[arg(long, value_name = "SIZE")]
    heap: Option<String>,
    /// Hold the whole heap in memory, and let the collector run before everything that is not real
    /// time
    #[arg(long)]
    realtime: bool,
    /// Figures of Takt's machine and of each real-time thread at the end; with a file, as JSON
    /// there
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    report: Option<Option<PathBuf>>,
    /// Refuse real-time threads that the system gives no real-time priority
    #[arg(long)]
    realtime_strict: bool,
    /// How much of a sandbox there must be: what is offered here, all of it, or none
    #[arg(long, value_enum, default_value_t = Sandbox::Best)]
    sandbox: Sandbox,
    /// Listen at this path for another `takt run`, whose applications call services here and add
    /// theirs: until there is a system server
    #[arg(long, value_name = "SOCKET")]
    binder_listen: Option<PathBuf>,
    /// Join the one that listens at this path
    #[arg(long, value_name = "SOCKET", conflicts_with = "binder_listen")]
    binder_join: Option<PathBuf>,
    /// Class files in place of the package's DEX
    #[arg(long, value_name = "DIR")]
    classes: Option<PathBuf>,
    /// Where `cargo xtask framework` has put the Java side
    #[arg(long, value_name = "DIR")]
    framework: Option<PathBuf>,
    /// Give activities windows, and show them here; without it, and without steps at the display,
    /// they live without windows
    #[arg(long, value_name = "picture|web[=ADDR:PORT]|wayland|drm")]
    screen: Option<BackEnd>,
    /// The display: its size in pixels, and its density in dots an inch
    #[arg(long, value_name = "WIDTHxHEIGHT[@DPI]", default_value = "800x480")]
    display: Display,
    /// Bring input to windows by a socket pair, as stock Android does: for `takt bench input`
    #[arg(long, hide = true)]
    input_by_socket: bool,
    #[command(flatten)]
    script: Script,
}

/// Who shows what the display has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BackEnd {
    /// Nobody but --screenshot.
    Picture,
    /// Browsers that come to this address.
    Web(SocketAddr),
    /// A window of the desktop's compositor.
    Wayland,
    /// The machine's own screen, without a desktop.
    Drm,
}

impl FromStr for BackEnd {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            None if text == "picture" => Ok(Self::Picture),
            None if text == "web" => Ok(Self::Web(LOOPBACK)),
            None if text == "wayland" => Ok(Self::Wayland),
            None if text == "drm" => Ok(Self::Drm),
            Some(("web", address)) => address
                .parse()
                .map(Self::Web)
                .map_err(|_| "an address and a port are wanted: web=127.0.0.1:8080".to_owned()),
            _ => Err("picture, web, web=ADDR:PORT, wayland or drm is wanted".to_owned()),
        }
    }
}

/// Nobody but programs of this machine comes there, at a port that is free.
const LOOPBACK: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// What the machine's own screen is shown and felt by.
const DEVICES: [&str; 2] = ["/dev/dri", "/dev/input"];
/// Which terminal is active, and layouts of keyboards.
const CONSOLE_FILES: [&str; 2] = ["/sys/class/tty/tty0", "/usr/share/X11/xkb"];

/// Who shows the display; the launcher reads these names.
#[derive(Serialize)]
#[serde(tag = "by", rename_all = "lowercase")]
enum Shown {
    Web {
        address: SocketAddr,
        /// Where the address goes, with the token.
        file: PathBuf,
    },
    Wayland,
    Drm,
}

impl Shown {
    fn of(screen: BackEnd, data: &DataFolder) -> Option<Self> {
        match screen {
            BackEnd::Picture => None,
            BackEnd::Web(address) => Some(Self::Web {
                address,
                file: data.screen_address(),
            }),
            BackEnd::Wayland => Some(Self::Wayland),
            BackEnd::Drm => Some(Self::Drm),
        }
    }
}

/// What the launcher makes the display of.
#[derive(Serialize)]
struct Size {
    width: u32,
    height: u32,
    density: u32,
    input_by_socket: bool,
}

impl Args {
    fn has_display(&self) -> bool {
        self.screen.is_some() || !self.script.is_empty()
    }
}

/// What is started in the application.
#[derive(Clone, clap::Args)]
pub(crate) struct Intents {
    /// Start this activity, such as .Main
    #[arg(long, value_name = "CLASS")]
    activity: Vec<String>,
    /// Start this service
    #[arg(long, value_name = "CLASS")]
    service: Vec<String>,
    /// Send a broadcast of this action
    #[arg(long, value_name = "ACTION")]
    broadcast: Vec<String>,
    /// Text for the intents of all these: NAME=VALUE
    #[arg(long, value_name = "NAME=VALUE", value_parser = extra)]
    extra: Vec<(String, String)>,
}

impl Intents {
    /// The options of `takt run` that say the same.
    pub(crate) fn options(&self) -> Vec<String> {
        let of = |name: &str, values: &[String]| -> Vec<String> {
            values
                .iter()
                .map(|value| format!("--{name}={value}"))
                .collect()
        };
        let extras: Vec<String> = self
            .extra
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        [
            of("activity", &self.activity),
            of("service", &self.service),
            of("broadcast", &self.broadcast),
            of("extra", &extras),
        ]
        .concat()
    }
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Machine {
    /// Takt's own.
    Takt,
    /// The JDK's, for comparison: it runs no DEX, so it needs --classes.
    Hotspot,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Collector {
    /// Reference counting that stops no thread; the default.
    Rc,
    /// Stop-the-world mark-sweep, to be measured against.
    Stw,
}

impl Collector {
    fn option(self) -> &'static str {
        match self {
            Collector::Rc => "-Xtakt:gc=rc",
            Collector::Stw => "-Xtakt:gc=stw",
        }
    }
}

/// Views keep addresses of arrays, which HotSpot's collectors move: one that collects nothing does
/// not.
const STILL: [&str; 3] = [
    "-XX:+UnlockExperimentalVMOptions",
    "-XX:+UseEpsilonGC",
    "-Xmx2g",
];

/// What the launcher reads.
#[derive(Serialize)]
struct Run<'a> {
    manifest: &'a Manifest,
    /// The package as it was checked, by the name of an open descriptor.
    apk: PathBuf,
    data: &'a Path,
    /// Where native libraries lie.
    libraries: PathBuf,
    framework_resources: PathBuf,
    android_id: String,
    classes: Option<PathBuf>,
    starts: Vec<Start<'a>>,
    limit_millis: Option<u128>,
    answer_millis: u128,
    until_started: bool,
    /// None: activities live without windows.
    display: Option<Size>,
    script: Vec<Step>,
    shown: Option<Shown>,
    /// Its process's name, if that is not the application's own.
    process: Option<&'a str>,
    /// `takt system` has started it, and decides what is started in it.
    is_of_system: bool,
    /// Up to which its threads may be real-time ones, by a person's word; 0 without one.
    granted_priority: u8,
}

#[derive(Debug, PartialEq, Serialize)]
struct Start<'a> {
    kind: &'static str,
    action: Option<&'a str>,
    component: Option<String>,
    extras: BTreeMap<&'a str, &'a str>,
}

fn extra(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) => Ok((name.to_owned(), value.to_owned())),
        None => Err("NAME=VALUE is wanted".to_owned()),
    }
}

/// Becomes the application's process; comes back only when that fails.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let file = &args.file;
    // Read once: what is checked here is what runs, whatever becomes of the file meanwhile.
    let bytes = crate::apk::read(file)?;
    let refused = |fault: String| anyhow!("{}: refused: {fault}", file.display());
    let package = Apk::parse(&bytes).map_err(|it| refused(it.to_string()))?;
    let signers = crate::apk::verify(&package).map_err(refused)?;
    if args.machine == Machine::Hotspot && args.classes.is_none() {
        bail!("HotSpot runs no DEX: give --classes");
    }
    let has_own =
        args.gc.is_some() || args.report.is_some() || args.realtime || args.realtime_strict;
    if args.machine == Machine::Hotspot && has_own {
        bail!(
            "--gc, --report, --realtime and --realtime-strict are of Takt's machine, not of HotSpot"
        );
    }
    let manifest = &package.manifest;
    // Nobody but root has left any, and nobody but root can.
    if let Ok(true) = Cpufreq::default().put_back_left() {
        eprintln!("takt: a killed program held the frequency: its limits are back");
    }
    let framework = Framework::find(args.framework.as_deref())?;
    let data = data_folder(args, &Owner::new(&manifest.package, signers))?;
    warn_of_other_libraries(&package);
    data.unpack_libraries(&package)?;
    let apk = Sealed::of(&format!("{}.apk", manifest.package), &bytes)?;
    let run = Run {
        manifest,
        apk: apk.path(),
        data: data.path(),
        libraries: data.libraries(),
        framework_resources: framework.resources(),
        android_id: data.android_id()?,
        classes: args.classes.as_ref().map(std::path::absolute).transpose()?,
        starts: starts(&args.intents, manifest),
        limit_millis: args.limit.map(|it| it.as_millis()),
        answer_millis: args.anr.as_millis(),
        until_started: args.until_started,
        display: args.has_display().then_some(Size {
            width: args.display.width,
            height: args.display.height,
            density: args.display.density,
            input_by_socket: args.input_by_socket,
        }),
        script: args.script.steps()?,
        shown: args.screen.and_then(|it| Shown::of(it, &data)),
        process: None,
        is_of_system: false,
        granted_priority: 0,
    };
    let description = Sealed::of("run.json", &serde_json::to_vec(&run)?)?;
    let asked = &manifest.uses_permissions;
    if args.sandbox == Sandbox::None && asked.iter().any(|it| it == LOCK_FREQUENCY) {
        frequency::give_back_at_end();
    }
    let mut command = command(args, &framework, &description.path())?;
    let needs = needs(args, &framework, &data, manifest)?;
    confined::confine(&mut command, args.sandbox, needs)?;
    let error = command.exec();
    let java = command.get_program().display();
    Err(error).with_context(|| format!("cannot start {java}"))
}

/// What the application reads and writes besides what every program does.
fn needs<'a>(
    args: &Args,
    framework: &Framework,
    data: &DataFolder,
    manifest: &'a Manifest,
) -> Result<Needs<'a>> {
    let own = std::env::current_exe().context("cannot find this program's own file")?;
    let machine = java::machine_beside(&own);
    let mut reads = framework.places();
    reads.push(Jdk::find()?.home);
    let delivered = |folder: PathBuf| java::OF_MACHINE.map(|it| folder.join(it));
    reads.extend(machine.into_iter().flat_map(delivered));
    reads.extend(args.classes.clone());
    let mut writes = vec![data.path().to_owned()];
    writes.extend(confined::code_store());
    let mut devices = Vec::new();
    if args.screen == Some(BackEnd::Drm) {
        let is_there = |it: &PathBuf| it.exists();
        devices.extend(DEVICES.map(PathBuf::from).into_iter().filter(is_there));
        reads.extend(
            CONSOLE_FILES
                .map(PathBuf::from)
                .into_iter()
                .filter(is_there),
        );
    }
    let mut permissions = manifest.uses_permissions.iter();
    let may_record = permissions.any(|it| it == sound::RECORD_AUDIO);
    devices.extend(sound::devices(may_record));
    let mut outputs: Vec<PathBuf> = args.script.outputs().map(Path::to_owned).collect();
    outputs.extend(args.report.clone().flatten());
    let listens = args.binder_listen.as_deref();
    Ok(Needs {
        permissions: &manifest.uses_permissions,
        shows_web: matches!(args.screen, Some(BackEnd::Web(_))),
        shows_window: args.screen == Some(BackEnd::Wayland),
        has_neighbours: listens.or(args.binder_join.as_deref()).is_some(),
        reads,
        writes,
        devices,
        outputs,
        meets_in: listens.map(confined::folder_of).transpose()?,
    })
}

/// The Java machine with all that it is told.
fn command(args: &Args, framework: &Framework, description: &Path) -> Result<Command> {
    let java = Jdk::find()?.home.join("bin/java");
    let mut command = Command::new(&java);
    match args.machine {
        Machine::Takt => {
            let own = std::env::current_exe().context("cannot find this program's own file")?;
            command
                .arg(java::alternative(&java::machine_beside(&own)?))
                .args(args.gc.map(Collector::option))
                .args(args.report.as_ref().map(report_option))
                .args(args.realtime.then_some("-Xtakt:realtime"))
                .args(args.realtime_strict.then_some("-Xtakt:realtime-strict"));
        }
        // Signals are ours: see takt.server.Interrupt.
        Machine::Hotspot => {
            command.arg("-Xrs");
            if args.has_display() {
                command.args(STILL);
            }
        }
    }
    command
        .args(args.heap.iter().map(|size| format!("-Xmx{size}")))
        .args(framework.options(match args.has_display() {
            true => Front::Shown,
            false => Front::Hosted,
        })?)
        .args(neighbours(args)?)
        .arg("takt.server.Launcher")
        .arg(description);
    Ok(command)
}

/// How the process finds another one: properties that takt.framework.Neighbours reads.
fn neighbours(args: &Args) -> Result<Option<OsString>> {
    let (name, socket) = match (&args.binder_listen, &args.binder_join) {
        (Some(socket), _) => ("listen", socket),
        (None, Some(socket)) => ("join", socket),
        (None, None) => return Ok(None),
    };
    let mut option = OsString::from(format!("-Dtakt.binder.{name}="));
    option.push(std::path::absolute(socket)?);
    Ok(Some(option))
}

/// Text, or JSON in a file.
fn report_option(file: &Option<PathBuf>) -> OsString {
    let mut option = OsString::from("-Xtakt:report");
    if let Some(file) = file {
        option.push("=");
        option.push(file);
    }
    option
}

/// Native libraries for other machines only are not found, as those of a package without any.
fn warn_of_other_libraries(package: &Apk<'_>) {
    let abis = package.native_abis();
    if !abis.is_empty() && !abis.contains(HOST_ABI) {
        let abis: Vec<&str> = abis.into_iter().collect();
        eprintln!(
            "takt: the package's native libraries are for {}, not for {HOST_ABI}: they are not found",
            abis.join(", ")
        );
    }
}

/// Made if it is not there; the same for each run of a package.
fn data_folder(args: &Args, owner: &Owner) -> Result<DataFolder> {
    if let Some(data) = &args.data {
        return DataFolder::named(data, owner);
    }
    let home = match std::env::var_os("XDG_DATA_HOME").map(PathBuf::from) {
        Some(home) => home,
        None => {
            PathBuf::from(std::env::var_os("HOME").context("HOME is not set")?).join(".local/share")
        }
    };
    DataFolder::below(&std::path::absolute(home)?.join("takt/data"), owner)
}

/// What the options name, or else what a launcher would start: nothing, if the package has nothing
/// for it.
fn starts<'a>(intents: &'a Intents, manifest: &'a Manifest) -> Vec<Start<'a>> {
    let package = &manifest.package;
    let extras: BTreeMap<&str, &str> = intents
        .extra
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let component = |kind, class: &str| Start {
        kind,
        action: None,
        component: Some(format!("{package}/{class}")),
        extras: extras.clone(),
    };
    let mut starts = Vec::new();
    starts.extend(intents.service.iter().map(|it| component("service", it)));
    starts.extend(intents.activity.iter().map(|it| component("activity", it)));
    starts.extend(intents.broadcast.iter().map(|action| Start {
        kind: "broadcast",
        action: Some(action),
        component: None,
        extras: extras.clone(),
    }));
    if starts.is_empty()
        && let Some(launcher) = manifest.launcher()
    {
        starts.push(Start {
            action: Some("android.intent.action.MAIN"),
            ..component("activity", &launcher.name)
        });
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_screen_is_a_picture_or_an_address() {
        assert_eq!("picture".parse(), Ok(BackEnd::Picture));
        assert_eq!("web".parse(), Ok(BackEnd::Web(LOOPBACK)));
        assert_eq!("wayland".parse(), Ok(BackEnd::Wayland));
        assert_eq!("drm".parse(), Ok(BackEnd::Drm));
        let address = "[::1]:80".parse().unwrap();
        assert_eq!("web=[::1]:80".parse(), Ok(BackEnd::Web(address)));
        for wrong in [
            "",
            "web=",
            "web=80",
            "web=host:80",
            "picture=1",
            "wayland=1",
            "drm=1",
        ] {
            assert!(wrong.parse::<BackEnd>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_extra_is_a_name_and_a_value() {
        assert_eq!(extra("a=b=c"), Ok(("a".to_owned(), "b=c".to_owned())));
        assert!(extra("a").is_err());
    }
}
