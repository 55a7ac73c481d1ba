// SPDX-License-Identifier: Apache-2.0
//! The processors: frequency, idle states, who else runs there.

use rt::affinity::CpuSet;

use crate::doctor::finding::Finding;
use crate::doctor::machine::Machine;

/// Where who holds the frequency keeps what the limits were.
const NOTES: &str = "run/takt";
const CPUS: &str = "sys/devices/system/cpu";

pub(super) fn governor(machine: &Machine) -> Finding {
    const NAME: &str = "CPU frequency";
    let mut governors: Vec<String> = cpus(machine)
        .iter()
        .filter_map(|cpu| machine.read(&format!("{CPUS}/{cpu}/cpufreq/scaling_governor")))
        .collect();
    governors.sort();
    governors.dedup();
    match governors.as_slice() {
        [] => Finding::remark(
            NAME,
            "no cpufreq",
            "the frequency is the hypervisor's or the firmware's: work may take longer at any time",
        ),
        [one] if one == "performance" => Finding::fit(
            NAME,
            "performance",
            "work takes the same time at every release",
        ),
        several => Finding::remark(
            NAME,
            several.join(", "),
            "work takes up to four times as long after a quiet time",
        )
        .mend("cpupower frequency-set -g performance"),
    }
}

/// Whether a frequency can be held: by equal limits, which the kernel's own files take.
pub(super) fn frequency_limits(machine: &Machine) -> Finding {
    const NAME: &str = "frequency limits";
    let mut spans = Vec::new();
    for cpu in cpus(machine) {
        let directory = format!("{CPUS}/{cpu}/cpufreq");
        let khz = |name: &str| machine.read_number(&format!("{directory}/{name}"));
        let Some((least, most)) = khz("cpuinfo_min_freq").zip(khz("cpuinfo_max_freq")) else {
            continue;
        };
        for name in ["scaling_min_freq", "scaling_max_freq"] {
            if let Err(error) = machine.try_opening(&format!("{directory}/{name}")) {
                return Finding::remark(
                    NAME,
                    format!("{cpu}: {name} cannot be written ({error})"),
                    "a frequency cannot be held from here",
                )
                .mend("run as root");
            }
        }
        spans.push(format!("{} to {} MHz", least / 1000, most / 1000));
    }
    spans.sort();
    spans.dedup();
    let spans = spans.join(", ");
    if spans.is_empty() {
        let meaning = "a frequency cannot be held on this machine";
        return Finding::remark(NAME, "no cpufreq", meaning);
    }
    match machine.read(&format!("{NOTES}/frequency")) {
        Some(_) => Finding::remark(
            NAME,
            format!("{spans}, held"),
            "a program holds the frequency; if it was killed, the limits are not those of before",
        )
        .mend("start takt system or takt run as root: it puts back what a killed one left"),
        None => Finding::fit(
            NAME,
            spans,
            "a frequency can be held by equal limits, for who has the permission",
        ),
    }
}

pub(super) fn idle_states(machine: &Machine) -> Finding {
    const NAME: &str = "idle states";
    const EXIT_US_MAX: i64 = 20;
    let driver = machine.read(&format!("{CPUS}/cpuidle/current_driver"));
    let state_directory = format!("{CPUS}/cpu0/cpuidle");
    let deepest_us = machine
        .names(&state_directory)
        .iter()
        .filter(|state| {
            machine.read_number(&format!("{state_directory}/{state}/disable")) != Some(1)
        })
        .filter_map(|state| machine.read_number(&format!("{state_directory}/{state}/latency")))
        .max();
    let Some(driver) = driver.filter(|name| name != "none") else {
        return Finding::fit(NAME, "no cpuidle driver", "no idle state delays a wake-up");
    };
    match deepest_us {
        Some(us) if us > EXIT_US_MAX => Finding::remark(
            NAME,
            format!("{driver}, up to {us} µs to leave"),
            "a sleeping processor adds that to a wake-up; takt holds /dev/cpu_dma_latency at 0 while it measures",
        )
        .mend("boot with cpuidle.off=1, or keep /dev/cpu_dma_latency open at 0"),
        Some(us) => Finding::fit(NAME, format!("{driver}, {us} µs to leave"), "short enough"),
        None => Finding::fit(NAME, format!("{driver}, no states"), "no idle state delays a wake-up"),
    }
}

pub(super) fn isolation(machine: &Machine) -> Finding {
    const NAME: &str = "isolated CPUs";
    if cpus(machine).len() < 2 {
        return Finding::fit(NAME, "one CPU", "there is nothing to isolate");
    }
    match machine
        .read(&format!("{CPUS}/isolated"))
        .filter(|list| !list.is_empty())
    {
        Some(list) => Finding::fit(NAME, list, "ordinary threads stay away from them"),
        None => Finding::remark(
            NAME,
            "none",
            "ordinary threads and kernel workers share every cache with real-time threads",
        )
        .mend("boot with isolcpus=domain,managed_irq,1 nohz_full=1 rcu_nocbs=1"),
    }
}

pub(super) fn interrupts(machine: &Machine) -> Finding {
    const NAME: &str = "interrupts";
    let list = machine
        .read(&format!("{CPUS}/isolated"))
        .unwrap_or_default();
    let isolated = list.parse().unwrap_or(CpuSet::EMPTY);
    let numbers: Vec<String> = machine
        .names("proc/irq")
        .into_iter()
        .filter(|name| name.parse::<u32>().is_ok())
        .collect();
    if isolated == CpuSet::EMPTY {
        let found = format!("{} anywhere", numbers.len());
        return Finding::fit(NAME, found, "no CPU is isolated from which to keep them");
    }
    let touching = numbers
        .iter()
        .filter(|number| {
            let list = machine.read(&format!("proc/irq/{number}/effective_affinity_list"));
            let cpus = list
                .and_then(|it| it.parse::<CpuSet>().ok())
                .unwrap_or(CpuSet::EMPTY);
            cpus.iter().any(|cpu| isolated.contains(cpu))
        })
        .count();
    match touching {
        0 => Finding::fit(NAME, "none on isolated CPUs", "devices do not delay real-time threads"),
        count => Finding::remark(
            NAME,
            format!("{count} on isolated CPUs"),
            "each of them delays a real-time thread by its handler",
        )
        .mend("echo 0 > /proc/irq/default_smp_affinity, and CPU numbers into /proc/irq/*/smp_affinity_list"),
    }
}

fn cpus(machine: &Machine) -> Vec<String> {
    let is_cpu = |name: &String| {
        name.strip_prefix("cpu")
            .is_some_and(|number| number.parse::<usize>().is_ok())
    };
    machine.names(CPUS).into_iter().filter(is_cpu).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::State;

    #[test]
    fn limits_of_frequency_need_both_of_their_files() {
        let root = tempfile::tempdir().unwrap();
        let look = || frequency_limits(&Machine::at(root.path()));
        let directory = root.path().join(CPUS).join("cpu0/cpufreq");
        std::fs::create_dir_all(&directory).unwrap();
        assert_eq!(look().found, "no cpufreq");
        let write = |name: &str, khz: &str| std::fs::write(directory.join(name), khz).unwrap();
        write("cpuinfo_min_freq", "533000");
        write("cpuinfo_max_freq", "2362000");
        write("scaling_min_freq", "533000");
        let half = look();
        assert_eq!(half.state, State::Remark);
        assert!(
            half.found.starts_with("cpu0: scaling_max_freq"),
            "{}",
            half.found
        );
        write("scaling_max_freq", "903000");
        let whole = look();
        assert_eq!(
            (whole.state, &*whole.found),
            (State::Fit, "533 to 2362 MHz")
        );
        let notes = root.path().join(NOTES);
        std::fs::create_dir_all(&notes).unwrap();
        std::fs::write(notes.join("frequency"), "policy0 533000 903000\nend").unwrap();
        let held = look();
        let found = "533 to 2362 MHz, held";
        assert_eq!((held.state, &*held.found), (State::Remark, found));
        let kept = std::fs::read_to_string(directory.join("scaling_max_freq")).unwrap();
        assert_eq!(kept, "903000");
    }
}
