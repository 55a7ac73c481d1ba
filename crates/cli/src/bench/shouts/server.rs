// SPDX-License-Identifier: Apache-2.0
//! The server's process: crate `system` as `takt system` has it, with [`NativeHost`] in place of
//! Java's.

use std::io::{BufRead as _, Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::Arc;

use ::system::{App, Host, Inside, Limits, Options, Prepared, open, tasks};
use anyhow::{Context, Result, anyhow};
use apk::{Apk, Application, Component, ComponentKind, Manifest, Permission};
use rt::clock::{Clock, Monotonic};
use rt::memory::{LockScope, ProcessLock};
use rt::policy::Policy;
use rt::thread::Builder;
use server::broadcasts::{BROADCAST_STICKY, Order};
use server::packages::{Candidate, FRAMEWORK, Grant, SDK};

use super::{Plan, Races, Said, What};

/// The packages: who receives, who sends ordinary broadcasts, and who urgent ones.
pub(super) const EAR: &str = "takt.bench.ear";
pub(super) const CROWD: &str = "takt.bench.crowd";
pub(super) const URGENT: &str = "takt.bench.urgent";
const CLASS: &str = "Begin";
/// Of a process's start, and of each answer.
const PATIENCE_NS: u64 = 60_000_000_000;
/// What is on its way when all is sent has come.
const CALM_NS: u64 = 300_000_000;
/// Comings and goings that are written down: three rounds of ten thousand races have some 100,000.
const JOURNAL: usize = 1 << 18;

/// The server of one window; the experiments on broadcasts start it.
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
    let _memory = ProcessLock::acquire(LockScope::All)?;
    let host = NativeHost {
        plan: args.plan.clone(),
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
        real_time: Default::default(),
        keeps_memory: true,
    };
    let daemon = open(&options, Arc::new(host))?;
    let inside = daemon.inside();
    for package in [EAR, CROWD, URGENT] {
        inside.install(Candidate {
            manifest: manifest(package),
            signers: ["bench".to_owned()].into(),
            code: String::new(),
            dangerous: Grant::Granted,
            is_system: false,
        })?;
    }
    if plan.is_first_come {
        inside.set_order(Order::FirstCome);
    }
    if plan.what == What::Races {
        inside.open_journal(JOURNAL);
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

/// Has the processes begin as it is told, and says at the end what the server has seen.
fn control(inside: &Inside, plan: &Plan) -> Result<()> {
    let begin = |package| inside.begin(package, CLASS).map_err(|it| anyhow!(it));
    begin(EAR)?;
    let mut input = std::io::stdin().lock();
    let mut line = String::new();
    input.read_line(&mut line)?;
    if plan.senders > 0 {
        begin(CROWD)?;
    }
    begin(URGENT)?;
    input.read_to_end(&mut Vec::new())?;
    if plan.what == What::Races {
        Monotonic.sleep_until(Monotonic.now_ns() + CALM_NS);
    }
    let (notes, is_cut) = inside.journal();
    say(&Said::End {
        races: Races::of(&notes, is_cut && plan.what == What::Races),
        lost: inside.lost(),
    })
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
        let mut command = Command::new(own);
        command.args(["bench", "shouts-app", "--parent"]);
        command.arg(std::process::id().to_string());
        command.args([&app.manifest.package, &self.plan]);
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

/// A package that may send sticky broadcasts, with one receiver; the framework's defines that.
fn manifest(package: &str) -> Manifest {
    let begin = Component {
        is_exported: true,
        ..Component::new(ComponentKind::Receiver, CLASS)
    };
    let sticky = Permission {
        name: BROADCAST_STICKY.to_owned(),
        level: 0,
    };
    let is_framework = package == FRAMEWORK;
    Manifest {
        target_sdk: SDK,
        uses_permissions: vec![BROADCAST_STICKY.to_owned()],
        permissions: is_framework.then_some(sticky).into_iter().collect(),
        application: Application {
            has_code: true,
            is_enabled: true,
            components: vec![begin],
            ..Application::default()
        },
        ..Manifest::new(package)
    }
}
