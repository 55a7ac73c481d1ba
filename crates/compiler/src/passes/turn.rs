// SPDX-License-Identifier: Apache-2.0
//! Loops whose test is at their end.
//!
//! `while (test) body` becomes `if (test) do body while (test)`: one jump less in each iteration.
//! The test is small, and stands there twice.

use ir::{BlockId, Op};

use super::graph::{Graph, Loop};
use super::{ADDED_MAX, Work};

/// Instructions of a head that is copied, and ends of a loop it is copied to.
const INSTS_MAX: usize = 12;
const LATCHES_MAX: usize = 2;

pub(super) fn make(work: &mut Work) {
    let graph = Graph::new(work);
    for one in graph.all() {
        if is_fit(work, &one) {
            turn(work, &one);
        }
    }
}

fn is_fit(work: &Work, one: &Loop) -> bool {
    let insts = work.insts(one.head);
    let leaves = |op: &Op| match *op {
        Op::Branch {
            then, otherwise, ..
        }
        | Op::BranchZero {
            then, otherwise, ..
        } => one.contains(then) != one.contains(otherwise),
        _ => false,
    };
    let is_cheap = |op: &Op| {
        !op.may_throw()
            || matches!(
                op,
                Op::ArrayLength { .. }
                    | Op::ArrayLoad { .. }
                    | Op::GetField { .. }
                    | Op::GetStatic { .. }
            )
            || op.is_terminator()
    };
    let is_alone = one.latches.contains(&one.head);
    !is_alone
        && !work.rare[one.head.0 as usize]
        && insts.len() <= INSTS_MAX
        && work.added + insts.len() * LATCHES_MAX <= ADDED_MAX
        && one.latches.len() <= LATCHES_MAX
        && leaves(work.last(one.head))
        && insts.iter().all(|inst| is_cheap(&inst.op))
        && !matches!(insts[0].op, Op::Caught { .. })
        && one.latches.iter().all(|&it| is_end(work, one, it))
}

/// Whether the head's instructions may stand at a latch's end.
fn is_end(work: &Work, one: &Loop, latch: BlockId) -> bool {
    let is_same = work.handler(latch) == work.handler(one.head);
    let throws = work.insts(one.head).iter().any(|inst| inst.op.may_throw());
    matches!(work.last(latch), Op::Jump { .. })
        && (is_same || (!throws && work.handler(one.head).is_none()))
}

fn turn(work: &mut Work, one: &Loop) {
    for &latch in &one.latches {
        let head = work.insts(one.head).to_vec();
        work.function.blocks[latch.0 as usize].insts.pop();
        let start = work.insts(latch).len();
        for place in 0..head.len() {
            if let Some(access) = work.access(one.head, place) {
                work.mark(latch, start + place, access);
            }
        }
        work.added += head.len();
        work.function.blocks[latch.0 as usize].insts.extend(head);
    }
    work.has_changed = true;
}
