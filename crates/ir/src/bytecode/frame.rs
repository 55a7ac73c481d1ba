// SPDX-License-Identifier: Apache-2.0
//! [`Frame`]: what locals and operand stack hold at one place.

use crate::Type;
use crate::sparse::Sparse;

/// The content of a local variable or a stack place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Content {
    /// Nothing that may be read; not on the stack.
    #[default]
    Unusable,
    /// A value; a wide one also covers the next variable.
    Value(Type),
    /// Where a subroutine returns to: the offset behind the instruction that called it.
    Return(u16),
}

/// The operand stack, one place per value, wide or not.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stack {
    places: Sparse<Content>,
    len: usize,
    words: usize,
}

impl Stack {
    /// For `count` values at most.
    pub(super) fn new(count: usize) -> Self {
        Self {
            places: Sparse::new(count),
            len: 0,
            words: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Says no if there is no place left.
    pub(super) fn push(&mut self, content: Content, words_max: usize) -> bool {
        let words = self.words + words_of(content);
        if words > words_max {
            return false;
        }
        self.places.set(self.len, content);
        self.len += 1;
        self.words = words;
        true
    }

    pub(super) fn last(&self) -> Option<Content> {
        self.places.get(self.len.checked_sub(1)?).copied()
    }

    pub(super) fn pop(&mut self) -> Option<Content> {
        let last = self.last()?;
        self.len -= 1;
        self.words -= words_of(last);
        self.places.set(self.len, Content::Unusable);
        Some(last)
    }
}

fn words_of(content: Content) -> usize {
    match content {
        Content::Value(ty) if is_wide(ty) => 2,
        _ => 1,
    }
}

/// Types of all locals and stack entries.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Frame {
    locals: Sparse<Content>,
    local_count: usize,
    pub(super) stack: Stack,
}

/// Two words on the operand stack or in the locals.
pub(super) fn is_wide(ty: Type) -> bool {
    matches!(ty, Type::Long | Type::Double)
}

impl Frame {
    pub(super) fn new(local_count: usize, stack_max: usize) -> Self {
        Self {
            locals: Sparse::new(local_count),
            local_count,
            stack: Stack::new(stack_max),
        }
    }

    fn local(&self, local: usize) -> Content {
        self.locals.get(local).copied().unwrap_or_default()
    }

    pub(super) fn load(&self, local: usize, ty: Type) -> Result<(), String> {
        if local >= self.local_count {
            return Err(format!("no local variable {local}"));
        }
        match self.local(local) {
            Content::Value(own) if own == ty => Ok(()),
            own => Err(format!("local variable {local} is {own:?}, not {ty:?}")),
        }
    }

    pub(super) fn store(&mut self, local: usize, ty: Type) -> Result<(), String> {
        let size = if is_wide(ty) { 2 } else { 1 };
        if local + size > self.local_count {
            return Err(format!("no local variable {local}"));
        }
        if local > 0 && matches!(self.local(local - 1), Content::Value(before) if is_wide(before)) {
            self.locals.set(local - 1, Content::Unusable);
        }
        self.locals.set(local, Content::Value(ty));
        if size == 2 {
            self.locals.set(local + 1, Content::Unusable);
        }
        Ok(())
    }

    /// Joins the locals of `other`; says whether this frame lost anything.
    pub(super) fn join_locals(&mut self, other: &Self) -> bool {
        // They differ where this is asked.
        let lost =
            |own: &Content, _: &Content| (*own != Content::Unusable).then_some(Content::Unusable);
        self.locals.join(&other.locals, &lost)
    }

    /// The return addresses in it, by place: local variables, then the stack.
    pub(super) fn returns(&self) -> Vec<(usize, u16)> {
        let mut returns = Vec::new();
        let mut note = |place, content: &Content| {
            if let Content::Return(address) = content {
                returns.push((place, *address));
            }
        };
        self.locals.for_each(&mut note);
        let places = &self.stack.places;
        places.for_each(|place, content| note(self.local_count + place, content));
        returns
    }

    /// Forgets the return addresses in local variables that `is_dead` names.
    pub(super) fn forget_returns(&mut self, is_dead: impl Fn(usize) -> bool) {
        for (place, _) in self.returns() {
            if place < self.local_count && is_dead(place) {
                self.locals.set(place, Content::Unusable);
            }
        }
    }

    /// Stores the return address that is on top of the stack; says no if there is none.
    pub(super) fn store_return(&mut self, local: usize) -> Result<bool, String> {
        let Some(top @ Content::Return(_)) = self.stack.last() else {
            return Ok(false);
        };
        self.stack.pop();
        self.store(local, Type::Ref)?;
        self.locals.set(local, top);
        Ok(true)
    }

    /// Takes the return address in a local variable, which is then gone from there.
    pub(super) fn take_return(&mut self, local: usize) -> Result<u16, String> {
        let Content::Return(address) = self.local(local) else {
            return Err(format!("no return address in local variable {local}"));
        };
        self.locals.set(local, Content::Unusable);
        Ok(address)
    }
}
