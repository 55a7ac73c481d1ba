// SPDX-License-Identifier: Apache-2.0
//! What the host takes from a virtual machine.

/// Time that the host gave to others while this machine's processors were ready, all processors together, since it started; 0 if it does
/// not say.
pub(super) fn since_start_ms() -> u64 {
    const TICK_MS: u64 = 10;
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let all = stat.lines().next().unwrap_or_default();
    let ticks = all.split_whitespace().nth(8);
    ticks.and_then(|it| it.parse().ok()).unwrap_or(0) * TICK_MS
}
