// SPDX-License-Identifier: Apache-2.0
//! Memory taken, filled, copied and given back: page faults, cache and memory bandwidth.

use std::process::ExitCode;

use anyhow::{Context, Result};
use rt::memory::{Mapping, PageKind};
use rt::policy::Policy;
use rt::thread::Builder;

const THREADS: u64 = 2;
const MAPPING_BYTES_MIN: usize = 1 << 20;
const MAPPING_BYTES_MAX: usize = 32 << 20;

/// Runs for ever.
pub(super) fn run(seed: u64) -> Result<ExitCode> {
    let mut threads = Vec::new();
    for index in 0..THREADS {
        let random = fastrand::Rng::with_seed(seed.wrapping_mul(THREADS).wrapping_add(index));
        let builder = Builder::new("load").policy(Policy::Other { nice: 0 });
        threads.push(
            builder
                .spawn(move || churn(random))
                .context("cannot start the load")?,
        );
    }
    println!("ready");
    for thread in threads {
        thread.join()?;
    }
    Ok(ExitCode::FAILURE)
}

fn churn(mut random: fastrand::Rng) -> Result<()> {
    loop {
        let bytes = random.usize(MAPPING_BYTES_MIN..=MAPPING_BYTES_MAX);
        let mut mapping = Mapping::populated(bytes, PageKind::Small)?;
        let memory = mapping.bytes_mut();
        let half = memory.len() / 2;
        memory[..half].fill(random.u8(..));
        let (source, target) = memory.split_at_mut(half);
        target[..half].copy_from_slice(source);
        std::hint::black_box(&mapping);
    }
}
