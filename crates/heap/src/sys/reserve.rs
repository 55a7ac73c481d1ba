// SPDX-License-Identifier: Apache-2.0
//! [`Reservation`]: address space at a chosen place, made into memory piece by piece.

use rt::sys::Errno;

/// Address space could not be had, or not be made into memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ReserveError {
    /// Something else lies there.
    #[error("cannot reserve {bytes} bytes at {start:#x}: {errno}")]
    Occupied {
        /// The place; 0 for anywhere.
        start: usize,
        /// What was asked for.
        bytes: usize,
        /// What the kernel said.
        errno: Errno,
    },
    /// The kernel gives no memory.
    #[error("cannot commit {bytes} bytes of the heap: {errno}")]
    Commit {
        /// What was asked for.
        bytes: usize,
        /// What the kernel said.
        errno: Errno,
    },
}

/// What a reservation's pages may be used for at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Access {
    /// Nothing, until committed.
    None,
    /// Reading and writing; pages come at first touch and are zero. Most processes touch few of
    /// them, so the first [`SMALL_BYTES`] come in small pages.
    ReadWrite,
    /// The same in pages of 2 MiB that the administrator has reserved: all of them belong to this
    /// mapping at once. `bytes` and `start` are whole ones.
    Reserved,
}

/// A page that is reserved.
pub(crate) const RESERVED_BYTES: usize = 2 << 20;

/// As much as one huge page, which takes the kernel some hundred microseconds to zero: Hello World
/// touches a few pages each of the log, the metadata and three tables.
const SMALL_BYTES: usize = 2 << 20;

/// Address space that is unmapped when dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    start: usize,
    bytes: usize,
    access: Access,
}

impl Reservation {
    /// `bytes` at exactly `start`, or anywhere if that is 0.
    pub(crate) fn new(start: usize, bytes: usize, access: Access) -> Result<Self, ReserveError> {
        let place = if start == 0 {
            0
        } else {
            libc::MAP_FIXED_NOREPLACE
        };
        let protection = match access {
            Access::None => libc::PROT_NONE,
            Access::ReadWrite | Access::Reserved => libc::PROT_READ | libc::PROT_WRITE,
        };
        let pages = match access {
            Access::None | Access::ReadWrite => libc::MAP_NORESERVE,
            Access::Reserved => libc::MAP_HUGETLB | libc::MAP_HUGE_2MB,
        };
        // SAFETY: a new mapping that replaces nothing (NOREPLACE, or a place of the kernel's
        // choice).
        let mapped = unsafe {
            libc::mmap(
                std::ptr::without_provenance_mut(start),
                bytes,
                protection,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | pages | place,
                -1,
                0,
            )
        };
        if mapped == libc::MAP_FAILED {
            return Err(ReserveError::Occupied {
                start,
                bytes,
                errno: Errno::last(),
            });
        }
        let reservation = Self {
            start: mapped.expose_provenance(),
            bytes,
            access,
        };
        if start != 0 && reservation.start != start {
            // A kernel before 4.17 takes the address for a hint; dropping unmaps what it chose
            // instead.
            return Err(ReserveError::Occupied {
                start,
                bytes,
                errno: Errno(libc::EEXIST),
            });
        }
        reservation.advise(bytes, libc::MADV_HUGEPAGE);
        reservation.advise(reservation.small_bytes(), libc::MADV_NOHUGEPAGE);
        Ok(reservation)
    }

    /// From here on a page that is touched first is a small one: zeroing it takes a microsecond, a
    /// huge one some hundreds. The first [`SMALL_BYTES`] of what can be written at once are there
    /// then: a kernel before 5.14 gives them when they are touched.
    pub(crate) fn touch_small_pages(&self) {
        self.advise(self.bytes, libc::MADV_NOHUGEPAGE);
        self.advise(self.small_bytes(), libc::MADV_POPULATE_WRITE);
    }

    fn small_bytes(&self) -> usize {
        match self.access {
            Access::ReadWrite => self.bytes.min(SMALL_BYTES),
            Access::None | Access::Reserved => 0,
        }
    }

    /// About the first `bytes`. A kernel without transparent huge pages answers EINVAL: small
    /// pages are the documented fallback.
    fn advise(&self, bytes: usize, advice: i32) {
        assert!(bytes <= self.bytes, "inside the reservation");
        let start = std::ptr::with_exposed_provenance_mut(self.start);
        // SAFETY: the range is this reservation's mapping (asserted); what is advised here is about
        // pages and changes no content.
        unsafe { libc::madvise(start, bytes, advice) };
    }

    /// The first address.
    pub(crate) fn start(&self) -> usize {
        self.start
    }

    /// Makes `bytes` from `offset` on readable and writable.
    pub(crate) fn commit(&self, offset: usize, bytes: usize) -> Result<(), ReserveError> {
        assert!(offset + bytes <= self.bytes, "inside the reservation");
        if self.access == Access::Reserved {
            return Ok(());
        }
        // SAFETY: the range lies in this reservation (asserted); pages gain access, none lose it.
        let returned = unsafe {
            libc::mprotect(
                std::ptr::with_exposed_provenance_mut(self.start + offset),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
            )
        };
        committed(returned, bytes)
    }

    /// Gives the memory of `bytes` from `offset` on back to the kernel; both are multiples of a
    /// page. It is zero when it is touched again. The caller holds no reference into it.
    /// Reserved pages stay: nobody else could have them.
    pub(crate) fn discard(&self, offset: usize, bytes: usize) {
        assert!(offset + bytes <= self.bytes, "inside the reservation");
        if self.access == Access::Reserved {
            return;
        }
        let start = std::ptr::with_exposed_provenance_mut(self.start + offset);
        // SAFETY: the range lies in this reservation (asserted), and nobody uses it: its blocks are
        // free. A kernel that refuses leaves it as it is, zero already.
        unsafe { libc::madvise(start, bytes, libc::MADV_DONTNEED) };
    }

    /// Faults in `bytes` from `offset` on and keeps them in memory. `offset` is a multiple of a
    /// page.
    pub(crate) fn populate_and_lock(
        &self,
        offset: usize,
        bytes: usize,
    ) -> Result<(), ReserveError> {
        assert!(offset + bytes <= self.bytes, "inside the reservation");
        let start = std::ptr::with_exposed_provenance_mut::<libc::c_void>(self.start + offset);
        // SAFETY: the range lies in this reservation (asserted); neither call changes content.
        let returned = unsafe {
            match libc::madvise(start, bytes, libc::MADV_POPULATE_WRITE) {
                0 => libc::mlock(start, bytes),
                failed => failed,
            }
        };
        committed(returned, bytes)
    }
}

/// What a call that makes `bytes` usable `returned`, right behind it.
fn committed(returned: i32, bytes: usize) -> Result<(), ReserveError> {
    match returned {
        0 => Ok(()),
        _ => Err(ReserveError::Commit {
            bytes,
            errno: Errno::last(),
        }),
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        // SAFETY: the range is this reservation's own; the maker of references into it owns it and
        // is gone.
        unsafe {
            libc::munmap(
                std::ptr::with_exposed_provenance_mut(self.start),
                self.bytes,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the kernel says of the mapping that holds `address`.
    fn mapping_of(address: usize) -> String {
        let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let holds = |line: &str| {
            let range = line.split(' ').next()?.split_once('-')?;
            let bound = |hex| usize::from_str_radix(hex, 16).ok();
            Some(bound(range.0)? <= address && address < bound(range.1)?)
        };
        let own = smaps.lines().skip_while(|line| holds(line) != Some(true));
        let mut lines = Vec::new();
        for line in own {
            lines.push(line);
            if line.starts_with("VmFlags") {
                break;
            }
        }
        lines.join("\n")
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri reserves no address space")]
    fn what_is_locked_is_there_and_asks_for_huge_pages() {
        const BYTES: usize = 4 << 20;
        let reservation = Reservation::new(0, 2 * BYTES, Access::None).unwrap();
        reservation.commit(0, BYTES).unwrap();
        if let Err(error) = reservation.populate_and_lock(0, BYTES) {
            eprintln!("not allowed to lock: {error}");
            return;
        }
        let mapping = mapping_of(reservation.start());
        for line in ["Rss:", "Locked:"] {
            let words = mapping.lines().find_map(|it| it.strip_prefix(line));
            let kib = words.unwrap().trim().trim_end_matches(" kB").parse();
            assert_eq!(kib, Ok(BYTES >> 10), "{line} of\n{mapping}");
        }
        reservation.touch_small_pages();
        let small = mapping_of(reservation.start());
        let has_huge_pages = std::path::Path::new("/sys/kernel/mm/transparent_hugepage").exists();
        assert_eq!(mapping.contains(" hg"), has_huge_pages, "{mapping}");
        assert_eq!(small.contains(" nh"), has_huge_pages, "{small}");
        assert!(!small.contains(" hg"), "{small}");
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri reserves no address space")]
    fn a_table_begins_with_small_pages_that_are_there_for_real_time_threads() {
        // A neighbour in the address space may count as the same mapping.
        let resident_kib = |mapping: &str| {
            let words = mapping.lines().find_map(|it| it.strip_prefix("Rss:"));
            let number = words.unwrap().trim().trim_end_matches(" kB");
            number.parse::<usize>().unwrap()
        };
        let table = Reservation::new(0, 2 * SMALL_BYTES, Access::ReadWrite).unwrap();
        let (first, second) = (table.start(), table.start() + SMALL_BYTES);
        assert!(!mapping_of(first).contains(" hg"), "{}", mapping_of(first));
        let has_huge_pages = std::path::Path::new("/sys/kernel/mm/transparent_hugepage").exists();
        assert_eq!(mapping_of(second).contains(" hg"), has_huge_pages);
        table.touch_small_pages();
        assert!(resident_kib(&mapping_of(first)) >= SMALL_BYTES >> 10);
    }

    /// Pages that nobody has been promised.
    fn reserved_pages_left() -> i64 {
        let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap();
        let count = |name: &str| {
            let words = meminfo.lines().find_map(|it| it.strip_prefix(name));
            words.map_or(0, |it| it.trim().parse::<i64>().unwrap())
        };
        count("HugePages_Free:") - count("HugePages_Rsvd:")
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri reserves no address space")]
    fn reserved_pages_are_the_mappings_own_or_it_is_refused() {
        let left = reserved_pages_left();
        match Reservation::new(0, RESERVED_BYTES, Access::Reserved) {
            Ok(reservation) => {
                reservation.commit(0, RESERVED_BYTES).unwrap();
                reservation.populate_and_lock(0, RESERVED_BYTES).unwrap();
                reservation.discard(0, 4096);
                let mapping = mapping_of(reservation.start());
                assert!(mapping.contains("Private_Hugetlb:    2048 kB"), "{mapping}");
            }
            Err(error) => assert_eq!(left, 0, "{error}"),
        }
    }
}
