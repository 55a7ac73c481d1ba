// SPDX-License-Identifier: Apache-2.0
//! [`Importance`]: how much each process is needed, in Android's order.

use std::collections::BTreeMap;

use crate::activities::State;
use crate::processes::ProcessState;
use crate::{ProcessId, Server};

use super::{CACHED_ORDER, REAL_TIME_ORDER};

/// The most needed first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Importance {
    /// A person has named its package, or one of that ends with it. Nobody ends it.
    RealTime,
    /// It has the activity in front, a receiver's turn, a service that is called just now; or it
    /// starts.
    Foreground,
    /// It has an activity that can be seen, or a service that somebody above is bound to.
    Visible,
    /// It has a service in the foreground.
    Perceptible,
    /// It has a service that was started.
    Service,
    /// It is kept because it may be wanted again.
    Cached,
}

impl Importance {
    /// The kernel's `oom_score_adj`, between the server's own and 1,000; below it for real time.
    pub fn kill_order(self) -> i32 {
        match self {
            Self::RealTime => REAL_TIME_ORDER,
            Self::Foreground => 100,
            Self::Visible => 200,
            Self::Perceptible => 300,
            Self::Service => 500,
            Self::Cached => CACHED_ORDER,
        }
    }

    /// In words, for a log.
    pub fn name(self) -> &'static str {
        match self {
            Self::RealTime => "real-time",
            Self::Foreground => "foreground",
            Self::Visible => "visible",
            Self::Perceptible => "perceptible",
            Self::Service => "service",
            Self::Cached => "cached",
        }
    }
}

type Places = BTreeMap<ProcessId, Importance>;

/// Nobody falls by what is said of it.
fn raise(places: &mut Places, process: ProcessId, to: Importance) -> bool {
    let place = places.get_mut(&process).filter(|it| to < **it);
    place.map(|it| *it = to).is_some()
}

impl Server {
    /// Of every process that was started. Each round raises somebody, or is the last.
    pub(super) fn importances(&self) -> Places {
        let mut places = self.own_places();
        loop {
            let mut has_risen = false;
            for (client, home) in self.services.ties() {
                if let Some(place) = places.get(&client).copied() {
                    has_risen |= raise(&mut places, home, place.max(Importance::Visible));
                }
            }
            // Who holds a provider fast ends with it.
            for (client, home) in self.providers.ties() {
                if let Some(place) = places.get(&client).copied() {
                    has_risen |= raise(&mut places, home, place);
                }
            }
            if !has_risen {
                return places;
            }
        }
    }

    fn own_places(&self) -> Places {
        let mut places = Places::new();
        for (id, it) in self.processes.iter() {
            let is_real_time = self.memory.claims.is_real_time(&it.package);
            let place = match it.state {
                ProcessState::Waiting(_) => continue,
                _ if is_real_time => Importance::RealTime,
                ProcessState::Starting(_) => Importance::Foreground,
                ProcessState::Running => Importance::Cached,
            };
            places.insert(id, place);
        }
        for (_, it) in self.activities.iter() {
            let place = match it.state {
                State::Resumed | State::Pausing => Importance::Foreground,
                State::Paused => Importance::Visible,
                State::Absent | State::Stopped => continue,
            };
            it.process.map(|home| raise(&mut places, home, place));
        }
        for (_, it) in self.services.iter() {
            let place = match () {
                () if it.is_called() => Importance::Foreground,
                () if it.is_foreground => Importance::Perceptible,
                () if it.is_started => Importance::Service,
                () => continue,
            };
            it.process.map(|home| raise(&mut places, home, place));
        }
        for process in self.broadcasts.with_turns() {
            raise(&mut places, process, Importance::Foreground);
        }
        places
    }
}
