// SPDX-License-Identifier: Apache-2.0
//! [`Template`]: a process that has loaded what all applications share, and is copied for each.
//!
//! It says when it may be copied; what is to start before that starts from nothing, and so does
//! everything between the failure of one and the next. A copy is this process's own child: the
//! template only makes it. The template is trusted as the server is: it runs nobody's code, and
//! nobody but the server speaks with it.

use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};

use rt::clock::{Clock, Monotonic};
use rt::socket::{Socket, SocketError};
use rustix::pipe::PipeFlags;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

/// It copies a few hundred megabytes' tables, and may have to wait for a processor.
const COPY_NS_MAX: u64 = 5_000_000_000;
/// Before a template that has failed is started again, doubled with each that fails so soon.
const AGAIN_NS: u64 = 1_000_000_000;
const AGAIN_NS_MAX: u64 = 64 * AGAIN_NS;

/// What a copy becomes.
#[derive(Debug)]
pub struct Entry {
    /// For the copy to read.
    pub bytes: Vec<u8>,
    /// What goes beside that.
    pub fds: Vec<OwnedFd>,
}

/// See the module.
pub(crate) struct Template {
    process: Child,
    socket: Socket,
    is_ready: bool,
}

impl Template {
    /// Starts it: its standard input is the way to it.
    pub(crate) fn start(mut command: Command) -> Result<Self, String> {
        let (near, far) = Socket::pair().map_err(|it| it.to_string())?;
        let socket = Socket::adopt(near.into_fd()).map_err(|it| it.to_string())?;
        command.stdin(Stdio::from(far.into_fd()));
        let process = command.spawn().map_err(|it| it.to_string())?;
        Ok(Self {
            process,
            socket,
            is_ready: false,
        })
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// What can be heard when it has spoken, or has ended.
    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Whether it may be copied.
    pub(crate) fn is_ready(&self) -> bool {
        self.is_ready
    }

    /// It has spoken: that it may be copied from now on.
    pub(crate) fn hear(&mut self) -> Result<(), String> {
        let mut word = [0];
        match self.socket.try_receive(&mut word) {
            Ok(_) => self.is_ready = true,
            Err(SocketError::Empty) => {}
            Err(error) => return Err(error.to_string()),
        }
        Ok(())
    }

    /// Makes a copy, whose standard input and log these become.
    pub(crate) fn copy(&self, entry: &Entry, input: &OwnedFd) -> Result<Running, String> {
        let pipe = rustix::pipe::pipe_with(PipeFlags::CLOEXEC);
        let (reader, writer) = pipe.map_err(|it| it.to_string())?;
        let mut fds: Vec<BorrowedFd<'_>> = vec![input.as_fd(), writer.as_fd()];
        fds.extend(entry.fds.iter().map(|it| it.as_fd()));
        let due_ns = Monotonic.now_ns() + COPY_NS_MAX;
        let sent = self.socket.send_until(&entry.bytes, &fds, due_ns);
        sent.map_err(|it| it.to_string())?;
        let mut word = [0; 4];
        let answer = self.socket.receive_until(&mut word, due_ns);
        let size = answer.map_err(|it| it.to_string())?.size;
        let pid = Pid::from_raw(i32::from_ne_bytes(word)).filter(|_| size == word.len());
        Ok(Running {
            body: Body::Copy(pid.ok_or("it makes no copy")?),
            log: Some(ChildStderr::from(reader)),
        })
    }

    /// Ends it; copies stay.
    pub(crate) fn end(mut self) {
        // One that has just ended is no fault.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// When the next template starts.
#[derive(Debug, Default)]
pub(crate) struct Again {
    pub(crate) at: Option<u64>,
    wait_ns: u64,
    /// Since when the one that is there may be copied.
    ready_ns: Option<u64>,
    was_ever_ready: bool,
}

impl Again {
    pub(crate) fn began(&mut self, now: u64) {
        self.ready_ns = Some(now);
        self.was_ever_ready = true;
    }

    /// Where none was ever ready the next one would not be.
    pub(crate) fn failed(&mut self, now: u64) {
        if !self.was_ever_ready {
            return;
        }
        let ready_ns = self.ready_ns.take();
        let has_lasted = ready_ns.is_some_and(|it| now.saturating_sub(it) >= AGAIN_NS_MAX);
        self.wait_ns = match self.wait_ns {
            0 => AGAIN_NS,
            _ if has_lasted => AGAIN_NS,
            wait_ns => (wait_ns * 2).min(AGAIN_NS_MAX),
        };
        self.at = Some(now + self.wait_ns);
    }
}

/// An application's process, until it was waited for.
pub(crate) struct Running {
    body: Body,
    pub(crate) log: Option<ChildStderr>,
}

enum Body {
    Program(Child),
    /// Our child as well, by the kernel's word.
    Copy(Pid),
}

impl Running {
    pub(crate) fn program(mut child: Child) -> Self {
        Self {
            log: child.stderr.take(),
            body: Body::Program(child),
        }
    }

    pub(crate) fn id(&self) -> u32 {
        match &self.body {
            Body::Program(child) => child.id(),
            Body::Copy(pid) => pid.as_raw_pid().cast_unsigned(),
        }
    }

    /// Nobody else waits for it, so its number is its own until then.
    pub(crate) fn kill(&mut self) {
        // One that has just ended is no fault.
        match &mut self.body {
            Body::Program(child) => drop(child.kill()),
            Body::Copy(pid) => drop(kill_process(*pid, Signal::KILL)),
        }
    }

    pub(crate) fn wait(&mut self) -> std::io::Result<ExitStatus> {
        use std::os::unix::process::ExitStatusExt as _;
        match &mut self.body {
            Body::Program(child) => child.wait(),
            Body::Copy(pid) => match waitpid(Some(*pid), WaitOptions::empty())? {
                Some((_, status)) => Ok(ExitStatus::from_raw(status.as_raw())),
                None => Err(std::io::ErrorKind::WouldBlock.into()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{AGAIN_NS, AGAIN_NS_MAX, Again};

    #[test]
    fn a_template_that_was_ready_comes_again_later_each_time() {
        let mut again = Again::default();
        again.failed(5);
        assert_eq!(again.at, None, "one that never was ready");
        let mut now = 0;
        for doubled in 0..9 {
            if doubled % 2 == 0 {
                again.began(now);
            }
            again.failed(now + 1);
            let wait = (AGAIN_NS << doubled).min(AGAIN_NS_MAX);
            assert_eq!(again.at, Some(now + 1 + wait));
            now += AGAIN_NS_MAX;
        }
        again.began(now);
        again.failed(now + AGAIN_NS_MAX);
        assert_eq!(
            again.at,
            Some(now + AGAIN_NS_MAX + AGAIN_NS),
            "it has lasted"
        );
    }
}
