// SPDX-License-Identifier: Apache-2.0
//! What experiments share whose applications are programs without a Java machine: a server in a
//! process of its own, crate `system` as `takt system` has it, with this program once more in place
//! of each application's Java. All of them know a plan, and say what they find by lines of JSON.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ::system::{App, Host, Limits, Options, Prepared, tasks};
use anyhow::{Context as _, Result, anyhow};
use apk::{Apk, Application, Component, ComponentKind, Manifest};
use serde::{Serialize, de::DeserializeOwned};
use server::packages::{Candidate, FRAMEWORK, Grant, SDK};

/// The server of one window; the experiment starts it.
#[derive(clap::Args)]
pub(crate) struct ServerArgs {
    /// The process that asked for it
    #[arg(long)]
    parent: u32,
    /// Where it keeps what it keeps
    #[arg(long)]
    place: PathBuf,
    /// As JSON
    plan: String,
}

/// A command that serves a plan in a folder, by a subcommand of `takt bench` that takes
/// [`ServerArgs`]. Its input and output are piped.
pub(super) fn command(subcommand: &str, place: &Path, plan: &impl Serialize) -> Result<Command> {
    let own = std::env::current_exe().context("cannot find this program's own file")?;
    let mut command = Command::new(own);
    command.args(["bench", subcommand, "--parent"]);
    command.arg(std::process::id().to_string());
    command.arg("--place").arg(place);
    command.arg(serde_json::to_string(plan)?);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    Ok(command)
}

impl ServerArgs {
    /// The plan; from here on the server ends with who started it.
    pub(super) fn begin<T: DeserializeOwned>(&self) -> Result<T> {
        rt::process::die_with_parent(self.parent).context("whom to serve has gone")?;
        Ok(serde_json::from_str(&self.plan)?)
    }

    /// Of a server with one processor; a process has `patience_ns` for its start and each answer.
    pub(super) fn options(&self, patience_ns: u64) -> Result<Options> {
        Ok(Options {
            state: self.place.join("state"),
            socket: self.place.join("socket"),
            limits: Limits {
                start_ns: patience_ns,
                answer_ns: patience_ns,
            },
            framework: Manifest::new(FRAMEWORK),
            machine: tasks::machine(1, tasks::WAKE_US).map_err(|it| anyhow!(it))?,
            real_time: Default::default(),
            keeps_memory: true,
        })
    }

    /// Starts each application by a subcommand of `takt bench`, which `complete` gives its
    /// arguments; the plan comes last.
    pub(super) fn host<F>(&self, subcommand: &'static str, complete: F) -> OwnHost<F>
    where
        F: Fn(&App<'_>, &mut Command) -> Result<(), String> + Send + Sync,
    {
        OwnHost {
            subcommand,
            plan: self.plan.clone(),
            complete,
        }
    }
}

/// This program again, for each process.
pub(super) struct OwnHost<F> {
    subcommand: &'static str,
    plan: String,
    complete: F,
}

impl<F> Host for OwnHost<F>
where
    F: Fn(&App<'_>, &mut Command) -> Result<(), String> + Send + Sync,
{
    fn abi(&self) -> &str {
        crate::apk::HOST_ABI
    }

    fn verify(&self, _package: &Apk<'_>) -> Result<Vec<String>, String> {
        Err("experiments install no file".to_owned())
    }

    fn start(&self, app: &App<'_>) -> Result<Prepared, String> {
        let own = std::env::current_exe().map_err(|it| it.to_string())?;
        let mut command = Command::new(own);
        command.args(["bench", self.subcommand, "--parent"]);
        command.arg(std::process::id().to_string());
        (self.complete)(app, &mut command)?;
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

/// A package with components that anybody may start.
pub(super) fn manifest(package: &str, components: &[(ComponentKind, &str)]) -> Manifest {
    let exported = |(kind, class): &(ComponentKind, &str)| Component {
        is_exported: true,
        ..Component::new(*kind, *class)
    };
    Manifest {
        target_sdk: SDK,
        application: Application {
            has_code: true,
            is_enabled: true,
            components: components.iter().map(exported).collect(),
            ..Application::default()
        },
        ..Manifest::new(package)
    }
}

/// The same, to be installed with all that it asks for.
pub(super) fn candidate(manifest: Manifest) -> Candidate {
    Candidate {
        manifest,
        signers: ["bench".to_owned()].into(),
        code: String::new(),
        dangerous: Grant::Granted,
        is_system: false,
    }
}

/// One line, to who started the server.
pub(super) fn say(said: &impl Serialize) -> Result<()> {
    let mut line = serde_json::to_vec(said)?;
    line.push(b'\n');
    Ok(std::io::stdout().write_all(&line)?)
}
