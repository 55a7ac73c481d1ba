// SPDX-License-Identifier: Apache-2.0
//! Which method runs: reflection, method handles, and settling what a call site means.
//!
//! Uses link. The compiler's side, the entries and the faces use it.

pub(crate) mod method_handle;
pub(crate) mod reflect;
pub(crate) mod settle;
