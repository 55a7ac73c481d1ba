// SPDX-License-Identifier: Apache-2.0
//! Blocks that find out which of several handlers takes an exception.

use rustc_hash::FxHashMap;

use crate::{Block, BlockId, Condition, Function, Inst, Op, Reg, Type};

/// Handlers of one place up to which its tests are its own. More of them come from ranges in
/// ranges, whose tests all end alike and are shared.
const OWN_MAX: usize = 8;

/// Tests that several places share.
#[derive(Default)]
pub(crate) struct Chains {
    /// Where they find the exception.
    caught: Option<Reg>,
    matches: Option<Reg>,
    /// By class, handler and the test behind it.
    tests: FxHashMap<(Option<u32>, BlockId, BlockId), BlockId>,
    /// Blocks that enter a handler.
    enters: FxHashMap<BlockId, BlockId>,
    /// By the handler that takes everything.
    rescues: FxHashMap<Option<BlockId>, Option<BlockId>>,
    /// Throws on what no test took.
    end: Option<BlockId>,
}

/// The handlers that cover a place, and what surrounds them.
pub(crate) struct Dispatch<'h> {
    pub(crate) at: u32,
    /// Class index, or none for everything, and block; asked in order.
    pub(crate) handlers: &'h [(Option<u32>, BlockId)],
    /// Where handlers find the exception.
    pub(crate) landing: Reg,
    /// What to do before the exception is thrown on.
    pub(crate) leave: Option<Op>,
    /// Who catches what the tests themselves throw.
    pub(crate) outer: Option<BlockId>,
    /// Whether a test that throws is one that fails, as in ART: an application may catch classes
    /// that are not there.
    pub(crate) passes_over: bool,
}

impl Dispatch<'_> {
    /// Adds the blocks to `function`; gives the first.
    pub(crate) fn build(self, function: &mut Function, chains: &mut Chains) -> BlockId {
        if self.handlers.len() > OWN_MAX {
            return self.build_shared(function, chains);
        }
        let first = function.block();
        let caught = function.register(Type::Ref);
        let rescue = self.rescue(function);
        let mut ops = vec![Op::Caught { dst: caught }];
        let mut current = first;
        for &(class, target) in self.handlers {
            let (dst, src) = (self.landing, caught);
            let enter = vec![Op::Move { dst, src }, Op::Jump { target }];
            let Some(index) = class else {
                ops.extend(enter);
                self.fill(function, current, ops, self.outer);
                return first;
            };
            let matches = function.register(Type::Int);
            let (then, otherwise) = (function.block(), function.block());
            ops.push(Op::InstanceOf {
                dst: matches,
                object: caught,
                index,
            });
            ops.push(Op::BranchZero {
                condition: Condition::NotEqual,
                src: matches,
                then,
                otherwise,
            });
            let failed = self.failed(function, otherwise);
            self.fill(function, current, ops, failed.or(rescue));
            self.fill(function, then, enter, rescue);
            (ops, current) = (Vec::new(), otherwise);
        }
        ops.extend(self.leave.clone());
        ops.push(Op::Throw { src: caught });
        // What is thrown on from here has left already.
        self.fill(function, current, ops, None);
        first
    }

    /// As [`Self::build`], with tests of other places where theirs end like these.
    fn build_shared(&self, function: &mut Function, chains: &mut Chains) -> BlockId {
        let caught = *chains
            .caught
            .get_or_insert_with(|| function.register(Type::Ref));
        let last = self.handlers.last().filter(|(class, _)| class.is_none());
        let rescues = &mut chains.rescues;
        let rescue = *rescues
            .entry(last.map(|&(_, target)| target))
            .or_insert_with(|| self.rescue(function));
        let mut next = self.end(function, chains, caught);
        for &(class, target) in self.handlers.iter().rev() {
            let key = (class, target, next);
            next = match chains.tests.get(&key) {
                Some(&known) => known,
                None => {
                    let test = self.test(function, chains, (class, target, next), rescue);
                    chains.tests.insert(key, test);
                    test
                }
            };
        }
        let first = function.block();
        let ops = vec![Op::Caught { dst: caught }, Op::Jump { target: next }];
        self.fill(function, first, ops, rescue);
        first
    }

    fn end(&self, function: &mut Function, chains: &mut Chains, caught: Reg) -> BlockId {
        *chains.end.get_or_insert_with(|| {
            let end = function.block();
            let mut ops: Vec<Op> = self.leave.iter().cloned().collect();
            ops.push(Op::Throw { src: caught });
            self.fill(function, end, ops, None);
            end
        })
    }

    fn test(
        &self,
        function: &mut Function,
        chains: &mut Chains,
        (class, target, otherwise): (Option<u32>, BlockId, BlockId),
        rescue: Option<BlockId>,
    ) -> BlockId {
        let (dst, object) = (self.landing, chains.caught.expect("made above"));
        let then = *chains.enters.entry(target).or_insert_with(|| {
            let then = function.block();
            let ops = vec![Op::Move { dst, src: object }, Op::Jump { target }];
            self.fill(function, then, ops, self.outer);
            then
        });
        let Some(index) = class else {
            return then;
        };
        let matches = *chains
            .matches
            .get_or_insert_with(|| function.register(Type::Int));
        let test = function.block();
        let ops = vec![
            Op::InstanceOf {
                dst: matches,
                object,
                index,
            },
            Op::BranchZero {
                condition: Condition::NotEqual,
                src: matches,
                then,
                otherwise,
            },
        ];
        let failed = self.failed(function, otherwise);
        self.fill(function, test, ops, failed.or(rescue));
        test
    }

    /// Where a test goes on that has thrown, if it goes on.
    fn failed(&self, function: &mut Function, otherwise: BlockId) -> Option<BlockId> {
        let pass = self.passes_over.then(|| function.block())?;
        let dst = function.register(Type::Ref);
        let ops = vec![Op::Caught { dst }, Op::Jump { target: otherwise }];
        self.fill(function, pass, ops, self.outer);
        Some(pass)
    }

    /// Who catches what the tests throw: the handler that takes everything, if there is one, so
    /// that what it gives back is given back.
    fn rescue(&self, function: &mut Function) -> Option<BlockId> {
        let target = match self.handlers {
            _ if self.passes_over => None,
            [(Some(_), _), ..] => self.handlers.iter().find(|(class, _)| class.is_none()),
            _ => None,
        };
        let Some(&(_, target)) = target else {
            return self.outer;
        };
        let (block, src) = (function.block(), function.register(Type::Ref));
        let dst = self.landing;
        let ops = vec![
            Op::Caught { dst: src },
            Op::Move { dst, src },
            Op::Jump { target },
        ];
        self.fill(function, block, ops, self.outer);
        Some(block)
    }

    fn fill(&self, function: &mut Function, id: BlockId, ops: Vec<Op>, handler: Option<BlockId>) {
        let insts = ops.into_iter().map(|op| Inst { at: self.at, op }).collect();
        function.blocks[id.0 as usize] = Block { insts, handler };
    }
}

/// Dead code keeps its block, so that block numbers stay what they are.
pub(crate) fn fill_unreached(function: &mut Function) {
    let unreached: Vec<usize> = (0..function.blocks.len())
        .filter(|&index| function.blocks[index].insts.is_empty())
        .collect();
    for index in unreached {
        let dst = function.register(Type::Ref);
        let ops = [Op::Null { dst }, Op::Throw { src: dst }];
        let insts = ops.map(|op| Inst { at: 0, op }).to_vec();
        function.blocks[index] = Block {
            insts,
            handler: None,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks that `count` ranges in ranges take, the innermost first.
    fn blocks(count: u32) -> usize {
        let mut function = Function::default();
        let landing = function.register(Type::Ref);
        let mut chains = Chains::default();
        let handlers: Vec<(Option<u32>, BlockId)> = (0..count)
            .map(|class| (Some(class), BlockId(class)))
            .collect();
        for _ in 0..count {
            function.block();
        }
        for inner in 0..count as usize {
            let dispatch = Dispatch {
                at: 0,
                handlers: &handlers[inner..],
                landing,
                leave: None,
                outer: None,
                passes_over: false,
            };
            dispatch.build(&mut function, &mut chains);
        }
        function.blocks.len()
    }

    #[test]
    fn ranges_in_ranges_share_their_tests() {
        let counts = [250, 500, 1000].map(blocks);
        let grows = |few: &usize, many: &usize| *many < 2 * few + few / 10;
        assert!(counts.is_sorted_by(grows), "{counts:?}");
    }
}
