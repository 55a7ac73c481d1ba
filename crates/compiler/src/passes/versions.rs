// SPDX-License-Identifier: Apache-2.0
//! Loops over arrays in two versions.
//!
//! A guard before the loop proves that arrays are there and how far the loop's counter goes. Then
//! the fast version runs, which checks nothing of that; else the loop as it was. The guard decides
//! which version runs, and never throws: so exceptions come where and when they would.
//!
//! What the loop does not write is loaded by the guard: lengths, elements, and fields that are
//! plain.

use std::collections::{BTreeMap, BTreeSet};

use ir::{BinaryOp, BlockId, Condition, Inst, Op, Reg};
use rustc_hash::FxHashMap;

use super::counter::Counter;
use super::graph::{Graph, Loop};
use super::guard::Guard;
use super::symbol::{Same, Symbol, Symbols};
use super::{ADDED_MAX, Access, Asked, Work, retarget, unroll};

/// Instructions and calls of a loop, and arrays that its guard looks at.
const INSTS_MAX: usize = 120;
const CALLS_MAX: usize = 2;
const ARRAYS_MAX: usize = 8;

pub(super) fn make(work: &mut Work, asked: &mut dyn Asked) {
    let graph = Graph::new(work);
    for one in graph.innermost() {
        if !is_fit(work, &one) {
            continue;
        }
        let symbols = Symbols::new(work, &one, asked);
        let plan = Plan::new(work, &graph, &one, &symbols);
        if plan.is_worth_it() {
            plan.carry_out(work, &one, symbols);
        }
    }
}

fn is_fit(work: &Work, one: &Loop) -> bool {
    let insts = || one.blocks.iter().flat_map(|&it| work.insts(it));
    let count = insts().count();
    let calls = insts().filter(|inst| matches!(inst.op, Op::Invoke { .. }));
    let is_copied = |inst: &Inst| {
        !matches!(
            inst.op,
            Op::InvokeDynamic { .. }
                | Op::Load { .. }
                | Op::CheckReceiver { .. }
                | Op::MonitorEnter { .. }
                | Op::MonitorExit { .. }
                | Op::LocksBegin { .. }
                | Op::LockNoted { .. }
                | Op::UnlockNoted { .. }
                | Op::LocksReturn { .. }
                | Op::LocksUnwind { .. }
        )
    };
    count <= INSTS_MAX
        && work.added + count <= ADDED_MAX
        && calls.count() <= CALLS_MAX
        && insts().all(is_copied)
        && !matches!(work.insts(one.head)[0].op, Op::Caught { .. })
}

/// What the guard is to prove.
struct Plan {
    counter: Option<Counter>,
    /// Arrays that are accessed in each iteration.
    arrays: BTreeSet<u32>,
    /// By array: how far from the counter its indices are at most. Of them no test is made.
    offsets: BTreeMap<u32, i32>,
    /// How far from the counter any such index is at least.
    least: i32,
    /// Values that stay and are loaded in each iteration.
    loaded: BTreeSet<u32>,
    accesses: usize,
}

impl Plan {
    fn new(work: &Work, graph: &Graph, one: &Loop, symbols: &Symbols) -> Self {
        let mut plan = Self {
            counter: Counter::of(work, one, symbols),
            arrays: BTreeSet::new(),
            offsets: BTreeMap::new(),
            least: 0,
            loaded: BTreeSet::new(),
            accesses: 0,
        };
        for &block in &one.blocks {
            let in_each = one.latches.iter().all(|&it| graph.dominates(block, it));
            if !in_each {
                continue;
            }
            for (place, inst) in work.insts(block).iter().enumerate() {
                plan.look_at((block, place), &inst.op, one, symbols);
            }
        }
        plan
    }

    fn look_at(&mut self, at: (BlockId, usize), op: &Op, one: &Loop, symbols: &Symbols) {
        let (block, place) = at;
        if let Some((array, _)) = accessed(op, at, symbols) {
            self.arrays.insert(array);
            self.accesses += 1;
        }
        if let Some((array, offset)) = self.counted(op, at, one, symbols) {
            let found = self.offsets.entry(array).or_insert(offset);
            *found = offset.max(*found);
            self.least = self.least.min(offset);
        }
        if let Symbol::Same(number, 0) = symbols.written(block, place)
            && is_load(op)
            && !matches!(symbols.same[number as usize], Same::Reg(_))
        {
            self.loaded.insert(number);
        }
    }

    /// Array and distance from the counter, of an access whose index may be proven.
    fn counted(
        &self,
        op: &Op,
        at: (BlockId, usize),
        one: &Loop,
        symbols: &Symbols,
    ) -> Option<(u32, i32)> {
        let counter = self.counter.as_ref()?;
        let (array, index) = accessed(op, at, symbols)?;
        let Symbol::Start(reg, offset) = index else {
            return None;
        };
        // The head's own accesses come before its test.
        let may_be = reg == counter.reg && at.0 != one.head && counter.may_be_off_by(offset);
        if !may_be {
            return None;
        }
        let over = match counter.limit {
            Symbol::Same(limit, more)
                if !counter.is_down && symbols.same[limit as usize] == Same::Length(array) =>
            {
                more.saturating_add(counter.behind(offset))
            }
            _ => 0,
        };
        // It would be out of bounds in the last iteration.
        (over <= 0).then_some((array, offset))
    }

    fn is_worth_it(&self) -> bool {
        self.accesses > 0 && self.arrays.len() <= ARRAYS_MAX
    }

    fn carry_out(&self, work: &mut Work, one: &Loop, symbols: Symbols) {
        let mut guard = Guard::new(work, one, symbols);
        for &array in &self.arrays {
            guard.length(array);
        }
        for &value in &self.loaded {
            guard.value(value);
        }
        let counter = self.counter.as_ref().filter(|_| !self.offsets.is_empty());
        let mut several = None;
        if let Some(counter) = counter {
            let limit = self.count(&mut guard, counter);
            let is_small = guard.work.passes.unroll && guard.symbols.is_simple();
            let times = unroll::times(guard.work, one).filter(|_| is_small);
            several = times.map(|times| (times, guard.bound(counter, limit, times)));
        }
        let fast = guard.copies(one);
        let last = guard.blocks[guard.blocks.len() - 1];
        let target = fast[&one.head];
        guard.op(Op::Jump { target });
        let Guard {
            work,
            symbols,
            blocks,
            regs,
            lengths,
            ..
        } = guard;
        for (&old, &new) in &fast {
            self.mark(work, one, &symbols, (old, new), &regs, &lengths);
        }
        let first = blocks[0];
        for id in 0..work.function.blocks.len() {
            let id = BlockId(id as u32);
            if !one.contains(id) && !blocks.contains(&id) {
                let last = work.function.blocks[id.0 as usize].insts.last_mut();
                let map = |it| if it == one.head { first } else { it };
                retarget(&mut last.expect("a terminator").op, map);
            }
        }
        let mut blocks = blocks;
        if let (Some(counter), Some(several)) = (counter, several) {
            let more = unroll::make(work, one, &fast, counter, several);
            let map = |_| more[0];
            let jump = work.function.blocks[last.0 as usize].insts.last_mut();
            retarget(&mut jump.expect("a terminator").op, map);
            blocks.extend(more);
        }
        let ranks = work.ranks();
        let mut own = one.blocks.clone();
        own.sort_unstable_by_key(|it| ranks[it.0 as usize]);
        for &block in &own {
            work.rare[block.0 as usize] = true;
        }
        let fast = own.iter().map(|it| fast[it]);
        work.place_before(one.head, blocks.into_iter().chain(fast));
        work.has_changed = true;
    }

    /// Proves the range of the counter; gives back the limit's register.
    fn count(&self, guard: &mut Guard<'_>, counter: &Counter) -> Reg {
        let least = -self.least;
        let limit = guard.reg_of(counter.limit);
        let start = counter.reg;
        if counter.is_down {
            // The last value is the limit, or one more.
            let least = least - i32::from(!counter.is_inclusive);
            guard.at_least(counter.limit, limit, least);
        } else {
            guard.at_least(Symbol::Unknown, start, least);
            if counter.is_exact {
                guard.slow_if(Condition::Greater, start, limit);
            }
            self.no_overflow(guard, counter, limit);
        }
        for (&array, &offset) in &self.offsets {
            let length = guard.length(array);
            if counter.is_down {
                let end = guard.less(length, offset);
                guard.slow_if(Condition::GreaterEqual, start, end);
                continue;
            }
            let is_own = match counter.limit {
                Symbol::Same(limit, _) => guard.symbols.same[limit as usize] == Same::Length(array),
                _ => false,
            };
            if !is_own {
                let end = guard.less(length, counter.behind(offset));
                guard.slow_if(Condition::Greater, limit, end);
            }
        }
        limit
    }

    /// The counter never gets from the limit to a value that is less.
    fn no_overflow(&self, guard: &mut Guard<'_>, counter: &Counter, limit: Reg) {
        let most = match counter.step {
            Symbol::Int(1) if !counter.is_inclusive => return,
            Symbol::Int(step) => guard.int(i32::MAX - step),
            step => {
                let step = guard.reg_of(step);
                guard.at_least(Symbol::Unknown, step, 1);
                let most = guard.int(i32::MAX);
                guard.binary(BinaryOp::Sub, most, step)
            }
        };
        guard.slow_if(Condition::Greater, limit, most);
    }

    /// Says in the fast version of a block what the guard has proven.
    fn mark(
        &self,
        work: &mut Work,
        one: &Loop,
        symbols: &Symbols,
        (old, new): (BlockId, BlockId),
        regs: &FxHashMap<u32, Reg>,
        lengths: &FxHashMap<u32, Reg>,
    ) {
        for place in 0..work.insts(new).len() {
            let op = work.insts(new)[place].op.clone();
            let at = (old, place);
            if let (true, Symbol::Same(number, 0)) = (is_load(&op), symbols.written(old, place))
                && let (Some(&src), Some(dst)) = (regs.get(&number), op.written())
            {
                let own = &mut work.function.blocks[new.0 as usize].insts[place];
                own.op = Op::Move { dst, src };
                continue;
            }
            let Some((array, _)) = accessed(&op, at, symbols) else {
                continue;
            };
            let Some(&length) = lengths.get(&array) else {
                continue;
            };
            if let Op::ArrayLength { dst, .. } = op {
                let own = &mut work.function.blocks[new.0 as usize].insts[place];
                own.op = Op::Move { dst, src: length };
                continue;
            }
            let counted = self.counted(&op, at, one, symbols);
            let is_in_bounds = counted.is_some_and(|(array, offset)| {
                let most = self.offsets.get(&array);
                self.least <= offset && most.is_some_and(|&most| offset <= most)
            });
            let access = Access {
                length,
                is_in_bounds,
            };
            work.mark(new, place, access);
        }
    }
}

/// An array that stays and the index into it, of an access.
fn accessed(op: &Op, at: (BlockId, usize), symbols: &Symbols) -> Option<(u32, Symbol)> {
    let is_access = matches!(
        op,
        Op::ArrayLoad { .. } | Op::ArrayStore { .. } | Op::ArrayLength { .. }
    );
    match symbols.operands(at.0, at.1).filter(|_| is_access)? {
        (Symbol::Same(array, 0), index) => Some((array, index)),
        _ => None,
    }
}

fn is_load(op: &Op) -> bool {
    matches!(
        op,
        Op::ArrayLoad { .. } | Op::ArrayLength { .. } | Op::GetField { .. } | Op::GetStatic { .. }
    )
}
