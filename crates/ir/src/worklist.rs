// SPDX-License-Identifier: Apache-2.0
//! [`Worklist`]: the blocks that a data flow has to look at again.

use std::collections::BTreeSet;

use crate::{BlockId, Function};

/// Gives each block after those that lead to it, as far as loops let it: so most are looked at
/// once.
#[derive(Debug)]
pub struct Worklist {
    /// Place of each block in that order; the last one for those that are never reached.
    ranks: Vec<u32>,
    order: Vec<BlockId>,
    pending: BTreeSet<u32>,
}

impl Worklist {
    /// With the entry in it.
    pub fn new(function: &Function) -> Self {
        let mut order = ends(function);
        order.reverse();
        let mut ranks = vec![u32::MAX; function.blocks.len()];
        for (rank, block) in order.iter().enumerate() {
            ranks[block.0 as usize] = rank as u32;
        }
        Self {
            ranks,
            order,
            pending: BTreeSet::from([0]),
        }
    }

    /// A block that the entry leads to is to be looked at.
    pub fn push(&mut self, block: BlockId) {
        self.pending.insert(self.ranks[block.0 as usize]);
    }

    /// The first of those to be looked at.
    pub fn pop(&mut self) -> Option<BlockId> {
        let rank = self.pending.pop_first()?;
        Some(self.order[rank as usize])
    }
}

/// Blocks that the entry leads to, in the order in which a walk in depth leaves them.
fn ends(function: &Function) -> Vec<BlockId> {
    let targets = |block: BlockId| {
        let block = &function.blocks[block.0 as usize];
        let mut targets: Vec<BlockId> = block.handler.into_iter().collect();
        if let Some(last) = block.insts.last() {
            last.op.for_each_target(|target| targets.push(target));
        }
        targets
    };
    let mut is_seen = vec![false; function.blocks.len()];
    is_seen[0] = true;
    let (mut order, mut path) = (Vec::new(), vec![(BlockId(0), targets(BlockId(0)))]);
    while let Some((block, left)) = path.last_mut() {
        match left.pop() {
            Some(next) if is_seen[next.0 as usize] => {}
            Some(next) => {
                is_seen[next.0 as usize] = true;
                path.push((next, targets(next)));
            }
            None => {
                order.push(*block);
                path.pop();
            }
        }
    }
    order
}
