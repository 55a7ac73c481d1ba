// SPDX-License-Identifier: Apache-2.0
//! [`Checker`]: the data flow over blocks.

use std::collections::HashMap;

use rustc_hash::{FxHashMap, FxHashSet};

use super::state::{Content, Interner, TypeId, name_of};
use super::{Hierarchy, Names, ReferenceError, Subject};
use crate::sparse::Sparse;
use crate::worklist::Worklist;
use crate::{BlockId, Condition, Function, Op, Reg, Type};

pub(super) type Result<T, H> = core::result::Result<T, ReferenceError<<H as Hierarchy>::Error>>;

/// References at one place of the function.
#[derive(Clone)]
pub(super) struct State {
    /// Of registers that live across blocks, by their slot.
    shared: Sparse<Content>,
    /// The receiver of a constructor, however its register is used.
    pub(super) this: Content,
}

/// Where a register's content is kept.
#[derive(Clone, Copy)]
enum Slot {
    /// In every block's [`State`].
    Shared(u32),
    /// Written before it is read in each block that uses it: no state at entry.
    Local,
}

pub(super) struct Checker<'a, N, H: Hierarchy> {
    pub(super) function: &'a Function,
    pub(super) subject: &'a Subject<'a>,
    pub(super) names: &'a N,
    pub(super) hierarchy: &'a mut H,
    pub(super) types: Interner,
    pub(super) assignable: FxHashMap<(TypeId, TypeId), bool>,
    slots: Vec<Slot>,
    entries: Vec<Option<State>>,
    pending: Worklist,
    pub(super) state: State,
    local: FxHashMap<Reg, Content>,
    /// Numbers and classes of the `New`s seen.
    pub(super) news: FxHashMap<u64, TypeId>,
    /// New objects with the registers that ever held them: few, while a state may have many
    /// registers.
    holders: HashMap<Content, Vec<Reg>>,
    holds: FxHashSet<(Content, Reg)>,
    pub(super) at: u32,
    /// What the current block changed since its handler last saw it.
    is_changed: bool,
}

impl<'a, N: Names, H: Hierarchy> Checker<'a, N, H> {
    pub(super) fn new(
        function: &'a Function,
        subject: &'a Subject<'a>,
        names: &'a N,
        hierarchy: &'a mut H,
    ) -> Self {
        let (slots, shared_count) = slots(function);
        let state = State {
            shared: Sparse::new(shared_count),
            this: Content::Null,
        };
        Self {
            function,
            subject,
            names,
            hierarchy,
            types: Interner::new(),
            assignable: FxHashMap::default(),
            slots,
            entries: vec![None; function.blocks.len()],
            pending: Worklist::new(function),
            state,
            local: FxHashMap::default(),
            news: FxHashMap::default(),
            holders: HashMap::new(),
            holds: FxHashSet::default(),
            at: 0,
            is_changed: false,
        }
    }

    pub(super) fn run(mut self) -> Result<(), H> {
        self.enter()?;
        self.entries[0] = Some(self.state.clone());
        while let Some(id) = self.pending.pop() {
            self.block(id)?;
        }
        Ok(())
    }

    pub(super) fn wrong<T>(&self, what: impl Into<String>) -> Result<T, H> {
        Err(ReferenceError::Wrong(self.at, what.into()))
    }

    /// Parameters by the descriptor.
    fn enter(&mut self) -> Result<(), H> {
        let Ok(descriptor) = classfile::MethodDescriptor::parse(self.subject.descriptor) else {
            return self.wrong("malformed descriptor");
        };
        let mut params = self.function.params.clone().into_iter();
        if !self.subject.is_static {
            let own = self.types.id(self.subject.class);
            let is_constructor = self.subject.name == b"<init>";
            self.state.this = if is_constructor && self.subject.super_class.is_some() {
                Content::NewThis
            } else {
                Content::of(own)
            };
            if let Some(receiver) = params.next() {
                let this = self.state.this.clone();
                self.set(receiver, this);
            }
        }
        for (parameter, reg) in descriptor.parameters.iter().zip(params) {
            if let Some(name) = name_of(parameter) {
                let class = self.types.id(name);
                self.set(reg, Content::of(class));
            }
        }
        Ok(())
    }

    /// What `reg` refers to here.
    pub(super) fn get(&self, reg: Reg) -> Content {
        match self.slots[reg.0 as usize] {
            Slot::Shared(slot) => {
                let found = self.state.shared.get(slot as usize);
                found.cloned().unwrap_or_default()
            }
            Slot::Local => self.local.get(&reg).cloned().unwrap_or(Content::Unusable),
        }
    }

    pub(super) fn set(&mut self, reg: Reg, content: Content) {
        if let Content::New(_) | Content::NewThis = content
            && self.holds.insert((content.clone(), reg))
        {
            let holders = self.holders.entry(content.clone()).or_default();
            holders.push(reg);
        }
        match self.slots[reg.0 as usize] {
            Slot::Shared(slot) => {
                self.state.shared.set(slot as usize, content);
                self.is_changed = true;
            }
            Slot::Local => {
                self.local.insert(reg, content);
            }
        }
    }

    /// Puts `with` wherever the new object `what` is.
    pub(super) fn replace(&mut self, what: &Content, with: &Content) {
        for reg in self.holders.get(what).cloned().unwrap_or_default() {
            if self.get(reg) == *what {
                self.set(reg, with.clone());
            }
        }
        if self.state.this == *what {
            self.state.this = with.clone();
            self.is_changed = true;
        }
    }

    fn block(&mut self, id: BlockId) -> Result<(), H> {
        let function = self.function;
        let block = &function.blocks[id.0 as usize];
        let entry = self.entries[id.0 as usize].clone();
        self.state = entry.expect("a pending block has a state");
        self.local.clear();
        self.is_changed = true;
        for (index, inst) in block.insts.iter().enumerate() {
            // An exception sees the registers as they are before its instruction.
            let sees = self.is_changed && function.may_throw(&inst.op);
            if let Some(handler) = block.handler.filter(|_| sees) {
                self.flow(handler);
                self.is_changed = false;
            }
            self.at = inst.at;
            self.inst(&inst.op, new_number(id, index))?;
        }
        let last = block.insts.last().map(|inst| &inst.op);
        let refined = self.refinement(block);
        if let Some(op) = last {
            let mut targets = Vec::new();
            op.for_each_target(|target| targets.push(target));
            for target in targets {
                match &refined {
                    Some(it) if it.holds == target => self.flow_refined(it),
                    _ => self.flow(target),
                }
            }
        }
        Ok(())
    }

    /// What a test with `InstanceOf` says where it holds. Code that compilers write for Android may
    /// test a copy and use the object itself.
    fn refinement(&mut self, block: &crate::Block) -> Option<Refinement> {
        let [before @ .., test, last] = block.insts.as_slice() else {
            return None;
        };
        let Op::InstanceOf { dst, object, index } = test.op else {
            return None;
        };
        let Op::BranchZero {
            condition,
            src,
            then,
            otherwise,
        } = last.op
        else {
            return None;
        };
        let (holds, fails) = match condition {
            Condition::NotEqual => (then, otherwise),
            Condition::Equal => (otherwise, then),
            _ => return None,
        };
        if src != dst || holds == fails {
            return None;
        }
        let original = match before.last().map(|inst| &inst.op) {
            Some(&Op::Move { dst, src }) if dst == object => Some(src),
            _ => None,
        };
        let names = self.names;
        let class = self.types.id(&names.class(index)?);
        Some(Refinement {
            holds,
            object,
            original,
            class,
        })
    }

    fn flow_refined(&mut self, it: &Refinement) {
        let registers = [Some(it.object), it.original].into_iter().flatten();
        let before: Vec<_> = registers.map(|reg| (reg, self.get(reg))).collect();
        for (reg, content) in &before {
            let tested = self.types.tested(content, it.class);
            self.set(*reg, tested);
        }
        self.flow(it.holds);
        for (reg, content) in before {
            self.set(reg, content);
        }
    }

    fn flow(&mut self, target: BlockId) {
        let changed = match &mut self.entries[target.0 as usize] {
            Some(entry) => {
                let mut changed = entry.this.join(&self.state.this);
                changed |= entry.shared.join(&self.state.shared, &Content::joined);
                changed
            }
            empty => {
                *empty = Some(self.state.clone());
                true
            }
        };
        if changed {
            self.pending.push(target);
        }
    }
}

/// What a branch on a test tells of the object, on one of its two ways.
struct Refinement {
    holds: BlockId,
    object: Reg,
    /// The register that `object` was copied from right before the test.
    original: Option<Reg>,
    class: TypeId,
}

/// A `New` by its place.
fn new_number(block: BlockId, index: usize) -> u64 {
    u64::from(block.0) << 32 | index as u64
}

/// Reference registers that some block reads before it writes them get a slot in every state.
fn slots(function: &Function) -> (Vec<Slot>, usize) {
    let mut slots = vec![Slot::Local; function.registers.len()];
    let mut count = 0;
    let mut share = |reg: Reg| {
        let slot = &mut slots[reg.0 as usize];
        if matches!(slot, Slot::Local) && function.type_of(reg) == Type::Ref {
            *slot = Slot::Shared(count);
            count += 1;
        }
    };
    for block in &function.blocks {
        let mut written = FxHashSet::default();
        for inst in &block.insts {
            crate::verify::for_each_read(function, &inst.op, |reg, _| {
                if !written.contains(&reg) {
                    share(reg);
                }
            });
            written.extend(inst.op.written());
        }
    }
    (slots, count as usize)
}
