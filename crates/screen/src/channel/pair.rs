// SPDX-License-Identifier: Apache-2.0
//! A channel as stock Android has it, to be measured beside the ring: a socket pair of whole
//! messages, as many bytes each as AOSP's InputMessage, and a message back for each that is
//! finished.

use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixDatagram;

use rt::socket::Socket;
use rt::sys::Errno;

use super::input::{Input, Message};
use super::wire::{self, MESSAGE_BYTES};
use super::words::Nonsense;
use super::{ReadFault, Sent};

/// AOSP's InputMessage without pointers, and one pointer: its properties and thirty axes.
const MOTION_BYTES: usize = 184;
const POINTER_BYTES: usize = 144;
const KEY_BYTES: usize = 112;
const FOCUS_BYTES: usize = 44;
const FINISHED_BYTES: usize = 24;
const BYTES_MAX: usize = MOTION_BYTES + super::POINTERS_MAX * POINTER_BYTES;

/// The display's end.
#[derive(Debug)]
pub(super) struct PairSender(UnixDatagram);

/// The window's end.
#[derive(Debug)]
pub(super) struct PairReader(UnixDatagram);

/// Both ends; neither waits.
pub(super) fn pair() -> Result<(PairSender, PairReader), Errno> {
    let (near, far) = Socket::pair()?;
    // Calls that send and receive whole messages are the same for both kinds of socket.
    let [near, far] = [near, far].map(|it| UnixDatagram::from(it.into_fd()));
    for end in [&near, &far] {
        let set = end.set_nonblocking(true);
        set.map_err(|it| Errno(it.raw_os_error().unwrap_or(0)))?;
    }
    Ok((PairSender(near), PairReader(far)))
}

fn size_of(input: &Input) -> usize {
    match input {
        Input::Focus(_) => FOCUS_BYTES,
        Input::Key { .. } => KEY_BYTES,
        Input::Scroll { .. } => MOTION_BYTES + POINTER_BYTES,
        Input::Touch { pointers, .. } => MOTION_BYTES + pointers.as_slice().len() * POINTER_BYTES,
    }
}

impl PairSender {
    pub(super) fn try_send(&mut self, message: &Message) -> Result<Sent, Nonsense> {
        let mut bytes = [0; BYTES_MAX];
        let (encoded, size) = wire::encode(message);
        bytes[..size].copy_from_slice(&encoded[..size]);
        match self.0.send(&bytes[..size_of(&message.input).max(size)]) {
            // The kernel wakes who listens to the other end.
            Ok(_) => Ok(Sent::There { wakes: false }),
            Err(fault) if fault.kind() == std::io::ErrorKind::WouldBlock => Ok(Sent::Full),
            Err(_) => Err(Nonsense),
        }
    }

    /// The next message that is finished.
    pub(super) fn next_finish(&mut self) -> Result<Option<u32>, Nonsense> {
        let mut bytes = [0; FINISHED_BYTES];
        match self.0.recv(&mut bytes) {
            Ok(FINISHED_BYTES) => {
                let [a, b, c, d, ..] = bytes;
                Ok(Some(u32::from_ne_bytes([a, b, c, d])))
            }
            Err(fault) if fault.kind() == std::io::ErrorKind::WouldBlock => Ok(None),
            _ => Err(Nonsense),
        }
    }
}

impl PairReader {
    /// True beside the message: as AOSP's dispatcher, the display hears of each.
    pub(super) fn take(&mut self) -> Result<Option<(Message, bool)>, ReadFault> {
        let mut bytes = [0; BYTES_MAX];
        match self.0.recv(&mut bytes) {
            Ok(0) => return Err(ReadFault::Broken),
            Ok(_) => {}
            Err(fault) if fault.kind() == std::io::ErrorKind::WouldBlock => return Ok(None),
            Err(_) => return Err(ReadFault::Broken),
        }
        let mut encoded = [0; MESSAGE_BYTES];
        encoded.copy_from_slice(&bytes[..MESSAGE_BYTES]);
        let message = wire::decode(&encoded);
        let message = message.map_err(|wire::Malformed| ReadFault::Malformed)?;
        Ok(Some((message, false)))
    }

    /// False if it does not go.
    pub(super) fn finish(&mut self, sequence: u32) -> bool {
        let mut bytes = [0; FINISHED_BYTES];
        bytes[..4].copy_from_slice(&sequence.to_ne_bytes());
        self.0.send(&bytes).is_ok()
    }

    pub(super) fn file(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
