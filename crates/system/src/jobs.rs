// SPDX-License-Identifier: Apache-2.0
//! [`Looks`]: what the machine has is looked at on a thread of its own, while a job waits for it:
//! at once, and then every half minute. It reads the kernel's files, and nobody's call waits.

use std::sync::Arc;

use rt::clock::{Clock, Monotonic};
use rt::policy::Policy;
use rt::sync::{PiCondvar, PiMutex};
use rt::thread::Builder;
use timer::machine::{LOOK_NS, Machine};

use crate::daemon::Shared;

/// See the module.
#[derive(Default)]
pub(crate) struct Looks {
    turn: PiMutex<Turn>,
    again: PiCondvar,
}

#[derive(Default)]
struct Turn {
    is_running: bool,
    /// How often a look was wanted, and how many of these were had.
    wanted: u64,
    had: u64,
}

impl Looks {
    /// Looks if a job has begun to wait since the last look.
    pub(crate) fn begin(shared: &Arc<Shared>) {
        let wanted = shared.with(|it| it.server.jobs.wishes());
        let looks = &shared.looks;
        let mut turn = looks.turn.lock();
        if std::mem::replace(&mut turn.wanted, wanted) == wanted {
            return;
        }
        looks.again.notify_one(&turn);
        if std::mem::replace(&mut turn.is_running, true) {
            return;
        }
        drop(turn);
        let own = Arc::clone(shared);
        let builder = Builder::new("looks").policy(Policy::ordinary());
        if let Err(error) = builder.spawn(move || look(&own)) {
            shared.looks.turn.lock().is_running = false;
            eprintln!("takt system: nobody looks at what jobs wait for: {error}");
        }
    }
}

fn look(shared: &Shared) {
    let machine = Machine::of(shared.place.root());
    let looks = &shared.looks;
    loop {
        let had = looks.turn.lock().wanted;
        let seen = machine.look();
        let is_wanted = shared.with(|it| {
            it.conditions_are(seen.holds, Monotonic.now_ns());
            it.server.jobs.wants_conditions()
        });
        let mut turn = looks.turn.lock();
        turn.had = had;
        if turn.wanted == turn.had {
            if !is_wanted {
                turn.is_running = false;
                return;
            }
            // Why it is awake does not matter: it looks.
            let _ = looks
                .again
                .wait_until(&mut turn, Monotonic.now_ns() + LOOK_NS);
        }
    }
}
