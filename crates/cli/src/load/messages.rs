// SPDX-License-Identifier: Apache-2.0
//! Senders and receivers in groups, every sender to every receiver, as in Zhang's hackbench.
//!
//! As when hackbench is called again and again, each round is a process of its own: making and
//! ending processes is where kernels hold their locks longest.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use rt::policy::Policy;
use rt::thread::{Builder, Thread};

const GROUPS: u64 = 4;
const PAIRS_PER_GROUP: usize = 5;
const MESSAGE_BYTES_MIN: usize = 64;
const MESSAGE_BYTES_MAX: usize = 512;
const STACK_BYTES: usize = 64 << 10;

/// Messages of each sender to each receiver in a round: a few hundred milliseconds of work.
const MESSAGES_PER_ROUND: u32 = 200;

/// Runs round after round, for ever.
pub(super) fn run(seed: u64) -> Result<ExitCode> {
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    for round in 0_u64.. {
        let mut child = Command::new(&program)
            .args(["load", super::Kind::HackbenchLike.name(), "--is-round"])
            .args([
                "--seed",
                &seed.wrapping_mul(0x1_0001).wrapping_add(round).to_string(),
            ])
            .args(["--parent", &std::process::id().to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .context("cannot start a round of the load")?;
        if round == 0 {
            println!("ready");
        }
        let status = child
            .wait()
            .context("cannot wait for a round of the load")?;
        if !status.success() {
            bail!("a round of the load ended with {status}");
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// One round: all messages of all groups.
pub(super) fn run_round(seed: u64) -> Result<ExitCode> {
    let mut threads = Vec::new();
    for group in 0..GROUPS {
        start_group(seed.wrapping_mul(GROUPS).wrapping_add(group), &mut threads)?;
    }
    for thread in threads {
        thread.join()?;
    }
    Ok(ExitCode::SUCCESS)
}

fn start_group(seed: u64, threads: &mut Vec<Thread<Result<()>>>) -> Result<()> {
    let mut sinks = Vec::new();
    for _ in 0..PAIRS_PER_GROUP {
        let (sink, source) = UnixStream::pair().context("cannot make a pair of sockets")?;
        sinks.push(sink);
        threads.push(start(move || receive(source))?);
    }
    let sinks = Arc::new(sinks);
    for sender in 0..PAIRS_PER_GROUP as u64 {
        let sinks = Arc::clone(&sinks);
        let random = fastrand::Rng::with_seed(seed.wrapping_mul(31).wrapping_add(sender));
        threads.push(start(move || send(&sinks, random))?);
    }
    Ok(())
}

fn start(body: impl FnOnce() -> Result<()> + Send + 'static) -> Result<Thread<Result<()>>> {
    let builder = Builder::new("load")
        .policy(Policy::Other { nice: 0 })
        .stack_bytes(STACK_BYTES);
    builder.spawn(body).context("cannot start the load")
}

fn send(sinks: &[UnixStream], mut random: fastrand::Rng) -> Result<()> {
    let message = [0x5a_u8; MESSAGE_BYTES_MAX];
    for _ in 0..MESSAGES_PER_ROUND {
        let size = random.usize(MESSAGE_BYTES_MIN..=MESSAGE_BYTES_MAX);
        for mut sink in sinks {
            sink.write_all(&message[..size])?;
        }
    }
    Ok(())
}

/// Until the last sender has closed its end.
fn receive(mut source: UnixStream) -> Result<()> {
    let mut message = [0_u8; MESSAGE_BYTES_MIN];
    while source.read(&mut message)? > 0 {}
    Ok(())
}
