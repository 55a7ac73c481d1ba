// SPDX-License-Identifier: Apache-2.0
//! Memory that never faults: [`ProcessLock`] for all of a process, [`Mapping`] for a piece of its
//! own.

use std::ptr::NonNull;
use std::sync::LazyLock;

use crate::rights::{Capability, Limit};
use crate::sync::PiMutex;
use crate::sys::Errno;

/// Why memory could not be had or held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// No address space or no memory for this many bytes.
    #[error("cannot map {bytes} bytes: {errno}")]
    Map {
        /// What was asked for.
        bytes: usize,
        /// What the kernel said.
        errno: Errno,
    },
    /// Too few huge pages are reserved.
    #[error(
        "{bytes} bytes of huge pages are not reserved; mend it with `sysctl vm.nr_hugepages={pages}` or more"
    )]
    HugePages {
        /// What was asked for.
        bytes: usize,
        /// Pages of 2 MiB that this takes.
        pages: usize,
    },
    /// The limit on locked memory is too low.
    #[error(
        "cannot lock memory: RLIMIT_MEMLOCK ends at {limit_bytes} bytes and CAP_IPC_LOCK is missing; mend it with \
         `memlock unlimited` for this user in /etc/security/limits.d, or run as root"
    )]
    LockLimit {
        /// The soft limit.
        limit_bytes: u64,
    },
    /// Locking failed for another reason.
    #[error("cannot lock memory: {0}")]
    Lock(Errno),
    /// Faulting pages in failed.
    #[error("cannot populate {bytes} bytes: {errno}")]
    Populate {
        /// What was asked for.
        bytes: usize,
        /// What the kernel said.
        errno: Errno,
    },
}

/// Which pages a process lock holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockScope {
    /// All there are and all to come, faulted in at once (`MCL_CURRENT | MCL_FUTURE`).
    All,
    /// Each page from its first touch on (`MCL_ONFAULT`): for large sparse processes.
    OnFault,
}

/// Keeps the process's pages in memory until dropped. There may be several: the kernel counts none,
/// so the strictest scope among them holds, and the pages are unlocked with the last.
#[must_use = "pages are unlocked when the lock is dropped"]
#[derive(Debug)]
pub struct ProcessLock {
    scope: LockScope,
}

/// The process locks there are, per scope.
struct Held {
    all: usize,
    on_fault: usize,
}

/// Lazy for loom alone, whose atomics are not made by constants.
static HELD: LazyLock<PiMutex<Held>> = LazyLock::new(|| {
    PiMutex::new(Held {
        all: 0,
        on_fault: 0,
    })
});

impl Held {
    fn count(&mut self, scope: LockScope) -> &mut usize {
        match scope {
            LockScope::All => &mut self.all,
            LockScope::OnFault => &mut self.on_fault,
        }
    }

    /// Tells the kernel.
    fn apply(&self) -> Result<(), MemoryError> {
        let future = libc::MCL_CURRENT | libc::MCL_FUTURE;
        // SAFETY: locking and unlocking pages changes no content and no address.
        let returned = unsafe {
            match (self.all, self.on_fault) {
                (0, 0) => libc::munlockall(),
                (0, _) => libc::mlockall(future | libc::MCL_ONFAULT),
                _ => libc::mlockall(future),
            }
        };
        match returned {
            0 => Ok(()),
            _ => Err(lock_error(Errno::last())),
        }
    }
}

impl ProcessLock {
    /// Locks. Takes as long as the pages that are not there yet take to come.
    ///
    /// A finite RLIMIT_MEMLOCK is refused without CAP_IPC_LOCK, whatever is free of it: the lock
    /// covers what comes as well, so each later mapping or thread beyond the limit would fail.
    pub fn acquire(scope: LockScope) -> Result<Self, MemoryError> {
        let limit_bytes = Limit::LockedBytes.soft();
        if limit_bytes != u64::MAX && !Capability::IpcLock.is_held() {
            return Err(MemoryError::LockLimit { limit_bytes });
        }
        let mut held = HELD.lock();
        *held.count(scope) += 1;
        let applied = held.apply();
        if applied.is_err() {
            *held.count(scope) -= 1;
        }
        applied.map(|()| Self { scope })
    }
}

impl Drop for ProcessLock {
    fn drop(&mut self) {
        let mut held = HELD.lock();
        *held.count(self.scope) -= 1;
        // What is asked for is less than what is held already; a destructor has nobody to tell.
        let _ = held.apply();
    }
}

fn lock_error(errno: Errno) -> MemoryError {
    if errno.0 != libc::ENOMEM && errno.0 != libc::EPERM {
        return MemoryError::Lock(errno);
    }
    MemoryError::LockLimit {
        limit_bytes: Limit::LockedBytes.soft(),
    }
}

/// The pages a mapping is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageKind {
    /// 4 KiB.
    Small,
    /// 2 MiB where the kernel finds them (`madvise(MADV_HUGEPAGE)`): no promise. PREEMPT_RT kernels
    /// have none.
    TransparentHuge,
    /// 2 MiB pages reserved by the administrator (`MAP_HUGETLB`).
    ReservedHuge,
}

const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Zeroed, private memory of its own, faulted in when made and unmapped when dropped.
#[derive(Debug)]
pub struct Mapping {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a `Mapping` owns its pages; access goes through `&self` and `&mut self` as for a
// `Box<[u8]>`.
unsafe impl Send for Mapping {}
// SAFETY: as above: shared access only reads.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `bytes` (rounded up to whole pages) and faults every page in. Panics if `bytes` is
    /// zero.
    pub fn populated(bytes: usize, pages: PageKind) -> Result<Self, MemoryError> {
        assert!(bytes > 0, "a mapping holds at least a byte");
        let unit = if pages == PageKind::Small {
            page_bytes()
        } else {
            HUGE_PAGE_BYTES
        };
        let bytes = bytes.next_multiple_of(unit);
        let huge = if pages == PageKind::ReservedHuge {
            // The size is said, or a machine whose default is 1 GiB would take that, and not give
            // it back.
            libc::MAP_HUGETLB | libc::MAP_HUGE_2MB
        } else {
            0
        };
        // SAFETY: a new private mapping at an address of the kernel's choice touches nothing that
        // exists.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | huge,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            let errno = Errno::last();
            return Err(match pages {
                PageKind::ReservedHuge => MemoryError::HugePages {
                    bytes,
                    pages: bytes / HUGE_PAGE_BYTES,
                },
                PageKind::Small | PageKind::TransparentHuge => MemoryError::Map { bytes, errno },
            });
        }
        let start = NonNull::new(start.cast()).expect("mmap never maps page zero unasked");
        let mapping = Self { start, bytes };
        if pages == PageKind::TransparentHuge {
            // A kernel without transparent huge pages answers EINVAL: small pages are the
            // documented fallback.
            // SAFETY: the range is the mapping just made.
            unsafe { libc::madvise(start.as_ptr().cast(), bytes, libc::MADV_HUGEPAGE) };
        }
        populate(start, bytes)?;
        Ok(mapping)
    }

    /// Keeps these pages in memory as long as the mapping lives.
    pub fn lock(&self) -> Result<(), MemoryError> {
        // SAFETY: the range is this mapping's own; locking changes no content.
        match unsafe { libc::mlock(self.start.as_ptr().cast(), self.bytes) } {
            0 => Ok(()),
            _ => Err(lock_error(Errno::last())),
        }
    }

    /// The bytes, all zero at first.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: the mapping is readable for `bytes` bytes and lives as long as `self`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }

    /// The bytes, to write.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `bytes`; `&mut self` excludes other access.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range is this mapping's own, and no borrow of it outlives `self`.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// Bytes of a small page.
pub fn page_bytes() -> usize {
    // SAFETY: sysconf has no preconditions.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as usize }
}

/// Faults in `bytes` from `start` on, for writing, without changing them.
fn populate(start: NonNull<u8>, bytes: usize) -> Result<(), MemoryError> {
    // SAFETY: MADV_POPULATE_WRITE changes no content; a range that is not mapped is an error, not
    // an access.
    match unsafe { libc::madvise(start.as_ptr().cast(), bytes, libc::MADV_POPULATE_WRITE) } {
        0 => Ok(()),
        _ => Err(MemoryError::Populate {
            bytes,
            errno: Errno::last(),
        }),
    }
}

/// Faults in the calling thread's whole stack, so that no later call depth faults. Returns its size
/// in bytes. On the main thread, whose stack grows, only what is mapped now is faulted in.
pub fn populate_stack() -> Result<usize, MemoryError> {
    populate_stack_below(usize::MAX)
}

/// The same for `bytes` of it from here on: deeper calls fault.
pub fn populate_stack_below(bytes_max: usize) -> Result<usize, MemoryError> {
    let here = 0_u8;
    let (low, bytes) = stack_bounds();
    let top = low + bytes;
    let page = page_bytes();
    let here = (&raw const here).addr();
    assert!(
        low <= here && here < top,
        "the calling thread runs on its own stack"
    );
    // The pages in use are there already. Going down from them, a growing stack ends where the
    // kernel says so.
    let here_page = here & !(page - 1);
    let first = low.next_multiple_of(page);
    let first = first.max(here_page.saturating_sub(bytes_max) & !(page - 1));
    let start = NonNull::new(first as *mut u8).expect("a stack is not at null");
    let size = here_page.saturating_sub(first);
    if size == 0 {
        return Ok(bytes);
    }
    match populate(start, size) {
        Err(MemoryError::Populate {
            errno: Errno(libc::ENOMEM),
            ..
        }) => Ok(top - (here & !(page - 1))),
        Err(error) => Err(error),
        Ok(()) => Ok(bytes),
    }
}

/// Lowest address and size of the calling thread's stack, without its guard.
fn stack_bounds() -> (usize, usize) {
    let mut attr = std::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
    let mut low = std::ptr::null_mut();
    let mut bytes = 0;
    // SAFETY: 1. pthread_getattr_np initialises `attr` for the calling thread, which exists
    // (asserted). 2. getstack only reads it; destroy ends it; it is not used afterwards.
    unsafe {
        let returned = libc::pthread_getattr_np(libc::pthread_self(), attr.as_mut_ptr());
        assert_eq!(returned, 0, "a running thread has attributes");
        libc::pthread_attr_getstack(attr.as_ptr(), &raw mut low, &raw mut bytes);
        libc::pthread_attr_destroy(attr.as_mut_ptr());
    }
    (low.addr(), bytes)
}

/// What the kernel has counted of a thread since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Page faults served from memory.
    pub minor_faults: u64,
    /// Page faults that waited for a file or for swap.
    pub major_faults: u64,
    /// Switches to another thread because this one waited.
    pub voluntary_switches: u64,
    /// Switches to another thread although this one could have run on.
    pub involuntary_switches: u64,
}

/// The calling thread's. One system call of about 0.3 µs.
pub fn usage() -> Usage {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: getrusage fills `usage`; all-zero is a valid rusage in any case.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    };
    Usage {
        minor_faults: usage.ru_minflt as u64,
        major_faults: usage.ru_majflt as u64,
        voluntary_switches: usage.ru_nvcsw as u64,
        involuntary_switches: usage.ru_nivcsw as u64,
    }
}

/// Page faults of the calling thread so far: (minor, major).
pub fn page_faults() -> (u64, u64) {
    let usage = usage();
    (usage.minor_faults, usage.major_faults)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_populated_mapping_does_not_fault() {
        let mut mapping = Mapping::populated(1 << 20, PageKind::Small).unwrap();
        let before = page_faults();
        mapping.bytes_mut().fill(7);
        assert_eq!(page_faults(), before);
        assert!(mapping.bytes().iter().all(|&byte| byte == 7));
    }

    #[test]
    fn pages_are_unlocked_with_the_last_process_lock() {
        /// Bytes locked, from /proc.
        fn locked_kib() -> u64 {
            let text = std::fs::read_to_string("/proc/self/status").unwrap();
            let line = text.lines().find_map(|it| it.strip_prefix("VmLck:"));
            let number = line.and_then(|it| it.split_whitespace().next());
            number.unwrap().parse().unwrap()
        }
        let unlocked_kib = locked_kib();
        let (first, second) = match (
            ProcessLock::acquire(LockScope::All),
            ProcessLock::acquire(LockScope::OnFault),
        ) {
            (Ok(first), Ok(second)) => (first, second),
            (first, second) => {
                eprintln!("not privileged here: {first:?}, {second:?}");
                return;
            }
        };
        drop(first);
        assert!(locked_kib() > unlocked_kib);
        drop(second);
        assert_eq!(locked_kib(), unlocked_kib);
    }

    #[test]
    fn huge_pages_are_there_or_named() {
        let mapping = Mapping::populated(4 << 20, PageKind::TransparentHuge).unwrap();
        assert_eq!(mapping.bytes().len(), 4 << 20);
        match Mapping::populated(1, PageKind::ReservedHuge) {
            Ok(mapping) => assert_eq!(mapping.bytes().len(), HUGE_PAGE_BYTES),
            Err(error) => assert!(error.to_string().contains("vm.nr_hugepages=1"), "{error}"),
        }
    }

    #[test]
    fn an_impossible_mapping_is_an_error() {
        let error = Mapping::populated(1 << 62, PageKind::Small).unwrap_err();
        assert!(matches!(error, MemoryError::Map { .. }), "{error}");
    }
}
