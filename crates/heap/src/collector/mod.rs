// SPDX-License-Identifier: Apache-2.0
//! The collector thread: what wakes it (`pacing`), how it asks mutators (`round`), who lends it
//! priority (`lender`), its share of the processor (`ticker`), and the loop that runs one of
//! the two collectors (`thread`).

pub(crate) mod lender;
pub(crate) mod pacing;
pub(crate) mod round;
pub(crate) mod thread;
pub(crate) mod ticker;
