// SPDX-License-Identifier: Apache-2.0
//! What the heap asks of Linux: address space at a place of its own choice, and futexes that lend
//! priority.

pub(crate) mod pi;
pub(crate) mod reserve;
pub(crate) mod wait;
