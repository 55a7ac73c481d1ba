// SPDX-License-Identifier: Apache-2.0
//! [`Socket`]: messages between two processes, with descriptors, and with the sender's identity by
//! the kernel's word.
//!
//! A unix socket of type SEQPACKET. Sending never waits: what finds no room is refused.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::clock::{Clock, Monotonic};
use crate::guard;
use crate::sys::Errno;

/// Most descriptors in one message.
pub const FDS_MAX: usize = 24;
/// Room for their control message and the sender's identity, in words.
const CONTROL_WORDS: usize = 32;

/// Why a message did not go or come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SocketError {
    /// No room, or no message.
    #[error("the socket has no room, or no message")]
    Empty,
    /// The other end is closed.
    #[error("the other end is closed")]
    Closed,
    /// The due time passed.
    #[error("the due time passed")]
    TimedOut,
    /// A message that is longer than agreed on, or lacks its sender.
    #[error("a message is cut off, or lacks its sender")]
    Malformed,
    /// The kernel refused for another reason.
    #[error("a socket failed: {0}")]
    Failed(Errno),
}

impl SocketError {
    fn last() -> Self {
        match Errno::last() {
            Errno(libc::EAGAIN) => Self::Empty,
            Errno(libc::EPIPE | libc::ECONNRESET) => Self::Closed,
            errno => Self::Failed(errno),
        }
    }
}

/// Who sent a message, by the kernel's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sender {
    /// The process.
    pub pid: i32,
    /// Its user.
    pub uid: u32,
}

/// A message that came.
#[derive(Debug)]
pub struct Received {
    /// Bytes of it.
    pub size: usize,
    /// Its descriptors, each ours.
    pub fds: Vec<OwnedFd>,
    /// Who sent it.
    pub sender: Sender,
}

/// See the module.
#[derive(Debug)]
pub struct Socket(OwnedFd);

impl Socket {
    /// Two ends that are connected.
    pub fn pair() -> Result<(Self, Self), Errno> {
        let mut raw = [-1; 2];
        let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
        // SAFETY: two descriptors are written to `raw`.
        let returned = unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, raw.as_mut_ptr()) };
        Errno::check(returned.into())?;
        // SAFETY: the kernel has just given these descriptors to us alone.
        let ends = raw.map(|it| Self(unsafe { OwnedFd::from_raw_fd(it) }));
        let [near, far] = ends;
        Ok((near, far))
    }

    /// An end that came from elsewhere. Messages that are sent to it from now on name their sender.
    pub fn adopt(fd: OwnedFd) -> Result<Self, Errno> {
        let on: libc::c_int = 1;
        // SAFETY: the option takes an int, which outlives the call.
        let returned = unsafe {
            libc::setsockopt(
                fd.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_PASSCRED,
                (&raw const on).cast(),
                size_of::<libc::c_int>() as libc::socklen_t,
            )
        };
        Errno::check(returned.into())?;
        Ok(Self(fd))
    }

    /// The descriptor, to be given to another process.
    pub fn into_fd(self) -> OwnedFd {
        self.0
    }

    /// Both ends see the connection closed from now on.
    pub fn shut_down(&self) {
        // SAFETY: shutdown takes numbers alone.
        unsafe { libc::shutdown(self.0.as_raw_fd(), libc::SHUT_RDWR) };
    }

    /// Sends a message with up to [`FDS_MAX`] descriptors, or nothing. Never waits.
    pub fn try_send(&self, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> Result<(), SocketError> {
        assert!(fds.len() <= FDS_MAX, "limit: {FDS_MAX} descriptors");
        let mut control = [0_u64; CONTROL_WORDS];
        let mut part = libc::iovec {
            iov_base: bytes.as_ptr().cast_mut().cast(),
            iov_len: bytes.len(),
        };
        // SAFETY: all-zero is a valid msghdr.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        if !fds.is_empty() {
            let size = size_of_val(fds) as u32;
            message.msg_control = control.as_mut_ptr().cast();
            // SAFETY:
            // 1. `control` has room for the header and `FDS_MAX` numbers, and is aligned for both.
            // 2. A `BorrowedFd` is the number alone (`repr(transparent)`).
            unsafe {
                message.msg_controllen = libc::CMSG_SPACE(size) as usize;
                let header = libc::CMSG_FIRSTHDR(&raw const message);
                (*header).cmsg_level = libc::SOL_SOCKET;
                (*header).cmsg_type = libc::SCM_RIGHTS;
                (*header).cmsg_len = libc::CMSG_LEN(size) as usize;
                std::ptr::copy_nonoverlapping(
                    fds.as_ptr().cast::<u8>(),
                    libc::CMSG_DATA(header),
                    size as usize,
                );
            }
        }
        let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
        // SAFETY: all that `message` points to outlives the call and is only read.
        let sent = unsafe { libc::sendmsg(self.0.as_raw_fd(), &raw const message, flags) };
        if sent == -1 {
            return Err(SocketError::last());
        }
        Ok(())
    }

    /// The same, and waits for room; gives up at `due_ns`.
    pub fn send_until(
        &self,
        bytes: &[u8],
        fds: &[BorrowedFd<'_>],
        due_ns: u64,
    ) -> Result<(), SocketError> {
        loop {
            match self.try_send(bytes, fds) {
                Err(SocketError::Empty) => self.wait_until(libc::POLLOUT, due_ns)?,
                outcome => return outcome,
            }
        }
    }

    /// Takes the next message into `bytes`. Never waits.
    pub fn try_receive(&self, bytes: &mut [u8]) -> Result<Received, SocketError> {
        let mut control = [0_u64; CONTROL_WORDS];
        let mut part = libc::iovec {
            iov_base: bytes.as_mut_ptr().cast(),
            iov_len: bytes.len(),
        };
        // SAFETY: all-zero is a valid msghdr.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control);
        let flags = libc::MSG_DONTWAIT | libc::MSG_CMSG_CLOEXEC;
        // SAFETY: all that `message` points to is writable for the sizes given.
        let size = unsafe { libc::recvmsg(self.0.as_raw_fd(), &raw mut message, flags) };
        let Ok(size) = usize::try_from(size) else {
            return Err(SocketError::last());
        };
        let (fds, sender) = take_control(&message);
        if size == 0 && sender.is_none_or(|it| it.pid == 0) {
            return Err(SocketError::Closed);
        }
        let is_cut = message.msg_flags & (libc::MSG_TRUNC | libc::MSG_CTRUNC) != 0;
        match sender {
            Some(sender) if !is_cut => Ok(Received { size, fds, sender }),
            _ => Err(SocketError::Malformed),
        }
    }

    /// Takes the next message, or gives up at `due_ns`.
    pub fn receive_until(&self, bytes: &mut [u8], due_ns: u64) -> Result<Received, SocketError> {
        loop {
            match self.try_receive(bytes) {
                Err(SocketError::Empty) => self.wait_until(libc::POLLIN, due_ns)?,
                outcome => return outcome,
            }
        }
    }

    /// Sleeps until something of the kind may be done, or the due time.
    fn wait_until(&self, events: libc::c_short, due_ns: u64) -> Result<(), SocketError> {
        guard::blocking("wait for a message");
        let now_ns = Monotonic.now_ns();
        if due_ns <= now_ns {
            return Err(SocketError::TimedOut);
        }
        let wait_ms = (due_ns - now_ns).div_ceil(1_000_000);
        let mut poll = libc::pollfd {
            fd: self.0.as_raw_fd(),
            events,
            revents: 0,
        };
        let wait_ms = i32::try_from(wait_ms).unwrap_or(i32::MAX);
        // SAFETY: `poll` is one entry, writable.
        unsafe { libc::poll(&raw mut poll, 1, wait_ms) };
        Ok(())
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Descriptors and sender out of a message that was received.
fn take_control(message: &libc::msghdr) -> (Vec<OwnedFd>, Option<Sender>) {
    let (mut fds, mut sender) = (Vec::new(), None);
    // SAFETY:
    // 1. The kernel has filled the buffer that `message` points to, and set its length.
    // 2. Each header's data lies behind it, as many bytes as its length says.
    // 3. Each number of SCM_RIGHTS is a new descriptor of this process's, taken once.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(message);
        while let Some(found) = header.as_ref() {
            let data = libc::CMSG_DATA(header);
            let size = found.cmsg_len - libc::CMSG_LEN(0) as usize;
            match (found.cmsg_level, found.cmsg_type) {
                (libc::SOL_SOCKET, libc::SCM_RIGHTS) => {
                    let numbers = std::slice::from_raw_parts(data, size);
                    for number in numbers.as_chunks::<4>().0 {
                        fds.push(OwnedFd::from_raw_fd(i32::from_ne_bytes(*number)));
                    }
                }
                (libc::SOL_SOCKET, libc::SCM_CREDENTIALS) if size >= size_of::<libc::ucred>() => {
                    let found = data.cast::<libc::ucred>().read_unaligned();
                    sender = Some(Sender {
                        pid: found.pid,
                        uid: found.uid,
                    });
                }
                _ => {}
            }
            header = libc::CMSG_NXTHDR(message, header);
        }
    }
    (fds, sender)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_brings_its_descriptors_and_its_sender() {
        let (near, far) = Socket::pair().unwrap();
        let near = Socket::adopt(near.into_fd()).unwrap();
        let (inner, other) = Socket::pair().unwrap();
        far.try_send(b"with", &[inner.as_fd()]).unwrap();
        drop(inner);
        let mut bytes = [0; 16];
        let mut received = near.try_receive(&mut bytes).unwrap();
        assert_eq!(&bytes[..received.size], b"with");
        assert_eq!(received.sender.pid, std::process::id().cast_signed());
        // SAFETY: getuid has no preconditions.
        assert_eq!(received.sender.uid, unsafe { libc::getuid() });
        let inner = Socket::adopt(received.fds.pop().unwrap()).unwrap();
        other.try_send(b"through", &[]).unwrap();
        let through = inner.try_receive(&mut bytes).unwrap();
        assert_eq!(&bytes[..through.size], b"through");
    }

    #[test]
    fn an_empty_and_a_closed_socket_and_a_long_message_say_so() {
        let (near, far) = Socket::pair().unwrap();
        let near = Socket::adopt(near.into_fd()).unwrap();
        let mut bytes = [0; 4];
        let due_ns = Monotonic.now_ns() + 1_000_000;
        assert_eq!(
            near.receive_until(&mut bytes, due_ns).unwrap_err(),
            SocketError::TimedOut
        );
        far.try_send(b"longer", &[]).unwrap();
        assert_eq!(
            near.try_receive(&mut bytes).unwrap_err(),
            SocketError::Malformed
        );
        drop(far);
        // A child that a test beside this one forks holds it open until it ends.
        let due_ns = Monotonic.now_ns() + 60_000_000_000;
        assert_eq!(
            near.receive_until(&mut bytes, due_ns).unwrap_err(),
            SocketError::Closed
        );
        assert_eq!(
            near.try_receive(&mut bytes).unwrap_err(),
            SocketError::Closed
        );
        assert_eq!(
            near.try_send(b"none", &[]).unwrap_err(),
            SocketError::Closed
        );
    }
}
