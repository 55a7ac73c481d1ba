// SPDX-License-Identifier: Apache-2.0
//! The guard of real-time sections, in a program that installed its allocator. One test: the counts
//! are the process's.

use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rt::clock::{Clock, Monotonic, Virtual};
use rt::guard::{Breaches, GuardedAllocator, breaches, is_in_section};
use rt::section::RtSection;
use rt::sync::{Event, PiMutex};

#[global_allocator]
static ALLOCATOR: GuardedAllocator = GuardedAllocator::system();

/// What a section's body did: its panic's text in a debug build, and how the counts rose.
fn observe(body: impl FnOnce()) -> (String, Breaches) {
    let before = breaches();
    let result = catch_unwind(AssertUnwindSafe(|| RtSection::enter(|_| body())));
    assert!(!is_in_section(), "an unwound section is left");
    let text = result.map_or_else(
        |panic| panic.downcast_ref::<String>().cloned().unwrap_or_default(),
        |()| String::new(),
    );
    let after = breaches();
    let rise = Breaches {
        allocation_count: after.allocation_count - before.allocation_count,
        blocking_count: after.blocking_count - before.blocking_count,
    };
    (text, rise)
}

fn check(allocations: u64, blocking: u64, says: &str, body: impl FnOnce()) {
    let (text, rise) = observe(body);
    let expected = Breaches {
        allocation_count: allocations,
        blocking_count: blocking,
    };
    assert_eq!(rise, expected, "{text}");
    if cfg!(debug_assertions) && !says.is_empty() {
        assert!(
            text.contains(says) && text.contains("guard.rs"),
            "'{text}' does not say where"
        );
    } else {
        assert_eq!(text, "");
    }
}

/// Allocates for good.
fn keep<T>(value: T) {
    black_box(Box::leak(Box::new(value)));
}

#[test]
fn what_a_section_forbids_is_noticed() {
    let mutex = PiMutex::new(0);
    check(0, 0, "", || *mutex.lock() += 1);
    check(0, 0, "", || Virtual::at(0).sleep_until(9));
    check(1, 0, "allocation of 8 bytes", || keep(1_u64));
    check(2, 0, "allocation of 8 bytes", || {
        drop(black_box(Box::new(1_u64)));
    });
    let full = black_box(vec![1_u8; 64]);
    check(1, 0, "deallocation of 64 bytes", || drop(full));
    let mut full = black_box(vec![1_u8; 64]);
    check(1, 0, "reallocation of", || full.push(1));
    check(0, 1, "sleep", || Monotonic.sleep_until(0));
    check(0, 1, "futex wait", || {
        let _late = Event::<rt::sys::futex::Private>::new().wait_until(0);
    });
    // Nested sections are one.
    check(1, 0, "allocation of 16 bytes", || {
        RtSection::enter(|_| keep([0_u64; 2]));
    });
    // A panic in a section is that panic, though it allocates on its way.
    let (text, rise) = observe(|| panic!("{}", "its own"));
    assert_eq!((text.as_str(), rise), ("its own", Breaches::default()));
    // And outside nothing is forbidden.
    let before = breaches();
    drop(black_box(vec![1_u8; 4096]));
    Monotonic.sleep_until(0);
    assert_eq!(breaches(), before);
}
