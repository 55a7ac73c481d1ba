// SPDX-License-Identifier: Apache-2.0
//! Memory: large pages and the signs of shortage.

use ::system::pressure;
use rt::rights::Capability;

use crate::doctor::finding::Finding;
use crate::doctor::machine::Machine;

pub(super) fn huge_pages(machine: &Machine) -> Finding {
    const NAME: &str = "huge pages";
    let reserved = machine.read_number("proc/sys/vm/nr_hugepages").unwrap_or(0);
    match chosen(machine, "enabled").as_deref() {
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
                _ => format!("{reserved} reserved, none transparent"),
            },
            "large heaps pay for small pages: memory access up to twice as slow (PREEMPT_RT \
             kernels have no transparent ones; -XX:+UseLargePages takes reserved ones)",
        ),
    }
}

/// Those of shared memory, where windows' pixels lie.
pub(super) fn huge_pages_of_windows(machine: &Machine) -> Finding {
    const NAME: &str = "huge pages of windows";
    match chosen(machine, "shmem_enabled").as_deref() {
        Some("advise" | "within_size" | "always") => Finding::fit(
            NAME,
            "transparent, on demand",
            "windows of 2 MiB and more get them",
        ),
        _ => Finding::fit(
            NAME,
            "none",
            "windows lie in small pages; echo advise > \
             /sys/kernel/mm/transparent_hugepage/shmem_enabled changes that",
        ),
    }
}

/// The word in brackets of a setting of transparent huge pages.
fn chosen(machine: &Machine, setting: &str) -> Option<String> {
    let setting = machine.read(&format!("sys/kernel/mm/transparent_hugepage/{setting}"))?;
    let mut words = setting.split_whitespace();
    let chosen = words.find_map(|it| it.strip_prefix('[')?.strip_suffix(']'));
    chosen.map(str::to_owned)
}

/// What the kernel says to triggers.
enum Tried {
    Soon,
    Late,
    Refused(std::io::Error),
}

pub(super) fn pressure(machine: &Machine) -> Finding {
    const PATH: &str = "proc/pressure/memory";
    let tried = || match machine.try_writing(PATH, pressure::SOON) {
        Ok(()) => Tried::Soon,
        Err(_) => match machine.try_writing(PATH, pressure::LATE) {
            Ok(()) => Tried::Late,
            Err(error) => Tried::Refused(error),
        },
    };
    match machine.exists(PATH) {
        false => judge_pressure(None),
        true if machine.is_here() => judge_pressure(Some(tried())),
        true => judge_pressure(Some(Tried::Soon)),
    }
}

/// Whether the kernel itself spares real-time packages when it ends processes for memory.
pub(super) fn order() -> Finding {
    judge_order(Capability::SysResource.is_held())
}

fn judge_order(may_lower: bool) -> Finding {
    const NAME: &str = "kill order";
    match may_lower {
        true => Finding::fit(
            NAME,
            "CAP_SYS_RESOURCE is there",
            "the kernel ends ordinary packages before real-time ones",
        ),
        false => Finding::remark(
            NAME,
            "CAP_SYS_RESOURCE is missing",
            "where the kernel itself ends processes for memory, a real-time package (`takt system \
             --realtime`) has the server's place and may be the first",
        )
        .mend(RIGHT),
    }
}

const RIGHT: &str = "run with CAP_SYS_RESOURCE (a container's root may lack it)";

/// `tried`: where the kernel has PSI.
fn judge_pressure(tried: Option<Tried>) -> Finding {
    const NAME: &str = "memory pressure";
    match tried {
        Some(Tried::Soon) => Finding::fit(NAME, "PSI", "shortage shows before it hurts"),
        Some(Tried::Late) => Finding::remark(
            NAME,
            "PSI, triggers of 2 s alone",
            "CAP_SYS_RESOURCE is missing: a warning of shortage is measured over 2 s, not over 1 s",
        )
        .mend(RIGHT),
        Some(Tried::Refused(error)) => Finding::remark(
            NAME,
            format!("PSI, its triggers refused ({error})"),
            "shortage can be read, but wakes nobody before the kernel kills a process",
        )
        .mend(RIGHT),
        None => Finding::remark(
            NAME,
            "no PSI",
            "shortage shows only when the kernel kills a process",
        )
        .mend("boot with psi=1"),
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use super::*;
    use crate::doctor::finding::State;

    #[test]
    fn pressure_that_wakes_nobody_is_told_from_none() {
        assert_eq!(judge_pressure(Some(Tried::Soon)).state, State::Fit);
        let refused = judge_pressure(Some(Tried::Refused(ErrorKind::PermissionDenied.into())));
        assert_eq!(refused.state, State::Remark);
        assert!(
            refused.found.contains("permission denied"),
            "{}",
            refused.found
        );
        let late = judge_pressure(Some(Tried::Late));
        assert_eq!(late.state, State::Remark);
        assert!(!late.found.contains("refused"), "{}", late.found);
        let none = judge_pressure(None);
        assert_eq!((none.state, &*none.found), (State::Remark, "no PSI"));
    }

    #[test]
    fn who_cannot_lower_the_order_is_told_what_that_means() {
        assert_eq!(judge_order(true).state, State::Fit);
        assert_eq!(judge_order(false).state, State::Remark);
    }

    #[test]
    fn another_root_is_read_and_not_written() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("proc/pressure/memory");
        assert_eq!(pressure(&Machine::at(root.path())).found, "no PSI");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, "some avg10=0.00").unwrap();
        assert_eq!(pressure(&Machine::at(root.path())).found, "PSI");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "some avg10=0.00");
    }
}
