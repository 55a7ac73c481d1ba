// SPDX-License-Identifier: Apache-2.0
//! [`Frequencies`]: carries out at which level the processors are to be held.
//!
//! Writing limits takes the kernel a while, so no lock of the state is held meanwhile. Each
//! that comes does what is wanted by then, one after the other: so the last one leaves what the
//! state says.

// Lock order: cpufreq, state.

use rt::frequency::Cpufreq;
use rt::sync::PiMutex;
use server::frequency::Level;

use crate::calls::Keeper;

/// See the module.
#[derive(Default)]
pub struct Frequencies(PiMutex<Cpufreq>);

impl Frequencies {
    /// Of a machine.
    pub fn new(cpufreq: Cpufreq) -> Self {
        Self(PiMutex::new(cpufreq))
    }

    /// Has the processors run as the state wants it. What the machine refuses is held for nobody
    /// from then on.
    pub fn settle<K: Keeper>(&self, keeper: &K) {
        let mut cpufreq = self.0.lock();
        let wanted = keeper.with(|it| it.server.frequency.level());
        let Err(error) = cpufreq.hold(wanted.map(Level::percent)) else {
            return;
        };
        let text = error.to_string();
        match wanted {
            Some(level) => keeper.with(|it| it.server.frequency.failed(level, text)),
            None => eprintln!("takt: the limits of the frequency are not put back: {text}"),
        }
    }

    /// The limits of before are there again, whatever the state says: it ends.
    pub fn end(&self) {
        if let Err(error) = self.0.lock().release() {
            eprintln!("takt: the limits of the frequency are not put back: {error}");
        }
    }
}
