// SPDX-License-Identifier: Apache-2.0
//! Memory: large pages and the signs of shortage.

use crate::doctor::finding::Finding;
use crate::doctor::machine::Machine;

pub(super) fn huge_pages(machine: &Machine) -> Finding {
    const NAME: &str = "huge pages";
    let reserved = machine.read_number("proc/sys/vm/nr_hugepages").unwrap_or(0);
    let setting = machine
        .read("sys/kernel/mm/transparent_hugepage/enabled")
        .unwrap_or_default();
    let chosen = setting.split_whitespace().find_map(|word| {
        word.strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
    });
    match chosen {
        Some("madvise") => Finding::fit(
            NAME,
            "transparent, on demand",
            "heaps get them, others are left in peace",
        ),
        Some("always") => Finding::remark(
            NAME,
            "transparent, always",
            "the kernel merges pages of every program at moments of its own choice",
        )
        .mend("echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"),
        _ => Finding::remark(
            NAME,
            match reserved {
                0 => "none".to_owned(),
                _ => format!("{reserved} reserved, which heaps do not use yet; none transparent"),
            },
            "large heaps pay for small pages: memory access up to twice as slow \
             (PREEMPT_RT kernels have no transparent ones)",
        ),
    }
}

pub(super) fn pressure(machine: &Machine) -> Finding {
    const NAME: &str = "memory pressure";
    match machine.exists("proc/pressure/memory") {
        true => Finding::fit(NAME, "PSI", "shortage shows before it hurts"),
        false => Finding::remark(
            NAME,
            "no PSI",
            "shortage shows only when the kernel kills a process",
        )
        .mend("boot with psi=1"),
    }
}
