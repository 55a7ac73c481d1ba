// SPDX-License-Identifier: Apache-2.0
//! `takt am`: starts activities and services, sends broadcasts, ends packages, and has them give
//! up memory.

use std::process::ExitCode;

use ::system::protocol::{Intention, Request};
use anyhow::Result;
use clap::Subcommand;

use super::Endpoint;
use super::show::{Said, ask};

/// Starts and ends what is installed, as Android's `am`
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    endpoint: Endpoint,
}

#[derive(Subcommand)]
pub(super) enum Verb {
    /// Starts an activity
    ///
    /// Exit code: 0 started, 1 refused, 2 no server.
    #[command(
        after_help = "Example:\n  takt am start -n org.example.heartbeat/.Main --es greeting hello"
    )]
    Start(StartArgs),
    /// Starts a service
    ///
    /// Exit code: 0 started, 1 refused, 2 no server.
    #[command(
        alias = "start-service",
        after_help = "Example:\n  takt am startservice -n org.example.heartbeat/.Heartbeat"
    )]
    Startservice(StartArgs),
    /// Sends a broadcast, to receivers of manifests and to those that code has registered
    ///
    /// Exit code: 0 sent, if to nobody, 1 refused, 2 no server.
    #[command(after_help = "Example:\n  takt am broadcast -a org.example.meter.READ")]
    Broadcast(StartArgs),
    /// Ends all that runs of a package
    ///
    /// Exit code: 0 ended, 1 refused, 2 no server.
    #[command(after_help = "Example:\n  takt am force-stop org.example.heartbeat")]
    ForceStop {
        /// Its name
        package: String,
    },
    /// Tells a package's processes to give up memory, as when it runs short (`onTrimMemory`)
    ///
    /// Exit code: 0 told, 1 no process of it runs, 2 no server.
    #[command(after_help = "Example:\n  takt am send-trim-memory org.example.heartbeat COMPLETE")]
    SendTrimMemory {
        /// Its name
        package: String,
        /// How much
        #[arg(value_enum, ignore_case = true)]
        level: Level,
    },
}

/// The numbers of `ComponentCallbacks2.TRIM_MEMORY_…`.
#[derive(Clone, Copy, clap::ValueEnum)]
#[value(rename_all = "SCREAMING_SNAKE_CASE")]
pub(super) enum Level {
    RunningModerate = 5,
    RunningLow = 10,
    RunningCritical = 15,
    Hidden = 20,
    Background = 40,
    Moderate = 60,
    Complete = 80,
}

/// An intent.
#[derive(clap::Args)]
pub(super) struct StartArgs {
    /// The component: a package and a class, which may begin with a dot
    #[arg(short = 'n', long, value_name = "PACKAGE/CLASS", value_parser = component)]
    component: Option<(String, String)>,
    /// The action
    #[arg(short = 'a', long, value_name = "ACTION")]
    action: Option<String>,
    /// The data
    #[arg(short = 'd', long, value_name = "URI")]
    data: Option<String>,
    /// The data's MIME type
    #[arg(short = 't', long = "type", value_name = "TYPE")]
    kind: Option<String>,
    /// A category
    #[arg(short = 'c', long, value_name = "CATEGORY")]
    category: Vec<String>,
    /// The package that is asked alone
    #[arg(short = 'p', long, value_name = "PACKAGE")]
    package: Option<String>,
    /// Android's flags, as a number
    #[arg(short = 'f', long, value_name = "FLAGS", value_parser = flags, default_value = "0")]
    flags: u32,
    /// A text for the extras
    #[arg(long = "es", value_names = ["NAME", "VALUE"], num_args = 2, action = clap::ArgAction::Append)]
    texts: Vec<String>,
}

fn component(text: &str) -> Result<(String, String), String> {
    let (package, class) = text.split_once('/').ok_or("PACKAGE/CLASS is wanted")?;
    let class = match class.starts_with('.') {
        true => format!("{package}{class}"),
        false => class.to_owned(),
    };
    Ok((package.to_owned(), class))
}

fn flags(text: &str) -> Result<u32, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|it| format!("{text}: {it}"))
}

impl StartArgs {
    fn intention(&self) -> Intention {
        let pairs = self.texts.chunks_exact(2);
        Intention {
            action: self.action.clone(),
            data: self.data.clone(),
            kind: self.kind.clone(),
            component: self.component.clone(),
            package: self.package.clone(),
            categories: self.category.clone(),
            flags: self.flags,
            extras: pairs.map(|it| (it[0].clone(), it[1].clone())).collect(),
        }
    }
}

impl Verb {
    /// What the server is asked for.
    pub(super) fn request(&self) -> Request {
        match self {
            Self::Start(it) => Request::StartActivity(it.intention()),
            Self::Startservice(it) => Request::StartService(it.intention()),
            Self::Broadcast(it) => Request::Broadcast(it.intention()),
            Self::ForceStop { package } => {
                let package = package.clone();
                Request::ForceStop { package }
            }
            Self::SendTrimMemory { package, level } => Request::TrimMemory {
                package: package.clone(),
                level: *level as i32,
            },
        }
    }
}

/// Runs the subcommand.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    ask(&args.endpoint, &args.verb.request(), Said)
}
