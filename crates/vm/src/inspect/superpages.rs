// SPDX-License-Identifier: Apache-2.0
//! [`Superpages`]: how much of the heap the kernel has put into pages of 2 MiB. Read at the end
//! alone: who reads smaps keeps others of the process from changing what is mapped.

use std::fs::File;
use std::io::{BufRead, BufReader};

use abi::address_map::{CEILING, HEAP_START};

/// Of the heap's mappings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Superpages {
    in_memory_kib: u64,
    granted_kib: u64,
}

impl Superpages {
    /// Of this process; none where there is no /proc.
    pub(crate) fn of_heap() -> Option<Self> {
        let smaps = File::open("/proc/self/smaps").ok()?;
        Some(Self::read(BufReader::new(smaps)))
    }

    fn read(smaps: impl BufRead) -> Self {
        let mut found = Self::default();
        let mut is_heap = false;
        for line in smaps.lines().map_while(Result::ok) {
            if let Some(start) = start_of(&line) {
                is_heap = u64::from(HEAP_START) <= start && start < u64::from(CEILING);
            } else if is_heap {
                found.add(&line);
            }
        }
        found
    }

    fn add(&mut self, line: &str) {
        let Some((name, value)) = line.split_once(':') else {
            return;
        };
        let kib = || value.trim().trim_end_matches(" kB").parse().unwrap_or(0);
        match name {
            "Rss" => self.in_memory_kib += kib(),
            "AnonHugePages" => self.granted_kib += kib(),
            _ => {}
        }
    }

    pub(crate) fn text(self) -> String {
        format!(
            "heap in memory: {} KiB, {} KiB of it in superpages",
            self.in_memory_kib, self.granted_kib
        )
    }

    pub(crate) fn json(self) -> String {
        format!(
            "{{\"in_memory_kib\": {}, \"superpages_kib\": {}}}",
            self.in_memory_kib, self.granted_kib
        )
    }
}

/// The first address, if this line begins a mapping.
fn start_of(line: &str) -> Option<u64> {
    let (start, end) = line.split(' ').next()?.split_once('-')?;
    u64::from_str_radix(end, 16).ok()?;
    u64::from_str_radix(start, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_of_the_heap_are_added_up_and_no_others() {
        let smaps = "\
10000000-10001000 rw-p 00000000 00:00 0
Rss:                   4 kB
AnonHugePages:      2048 kB
VmFlags: rd wr hg
20000000-20400000 rw-p 00000000 00:00 0
Rss:                4096 kB
AnonHugePages:      2048 kB
VmFlags: rd wr mr mw me nr hg sd
20400000-30000000 ---p 00000000 00:00 0
Rss:                   1 kB
AnonHugePages:         0 kB
VmFlags: mr mw me nr nh
7f0000000000-7f0000001000 rw-p 00000000 00:00 0
Rss:                   4 kB
AnonHugePages:      2048 kB
";
        let found = Superpages::read(smaps.as_bytes());
        let wanted = Superpages {
            in_memory_kib: 4097,
            granted_kib: 2048,
        };
        assert_eq!(found, wanted);
        assert_eq!(
            found.text(),
            "heap in memory: 4097 KiB, 2048 KiB of it in superpages"
        );
    }
}
