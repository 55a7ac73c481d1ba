// SPDX-License-Identifier: Apache-2.0
//! Senders and receivers in groups, every sender to every receiver, as in Zhang's hackbench.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};
use rt::policy::Policy;
use rt::thread::{Builder, Thread};

const GROUPS: u64 = 4;
const PAIRS_PER_GROUP: usize = 5;
const MESSAGE_BYTES_MIN: usize = 64;
const MESSAGE_BYTES_MAX: usize = 512;
const STACK_BYTES: usize = 64 << 10;

/// Runs for ever; the threads never end while their sockets are open.
pub(super) fn run(seed: u64) -> Result<ExitCode> {
    let mut threads = Vec::new();
    for group in 0..GROUPS {
        start_group(seed.wrapping_mul(GROUPS).wrapping_add(group), &mut threads)?;
    }
    println!("ready");
    for thread in threads {
        thread.join()?;
    }
    Ok(ExitCode::FAILURE)
}

fn start_group(seed: u64, threads: &mut Vec<Thread<Result<()>>>) -> Result<()> {
    let mut sinks = Vec::new();
    for _ in 0..PAIRS_PER_GROUP {
        let (sink, mut source) = UnixStream::pair().context("cannot make a pair of sockets")?;
        sinks.push(sink);
        threads.push(start(move || receive(&mut source))?);
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
    loop {
        let size = random.usize(MESSAGE_BYTES_MIN..=MESSAGE_BYTES_MAX);
        for mut sink in sinks {
            sink.write_all(&message[..size])?;
        }
    }
}

fn receive(source: &mut UnixStream) -> Result<()> {
    let mut message = [0_u8; MESSAGE_BYTES_MAX];
    loop {
        source.read_exact(&mut message[..MESSAGE_BYTES_MIN])?;
    }
}
