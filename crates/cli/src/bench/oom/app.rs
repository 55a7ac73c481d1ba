// SPDX-License-Identifier: Apache-2.0
//! The applications: each takes its memory, a megabyte at a time, and keeps it.

use std::os::fd::AsFd as _;
use std::process::ExitCode;

use ::system::native::{App, Class};
use anyhow::{Context, Result};
use rt::clock::{Clock, Monotonic};
use rt::memory::{LockScope, ProcessLock};
use rt::policy::{Policy, Priority};
use rt::thread::Builder;

use super::server::REAL_TIME;
use super::trial::{Plan, Said};
use crate::bench::native::say;

/// Of one array, as the thesis has it.
const ARRAY_BYTES: usize = 1 << 20;
/// Of a page: each is written to.
const PAGE_BYTES: usize = 4 << 10;
/// Between two arrays.
const PAUSE_NS: u64 = 2_000_000;
/// What an activity or a service is asked comes within this time.
const CALM_NS: u64 = 20_000_000;
/// For the server to tell the kernel what the process is.
const SETTLED_NS: u64 = 300_000_000;
const AGES_NS: u64 = 1_000_000_000;
/// Of the real-time thread.
const PRIORITY: Priority = Priority::new(80).expect("1 to 99");

/// A process of the experiment's server; it starts them.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The server
    #[arg(long)]
    parent: u32,
    /// Which package
    package: String,
    /// As JSON
    plan: String,
}

/// Takes its memory, and stays.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if let Err(error) = live(args) {
        say(&Said::Failed(format!("{}: {error:#}", args.package)))?;
    }
    Ok(ExitCode::FAILURE)
}

fn live(args: &Args) -> Result<()> {
    rt::process::die_with_parent(args.parent).context("the server has gone")?;
    let plan: Plan = serde_json::from_str(&args.plan)?;
    let member = plan.members.iter().find(|it| it.package == args.package);
    let count = member.context("no such package")?.mib;
    let socket = std::io::stdin().as_fd().try_clone_to_owned()?;
    let app = App::join(socket, None)?;
    // It is what it was started for before it takes anything.
    let mut is_begun = false;
    loop {
        app.wait_until(Class::Ordinary, Monotonic.now_ns() + CALM_NS);
        match app.oblige()? {
            0 if is_begun => break,
            count => is_begun |= count > 0,
        }
    }
    Monotonic.sleep_until(Monotonic.now_ns() + SETTLED_NS);
    let name = args.package.clone();
    if args.package == REAL_TIME {
        let lock = ProcessLock::acquire(LockScope::OnFault)?;
        let builder = Builder::new("real time").policy(Policy::Fifo(PRIORITY));
        builder.spawn(move || {
            let _lock = lock;
            take(&name, count);
        })?;
    } else {
        let builder = Builder::new("ordinary").policy(Policy::ordinary());
        builder.spawn(move || take(&name, count))?;
    }
    loop {
        app.wait_until(Class::Ordinary, Monotonic.now_ns() + AGES_NS);
        app.oblige()?;
    }
}

fn take(package: &str, count: usize) {
    let mut arrays = Vec::new();
    for _ in 0..count {
        let mut array = vec![0_u8; ARRAY_BYTES];
        array.iter_mut().step_by(PAGE_BYTES).for_each(|it| *it = 1);
        arrays.push(array);
        Monotonic.sleep_until(Monotonic.now_ns() + PAUSE_NS);
    }
    if let Err(error) = say(&Said::Full(package.to_owned())) {
        eprintln!("bench: {error:#}");
    }
    loop {
        Monotonic.sleep_until(Monotonic.now_ns() + AGES_NS);
        std::hint::black_box(&arrays);
    }
}
