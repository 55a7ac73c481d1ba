// SPDX-License-Identifier: Apache-2.0
//! [`Superpages`]: how much of the heap, and of windows' pixels, the kernel has put into pages of
//! 2 MiB. Read at the end, or for who attaches and asks: who reads smaps keeps others of the
//! process from changing what is mapped.

use std::fs::File;
use std::io::{BufRead, BufReader};

use abi::address_map::{CEILING, HEAP_START};

/// A window's buffers, as `crates/screen` names their files.
const WINDOW: &str = "/memfd:window";

/// Of the heap's mappings and of windows'.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Superpages {
    heap: Amount,
    windows: Amount,
}

/// Of some mappings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Amount {
    in_memory_kib: u64,
    granted_kib: u64,
}

impl Superpages {
    /// Of this process; none where there is no /proc.
    pub(crate) fn of_process() -> Option<Self> {
        let smaps = File::open("/proc/self/smaps").ok()?;
        Some(Self::read(BufReader::new(smaps)))
    }

    fn read(smaps: impl BufRead) -> Self {
        let (mut found, mut others) = (Self::default(), Amount::default());
        let mut kind = Kind::Other;
        for line in smaps.lines().map_while(Result::ok) {
            match Kind::of(&line) {
                Some(begun) => kind = begun,
                None => match kind {
                    Kind::Heap => &mut found.heap,
                    Kind::Window => &mut found.windows,
                    Kind::Other => &mut others,
                }
                .add(&line),
            }
        }
        found
    }

    pub(crate) fn text(self) -> String {
        let mut text = self.heap.text("heap");
        if self.windows != Amount::default() {
            text += &format!("\n{}", self.windows.text("windows"));
        }
        text
    }

    /// Fields of an object.
    pub(crate) fn json(self) -> String {
        format!(
            "\"heap_memory\": {},\n\"window_memory\": {},\n",
            self.heap.json(),
            self.windows.json()
        )
    }
}

impl Amount {
    fn add(&mut self, line: &str) {
        let Some((name, value)) = line.split_once(':') else {
            return;
        };
        let kib = || value.trim().trim_end_matches(" kB").parse().unwrap_or(0);
        match name {
            "Rss" => self.in_memory_kib += kib(),
            "AnonHugePages" | "ShmemPmdMapped" => self.granted_kib += kib(),
            // Reserved pages; `Rss` leaves them out.
            "Private_Hugetlb" => {
                self.in_memory_kib += kib();
                self.granted_kib += kib();
            }
            _ => {}
        }
    }

    fn text(self, of: &str) -> String {
        let (all, granted) = (self.in_memory_kib, self.granted_kib);
        format!("{of} in memory: {all} KiB, {granted} KiB of it in superpages")
    }

    fn json(self) -> String {
        let (all, granted) = (self.in_memory_kib, self.granted_kib);
        format!("{{\"in_memory_kib\": {all}, \"superpages_kib\": {granted}}}")
    }
}

/// What a mapping is.
#[derive(Clone, Copy)]
enum Kind {
    Heap,
    Window,
    Other,
}

impl Kind {
    /// If this line begins a mapping.
    fn of(line: &str) -> Option<Self> {
        let start = start_of(line)?;
        if (u64::from(HEAP_START)..u64::from(CEILING)).contains(&start) {
            return Some(Self::Heap);
        }
        Some(match line.contains(WINDOW) {
            true => Self::Window,
            false => Self::Other,
        })
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
    fn mappings_of_the_heap_and_of_windows_are_added_up_and_no_others() {
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
50000000-50400000 rw-p 00000000 00:10 9 /anon_hugepage (deleted)
Rss:                   0 kB
Private_Hugetlb:    4096 kB
7f0000000000-7f0000001000 rw-p 00000000 00:00 0
Rss:                   4 kB
AnonHugePages:      2048 kB
7f0000100000-7f0000900000 rw-s 00000000 00:01 7 /memfd:window (deleted)
Rss:                8192 kB
ShmemPmdMapped:     6144 kB
";
        let found = Superpages::read(smaps.as_bytes());
        assert_eq!(
            found.text(),
            "heap in memory: 8193 KiB, 6144 KiB of it in superpages\n\
             windows in memory: 8192 KiB, 6144 KiB of it in superpages"
        );
        let json = found.json();
        assert!(
            json.ends_with("{\"in_memory_kib\": 8192, \"superpages_kib\": 6144},\n"),
            "{json}"
        );
    }
}
