// SPDX-License-Identifier: Apache-2.0
//! Hostile programs, free and confined: what each tries is refused or bounded, and works outside.
//!
//! As root each has a user of its own; as an ordinary user the tests show what that user can have.
//! `cargo xtask test --only sandbox` runs some of them on Debian's kernel too.

mod children;
mod programs;

use programs::{Folder, Outcome, forsaken, free, granted, is_root, level, run, victim};
use sandbox::{Access, Bound, Confinement, Error, Grant, LocalSockets, Network, RealTime};
use sandbox::{OtherProcesses, State, Strictness};

const EPERM: &str = "Operation not permitted";
const EACCES: &str = "Permission denied";
const ENOSYS: &str = "Function not implemented";
/// What hides a process says that it is not there, or not for us.
const REFUSED: [&str; 3] = [EPERM, EACCES, "No such process"];

fn is_refused(outcome: &Outcome) -> bool {
    !outcome.is_done && REFUSED.iter().any(|it| outcome.said.contains(it))
}

#[test]
fn what_is_granted_works() {
    let folder = Folder::new(1);
    let inside = |words: &[&str]| run(folder.spec(), words);
    let data = folder.data("notes");
    for words in [
        ["files", "make", &data],
        ["files", "write", &data],
        ["files", "truncate", &data],
        ["files", "read", &data],
        ["files", "remove", &data],
        ["files", "read", "/etc/passwd"],
        ["files", "read", "/proc/self/status"],
        ["files", "read", "/proc/thread-self/stat"],
        ["files", "write", "/proc/self/comm"],
        ["files", "open", "/dev/null"],
        ["files", "run", "/bin/true"],
        ["socket", "pair", ""],
    ] {
        let outcome = inside(&words);
        assert!(outcome.is_done, "{words:?}: {outcome:?}");
    }
}

/// What the kernel itself says of the process.
#[test]
fn nothing_is_left_of_its_rights() {
    let folder = Folder::new(2);
    let status = run(folder.spec(), &["status"]).said;
    let value = |name: &str| {
        let of = |line: &str| Some(line.strip_prefix(name)?.trim().to_owned());
        status
            .lines()
            .find_map(of)
            .unwrap_or_else(|| panic!("{name}: {status}"))
    };
    assert_eq!(value("NoNewPrivs:"), "1");
    assert_eq!(value("Seccomp:"), "2");
    for set in ["CapInh:", "CapPrm:", "CapEff:", "CapAmb:"] {
        assert_eq!(value(set), "0000000000000000", "{set}");
    }
    if is_root() {
        assert_eq!(value("CapBnd:"), "0000000000000000");
        assert_eq!(value("Uid:"), "10002\t10002\t10002\t10002");
        assert_eq!(value("Gid:"), "10002\t10002\t10002\t10002");
        assert_eq!(value("Groups:"), "");
    }
    let limits = run(folder.spec(), &["limits"]).said;
    let limit = |name: &str| {
        let line = limits.lines().find(|it| it.starts_with(name)).expect(name);
        let words: Vec<&str> = line[name.len()..].split_whitespace().collect();
        (words[0].to_owned(), words[1].to_owned())
    };
    let both = |text: &str| (text.to_owned(), text.to_owned());
    assert_eq!(limit("Max realtime priority"), both("0"));
    assert_eq!(limit("Max nice priority"), both("0"));
    assert_eq!(limit("Max core file size"), both("0"));
    assert_eq!(limit("Max open files"), both("256"));
    assert_eq!(limit("Max locked memory"), both("65536"));
}

#[test]
fn files_of_others_are_out_of_reach() {
    let (own, other) = (Folder::new(3), Folder::new(4));
    let secret = other.data("secret");
    // Open to everybody, as careless programs leave them.
    std::fs::write(&secret, "of another application").unwrap();
    programs::open_to_all(&secret);
    assert!(free(&["files", "read", &secret]).is_done);
    let made = other.data("made");
    for (verb, path) in [
        ("read", secret.as_str()),
        ("write", &secret),
        ("remove", &secret),
        ("link", &secret),
        ("make", &made),
        ("list", &other.data("")),
        ("read", "/etc/shadow"),
        ("list", "/root"),
        ("list", "/home"),
        ("list", "/tmp"),
        ("list", "/proc"),
        ("list", "/sys"),
        ("make", "/usr/hostile"),
        ("run", &own.data("program")),
    ] {
        if verb == "run" {
            programs::copy_program("/bin/true".as_ref(), path.as_ref());
            assert!(free(&["files", verb, path]).is_done);
        }
        let outcome = run(own.spec(), &["files", verb, path]);
        assert!(is_refused(&outcome), "{verb} {path}: {outcome:?}");
    }
    let cut = run(own.spec(), &["files", "truncate", &secret]);
    // Open to all, so nothing but Landlock is in the way.
    assert_eq!(is_refused(&cut), level() >= 3, "{cut:?}");
}

#[test]
fn devices_are_out_of_reach() {
    let folder = Folder::new(5);
    for device in ["/dev/ptmx", "/dev/kmsg", "/dev/mem", "/dev/tty0"] {
        let outcome = run(folder.spec(), &["files", "open", device]);
        let is_there = std::fs::exists(device).unwrap();
        assert!(is_refused(&outcome) || !is_there, "{device}: {outcome:?}");
    }
    assert!(free(&["files", "open", "/dev/ptmx"]).is_done);
}

/// A victim of another application, and one of the same: that Landlock alone holds apart.
#[test]
fn other_processes_are_out_of_reach() {
    let own = Folder::new(6);
    let other = Folder::new(7);
    for (folder, is_same) in [(&other, false), (&own, true)] {
        let victim = victim(folder);
        let pid = victim.pid();
        for verb in [
            "end",
            "signal",
            "trace",
            "memory",
            "mem file",
            "environment",
            "maps",
            "name",
            "priority",
        ] {
            let outcome = run(own.spec(), &["process", verb, &pid]);
            let is_signal = verb == "end" || verb == "signal";
            // Without scopes only another user is safe from signals.
            if is_signal && (is_same || !is_root()) && level() < 6 {
                continue;
            }
            assert!(is_refused(&outcome), "{verb}, {is_same}: {outcome:?}");
        }
        if is_root() {
            for verb in ["signal", "trace", "mem file", "environment", "maps", "name"] {
                let outcome = free(&["process", verb, &pid]);
                assert!(outcome.is_done, "{verb}: {outcome:?}");
            }
        }
        victim.end();
    }
}

/// Who serves calls must see how urgent its caller is: states, and nothing that needs a right.
#[test]
fn listed_processes_show_their_state_alone() {
    let own = Folder::new(8);
    let other = Folder::new(9);
    let victim = victim(&other);
    let look = |verb: &str| {
        let mut spec = own.spec();
        spec.other_processes = OtherProcesses::Listed;
        run(spec, &["process", verb, &victim.pid()])
    };
    for verb in ["name", "priority"] {
        assert!(look(verb).is_done);
    }
    for verb in ["mem file", "environment", "maps"] {
        let outcome = look(verb);
        assert!(is_refused(&outcome), "{verb}: {outcome:?}");
    }
    victim.end();
}

#[test]
fn no_thread_raises_itself() {
    let folder = Folder::new(10);
    let ways = [
        "fifo",
        "round robin",
        "deadline",
        "nice",
        "by the older call",
        "limit",
        "user",
    ];
    for way in ways {
        let outcome = run(folder.spec(), &["raise", way]);
        assert!(is_refused(&outcome), "{way}: {outcome:?}");
        // Root may have no right to raise limits, nor room for a reservation.
        if is_root() && way != "deadline" && way != "limit" {
            let outcome = free(&["raise", way]);
            assert!(outcome.is_done, "{way}: {outcome:?}");
        }
    }
}

/// As `takt run` has it: a person's own real-time rights stay, and no other.
#[test]
fn a_users_own_real_time_stays() {
    if !is_root() {
        return;
    }
    let folder = Folder::new(11);
    let as_user = || {
        let mut spec = folder.spec();
        spec.identity = None;
        spec.real_time = RealTime::AsUser;
        spec.limits.tasks = None;
        spec
    };
    for way in ["fifo", "round robin", "by the older call"] {
        let outcome = run(as_user(), &["raise", way]);
        assert!(outcome.is_done, "{way}: {outcome:?}");
    }
    let status = run(as_user(), &["status"]).said;
    for set in ["CapPrm", "CapEff", "CapBnd"] {
        assert!(
            status.contains(&format!("{set}:\t0000000000804000")),
            "{status}"
        );
    }
    let outcome = run(as_user(), &["files", "read", "/etc/shadow"]);
    assert!(is_refused(&outcome), "{outcome:?}");
}

/// As `takt system` has it for a package that a person has named: up to a priority, without rights.
#[test]
fn a_grant_of_real_time_is_no_right() {
    let folder = Folder::new(25);
    let up_to = |priority| {
        let mut spec = folder.spec();
        spec.real_time = RealTime::UpTo(priority);
        spec
    };
    let made = Confinement::prepare(&up_to(1), Strictness::Best).unwrap();
    // Nobody raises a limit without the right to it.
    if made.report().holds(Bound::RealTime) {
        for way in ["fifo", "by the older call"] {
            let outcome = run(up_to(1), &["raise", way]);
            assert!(outcome.is_done, "{way}: {outcome:?}");
        }
    }
    for way in ["nice", "limit", "user"] {
        let outcome = run(up_to(1), &["raise", way]);
        assert!(is_refused(&outcome), "{way}: {outcome:?}");
    }
    let outcome = run(up_to(0), &["raise", "fifo"]);
    assert!(is_refused(&outcome), "{outcome:?}");
}

/// The same where nobody may raise a limit: its starter grants it. What is beyond the grant is
/// refused as without one, and so is all that is for other threads than its own.
#[test]
fn what_is_granted_from_outside_ends_at_the_grant() {
    if !is_root() {
        return;
    }
    let folder = Folder::new(27);
    let asked = |most| {
        let mut spec = folder.spec();
        spec.real_time = RealTime::Asked(most);
        spec
    };
    let made = Confinement::prepare(&asked(1), Strictness::Best).unwrap();
    assert!(made.report().holds(Bound::RealTime), "{:?}", made.report());
    for way in [
        "fifo",
        "round robin",
        "by the older call",
        "parameters",
        "a thread",
        "back",
    ] {
        let outcome = granted(asked(1), &["raise", way]);
        assert!(outcome.is_done, "{way}: {outcome:?}");
    }
    for way in [
        "deadline",
        "nice",
        "limit",
        "user",
        "more",
        "a child",
        "its starter",
    ] {
        let outcome = granted(asked(1), &["raise", way]);
        assert!(is_refused(&outcome), "{way}: {outcome:?}");
    }
    let outcome = granted(asked(0), &["raise", "fifo"]);
    assert!(is_refused(&outcome), "{outcome:?}");
    // Nobody is there who could be asked.
    let outcome = forsaken(asked(1), &["raise", "fifo"]);
    assert!(
        !outcome.is_done && outcome.said.contains(ENOSYS),
        "{outcome:?}"
    );
}

#[test]
fn what_was_known_to_be_missing_is_named() {
    let mut spec = Folder::new(26).spec();
    spec.identity = None;
    spec.lacks = vec![(Bound::Identity, "for a test".to_owned())];
    let error = Confinement::prepare(&spec, Strictness::Strict).unwrap_err();
    assert!(
        error.to_string().contains("own user (for a test)"),
        "{error}"
    );
}

#[test]
fn calls_that_reach_the_machine_are_refused() {
    let folder = Folder::new(12);
    let calls = [
        "mount",
        "umount",
        "pivot_root",
        "chroot",
        "fsopen",
        "open_tree",
        "setns",
        "unshare",
        "clone",
        "bpf",
        "perf",
        "userfaultfd",
        "io_uring",
        "keyctl",
        "add_key",
        "kexec",
        "reboot",
        "module",
        "clock",
        "hostname",
        "personality",
        "fanotify",
        "modify_ldt",
        "shared memory",
        "queue",
        "type into terminal",
        "limit of another",
    ];
    for verb in calls {
        let outcome = run(folder.spec(), &["call", verb]);
        assert!(
            !outcome.is_done && outcome.said.contains(EPERM),
            "{verb}: {outcome:?}"
        );
        // What is wrong with these calls is looked at first by a free program's kernel.
        let free = free(&["call", verb]);
        assert!(!is_root() || !free.said.contains(EPERM), "{verb}: {free:?}");
    }
    for verb in ["clone3", "x32", "later"] {
        let outcome = run(folder.spec(), &["call", verb]);
        assert!(
            !outcome.is_done && outcome.said.contains(ENOSYS),
            "{verb}: {outcome:?}"
        );
    }
}

#[test]
fn without_the_network_no_socket_is_made() {
    let folder = Folder::new(13);
    let door = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let place = door.local_addr().unwrap().to_string();
    let name = format!("takt-test-{}", std::process::id());
    let _abstract = programs::listen_abstract(&name);
    let path = folder.data("door");
    let _local = std::os::unix::net::UnixListener::bind(&path).unwrap();
    programs::open_to_all(&path);
    let tries = [
        ("connect", place.as_str()),
        ("listen", "127.0.0.1:0"),
        ("datagram", "127.0.0.1:0"),
        ("local", &path),
        ("abstract", &name),
        ("raw", ""),
        ("packet", ""),
        ("ping", ""),
        ("audit", ""),
        ("vsock", ""),
        ("alg", ""),
    ];
    for (verb, place) in tries {
        let outcome = run(folder.spec(), &["socket", verb, place]);
        assert!(
            !outcome.is_done && outcome.said.contains(EACCES),
            "{verb}: {outcome:?}"
        );
    }
    for (verb, place) in &tries[..5] {
        let outcome = free(&["socket", verb, place]);
        assert!(outcome.is_done, "{verb}: {outcome:?}");
    }
}

#[test]
fn with_the_network_nothing_raw_goes_through() {
    let folder = Folder::new(14);
    let with = |network| {
        let mut spec = folder.spec();
        spec.network = network;
        spec
    };
    let door = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let place = door.local_addr().unwrap().to_string();
    for (verb, place) in [
        ("connect", place.as_str()),
        ("listen", "127.0.0.1:0"),
        ("datagram", "127.0.0.1:0"),
    ] {
        let outcome = run(with(Network::Full), &["socket", verb, place]);
        assert!(outcome.is_done, "{verb}: {outcome:?}");
    }
    for verb in ["raw", "packet", "ping", "audit", "vsock", "alg", "local"] {
        let outcome = run(with(Network::Full), &["socket", verb, "/nowhere"]);
        assert!(
            !outcome.is_done && outcome.said.contains(EACCES),
            "{verb}: {outcome:?}"
        );
    }
    assert!(run(with(Network::Listen), &["socket", "listen", "127.0.0.1:0"]).is_done);
    let datagram = run(
        with(Network::Listen),
        &["socket", "datagram", "127.0.0.1:0"],
    );
    assert!(is_refused(&datagram), "{datagram:?}");
    let connect = run(with(Network::Listen), &["socket", "connect", &place]);
    assert_eq!(is_refused(&connect), level() >= 4, "{connect:?}");
}

/// Sockets by paths are there, by names outside of the file system not.
#[test]
fn local_sockets_reach_no_abstract_name() {
    let folder = Folder::new(15);
    let name = format!("takt-test-names-{}", std::process::id());
    let _listener = programs::listen_abstract(&name);
    let path = folder.data("door");
    let _local = std::os::unix::net::UnixListener::bind(&path).unwrap();
    programs::open_to_all(&path);
    let inside = |verb: &str, place: &str| {
        let mut spec = folder.spec();
        spec.local_sockets = LocalSockets::Allowed;
        run(spec, &["socket", verb, place])
    };
    assert!(inside("local", &path).is_done);
    let outcome = inside("abstract", &name);
    let is_bounded = level() >= 6 || is_root();
    assert_eq!(!outcome.is_done, is_bounded, "{outcome:?}");
}

#[test]
fn a_full_table_of_tasks_is_its_own() {
    let folder = Folder::new(16);
    if !is_root() {
        // Other programs of this user come and go: the bound is there, its place is not ours.
        return;
    }
    let outcome = run(folder.spec(), &["tasks"]);
    let count = outcome
        .said
        .split(' ')
        .next()
        .and_then(|it| it.parse().ok());
    let bound = 1..programs::TASKS as usize;
    assert!(bound.contains(&count.unwrap_or(0)), "{outcome:?}");
    assert!(
        outcome.said.contains("temporarily unavailable"),
        "{outcome:?}"
    );
    assert!(free(&["tasks"]).is_done);
}

/// Where there is cgroup v2: in the lab.
#[test]
fn a_group_bounds_memory_and_tasks() {
    let make = |memory, tasks| sandbox::Group::make("", "takt-test", memory, tasks);
    if !sandbox::Group::is_offered() || !is_root() {
        assert!(make(None, None).is_err());
        return;
    }
    let folder = Folder::new(17);
    let confined = |words: &[&str]| {
        let mut spec = folder.spec();
        spec.limits.tasks = None;
        let group = make(Some(64 << 20), Some(20)).unwrap();
        group.reserve(8 << 20).unwrap();
        spec.group = Some(group.into());
        run(spec, words)
    };
    let memory = confined(&["memory"]);
    assert_eq!(memory.signal, Some(libc::SIGKILL), "{memory:?}");
    let tasks = confined(&["tasks"]);
    assert!(tasks.said.starts_with("19 and then"), "{tasks:?}");
    let path = make(None, None).unwrap().path().to_owned();
    assert!(!path.exists(), "a group goes with its value");
    assert!(sandbox::Group::make("", "../out", None, None).is_err());
}

/// A process alone in its group makes room there for others; one that is not is told so.
#[test]
fn a_group_of_its_own_is_a_place_for_others() {
    if !sandbox::Group::is_offered() || !is_root() {
        return;
    }
    let own = || {
        let text = std::fs::read_to_string("/proc/self/cgroup").unwrap();
        let own = text.lines().find_map(|it| it.strip_prefix("0::"));
        own.unwrap().to_owned()
    };
    let was = own();
    let place = match sandbox::Group::own_place() {
        Ok(place) => place,
        // Who started the tests is there as well.
        Err(error) => {
            assert!(error.to_string().contains("other processes are in"));
            assert_eq!(own(), was, "it stays");
            return;
        }
    };
    assert_eq!(place, was);
    let group = sandbox::Group::make(&place, "takt-test-place", Some(64 << 20), None);
    assert!(group.unwrap().path().exists());
}

/// Below the place that this process has it takes a right, which not everybody has.
#[test]
fn who_ends_last_is_so_by_right_or_is_named() {
    let folder = Folder::new(25);
    let mut spec = folder.spec();
    spec.limits.kill_order = Some(-900);
    let made = Confinement::prepare(&spec, Strictness::Best).unwrap();
    let all = rustix::thread::capabilities(None).unwrap();
    let may = all
        .effective
        .contains(rustix::thread::CapabilitySet::SYS_RESOURCE);
    let report = made.report();
    assert_eq!(report.holds(Bound::KillOrder), may, "{report}");
    if !may {
        let text = report.to_string();
        let why = "oom_score_adj -900 takes CAP_SYS_RESOURCE";
        assert!(text.contains(why), "{text}");
    }
}

/// On a file system with quotas of users, which is made here: in the lab. Where there are none, the
/// report says so.
#[test]
fn a_quota_bounds_the_disk() {
    let folder = Folder::new(24);
    let spec = |folders: &[&str]| {
        let mut spec = folder.spec();
        spec.disk = Some(sandbox::Disk {
            bytes: 4 << 20,
            folders: folders.iter().map(|it| it.into()).collect(),
        });
        spec
    };
    let reported = |spec: &sandbox::Spec| {
        let made = Confinement::prepare(spec, Strictness::Best).unwrap();
        made.report().clone()
    };
    let missing = reported(&spec(&["/proc"]));
    assert!(!missing.holds(Bound::Disk));
    let strict = Confinement::prepare(&spec(&["/proc"]), Strictness::Strict);
    assert!(matches!(strict, Err(Error::Missing(_))));
    let data = folder.data("");
    let Some(_disk) = programs::Disk::mount(&data) else {
        // A kernel without ext4's quotas, or no right to mount.
        assert!(std::env::var_os("TAKT_LAB").is_none(), "the lab has them");
        return;
    };
    folder.give_data();
    let whole = spec(&[&data]);
    assert!(reported(&whole).holds(Bound::Disk));
    assert_eq!(sandbox::has_quotas(data.as_ref()), Ok(()));

    let quota = "Disk quota exceeded";
    let crowd = run(spec(&[&data]), &["files", "crowd", &folder.data("crowd")]);
    let crowded: usize = crowd.said.split(' ').next().unwrap().parse().unwrap();
    // 4 MiB by 16 KiB; its folder is one.
    assert!((200..=256).contains(&crowded), "{crowd:?}");
    assert!(crowd.said.contains(quota), "{crowd:?}");
    for number in 0..crowded {
        std::fs::remove_file(folder.data(&format!("crowd.{number}"))).unwrap();
    }
    let fill = run(spec(&[&data]), &["files", "fill", &folder.data("fill")]);
    assert!(fill.said.starts_with("3 and then "), "{fill:?}");
    assert!(fill.said.contains(quota), "{fill:?}");
    // There is room for others.
    std::fs::write(folder.data("others"), vec![1; 8 << 20]).unwrap();
}

#[test]
fn the_report_says_what_holds() {
    let folder = Folder::new(18);
    let spec = folder.spec();
    let made = Confinement::prepare(&spec, Strictness::Best).unwrap();
    let report = made.report();
    for bound in [
        Bound::NewPrivileges,
        Bound::Capabilities,
        Bound::Network,
        Bound::LocalSockets,
        Bound::AbstractSockets,
        Bound::SystemCalls,
        Bound::Ipc,
        Bound::Tasks,
        Bound::OpenFiles,
        Bound::CoreFiles,
        Bound::RealTime,
        Bound::LockedMemory,
    ] {
        assert!(report.holds(bound), "{bound}: {report}");
    }
    for (bound, least) in [
        (Bound::Files, 1),
        (Bound::OtherProcesses, 1),
        (Bound::Truncation, 3),
        (Bound::DeviceCalls, 5),
    ] {
        assert_eq!(report.holds(bound), level() >= least, "{bound}: {report}");
    }
    assert_eq!(report.holds(Bound::Signals), is_root() || level() >= 6);
    assert_eq!(report.holds(Bound::Identity), is_root());
    assert!(!report.holds(Bound::Memory), "it was not asked for");
    let names: Vec<&str> = report.bounds().iter().map(|(it, _)| it.name()).collect();
    assert!(report.bounds().is_sorted_by_key(|(it, _)| it), "{names:?}");
}

/// What was asked for and cannot be is named; to the strict that is a refusal.
#[test]
fn the_strict_refuse_what_is_not_whole() {
    let folder = Folder::new(19);
    // Another user's number is not for everybody, nor is a real one's limit for root.
    let impossible = || {
        let mut spec = folder.spec();
        match is_root() {
            true => spec.identity = None,
            false => spec.identity = sandbox::Identity::of_package(19),
        }
        spec
    };
    let bound = match is_root() {
        true => Bound::Tasks,
        false => Bound::Identity,
    };
    let error = Confinement::prepare(&impossible(), Strictness::Strict).unwrap_err();
    let Error::Missing(report) = &error else {
        panic!("{error}");
    };
    assert!(!report.holds(bound), "{report}");
    assert!(error.to_string().contains(bound.name()), "{error}");
    let best = Confinement::prepare(&impossible(), Strictness::Best).unwrap();
    assert!(
        report
            .bounds()
            .contains(&(bound, State::Missing(why(&best, bound))))
    );
    let outcome = run(impossible(), &["files", "list", "/home"]);
    assert!(
        is_refused(&outcome),
        "what can be holds all the same: {outcome:?}"
    );
}

fn why(made: &Confinement, bound: Bound) -> String {
    let of = |(it, why): (Bound, &str)| (it == bound).then(|| why.to_owned());
    made.report().missing().find_map(of).expect("it is missing")
}

/// Files are made there, and others neither found nor removed.
#[test]
fn a_scratch_folder_shows_nothing() {
    let folder = Folder::new(21);
    let place = folder.data("");
    let scratch = || {
        let mut spec = folder.spec();
        let data = spec.files.last_mut().unwrap();
        *data = Grant::new(&place, Access::Scratch);
        spec
    };
    let file = folder.data("file");
    for (verb, path, is_done) in [
        ("make", &file, true),
        ("write", &file, true),
        ("read", &file, true),
        ("list", &place, false),
        ("remove", &file, false),
    ] {
        let outcome = run(scratch(), &["files", verb, path]);
        assert_eq!(outcome.is_done, is_done, "{verb}: {outcome:?}");
    }
}

/// A path that is not there grants nothing and harms nothing.
#[test]
fn a_grant_of_nothing_is_nothing() {
    let folder = Folder::new(20);
    let mut spec = folder.spec();
    spec.files.push(Grant::new("/not/there", Access::Write));
    assert!(run(spec, &["files", "read", "/etc/passwd"]).is_done);
}
