// SPDX-License-Identifier: Apache-2.0
//! [`Sweeps`]: what a package has left is looked for on a thread of its own, as that reads all of
//! `/proc`. Until it is done, the death that led to it is not told, and nothing of the package
//! starts: it would be taken for what was left.

use std::collections::BTreeSet;
use std::sync::Arc;

use agent::Start;
use rt::policy::Policy;
use rt::sync::PiMutex;
use rt::thread::Builder;
use server::{Death, ProcessId};

use crate::daemon::Shared;
use crate::remains::end_all_of;

/// A death, behind which nothing is left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Swept {
    pub(crate) process: ProcessId,
    pub(crate) how: Death,
    uid: u32,
}

/// See the module. At most one for each process that has died.
#[derive(Default)]
pub(crate) struct Sweeps {
    busy: BTreeSet<u32>,
    held: Vec<Start>,
    done: Arc<PiMutex<Vec<Swept>>>,
}

impl Sweeps {
    /// The last process of a user has died. The bell rings when nothing is left of it.
    pub(crate) fn begin(&mut self, uid: u32, process: ProcessId, how: Death, shared: &Arc<Shared>) {
        self.busy.insert(uid);
        let swept = Swept { process, how, uid };
        let (done, rung) = (Arc::clone(&self.done), Arc::clone(shared));
        let sweep = move || {
            end_all_of(uid);
            done.lock().push(swept);
            rung.ring();
        };
        let builder = Builder::new("remains").policy(Policy::ordinary());
        if builder.spawn(sweep).is_err() {
            // Without a thread it is done here: nothing else would end this sweep.
            end_all_of(uid);
            self.done.lock().push(swept);
            shared.ring();
        }
    }

    /// Deaths that may be told now. What was held starts again.
    pub(crate) fn take(&mut self) -> Vec<Swept> {
        let done = std::mem::take(&mut *self.done.lock());
        for it in &done {
            self.busy.remove(&it.uid);
        }
        done
    }

    /// Whether a start may begin; else it is held.
    pub(crate) fn lets(&mut self, start: &Start) -> bool {
        let is_busy = self.busy.contains(&start.key.uid);
        if is_busy {
            self.held.push(start.clone());
        }
        !is_busy
    }

    /// Starts that were held and may begin.
    pub(crate) fn released(&mut self) -> Vec<Start> {
        let busy = &self.busy;
        let (held, released) = std::mem::take(&mut self.held)
            .into_iter()
            .partition(|it| busy.contains(&it.key.uid));
        self.held = held;
        released
    }

    /// Users whose remains may not be gone yet.
    pub(crate) fn users(&self) -> impl Iterator<Item = u32> + '_ {
        self.busy.iter().copied()
    }
}
