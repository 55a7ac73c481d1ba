// SPDX-License-Identifier: Apache-2.0
//! The server's process, and the package that may hold the frequency.

use std::io::Read as _;
use std::process::ExitCode;
use std::sync::Arc;

use ::system::open;
use anyhow::{Result, anyhow};
use apk::{ComponentKind, Manifest};
use rt::policy::Policy;
use rt::thread::Builder;
use rustix::process::{Pid, Signal, kill_process};
use server::frequency::LOCK_FREQUENCY;

use super::{Part, Plan, Said};
use crate::bench::native::{self, ServerArgs, candidate, say};

const PACKAGE: &str = "takt.bench.freq";
const CLASS: &str = "Begin";
/// Of a process's start, and of each answer: the application answers nothing after its start.
const PATIENCE_NS: u64 = 3_600_000_000_000;

/// Serves until its input ends.
pub(crate) fn run(args: &ServerArgs) -> Result<ExitCode> {
    let plan: Plan = args.begin()?;
    let host = args.host("freq-app", |_, _| Ok(()));
    let daemon = open(&args.options(PATIENCE_NS)?, Arc::new(host))?;
    let inside = daemon.inside();
    inside.install(candidate(Manifest {
        uses_permissions: vec![LOCK_FREQUENCY.to_owned()],
        ..native::manifest(PACKAGE, &[(ComponentKind::Receiver, CLASS)])
    }))?;
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
