// SPDX-License-Identifier: Apache-2.0
//! The server's process: crate `system` as `takt system` has it, with native programs in place of
//! Java's. It starts them as it is told, and says who has ended.

use std::collections::BTreeSet;
use std::io::{BufRead as _, Write as _};
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::Arc;

use ::system::{App, Host, Inside, Limits, Options, Prepared, open, tasks};
use anyhow::{Context, Result, anyhow};
use apk::{Apk, Application, Component, ComponentKind, Manifest};
use rt::clock::{Clock, Monotonic};
use rt::policy::Policy;
use rt::thread::Builder;
use sandbox::{
    Access, Confinement, Grant, Identity, Limits as Bounds, LocalSockets, Network, OtherProcesses,
    RealTime, Spec, Strictness,
};
use server::memory::Importance;
use server::packages::{Candidate, FRAMEWORK, Grant as Granted, SDK};

use super::trial::{Class, Ended, Plan, Said};

/// The package that is a real-time one.
pub(super) const REAL_TIME: &str = "takt.bench.realtime";
const ACTIVITY: &str = "Front";
const SERVICE: &str = "Worker";
const RECEIVER: &str = "Begin";
/// What the real-time one has: more than it takes.
const MEMORY: u64 = 64 << 20;
const PRIORITY: u8 = 80;
/// Of a process's start, and of each answer.
const PATIENCE_NS: u64 = 60_000_000_000;
/// Between looks for who has ended.
const LOOK_NS: u64 = 1_000_000;
/// What the server's log says of one that it has ended.
const BY_SERVER: &str = "takt system ends this process: Memory";

/// The server of one trial; the experiment starts it.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The process that asked for it
    #[arg(long)]
    parent: u32,
    /// Where it keeps what it keeps
    #[arg(long)]
    place: PathBuf,
    /// As JSON
    plan: String,
}

/// Serves until its input ends.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    rt::process::die_with_parent(args.parent).context("whom to serve has gone")?;
    let plan: Plan = serde_json::from_str(&args.plan)?;
    let host = NativeHost {
        plan: args.plan.clone(),
        is_protected: plan.is_protected,
    };
    let options = Options {
        state: args.place.join("state"),
        socket: args.place.join("socket"),
        limits: Limits {
            start_ns: PATIENCE_NS,
            answer_ns: PATIENCE_NS,
        },
        framework: manifest(FRAMEWORK),
        machine: tasks::machine(1, tasks::WAKE_US).map_err(|it| anyhow!(it))?,
        real_time: [(REAL_TIME.to_owned(), Some(MEMORY))].into(),
        keeps_memory: plan.is_protected,
    };
    let daemon = open(&options, Arc::new(host))?;
    let inside = daemon.inside();
    for member in &plan.members {
        inside.install(Candidate {
            manifest: manifest(&member.package),
            signers: ["bench".to_owned()].into(),
            code: String::new(),
            dangerous: Granted::Granted,
            is_system: false,
        })?;
    }
    Builder::new("control")
        .policy(Policy::ordinary())
        .spawn(move || {
            if let Err(error) = control(&inside, &plan) {
                eprintln!("bench: {error:#}");
            }
            // Its applications end with it.
            std::process::exit(0)
        })?;
    daemon.run();
    Ok(ExitCode::SUCCESS)
}

/// Has the processes begin as it is told.
fn control(inside: &Inside, plan: &Plan) -> Result<()> {
    let watched = inside.clone();
    Builder::new("watch")
        .policy(Policy::ordinary())
        .spawn(move || watch(&watched))?;
    say(&Said::Ready)?;
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let member = plan.members.iter().find(|it| it.package == line);
        let member = member.context("no such package")?;
        let begun = match member.class {
            Class::Front => inside.start(&line, ACTIVITY, false),
            Class::RealTime | Class::Service => inside.start(&line, SERVICE, true),
            Class::Cached => inside.begin(&line, RECEIVER),
        };
        begun.map_err(|it| anyhow!(it))?;
    }
    Ok(())
}

/// Says who has ended, and by whom.
fn watch(inside: &Inside) {
    let mut known = BTreeSet::new();
    loop {
        let running: BTreeSet<String> = inside.running().into_iter().collect();
        for package in known.difference(&running) {
            let by_server = inside.has_said(package, BY_SERVER);
            let ended = Ended {
                package: package.clone(),
                by_server,
                others: Vec::new(),
            };
            if let Err(error) = say(&Said::Ended(ended)) {
                eprintln!("bench: {error:#}");
            }
        }
        known = running;
        Monotonic.sleep_until(Monotonic.now_ns() + LOOK_NS);
    }
}

/// One line, to who started the server.
pub(super) fn say(said: &Said) -> Result<()> {
    let mut line = serde_json::to_vec(said)?;
    line.push(b'\n');
    Ok(std::io::stdout().write_all(&line)?)
}

/// This program again, for each process.
struct NativeHost {
    plan: String,
    is_protected: bool,
}

impl NativeHost {
    /// As `takt system` has it, where that counts: who ends first.
    fn spec(&self, app: &App<'_>, own: PathBuf) -> Spec {
        let is_real_time = app.memory.is_some();
        let importance = match is_real_time {
            true => Importance::RealTime,
            false => Importance::Foreground,
        };
        let mut files = Grant::system();
        files.push(Grant::new(own, Access::Run));
        Spec {
            identity: Some(Identity {
                uid: app.process.uid,
                gid: app.process.uid,
            }),
            files,
            network: Network::None,
            local_sockets: LocalSockets::Refused,
            other_processes: OtherProcesses::Listed,
            real_time: match is_real_time {
                true => RealTime::UpTo(PRIORITY),
                false => RealTime::FromOutside,
            },
            limits: Bounds {
                tasks: None,
                open_files: None,
                locked_bytes: None,
                real_time_us: None,
                kill_order: Some(match self.is_protected {
                    true => importance.kill_order(),
                    false => 0,
                }),
            },
            group: None,
            disk: None,
            lacks: Vec::new(),
        }
    }
}

impl Host for NativeHost {
    fn abi(&self) -> &str {
        crate::apk::HOST_ABI
    }

    fn verify(&self, _package: &Apk<'_>) -> Result<Vec<String>, String> {
        Err("experiments install no file".to_owned())
    }

    fn start(&self, app: &App<'_>) -> Result<Prepared, String> {
        let own = std::env::current_exe().map_err(|it| it.to_string())?;
        let mut command = Command::new(&own);
        command.args(["bench", "oom-app", "--parent"]);
        command.arg(std::process::id().to_string());
        command.args([&app.manifest.package, &self.plan]);
        let made = Confinement::prepare(&self.spec(app, own), Strictness::Best);
        made.map_err(|it| it.to_string())?.confine(&mut command);
        Ok(Prepared {
            command,
            sandbox: None,
            grants: None,
            entry: None,
        })
    }

    fn template(&self) -> Result<Option<Command>, String> {
        Ok(None)
    }
}

/// A package with one component of each kind that a process is started by.
fn manifest(package: &str) -> Manifest {
    let exported = |kind, class| Component {
        is_exported: true,
        ..Component::new(kind, class)
    };
    Manifest {
        target_sdk: SDK,
        application: Application {
            has_code: true,
            is_enabled: true,
            components: vec![
                exported(ComponentKind::Activity, ACTIVITY),
                exported(ComponentKind::Service, SERVICE),
                exported(ComponentKind::Receiver, RECEIVER),
            ],
            ..Application::default()
        },
        ..Manifest::new(package)
    }
}
