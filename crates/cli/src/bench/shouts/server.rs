// SPDX-License-Identifier: Apache-2.0
//! The server's process: it has the others begin, and says what it has seen of them.

use std::io::{BufRead as _, Read as _};
use std::process::ExitCode;
use std::sync::Arc;

use ::system::{Inside, Options, open};
use anyhow::{Result, anyhow};
use apk::{ComponentKind, Manifest, Permission};
use rt::clock::{Clock, Monotonic};
use rt::memory::{LockScope, ProcessLock};
use rt::policy::Policy;
use rt::thread::Builder;
use server::broadcasts::{BROADCAST_STICKY, Order};
use server::packages::FRAMEWORK;

use super::{Plan, Races, Said, What};
use crate::bench::native::{self, ServerArgs, candidate, say};

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

/// Serves until its input ends.
pub(crate) fn run(args: &ServerArgs) -> Result<ExitCode> {
    let plan: Plan = args.begin()?;
    let _memory = ProcessLock::acquire(LockScope::All)?;
    let host = args.host("shouts-app", |app, command| {
        command.arg(&app.manifest.package);
        Ok(())
    });
    let options = Options {
        framework: Manifest {
            permissions: vec![Permission {
                name: BROADCAST_STICKY.to_owned(),
                level: 0,
            }],
            ..manifest(FRAMEWORK)
        },
        ..args.options(PATIENCE_NS)?
    };
    let daemon = open(&options, Arc::new(host))?;
    let inside = daemon.inside();
    for package in [EAR, CROWD, URGENT] {
        inside.install(candidate(manifest(package)))?;
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

/// A package that may send sticky broadcasts, with one receiver.
fn manifest(package: &str) -> Manifest {
    Manifest {
        uses_permissions: vec![BROADCAST_STICKY.to_owned()],
        ..native::manifest(package, &[(ComponentKind::Receiver, CLASS)])
    }
}
