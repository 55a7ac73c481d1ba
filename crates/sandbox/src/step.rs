// SPDX-License-Identifier: Apache-2.0
//! [`Step`]: one thing that a process does to itself on its way into the sandbox.
//!
//! A step runs between `fork` and `exec`, in a child of a process with many threads. So it makes
//! system calls alone: no memory is taken, no lock, and nothing is freed.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Resource, Rlimit};
use rustix::thread::{CapabilitySet, CapabilitySets, Gid, Uid, UnshareFlags};
use seccompiler::BpfProgram;

use crate::confinement::Error;
use crate::grants;
use crate::report::Bound;
use crate::spec::Identity;
use crate::sys;

/// Capabilities that a kernel may have; beyond its last one the call fails.
const CAPABILITIES: u32 = 64;

const OF_LANDLOCK: [Bound; 5] = [
    Bound::Files,
    Bound::Truncation,
    Bound::DeviceCalls,
    Bound::Signals,
    Bound::OtherProcesses,
];

const OF_FILTERS: [Bound; 5] = [
    Bound::Network,
    Bound::LocalSockets,
    Bound::AbstractSockets,
    Bound::SystemCalls,
    Bound::Ipc,
];

/// In the order in which they are taken; each needs rights that a later one gives away.
#[derive(Debug)]
pub(crate) enum Step {
    /// How soon it is ended, as text.
    KillOrder(String),
    /// Joins a control group.
    Join(OwnedFd),
    /// A limit, for good.
    Limit(Bound, Resource, u64),
    /// A limit that may be above the one that there was.
    Grant(Bound, Resource, u64),
    /// New namespaces, and what holds by them alone.
    Unshare(Option<Bound>, UnshareFlags),
    /// No capability but these can ever be held again.
    Bounding(CapabilitySet),
    /// Another user.
    Become(Identity),
    /// Gives up all capabilities but these.
    Capabilities(CapabilitySet),
    /// No program gives it more rights.
    NoNewPrivileges,
    /// Its folder of /proc is its own again: a change of users makes it root's.
    Dumpable,
    /// Grants its own folder of /proc.
    OwnProcess(OwnedFd, u64),
    /// Landlock, with the rules of a descriptor.
    Files(OwnedFd),
    /// A filter of system calls.
    Calls(BpfProgram),
    /// A filter whose calls are asked about at the other end of a socket.
    Ask(BpfProgram, OwnedFd),
}

impl Step {
    /// What is lost if it fails.
    pub(crate) fn bounds(&self) -> &[Bound] {
        match self {
            Self::KillOrder(_) => &[Bound::KillOrder],
            Self::Join(_) => &[Bound::Memory, Bound::Tasks],
            Self::Limit(bound, ..) | Self::Grant(bound, ..) => std::slice::from_ref(bound),
            Self::Unshare(bound, _) => bound.as_slice(),
            Self::Become(_) => &[Bound::Identity, Bound::Signals],
            Self::Bounding(_) | Self::Capabilities(_) => &[Bound::Capabilities],
            Self::NoNewPrivileges => &[Bound::NewPrivileges],
            Self::Dumpable => &[],
            Self::OwnProcess(..) => &[Bound::OtherProcesses],
            Self::Files(_) => &OF_LANDLOCK,
            Self::Calls(_) => &OF_FILTERS,
            Self::Ask(..) => &[Bound::RealTime],
        }
    }

    /// Why it fails, for a person.
    pub(crate) fn refusal(&self, errno: Errno) -> String {
        match self {
            Self::KillOrder(order) if errno == Errno::ACCESS => {
                format!("oom_score_adj {order} takes CAP_SYS_RESOURCE")
            }
            _ => errno.to_string(),
        }
    }

    /// What is told of a step that failed.
    pub(crate) fn failed(&self, errno: Errno) -> Error {
        let bound = self.bounds().first();
        Error::Enter(bound.map_or("namespaces", |it| it.name()), errno.into())
    }

    /// Takes the step for the calling process, which has one thread.
    pub(crate) fn take(&self) -> Result<(), Errno> {
        match self {
            Self::KillOrder(text) => {
                let flags = OFlags::WRONLY | OFlags::CLOEXEC;
                let file = rustix::fs::open(c"/proc/self/oom_score_adj", flags, Mode::empty())?;
                rustix::io::write(file, text.as_bytes()).map(drop)
            }
            // Nought is the writer itself.
            Self::Join(members) => rustix::io::write(members, b"0").map(drop),
            Self::Limit(_, resource, value) => limit(*resource, *value),
            Self::Grant(_, resource, value) => set_limit(*resource, Some(*value)),
            Self::Unshare(_, flags) => sys::unshare(*flags),
            Self::Bounding(kept) => bound_capabilities(*kept),
            Self::Become(identity) => become_user(*identity),
            Self::Capabilities(kept) => drop_capabilities(*kept),
            Self::NoNewPrivileges => rustix::thread::set_no_new_privs(true),
            Self::Dumpable => rustix::process::set_dumpable_behavior(DumpableBehavior::Dumpable),
            Self::OwnProcess(ruleset, rights) => {
                let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
                let own = rustix::fs::open(c"/proc/self", flags, Mode::empty())?;
                sys::landlock_grant(ruleset.as_fd(), own.as_fd(), *rights)
            }
            Self::Files(ruleset) => sys::landlock_restrict(ruleset.as_fd()),
            Self::Ask(program, far) => grants::listen(program, far.as_fd()),
            Self::Calls(program) => seccompiler::apply_filter(program).map_err(|_| {
                // The library's error is the system's last one.
                let last = std::io::Error::last_os_error();
                Errno::from_io_error(&last).unwrap_or(Errno::INVAL)
            }),
        }
    }
}

/// Lowers both limits: what an unprivileged process has lowered it cannot raise.
fn limit(resource: Resource, value: u64) -> Result<(), Errno> {
    let now = rustix::process::getrlimit(resource).maximum;
    set_limit(resource, Some(now.map_or(value, |now| now.min(value))))
}

fn set_limit(resource: Resource, value: Option<u64>) -> Result<(), Errno> {
    let new = Rlimit {
        current: value,
        maximum: value,
    };
    rustix::process::setrlimit(resource, new)
}

fn bound_capabilities(kept: CapabilitySet) -> Result<(), Errno> {
    for number in 0..CAPABILITIES {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        if kept.contains(capability) {
            continue;
        }
        match rustix::thread::remove_capability_from_bounding_set(capability) {
            Ok(()) => {}
            Err(Errno::INVAL) => break,
            Err(errno) => return Err(errno),
        }
    }
    Ok(())
}

/// The order matters: who is another user may change no groups.
fn become_user(identity: Identity) -> Result<(), Errno> {
    let (uid, gid) = (Uid::from_raw(identity.uid), Gid::from_raw(identity.gid));
    rustix::thread::set_thread_groups(&[])?;
    rustix::thread::set_thread_res_gid(gid, gid, gid)?;
    rustix::thread::set_thread_res_uid(uid, uid, uid)
}

fn drop_capabilities(kept: CapabilitySet) -> Result<(), Errno> {
    for number in 0..CAPABILITIES {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        if kept.contains(capability) {
            continue;
        }
        match rustix::thread::configure_capability_in_ambient_set(capability, false) {
            Ok(()) => {}
            Err(Errno::INVAL) => break,
            Err(errno) => return Err(errno),
        }
    }
    let now = rustix::thread::capabilities(None)?;
    let sets = CapabilitySets {
        effective: now.effective & kept,
        permitted: now.permitted & kept,
        inheritable: now.inheritable & kept,
    };
    rustix::thread::set_capabilities(None, sets)
}
