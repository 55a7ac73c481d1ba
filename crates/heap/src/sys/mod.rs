// SPDX-License-Identifier: Apache-2.0
//! What the heap asks of Linux: address space at a place of its own choice, and debts that lend
//! priority.

pub(crate) mod debt;
pub(crate) mod reserve;
pub(crate) mod wait;
