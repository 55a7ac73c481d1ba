// SPDX-License-Identifier: Apache-2.0
//! One window: A here, B beside, ordinary callers and the hog.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use anyhow::{Context, Result};
use binder::Parcel;
use report::TimeBase;
use rt::clock::{Clock, Monotonic, thread_time_ns};
use rt::memory::{LockScope, ProcessLock};
use rt::periodic::Periodic;
use rt::policy::Policy;
use rt::recorder::Recorder;
use rt::thread::{Builder, Thread};
use serde::Deserialize;

use super::{Row, Setup, Times};
use crate::bench::calls::bare::Bare;
use crate::bench::calls::java::Calls;
use crate::bench::calls::load::Ordinary;
use crate::bench::calls::server::{Manner, Server};
use crate::bench::calls::{codes, guest};

/// Not a divisor of the kernel's tick: releases drift past it.
const PERIOD_NS: u64 = 1_003_000;
const CALLER: Policy = Policy::fifo(80);
const HOG: Policy = Policy::fifo(50);
const HOG_BUSY_NS: u64 = 20_000_000;
const HOG_IDLE_NS: u64 = 5_000_000;
/// What stops the kernel's trace, for `--stop-above-us`.
const TRACING: &str = "/sys/kernel/tracing/tracing_on";
const WARM_UP: u32 = 100;
const LIMIT_NS: u64 = 10_000_000_000;
/// Loopers of B: for everybody, and for real time alone.
const LOOPERS: (usize, usize) = (2, 1);

/// Runs it.
pub(super) fn measure(setup: Setup, calls: u32, stop_above_ns: Option<u64>) -> Result<Row> {
    if crate::guest::time_base() == TimeBase::Virtual {
        guest::unthrottled()?;
    }
    let _memory = ProcessLock::acquire(LockScope::All)?;
    let server = Server::start(Manner::new(setup.transport, LOOPERS.0, LOOPERS.1))?;
    let stop = Arc::new(AtomicBool::new(false));
    let load = Ordinary::start(&server.remote, setup.callers)?;
    let hog = setup.has_hog.then(|| start_hog(&stop)).transpose()?;
    let call = caller(setup, &server)?;
    let caller = Builder::new("caller").policy(CALLER);
    let measured = match caller.spawn(move || call_periodically(call, calls, stop_above_ns)) {
        Ok(thread) => thread.join(),
        Err(error) => {
            stop.store(true, Relaxed);
            return Err(error).context("takt doctor tells how to get the right");
        }
    };
    stop.store(true, Relaxed);
    let others = load.stop()?;
    hog.into_iter().for_each(Thread::join);
    let measured = measured?;
    Ok(Row {
        setup,
        seed: 0,
        is_real_time: true,
        others,
        call: times(&measured.0),
        back: times(&measured.1),
    })
}

/// What a Java program says of its window.
#[derive(Deserialize)]
struct Said {
    is_real_time: bool,
    others: u64,
    call: Times,
    back: Times,
}

/// Runs it with both ends in Java.
pub(super) fn measure_java(java: &Calls, setup: Setup, calls: u32) -> Result<Row> {
    if crate::guest::time_base() == TimeBase::Virtual {
        guest::unthrottled()?;
    }
    let numbers = [setup.callers.to_string(), calls.to_string()];
    let mut pair = java.start(&["rpc", &numbers[0], &numbers[1]])?;
    let line = pair.line()?;
    let said: Said = serde_json::from_str(&line).with_context(|| line.clone())?;
    pair.end()?;
    Ok(Row {
        setup,
        seed: 0,
        is_real_time: said.is_real_time,
        others: said.others,
        call: said.call,
        back: said.back,
    })
}

fn times(recorder: &Recorder) -> Times {
    let at = |quantile| recorder.histogram().value_at_quantile(quantile);
    Times {
        p50_ns: at(0.5).min(recorder.max_ns()),
        p99_ns: at(0.99).min(recorder.max_ns()),
        max_ns: recorder.max_ns(),
    }
}

fn start_hog(stop: &Arc<AtomicBool>) -> Result<Thread<()>> {
    let stop = Arc::clone(stop);
    let hog = move || {
        while !stop.load(Relaxed) {
            let end_ns = thread_time_ns() + HOG_BUSY_NS;
            while thread_time_ns() < end_ns && !stop.load(Relaxed) {}
            Monotonic.sleep_until(Monotonic.now_ns() + HOG_IDLE_NS);
        }
    };
    Ok(Builder::new("hog").policy(HOG).spawn(hog)?)
}

/// What the measured thread does in each period: gives B's time.
type Work = Box<dyn FnMut() -> Result<u64> + Send>;

/// A call; for the control a hand-over to a process that knows no Binder.
fn caller(setup: Setup, server: &Server) -> Result<Work> {
    if setup.is_control {
        let bare = Bare::start()?;
        return Ok(Box::new(move || bare.time()));
    }
    let remote = server.remote.clone();
    let (mut data, mut reply) = (Parcel::new(), Parcel::new());
    Ok(Box::new(move || {
        remote.transact(codes::TIMESTAMP, &mut data, &mut reply, None)?;
        let time = reply.read_array().context("B gives no time")?;
        Ok(u64::from_le_bytes(time))
    }))
}

/// The measured thread. Gives T_CALL and T_RET.
fn call_periodically(
    mut call: Work,
    calls: u32,
    stop_above_ns: Option<u64>,
) -> Result<(Recorder, Recorder)> {
    let (mut there, mut back) = (Recorder::new(LIMIT_NS, 0), Recorder::new(LIMIT_NS, 0));
    let mut releases = Periodic::new(&Monotonic, Monotonic.now_ns() + PERIOD_NS, PERIOD_NS);
    for index in 0..WARM_UP + calls {
        releases.wait();
        let before_ns = Monotonic.now_ns();
        let at_ns = call()?;
        let after_ns = Monotonic.now_ns();
        if index >= WARM_UP {
            there.record(at_ns.saturating_sub(before_ns));
            back.record(after_ns.saturating_sub(at_ns));
            if stop_above_ns.is_some_and(|it| at_ns.saturating_sub(before_ns) > it) {
                std::fs::write(TRACING, "0").with_context(|| format!("cannot write {TRACING}"))?;
                eprintln!("call {index}: from {before_ns} by {at_ns} to {after_ns}");
                break;
            }
        }
    }
    Ok((there, back))
}
