// SPDX-License-Identifier: Apache-2.0
//! The locks of shared memory between two processes: inheritance across them, and a holder that is
//! killed.
//!
//! The other process is this program again, told its part by the environment.

mod inversion;

use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::process::{Child, Command, Stdio};
use std::ptr::NonNull;
use std::sync::atomic::AtomicI32;
use std::sync::atomic::Ordering::SeqCst;

use inversion::{Cues, Seen, Waiter, await_sleep, ordinary, play, stage};
use rt::clock::{Clock, Monotonic};
use rt::policy::Tid;
use rt::sync::shared_mutex::SharedLockError;
use rt::sync::{Loan, SharedCondvar, SharedMutex};
use rt::sys::futex::Shared;
use rt::thread::Builder;

/// Which part a child plays, and in which file.
const PART: &str = "RT_TEST_PART";
const FILE: &str = "RT_TEST_FILE";

/// What both processes map.
#[repr(C)]
struct Room {
    mutex: SharedMutex<u32>,
    condvar: SharedCondvar,
    loan: Loan<Shared>,
    cues: Cues,
    child_tid: AtomicI32,
}

/// Maps the room for the rest of the process; a fresh file is all zero.
fn map(file: &File) -> NonNull<Room> {
    // SAFETY: a new mapping at an address of the kernel's choice; it is never unmapped.
    let start = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            size_of::<Room>(),
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            0,
        )
    };
    assert_ne!(start, libc::MAP_FAILED);
    NonNull::new(start.cast()).unwrap()
}

/// A new room and its file, which goes with the returned value.
fn room() -> (&'static Room, tempfile::NamedTempFile) {
    let file =
        tempfile::NamedTempFile::new_in("/dev/shm").or_else(|_| tempfile::NamedTempFile::new());
    let file = file.unwrap();
    file.as_file().set_len(size_of::<Room>() as u64).unwrap();
    let room = map(file.as_file());
    // SAFETY:
    // 1. The mapping is page-aligned, writable, ours alone until a child starts, and stays.
    // 2. A number means the same everywhere, and all fields but the lock are valid when zero.
    unsafe {
        let lock = &raw mut (*room.as_ptr()).mutex;
        SharedMutex::place(NonNull::new(lock.cast()).unwrap(), 0).unwrap();
        (room.as_ref(), file)
    }
}

/// Starts this program in a part of [`child`].
fn start(part: &str, file: &tempfile::NamedTempFile) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--nocapture", "--quiet"]);
    command
        .env(PART, part)
        .env(FILE, file.path())
        .stdout(Stdio::null());
    command.spawn().unwrap()
}

/// The other process. Not a test of its own: without a part it returns.
#[test]
fn child() {
    let Ok(part) = std::env::var(PART) else {
        return;
    };
    let path = std::env::var_os(FILE).unwrap();
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .unwrap();
    // SAFETY: the parent has built the room before it started us, and the mapping stays.
    let room: &'static Room = unsafe { map(&file).as_ref() };
    let body = move || match part.as_str() {
        "hold" => {
            let _guard = room.mutex.lock().unwrap();
            room.cues.hold();
        }
        "notify and hold" => {
            let mut guard = room.mutex.lock().unwrap();
            *guard = 1;
            room.condvar.notify_one(&guard);
            room.cues.hold();
        }
        "serve" => {
            room.cues.hold();
            assert!(room.loan.give_back());
        }
        "die holding" => {
            let mut guard = room.mutex.lock().unwrap();
            *guard = 666;
            room.child_tid.store(Tid::current().raw(), SeqCst);
            Monotonic.sleep_until(u64::MAX);
        }
        "add" => *room.mutex.lock().unwrap() += 1,
        _ => panic!("no part is called '{part}'"),
    };
    if part_is_staged() {
        ordinary("child").spawn(body).unwrap().join();
    } else {
        body();
    }
}

/// Parts in an inversion run on the contended CPU as ordinary threads; the others need no
/// privilege.
fn part_is_staged() -> bool {
    !matches!(std::env::var(PART).unwrap().as_str(), "die holding" | "add")
}

fn assert_boosted(seen: &Seen, mut child: Child) {
    assert!(child.wait().unwrap().success());
    assert_eq!(seen.holder_shown, inversion::SHOWN_FIFO_80, "{seen:?}");
    assert!(seen.is_bounded, "the waiter waited for the hog: {seen:?}");
}

#[test]
fn a_shared_mutex_lends_across_processes() {
    let _stage = stage();
    let (room, file) = room();
    let child = start("hold", &file);
    let wait = || drop(room.mutex.lock().unwrap());
    let seen = play(&room.cues, Waiter::Starts(inversion::WAITER, wait)).unwrap();
    assert_boosted(&seen, child);
}

#[test]
fn a_shared_conditions_waiter_lends_on_its_way_back() {
    let _stage = stage();
    let (room, file) = room();
    let waiter = Builder::new("waiter").policy(inversion::WAITER).spawn(|| {
        let mut guard = room.mutex.lock().unwrap();
        while *guard == 0 {
            guard = room.condvar.wait(guard).unwrap();
        }
        inversion::went_on(&room.cues);
    });
    let waiter = waiter.unwrap();
    await_sleep(waiter.tid());
    let child = start("notify and hold", &file);
    let seen = play(&room.cues, Waiter::<fn()>::Waits).unwrap();
    waiter.join();
    assert_boosted(&seen, child);
}

#[test]
fn a_shared_loan_lends_to_the_serving_process() {
    let _stage = stage();
    let (room, file) = room();
    let child = start("serve", &file);
    let call = || {
        let server = room
            .cues
            .holder()
            .expect("the server is there before the call");
        room.loan.offer(server).unwrap().wait().unwrap();
    };
    let seen = play(&room.cues, Waiter::Starts(inversion::WAITER, call)).unwrap();
    assert_boosted(&seen, child);
}

#[test]
fn a_killed_holder_is_told_and_mended() {
    let (room, file) = room();
    // Killed with a waiter in the kernel, and without.
    for has_waiter in [true, false] {
        room.child_tid.store(0, SeqCst);
        let mut child = start("die holding", &file);
        while room.child_tid.load(SeqCst) == 0 {
            Monotonic.sleep_until(Monotonic.now_ns() + 500_000);
        }
        let next = Builder::new("next").spawn(move || {
            if !has_waiter {
                while room.child_tid.load(SeqCst) != -1 {
                    Monotonic.sleep_until(Monotonic.now_ns() + 500_000);
                }
            }
            let Err(SharedLockError::OwnerDied(mut repair)) = room.mutex.lock() else {
                panic!("the next holder must be told");
            };
            let found = std::mem::take(&mut *repair);
            drop(repair.mend());
            found
        });
        let next = next.unwrap();
        if has_waiter {
            await_sleep(next.tid());
        }
        child.kill().unwrap();
        child.wait().unwrap();
        room.child_tid.store(-1, SeqCst);
        assert_eq!(next.join(), 666);
        assert!(start("add", &file).wait().unwrap().success());
        assert_eq!(std::mem::take(&mut *room.mutex.lock().unwrap()), 1);
    }
}

#[test]
fn a_server_that_is_killed_is_told() {
    let (room, file) = room();
    let mut child = start("die holding", &file);
    while room.child_tid.load(SeqCst) == 0 {
        Monotonic.sleep_until(Monotonic.now_ns() + 500_000);
    }
    let server = Tid::new(room.child_tid.load(SeqCst)).unwrap();
    let call = move || room.loan.offer(server).unwrap().wait();
    let caller = Builder::new("caller").spawn(call).unwrap();
    await_sleep(caller.tid());
    child.kill().unwrap();
    assert_eq!(caller.join(), Err(rt::sync::lend::LendError::BorrowerDied));
    assert!(!room.loan.is_out());
    child.wait().unwrap();
}
