// SPDX-License-Identifier: Apache-2.0
//! The server's process: it starts applications as it is told, and says who has ended.

use std::collections::BTreeSet;
use std::io::BufRead as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::Arc;

use ::system::{App, Inside, Options, open};
use anyhow::{Context, Result, anyhow};
use apk::ComponentKind;
use rt::clock::{Clock, Monotonic};
use rt::policy::Policy;
use rt::thread::Builder;
use sandbox::{
    Access, Confinement, Grant, Identity, Limits as Bounds, LocalSockets, Network, OtherProcesses,
    RealTime, Spec, Strictness,
};
use server::memory::Importance;

use super::trial::{Class, Ended, Plan, Said};
use crate::bench::native::{self, ServerArgs, candidate, say};

/// The package that is a real-time one.
pub(super) const REAL_TIME: &str = "takt.bench.realtime";
const ACTIVITY: &str = "Front";
const SERVICE: &str = "Worker";
const RECEIVER: &str = "Begin";
/// One of each kind that a process is started by.
const COMPONENTS: [(ComponentKind, &str); 3] = [
    (ComponentKind::Activity, ACTIVITY),
    (ComponentKind::Service, SERVICE),
    (ComponentKind::Receiver, RECEIVER),
];
/// What the real-time one has: more than it takes.
const MEMORY: u64 = 64 << 20;
const PRIORITY: u8 = 80;
/// Of a process's start, and of each answer.
const PATIENCE_NS: u64 = 60_000_000_000;
/// Between looks for who has ended.
const LOOK_NS: u64 = 1_000_000;
/// What the server's log says of one that it has ended.
const BY_SERVER: &str = "takt system ends this process: Memory";

/// Serves until its input ends.
pub(crate) fn run(args: &ServerArgs) -> Result<ExitCode> {
    let plan: Plan = args.begin()?;
    let is_protected = plan.is_protected;
    let host = args.host("oom-app", move |app, command| {
        confine(app, is_protected, command)
    });
    let options = Options {
        real_time: [(REAL_TIME.to_owned(), Some(MEMORY))].into(),
        keeps_memory: is_protected,
        ..args.options(PATIENCE_NS)?
    };
    let daemon = open(&options, Arc::new(host))?;
    let inside = daemon.inside();
    for member in &plan.members {
        inside.install(candidate(native::manifest(&member.package, &COMPONENTS)))?;
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

/// As `takt system` has it, where that counts: who ends first.
fn confine(app: &App<'_>, is_protected: bool, command: &mut Command) -> Result<(), String> {
    let own = std::env::current_exe().map_err(|it| it.to_string())?;
    command.arg(&app.manifest.package);
    let made = Confinement::prepare(&spec(app, is_protected, own), Strictness::Best);
    made.map_err(|it| it.to_string())?.confine(command);
    Ok(())
}

fn spec(app: &App<'_>, is_protected: bool, own: PathBuf) -> Spec {
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
            kill_order: Some(match is_protected {
                true => importance.kill_order(),
                false => 0,
            }),
        },
        group: None,
        disk: None,
        lacks: Vec::new(),
    }
}
