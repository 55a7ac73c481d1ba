// SPDX-License-Identifier: Apache-2.0
//! The process's nodes and links, and takt.framework.Neighbours: how it finds another process
//! before there is a system server, by the path of a socket.

use std::os::fd::OwnedFd;
use std::sync::OnceLock;

use binder::{Options, Process, Side};
use jni_sys::{jclass, jint, jlong, jobject, jstring};
use rt::clock::{Clock, Monotonic};
use rt::socket::Socket;
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect, listen,
    socket_with,
};

use super::{binder_of, object_of};
use crate::env::{self, Env};

/// Loopers for everybody and for real time: two calls of each kind that wait for others, and two
/// that go on.
const LOOPERS: usize = 4;
const KEPT: usize = 2;
/// Of a looper: what Takt's machine wants at least, and room for its reserve.
const STACK_BYTES: usize = (1 << 20) + (1 << 18);
/// Of these, what is there before the first call: several times what a call into Java takes. All of
/// it would be a fifth of what an ordinary application has of its own.
const STACK_BYTES_THERE: usize = 128 << 10;
/// Links that may wait to be admitted.
const BACKLOG: jint = 8;
/// In which a neighbour says who it is.
const HELLO_NS: u64 = 5_000_000_000;
/// Between looks for a neighbour that has not begun.
const AGAIN_NS: u64 = 10_000_000;

/// The process; none, and an exception is pending, where it cannot begin.
pub(crate) fn of(env: Env) -> Option<&'static Process> {
    static HOME: OnceLock<Result<Process, String>> = OnceLock::new();
    let home = HOME.get_or_init(|| {
        let options = Options {
            loopers: LOOPERS,
            kept: KEPT,
            stack_bytes: Some((STACK_BYTES, STACK_BYTES_THERE)),
            begin: env::attach,
            ..Options::new("binder")
        };
        Process::prepare(&options).map_err(|it| it.to_string())
    });
    home.as_ref()
        .inspect_err(|error| env.throw("java/lang/IllegalStateException", error))
        .ok()
}

/// With its threads.
fn running(env: Env) -> Option<&'static Process> {
    let process = of(env)?;
    if let Err(error) = process.run() {
        env.throw("java/lang/IllegalStateException", &error.to_string());
        return None;
    }
    Some(process)
}

fn throw(env: Env, what: &str, error: &dyn std::fmt::Display) {
    env.throw("java/io/IOException", &format!("{what}: {error}"));
}

fn seqpacket() -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC;
    socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
}

/// Whether a name is a socket's at which nobody listens.
fn is_left(path: &str, address: &SocketAddrUnix) -> bool {
    let kind = rustix::fs::lstat(path).map(|it| FileType::from_raw_mode(it.st_mode));
    let is_socket = kind == Ok(FileType::Socket);
    is_socket && seqpacket().and_then(|it| connect(&it, address)) == Err(Errno::CONNREFUSED)
}

fn listener(path: &str) -> Result<OwnedFd, Errno> {
    let address = SocketAddrUnix::new(path)?;
    let socket = seqpacket()?;
    // Before it has a name: nobody but this user connects.
    rustix::fs::fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    // Neighbours name themselves from their first message on.
    let socket = Socket::adopt(socket).map_err(|it| Errno::from_raw_os_error(it.0))?;
    let socket = socket.into_fd();
    match bind(&socket, &address) {
        // A process that has ended leaves its name behind.
        Err(Errno::ADDRINUSE) if is_left(path, &address) => {
            rustix::fs::unlink(path)?;
            bind(&socket, &address)?;
        }
        outcome => outcome?,
    }
    listen(&socket, BACKLOG)?;
    Ok(socket)
}

/// Where neighbours come; one for a process.
static LISTENER: OnceLock<OwnedFd> = OnceLock::new();

/// A socket at a path for neighbours, and what they are given first.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_framework_Neighbours_listen(
    env: Env,
    _: jclass,
    path: jstring,
    root: jobject,
) {
    let path = env.text(path).unwrap_or_default();
    let Some(process) = running(env) else {
        return;
    };
    process.set_root(binder_of(env, root));
    let listening = listener(&path).and_then(|it| LISTENER.set(it).map_err(|_| Errno::ALREADY));
    if let Err(error) = listening {
        throw(env, &format!("cannot listen at {path}"), &error);
    }
}

/// Waits for one neighbour, and joins it.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_framework_Neighbours_admit(env: Env, _: jclass) {
    let (Some(process), Some(listener)) = (running(env), LISTENER.get()) else {
        return;
    };
    let admitted = retry_on_intr(|| accept_with(listener, SocketFlags::CLOEXEC));
    let joined = admitted.map_err(|it| it.to_string()).and_then(|socket| {
        let due_ns = Monotonic.now_ns() + HELLO_NS;
        let joined = process.connect(socket, Side::Listener, due_ns);
        joined.map_err(|it| it.to_string())
    });
    if let Err(error) = joined {
        throw(env, "a neighbour was not admitted", &error);
    }
}

fn reach(path: &str, due_ns: u64) -> Result<OwnedFd, Errno> {
    let address = SocketAddrUnix::new(path)?;
    loop {
        let socket = seqpacket()?;
        match connect(&socket, &address) {
            Err(Errno::NOENT | Errno::CONNREFUSED) if Monotonic.now_ns() < due_ns => {
                Monotonic.sleep_until(Monotonic.now_ns() + AGAIN_NS);
            }
            outcome => return outcome.map(|()| socket),
        }
    }
}

/// Joins who listens at a path, and gives what it gives first; waits so long for it to begin.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_framework_Neighbours_join(
    env: Env,
    _: jclass,
    path: jstring,
    millis: jlong,
) -> jobject {
    let path = env.text(path).unwrap_or_default();
    let Some(process) = running(env) else {
        return core::ptr::null_mut();
    };
    let due_ns = Monotonic.now_ns() + millis.max(0).unsigned_abs().saturating_mul(1_000_000);
    let joined = reach(&path, due_ns)
        .map_err(|it| it.to_string())
        .and_then(|socket| {
            let due_ns = Monotonic.now_ns() + HELLO_NS;
            let joined = process.connect(socket, Side::Caller, due_ns);
            joined.map_err(|it| it.to_string())
        })
        .and_then(|it| it.root().map_err(|it| it.to_string()));
    match joined {
        Ok(root) => object_of(env, root),
        Err(error) => {
            throw(env, &format!("no neighbour at {path}"), &error);
            core::ptr::null_mut()
        }
    }
}

/// The socket that the process was started with as its standard input, which reads nothing then.
fn inherited() -> Result<OwnedFd, Errno> {
    let socket = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    let nothing = rustix::fs::open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::stdio::dup2_stdin(&nothing)?;
    Ok(socket)
}

/// Joins who has started this process, and gives what it gives first.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_framework_Neighbours_joinStandardInput(
    env: Env,
    _: jclass,
    millis: jlong,
) -> jobject {
    let Some(process) = running(env) else {
        return core::ptr::null_mut();
    };
    let due_ns = Monotonic.now_ns() + millis.max(0).unsigned_abs().saturating_mul(1_000_000);
    let joined = inherited()
        .map_err(|it| it.to_string())
        .and_then(|socket| {
            let joined = process.connect(socket, Side::Caller, due_ns);
            joined.map_err(|it| it.to_string())
        })
        .and_then(|it| it.root().map_err(|it| it.to_string()));
    match joined {
        Ok(root) => object_of(env, root),
        Err(error) => {
            throw(env, "the system server does not answer", &error);
            core::ptr::null_mut()
        }
    }
}

/// For a person: loopers, links, references, counters.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_framework_Neighbours_dump(env: Env, _: jclass) -> jstring {
    of(env).map_or(core::ptr::null_mut(), |it| env.string_of(&it.dump()))
}
