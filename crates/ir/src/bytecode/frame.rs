// SPDX-License-Identifier: Apache-2.0
//! [`Frame`]: what locals and operand stack hold at one place.

use crate::Type;

/// The content of a local variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Local {
    /// Nothing that may be read.
    Unusable,
    /// A value; a wide one also covers the next variable.
    Value(Type),
}

/// Types of all locals and stack entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) locals: Vec<Local>,
    /// One entry per value, wide or not.
    pub(super) stack: Vec<Type>,
}

/// Two words on the operand stack or in the locals.
pub(super) fn is_wide(ty: Type) -> bool {
    matches!(ty, Type::Long | Type::Double)
}

impl Frame {
    pub(super) fn new(local_count: usize) -> Self {
        Self {
            locals: vec![Local::Unusable; local_count],
            stack: Vec::new(),
        }
    }

    pub(super) fn load(&self, local: usize, ty: Type) -> Result<(), String> {
        match self.locals.get(local) {
            Some(Local::Value(own)) if *own == ty => Ok(()),
            Some(own) => Err(format!("local variable {local} is {own:?}, not {ty:?}")),
            None => Err(format!("no local variable {local}")),
        }
    }

    pub(super) fn store(&mut self, local: usize, ty: Type) -> Result<(), String> {
        let size = if is_wide(ty) { 2 } else { 1 };
        if local + size > self.locals.len() {
            return Err(format!("no local variable {local}"));
        }
        if local > 0 && matches!(self.locals[local - 1], Local::Value(before) if is_wide(before)) {
            self.locals[local - 1] = Local::Unusable;
        }
        self.locals[local] = Local::Value(ty);
        if size == 2 {
            self.locals[local + 1] = Local::Unusable;
        }
        Ok(())
    }

    /// Joins the locals of `other`; says whether this frame lost anything.
    pub(super) fn join_locals(&mut self, other: &[Local]) -> bool {
        let mut changed = false;
        for (own, other) in self.locals.iter_mut().zip(other) {
            if own != other && *own != Local::Unusable {
                *own = Local::Unusable;
                changed = true;
            }
        }
        changed
    }

    pub(super) fn stack_words(&self) -> usize {
        self.stack
            .iter()
            .map(|&ty| if is_wide(ty) { 2 } else { 1 })
            .sum()
    }
}
