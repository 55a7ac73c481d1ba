// SPDX-License-Identifier: Apache-2.0
//! What processes want of the processors' frequency.

use binder::stub::{Answer, Exception};
use server::frequency::{LOCK_FREQUENCY, Level};

use super::{Event, full, security};

impl Event<'_> {
    /// Who may, and who does not disagree. The rest is done without the state's lock.
    pub(super) fn lock_frequency(&mut self, percent: i32) -> Answer<()> {
        self.may_lock()?;
        let Some(level) = Level::new(percent) else {
            let text = format!("a frequency of {percent} percent: 0 to 100 are there");
            return Err(Exception::new(Exception::ILLEGAL_ARGUMENT, text).into());
        };
        let locked = self.state.server.lock_frequency(self.process, level);
        locked.map_err(|it| full(&it))
    }

    /// What came of that: an exception if the machine has refused it.
    pub(super) fn has_frequency(&self) -> Answer<()> {
        let held = self.state.server.frequency.held(self.process);
        let refused = |it: server::frequency::LockError| {
            Exception::new(Exception::UNSUPPORTED_OPERATION, it.to_string()).into()
        };
        held.map_err(refused)
    }

    pub(super) fn unlock_frequency(&mut self) -> bool {
        self.state.server.unlock_frequency(self.process)
    }

    pub(super) fn locked_frequency(&self) -> i32 {
        let level = self.state.server.frequency.level();
        level.map_or(-1, |it| it.percent().into())
    }

    fn may_lock(&self) -> Answer<()> {
        let packages = &self.state.server.packages;
        let package = self.state.server.processes.get(self.process);
        let package = package.map_or("", |it| &it.package);
        match packages.is_granted(package, LOCK_FREQUENCY) {
            true => Ok(()),
            false => Err(security(&format!(
                "{package} has not the permission {LOCK_FREQUENCY}: its manifest must ask for it"
            ))),
        }
    }
}
