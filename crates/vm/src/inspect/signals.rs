// SPDX-License-Identifier: Apache-2.0
//! Signals for Java code: the library's shutdown on HUP, INT and TERM, the thread
//! dump on QUIT (or [`attach`]), and `sun.misc.Signal`.
//!
//! The handler counts the signal and wakes a thread of ours, nothing more. That
//! thread attaches for the time of a delivery only, so the collector never has
//! to ask it anything while it waits.

use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};

use crate::console;
use crate::inspect::attach;
use crate::inspect::thread_dump;
use crate::monitors::java_thread;
use crate::sync::park::Parker;
use crate::threads::held;
use crate::threads::thread;

const COUNT: usize = 65;

/// Who takes a signal, in the numbers of `jdk.internal.misc.Signal`.
pub(crate) const DEFAULT: u64 = 0;
pub(crate) const IGNORE: u64 = 1;
pub(crate) const JAVA: u64 = 2;
/// The machine keeps this signal for itself.
pub(crate) const REFUSED: u64 = u64::MAX;

/// As HotSpot names its own.
const THREAD: &str = "Signal Dispatcher";

/// Times each signal came and has not been delivered yet.
static PENDING: [AtomicU32; COUNT] = [const { AtomicU32::new(0) }; COUNT];
/// Who takes each signal now.
static TAKERS: [AtomicU8; COUNT] = [const { AtomicU8::new(DEFAULT as u8) }; COUNT];
static DISPATCHER: Parker = Parker::new();
static IS_STARTED: AtomicBool = AtomicBool::new(false);
/// It is to start when threads may.
static IS_WANTED: AtomicBool = AtomicBool::new(false);

/// The number of a signal by its name without SIG; `None` if Linux has none of that name.
pub(crate) fn by_name(name: &str) -> Option<i32> {
    use libc::*;
    Some(match name {
        "HUP" => SIGHUP,
        "INT" => SIGINT,
        "QUIT" => SIGQUIT,
        "ILL" => SIGILL,
        "TRAP" => SIGTRAP,
        "ABRT" => SIGABRT,
        "BUS" => SIGBUS,
        "FPE" => SIGFPE,
        "KILL" => SIGKILL,
        "USR1" => SIGUSR1,
        "SEGV" => SIGSEGV,
        "USR2" => SIGUSR2,
        "PIPE" => SIGPIPE,
        "ALRM" => SIGALRM,
        "TERM" => SIGTERM,
        "CHLD" => SIGCHLD,
        "CONT" => SIGCONT,
        "STOP" => SIGSTOP,
        "TSTP" => SIGTSTP,
        "TTIN" => SIGTTIN,
        "TTOU" => SIGTTOU,
        "URG" => SIGURG,
        "XCPU" => SIGXCPU,
        "XFSZ" => SIGXFSZ,
        "VTALRM" => SIGVTALRM,
        "PROF" => SIGPROF,
        "WINCH" => SIGWINCH,
        "IO" => SIGIO,
        "PWR" => SIGPWR,
        "SYS" => SIGSYS,
        _ => return None,
    })
}

/// Async-signal-safe: two atomics and at most one futex wake.
extern "C" fn on_signal(signal: i32) {
    if let Some(pending) = PENDING.get(signal as usize) {
        // SAFETY: 1. errno is this thread's own.
        let errno = unsafe { libc::__errno_location() };
        // SAFETY: 1. As above. What was interrupted must not see our wake's errno.
        let before = unsafe { *errno };
        // Pairs with Acquire in `deliver_all`.
        pending.fetch_add(1, Ordering::Release);
        DISPATCHER.unpark();
        // SAFETY: 1. As above.
        unsafe { *errno = before };
    }
}

/// A write to who has gone, or beyond the limit of a file's size, is an error of that write and no
/// end of the process. Not SIG_IGN, which programs that Java starts would inherit; nor where
/// somebody has decided otherwise.
fn survive_writes() {
    extern "C" fn on_write(_signal: i32) {}
    for signal in [libc::SIGPIPE, libc::SIGXFSZ] {
        if handler_of(signal) == Some(libc::SIG_DFL) {
            let _ = install(signal, on_write as *const () as usize);
        }
    }
}

/// Takes the signals that are the machine's own. SIGQUIT prints a thread dump or lets a tool
/// attach, unless `-Xrs` leaves signals to the system: then tools find the machine listening.
pub(crate) fn take_own() {
    survive_writes();
    attach::remove_left_over();
    if crate::options::get().has_reduced_signals {
        return attach::listen();
    }
    // What was there before is the system's own: dumps begin with the machine. Before the start,
    // since one that the parent blocked may be waiting.
    let before = install(libc::SIGQUIT, on_signal as *const () as usize);
    if !start()
        && let Some(before) = before
    {
        let _ = install(libc::SIGQUIT, before);
    }
}

/// Lets the calling thread take `signals`, whatever its parent blocked: a HotSpot process blocks
/// SIGQUIT, and who it starts inherits that.
pub(crate) fn unblock(signals: impl Iterator<Item = i32>) {
    // SAFETY: 1. The set is plain data, emptied before it is filled and read.
    unsafe {
        let mut set: libc::sigset_t = core::mem::zeroed();
        libc::sigemptyset(&mut set);
        for signal in signals {
            libc::sigaddset(&mut set, signal);
        }
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &set, core::ptr::null_mut());
    }
}

/// The signals that shut a program down.
const SHUTDOWN: [i32; 3] = [libc::SIGHUP, libc::SIGINT, libc::SIGTERM];

/// Gives `signal` to `taker` and says who had it.
pub(crate) fn register(signal: i32, taker: u64) -> u64 {
    let is_ours = matches!(
        signal,
        libc::SIGSEGV | libc::SIGBUS | libc::SIGILL | libc::SIGFPE | libc::SIGQUIT
    );
    let is_shutdown = SHUTDOWN.contains(&signal);
    if is_ours || (is_shutdown && crate::options::get().has_reduced_signals) {
        return REFUSED;
    }
    let Some(own) = usize::try_from(signal).ok().and_then(|s| TAKERS.get(s)) else {
        return REFUSED;
    };
    let action = match taker {
        DEFAULT => libc::SIG_DFL,
        IGNORE => libc::SIG_IGN,
        JAVA => on_signal as *const () as usize,
        _ => return REFUSED,
    };
    if taker == JAVA && !start() {
        return REFUSED;
    }
    // `nohup` and shells' background jobs ignore signals on purpose.
    if is_shutdown && taker == JAVA && handler_of(signal) == Some(libc::SIG_IGN) {
        return IGNORE;
    }
    let Some(previous) = install(signal, action) else {
        return REFUSED;
    };
    let before = own.swap(taker as u8, Ordering::AcqRel);
    match previous {
        _ if before == JAVA as u8 => JAVA,
        libc::SIG_DFL => DEFAULT,
        libc::SIG_IGN => IGNORE,
        handler => handler as u64,
    }
}

/// What handles `signal` now.
fn handler_of(signal: i32) -> Option<libc::sighandler_t> {
    // SAFETY: 1. The structure is plain data, filled by the call.
    unsafe {
        let mut now: libc::sigaction = core::mem::zeroed();
        let result = libc::sigaction(signal, core::ptr::null(), &mut now);
        (result == 0).then_some(now.sa_sigaction)
    }
}

/// Puts a handler in place and gives the one before.
fn install(signal: i32, action: libc::sighandler_t) -> Option<libc::sighandler_t> {
    // SAFETY: 1. Both structures are plain data, filled here. 2. The handler is async-signal-safe.
    unsafe {
        let mut new: libc::sigaction = core::mem::zeroed();
        let mut old: libc::sigaction = core::mem::zeroed();
        new.sa_sigaction = action;
        new.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK;
        libc::sigfillset(&mut new.sa_mask);
        let result = libc::sigaction(signal, &new, &mut old);
        (result == 0).then_some(old.sa_sigaction)
    }
}

/// Starts what was put off until the process is a copy.
pub(crate) fn take_over() {
    if IS_WANTED.swap(false, Ordering::AcqRel) {
        start();
    }
    take_own();
}

/// Starts the delivering thread once.
fn start() -> bool {
    if held::are_held() {
        IS_WANTED.store(true, Ordering::Release);
        return true;
    }
    if IS_STARTED.swap(true, Ordering::AcqRel) {
        return true;
    }
    let builder = std::thread::Builder::new().name(THREAD.into());
    let spawned = builder.spawn(|| {
        if !crate::options::get().has_reduced_signals {
            unblock(SHUTDOWN.into_iter().chain([libc::SIGQUIT]));
        }
        loop {
            DISPATCHER.park_until(None);
            deliver_all();
        }
    });
    if let Err(error) = &spawned {
        IS_STARTED.store(false, Ordering::Release);
        console::warn(&format!("signals are not delivered to Java: {error}"));
    }
    spawned.is_ok()
}

fn deliver_all() {
    for (signal, pending) in PENDING.iter().enumerate() {
        for _ in 0..pending.swap(0, Ordering::Acquire) {
            match signal as i32 {
                libc::SIGQUIT if attach::is_asked() => attach::listen(),
                libc::SIGQUIT => thread_dump::write(&mut std::io::stdout()),
                signal => deliver(signal),
            }
        }
    }
}

/// Runs `jdk.internal.misc.Signal.dispatch`, which starts a thread for the handler.
fn deliver(signal: i32) {
    let thread = thread::attach(&[]);
    let outcome = java_thread::adopt(thread, Some(THREAD), true).and_then(|()| {
        let class = thread.boot_class("jdk/internal/misc/Signal")?;
        class.initialize(thread)?;
        match class.method_named("dispatch", "(I)V") {
            Some(dispatch) => thread.call(dispatch, &[signal as u64]).map(drop),
            None => console::fatal("jdk.internal.misc.Signal has no dispatch(int)"),
        }
    });
    if outcome.is_err() {
        java_thread::uncaught(thread);
    }
    java_thread::exit(thread);
}
