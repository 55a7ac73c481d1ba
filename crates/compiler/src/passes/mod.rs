// SPDX-License-Identifier: Apache-2.0
//! Passes from IR to IR, before a method is lowered: [`improve`].
//!
//! `late` moves where objects are made; the others are about loops and null. `graph` finds loops,
//! and `symbol` says what their registers hold. `versions` makes a second version of a loop,
//! without checks, behind a guard that proves them; `turn` puts a loop's test at its end. What
//! comes out is IR again, with [`Marks`] beside it: what is proven of its instructions and cannot
//! be said in IR.

mod counter;
#[cfg(test)]
mod golden;
mod graph;
mod guard;
mod late;
mod nulls;
mod symbol;
#[cfg(test)]
mod tests;
mod turn;
mod unroll;
mod versions;

use std::fmt;

use rustc_hash::FxHashMap;

use ir::{BlockId, Function, Inst, Op, Reg};

/// Which passes are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passes {
    /// A second version of loops over arrays, without checks.
    pub versions: bool,
    /// Of small ones of them, several iterations at once.
    pub unroll: bool,
    /// Tests of loops at their end.
    pub turn: bool,
    /// What is not null is known beyond a block.
    pub nulls: bool,
    /// Objects are made when their constructor is called.
    pub late: bool,
    /// What fields hold is known within a block.
    pub fields: bool,
    /// Objects that only one method sees are values.
    pub scalars: bool,
}

impl Passes {
    /// All of them.
    pub const ALL: Self = Self {
        versions: true,
        unroll: true,
        turn: true,
        nulls: true,
        late: true,
        fields: true,
        scalars: true,
    };

    /// All but those that `list` names: `-versions,-nulls`; nothing if it names another.
    pub fn all_but(list: &str) -> Option<Self> {
        let mut passes = Self::ALL;
        for name in list.split(',') {
            match name {
                "-versions" => passes.versions = false,
                "-unroll" => passes.unroll = false,
                "-turn" => passes.turn = false,
                "-fields" => passes.fields = false,
                "-nulls" => passes.nulls = false,
                "-late" => passes.late = false,
                "-scalars" => passes.scalars = false,
                _ => return None,
            }
        }
        Some(passes)
    }
}

/// What is proven of an access to an array: the array is not null, and more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    /// The register that holds the array's length.
    pub(crate) length: Reg,
    /// The index is below the length.
    pub(crate) is_in_bounds: bool,
}

/// What is proven of a function beside its IR.
#[derive(Clone, Debug, Default)]
pub(crate) struct Marks {
    /// By block and place of an instruction in it.
    accesses: FxHashMap<(BlockId, u32), Access>,
    /// Blocks that are rarely reached: loops whose guard failed.
    rare: Vec<bool>,
    /// By block: registers that are not null at its start.
    non_null: Vec<Vec<Reg>>,
}

impl Marks {
    pub(crate) fn access(&self, block: BlockId, place: usize) -> Option<Access> {
        self.accesses.get(&(block, place as u32)).copied()
    }

    /// Registers that are not null at the start of a block.
    pub(crate) fn non_null(&self, block: BlockId) -> impl Iterator<Item = Reg> + '_ {
        self.non_null
            .get(block.0 as usize)
            .into_iter()
            .flatten()
            .copied()
    }

    pub(crate) fn is_rare(&self, block: BlockId) -> bool {
        self.rare.get(block.0 as usize) == Some(&true)
    }

    /// `function` as text, with what is proven of it.
    pub(crate) fn shown<'a>(&'a self, function: &'a Function) -> impl fmt::Display + 'a {
        function.noted(|block, place| match place {
            Some(place) => self.access(block, place).map(|access| {
                let bounds = if access.is_in_bounds {
                    ", in bounds"
                } else {
                    ""
                };
                format!("length {}{bounds}", access.length)
            }),
            None => {
                let rare = self.is_rare(block).then(|| "rare".to_owned());
                let regs: Vec<_> = self.non_null(block).map(|reg| reg.to_string()).collect();
                let some = (!regs.is_empty()).then(|| format!("not null {}", regs.join(" ")));
                let notes: Vec<_> = rare.into_iter().chain(some).collect();
                (!notes.is_empty()).then(|| notes.join(", "))
            }
        })
    }
}

/// What the passes ask. The same is asked again where a function is lowered.
pub(crate) trait Asked {
    /// Whether a field is resolved, and neither volatile nor the collector's.
    fn is_plain(&mut self, field: FieldUse) -> bool;
    /// Whether an object of a class may be made here or a little later: the class is initialised,
    /// and has no finaliser.
    fn is_ready(&mut self, class: u32) -> bool;
}

/// A use of a field.
#[derive(Clone, Copy)]
pub(crate) struct FieldUse {
    pub(crate) index: u32,
    pub(crate) is_static: bool,
    pub(crate) is_write: bool,
}

/// Blocks and registers beyond which a function is left as it is, and instructions that passes may
/// add to one: so they cost little time and little code.
const BLOCKS_MAX: usize = 300;
const REGISTERS_MAX: usize = 2_000;
const ADDED_MAX: usize = 600;

/// The function improved, if it does not stay as it is, and what is proven of it.
/// Registers that are `known` are not null at its entry.
pub(crate) fn improve(
    function: &Function,
    passes: Passes,
    known: &[Reg],
    asked: &mut dyn Asked,
) -> (Option<Function>, Marks) {
    let is_small = function.blocks.len() <= BLOCKS_MAX && function.registers.len() <= REGISTERS_MAX;
    if !is_small {
        return (None, Marks::default());
    }
    let late = passes.late.then(|| late::make(function, asked)).flatten();
    if let Some(late) = &late {
        check(late, "late");
    }
    let function = late.as_ref().unwrap_or(function);
    if function.blocks.len() == 1 {
        return (late, Marks::default());
    }
    let (improved, mut marks) = match has_loop(function) {
        true => with_loops(function, passes, asked),
        false => (None, Marks::default()),
    };
    if passes.nulls {
        marks.non_null = nulls::non_null(improved.as_ref().unwrap_or(function), known);
    }
    (improved.or(late), marks)
}

fn with_loops(
    function: &Function,
    passes: Passes,
    asked: &mut dyn Asked,
) -> (Option<Function>, Marks) {
    let mut work = Work::new(function, passes);
    if passes.versions {
        versions::make(&mut work, asked);
        work.check("versions");
    }
    if passes.turn {
        turn::make(&mut work);
        work.check("turn");
    }
    if !work.has_changed {
        return (None, Marks::default());
    }
    let (improved, marks) = work.finish();
    (Some(improved), marks)
}

/// In debug builds: a pass has left sound IR.
fn check(function: &Function, pass: &str) {
    if cfg!(debug_assertions)
        && let Err(error) = ir::verify(function)
    {
        panic!("behind {pass}: {error}\n{function}");
    }
}

/// Whether a branch leads back.
pub(crate) fn has_loop(function: &Function) -> bool {
    let mut has_loop = false;
    for (index, block) in function.blocks.iter().enumerate() {
        if let Some(inst) = block.insts.last() {
            inst.op
                .for_each_target(|target| has_loop |= target.0 as usize <= index);
        }
    }
    has_loop
}

/// A function in the making. Blocks keep their numbers until [`Self::finish`]; new ones come last.
struct Work {
    function: Function,
    passes: Passes,
    /// By block: its instructions' accesses, as far as there are any.
    accesses: Vec<Vec<Option<Access>>>,
    rare: Vec<bool>,
    /// The order that the blocks are to have.
    order: Vec<BlockId>,
    /// Instructions that were added.
    added: usize,
    has_changed: bool,
}

impl Work {
    fn new(function: &Function, passes: Passes) -> Self {
        let count = function.blocks.len();
        Self {
            function: function.clone(),
            passes,
            accesses: vec![Vec::new(); count],
            rare: vec![false; count],
            order: (0..count as u32).map(BlockId).collect(),
            added: 0,
            has_changed: false,
        }
    }

    /// As [`check`], if any pass has changed something.
    fn check(&self, pass: &str) {
        if self.has_changed {
            check(&self.function, pass);
        }
    }

    fn insts(&self, block: BlockId) -> &[Inst] {
        &self.function.blocks[block.0 as usize].insts
    }

    fn last(&self, block: BlockId) -> &Op {
        &self.insts(block).last().expect("a terminator").op
    }

    fn handler(&self, block: BlockId) -> Option<BlockId> {
        self.function.blocks[block.0 as usize].handler
    }

    /// A new block that has no place in the order yet.
    fn block(&mut self) -> BlockId {
        self.accesses.push(Vec::new());
        self.rare.push(false);
        self.function.block()
    }

    fn access(&self, block: BlockId, place: usize) -> Option<Access> {
        self.accesses[block.0 as usize]
            .get(place)
            .copied()
            .flatten()
    }

    fn mark(&mut self, block: BlockId, place: usize, access: Access) {
        let own = &mut self.accesses[block.0 as usize];
        if own.len() <= place {
            own.resize(place + 1, None);
        }
        own[place] = Some(access);
    }

    /// Puts blocks before another.
    fn place_before(&mut self, other: BlockId, blocks: impl IntoIterator<Item = BlockId>) {
        let at = self.order.iter().position(|&it| it == other);
        let at = at.expect("it has a place");
        self.order.splice(at..at, blocks);
    }

    /// Where each block stands in the order.
    fn ranks(&self) -> Vec<u32> {
        let mut ranks = vec![u32::MAX; self.function.blocks.len()];
        for (rank, block) in (0..).zip(&self.order) {
            ranks[block.0 as usize] = rank;
        }
        ranks
    }

    /// Blocks get the numbers of their places.
    fn finish(mut self) -> (Function, Marks) {
        let ranks = self.ranks();
        let map = |block: BlockId| BlockId(ranks[block.0 as usize]);
        let mut marks = Marks::default();
        let mut blocks = Vec::with_capacity(self.order.len());
        for &id in &self.order {
            let mut block = core::mem::take(&mut self.function.blocks[id.0 as usize]);
            block.handler = block.handler.map(map);
            if let Some(last) = block.insts.last_mut() {
                retarget(&mut last.op, map);
            }
            blocks.push(block);
            marks.rare.push(self.rare[id.0 as usize]);
            for (place, access) in (0..).zip(&self.accesses[id.0 as usize]) {
                if let Some(access) = access {
                    marks.accesses.insert((map(id), place), *access);
                }
            }
        }
        self.function.blocks = blocks;
        check(&self.function, "the order of blocks");
        (self.function, marks)
    }
}

/// Changes where a terminator leads.
fn retarget(op: &mut Op, map: impl Fn(BlockId) -> BlockId) {
    match op {
        Op::Jump { target } => *target = map(*target),
        Op::Branch {
            then, otherwise, ..
        }
        | Op::BranchZero {
            then, otherwise, ..
        } => {
            *then = map(*then);
            *otherwise = map(*otherwise);
        }
        Op::Switch { cases, default, .. } => {
            for (_, target) in cases {
                *target = map(*target);
            }
            *default = map(*default);
        }
        _ => {}
    }
}
