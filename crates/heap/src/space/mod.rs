// SPDX-License-Identifier: Apache-2.0
//! Where objects lie: blocks of cells of one size, blocks of one large object, and blocks that
//! nobody uses.

pub(crate) mod block;
pub(crate) mod free;
pub(crate) mod occupancy;
pub(crate) mod sweep;
