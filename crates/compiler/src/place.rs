// SPDX-License-Identifier: Apache-2.0
//! Places: an instruction of a method, or of a body that stands in place of a call.
//!
//! A place is one word, for Cranelift carries one from an instruction to its machine code. The
//! method's own instructions have their offset. Those of an inlined body have the number of the
//! body's scope beside it. [`CompiledCode::inlined`](crate::CompiledCode::inlined) says by scope
//! which place the call had that the body stands for, and so on up to the method itself.

/// Says that a scope's number follows.
const INLINED: u32 = 1 << 31;
const SCOPE_SHIFT: u32 = 16;
/// Scopes of one method, at most. No place is the word of `code::HIDDEN` then.
pub const SCOPES_MAX: u16 = 1 << 10;
/// Bytes of an inlined body, at most: its offsets stand beside a scope.
pub(crate) const INLINED_BYTES_MAX: u32 = 1 << SCOPE_SHIFT;

/// The place of the instruction at `at` in the body of scope `scope`.
pub(crate) fn place(scope: u16, at: u32) -> u32 {
    if scope == 0 {
        return at;
    }
    debug_assert!(scope < SCOPES_MAX && at < INLINED_BYTES_MAX);
    INLINED | u32::from(scope) << SCOPE_SHIFT | at
}

/// The scope and the offset that a place stands for.
pub fn scope_and_offset(place: u32) -> (u16, u32) {
    if place & INLINED == 0 {
        return (0, place);
    }
    let scope = (place & !INLINED) >> SCOPE_SHIFT;
    (scope as u16, place & (INLINED_BYTES_MAX - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HIDDEN;

    #[test]
    fn a_place_says_scope_and_offset() {
        for (scope, at) in [(0, 0), (0, 1 << 20), (1, 0), (SCOPES_MAX - 1, 0xffff)] {
            assert_eq!(scope_and_offset(place(scope, at)), (scope, at));
            assert_ne!(place(scope, at), HIDDEN);
        }
        assert!(scope_and_offset(HIDDEN).0 >= SCOPES_MAX);
    }
}
