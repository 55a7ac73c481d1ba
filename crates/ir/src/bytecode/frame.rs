// SPDX-License-Identifier: Apache-2.0
//! [`Frame`]: what locals and operand stack hold at one place.

use crate::Type;

/// The content of a local variable or a stack place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Nothing that may be read; not on the stack.
    Unusable,
    /// A value; a wide one also covers the next variable.
    Value(Type),
    /// Where a subroutine returns to: the offset behind the instruction that called it.
    Return(u16),
}

/// Types of all locals and stack entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) locals: Vec<Content>,
    /// One entry per value, wide or not.
    pub(super) stack: Vec<Content>,
}

/// Two words on the operand stack or in the locals.
pub(super) fn is_wide(ty: Type) -> bool {
    matches!(ty, Type::Long | Type::Double)
}

impl Frame {
    pub(super) fn new(local_count: usize) -> Self {
        Self {
            locals: vec![Content::Unusable; local_count],
            stack: Vec::new(),
        }
    }

    pub(super) fn load(&self, local: usize, ty: Type) -> Result<(), String> {
        match self.locals.get(local) {
            Some(Content::Value(own)) if *own == ty => Ok(()),
            Some(own) => Err(format!("local variable {local} is {own:?}, not {ty:?}")),
            None => Err(format!("no local variable {local}")),
        }
    }

    pub(super) fn store(&mut self, local: usize, ty: Type) -> Result<(), String> {
        let size = if is_wide(ty) { 2 } else { 1 };
        if local + size > self.locals.len() {
            return Err(format!("no local variable {local}"));
        }
        if local > 0 && matches!(self.locals[local - 1], Content::Value(before) if is_wide(before))
        {
            self.locals[local - 1] = Content::Unusable;
        }
        self.locals[local] = Content::Value(ty);
        if size == 2 {
            self.locals[local + 1] = Content::Unusable;
        }
        Ok(())
    }

    /// Joins the locals of `other`; says whether this frame lost anything.
    pub(super) fn join_locals(&mut self, other: &[Content]) -> bool {
        let mut changed = false;
        for (own, other) in self.locals.iter_mut().zip(other) {
            if own != other && *own != Content::Unusable {
                *own = Content::Unusable;
                changed = true;
            }
        }
        changed
    }

    pub(super) fn stack_words(&self) -> usize {
        self.stack
            .iter()
            .map(|entry| match entry {
                Content::Value(ty) if is_wide(*ty) => 2,
                _ => 1,
            })
            .sum()
    }

    /// The return addresses in it, by place: local variables, then the stack.
    pub(super) fn returns(&self) -> Vec<(usize, u16)> {
        let contents = self.locals.iter().chain(&self.stack).enumerate();
        let returns = contents.filter_map(|(place, content)| match content {
            Content::Return(address) => Some((place, *address)),
            _ => None,
        });
        returns.collect()
    }

    /// Stores the return address that is on top of the stack; says no if there is none.
    pub(super) fn store_return(&mut self, local: usize) -> Result<bool, String> {
        let Some(&top @ Content::Return(_)) = self.stack.last() else {
            return Ok(false);
        };
        self.stack.pop();
        self.store(local, Type::Ref)?;
        self.locals[local] = top;
        Ok(true)
    }

    /// Takes the return address in a local variable, which is then gone from there.
    pub(super) fn take_return(&mut self, local: usize) -> Result<u16, String> {
        let Some(&Content::Return(address)) = self.locals.get(local) else {
            return Err(format!("no return address in local variable {local}"));
        };
        self.locals[local] = Content::Unusable;
        Ok(address)
    }
}
