// SPDX-License-Identifier: Apache-2.0
//! [`Spec`]: what an application may do. Without defaults: a forgotten field would be a hole.

use std::path::PathBuf;
use std::sync::Arc;

use crate::disk::Disk;
use crate::group::Group;
use crate::report::Bound;

/// What an application may do; all else is refused, as far as the kernel can.
#[derive(Debug)]
pub struct Spec {
    /// The user that it becomes, if this process may make it one; `None` leaves the one that it
    /// has.
    pub identity: Option<Identity>,
    /// Files and folders with all below them. A path that is not there grants nothing.
    pub files: Vec<Grant>,
    /// What it may do with the network.
    pub network: Network,
    /// Whether it may make sockets to other processes of this machine.
    pub local_sockets: LocalSockets,
    /// Whose files of /proc it reads.
    pub other_processes: OtherProcesses,
    /// Who gives its threads real-time policies.
    pub real_time: RealTime,
    /// What it may use up.
    pub limits: Limits,
    /// Its control group (cgroup v2), if there is one.
    pub group: Option<Arc<Group>>,
    /// What it may keep on disks; `None` asks for no bound.
    pub disk: Option<Disk>,
    /// What the maker of this knows to be missing, with the reason.
    pub lacks: Vec<(Bound, String)>,
}

/// A user and a group of the kernel's; supplementary groups are dropped with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The user's number.
    pub uid: u32,
    /// The group's number.
    pub gid: u32,
}

impl Identity {
    /// The first of the range that packages have, as on Android.
    pub const BASE: u32 = 10_000;
    /// So many packages have a number of their own, as on Android.
    pub const COUNT: u32 = 10_000;

    /// The user of the `n`-th package; `None` beyond the range.
    pub fn of_package(n: u32) -> Option<Self> {
        (n < Self::COUNT).then(|| Self {
            uid: Self::BASE + n,
            gid: Self::BASE + n,
        })
    }
}

/// A file or folder, and what may be done with it and all below it.
#[derive(Clone, Debug)]
pub struct Grant {
    /// Where it is.
    pub path: PathBuf,
    /// What may be done.
    pub access: Access,
}

/// What may be done with files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read files, list folders.
    Read,
    /// The same, and start programs.
    Run,
    /// Read, write, make and remove files, folders, links and sockets; start nothing.
    Write,
    /// Read and write what is there, with calls of a device's own.
    Device,
    /// Make and remove sockets.
    Socket,
    /// Make files, and open those whose name is known; list and remove nothing. For files without a
    /// name, which the C library makes in /tmp.
    Scratch,
}

impl Grant {
    /// A grant.
    pub fn new(path: impl Into<PathBuf>, access: Access) -> Self {
        Self {
            path: path.into(),
            access,
        }
    }

    /// What a program of any distribution reads to run at all: libraries, locales, time zones,
    /// names, certificates, facts of the machine; and devices that hold nothing. No home, no
    /// secret, nothing of other processes.
    pub fn system() -> Vec<Self> {
        let of =
            |paths: &'static [&str], access| paths.iter().map(move |path| Self::new(*path, access));
        of(&SYSTEM_RUN, Access::Run)
            .chain(of(&SYSTEM_READ, Access::Read))
            .chain(of(&SYSTEM_DEVICES, Access::Device))
            .collect()
    }
}

const SYSTEM_RUN: [&str; 6] = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64"];

/// One by one: /etc has secrets too, and /sys and /proc tell of everybody.
const SYSTEM_READ: [&str; 37] = [
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/default/locale",
    "/etc/fonts",
    "/etc/gai.conf",
    "/etc/group",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/java-17-openjdk",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ld.so.preload",
    "/etc/locale.alias",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/protocols",
    "/etc/resolv.conf",
    "/etc/services",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/timezone",
    "/proc/cgroups",
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/pressure",
    "/proc/stat",
    "/proc/sys",
    "/proc/uptime",
    "/proc/version",
    "/sys/devices/system",
    "/sys/kernel/mm",
];

const SYSTEM_DEVICES: [&str; 5] = [
    "/dev/full",
    "/dev/null",
    "/dev/random",
    "/dev/urandom",
    "/dev/zero",
];

/// What may be done with the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// Nothing: no socket of it can be made.
    None,
    /// Listen for TCP connections; start none.
    Listen,
    /// TCP and UDP, to anywhere and from anywhere; never raw packets.
    Full,
}

/// Sockets to processes of this machine (AF_UNIX). Pairs may be made in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalSockets {
    /// None can be made. The kernel looks at no path when a socket connects, so with them a program
    /// reaches every service that its user reaches.
    Refused,
    /// They can; names outside of the file system reach this sandbox alone, where the kernel
    /// offers that.
    Allowed,
}

/// Whose files of /proc are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OtherProcesses {
    /// One's own alone.
    Hidden,
    /// Everybody's that need no right over the process: names, states, priorities. Who serves calls
    /// reads there what the kernel lends to its caller.
    Listed,
}

/// Who gives threads their real-time policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RealTime {
    /// Another process, from outside; threads raise nothing themselves.
    FromOutside,
    /// The threads themselves, up to this priority: their starter has granted it.
    UpTo(u8),
    /// The threads themselves, up to this priority; each time the kernel asks who starts them, by
    /// [`crate::Grants`]. For those who may not raise limits, and have CAP_SYS_NICE.
    Asked(u8),
    /// The threads themselves, as far as their user may: RLIMIT_RTPRIO and RLIMIT_NICE, or
    /// CAP_SYS_NICE and CAP_IPC_LOCK, stay.
    AsUser,
}

/// What may be used up. `None` leaves what there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Processes and threads of a user of its own; else so many beyond all that the machine has
    /// when the sandbox is made.
    pub tasks: Option<u64>,
    /// Files open at once in a process.
    pub open_files: Option<u64>,
    /// Bytes of locked memory in a process; not with [`RealTime::AsUser`] as root.
    pub locked_bytes: Option<u64>,
    /// Microseconds that a real-time thread may run without a wait, before a signal ends it.
    pub real_time_us: Option<u64>,
    /// How soon the kernel ends it when memory runs out: −1000 to 1000. Only root lowers it.
    pub kill_order: Option<i32>,
}
