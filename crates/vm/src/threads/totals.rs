// SPDX-License-Identifier: Apache-2.0
//! What all real-time threads of this process have done together, in a page that another process
//! may read: the starter of this one shows it. Each thread has a [`super::ledger`] of its own
//! besides.

use std::os::fd::IntoRawFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rt::memory::page_bytes;
use rt::shared::{Memfd, Region};

/// The words of the page, 8 bytes each, in this order.
#[derive(Clone, Copy)]
pub(crate) enum Total {
    Releases,
    Skipped,
    DeadlineMisses,
    CostOverruns,
}

/// Once somebody has asked for it. A copy of a process without one makes its own.
static PAGE: OnceLock<(Memfd, Region)> = OnceLock::new();

/// Counts, if somebody has asked for the page: one addition.
pub(crate) fn add(total: Total, count: u64) {
    if let Some((_, page)) = PAGE.get() {
        page.word::<AtomicU64>(total as usize * 8)
            .fetch_add(count, Ordering::Relaxed);
    }
}

fn page() -> Option<&'static Memfd> {
    if PAGE.get().is_none() {
        let memfd = Memfd::new(c"takt ledger", page_bytes()).ok()?;
        let region = memfd.map().ok()?;
        // Nobody else writes it. A faster one has made the same.
        memfd.seal_writes().ok()?;
        let _ = PAGE.set((memfd, region));
    }
    PAGE.get().map(|(memfd, _)| memfd)
}

/// A descriptor of the page, which is the caller's; -1 if there is none to be had.
#[unsafe(no_mangle)]
extern "C" fn Takt_ledgerPage() -> i32 {
    let copied = page().and_then(|it| rustix::io::fcntl_dupfd_cloexec(it, 0).ok());
    copied.map_or(-1, IntoRawFd::into_raw_fd)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_stands_in_the_page() {
        add(Total::Releases, 1);
        let page = page().expect("a page");
        let view = page.map_to_read().expect("a view");
        let before = view.load_long(16, Ordering::Relaxed);
        add(Total::DeadlineMisses, 2);
        assert_eq!(view.load_long(16, Ordering::Relaxed), before + 2);
    }
}
