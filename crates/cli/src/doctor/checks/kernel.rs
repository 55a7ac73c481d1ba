// SPDX-License-Identifier: Apache-2.0
//! The kernel: preemption, clocks, what it keeps back for ordinary threads.

use rt::memory::page_bytes;
use rt::peer::PidFd;
use rt::shared::Memfd;

use crate::doctor::finding::Finding;
use crate::doctor::machine::Machine;

const SCHED_DEBUG: &str = "sys/kernel/debug/sched";

pub(super) fn preemption(machine: &Machine) -> Finding {
    const NAME: &str = "preemption";
    const INSTALL: &str = "apt-get install linux-image-rt-amd64, then boot it";
    let Some(version) = machine.read("proc/sys/kernel/version") else {
        return Finding::unfit(
            NAME,
            "unknown",
            "/proc is not readable: nothing can be said",
        );
    };
    if version.contains("PREEMPT_RT") || machine.read("sys/kernel/realtime").as_deref() == Some("1")
    {
        return Finding::fit(
            NAME,
            "PREEMPT_RT",
            "almost every kernel path can be preempted",
        );
    }
    if version.contains("PREEMPT_DYNAMIC") {
        return dynamic_preemption(machine);
    }
    if version.contains("PREEMPT") {
        let why =
            "not PREEMPT_RT: interrupts and locks delay a wake-up, by 0.5 ms and more under load";
        return Finding::remark(NAME, "PREEMPT", why).mend(INSTALL);
    }
    let why = "not PREEMPT_RT: a wake-up waits for whole system calls of others";
    Finding::remark(NAME, "none or voluntary", why).mend(INSTALL)
}

/// A kernel that chooses at boot: the choice stands in debugfs, on the command line, or in its
/// configuration.
fn dynamic_preemption(machine: &Machine) -> Finding {
    const NAME: &str = "preemption";
    let (mode, source) = dynamic_mode(machine);
    let found = format!("PREEMPT_DYNAMIC, {mode} ({source})");
    match mode.as_str() {
        "full" => Finding::remark(
            NAME,
            found,
            "not PREEMPT_RT: interrupts and locks delay a wake-up, by 0.1 ms and more under load",
        )
        .mend("apt-get install linux-image-rt-amd64, then boot it"),
        _ => Finding::remark(
            NAME,
            found,
            "not PREEMPT_RT: a wake-up waits for system calls of others, 0.5 ms and more under load",
        )
        .mend("boot with preempt=full, or apt-get install linux-image-rt-amd64 and boot it"),
    }
}

fn dynamic_mode(machine: &Machine) -> (String, &'static str) {
    if let Some(text) = machine.read(&format!("{SCHED_DEBUG}/preempt"))
        && let Some(chosen) = text.split_whitespace().find_map(|word| {
            word.strip_prefix('(')
                .and_then(|rest| rest.strip_suffix(')'))
        })
    {
        return (chosen.to_owned(), "as debugfs says");
    }
    let command_line = machine.read("proc/cmdline").unwrap_or_default();
    if let Some(mode) = command_line
        .split_whitespace()
        .find_map(|it| it.strip_prefix("preempt="))
    {
        return (mode.to_owned(), "as the boot line says");
    }
    let config = machine.kernel_config().unwrap_or_default();
    let is_set = |option: &str| config.lines().any(|line| line == format!("{option}=y"));
    let options = [
        ("CONFIG_PREEMPT_NONE", "none"),
        ("CONFIG_PREEMPT_VOLUNTARY", "voluntary"),
        ("CONFIG_PREEMPT_LAZY", "lazy"),
        ("CONFIG_PREEMPT", "full"),
    ];
    match options.iter().find(|(option, _)| is_set(option)) {
        Some((_, mode)) => ((*mode).to_owned(), "the kernel's default"),
        None => ("mode unknown".to_owned(), "mount debugfs to see it"),
    }
}

pub(super) fn clock_source(machine: &Machine) -> Finding {
    const NAME: &str = "clock source";
    let path = "sys/devices/system/clocksource/clocksource0/current_clocksource";
    match machine.read(path) {
        Some(name)
            if ["hpet", "acpi_pm", "jiffies", "refined-jiffies"].contains(&name.as_str()) =>
        {
            Finding::remark(
                NAME,
                name,
                "each reading of the time costs a microsecond and a system call",
            )
            .mend("boot with tsc=reliable if the processor's TSC is constant")
        }
        Some(name) => Finding::fit(NAME, name, "the time is read without entering the kernel"),
        None => Finding::remark(NAME, "unknown", "a slow clock adds to every measurement"),
    }
}

pub(super) fn timer_resolution() -> Finding {
    const NAME: &str = "timer resolution";
    match rt::clock::resolution_ns() {
        1 => Finding::fit(
            NAME,
            "1 ns",
            "sleeps end when they should, not at the next tick",
        ),
        ns => Finding::unfit(NAME, format!("{ns} ns"), "sleeps end at the next tick only")
            .mend("boot without highres=off and nohz=off"),
    }
}

pub(super) fn throttling(machine: &Machine) -> Finding {
    const NAME: &str = "RT throttling";
    let read = |name| machine.read_number(&format!("proc/sys/kernel/{name}"));
    match (read("sched_rt_runtime_us"), read("sched_rt_period_us")) {
        (Some(-1), _) => {
            Finding::fit(NAME, "off", "real-time threads are never paused (nor stopped, if one runs away)")
        }
        (Some(runtime), Some(period)) => Finding::remark(
            NAME,
            format!("{runtime} of {period} µs"),
            "beyond that, real-time threads pause until the period ends; SCHED_DEADLINE admits no more either",
        )
        .mend("sysctl kernel.sched_rt_runtime_us=-1, once nothing runs away any more"),
        _ => Finding::fit(NAME, "not in this kernel", "real-time threads are never paused"),
    }
}

pub(super) fn fair_server(machine: &Machine) -> Finding {
    const NAME: &str = "fair server";
    let budgets: Vec<i64> = machine
        .names(&format!("{SCHED_DEBUG}/fair_server"))
        .iter()
        .filter_map(|cpu| machine.read_number(&format!("{SCHED_DEBUG}/fair_server/{cpu}/runtime")))
        .collect();
    let why =
        "ordinary threads get that much of each second even beside busy real-time threads, at once";
    let mend = "for f in /sys/kernel/debug/sched/fair_server/*/runtime; do echo 0 > $f; done";
    match budgets.iter().max() {
        Some(0) => Finding::fit(
            NAME,
            "off",
            "ordinary threads never delay real-time threads",
        ),
        Some(ns) => Finding::remark(NAME, format!("{} ms", ns / 1_000_000), why).mend(mend),
        None if is_at_least(machine, 6, 12) => {
            Finding::remark(NAME, "50 ms by default (debugfs not readable)", why)
                .mend(format!("mount -t debugfs none /sys/kernel/debug; {mend}"))
        }
        None => Finding::fit(NAME, "not in this kernel", "kernels before 6.12 have none"),
    }
}

fn is_at_least(machine: &Machine, major: u32, minor: u32) -> bool {
    let release = machine
        .read("proc/sys/kernel/osrelease")
        .unwrap_or_default();
    let mut numbers = release
        .split(['.', '-'])
        .map(|part| part.parse::<u32>().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= (major, minor)
}

/// The transports of crates/binder; what `lent` needs of the kernel is tried.
pub(super) fn transports(machine: &Machine) -> Finding {
    const NAME: &str = "calls between programs";
    let missing = [
        (!is_at_least(machine, 5, 14)).then_some("FUTEX_LOCK_PI2 (5.14)"),
        (!shares_sealed_memory()).then_some("sealed shared memory"),
        PidFd::open(std::process::id().cast_signed())
            .is_err()
            .then_some("pidfd_open"),
    ];
    let missing: Vec<&str> = missing.into_iter().flatten().collect();
    if missing.is_empty() {
        let why = "a caller lends its priority to the program that it calls";
        return Finding::fit(NAME, "direct, lent", why);
    }
    let why = format!(
        "programs cannot call each other without {}",
        missing.join(", ")
    );
    Finding::remark(NAME, "direct", &why)
}

fn shares_sealed_memory() -> bool {
    let file = Memfd::new(c"doctor", page_bytes());
    file.is_ok_and(|it| it.map().is_ok() && it.seal_writes().is_ok())
}

pub(super) fn binder(machine: &Machine) -> Finding {
    const NAME: &str = "kernel Binder";
    let devices: Vec<String> = machine
        .names("dev")
        .into_iter()
        .filter(|name| name.ends_with("binder"))
        .collect();
    let is_mounted = machine.exists("dev/binderfs");
    if devices.is_empty() && !is_mounted {
        return Finding::fit(
            NAME,
            "not there",
            "Takt needs none: calls between its programs lend their priority by futexes",
        );
    }
    Finding::fit(
        NAME,
        format!("there ({})", devices.join(", ")),
        "calls between Takt's programs need none; `takt bench rpc --transport driver` measures it",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::State;

    /// A machine made of these files.
    fn check(files: &[(&str, &str)], check: fn(&Machine) -> Finding) -> (State, String) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let finding = check(&Machine::at(root.path()));
        (finding.state, finding.found)
    }

    #[test]
    fn each_preemption_model_is_told_apart() {
        const VERSION: &str = "proc/sys/kernel/version";
        const DYNAMIC: (&str, &str) = (VERSION, "#1 SMP PREEMPT_DYNAMIC Debian\n");
        const RELEASE: (&str, &str) = ("proc/sys/kernel/osrelease", "6.18.0\n");
        let check = |files: &[(&str, &str)]| check(files, preemption);
        let remark = |found: &str| (State::Remark, found.to_owned());
        assert_eq!(
            check(&[(VERSION, "#1 SMP PREEMPT_RT\n")]),
            (State::Fit, "PREEMPT_RT".into())
        );
        assert_eq!(check(&[(VERSION, "#1 SMP\n")]), remark("none or voluntary"));
        assert_eq!(
            check(&[
                DYNAMIC,
                (
                    "sys/kernel/debug/sched/preempt",
                    "none voluntary (full) lazy\n"
                )
            ]),
            remark("PREEMPT_DYNAMIC, full (as debugfs says)")
        );
        assert_eq!(
            check(&[DYNAMIC, ("proc/cmdline", "quiet preempt=voluntary\n")]),
            remark("PREEMPT_DYNAMIC, voluntary (as the boot line says)")
        );
        assert_eq!(
            check(&[
                DYNAMIC,
                RELEASE,
                ("boot/config-6.18.0", "CONFIG_PREEMPT_NONE=y\n")
            ]),
            remark("PREEMPT_DYNAMIC, none (the kernel's default)")
        );
        assert_eq!(check(&[]).0, State::Unfit);
    }

    #[test]
    fn what_is_kept_back_is_named() {
        let runtime = |text| {
            let files = [
                ("proc/sys/kernel/sched_rt_runtime_us", text),
                ("proc/sys/kernel/sched_rt_period_us", "1000000\n"),
            ];
            check(&files, throttling)
        };
        assert_eq!(runtime("-1\n").0, State::Fit);
        assert_eq!(
            runtime("950000\n"),
            (State::Remark, "950000 of 1000000 µs".into())
        );
        let server = |files: &[(&str, &str)]| check(files, fair_server);
        assert_eq!(
            server(&[("proc/sys/kernel/osrelease", "6.1.0-56-rt-amd64")]).0,
            State::Fit
        );
        assert_eq!(
            server(&[("proc/sys/kernel/osrelease", "6.18.44")]).0,
            State::Remark
        );
        let file = "sys/kernel/debug/sched/fair_server/cpu0/runtime";
        assert_eq!(
            server(&[(file, "50000000")]),
            (State::Remark, "50 ms".into())
        );
        assert_eq!(server(&[(file, "0")]).0, State::Fit);
    }

    #[test]
    fn a_binder_device_is_seen() {
        assert_eq!(check(&[("dev/null", "")], binder).1, "not there");
        assert_eq!(
            check(&[("dev/hwbinder", ""), ("dev/binder", "")], binder).1,
            "there (binder, hwbinder)"
        );
    }
}
