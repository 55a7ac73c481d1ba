// SPDX-License-Identifier: Apache-2.0
//! The filter of system calls: what is refused, and why.
//!
//! It is a list of refusals. An application brings libraries of its own, and what they call is not
//! known; each call up to [`LAST`] was judged, and all beyond is refused. A refused call returns an
//! error, as on a kernel without it, so that a program can do without.

use std::collections::BTreeMap;

use libc::{EACCES, ENOSYS, EPERM};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};

use crate::spec::{LocalSockets, Network, RealTime, Spec};

/// The last system call that was judged: file_setattr of Linux 6.17. The calls of the x32 interface
/// have larger numbers too, and would go round the list.
const LAST: u32 = 469;

/// They read and change the memory, descriptors and limits of other processes.
const OTHERS: &[i64] = &[
    libc::SYS_kcmp,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    libc::SYS_pidfd_getfd,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
];

/// They change the machine: its kernel, clocks, names, swap, accounts.
const MACHINE: &[i64] = &[
    libc::SYS_acct,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_finit_module,
    libc::SYS_init_module,
    libc::SYS_ioperm,
    libc::SYS_iopl,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_reboot,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_vhangup,
];

/// They change what files there are: a new view is a way round the rules for the old one.
const MOUNTS: &[i64] = &[
    libc::SYS_chroot,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_pivot_root,
    libc::SYS_setns,
    libc::SYS_umount2,
    libc::SYS_unshare,
    OPEN_TREE_ATTR,
];

/// Newer than our library of numbers.
const OPEN_TREE_ATTR: i64 = 467;

/// Large parts of the kernel in which most holes were found, and which no application needs.
/// io_uring makes sockets and opens files out of this filter's sight.
const RARELY_TRIED: &[i64] = &[
    libc::SYS_add_key,
    libc::SYS_bpf,
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_keyctl,
    libc::SYS_lookup_dcookie,
    libc::SYS_modify_ldt,
    libc::SYS_perf_event_open,
    libc::SYS_request_key,
    libc::SYS_userfaultfd,
];

/// What they make stays when the process ends, and is found by a name that everybody may use.
const NAMED: &[i64] = &[
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_msgget,
    libc::SYS_semget,
    libc::SYS_shmget,
];

/// Flags of `clone` that make namespaces; the process then has all capabilities in them.
const NAMESPACES: [libc::c_int; 7] = [
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWUTS,
];

/// They put characters into the terminal's input, as if its user had typed them.
const TERMINAL: [u64; 2] = [libc::TIOCSTI, libc::TIOCLINUX];

/// Scheduling classes: an application raises itself into none of them.
const REAL_TIME: [u64; 3] = [
    libc::SCHED_FIFO as u64,
    libc::SCHED_RR as u64,
    libc::SCHED_DEADLINE as u64,
];

/// The kinds of a socket, without the flags beside them.
const KIND: u64 = 0xf;
/// The policy, without the flag beside it.
const POLICY: u64 = 0xff;

/// All programs, each to be applied: the strictest answer counts.
pub(crate) fn programs(spec: &Spec) -> Vec<BpfProgram> {
    let mut refused = Table::new();
    for list in [OTHERS, MACHINE, MOUNTS, RARELY_TRIED, NAMED] {
        refused.extend(list.iter().map(|call| (*call, Vec::new())));
    }
    let namespaces = NAMESPACES.map(|flag| {
        let flag = u64::from(flag.unsigned_abs());
        rule([is(0, SeccompCmpOp::MaskedEq(flag), flag)])
    });
    refused.insert(libc::SYS_clone, namespaces.to_vec());
    let terminal = TERMINAL.map(|call| rule([is(1, SeccompCmpOp::Eq, call)]));
    refused.insert(libc::SYS_ioctl, terminal.to_vec());
    // The ordinary one may be asked for and set; others take protections away.
    let other = [0xffff_ffff, 0].map(|value| is(0, SeccompCmpOp::Ne, value));
    refused.insert(libc::SYS_personality, vec![rule(other)]);
    let others = is(0, SeccompCmpOp::Ne, 0);
    refused.insert(libc::SYS_prlimit64, vec![rule([others])]);
    if spec.real_time == RealTime::FromOutside {
        // sched_setattr has its policy in memory, where no filter looks: limits bound it.
        let classes = REAL_TIME.map(|class| rule([is(1, SeccompCmpOp::MaskedEq(POLICY), class)]));
        refused.insert(libc::SYS_sched_setscheduler, classes.to_vec());
    }
    // Its flags are in memory; the C library then calls `clone`.
    let unknown = Table::from([(libc::SYS_clone3, Vec::new())]);
    vec![
        beyond_the_last(),
        program(unknown, ENOSYS),
        program(refused, EPERM),
        program(sockets(spec), EACCES),
    ]
}

/// Families of sockets by what the specification grants, and kinds that carry what the kernel
/// itself understands: only streams and datagrams of TCP and UDP go through.
fn sockets(spec: &Spec) -> Table {
    let local = [libc::AF_UNIX];
    let network = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
    let mut families: Vec<libc::c_int> = Vec::new();
    if spec.local_sockets == LocalSockets::Allowed {
        families.extend(local);
    }
    if spec.network != Network::None {
        families.extend(network);
    }
    let is_other = |argument, values: &[libc::c_int]| -> Vec<SeccompCondition> {
        let ne =
            |value: &libc::c_int| is(argument, SeccompCmpOp::Ne, u64::from(value.unsigned_abs()));
        values.iter().map(ne).collect()
    };
    if families.is_empty() {
        return Table::from([
            (libc::SYS_socket, Vec::new()),
            (libc::SYS_socketpair, vec![rule(is_other(0, &local))]),
        ]);
    }
    let mut rules = vec![rule(is_other(0, &families))];
    for family in [libc::AF_INET, libc::AF_INET6] {
        let of_family = || is(0, SeccompCmpOp::Eq, u64::from(family.unsigned_abs()));
        let protocols = [0, libc::IPPROTO_TCP, libc::IPPROTO_UDP];
        rules.push(rule([vec![of_family()], is_other(2, &protocols)].concat()));
        let raw = u64::from(libc::SOCK_RAW.unsigned_abs());
        let is_raw = is(1, SeccompCmpOp::MaskedEq(KIND), raw);
        rules.push(rule([of_family(), is_raw]));
        if spec.network == Network::Listen {
            let datagrams = u64::from(libc::SOCK_DGRAM.unsigned_abs());
            let is_datagrams = is(1, SeccompCmpOp::MaskedEq(KIND), datagrams);
            rules.push(rule([of_family(), is_datagrams]));
        }
    }
    // Which interfaces there are, and no other of the kernel's talks.
    let netlink = is(
        0,
        SeccompCmpOp::Eq,
        u64::from(libc::AF_NETLINK.unsigned_abs()),
    );
    let is_not_route = is_other(2, &[libc::NETLINK_ROUTE]);
    rules.push(rule([vec![netlink], is_not_route].concat()));
    Table::from([
        (libc::SYS_socket, rules),
        (libc::SYS_socketpair, vec![rule(is_other(0, &local))]),
    ])
}

/// A call is refused if one of its rules holds, or always if there is none.
type Table = BTreeMap<i64, Vec<SeccompRule>>;

/// The lower half of an argument: all that are compared are 32 bits wide to the kernel.
fn is(argument: u8, op: SeccompCmpOp, value: u64) -> SeccompCondition {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, op, value)
        .expect("no call has more than six arguments")
}

fn rule(all: impl Into<Vec<SeccompCondition>>) -> SeccompRule {
    SeccompRule::new(all.into()).expect("a rule has conditions")
}

fn program(refused: Table, errno: libc::c_int) -> BpfProgram {
    let arch = TargetArch::try_from(std::env::consts::ARCH).expect("x86-64 is known");
    let answer = SeccompAction::Errno(errno.unsigned_abs());
    SeccompFilter::new(refused, SeccompAction::Allow, answer, arch)
        .and_then(BpfProgram::try_from)
        .expect("the table is well formed and short")
}

/// "No such call" for each that was not judged.
fn beyond_the_last() -> BpfProgram {
    let of = |code: u32, jt, jf, k| sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    vec![
        of(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0), // the call's number
        of(libc::BPF_JMP | libc::BPF_JGT | libc::BPF_K, 1, 0, LAST),
        of(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
        of(
            libc::BPF_RET | libc::BPF_K,
            0,
            0,
            libc::SECCOMP_RET_ERRNO | ENOSYS.unsigned_abs(),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Limits, OtherProcesses};

    fn spec(network: Network, local_sockets: LocalSockets) -> Spec {
        Spec {
            identity: None,
            files: Vec::new(),
            network,
            local_sockets,
            other_processes: OtherProcesses::Hidden,
            real_time: RealTime::FromOutside,
            limits: Limits {
                tasks: None,
                open_files: None,
                locked_bytes: None,
                real_time_us: None,
                kill_order: None,
            },
            group: None,
            disk: None,
            lacks: Vec::new(),
        }
    }

    /// Calls of 32 bits have other numbers: the first thing that each list looks at.
    #[test]
    fn every_list_ends_who_calls_by_another_architecture() {
        for network in [Network::None, Network::Listen, Network::Full] {
            for local in [LocalSockets::Refused, LocalSockets::Allowed] {
                let programs = programs(&spec(network, local));
                for program in &programs[1..] {
                    let ends = |it: &sock_filter| it.k == libc::SECCOMP_RET_KILL_PROCESS;
                    assert!(program[..3].iter().any(ends), "{network:?} {local:?}");
                }
            }
        }
    }

    #[test]
    fn nothing_that_was_not_judged_is_known() {
        let calls = [OTHERS, MACHINE, MOUNTS, RARELY_TRIED, NAMED].concat();
        assert!(calls.iter().all(|it| (0..=i64::from(LAST)).contains(it)));
    }
}
