// SPDX-License-Identifier: Apache-2.0
//! One run: alarms here, the service in a process beside, a native timer between the alarms.

use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use binder::{Binder, Parcel};
use report::TimeBase;
use rt::clock::{Clock, Monotonic, since_start_ns};
use rt::memory::{LockScope, ProcessLock};
use rt::policy::Policy;
use rt::thread::{Builder, Thread};
use server::Payload;
use server::alarms::{Alarm, Class, Trigger};
use timer::AlarmClock;

use super::{Row, Spread};
use crate::bench::calls::load::Ordinary;
use crate::bench::calls::server::{Manner, Server};
use crate::bench::calls::{Transport, codes, guest};

/// Of the native thread, and of alarms with a time of their own.
const PRIORITY: u8 = 80;
const UID: u32 = 10_000;
/// Until the first alarm: all are set by then.
const AHEAD_NS: u64 = 300_000_000;
/// From one alarm to the next: so much, and up to half of it more.
const APART_NS: u64 = 2_000_000;
/// Loopers of the service: for everybody, and for real time alone.
const LOOPERS: (usize, usize) = (2, 1);
/// Alarms and native releases before those that count: code and memory are cold in them.
const WARM_UP: u32 = 20;

/// One alarm that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Came {
    /// Which, in the order in which they were set.
    number: u64,
    priority: u8,
    /// Before its time.
    is_early: bool,
    late_ns: u64,
    delivered_ns: u64,
}

/// One release of the native thread.
#[derive(Clone, Copy, Debug)]
struct Woken {
    late_ns: u64,
    called_ns: u64,
}

/// Runs it.
pub(super) fn measure(alarms: u32, others: u32, seed: u64) -> Result<Row> {
    if crate::guest::time_base() == TimeBase::Virtual {
        guest::unthrottled()?;
    }
    let _memory = ProcessLock::acquire(LockScope::All)?;
    let server = Server::start(Manner::new(Transport::Lent, LOOPERS.0, LOOPERS.1))?;
    let load = Ordinary::start(&server.remote, others)?;
    let clock = Arc::new(AlarmClock::new());
    let mut random = fastrand::Rng::with_seed(seed);

    let due_ns = since_start_ns() + AHEAD_NS;
    let together = take(&clock, &server.remote, alarms)?;
    for number in 0..alarms {
        set(&clock, due_ns, random.u8(1..=99), number)?;
    }
    let together = together.join()?;

    let count = WARM_UP + alarms;
    let mut due_ns = since_start_ns() + AHEAD_NS;
    // Clocks of both kinds run alike: one offset, which a machine that sleeps would change.
    let monotonic_ns = Monotonic.now_ns() + AHEAD_NS;
    let offset_ns = due_ns - monotonic_ns;
    let single = take(&clock, &server.remote, count)?;
    let mut releases = Vec::with_capacity(count as usize);
    for number in 0..count {
        set(&clock, due_ns, PRIORITY, number)?;
        releases.push(due_ns - offset_ns + APART_NS / 2);
        due_ns += APART_NS + random.u64(..APART_NS / 2);
    }
    let native = wake(server.remote.clone(), releases)?;
    let single = single.join()?;
    let native = native.join()?;
    ensure!(
        clock.refused() == 0,
        "the timer thread was refused its priority: takt doctor"
    );
    ensure!(others == 0 || load.stop()? > 0, "ordinary callers starve");

    let (native, single) = (&native[WARM_UP as usize..], &single[WARM_UP as usize..]);
    let spread = |values: &mut dyn Iterator<Item = u64>| Spread::of(values.collect());
    Ok(Row {
        seed,
        at_once: together.len() as u64,
        inverted: inverted(&together),
        early: together.iter().filter(|it| it.is_early).count() as u64,
        single: single.len() as u64,
        taken: spread(&mut single.iter().map(|it| it.late_ns)),
        delivered: spread(&mut single.iter().map(|it| it.delivered_ns)),
        native: spread(&mut native.iter().map(|it| it.late_ns)),
        call: spread(&mut native.iter().map(|it| it.called_ns)),
    })
}

fn set(clock: &AlarmClock, due_ns: u64, priority: u8, number: u32) -> Result<()> {
    clock.set(Alarm {
        uid: UID,
        trigger: Trigger::Elapsed(due_ns),
        window_ns: 0,
        interval_ns: 0,
        priority,
        wakes: false,
        payload: Payload(number.into()),
    })?;
    Ok(())
}

/// Neighbours of which the second should have been first.
fn inverted(came: &[Came]) -> u64 {
    let order = |it: &Came| (u8::MAX - it.priority, it.number);
    let pairs = came.windows(2);
    pairs.filter(|it| order(&it[0]) > order(&it[1])).count() as u64
}

/// Calls the service; the time at which it ran there.
fn call(remote: &Binder, data: &mut Parcel, reply: &mut Parcel) -> Result<u64> {
    remote.transact(codes::TIMESTAMP, data, reply, None)?;
    Ok(u64::from_le_bytes(reply.read_array().context("no time")?))
}

/// The timer thread of urgent alarms: takes so many, and says what came, in that order.
fn take(clock: &Arc<AlarmClock>, remote: &Binder, count: u32) -> Result<Thread<Result<Vec<Came>>>> {
    let (clock, remote) = (Arc::clone(clock), remote.clone());
    let body = move || {
        let mut came = Vec::with_capacity(count as usize);
        let (mut data, mut reply) = (Parcel::new(), Parcel::new());
        for _ in 0..count {
            let fired = clock.wait(Class::Urgent).context("alarms have ended")?;
            let now_ns = since_start_ns();
            let taken_ns = Monotonic.now_ns();
            let begun_ns = call(&remote, &mut data, &mut reply)?;
            came.push(Came {
                number: fired.alarm.payload.0,
                priority: fired.alarm.priority,
                is_early: now_ns < fired.due_ns,
                late_ns: now_ns.saturating_sub(fired.due_ns),
                delivered_ns: begun_ns.saturating_sub(taken_ns),
            });
        }
        Ok(came)
    };
    Builder::new("alarms")
        .spawn(body)
        .context("cannot start a thread")
}

/// A thread that the kernel's timer wakes, and that calls the same service: how late each release
/// was, and what each call took there.
fn wake(remote: Binder, releases: Vec<u64>) -> Result<Thread<Result<Vec<Woken>>>> {
    let body = move || {
        let mut found = Vec::with_capacity(releases.len());
        let (mut data, mut reply) = (Parcel::new(), Parcel::new());
        for release_ns in releases {
            Monotonic.sleep_until(release_ns);
            let now_ns = Monotonic.now_ns();
            let begun_ns = call(&remote, &mut data, &mut reply)?;
            found.push(Woken {
                late_ns: now_ns.saturating_sub(release_ns),
                called_ns: begun_ns.saturating_sub(now_ns),
            });
        }
        Ok(found)
    };
    let thread = Builder::new("native")
        .policy(Policy::fifo(PRIORITY))
        .spawn(body);
    thread.context("takt doctor tells how to get the right")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_more_urgent_come_first_and_equals_as_they_were_set() {
        let came = |number, priority| Came {
            number,
            priority,
            is_early: false,
            late_ns: 0,
            delivered_ns: 0,
        };
        assert_eq!(
            inverted(&[came(3, 99), came(1, 50), came(2, 50), came(0, 1)]),
            0
        );
        assert_eq!(
            inverted(&[came(1, 50), came(3, 99), came(2, 7), came(0, 7)]),
            2
        );
    }
}
