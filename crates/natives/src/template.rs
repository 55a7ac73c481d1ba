// SPDX-License-Identifier: Apache-2.0
//! takt.server.Template: a process that is copied for each application, by the machine's three
//! functions for it (`vm/start/template`).
//!
//! The template has one thread and serves one socket: its standard input, whose other end the
//! system server has. A message is an [`Entry`] and descriptors; the answer is the copy's number. A
//! copy has nothing of the template's open but files that are read, each anew; it enters its
//! sandbox before it has a second thread and before it runs a line of Java.

use std::ffi::{CString, c_void};
use std::os::fd::{
    AsFd as _, AsRawFd as _, BorrowedFd, FromRawFd as _, IntoRawFd as _, OwnedFd, RawFd,
};
use std::sync::OnceLock;

use jni_sys::{jboolean, jclass, jlong, jobject, jstring};
use rt::socket::{Received, Socket, SocketError};
use rt::sys::tid;
use rustix::fs::{FileType, Mode, OFlags, fcntl_getfl, fstat};
use rustix::io::{DupFlags, Errno};
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, socketpair};
use rustix::rand::{GetRandomFlags, getrandom};
use sandbox::Entry;

use crate::env::Env;

/// Descriptors that come first, in this order: the application's standard input, its log, the
/// description of what it is to be. The rest is its sandbox's.
const GIVEN: usize = 3;
/// The template waits for the server's end otherwise.
const FOR_EVER_NS: u64 = u64::MAX / 2;
/// What it says when it may be copied.
const READY: [u8; 1] = [1];

/// The functions of Takt's own machine, by the names under which it exports them.
struct Machine {
    load: extern "C" fn(*const u8, usize) -> i32,
    settle: extern "C" fn() -> i32,
    copy: extern "C" fn() -> i32,
    begin: extern "C" fn() -> i32,
}

/// The home of a copy that has another user than the template.
static HOME: OnceLock<String> = OnceLock::new();

fn function(name: &str) -> Option<*mut c_void> {
    let name = CString::new(name).ok()?;
    // SAFETY: the name is a C string, and the handle is that of all libraries.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

/// Whether this process may be copied, and starts no thread until then.
pub(crate) fn is_template() -> bool {
    number(Question::IsTemplate).is_some_and(|it| it != 0)
}

/// A page of what the process's real-time threads have done; only Takt's own machine has it.
pub(crate) fn ledger_page() -> Option<RawFd> {
    number(Question::LedgerPage).filter(|it| *it >= 0)
}

/// What Takt's machine answers by a number.
enum Question {
    IsTemplate,
    LedgerPage,
}

fn number(question: Question) -> Option<i32> {
    let found = function(match question {
        Question::IsTemplate => "Takt_isTemplate",
        Question::LedgerPage => "Takt_ledgerPage",
    })?;
    // SAFETY: the machine's functions of these names take nothing and give a number.
    let ask: extern "C" fn() -> i32 = unsafe { core::mem::transmute(found) };
    Some(ask())
}

impl Machine {
    fn find() -> Option<Self> {
        let (load, settle) = (function("Takt_load")?, function("Takt_settle")?);
        let (copy, begin) = (function("Takt_copy")?, function("Takt_begin")?);
        // SAFETY: the machine's functions of these names take nothing, but for a text by address
        // and size the first, and give a number.
        unsafe {
            Some(Self {
                load: core::mem::transmute::<*mut c_void, extern "C" fn(*const u8, usize) -> i32>(
                    load,
                ),
                settle: core::mem::transmute::<*mut c_void, extern "C" fn() -> i32>(settle),
                copy: core::mem::transmute::<*mut c_void, extern "C" fn() -> i32>(copy),
                begin: core::mem::transmute::<*mut c_void, extern "C" fn() -> i32>(begin),
            })
        }
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_takt_server_Template_await(env: Env, _: jclass) -> jstring {
    match serve() {
        Ok(description) => env.string_of(&description),
        Err(fault) => {
            env.throw("java/lang/InternalError", &fault);
            core::ptr::null_mut()
        }
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_takt_server_Template_load(env: Env, _: jclass, name: jstring) -> jboolean {
    let name = env.text(name).unwrap_or_default();
    let load = |it: Machine| (it.load)(name.as_ptr(), name.len()) == 1;
    Machine::find().is_some_and(load)
}

/// Comes back in copies, with the name of the description, or when nothing can be served.
fn serve() -> Result<String, String> {
    let machine = Machine::find().ok_or("this machine has no templates")?;
    let text = |it: SocketError| it.to_string();
    let socket = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3);
    let socket = socket.map_err(|it| it.to_string())?;
    let socket = Socket::adopt(socket).map_err(|it| it.to_string())?;
    let own = [0, 1, 2, socket.as_fd().as_raw_fd()];
    let shared = shared_descriptor(&own).map_err(|it| it.to_string())?;
    if let Some(shared) = shared.or_else(shared_memory) {
        return Err(format!("its copies would share {shared}"));
    }
    if (machine.settle)() != 0 {
        return Err("the machine does not come to rest".to_owned());
    }
    socket.try_send(&READY, &[]).map_err(text)?;
    let mut bytes = vec![0; Entry::BYTES_MAX];
    loop {
        let Received { size, fds, .. } = match socket.receive_until(&mut bytes, FOR_EVER_NS) {
            // The server has ended: so does this process.
            Err(SocketError::Closed) => rt::lines::leave(0),
            other => other.map_err(text)?,
        };
        let entry = Entry::parse(&bytes[..size]).filter(|_| fds.len() >= GIVEN);
        let pid = match &entry {
            Some(_) => (machine.copy)(),
            None => -1,
        };
        match entry {
            Some(entry) if pid == 0 => {
                let become_it = become_application(&machine, entry, fds);
                return Ok(become_it.unwrap_or_else(|fault| give_up(&fault)));
            }
            _ => socket.try_send(&pid.to_ne_bytes(), &[]).map_err(text)?,
        }
    }
}

/// A copy that cannot become what it is to be runs nothing: the server takes this for a fault.
fn give_up(fault: &str) -> ! {
    eprintln!("takt: cannot start as a copy: {fault}");
    rt::lines::leave(1)
}

/// Memory that all copies could write to for each other: a template has none.
fn shared_memory() -> Option<String> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_else(|it| it.to_string());
    let is_shared = |line: &&str| {
        line.split(' ')
            .nth(1)
            .is_none_or(|it| it.contains('w') && it.ends_with('s'))
    };
    maps.lines().find(is_shared).map(str::to_owned)
}

/// In a copy. The descriptors of the template's own are closed or read anew before anything else;
/// then the sandbox; only then is there a second thread.
fn become_application(
    machine: &Machine,
    entry: Entry,
    mut fds: Vec<OwnedFd>,
) -> Result<String, String> {
    tid::forget();
    let of_sandbox = fds.split_off(GIVEN);
    let [input, log, description] = <[OwnedFd; GIVEN]>::try_from(fds).map_err(|_| "too few")?;
    let text = |it: Errno| it.to_string();
    rustix::stdio::dup2_stdin(&input).map_err(text)?;
    rustix::stdio::dup2_stdout(&log).map_err(text)?;
    rustix::stdio::dup2_stderr(&log).map_err(text)?;
    let mut kept: Vec<RawFd> = of_sandbox.iter().map(|it| it.as_raw_fd()).collect();
    kept.extend(
        [0, 1, 2]
            .into_iter()
            .chain([&input, &log, &description].map(|it| it.as_raw_fd())),
    );
    take_files(&kept).map_err(|it| format!("files of the template's: {it}"))?;
    drop((input, log));
    for (name, value) in &entry.environment {
        // SAFETY: this process has one thread.
        unsafe { std::env::set_var(name, value) };
    }
    let user = rustix::process::geteuid();
    sandbox::enter(&entry.steps, of_sandbox).map_err(|it| it.to_string())?;
    if rustix::process::geteuid() != user
        && let Ok(home) = std::env::var("HOME")
    {
        let _ = HOME.set(home);
    }
    // Behind the change of users, which would take the wish away.
    rt::process::die_with_parent(entry.parent)
        .map_err(|it| format!("takt system {} has ended: {it}", entry.parent))?;
    if (machine.begin)() != 0 {
        return Err("the machine does not begin".to_owned());
    }
    rt::lines::prepare();
    // Open for good: Java reads it by its number.
    Ok(format!("/proc/self/fd/{}", description.into_raw_fd()))
}

/// What a copy does with a descriptor that the template has open.
enum Open {
    /// A file that is only read, or the system's random source: opened anew, since descriptors of
    /// one opening share their position.
    File,
    /// `/dev/null`, written to: it has no state that anybody shares.
    Source,
    /// A socket whose other end is closed: the class library puts it in the place of what it
    /// closes.
    /// Another one of the kind takes its number.
    DeadEnd,
    /// The template's own code and way to the server: closed.
    Own,
    /// Anything else would be everybody's.
    Shared,
}

/// `/dev/null`, `/dev/random` and `/dev/urandom`.
const SOURCES: [(u32, u32); 3] = [(1, 3), (1, 8), (1, 9)];
/// The file that the machine writes code to; `Takt_copy` closes it.
const CODE: &str = "/memfd:takt-code";

impl Open {
    fn of(fd: BorrowedFd<'_>) -> Self {
        let Ok(found) = fstat(fd) else {
            return Self::Own;
        };
        let device = (
            rustix::fs::major(found.st_rdev),
            rustix::fs::minor(found.st_rdev),
        );
        let mode = fcntl_getfl(fd).map(|it| it & OFlags::ACCMODE);
        match FileType::from_raw_mode(found.st_mode) {
            FileType::RegularFile if mode == Ok(OFlags::RDONLY) => Self::File,
            FileType::RegularFile if name_of(fd).starts_with(CODE) => Self::Own,
            FileType::CharacterDevice
                if SOURCES.contains(&device) && mode == Ok(OFlags::RDONLY) =>
            {
                Self::File
            }
            FileType::CharacterDevice if SOURCES.contains(&device) => Self::Source,
            FileType::Socket if is_dead_end(fd) => Self::DeadEnd,
            _ => Self::Shared,
        }
    }
}

fn name_of(fd: BorrowedFd<'_>) -> String {
    let link = format!("/proc/self/fd/{}", fd.as_raw_fd());
    let name = std::fs::read_link(link).unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn is_dead_end(fd: BorrowedFd<'_>) -> bool {
    let mut byte = [0_u8];
    let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
    let has_ended = rustix::net::recv(fd, &mut byte, flags).is_ok_and(|it| it.1 == 0);
    let is_local = rustix::net::sockopt::socket_domain(fd) == Ok(AddressFamily::UNIX);
    has_ended && is_local
}

/// The descriptors of this process.
fn numbers() -> Result<Vec<RawFd>, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let list = rustix::fs::open("/proc/self/fd", flags, Mode::empty())?;
    let mut numbers = Vec::new();
    for entry in rustix::fs::Dir::new(list)? {
        numbers.extend(entry?.file_name().to_string_lossy().parse::<RawFd>());
    }
    // The list's own is among them, and closed by now.
    numbers.retain(|it| rustix::io::fcntl_getfd(borrowed(*it)).is_ok());
    Ok(numbers)
}

/// A number that the kernel has named.
fn borrowed(number: RawFd) -> BorrowedFd<'static> {
    // SAFETY: a template and a copy have one thread, which closes nothing that it still uses. What
    // is not open answers with an error.
    unsafe { BorrowedFd::borrow_raw(number) }
}

/// Before anything is loaded: what the server was started with and has handed on by accident, such
/// as a shell's pipes. The machine itself has files alone by then.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_server_Template_closeInherited(_: Env, _: jclass) {
    for number in numbers().unwrap_or_default() {
        let kind = fstat(borrowed(number)).map(|it| FileType::from_raw_mode(it.st_mode));
        if number > 2 && kind != Ok(FileType::RegularFile) {
            // SAFETY: nobody in this process knows the number: see above.
            drop(unsafe { OwnedFd::from_raw_fd(number) });
        }
    }
}

/// What no copy may have, if a template has such open beside `kept`.
fn shared_descriptor(kept: &[RawFd]) -> Result<Option<String>, Errno> {
    let all = numbers()?.into_iter().filter(|it| !kept.contains(it));
    let mut shared = all.filter(|it| matches!(Open::of(borrowed(*it)), Open::Shared));
    Ok(shared.next().map(|it| name_of(borrowed(it))))
}

/// In a copy: see [`Open`].
fn take_files(kept: &[RawFd]) -> Result<(), Errno> {
    for number in numbers()?.into_iter().filter(|it| !kept.contains(it)) {
        let fd = borrowed(number);
        let new = match Open::of(fd) {
            Open::Source => continue,
            Open::File => {
                let name = format!("/proc/self/fd/{number}");
                let flags = OFlags::RDONLY | OFlags::CLOEXEC;
                Some(rustix::fs::open(name, flags, Mode::empty())?)
            }
            Open::DeadEnd => {
                let (kind, flags) = (SocketType::STREAM, SocketFlags::CLOEXEC);
                Some(socketpair(AddressFamily::UNIX, kind, flags, None)?.0)
            }
            Open::Own | Open::Shared => None,
        };
        // SAFETY: this process has one thread. Java or a library has the number, and
        // goes on to use it if there is something new behind it; else nobody does.
        let mut old = unsafe { OwnedFd::from_raw_fd(number) };
        if let Some(new) = new {
            rustix::io::dup3(&new, &mut old, DupFlags::CLOEXEC)?;
            let _ = old.into_raw_fd();
        }
    }
    Ok(())
}

#[unsafe(no_mangle)]
extern "system" fn Java_takt_server_Template_home(env: Env, _: jclass) -> jstring {
    HOME.get()
        .map_or(core::ptr::null_mut(), |it| env.string_of(it))
}

#[unsafe(no_mangle)]
extern "system" fn Java_takt_server_Template_counter(
    env: Env,
    _: jclass,
    class: jclass,
    name: jstring,
) -> jobject {
    let name = CString::new(env.text(name).unwrap_or_default()).unwrap_or_default();
    let signature = c"Ljava/util/concurrent/atomic/AtomicLong;";
    env.static_object(class, &name, signature)
}

/// The class library's own random source: what it has read and not given out is dropped, and it
/// draws its second source anew.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_server_Template_renew(env: Env, _: jclass, class: jclass) {
    let random = c"Lsun/security/provider/NativePRNG$RandomIO;";
    let instance = env.static_object(class, c"INSTANCE", random);
    if !instance.is_null() {
        env.set_int_fields(instance, &[(c"buffered", 0)]);
        let mixed = c"Lsun/security/provider/SecureRandom;";
        env.set_object_field(instance, c"mixRandom", mixed, core::ptr::null_mut());
    }
}

#[unsafe(no_mangle)]
extern "system" fn Java_takt_server_Template_forgetSeed(env: Env, _: jclass, thread: jobject) {
    env.set_int_fields(thread, &[(c"threadLocalRandomProbe", 0)]);
}

#[unsafe(no_mangle)]
extern "system" fn Java_takt_server_Template_draw(env: Env, _: jclass) -> jlong {
    let mut bytes = [0; 8];
    match getrandom(&mut bytes, GetRandomFlags::empty()) {
        Ok(8) => jlong::from_ne_bytes(bytes),
        _ => {
            env.throw(
                "java/lang/InternalError",
                "the system has no random numbers",
            );
            0
        }
    }
}
