// SPDX-License-Identifier: Apache-2.0
//! The heap's races under loom: every interleaving, and the reorderings that Rust's atomics allow.
//!
//! Each file drives the code of the same name with memory of its own. Run by `cargo xtask test
//! --only loom`.

mod barrier;
mod handshake;
mod reference;

/// Every interleaving with up to this many forced switches of thread, where all of them take hours.
fn check_within(preemptions_max: usize, body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions_max);
    builder.check(body);
}
