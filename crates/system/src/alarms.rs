// SPDX-License-Identifier: Apache-2.0
//! Alarms of all applications: a thread for each class, which sends what is due, and one that hears
//! when somebody sets the clock. That of real-time threads' alarms is as urgent as the most urgent
//! of them, where the kernel lets it.

use std::sync::Arc;

use agent::Times;
use rt::clock::{Clock, Monotonic};
use rt::policy::Policy;
use rt::thread::{Builder, SpawnError};
use server::alarms::{Alarm, AlarmId, Class, TooMany};
use timer::AlarmClock;

use crate::daemon::Shared;

/// The server's own.
pub(crate) struct ServersClock(Arc<AlarmClock>);

impl Times for ServersClock {
    fn set(&self, alarm: Alarm) -> Result<AlarmId, TooMany> {
        self.0.set(alarm)
    }

    fn remove(&self, id: AlarmId) {
        self.0.remove(id);
    }
}

/// Alarms come from now on, as long as the clock is not closed.
pub(crate) fn begin(shared: &Arc<Shared>) -> Result<Arc<AlarmClock>, SpawnError> {
    let clock = Arc::new(AlarmClock::new());
    let times = Arc::new(ServersClock(Arc::clone(&clock)));
    shared.with(|it| it.alarms.begin(times));
    for (name, class) in [
        ("urgent alarms", Class::Urgent),
        ("alarms", Class::Ordinary),
    ] {
        let (clock, shared) = (Arc::clone(&clock), Arc::clone(shared));
        let send = move || {
            while let Some(fired) = clock.wait(class) {
                shared.with(|it| it.fire(&fired, Monotonic.now_ns()));
            }
        };
        // It lives as long as the clock is open.
        Builder::new(name).policy(Policy::ordinary()).spawn(send)?;
    }
    let (watched, shared) = (Arc::clone(&clock), Arc::clone(shared));
    let watch = move || {
        watched.watch(|| {
            let sent = shared.with(|it| it.time_changed(Monotonic.now_ns()));
            if let Err(error) = sent {
                eprintln!("takt system: nobody is told that the clock was set: {error}");
            }
        });
    };
    Builder::new("clock")
        .policy(Policy::ordinary())
        .spawn(watch)?;
    Ok(clock)
}
