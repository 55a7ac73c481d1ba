// SPDX-License-Identifier: Apache-2.0
//! Which class a receiver has: known where an object was made, likely where a field holds it.
//!
//! A call by an interface, or of a method that some class overrides, has one callee if the
//! receiver's class is known. [`Definitions`] says which write of a register is read, where there
//! is one alone; [`Classes`] says what was written. A body in place of a call hands on what its
//! arguments are, and says what it returns. So an iterator's methods stand in a loop over a list.
//!
//! A known class is a fact. A likely one is a guess: code compares the receiver's class with it.

use std::ops::Range;

use ir::{BlockId, Function, InvokeKind, Op, Reg, Type, Worklist};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{Address, lower::Lowering};

/// What is known of a reference that is not null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// It is of this class and no heir's.
    Exactly(Address),
    /// It may well be.
    Likely(Address),
    /// It was read from a field, which a constant of `scope` names.
    FromField {
        scope: u16,
        index: u32,
        is_static: bool,
    },
}

impl Known {
    /// The same where another value may have come instead.
    fn at_best_likely(self) -> Self {
        match self {
            Known::Exactly(class) => Known::Likely(class),
            it => it,
        }
    }
}

/// A write of a register: parameters first, then by block and place. None at all is [`MANY`].
type Definition = u32;

/// Which write it was depends on the way.
const MANY: Definition = 0;
/// No way has come there yet.
const NONE: Definition = u32::MAX;

/// Blocks times registers beyond which nothing is found out across blocks.
const SIZE_MAX: usize = 1 << 16;

/// By block and register: the only write that may be read at the block's start. Writes of
/// references alone are told apart.
#[derive(Debug, Default)]
pub(crate) struct Definitions {
    /// By register: its place in a row, if it holds references.
    places: Vec<Option<u32>>,
    /// Registers in a row's order.
    references: Vec<Reg>,
    /// A row for each block.
    at_start: Vec<Definition>,
    /// By block: its first write's number.
    first: Vec<Definition>,
}

impl Definitions {
    /// A forward data flow to its fixed point: two writes that meet are many.
    fn of(function: &Function) -> Option<Self> {
        let mut references = Vec::new();
        let mut places = Vec::with_capacity(function.registers.len());
        for (reg, &ty) in (0..).zip(&function.registers) {
            places.push((ty == Type::Ref).then_some(references.len() as u32));
            references.extend((ty == Type::Ref).then_some(Reg(reg)));
        }
        let (blocks, width) = (function.blocks.len(), references.len());
        if blocks * width > SIZE_MAX {
            return None;
        }
        let mut found = Self {
            places,
            references,
            at_start: vec![NONE; blocks * width],
            first: Vec::with_capacity(blocks),
        };
        let mut next = 1 + function.params.len() as u32;
        for block in &function.blocks {
            found.first.push(next);
            let writes = block.insts.iter().filter_map(|it| found.written(&it.op));
            next += writes.count() as u32;
        }
        found.at_start[..width].fill(MANY);
        for (number, &param) in (1..).zip(&function.params) {
            if let Some(place) = found.place(param) {
                found.at_start[place] = number;
            }
        }
        let mut pending = Worklist::new(function);
        let mut state = vec![NONE; width];
        while let Some(block) = pending.pop() {
            found.pass(function, block, &mut state, &mut pending);
        }
        Some(found)
    }

    fn place(&self, reg: Reg) -> Option<usize> {
        self.places[reg.0 as usize].map(|it| it as usize)
    }

    /// The place of the register that an instruction writes, if that holds references.
    fn written(&self, op: &Op) -> Option<usize> {
        self.place(op.written()?)
    }

    fn row(&self, block: BlockId) -> Range<usize> {
        let (block, width) = (block.0 as usize, self.references.len());
        block * width..(block + 1) * width
    }

    /// What may be read at the start of a block, of each register of references.
    fn at_start(&self, block: BlockId) -> impl Iterator<Item = (Reg, Definition)> {
        let row = self.at_start[self.row(block)].iter().copied();
        self.references.iter().copied().zip(row)
    }

    /// Hands on what is there at the end of a block, and to its handler what may be there within.
    fn pass(
        &mut self,
        function: &Function,
        id: BlockId,
        state: &mut [Definition],
        pending: &mut Worklist,
    ) {
        let block = &function.blocks[id.0 as usize];
        state.copy_from_slice(&self.at_start[self.row(id)]);
        if let Some(handler) = block.handler {
            self.meet(handler, state, pending);
        }
        let mut next = self.first[id.0 as usize];
        for inst in &block.insts {
            let Some(written) = self.written(&inst.op) else {
                continue;
            };
            state[written] = next;
            if let Some(handler) = block.handler {
                let at = self.row(handler).start + written;
                if meet(&mut self.at_start[at], next) {
                    pending.push(handler);
                }
            }
            next += 1;
        }
        if let Some(last) = block.insts.last() {
            last.op
                .for_each_target(|target| self.meet(target, state, pending));
        }
    }

    fn meet(&mut self, block: BlockId, state: &[Definition], pending: &mut Worklist) {
        let row = self.row(block);
        let places = self.at_start[row].iter_mut().zip(state);
        if places.fold(false, |changed, (place, &from)| meet(place, from) | changed) {
            pending.push(block);
        }
    }
}

fn meet(place: &mut Definition, from: Definition) -> bool {
    let before = *place;
    *place = match before {
        NONE => from,
        same if same == from || from == NONE => same,
        _ => MANY,
    };
    *place != before
}

/// Whether a call chooses by a receiver that was written in another block, or may have been.
fn chooses_across_blocks(function: &Function) -> bool {
    let mut here = FxHashSet::default();
    function.blocks.iter().any(|block| {
        here.clear();
        block.insts.iter().any(|inst| match &inst.op {
            Op::Move { dst, src } if !here.contains(src) => {
                if is_only_receiver(function, *src) {
                    here.insert(*dst);
                } else {
                    here.remove(dst);
                }
                false
            }
            Op::Invoke {
                kind: InvokeKind::Virtual | InvokeKind::Interface,
                args,
                ..
            } if !here.contains(&args[0]) && !is_only_receiver(function, args[0]) => true,
            op => {
                here.extend(op.written());
                false
            }
        })
    })
}

/// Whether a register is the receiver's. It is hardly ever written.
fn is_only_receiver(function: &Function, reg: Reg) -> bool {
    function.has_receiver && function.params.first() == Some(&reg)
}

/// What a body returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Returned {
    /// Nothing yet.
    #[default]
    Nowhere,
    Known(Known),
    Anything,
}

/// What is known in the body being lowered.
#[derive(Debug, Default)]
pub(crate) struct Classes {
    definitions: Option<Definitions>,
    /// By register: the write that is read from it now; none if many may be.
    now: FxHashMap<Reg, Definition>,
    next: Definition,
    known: FxHashMap<Definition, Known>,
    returned: Returned,
}

impl Classes {
    /// Of a body whose arguments are these, which begins at its first block.
    pub(crate) fn of(function: &Function, args: &[Option<Known>]) -> Self {
        let receiver = args.first().copied().flatten();
        let is_wanted = function.blocks.len() > 1
            && (receiver.is_some() && function.has_receiver || chooses_across_blocks(function));
        let mut classes = Self {
            definitions: is_wanted.then(|| Definitions::of(function)).flatten(),
            next: 1,
            ..Self::default()
        };
        for (index, &param) in function.params.iter().enumerate() {
            classes.define(param, args.get(index).copied().flatten());
        }
        classes
    }

    fn define(&mut self, reg: Reg, known: Option<Known>) {
        self.now.insert(reg, self.next);
        if let Some(known) = known {
            self.known.insert(self.next, known);
        }
        self.next += 1;
    }

    /// A block begins. Writes that have not been lowered yet are of nothing known.
    pub(crate) fn begin(&mut self, block: BlockId) {
        if block.0 == 0 {
            return;
        }
        self.now.clear();
        let Some(definitions) = &self.definitions else {
            // Numbers go on: each is used once.
            return;
        };
        self.next = definitions.first[block.0 as usize];
        for (reg, definition) in definitions.at_start(block) {
            if self.known.contains_key(&definition) {
                self.now.insert(reg, definition);
            }
        }
    }

    fn of_register(&self, reg: Reg) -> Option<Known> {
        self.known.get(self.now.get(&reg)?).copied()
    }

    fn note_return(&mut self, known: Option<Known>) {
        self.returned = match (self.returned, known) {
            (Returned::Nowhere, Some(known)) => Returned::Known(known),
            (Returned::Known(one), Some(other)) if one == other => Returned::Known(one),
            _ => Returned::Anything,
        };
    }

    /// What the body's result is.
    pub(crate) fn returned(&self) -> Option<Known> {
        match self.returned {
            Returned::Known(known) => Some(known),
            _ => None,
        }
    }
}

impl Lowering<'_, '_> {
    /// What a register holds, if that is known.
    pub(crate) fn known_of(&self, reg: Reg) -> Option<Known> {
        self.classes.of_register(reg)
    }

    /// An instruction was lowered; `made` is what it has found out of what it wrote.
    pub(crate) fn note_class(&mut self, op: &Op, made: Option<Known>) {
        match *op {
            Op::Return { src: Some(src) } if self.type_of(src) == Type::Ref => {
                let known = self.known_of(src);
                self.classes.note_return(known);
            }
            _ => {
                let written = op.written();
                if let Some(reg) = written.filter(|&reg| self.type_of(reg) == Type::Ref) {
                    self.classes.define(reg, made);
                }
            }
        }
    }

    /// What an instruction writes whose operands say it. Objects and results of calls are found out
    /// where they are lowered.
    pub(crate) fn made_by(&self, op: &Op) -> Option<Known> {
        let of_field = |index: u32, is_static| Known::FromField {
            scope: self.scope,
            index,
            is_static,
        };
        match *op {
            Op::Move { src, .. } => self.known_of(src),
            Op::GetField { index, .. } => Some(of_field(index, false)),
            Op::GetStatic { index, .. } => Some(of_field(index, true)),
            _ => None,
        }
    }

    /// The result of a body in place of a call. It is a guess if another callee may have run.
    pub(crate) fn note_result(&mut self, result: Option<Known>, is_certain: bool) {
        self.made = match is_certain {
            true => result,
            false => result.map(Known::at_best_likely),
        };
    }
}

#[cfg(test)]
mod tests {
    use ir::{Condition, Inst};

    use super::*;

    fn block(function: &mut Function, ops: Vec<Op>) -> BlockId {
        let id = function.block();
        let insts = ops.into_iter().map(|op| Inst { at: 0, op });
        function.blocks[id.0 as usize].insts = insts.collect();
        id
    }

    /// `a = new; b = new; while (c) { use(a); b = new; }`
    #[test]
    fn what_a_loop_writes_is_one_of_many() {
        let mut function = Function::default();
        let [a, b] = [(); 2].map(|()| function.register(Type::Ref));
        let c = function.register(Type::Int);
        function.params = vec![c];
        let new = |dst| Op::New { dst, index: 1 };
        let head = BlockId(1);
        block(
            &mut function,
            vec![new(a), new(b), Op::Jump { target: head }],
        );
        let ends = Op::BranchZero {
            condition: Condition::Equal,
            src: c,
            then: BlockId(3),
            otherwise: BlockId(2),
        };
        block(&mut function, vec![ends]);
        block(&mut function, vec![new(b), Op::Jump { target: head }]);
        block(&mut function, vec![Op::Return { src: None }]);
        let found = Definitions::of(&function).unwrap();
        let at = |block, reg: Reg| found.at_start(BlockId(block)).find(|it| it.0 == reg);
        let of = |reg, definition| [(); 3].map(|()| Some((reg, definition)));
        assert_eq!([1, 2, 3].map(|block| at(block, a)), of(a, 2));
        assert_eq!([1, 2, 3].map(|block| at(block, b)), of(b, MANY));
        assert_eq!(at(3, c), None);
    }

    /// `a = new; try { b = new; a = new; } catch { use(a) }`
    #[test]
    fn a_handler_may_be_reached_before_and_after_a_write() {
        let mut function = Function::default();
        let [a, b, e] = [(); 3].map(|()| function.register(Type::Ref));
        let new = |dst| Op::New { dst, index: 1 };
        let body = BlockId(1);
        block(
            &mut function,
            vec![new(a), new(e), Op::Jump { target: body }],
        );
        let inside = block(
            &mut function,
            vec![new(b), new(a), Op::Return { src: None }],
        );
        let handler = block(
            &mut function,
            vec![Op::Caught { dst: b }, Op::Return { src: None }],
        );
        function.blocks[inside.0 as usize].handler = Some(handler);
        let found = Definitions::of(&function).unwrap();
        let found: Vec<_> = found.at_start(handler).collect();
        assert_eq!(found, [(a, MANY), (b, MANY), (e, 2)]);
    }

    /// `a = new; ..; b = a; b.call()`, where both are in one block or not.
    #[test]
    fn a_copy_is_written_where_what_it_copies_was() {
        let mut function = Function::default();
        let [a, b] = [(); 2].map(|()| function.register(Type::Ref));
        let new = Op::New { dst: a, index: 1 };
        let call = Op::Invoke {
            kind: InvokeKind::Interface,
            dst: None,
            index: 2,
            args: vec![b],
        };
        let copied = [Op::Move { dst: b, src: a }, call, Op::Return { src: None }];
        let mut one = function.clone();
        block(&mut one, [std::slice::from_ref(&new), &copied[..]].concat());
        assert!(!chooses_across_blocks(&one));
        let next = Op::Jump { target: BlockId(1) };
        block(&mut function, vec![new, next]);
        block(&mut function, copied.to_vec());
        assert!(chooses_across_blocks(&function));
    }

    #[test]
    fn returns_that_differ_are_of_anything() {
        let (one, other) = (Known::Exactly(Address(1)), Known::Exactly(Address(2)));
        let returned = |all: &[Option<Known>]| {
            let mut classes = Classes::default();
            all.iter().for_each(|&it| classes.note_return(it));
            classes.returned()
        };
        assert_eq!(returned(&[Some(one), Some(one)]), Some(one));
        assert_eq!(returned(&[Some(one), Some(other), Some(one)]), None);
        assert_eq!(returned(&[Some(one), None]), None);
        assert_eq!(returned(&[]), None);
    }
}
