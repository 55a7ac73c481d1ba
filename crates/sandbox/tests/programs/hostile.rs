// SPDX-License-Identifier: Apache-2.0
//! A program that tries what an application must not do. `tests/confined` starts it, free and
//! confined.
//!
//! `hostile VERB WORDS` ends with 0 if the kernel let it, with 1 if not; its one line of output
//! says what came of it.
#![allow(clippy::print_stdout, reason = "its output is what the tests read")]

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::process::{Command, ExitCode};

/// Processes and threads that it tries to start.
const TASKS_WANTED: usize = 200;
/// Bytes of memory that it fills, and at a time.
const MEMORY_WANTED: usize = 512 << 20;
const PIECE: usize = 1 << 20;
/// MiB, and files, of which a test's disk has fewer.
const FILL_MAX: usize = 64;
const CROWD_MAX: usize = 4_096;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match act(&words) {
        Ok(said) => {
            println!("{said}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn act(words: &[&str]) -> io::Result<String> {
    let done = |it: io::Result<()>| it.map(|()| "done".to_owned());
    match words {
        ["files", verb, path] => files(verb, path),
        ["socket", verb, place] => socket(verb, place),
        ["call", verb] => call_kernel(verb).map(|it| it.to_string()),
        ["process", verb, pid] => process(verb, pid.parse().expect("a number")),
        ["raise", verb] => done(raise(verb)),
        ["tasks"] => tasks(),
        ["memory"] => Ok(memory().to_string()),
        ["hold"] => hold(),
        ["status"] => std::fs::read_to_string("/proc/self/status"),
        ["limits"] => std::fs::read_to_string("/proc/self/limits"),
        _ => panic!("not known: {words:?}"),
    }
}

fn files(verb: &str, path: &str) -> io::Result<String> {
    match verb {
        "read" => std::fs::read_to_string(path),
        "list" => Ok(std::fs::read_dir(path)?.count().to_string()),
        "write" => {
            let mut file = File::options().append(true).open(path)?;
            file.write_all(b"hostile").map(|()| String::new())
        }
        "truncate" => {
            let path = std::ffi::CString::new(path).expect("no zero");
            call(libc::SYS_truncate, [path.as_ptr() as i64, 0, 0, 0]).map(|it| it.to_string())
        }
        "fill" => fill(path),
        "crowd" => crowd(path),
        "make" => std::fs::write(path, "").map(|()| String::new()),
        "remove" => std::fs::remove_file(path).map(|()| String::new()),
        "link" => std::fs::hard_link(path, format!("{path}.link")).map(|()| String::new()),
        "run" => Command::new(path).status().map(|it| it.to_string()),
        "open" => File::options()
            .read(true)
            .write(true)
            .open(path)
            .map(|_| String::new()),
        _ => panic!("not known: {verb}"),
    }
}

/// Writes a file until it is refused, and says how many MiB it has.
fn fill(path: &str) -> io::Result<String> {
    let mut file = File::create(path)?;
    let piece = vec![1; PIECE];
    for written in 0..FILL_MAX {
        // What is only in memory yet may be refused later.
        if let Err(error) = file.write_all(&piece).and_then(|()| file.sync_all()) {
            return Ok(format!("{written} and then {error}"));
        }
    }
    Ok(format!("{FILL_MAX} and no end"))
}

/// Makes empty files until one is refused, and says how many there are.
fn crowd(path: &str) -> io::Result<String> {
    for made in 0..CROWD_MAX {
        if let Err(error) = File::create(format!("{path}.{made}")) {
            return Ok(format!("{made} and then {error}"));
        }
    }
    Ok(format!("{CROWD_MAX} and no end"))
}

fn socket(verb: &str, place: &str) -> io::Result<String> {
    let made = |domain: i32, kind: i32, protocol: i32| {
        call(libc::SYS_socket, [domain, kind, protocol, 0].map(i64::from)).map(|it| it.to_string())
    };
    match verb {
        "connect" => TcpStream::connect(place).map(|it| format!("{it:?}")),
        "listen" => TcpListener::bind(place).map(|it| format!("{it:?}")),
        "datagram" => UdpSocket::bind(place).map(|it| format!("{it:?}")),
        "local" => UnixStream::connect(place).map(|it| format!("{it:?}")),
        "abstract" => {
            let address = SocketAddr::from_abstract_name(place)?;
            UnixStream::connect_addr(&address).map(|it| format!("{it:?}"))
        }
        "pair" => UnixStream::pair().map(|_| String::new()),
        "raw" => made(libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_ICMP),
        "packet" => made(libc::AF_PACKET, libc::SOCK_RAW, 0x300),
        "ping" => made(libc::AF_INET, libc::SOCK_DGRAM, libc::IPPROTO_ICMP),
        "audit" => made(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_AUDIT),
        "vsock" => made(libc::AF_VSOCK, libc::SOCK_STREAM, 0),
        "alg" => made(libc::AF_ALG, libc::SOCK_SEQPACKET, 0),
        _ => panic!("not known: {verb}"),
    }
}

/// Calls that a filter refuses before the kernel looks at what they are given: free, they fail by
/// another error or not at all.
fn call_kernel(verb: &str) -> io::Result<i64> {
    let flags = |it: i32| i64::from(it.unsigned_abs());
    let (number, words) = match verb {
        "mount" => (libc::SYS_mount, [0, 0, 0, 0]),
        "umount" => (libc::SYS_umount2, [0, 0, 0, 0]),
        "pivot_root" => (libc::SYS_pivot_root, [0, 0, 0, 0]),
        "chroot" => (libc::SYS_chroot, [0, 0, 0, 0]),
        "fsopen" => (libc::SYS_fsopen, [0, 0, 0, 0]),
        "open_tree" => (libc::SYS_open_tree, [-1, 0, 0, 0]),
        "setns" => (libc::SYS_setns, [-1, 0, 0, 0]),
        "unshare" => (libc::SYS_unshare, [flags(libc::CLONE_NEWUSER), 0, 0, 0]),
        // With a flag that does not go with it, so that free it makes nothing either.
        "clone" => {
            let pair = flags(libc::CLONE_NEWUSER) | flags(libc::CLONE_FS);
            (libc::SYS_clone, [pair, 0, 0, 0])
        }
        "clone3" => (libc::SYS_clone3, [0, 0, 0, 0]),
        "bpf" => (libc::SYS_bpf, [-1, 0, 0, 0]),
        "perf" => (libc::SYS_perf_event_open, [0, 0, 0, 0]),
        "userfaultfd" => (libc::SYS_userfaultfd, [-1, 0, 0, 0]),
        "io_uring" => (libc::SYS_io_uring_setup, [0, 0, 0, 0]),
        "keyctl" => (libc::SYS_keyctl, [-1, 0, 0, 0]),
        "add_key" => (libc::SYS_add_key, [0, 0, 0, 0]),
        "kexec" => (libc::SYS_kexec_load, [0, 99, 0, 0]),
        "reboot" => (libc::SYS_reboot, [0, 0, 0, 0]),
        "module" => (libc::SYS_finit_module, [-1, 0, 0, 0]),
        "clock" => (libc::SYS_clock_settime, [-1, 0, 0, 0]),
        "hostname" => (libc::SYS_sethostname, [0, -1, 0, 0]),
        "personality" => (libc::SYS_personality, [0x0040_0000, 0, 0, 0]),
        "fanotify" => (libc::SYS_fanotify_init, [-1, 0, 0, 0]),
        "modify_ldt" => (libc::SYS_modify_ldt, [99, 0, 0, 0]),
        "shared memory" => (libc::SYS_shmget, [0, -1, 0, 0]),
        "queue" => (libc::SYS_mq_open, [0, 0, 0, 0]),
        "type into terminal" => (libc::SYS_ioctl, [0, libc::TIOCSTI as i64, 0, 0]),
        "limit of another" => (libc::SYS_prlimit64, [1, 99, 0, 0]),
        // getpid by the numbers of x32; and a call that no kernel has yet.
        "x32" => (0x4000_0000 | libc::SYS_getpid, [0, 0, 0, 0]),
        "later" => (libc::SYS_getpid + 1_000, [0, 0, 0, 0]),
        _ => panic!("not known: {verb}"),
    };
    call(number, words)
}

fn process(verb: &str, pid: i32) -> io::Result<String> {
    let own = |name: &str| std::fs::read(format!("/proc/{pid}/{name}"));
    let said = |it: i64| it.to_string();
    match verb {
        "signal" => call(libc::SYS_kill, [i64::from(pid), 0, 0, 0]).map(said),
        "end" => {
            let signal = i64::from(libc::SIGKILL);
            call(libc::SYS_kill, [i64::from(pid), signal, 0, 0]).map(said)
        }
        "trace" => {
            let seize = libc::PTRACE_SEIZE.into();
            call(libc::SYS_ptrace, [seize, i64::from(pid), 0, 0]).map(said)
        }
        "memory" => call(libc::SYS_process_vm_readv, [i64::from(pid), 0, 0, 0]).map(said),
        "mem file" => File::open(format!("/proc/{pid}/mem")).map(|_| String::new()),
        "environment" => own("environ").map(|it| it.len().to_string()),
        "maps" => own("maps").map(|it| it.len().to_string()),
        "name" => own("comm").map(|it| String::from_utf8_lossy(&it).into_owned()),
        "priority" => own("stat").map(|it| it.len().to_string()),
        _ => panic!("not known: {verb}"),
    }
}

fn raise(verb: &str) -> io::Result<()> {
    let number = |it: i32| i64::from(it);
    let (call_number, value, words): (_, &[u64], _) = match verb {
        "by the older call" => {
            let words = [0, number(libc::SCHED_FIFO)];
            (libc::SYS_sched_setscheduler, &[1], words)
        }
        "limit" => {
            let words = [0, i64::from(libc::RLIMIT_RTPRIO)];
            (libc::SYS_prlimit64, &[99, 99], words)
        }
        "user" => return call(libc::SYS_setuid, [0; 4]).map(drop),
        "more" => return policy(libc::SCHED_FIFO, 2 << 32, [0; 3]),
        "its starter" => {
            let starter = std::os::unix::process::parent_id();
            let words = [i64::from(starter), number(libc::SCHED_FIFO)];
            (libc::SYS_sched_setscheduler, &[1], words)
        }
        "parameters" => {
            raise("fifo")?;
            (libc::SYS_sched_setparam, &[1], [0, 0])
        }
        "a thread" => return raise_another(),
        "back" => {
            raise("fifo")?;
            return policy(libc::SCHED_OTHER, 0, [0; 3]);
        }
        "a child" => return in_child("fifo"),
        "fifo" => return policy(libc::SCHED_FIFO, 1 << 32, [0; 3]),
        "round robin" => return policy(libc::SCHED_RR, 1 << 32, [0; 3]),
        "deadline" => {
            let reservation = [10_000, 10_000_000, 10_000_000];
            return policy(libc::SCHED_DEADLINE, 0, reservation);
        }
        // Minus one, in the lower half.
        "nice" => return policy(libc::SCHED_OTHER, 0xffff_ffff, [0; 3]),
        _ => panic!("not known: {verb}"),
    };
    let [first, second] = words;
    let value = value.as_ptr() as i64;
    let words = match call_number {
        libc::SYS_sched_setparam => [first, value, 0, 0],
        _ => [first, second, value, 0],
    };
    call(call_number, words).map(drop)
}

/// Another thread of its own.
#[allow(clippy::disallowed_methods, reason = "a program as others write it")]
fn raise_another() -> io::Result<()> {
    let (say, hear) = std::sync::mpsc::sync_channel(1);
    let (end, until) = std::sync::mpsc::sync_channel::<()>(1);
    let other = std::thread::spawn(move || {
        let _ = say.send(call(libc::SYS_gettid, [0; 4]));
        let _ = until.recv();
    });
    let thread = hear.recv().expect("it says so")?;
    let priority = [1_u64];
    let words = [
        thread,
        i64::from(libc::SCHED_FIFO),
        priority.as_ptr() as i64,
        0,
    ];
    let outcome = call(libc::SYS_sched_setscheduler, words);
    drop(end);
    other.join().expect("it ends");
    outcome.map(drop)
}

/// What it has started, which keeps the filter.
fn in_child(way: &str) -> io::Result<()> {
    let output = Command::new("/proc/self/exe")
        .args(["raise", way])
        .output()?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    match output.status.success() {
        true => Ok(()),
        false => Err(io::Error::other(said)),
    }
}

/// `sched_setattr`: nice value and priority in one word, as they lie in the kernel's structure.
fn policy(policy: i32, nice_and_priority: u64, reservation: [u64; 3]) -> io::Result<()> {
    let [runtime, deadline, period] = reservation;
    let size_and_policy = 48 | u64::from(policy.unsigned_abs()) << 32;
    let attributes = [
        size_and_policy,
        1,
        nice_and_priority,
        runtime,
        deadline,
        period,
    ];
    let at = attributes.as_ptr() as i64;
    call(libc::SYS_sched_setattr, [0, at, 0, 0]).map(drop)
}

/// Processes until there are no more; says how many, and ends them. They end with it at the latest:
/// each waits for the end of a pipe that it alone writes to.
fn tasks() -> io::Result<String> {
    let mut children = Vec::new();
    let failed = loop {
        if children.len() == TASKS_WANTED {
            break None;
        }
        let mut command = Command::new("/bin/cat");
        command.stdin(std::process::Stdio::piped());
        match command.stdout(std::process::Stdio::null()).spawn() {
            Ok(child) => children.push(child),
            Err(error) => break Some(error),
        }
    };
    let count = children.len();
    for child in &mut children {
        drop(child.stdin.take());
    }
    for mut child in children {
        child.wait()?;
    }
    match failed {
        None => Ok(count.to_string()),
        Some(error) => Err(io::Error::other(format!("{count} and then: {error}"))),
    }
}

/// Fills memory; its bound ends this process.
fn memory() -> usize {
    let mut all: Vec<Vec<u8>> = Vec::new();
    for _ in 0..MEMORY_WANTED / PIECE {
        all.push(vec![1; PIECE]);
    }
    all.iter().map(|it| usize::from(it[PIECE / 2])).sum()
}

/// Says that it is there, and waits for the end of its input.
fn hold() -> io::Result<String> {
    println!("there");
    io::stdout().flush()?;
    io::stdin().read_to_end(&mut Vec::new())?;
    Ok("ended".to_owned())
}

fn call(number: i64, words: [i64; 4]) -> io::Result<i64> {
    let [a, b, c, d] = words;
    // SAFETY: each caller gives numbers, null, or the address of a value that lives across the
    // call and is only read.
    let returned = unsafe { libc::syscall(number, a, b, c, d, 0, 0) };
    match returned {
        0.. => Ok(returned),
        _ => Err(io::Error::last_os_error()),
    }
}
