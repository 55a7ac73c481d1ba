// SPDX-License-Identifier: Apache-2.0
//! [`Saver`]: writes grants that packages keep, on a thread of its own. So nobody's call waits for
//! the disk; what came while it wrote is written with the next turn.

use std::sync::Arc;

use rt::policy::Policy;
use rt::sync::PiMutex;
use rt::thread::Builder;

use crate::daemon::Shared;

/// See the module.
#[derive(Default)]
pub(crate) struct Saver(PiMutex<Turn>);

#[derive(Default)]
struct Turn {
    is_running: bool,
    is_due: bool,
}

impl Saver {
    /// Grants have changed: they are kept soon.
    pub(crate) fn changed(shared: &Arc<Shared>) {
        let mut turn = shared.saver.0.lock();
        turn.is_due = true;
        if std::mem::replace(&mut turn.is_running, true) {
            return;
        }
        drop(turn);
        let own = Arc::clone(shared);
        let builder = Builder::new("grants").policy(Policy::ordinary());
        if builder.spawn(move || write(&own)).is_err() {
            // Without a thread it is done here.
            write(shared);
        }
    }

    /// Whether there is something to write; else its thread ends.
    fn take(&self) -> bool {
        let mut turn = self.0.lock();
        turn.is_running = turn.is_due;
        std::mem::take(&mut turn.is_due)
    }
}

fn write(shared: &Shared) {
    while shared.saver.take() {
        let mut store = shared.store.lock();
        let kept = shared.with(|it| it.server.kept_grants());
        if let Err(error) = store.put_grants(kept) {
            eprintln!("takt system: grants of addresses are not kept: {error}");
            if let Err(error) = store.reopen() {
                eprintln!("takt system: what is kept cannot be read: {error}");
            }
        }
    }
}
