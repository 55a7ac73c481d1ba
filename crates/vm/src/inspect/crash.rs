// SPDX-License-Identifier: Apache-2.0
//! The report of a crash: where the machine or native code went wrong, which
//! Java methods led there, then the process ends by the same signal.
//!
//! Everything here runs in a signal handler on a stack of its own: no allocation,
//! no lock. What the report touches may be broken too, so a second fault ends the
//! report, and an alarm ends one that hangs.

use core::fmt::{self, Write};
use core::sync::atomic::{AtomicU32, Ordering};

use crate::code::cache::{self, CodeKind};
use crate::inspect::signals;
use crate::memory;
use crate::monitors::lend;
use crate::threads::thread::{self, Thread};
use crate::threads::unwind::{self, Frame};

const SIGNALS: [(i32, &str); 4] = [
    (libc::SIGSEGV, "SIGSEGV"),
    (libc::SIGBUS, "SIGBUS"),
    (libc::SIGILL, "SIGILL"),
    (libc::SIGFPE, "SIGFPE"),
];
const STACK_BYTES: usize = 64 << 10;
const FRAMES_MAX: usize = 64;
/// A report that takes longer hangs.
const SECONDS_MAX: u32 = 5;

/// Thread that reports; 0 while nobody does.
static REPORTER: AtomicU32 = AtomicU32::new(0);

/// Takes the signals that only a fault raises.
pub(crate) fn start() {
    for (signal, _) in SIGNALS {
        // SAFETY: 1. The structure is plain data, filled here. 2. The handler keeps to what
        // handlers may do.
        unsafe {
            let mut action: libc::sigaction = core::mem::zeroed();
            action.sa_sigaction = on_fault as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
            libc::sigaction(signal, &action, core::ptr::null_mut());
        }
    }
}

/// Gives the calling thread a stack for reports, since its own may be what is broken. The stack's
/// address, or 0. The signals of faults reach it, and the one for who lends.
pub(crate) fn attach() -> u64 {
    let faults = SIGNALS.iter().map(|(signal, _)| *signal);
    signals::unblock(faults.chain([lend::signal_number()]));
    let Ok(stack) = memory::map_at(0, STACK_BYTES, "the crash report's stack") else {
        return 0;
    };
    set_stack(stack, 0);
    stack
}

/// Takes back what [`attach`] gave.
pub(crate) fn detach(stack: u64) {
    if stack != 0 {
        set_stack(stack, libc::SS_DISABLE);
        memory::unmap(stack, STACK_BYTES);
    }
}

fn set_stack(stack: u64, flags: i32) {
    let stack = libc::stack_t {
        ss_sp: stack as *mut libc::c_void,
        ss_flags: flags,
        ss_size: STACK_BYTES,
    };
    // SAFETY: 1. A mapping of that size which stays until `detach` has disabled it.
    unsafe { libc::sigaltstack(&stack, core::ptr::null_mut()) };
}

extern "C" fn on_fault(
    signal: i32,
    info: *const libc::siginfo_t,
    context: *const libc::ucontext_t,
) {
    let tid = crate::sync::lock::own_tid();
    match REPORTER.compare_exchange(0, tid, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => {
            // SAFETY: 1. alarm and signal have no preconditions; the default of SIGALRM ends the
            // process.
            unsafe {
                libc::signal(libc::SIGALRM, libc::SIG_DFL);
                libc::alarm(SECONDS_MAX);
            }
            // SAFETY: 1. The kernel hands over both structures of a handler with SA_SIGINFO.
            let (info, context) = unsafe { (&*info, &*context) };
            // Standard error may be closed; the signal still tells.
            let _ = report(&mut StandardError, signal, info, context);
        }
        Err(reporter) if reporter == tid => {
            let _ = StandardError.write_str("# the report itself failed here\n");
        }
        // Another thread reports and will end the process.
        Err(_) => loop {
            rustix::event::pause();
        },
    }
    // SAFETY: 1. Neither has preconditions. The fault happens again on return and ends the process,
    // with a core dump where the system allows one.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        libc::raise(signal);
    }
}

/// Writes without a buffer, a lock or an allocation.
struct StandardError;

impl Write for StandardError {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // SAFETY: 1. The bytes are `text`'s.
        let written = unsafe { libc::write(2, text.as_ptr().cast(), text.len()) };
        if written == text.len() as isize {
            Ok(())
        } else {
            Err(fmt::Error)
        }
    }
}

fn report(
    out: &mut impl Write,
    signal: i32,
    info: &libc::siginfo_t,
    context: &libc::ucontext_t,
) -> fmt::Result {
    let name = SIGNALS.iter().find(|(number, _)| *number == signal);
    let name = name.map_or("a signal", |(_, name)| name);
    let registers = &context.uc_mcontext.gregs;
    let register = |index: i32| registers[index as usize] as u64;
    let pc = register(libc::REG_RIP);
    // SAFETY: 1. The signal is one that carries an address.
    let address = unsafe { info.si_addr() } as u64;
    writeln!(
        out,
        "#\n# Takt {} crashed: {name}",
        env!("CARGO_PKG_VERSION")
    )?;
    writeln!(out, "# pc {pc:#x}, address {address:#x}")?;
    write_place(out, pc)?;
    let Some(thread) = thread::current() else {
        return writeln!(out, "# in a thread that is not Java's\n#");
    };
    writeln!(out, "# thread {}", thread.tid())?;
    for (name, index) in [
        ("rax", libc::REG_RAX),
        ("rbx", libc::REG_RBX),
        ("rcx", libc::REG_RCX),
        ("rdx", libc::REG_RDX),
        ("rsi", libc::REG_RSI),
        ("rdi", libc::REG_RDI),
        ("rbp", libc::REG_RBP),
        ("rsp", libc::REG_RSP),
        ("r15", libc::REG_R15),
    ] {
        write!(out, "# {name} {:#018x}", register(index))?;
        out.write_str("\n")?;
    }
    write_frames(out, thread, pc, register(libc::REG_RBP))
}

/// Java method, or the line of the memory map, that `pc` lies in.
fn write_place(out: &mut impl Write, pc: u64) -> fmt::Result {
    if let Some(code) = cache::find(pc) {
        let (what, method) = match code.kind {
            CodeKind::Method(method) => ("compiled code of", method),
            CodeKind::Native(method) => ("the bridge to", method),
            CodeKind::Adapter => return writeln!(out, "# in the way into compiled code"),
        };
        write!(out, "# in {what} ")?;
        return write_method(out, &Frame { method, at: None });
    }
    let mut file = MapsFile::open();
    while let Some(line) = file.next_line() {
        let mut ends = line.split(' ').next().unwrap_or("").split('-');
        let mut bound = || u64::from_str_radix(ends.next()?, 16).ok();
        let (Some(start), Some(end)) = (bound(), bound()) else {
            continue;
        };
        if (start..end).contains(&pc) {
            return writeln!(out, "# in {line}");
        }
    }
    writeln!(out, "# in no mapped code")
}

fn write_frames(out: &mut impl Write, thread: &Thread, pc: u64, frame: u64) -> fmt::Result {
    writeln!(out, "# Java frames, innermost first:")?;
    let mut outcome = Ok(());
    let mut count = 0;
    let each = |frame: Frame| {
        outcome = out
            .write_str("#   at ")
            .and_then(|()| write_method(out, &frame));
        count += 1;
        outcome.is_ok() && count < FRAMES_MAX
    };
    if cache::find(pc).is_some() {
        unwind::walk_from(thread, frame, 0, each);
    } else {
        unwind::walk(thread, each);
    }
    outcome?;
    writeln!(out, "#\n# Please report this with what the program did.\n#")
}

fn write_method(out: &mut impl Write, frame: &Frame) -> fmt::Result {
    let method = frame.method;
    write_name(out, method.class().name().bytes())?;
    out.write_str(".")?;
    write_name(out, method.name.bytes())?;
    write_name(out, method.descriptor.bytes())?;
    let code = method.file().code.as_ref();
    let line = frame
        .at
        .zip(code)
        .and_then(|(at, code)| code.line(at as u16));
    match line {
        Some(line) => writeln!(out, " line {line}"),
        None => out.write_str("\n"),
    }
}

/// Names are modified UTF-8; what is no UTF-8 is shown as '?'.
fn write_name(out: &mut impl Write, name: &[u8]) -> fmt::Result {
    out.write_str(core::str::from_utf8(name).unwrap_or("?"))
}

/// `/proc/self/maps` by line, through a buffer on the stack.
struct MapsFile {
    file: i32,
    buffer: [u8; 4096],
    start: usize,
    end: usize,
}

impl MapsFile {
    fn open() -> Self {
        // SAFETY: 1. The path is a C string.
        let file = unsafe {
            libc::open(
                c"/proc/self/maps".as_ptr(),
                libc::O_RDONLY | libc::O_CLOEXEC,
            )
        };
        Self {
            file,
            buffer: [0; 4096],
            start: 0,
            end: 0,
        }
    }

    fn newline(&self) -> Option<usize> {
        let found = self.buffer[self.start..self.end].iter();
        found.copied().position(|byte| byte == b'\n')
    }

    /// The next line; a line longer than the buffer ends the file.
    fn next_line(&mut self) -> Option<&str> {
        if self.newline().is_none() {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        while self.newline().is_none() {
            let free = &mut self.buffer[self.end..];
            // SAFETY: 1. `free` is ours and that long; an unopened file gives an error.
            let count = unsafe { libc::read(self.file, free.as_mut_ptr().cast(), free.len()) };
            if count <= 0 {
                return None;
            }
            self.end += count as usize;
        }
        let line = self.start..self.start + self.newline()?;
        self.start = line.end + 1;
        core::str::from_utf8(&self.buffer[line]).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_found_in_the_memory_map() {
        let mut text = String::new();
        write_place(&mut text, MapsFile::open as *const () as u64).expect("a String takes all");
        assert!(text.starts_with("# in ") && text.contains("r-xp"), "{text}");
        let mut none = String::new();
        write_place(&mut none, 8).expect("a String takes all");
        assert_eq!(none, "# in no mapped code\n");
    }
}
