// SPDX-License-Identifier: Apache-2.0
//! What this user may do: tried, not guessed, and taken back at once.

use rt::memory::{LockScope, ProcessLock};
use rt::policy::{Policy, Reservation};
use rt::rights::{Capability, Limit};

use crate::doctor::finding::Finding;
use crate::doctor::machine::Machine;

/// The smallest reservation that says whether there could be others.
const PROBE: Reservation = Reservation {
    runtime_ns: 10_000,
    deadline_ns: 10_000_000,
    period_ns: 10_000_000,
};

pub(super) fn all(machine: &Machine) -> Vec<Finding> {
    vec![
        capabilities(),
        limits(),
        real_time_policy(),
        deadline_policy(),
        locked_memory(),
        control_group(machine),
    ]
}

fn capabilities() -> Finding {
    const NAME: &str = "capabilities";
    let missing: Vec<&str> = [Capability::SysNice, Capability::IpcLock]
        .into_iter()
        .filter(|capability| !capability.is_held())
        .map(Capability::name)
        .collect();
    match missing.as_slice() {
        [] => Finding::fit(NAME, "CAP_SYS_NICE, CAP_IPC_LOCK", "no limit below applies"),
        _ => Finding::remark(
            NAME,
            format!("no {}", missing.join(", no ")),
            "real-time policies and locked memory depend on the limits below",
        )
        .mend("setcap cap_sys_nice,cap_ipc_lock+ep on the program, or limits as below"),
    }
}

fn limits() -> Finding {
    const NAME: &str = "limits";
    let text = |limit: Limit| match limit.soft() {
        u64::MAX => "unlimited".to_owned(),
        value => value.to_string(),
    };
    let found = format!(
        "rtprio {}, nice {}, memlock {}",
        text(Limit::RtPriority),
        text(Limit::Nice),
        text(Limit::LockedBytes)
    );
    let is_free = Capability::SysNice.is_held() && Capability::IpcLock.is_held();
    if is_free {
        return Finding::fit(
            NAME,
            found,
            "they do not bind this user, who holds the capabilities",
        );
    }
    if Limit::RtPriority.soft() >= 90 && Limit::LockedBytes.soft() == u64::MAX {
        return Finding::fit(
            NAME,
            found,
            "real-time priorities and locked memory are allowed",
        );
    }
    let mend = "printf '@audio - rtprio 95\\n@audio - nice -19\\n@audio - memlock unlimited\\n' > \
                /etc/security/limits.d/realtime.conf; adduser USER audio; log in again";
    Finding::remark(
        NAME,
        found,
        "priorities beyond the limit and unlocked memory make threads late",
    )
    .mend(mend)
}

fn real_time_policy() -> Finding {
    const NAME: &str = "SCHED_FIFO";
    match Policy::fifo(80).enter() {
        Ok(_guard) => Finding::fit(
            NAME,
            "granted at 80",
            "real-time threads precede all ordinary ones",
        ),
        Err(error) => match Policy::fifo(1).enter() {
            Ok(_guard) => {
                Finding::remark(NAME, "granted at 1, not at 80", &error.refusal.to_string())
            }
            Err(error) => Finding::unfit(NAME, "refused", &error.refusal.to_string()),
        },
    }
}

fn deadline_policy() -> Finding {
    const NAME: &str = "SCHED_DEADLINE";
    match Policy::Deadline(PROBE).enter() {
        Ok(_guard) => Finding::fit(NAME, "granted", "processor time can be reserved"),
        Err(error) => Finding::remark(NAME, "refused", &error.refusal.to_string()),
    }
}

fn locked_memory() -> Finding {
    const NAME: &str = "locked memory";
    match ProcessLock::acquire(LockScope::OnFault) {
        Ok(_lock) => Finding::fit(NAME, "granted", "pages stay where they are"),
        Err(error) => Finding::remark(NAME, "refused", &error.to_string()),
    }
}

fn control_group(machine: &Machine) -> Finding {
    const NAME: &str = "control group";
    let groups = machine.read("proc/self/cgroup").unwrap_or_default();
    let group_of = |controller: &str| {
        groups.lines().find_map(|line| {
            let (names, path) = line.split_once(':')?.1.split_once(':')?;
            names
                .split(',')
                .any(|name| name == controller)
                .then(|| path.to_owned())
        })
    };
    if let Some(path) = group_of("cpu")
        && let file = format!("sys/fs/cgroup/cpu{path}/cpu.rt_runtime_us")
        && machine.read_number(&file) == Some(0)
    {
        let why = "this group's real-time threads get no time (RT_GROUP_SCHED)";
        return Finding::unfit(NAME, path, why).mend(format!("echo 950000 > /{file}"));
    }
    let quota = group_of("")
        .and_then(|path| machine.read(&format!("sys/fs/cgroup{path}/cpu.max")))
        .filter(|quota| !quota.starts_with("max"));
    match quota {
        Some(quota) => {
            let why =
                "ordinary threads of this group pause when their quota of each period is spent";
            Finding::remark(NAME, format!("cpu.max {quota}"), why)
                .mend("echo max > cpu.max of its group")
        }
        None => Finding::fit(NAME, "no limit", "no quota pauses threads"),
    }
}
