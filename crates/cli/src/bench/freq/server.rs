// SPDX-License-Identifier: Apache-2.0
//! The server's process: crate `system` as `takt system` has it, with this program in place of
//! Java.

use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::Arc;

use ::system::{App, Host, Limits, Options, Prepared, open, tasks};
use anyhow::{Context, Result, anyhow};
use apk::{Apk, Application, Component, ComponentKind, Manifest};
use rt::policy::Policy;
use rt::thread::Builder;
use rustix::process::{Pid, Signal, kill_process};
use server::frequency::LOCK_FREQUENCY;
use server::packages::{Candidate, FRAMEWORK, Grant, SDK};

use super::{Part, Plan, Said};

const PACKAGE: &str = "takt.bench.freq";
const CLASS: &str = "Begin";
/// Of a process's start, and of each answer: the application answers nothing after its start.
const PATIENCE_NS: u64 = 3_600_000_000_000;

/// The server of one part; `bench freq` starts it.
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
    let options = Options {
        state: args.place.join("state"),
        socket: args.place.join("socket"),
        limits: Limits {
            start_ns: PATIENCE_NS,
            answer_ns: PATIENCE_NS,
        },
        framework: Manifest::new(FRAMEWORK),
        machine: tasks::machine(1, tasks::WAKE_US).map_err(|it| anyhow!(it))?,
        real_time: Default::default(),
        keeps_memory: true,
    };
    let host = OwnHost {
        plan: args.plan.clone(),
    };
    let daemon = open(&options, Arc::new(host))?;
    let inside = daemon.inside();
    inside.install(Candidate {
        manifest: manifest(),
        signers: ["bench".to_owned()].into(),
        code: String::new(),
        dangerous: Grant::Granted,
        is_system: false,
    })?;
    say(&Said::Serves)?;
    if plan.part != Part::Nothing {
        inside.begin(PACKAGE, CLASS).map_err(|it| anyhow!(it))?;
    }
    Builder::new("control")
        .policy(Policy::ordinary())
        .spawn(move || {
            // Whatever comes, its end is the word.
            let _ = std::io::stdin().lock().read_to_end(&mut Vec::new());
            // As a person ends it.
            let own = Pid::from_raw(std::process::id().cast_signed());
            let _ = own.map(|it| kill_process(it, Signal::TERM));
        })?;
    daemon.run();
    Ok(ExitCode::SUCCESS)
}

/// One line, to who started the server.
pub(super) fn say(said: &Said) -> Result<()> {
    let mut line = serde_json::to_vec(said)?;
    line.push(b'\n');
    Ok(std::io::stdout().write_all(&line)?)
}

/// This program again.
struct OwnHost {
    plan: String,
}

impl Host for OwnHost {
    fn abi(&self) -> &str {
        crate::apk::HOST_ABI
    }

    fn verify(&self, _package: &Apk<'_>) -> Result<Vec<String>, String> {
        Err("experiments install no file".to_owned())
    }

    fn start(&self, _app: &App<'_>) -> Result<Prepared, String> {
        let own = std::env::current_exe().map_err(|it| it.to_string())?;
        let mut command = Command::new(own);
        command.args(["bench", "freq-app", "--parent"]);
        command.arg(std::process::id().to_string());
        command.arg(&self.plan);
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

/// A package that may hold the frequency, with one receiver.
fn manifest() -> Manifest {
    let begin = Component {
        is_exported: true,
        ..Component::new(ComponentKind::Receiver, CLASS)
    };
    Manifest {
        target_sdk: SDK,
        uses_permissions: vec![LOCK_FREQUENCY.to_owned()],
        application: Application {
            has_code: true,
            is_enabled: true,
            components: vec![begin],
            ..Application::default()
        },
        ..Manifest::new(PACKAGE)
    }
}
