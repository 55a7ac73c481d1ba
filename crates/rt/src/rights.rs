// SPDX-License-Identifier: Apache-2.0
//! What this process may do: [`Capability`] and [`Limit`], the two ways by which Linux grants real
//! time.

/// A capability that real-time programs ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// Any policy and priority, for oneself and others.
    SysNice,
    /// Any amount of locked memory.
    IpcLock,
    /// Higher limits, and a later end when memory runs out.
    SysResource,
}

impl Capability {
    /// As the manual calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::SysNice => "CAP_SYS_NICE",
            Self::IpcLock => "CAP_IPC_LOCK",
            Self::SysResource => "CAP_SYS_RESOURCE",
        }
    }

    /// Whether the calling thread holds it in its effective set.
    pub fn is_held(self) -> bool {
        let bit = match self {
            Self::SysNice => 23,
            Self::IpcLock => 14,
            Self::SysResource => 24,
        };
        effective_set().is_some_and(|set| set & (1 << bit) != 0)
    }
}

fn effective_set() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/status").ok()?;
    let hex = text.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(hex.trim(), 16).ok()
}

/// A resource limit of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The highest real-time priority (`RLIMIT_RTPRIO`).
    RtPriority,
    /// 20 minus the lowest nice value (`RLIMIT_NICE`).
    Nice,
    /// Bytes of locked memory (`RLIMIT_MEMLOCK`).
    LockedBytes,
}

impl Limit {
    /// The value in force; `u64::MAX` where there is none.
    pub fn soft(self) -> u64 {
        let resource = match self {
            Self::RtPriority => libc::RLIMIT_RTPRIO,
            Self::Nice => libc::RLIMIT_NICE,
            Self::LockedBytes => libc::RLIMIT_MEMLOCK,
        };
        let mut limit = libc::rlimit {
            rlim_cur: 0,
            rlim_max: 0,
        };
        // SAFETY: `limit` is writable, and each of the resources exists on every Linux.
        let returned = unsafe { libc::getrlimit(resource, &raw mut limit) };
        assert_eq!(returned, 0, "the limit exists");
        limit.rlim_cur
    }
}
