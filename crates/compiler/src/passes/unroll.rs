// SPDX-License-Identifier: Apache-2.0
//! Several iterations of a small loop in one, without tests or polls between them.
//!
//! Only of loops that count, and whose body is one block. A loop before the fast one takes so many
//! iterations at once while as many are left; the fast one does the rest.

use ir::{BlockId, Inst, Op, Reg};
use rustc_hash::FxHashMap;

use super::Work;
use super::counter::Counter;
use super::graph::Loop;

/// Operations of an iteration, moves and constants left out, for four at once and for two.
const FOUR_MAX: usize = 20;
const TWO_MAX: usize = 40;

/// How many iterations are made at once, if more than one.
pub(super) fn times(work: &Work, one: &Loop) -> Option<i32> {
    let &[head, body] = &one.blocks[..] else {
        return None;
    };
    let insts = work.insts(head).iter().chain(work.insts(body));
    let is_work = |inst: &&Inst| {
        !matches!(
            inst.op,
            Op::Move { .. }
                | Op::Int { .. }
                | Op::Long { .. }
                | Op::Float { .. }
                | Op::Double { .. }
        )
    };
    let is_straight =
        matches!(work.last(body), Op::Jump { .. }) && work.handler(head) == work.handler(body);
    let is_long = |inst: &Inst| matches!(inst.op, Op::FillArray { .. });
    let is_short = !insts.clone().any(is_long);
    let count = insts.filter(is_work).count();
    if !is_straight || !is_short || count > TWO_MAX {
        return None;
    }
    Some(if count <= FOUR_MAX { 4 } else { 2 })
}

/// A loop of `times` iterations at once, that ends where the counter meets `bound`; its blocks.
/// `fast` are the blocks that do the rest.
pub(super) fn make(
    work: &mut Work,
    one: &Loop,
    fast: &FxHashMap<BlockId, BlockId>,
    counter: &Counter,
    (times, bound): (i32, Reg),
) -> [BlockId; 2] {
    let [head, body] = [work.block(), work.block()];
    let own = [0, 1].map(|it| fast[&one.blocks[it]]);
    let at = work.insts(own[0])[0].at;
    let test = counter.test(bound, body, own[0]);
    let mut insts = Vec::new();
    for _ in 0..times {
        for block in own {
            let count = work.insts(block).len() - 1;
            for place in 0..count {
                if let Some(access) = work.access(block, place) {
                    work.mark(body, insts.len() + place, access);
                }
            }
            insts.extend_from_slice(&work.insts(block)[..count]);
        }
    }
    let jump = Op::Jump { target: head };
    insts.push(Inst { at, op: jump });
    work.added += insts.len();
    let blocks = &mut work.function.blocks;
    blocks[body.0 as usize].handler = blocks[own[1].0 as usize].handler;
    blocks[body.0 as usize].insts = insts;
    blocks[head.0 as usize].insts = vec![Inst { at, op: test }];
    [head, body]
}
