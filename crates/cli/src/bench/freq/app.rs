// SPDX-License-Identifier: Apache-2.0
//! The application: holds the frequency, multiplies matrices, says what that took.

use std::hint::black_box;
use std::os::fd::AsFd as _;
use std::process::ExitCode;

use ::system::native::App;
use anyhow::{Context, Result};
use rt::clock::{Clock, Monotonic};
use rt::memory::{LockScope, ProcessLock};
use rt::policy::Policy;
use rt::thread::Builder;

use super::states::{Limits, States};
use super::{Lock, Part, Plan, Row, Said};
use crate::bench::native::say;

/// The thesis's periods, in µs.
const PERIODS_US: [u64; 8] = [
    1_000, 2_500, 5_000, 10_000, 50_000, 500_000, 1_000_000, 2_000_000,
];
/// Long periods have as many products as there are in this, or the least number.
const LONG_US: u64 = 500_000;
const PRODUCTS_MIN: u64 = 3;
const TASK: Policy = Policy::fifo(80);
const SIZE: usize = 100;
const AHEAD_NS: u64 = 5_000_000;
/// Until the server ends, looked at so seldom.
const REST_NS: u64 = 60_000_000_000;

/// A process of the experiment's server; it starts it.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The server
    #[arg(long)]
    parent: u32,
    /// As JSON
    plan: String,
}

/// Does what its plan says, and waits for its end.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    rt::process::die_with_parent(args.parent).context("the server has gone")?;
    let plan: Plan = serde_json::from_str(&args.plan)?;
    let socket = std::io::stdin().as_fd().try_clone_to_owned()?;
    let app = App::join(socket, None)?;
    if let Err(error) = work(&app, plan) {
        say(&Said::Failed(format!("{error:#}")))?;
    }
    loop {
        Monotonic.sleep_until(Monotonic.now_ns() + REST_NS);
    }
}

fn work(app: &App, plan: Plan) -> Result<()> {
    let hold = || match plan.lock.percent() {
        Some(percent) => app.lock_frequency(percent).context("lock"),
        None => Ok(()),
    };
    hold()?;
    if plan.part == Part::Measure {
        let rows = Builder::new("task")
            .policy(TASK)
            .spawn(move || measure(plan));
        let rows = rows.context("takt doctor tells how to get the right")?;
        for row in rows.join()? {
            say(&Said::Row(row))?;
        }
        if plan.lock != Lock::None {
            app.unlock_frequency()?;
            say(&Said::Released(Limits::read()?))?;
            hold()?;
        }
    }
    say(&Said::Holds(std::process::id()))
}

fn measure(plan: Plan) -> Result<Vec<Row>> {
    let _memory = ProcessLock::acquire(LockScope::All)?;
    let mut matrices = Box::new(Matrices::new());
    // Cold code and memory are nobody's frequency.
    matrices.multiply();
    let mut rows = Vec::new();
    for period_us in PERIODS_US {
        let products = u64::from(plan.iterations).min((LONG_US / period_us).max(PRODUCTS_MIN));
        rows.push(period(plan.lock, period_us, products, &mut matrices)?);
    }
    Ok(rows)
}

/// A product at each release. A release that passes during a product is left out.
fn period(lock: Lock, period_us: u64, products: u64, matrices: &mut Matrices) -> Result<Row> {
    let period_ns = period_us * 1_000;
    let mut took = Vec::with_capacity(usize::try_from(products)?);
    let mut late_ns_max = 0;
    let before = States::read()?;
    let begun_ns = Monotonic.now_ns();
    let mut due_ns = begun_ns + AHEAD_NS;
    for _ in 0..products {
        Monotonic.sleep_until(due_ns);
        let start_ns = Monotonic.now_ns();
        late_ns_max = late_ns_max.max(start_ns - due_ns);
        matrices.multiply();
        let end_ns = Monotonic.now_ns();
        took.push(end_ns - start_ns);
        due_ns += ((end_ns - due_ns) / period_ns + 1) * period_ns;
    }
    let took_ns = Monotonic.now_ns() - begun_ns;
    let states = States::read()?.since(&before);
    took.sort_unstable();
    Ok(Row {
        lock,
        period_us,
        products: u32::try_from(products)?,
        p50_ns: took[took.len() / 2],
        max_ns: took[took.len() - 1],
        late_ns_max,
        took_ns,
        states,
        limits: Limits::read()?,
    })
}

type Matrix = [[f64; SIZE]; SIZE];

struct Matrices {
    left: Matrix,
    right: Matrix,
    product: Matrix,
}

impl Matrices {
    fn new() -> Self {
        let of = |scale: f64| {
            std::array::from_fn(|row| {
                std::array::from_fn(|column| (row * SIZE + column) as f64 * scale)
            })
        };
        Self {
            left: of(0.5),
            right: of(0.25),
            product: [[0.0; SIZE]; SIZE],
        }
    }

    /// As the schoolbook has it.
    fn multiply(&mut self) {
        let (left, right) = (black_box(&self.left), black_box(&self.right));
        for (row, sums) in self.product.iter_mut().enumerate() {
            for (column, sum) in sums.iter_mut().enumerate() {
                *sum = (0..SIZE).map(|at| left[row][at] * right[at][column]).sum();
            }
        }
        black_box(&self.product);
    }
}
