// SPDX-License-Identifier: Apache-2.0
//! [`Anything`]: what tests and fuzzers of hostile code know of classes.

use ir::{Hierarchy, MemberRef};

/// Classes that are all one.
pub(crate) struct Anything;

impl Hierarchy for Anything {
    type Error = std::convert::Infallible;

    fn is_assignable(&mut self, _from: &[u8], _to: &[u8]) -> Result<bool, Self::Error> {
        Ok(true)
    }

    fn is_protected_elsewhere(
        &mut self,
        _member: &MemberRef<'_>,
        _is_method: bool,
    ) -> Result<bool, Self::Error> {
        Ok(false)
    }
}
