// SPDX-License-Identifier: Apache-2.0
//! [`Place`]: a service with its loopers; a window of it; [`Found`]: what windows have found.

use anyhow::{Context, Result};
use binder::{Binder, Parcel};
use report::TimeBase;
use rt::clock::{Clock, Monotonic};
use rt::memory::{LockScope, ProcessLock};
use rt::policy::{Policy, Priority};
use rt::recorder::Recorder;
use rt::thread::{Builder, Thread};

use super::Row;
use crate::bench::calls::load::Ordinary;
use crate::bench::calls::server::{Manner, Server};
use crate::bench::calls::{Transport, codes, guest};

/// Of the least urgent caller.
const PRIORITY: u8 = 60;
/// Room for seven calls and for ordinary threads.
const PERIOD_NS: u64 = 4_000_000;
/// In a guest, where the order is looked at: in which all callers of a period begin. On a machine
/// they begin at once.
const SPREAD_NS: u64 = 200_000;
const WARM_UP: u32 = 5;
const LIMIT_NS: u64 = 10_000_000_000;
/// A call is on its way for so long before it waits: a process chosen meanwhile is rightly so.
const ARRIVAL_NS: u64 = 40_000;

/// See the module.
pub(super) struct Place {
    server: Server,
    others: Ordinary,
    _memory: ProcessLock,
}

/// One call.
#[derive(Clone, Copy)]
struct Sample {
    before_ns: u64,
    begun_ns: u64,
    after_ns: u64,
}

impl Place {
    pub(super) fn start(loopers: usize, others: u32) -> Result<Self> {
        if crate::guest::time_base() == TimeBase::Virtual {
            guest::unthrottled()?;
        }
        let memory = ProcessLock::acquire(LockScope::All)?;
        let server = Server::start(Manner::new(Transport::Lent, 2, loopers))?;
        let others = Ordinary::start(&server.remote, others)?;
        Ok(Self {
            server,
            others,
            _memory: memory,
        })
    }

    /// Gives the calls of ordinary threads that were served.
    pub(super) fn stop(self) -> Result<u64> {
        self.others.stop()
    }

    /// So many callers; each calls once in a period, at a random time of its beginning.
    pub(super) fn window(
        &self,
        callers: u32,
        service_us: u32,
        rounds: u32,
        seed: u64,
    ) -> Result<Found> {
        let start_ns = Monotonic.now_ns() + PERIOD_NS;
        let spread_ns = match crate::guest::time_base() {
            TimeBase::Virtual => SPREAD_NS,
            TimeBase::Real => 1,
        };
        let mut threads: Vec<Thread<Result<Vec<Sample>>>> = Vec::new();
        for index in 0..callers {
            let priority = PRIORITY + index as u8;
            let policy = Policy::Fifo(Priority::new(priority).context("1 to 99")?);
            let remote = self.server.remote.clone();
            let mut random = fastrand::Rng::with_seed(seed << 8 | u64::from(index));
            let releases: Vec<u64> = (0..u64::from(WARM_UP + rounds))
                .map(|round| start_ns + round * PERIOD_NS + random.u64(..spread_ns))
                .collect();
            let body = move || call(&remote, service_us, &releases);
            let builder = Builder::new(format!("caller/{index}")).policy(policy);
            let thread = builder.spawn(body);
            threads.push(thread.context("takt doctor tells how to get the right")?);
        }
        let samples: Result<Vec<_>> = threads.into_iter().map(Thread::join).collect();
        Ok(Found::of(&samples?))
    }
}

/// One caller: a call at each release.
fn call(remote: &Binder, service_us: u32, releases: &[u64]) -> Result<Vec<Sample>> {
    let mut samples = Vec::with_capacity(releases.len());
    let (mut data, mut reply) = (Parcel::new(), Parcel::new());
    data.write_i32(service_us.cast_signed() * 1000)?;
    let code = match service_us {
        0 => codes::BEGUN,
        _ => codes::COMPUTE,
    };
    for (round, &release_ns) in releases.iter().enumerate() {
        Monotonic.sleep_until(release_ns);
        let before_ns = Monotonic.now_ns();
        data.set_position(0);
        remote.transact(code, &mut data, &mut reply, None)?;
        let after_ns = Monotonic.now_ns();
        let begun_ns = u64::from_le_bytes(reply.read_array().context("no time")?);
        if round >= WARM_UP as usize {
            samples.push(Sample {
                before_ns,
                begun_ns,
                after_ns,
            });
        }
    }
    Ok(samples)
}

/// See the module.
#[derive(Default)]
pub(super) struct Found {
    trips: Option<Recorder>,
    pairs: u64,
    inverted: u64,
}

impl Found {
    /// Of callers, each more urgent than the one before.
    fn of(callers: &[Vec<Sample>]) -> Self {
        let mut trips = Recorder::new(LIMIT_NS, 0);
        for sample in callers.iter().flatten() {
            trips.record(sample.after_ns - sample.before_ns);
        }
        let mut found = Self {
            trips: Some(trips),
            ..Self::default()
        };
        for (index, low) in callers.iter().enumerate() {
            for high in &callers[index + 1..] {
                for (low, high) in low.iter().zip(high) {
                    let both_ns = low.before_ns.max(high.before_ns) + ARRIVAL_NS;
                    if both_ns < low.begun_ns.min(high.begun_ns) {
                        found.pairs += 1;
                        found.inverted += u64::from(low.begun_ns < high.begun_ns);
                    }
                }
            }
        }
        found
    }

    pub(super) fn absorb(&mut self, other: Self) {
        match (&mut self.trips, other.trips) {
            (Some(trips), Some(others)) => trips.absorb(&others),
            (trips, others) => *trips = trips.take().or(others),
        }
        self.pairs += other.pairs;
        self.inverted += other.inverted;
    }

    pub(super) fn row(&self, loopers: usize, callers: u32, service_us: u32) -> Row {
        let trips = self.trips.as_ref();
        let at = |quantile| trips.map_or(0, |it| it.histogram().value_at_quantile(quantile));
        let max_ns = trips.map_or(0, Recorder::max_ns);
        Row {
            loopers,
            callers,
            service_us,
            calls: trips.map_or(0, |it| it.histogram().len()),
            p50_ns: at(0.5).min(max_ns),
            p99_ns: at(0.99).min(max_ns),
            max_ns,
            pairs: self.pairs,
            inverted: self.inverted,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_counts_once_both_wait_and_is_inverted_if_the_less_urgent_is_first() {
        let sample = |before_us: u64, begun_us: u64| Sample {
            before_ns: before_us * 1000,
            begun_ns: begun_us * 1000,
            after_ns: begun_us * 1000 + 1,
        };
        let low = vec![sample(0, 100), sample(0, 200), sample(0, 100)];
        // Comes when the other is served; waits and is first; waits and is second.
        let high = vec![sample(70, 300), sample(50, 100), sample(50, 300)];
        let found = Found::of(&[low, high]);
        assert_eq!((found.pairs, found.inverted), (2, 1));
        let mut all = Found::default();
        all.absorb(found);
        let row = all.row(1, 2, 200);
        assert_eq!((row.calls, row.pairs, row.inverted), (6, 2, 1));
    }
}
