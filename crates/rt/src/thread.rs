// SPDX-License-Identifier: Apache-2.0
//! [`Builder`]: a thread with a name, a policy, an affinity and a stack that is there before it
//! runs.

use std::sync::mpsc;

use crate::affinity::CpuSet;
use crate::guard;
use crate::memory::{self, MemoryError};
use crate::policy::{Policy, PolicyError, Tid};
use crate::sys::Errno;

/// Stack of a thread unless said otherwise: what a deep control task takes, and little to lock.
pub const STACK_BYTES_DEFAULT: usize = 512 << 10;

/// Why a thread did not start. Nothing of it is left then.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// The kernel gave no thread.
    #[error("cannot start thread '{name}'")]
    Start {
        /// Its name.
        name: String,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// The policy was refused.
    #[error("cannot start thread '{name}'")]
    Policy {
        /// Its name.
        name: String,
        /// Who refused, and how to mend it.
        source: PolicyError,
    },
    /// None of the CPUs is there.
    #[error("cannot start thread '{name}' on CPUs {cpus}: {errno}")]
    Affinity {
        /// Its name.
        name: String,
        /// The CPUs asked for, in the kernel's form.
        cpus: String,
        /// What the kernel said.
        errno: Errno,
    },
    /// Its stack could not be faulted in.
    #[error("cannot start thread '{name}'")]
    Stack {
        /// Its name.
        name: String,
        /// What was missing.
        source: MemoryError,
    },
}

/// Settings of a thread to be.
#[derive(Clone, Debug)]
pub struct Builder {
    name: String,
    policy: Option<Policy>,
    affinity: Option<CpuSet>,
    stack_bytes: usize,
    populated_bytes: usize,
}

impl Builder {
    /// A thread of this name; the kernel shows its first 15 bytes.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            policy: None,
            affinity: None,
            stack_bytes: STACK_BYTES_DEFAULT,
            populated_bytes: usize::MAX,
        }
    }

    /// Its policy; without one it inherits its creator's.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = Some(policy);
        self
    }

    /// The CPUs it may run on; without them it inherits its creator's.
    pub fn affinity(mut self, cpus: CpuSet) -> Self {
        self.affinity = Some(cpus);
        self
    }

    /// Bytes of its stack, all of it faulted in before `body` runs unless said otherwise.
    pub fn stack_bytes(mut self, bytes: usize) -> Self {
        self.stack_bytes = bytes;
        self
    }

    /// Bytes of the stack that are faulted in before `body` runs: what its usual calls take. Those
    /// that go deeper fault.
    pub fn populated_bytes(mut self, bytes: usize) -> Self {
        self.populated_bytes = bytes;
        self
    }

    /// Starts the thread and returns once its settings hold and `body` is about to run.
    pub fn spawn<T, F>(self, body: F) -> Result<Thread<T>, SpawnError>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
    {
        guard::blocking("start of a thread");
        let (started, is_started) = mpsc::sync_channel(1);
        let name = self.name.clone();
        let handle = std::thread::Builder::new()
            .name(self.name.clone())
            .stack_size(self.stack_bytes)
            .spawn(move || {
                let settled = self.settle();
                let is_settled = settled.is_ok();
                // The creator waits for this message, so the channel has a receiver and room.
                let _ = started.send(settled);
                is_settled.then(body)
            })
            .map_err(|source| SpawnError::Start {
                name: name.clone(),
                source,
            })?;
        let tid = is_started
            .recv()
            .unwrap_or_else(|_| unreachable!("a started thread reports"))?;
        Ok(Thread { handle, tid, name })
    }

    /// On the new thread: takes the settings, the policy last so that the rest does not run under
    /// it.
    fn settle(&self) -> Result<Tid, SpawnError> {
        let name = || self.name.clone();
        let tid = Tid::current();
        memory::populate_stack_below(self.populated_bytes).map_err(|source| SpawnError::Stack {
            name: name(),
            source,
        })?;
        if let Some(cpus) = self.affinity {
            cpus.apply(tid).map_err(|errno| SpawnError::Affinity {
                name: name(),
                cpus: cpus.to_string(),
                errno,
            })?;
        }
        if let Some(policy) = self.policy {
            policy.apply(tid).map_err(|source| SpawnError::Policy {
                name: name(),
                source,
            })?;
        }
        Ok(tid)
    }
}

/// A running thread.
#[derive(Debug)]
pub struct Thread<T> {
    handle: std::thread::JoinHandle<Option<T>>,
    tid: Tid,
    name: String,
}

impl<T> Thread<T> {
    /// Its kernel number.
    pub fn tid(&self) -> Tid {
        self.tid
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether its body has returned.
    pub fn is_finished(&self) -> bool {
        self.handle.is_finished()
    }

    /// Waits for its end; a panic in it goes on in the caller.
    #[track_caller]
    pub fn join(self) -> T {
        guard::blocking("join of a thread");
        match self.handle.join() {
            Ok(Some(result)) => result,
            Ok(None) => unreachable!("a thread that did not settle has no handle"),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_hold_before_the_body_runs() {
        let cpu = CpuSet::of(Tid::current()).unwrap().iter().next().unwrap();
        let thread = Builder::new("settled")
            .policy(Policy::Batch { nice: 1 })
            .affinity(CpuSet::single(cpu))
            .spawn(|| {
                (
                    Tid::current(),
                    Policy::of(Tid::current()).unwrap(),
                    CpuSet::of(Tid::current()),
                )
            })
            .unwrap();
        let tid = thread.tid();
        let seen = thread.join();
        assert_eq!(
            seen,
            (tid, Policy::Batch { nice: 1 }, Ok(CpuSet::single(cpu)))
        );
    }

    #[test]
    fn the_stack_is_there_before_the_body_runs() {
        /// Touches `depth` KiB of stack.
        #[inline(never)]
        fn dig(depth: usize) -> u8 {
            let page = std::hint::black_box([1_u8; 1024]);
            if depth == 0 {
                page[0]
            } else {
                dig(depth - 1).wrapping_add(page[depth % 1024])
            }
        }
        let thread = Builder::new("deep").stack_bytes(1 << 20).spawn(|| {
            let before = memory::page_faults();
            std::hint::black_box(dig(300));
            (before, memory::page_faults())
        });
        let (before, after) = thread.unwrap().join();
        assert_eq!(before, after);
    }

    #[test]
    fn a_refused_setting_is_an_error_and_the_body_never_runs() {
        let error = Builder::new("nowhere")
            .affinity(CpuSet::single(crate::affinity::CPUS_MAX - 1))
            .spawn(|| panic!("must not run"))
            .unwrap_err();
        assert!(matches!(error, SpawnError::Affinity { .. }), "{error}");
    }

    #[test]
    #[should_panic(expected = "carried on")]
    fn a_panic_goes_on_in_whoever_joins() {
        Builder::new("panics")
            .spawn(|| panic!("carried on"))
            .unwrap()
            .join();
    }
}
