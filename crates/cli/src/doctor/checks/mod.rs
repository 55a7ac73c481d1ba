// SPDX-License-Identifier: Apache-2.0
//! The checks, one file for each part of a machine, in the order in which they are printed.

mod cpu;
mod kernel;
mod memory;
mod rights;
mod sandbox;
mod sound;
mod tools;

use crate::doctor::finding::Finding;
use crate::doctor::machine::Machine;

/// Runs every check.
pub(super) fn all(machine: &Machine) -> Vec<Finding> {
    let mut findings = vec![
        kernel::preemption(machine),
        kernel::clock_source(machine),
        kernel::timer_resolution(),
        kernel::throttling(machine),
        kernel::fair_server(machine),
        cpu::governor(machine),
        cpu::frequency_limits(machine),
        cpu::idle_states(machine),
        cpu::isolation(machine),
        cpu::interrupts(machine),
        memory::huge_pages(machine),
        memory::huge_pages_of_windows(machine),
        memory::pressure(machine),
        sound::cards(machine),
        sound::servers(machine),
    ];
    if machine.is_here() {
        findings.extend(rights::all(machine));
        findings.push(memory::order());
        findings.extend([
            tools::jdk(),
            tools::qemu(),
            tools::screens(),
            kernel::transports(machine),
        ]);
    }
    findings.extend(sandbox::all(machine));
    findings.push(kernel::binder(machine));
    findings
}
