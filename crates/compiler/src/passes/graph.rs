// SPDX-License-Identifier: Apache-2.0
//! [`Graph`]: how blocks lead to each other, which of them dominate which, and loops.

use std::collections::BTreeSet;

use ir::BlockId;

use super::Work;

/// Of a function as it is.
pub(super) struct Graph {
    /// By block: where its end leads, then its handler.
    successors: Vec<Vec<usize>>,
    pub(super) predecessors: Vec<Vec<usize>>,
    /// By block: its place in an order in which blocks come after those that lead to them, but for
    /// loops; none if nothing leads to it.
    ranks: Vec<Option<u32>>,
    /// By block: the closest that dominates it.
    dominators: Vec<usize>,
}

/// A loop with one entry.
#[derive(Debug)]
pub(super) struct Loop {
    /// Where it is entered.
    pub(super) head: BlockId,
    /// All its blocks, those before whose ways lead to them within an iteration: the head first.
    pub(super) blocks: Vec<BlockId>,
    /// Those that lead to the head.
    pub(super) latches: Vec<BlockId>,
}

impl Loop {
    pub(super) fn contains(&self, block: BlockId) -> bool {
        self.blocks.contains(&block)
    }
}

impl Graph {
    pub(super) fn new(work: &Work) -> Self {
        let count = work.function.blocks.len();
        let mut successors = vec![Vec::new(); count];
        let mut predecessors = vec![Vec::new(); count];
        for (index, block) in work.function.blocks.iter().enumerate() {
            let own: &mut Vec<usize> = &mut successors[index];
            if let Some(last) = block.insts.last() {
                last.op
                    .for_each_target(|target| own.push(target.0 as usize));
            }
            own.extend(block.handler.map(|it| it.0 as usize));
            own.sort_unstable();
            own.dedup();
            for &next in &*own {
                predecessors[next].push(index);
            }
        }
        let order = order(&successors, 0, |_| true);
        let mut ranks = vec![None; count];
        for (rank, &block) in (0..).zip(&order) {
            ranks[block] = Some(rank);
        }
        let dominators = dominators(&order, &ranks, &predecessors);
        Self {
            successors,
            predecessors,
            ranks,
            dominators,
        }
    }

    /// Whether every way to `block` goes through `by`.
    pub(super) fn dominates(&self, by: BlockId, block: BlockId) -> bool {
        let (by, mut block) = (by.0 as usize, block.0 as usize);
        if self.ranks[by].is_none() {
            return false;
        }
        while self.ranks[block] > self.ranks[by] {
            block = self.dominators[block];
        }
        block == by
    }

    /// Loops that hold no other, within which every way comes to an end.
    pub(super) fn innermost(&self) -> Vec<Loop> {
        let heads = self.heads();
        let mut all: Vec<Loop> = heads.iter().map(|&head| self.of(head)).collect();
        all.retain(|one| {
            let mut others = one.blocks.iter().filter(|&&block| block != one.head);
            others.all(|block| !heads.contains(block)) && self.ends(one)
        });
        all
    }

    /// All loops, each before those that it lies in.
    pub(super) fn all(&self) -> Vec<Loop> {
        let mut all: Vec<Loop> = self.heads().iter().map(|&head| self.of(head)).collect();
        all.sort_by_key(|one| one.blocks.len());
        all
    }

    /// Where loops are entered.
    fn heads(&self) -> BTreeSet<BlockId> {
        let mut heads = BTreeSet::new();
        for block in 0..self.successors.len() {
            for &head in &self.successors[block] {
                let (latch, head) = (BlockId(block as u32), BlockId(head as u32));
                if self.ranks[block].is_some() && self.dominates(head, latch) {
                    heads.insert(head);
                }
            }
        }
        heads
    }

    /// The loop with this head.
    fn of(&self, head: BlockId) -> Loop {
        let latches = self.predecessors[head.0 as usize].iter();
        let latches = latches.map(|&it| BlockId(it as u32));
        let latches: Vec<_> = latches
            .filter(|&it| self.ranks[it.0 as usize].is_some() && self.dominates(head, it))
            .collect();
        let mut inside = BTreeSet::from([head.0 as usize]);
        let mut pending: Vec<usize> = latches.iter().map(|it| it.0 as usize).collect();
        while let Some(block) = pending.pop() {
            if self.ranks[block].is_some() && inside.insert(block) {
                pending.extend(&self.predecessors[block]);
            }
        }
        let blocks = order(&self.successors, head.0 as usize, |it| inside.contains(&it));
        Loop {
            head,
            blocks: blocks.iter().map(|&it| BlockId(it as u32)).collect(),
            latches,
        }
    }

    /// Whether no way within an iteration is endless: each block leads to later ones alone.
    fn ends(&self, one: &Loop) -> bool {
        let mut places = vec![None; self.successors.len()];
        for (place, &block) in one.blocks.iter().enumerate() {
            places[block.0 as usize] = Some(place);
        }
        let head = one.head.0 as usize;
        one.blocks.iter().enumerate().all(|(place, block)| {
            let next = self.successors[block.0 as usize].iter();
            let mut next = next.filter(|&&it| it != head);
            next.all(|&it| places[it].is_none_or(|it| it > place))
        })
    }
}

/// Blocks that are reached from `start` by those that `is_inside` lets pass, each after those that
/// lead to it, but for loops.
fn order(successors: &[Vec<usize>], start: usize, is_inside: impl Fn(usize) -> bool) -> Vec<usize> {
    let mut is_seen = vec![false; successors.len()];
    is_seen[start] = true;
    let (mut path, mut done) = (vec![(start, 0)], Vec::new());
    while let Some((block, next)) = path.last_mut() {
        let Some(&successor) = successors[*block].get(*next) else {
            done.push(*block);
            path.pop();
            continue;
        };
        *next += 1;
        if is_inside(successor) && !is_seen[successor] {
            is_seen[successor] = true;
            path.push((successor, 0));
        }
    }
    done.reverse();
    done
}

/// Cooper, Harvey and Kennedy's way.
fn dominators(order: &[usize], ranks: &[Option<u32>], predecessors: &[Vec<usize>]) -> Vec<usize> {
    let mut found: Vec<Option<usize>> = vec![None; ranks.len()];
    found[0] = Some(0);
    let mut has_changed = true;
    while has_changed {
        has_changed = false;
        for &block in order.iter().skip(1) {
            let mut known = None;
            for &before in &predecessors[block] {
                if found[before].is_none() {
                    continue;
                }
                known = Some(known.map_or(before, |it| common(&found, ranks, it, before)));
            }
            has_changed |= found[block] != known;
            found[block] = known;
        }
    }
    found.into_iter().map(|it| it.unwrap_or(0)).collect()
}

fn common(found: &[Option<usize>], ranks: &[Option<u32>], one: usize, other: usize) -> usize {
    let (mut one, mut other) = (one, other);
    while one != other {
        if ranks[one] > ranks[other] {
            one = found[one].expect("it was reached");
        } else {
            other = found[other].expect("it was reached");
        }
    }
    one
}
