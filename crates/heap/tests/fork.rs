// SPDX-License-Identifier: Apache-2.0
//! A heap that is filled in one process and collected in its forked children. A test of its own:
//! the process must have
//! one thread when it forks, so there is no test harness.

mod support;

use heap::{CollectorKind, Local, Mutator, Running};
use support::{ID, Kinds, SLOTS, reserve};

const NODES: u32 = 2000;

fn fill(mutator: &mut Mutator, kinds: Kinds) -> Local {
    let first = mutator.alloc(kinds.node).expect("there is room");
    let root = mutator.local(first);
    for id in 1..NODES {
        let node = mutator.alloc(kinds.node).expect("there is room");
        mutator.write_u32(node, ID, id);
        let head = mutator.get(root);
        mutator.write(node, node.slot(SLOTS[0]), head);
        mutator.set(root, node);
        // Nobody keeps this one.
        mutator.alloc(kinds.node).expect("there is room");
    }
    root
}

/// How many nodes hang on the root, if their numbers are in order.
fn length(mutator: &Mutator, root: Local) -> Option<u32> {
    let mut node = mutator.get(root);
    let mut count = 0;
    while !node.is_null() {
        let is_right = mutator.read_u32(node, ID) == NODES - 1 - count;
        if !is_right {
            return None;
        }
        node = mutator.read(node.slot(SLOTS[0]));
        count += 1;
    }
    Some(count)
}

/// What a forked child does: its exit code.
fn child(running: &Running, mutator: &mut Mutator, kinds: Kinds, root: Local) -> i32 {
    mutator.note_fork();
    if running.begin().is_err() {
        return 1;
    }
    let heap = running.heap().clone();
    for _ in 0..3 {
        mutator.collect_full();
    }
    if heap.counters().freed_objects.get() != u64::from(NODES) - 1 {
        return 2;
    }
    // More than the heap holds: the collector must keep up.
    for _ in 0..1_000_000 {
        if mutator.alloc(kinds.node).is_err() {
            return 3;
        }
    }
    match length(mutator, root) {
        Some(NODES) => 0,
        _ => 4,
    }
}

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task")
        .expect("it is there")
        .count()
}

/// Runs `body` in a copy of this process, which has one thread; how the copy has ended.
fn in_child(body: impl FnOnce() -> i32) -> i32 {
    // SAFETY: 1. The process has one thread, so the child may do whatever its parent may.
    let pid = unsafe { libc::fork() };
    assert!(pid >= 0, "fork failed");
    if pid == 0 {
        let code = body();
        // SAFETY: 1. _exit has no preconditions.
        unsafe { libc::_exit(code) };
    }
    let mut status = -1;
    // SAFETY: 1. `status` is writable and `pid` is ours.
    unsafe { libc::waitpid(pid, &raw mut status, 0) };
    status
}

/// A collector that has come to rest goes on in each child where it was, and in the parent.
fn rested(kind: CollectorKind) {
    let running = reserve(kind, 16 << 20, |_| {});
    let kinds = Kinds::new(&running);
    let mut mutator = running.attach(false, &[]);
    let root = fill(&mut mutator, kinds);
    running.begin().expect("it begins");
    mutator.collect_full();
    mutator.native(|| running.rest());
    assert_eq!(running.counters().freed_objects.get(), u64::from(NODES) - 1);
    assert_eq!(threads(), 1, "a collector at rest has no thread");
    // What the first collector has freed the child's does not free again.
    let status = in_child(|| child(&running, &mut mutator, kinds, root));
    assert_eq!(status, 0, "{kind:?}");
    running.begin().expect("the parent goes on too");
    mutator.collect_full();
    assert_eq!(length(&mutator, root), Some(NODES), "{kind:?}");
    drop(mutator);
}

fn main() {
    for kind in [CollectorKind::Rc, CollectorKind::Stw] {
        rested(kind);
        let running = reserve(kind, 16 << 20, |_| {});
        let kinds = Kinds::new(&running);
        let mut mutator = running.attach(false, &[]);
        let root = fill(&mut mutator, kinds);
        // Nobody collects yet, and nobody waits for it for ever.
        mutator.collect_full();
        assert_eq!(running.counters().freed_objects.get(), 0);
        assert_eq!(threads(), 1, "a heap that was reserved has no thread");
        for _ in 0..2 {
            let status = in_child(|| child(&running, &mut mutator, kinds, root));
            assert_eq!(status, 0, "{kind:?}");
        }
        // What the children did is theirs.
        assert_eq!(length(&mutator, root), Some(NODES), "{kind:?}");
        assert_eq!(running.counters().freed_objects.get(), 0);
        running.begin().expect("the parent may collect too");
        mutator.collect_full();
        assert_eq!(running.counters().freed_objects.get(), u64::from(NODES) - 1);
        drop(mutator);
    }
}
