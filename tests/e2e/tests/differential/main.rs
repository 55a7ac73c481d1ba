// SPDX-License-Identifier: Apache-2.0
//! Programs written at random print on this machine what they print on HotSpot, from class files
//! and from DEX, with all passes of the compiler and with each one off.
//!
//! A program is made of its seed alone (`program`). What differs is kept in out/differential/SEED,
//! made smaller, and said with the command that does it again:
//! docs/internals/tests-of-the-machine.md.

mod expression;
mod program;
mod reduce;
mod run;
mod statement;
mod types;
mod writer;

use rt::clock::{Clock as _, Monotonic};
use run::{Bench, Form, OPTIONS};

/// Seeds that the long run begins with; drawn unless this says.
const FIRST: &str = "DIFFERENTIAL_FIRST";
/// How many of them are looked at, each with each option; else as many as there is time for.
const COUNT: &str = "DIFFERENTIAL_COUNT";
const SECONDS: &str = "DIFFERENTIAL_SECONDS";
/// What one process runs.
const BATCH: u64 = 25;

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name}={text} is no number")),
    )
}

#[test]
fn programs_of_fixed_seeds_print_what_they_print_on_hotspot() {
    let bench = Bench::new();
    let batch = bench.batch(1..6);
    batch.check(Form::Class, &[]);
    batch.check(Form::Dex, &[]);
    bench.finish();
}

/// A sample of the stages `differential` and `passes` of `make soak`.
#[test]
fn with_each_pass_off_programs_print_what_they_print_on_hotspot() {
    let bench = Bench::new();
    let batch = bench.batch(101..103);
    for options in &OPTIONS[1..] {
        batch.check(Form::Class, options);
    }
    bench.finish();
}

#[test]
#[ignore = "half an hour: make soak"]
fn many_programs_print_what_they_print_on_hotspot() {
    let bench = Bench::new();
    let first = number(FIRST).unwrap_or_else(|| fastrand::u64(..1_000_000_000));
    if let Some(count) = number(COUNT) {
        let batch = bench.batch(first..first + count);
        for options in OPTIONS.iter() {
            batch.check(Form::Class, options);
            batch.check(Form::Dex, options);
        }
        return bench.finish();
    }
    let seconds = number(SECONDS).unwrap_or(1800);
    let end = Monotonic.now_ns() + seconds * 1_000_000_000;
    let mut first = first;
    let mut turn = 0;
    while Monotonic.now_ns() < end {
        let batch = bench.batch(first..first + BATCH);
        for form in [Form::Class, Form::Dex] {
            batch.check(form, &OPTIONS[turn % OPTIONS.len()]);
            turn += 1;
        }
        first += BATCH;
    }
    bench.finish();
}
