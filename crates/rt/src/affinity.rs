// SPDX-License-Identifier: Apache-2.0
//! [`CpuSet`]: which CPUs a thread may run on.

use std::fmt;
use std::str::FromStr;

use crate::policy::Tid;
use crate::sys::Errno;

/// CPUs that one `CpuSet` can name: the C library's own limit.
pub const CPUS_MAX: usize = 1024;

/// The CPU that the calling thread is on; without a system call where the kernel maps it.
pub fn current_cpu() -> usize {
    rustix::thread::sched_getcpu()
}

/// A set of CPUs, by number from zero.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CpuSet {
    words: [u64; CPUS_MAX / 64],
}

/// Why a list of CPUs does not parse.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("'{0}' is no list of CPUs: write numbers below {CPUS_MAX} and ranges, such as 0,2-3")]
pub struct CpuListError(String);

impl CpuSet {
    /// No CPU at all.
    pub const EMPTY: Self = Self {
        words: [0; CPUS_MAX / 64],
    };

    /// One CPU alone. Panics from [`CPUS_MAX`] on.
    pub fn single(cpu: usize) -> Self {
        let mut set = Self::EMPTY;
        set.insert(cpu);
        set
    }

    /// Adds a CPU. Panics from [`CPUS_MAX`] on.
    pub fn insert(&mut self, cpu: usize) {
        assert!(
            cpu < CPUS_MAX,
            "CPU {cpu} is beyond the limit of {CPUS_MAX}"
        );
        self.words[cpu / 64] |= 1 << (cpu % 64);
    }

    /// Whether a CPU is in the set.
    pub fn contains(&self, cpu: usize) -> bool {
        cpu < CPUS_MAX && self.words[cpu / 64] & (1 << (cpu % 64)) != 0
    }

    /// Whether a CPU is in both.
    pub fn meets(&self, other: &Self) -> bool {
        self.words
            .iter()
            .zip(other.words)
            .any(|it| it.0 & it.1 != 0)
    }

    /// The CPUs in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        (0..CPUS_MAX).filter(|&cpu| self.contains(cpu))
    }

    /// Where a thread may run now.
    pub fn of(tid: Tid) -> Result<Self, Errno> {
        let mut set = Self::EMPTY;
        // SAFETY: `words` is writable for the size passed, which is what the kernel may fill.
        let returned = unsafe {
            libc::syscall(
                libc::SYS_sched_getaffinity,
                tid.raw(),
                size_of_val(&set.words),
                set.words.as_mut_ptr(),
            )
        };
        Errno::check(returned).map(|_| set)
    }

    /// Keeps a thread on these CPUs. A set without an online CPU is refused with `EINVAL`.
    pub fn apply(&self, tid: Tid) -> Result<(), Errno> {
        // SAFETY: `words` is readable for the size passed; the kernel copies it.
        let returned = unsafe {
            libc::syscall(
                libc::SYS_sched_setaffinity,
                tid.raw(),
                size_of_val(&self.words),
                self.words.as_ptr(),
            )
        };
        Errno::check(returned).map(drop)
    }
}

impl FromStr for CpuSet {
    type Err = CpuListError;

    /// Reads the kernel's form: `0,2-3`.
    fn from_str(text: &str) -> Result<Self, CpuListError> {
        let fail = || CpuListError(text.to_owned());
        let number = |part: &str| {
            part.trim()
                .parse::<usize>()
                .ok()
                .filter(|&cpu| cpu < CPUS_MAX)
                .ok_or_else(fail)
        };
        let mut set = Self::EMPTY;
        for part in text.trim().split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return Err(fail());
            }
            (first..=last).for_each(|cpu| set.insert(cpu));
        }
        Ok(set)
    }
}

impl fmt::Display for CpuSet {
    /// Writes the kernel's form: `0,2-3`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpu = 0;
        let mut separator = "";
        while cpu < CPUS_MAX {
            if !self.contains(cpu) {
                cpu += 1;
                continue;
            }
            let first = cpu;
            while self.contains(cpu + 1) {
                cpu += 1;
            }
            write!(f, "{separator}{first}")?;
            if cpu > first {
                write!(f, "-{cpu}")?;
            }
            separator = ",";
            cpu += 1;
        }
        Ok(())
    }
}

impl fmt::Debug for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CpuSet({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_read_and_print_alike() {
        for text in ["0", "0-1", "0,2-3,64", "1023"] {
            assert_eq!(text.parse::<CpuSet>().unwrap().to_string(), text);
        }
        for text in ["", "a", "3-1", "1024", "1,,2", "-1"] {
            assert!(text.parse::<CpuSet>().is_err(), "{text:?} must be refused");
        }
    }

    #[test]
    fn a_thread_stays_where_it_was_put() {
        let before = CpuSet::of(Tid::current()).unwrap();
        let cpu = before.iter().next().unwrap();
        CpuSet::single(cpu).apply(Tid::current()).unwrap();
        assert_eq!(CpuSet::of(Tid::current()).unwrap(), CpuSet::single(cpu));
        assert_eq!(current_cpu(), cpu);
        assert!(before.meets(&CpuSet::single(cpu)) && !before.meets(&CpuSet::EMPTY));
        before.apply(Tid::current()).unwrap();
        assert_eq!(
            CpuSet::EMPTY.apply(Tid::current()),
            Err(Errno(libc::EINVAL))
        );
    }
}
