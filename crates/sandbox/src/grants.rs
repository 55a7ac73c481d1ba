// SPDX-License-Identifier: Apache-2.0
//! [`Grants`]: real-time policies from outside, where nobody may raise the limit of a child.
//!
//! A filter has the kernel tell us when a thread of the sandbox asks for a policy. The thread waits
//! meanwhile, and the kernel says which one it is. What it may have is set from here; all else goes
//! on to the kernel, which refuses it as without us. So nothing is gained by asking, and a program
//! asks as it does without a sandbox.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};
use rustix::process::Pid;
use seccompiler::{BpfProgram, sock_filter};

use crate::sys::{self, Notice, Reply};

/// `SCHED_RESET_ON_FORK` beside a policy.
const RESET_ON_FORK: i32 = libc::SCHED_RESET_ON_FORK;
/// The same in the kernel's `struct sched_attr`: the only flag that goes with a grant.
const ATTR_RESET_ON_FORK: u64 = 1;
/// The first version of that structure; later ones have more behind it.
const ATTR_BYTES: usize = 48;
/// Room for one descriptor beside a message.
const ONE_FD: usize = rustix::cmsg_space!(ScmRights(1));

/// The calls that give a policy.
const CALLS: [libc::c_long; 3] = [
    libc::SYS_sched_setattr,
    libc::SYS_sched_setparam,
    libc::SYS_sched_setscheduler,
];
/// `AUDIT_ARCH_X86_64`: other architectures are ended by other filters.
const ARCH: u32 = 0xc000_003e;

/// See the module. Of one process, and what that starts.
#[derive(Debug)]
pub struct Grants {
    /// Where the filter's listener comes from, when the process has entered.
    near: OwnedFd,
    up_to: u8,
}

/// What a thread wants to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Wish {
    policy: i32,
    priority: i32,
    nice: i32,
}

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Done,
    Failed(Errno),
    /// The kernel says, as if nobody had been asked.
    ByKernel,
}

impl Grants {
    /// With the child's end.
    pub(crate) fn up_to(up_to: u8) -> io::Result<(Self, OwnedFd)> {
        use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (near, far) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        Ok((Self { near, up_to }, far))
    }

    /// The most urgent priority that it gives.
    pub fn most(&self) -> u8 {
        self.up_to
    }

    /// The listener of a process that has entered; none if there is none.
    pub(crate) fn receive(&self) -> Option<OwnedFd> {
        let mut room = [MaybeUninit::uninit(); ONE_FD];
        let mut beside = RecvAncillaryBuffer::new(&mut room);
        let mut word = [0];
        let mut place = [io::IoSliceMut::new(&mut word)];
        let flags = RecvFlags::CMSG_CLOEXEC;
        rustix::net::recvmsg(&self.near, &mut place, &mut beside, flags).ok()?;
        let mut all = beside.drain().flat_map(|it| match it {
            RecvAncillaryMessage::ScmRights(fds) => fds.last(),
            _ => None,
        });
        all.next()
    }

    /// Answers the threads of a process that has entered, until that and all that it has started
    /// are gone. The caller should be as urgent as the most urgent of them: they wait for it.
    pub fn keep(self, process: i32) {
        let Some(listener) = self.receive() else {
            return;
        };
        let process = Path::new("/proc").join(process.to_string());
        while let Some(asked) = next(&listener) {
            let Some(notice) = asked else { continue };
            let answer = self.answer(&notice, &listener, &process);
            let (error, flags) = match answer {
                Answer::Done => (0, 0),
                Answer::Failed(errno) => (-errno.raw_os_error(), 0),
                Answer::ByKernel => (0, libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32),
            };
            let reply = Reply {
                id: notice.id,
                value: 0,
                error,
                flags,
            };
            // A thread that has gone meanwhile hears nothing.
            let _ = sys::reply(listener.as_fd(), &reply);
        }
    }

    fn answer(&self, notice: &Notice, listener: &OwnedFd, process: &Path) -> Answer {
        let caller = notice.thread.cast_signed();
        let named = notice.words[0] as i32;
        let thread = if named == 0 { caller } else { named };
        // What it has started keeps the filter, and has no grant.
        if !has_thread(process, caller) || !has_thread(process, thread) {
            return Answer::ByKernel;
        }
        let wish = wish(notice, thread);
        // The number may have become another's while its memory was read.
        let is_there = sys::is_waiting(listener.as_fd(), notice.id);
        match wish.filter(|it| is_there && self.allows(*it, thread)) {
            Some(wish) => set(wish, thread, process),
            None => Answer::ByKernel,
        }
    }

    /// Real-time up to the priority; and back, to no larger a share than the thread has.
    fn allows(&self, wish: Wish, thread: i32) -> bool {
        match wish.policy {
            libc::SCHED_FIFO | libc::SCHED_RR => {
                1 <= wish.priority && wish.priority <= i32::from(self.up_to)
            }
            libc::SCHED_OTHER | libc::SCHED_BATCH | libc::SCHED_IDLE => {
                let nice = Pid::from_raw(thread);
                let nice = nice.and_then(|it| rustix::process::getpriority_process(Some(it)).ok());
                wish.priority == 0 && nice.is_some_and(|it| it <= wish.nice && wish.nice <= 19)
            }
            _ => false,
        }
    }
}

/// What a call asks for, by a copy that its process cannot change any more. None if that is nothing
/// that anybody is granted.
fn wish(notice: &Notice, thread: i32) -> Option<Wish> {
    let [_, second, third, ..] = notice.words;
    let memory = File::open(format!("/proc/{}/mem", notice.thread)).ok()?;
    let word = |at: u64| {
        let mut bytes = [0; 4];
        memory.read_exact_at(&mut bytes, at).ok()?;
        Some(i32::from_ne_bytes(bytes))
    };
    let nice = || {
        let nice = rustix::process::getpriority_process(Pid::from_raw(thread));
        nice.unwrap_or_default()
    };
    match libc::c_long::from(notice.call) {
        libc::SYS_sched_setscheduler => Some(Wish {
            policy: second as i32 & !RESET_ON_FORK,
            priority: word(third)?,
            nice: nice(),
        }),
        libc::SYS_sched_setparam => Some(Wish {
            policy: sys::policy(thread).ok()? & !RESET_ON_FORK,
            priority: word(second)?,
            nice: nice(),
        }),
        libc::SYS_sched_setattr if third == 0 => {
            let mut bytes = [0; ATTR_BYTES];
            memory.read_exact_at(&mut bytes, second).ok()?;
            of_attr(&bytes)
        }
        _ => None,
    }
}

fn of_attr(bytes: &[u8; ATTR_BYTES]) -> Option<Wish> {
    let word = |at: usize| bytes[at..].first_chunk().map(|it| i32::from_ne_bytes(*it));
    let flags = bytes[8..].first_chunk().map(|it| u64::from_ne_bytes(*it))?;
    let is_plain = word(0)? >= ATTR_BYTES as i32 && flags & !ATTR_RESET_ON_FORK == 0;
    let wish = Wish {
        policy: word(4)?,
        nice: word(16)?,
        priority: word(20)?,
    };
    is_plain.then_some(wish)
}

fn has_thread(process: &Path, thread: i32) -> bool {
    process.join("task").join(thread.to_string()).exists()
}

/// Gives a thread what it may have. What it starts is ordinary.
fn set(wish: Wish, thread: i32, process: &Path) -> Answer {
    if let Err(errno) = sys::set_policy(thread, wish.policy, wish.priority, wish.nice) {
        return Answer::Failed(errno);
    }
    if !has_thread(process, thread) {
        // It ended, and another may have its number: nobody else is granted anything.
        let _ = sys::set_policy(thread, libc::SCHED_OTHER, 0, 0);
        return Answer::Failed(Errno::SRCH);
    }
    Answer::Done
}

/// What is asked next, if it is still asked; none when nobody is left who could.
fn next(listener: &OwnedFd) -> Option<Option<Notice>> {
    let mut heard = [PollFd::new(listener, PollFlags::IN)];
    match poll(&mut heard, None) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(_) => return None,
    }
    let [heard] = heard;
    match heard.revents() {
        it if it.contains(PollFlags::IN) => Some(sys::notice(listener.as_fd()).ok()),
        it if it.is_empty() => Some(None),
        _ => None,
    }
}

/// Between `fork` and `exec`: the filter, whose listener goes to who started the process.
pub(crate) fn listen(program: &BpfProgram, far: BorrowedFd<'_>) -> Result<(), Errno> {
    let listener = sys::listen(program)?;
    let fds = [listener.as_fd()];
    let mut room = [MaybeUninit::uninit(); ONE_FD];
    let mut beside = SendAncillaryBuffer::new(&mut room);
    if !beside.push(SendAncillaryMessage::ScmRights(&fds)) {
        return Err(Errno::NOBUFS);
    }
    let word = [io::IoSlice::new(&[0])];
    rustix::net::sendmsg(far, &word, &mut beside, SendFlags::NOSIGNAL).map(drop)
}

/// The three calls wait for us.
pub(crate) fn program() -> BpfProgram {
    let of = |code: u32, jt: usize, jf: usize, k: u32| sock_filter {
        code: code as u16,
        jt: jt as u8,
        jf: jf as u8,
        k,
    };
    let load = |at: u32| of(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, at);
    let equal = |jt, jf, k| of(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, jt, jf, k);
    let answer = |it: u32| of(libc::BPF_RET | libc::BPF_K, 0, 0, it);
    let mut program = vec![load(4), equal(0, CALLS.len() + 1, ARCH), load(0)];
    for (index, call) in CALLS.iter().enumerate() {
        // To the last line of all.
        program.push(equal(CALLS.len() - index, 0, *call as u32));
    }
    program.push(answer(libc::SECCOMP_RET_ALLOW));
    program.push(answer(libc::SECCOMP_RET_USER_NOTIF));
    program
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attr(size: u32, policy: i32, flags: u64, nice: i32, priority: u32) -> [u8; ATTR_BYTES] {
        let mut bytes = [0; ATTR_BYTES];
        bytes[..4].copy_from_slice(&size.to_ne_bytes());
        bytes[4..8].copy_from_slice(&policy.to_ne_bytes());
        bytes[8..16].copy_from_slice(&flags.to_ne_bytes());
        bytes[16..20].copy_from_slice(&nice.to_ne_bytes());
        bytes[20..24].copy_from_slice(&priority.to_ne_bytes());
        bytes
    }

    #[test]
    fn what_a_structure_asks_for_is_read_whole_or_not() {
        let wish = Wish {
            policy: libc::SCHED_FIFO,
            priority: 80,
            nice: 0,
        };
        assert_eq!(of_attr(&attr(48, libc::SCHED_FIFO, 1, 0, 80)), Some(wish));
        assert_eq!(of_attr(&attr(47, libc::SCHED_FIFO, 0, 0, 80)), None);
        // Any other flag means something else.
        assert_eq!(of_attr(&attr(56, libc::SCHED_FIFO, 8, 0, 80)), None);
    }

    #[test]
    fn nothing_beyond_the_grant_is_allowed() {
        let (grants, _far) = Grants::up_to(10).expect("sockets");
        let own = rustix::thread::gettid().as_raw_nonzero().get();
        let allows = |policy, priority, nice| {
            let wish = Wish {
                policy,
                priority,
                nice,
            };
            grants.allows(wish, own)
        };
        for policy in [libc::SCHED_FIFO, libc::SCHED_RR] {
            assert!(allows(policy, 1, 0) && allows(policy, 10, 0));
            assert!(!allows(policy, 0, 0) && !allows(policy, 11, 0) && !allows(policy, -1, 0));
        }
        assert!(!allows(libc::SCHED_DEADLINE, 0, 0));
        assert!(allows(libc::SCHED_OTHER, 0, 19) && !allows(libc::SCHED_OTHER, 0, -20));
        assert!(!allows(libc::SCHED_OTHER, 1, 19) && !allows(libc::SCHED_OTHER, 0, 20));
    }

    /// Each jump of the list by hand: allowed, or asked about.
    #[test]
    fn three_calls_are_asked_about_and_no_other() {
        let program = program();
        let run = |arch: u32, call: u32| {
            let (mut at, mut word) = (0, 0);
            loop {
                let it = &program[at];
                at += 1;
                match u32::from(it.code) & 7 {
                    libc::BPF_LD => word = if it.k == 4 { arch } else { call },
                    libc::BPF_JMP => {
                        at += usize::from(if word == it.k { it.jt } else { it.jf });
                    }
                    _ => return it.k,
                }
            }
        };
        for call in 0..600 {
            let is_one = CALLS.contains(&i64::from(call));
            let is_asked = run(ARCH, call) == libc::SECCOMP_RET_USER_NOTIF;
            assert_eq!(is_asked, is_one, "{call}");
            assert_eq!(run(0x4000_0003, call), libc::SECCOMP_RET_ALLOW);
        }
    }
}
