// SPDX-License-Identifier: Apache-2.0
//! [`Meeting`]: a process that another one brings here. It is at the end of a socket that the
//! introducer made, and may have kept: so what is trusted of it is who sent a message, by the
//! kernel's word. Over it goes one end of a socket that one of both has made itself; all else goes
//! there.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rt::clock::{Clock, Monotonic};
use rt::socket::{Socket, SocketError};

use crate::introduce::Who;
use crate::lent::connect::{self, ConnectError, HELLO_BYTES, Handshake, Hello, Side};
use crate::process::Inner;

/// What a process may have brought here that has not said who it is.
const MEETINGS_MAX: usize = 16;
/// Processes that one process may have brought here.
const BROUGHT_MAX: usize = 32;
/// In which each says all that it has to say.
const MEET_NS: u64 = 2_000_000_000;

/// See the module.
pub(super) struct Meeting {
    /// The link of its bringer.
    introducer: u64,
    /// Whom it should be.
    who: Who,
    side: Side,
    stage: Stage,
    pub(super) due_ns: u64,
}

enum Stage {
    /// The introducer's socket.
    Brought(Socket),
    Own(Handshake),
}

impl Meeting {
    /// Begins one among others, if the introducer has not too many, and there is a reason.
    pub(super) fn begin(
        inner: &Inner,
        others: &[Self],
        introducer: u64,
        socket: OwnedFd,
        who: Who,
        side: Side,
    ) -> Option<Self> {
        let own = others.iter().filter(|it| it.introducer == introducer);
        let is_known = inner.any_link(|it| it.who == who && !it.is_dead());
        let is_met = own.clone().any(|it| it.who == who);
        let is_full = own.count() >= MEETINGS_MAX || inner.introduced_by(introducer) >= BROUGHT_MAX;
        if is_known || is_met || is_full || who == inner.who() {
            return None;
        }
        let socket = Socket::adopt(socket).ok()?;
        if side == Side::Caller {
            socket.try_send(&connect::hello(inner, 0), &[]).ok()?;
        }
        Some(Self {
            introducer,
            who,
            side,
            stage: Stage::Brought(socket),
            due_ns: Monotonic.now_ns() + MEET_NS,
        })
    }

    /// What the door hears.
    pub(super) fn socket(&self) -> &Socket {
        match &self.stage {
            Stage::Brought(socket) => socket,
            Stage::Own(handshake) => &handshake.socket,
        }
    }

    /// Hears what came; `None` when it is over, whether or not there is a link now.
    pub(super) fn hear(mut self, inner: &Arc<Inner>) -> Option<Self> {
        loop {
            match self.step(inner) {
                Some(Step::Goes) => {}
                Some(Step::Waits) => return Some(self),
                end => {
                    // Explicitly: the introducer may have kept a copy, which would be heard on.
                    inner.door.silence(self.socket());
                    if let (Some(Step::Agreed), Stage::Own(handshake)) = (end, self.stage) {
                        // Fails where the other end sent what is no file of a link.
                        let _ = handshake.enter(inner, Some(self.introducer));
                    }
                    return None;
                }
            }
        }
    }

    /// One message, if there is one; `None` where the other end is not whom it should be.
    fn step(&mut self, inner: &Arc<Inner>) -> Option<Step> {
        let mut bytes = [0; HELLO_BYTES];
        let received = match self.socket().try_receive(&mut bytes) {
            Err(SocketError::Empty) if Monotonic.now_ns() < self.due_ns => {
                return Some(Step::Waits);
            }
            received => received.ok()?,
        };
        let hello = Hello::parse(&bytes, received).ok()?;
        if hello.sender.pid != self.who.pid {
            return None;
        }
        match &mut self.stage {
            Stage::Brought(socket) => {
                let own = move_on(inner, socket, self.side, hello).ok()?;
                inner.door.silence(socket);
                let is_heard = inner.door.hear_at(&own.socket);
                self.stage = Stage::Own(own);
                is_heard.then_some(Step::Goes)
            }
            Stage::Own(handshake) => {
                let is_last = handshake.hear(inner, hello).ok()?;
                // The number is the same; what it drew may not be.
                let is_other = handshake.who().is_some_and(|it| it != self.who);
                match (is_other, is_last) {
                    (true, _) => None,
                    (false, true) => Some(Step::Agreed),
                    (false, false) => Some(Step::Goes),
                }
            }
        }
    }
}

/// How far a meeting has come.
enum Step {
    Waits,
    Goes,
    /// Both have said all.
    Agreed,
}

/// The listener makes a socket, and gives one end to the caller; the caller takes what it is given.
fn move_on(
    inner: &Inner,
    brought: &Socket,
    side: Side,
    mut hello: Hello,
) -> Result<Handshake, ConnectError> {
    let own = match side {
        Side::Listener => {
            let (near, far) = Socket::pair().map_err(ConnectError::Refused)?;
            brought.try_send(&connect::hello(inner, 0), &[far.as_fd()])?;
            near.into_fd()
        }
        Side::Caller => hello.fds.pop().ok_or(ConnectError::Foreign)?,
    };
    let own = Socket::adopt(own).map_err(ConnectError::Refused)?;
    Handshake::begin(inner, own, side)
}
