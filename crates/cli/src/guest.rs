// SPDX-License-Identifier: Apache-2.0
//! Where this process runs: on a machine, or in `takt lab`, which says so in the environment.

use report::TimeBase;

/// Whose microseconds this process measures.
pub(crate) fn time_base() -> TimeBase {
    match std::env::var("TAKT_LAB").as_deref() {
        Ok("deterministic") => TimeBase::Virtual,
        _ => TimeBase::Real,
    }
}
