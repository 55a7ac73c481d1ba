// SPDX-License-Identifier: Apache-2.0
//! [`Saver`]: writes what packages switch, and grants and jobs that they keep, on a thread of its
//! own. So nobody's call waits for the disk; what came while it wrote is written with the next
//! turn.

use std::sync::Arc;

use rt::policy::Policy;
use rt::sync::PiMutex;
use rt::thread::Builder;
use server::store::{Store, StoreError};

use crate::daemon::Shared;
use crate::disk::RealDisk;

/// See the module.
#[derive(Default)]
pub(crate) struct Saver(PiMutex<Turn>);

#[derive(Default)]
struct Turn {
    is_running: bool,
    is_due: bool,
}

impl Saver {
    /// Something has changed: it is kept soon.
    pub(crate) fn changed(shared: &Arc<Shared>) {
        let mut turn = shared.saver.0.lock();
        turn.is_due = true;
        if std::mem::replace(&mut turn.is_running, true) {
            return;
        }
        drop(turn);
        let own = Arc::clone(shared);
        let builder = Builder::new("saver").policy(Policy::ordinary());
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
        if let Err(error) = write_once(shared, &mut store) {
            eprintln!("takt system: what has changed is not kept: {error}");
            if let Err(error) = store.reopen() {
                eprintln!("takt system: what is kept cannot be read: {error}");
            }
        }
    }
}

/// What is installed as the store has it, and differs, is put; what is not there is being
/// installed, or gone.
fn write_once(shared: &Shared, store: &mut Store<RealDisk>) -> Result<(), StoreError> {
    let (settings, grants, jobs) = shared.with(|it| {
        let all = it.server.packages.iter().map(|it| it.settings.clone());
        let (grants, jobs) = (it.server.kept_grants(), it.server.jobs.kept());
        (all.collect::<Vec<_>>(), grants, jobs)
    });
    for it in settings {
        let kept = store.packages().find(|kept| kept.name == it.name);
        if kept.is_some_and(|kept| *kept != it) {
            store.put(&it)?;
        }
    }
    store.put_grants(grants)?;
    store.put_jobs(jobs)
}
