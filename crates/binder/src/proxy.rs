// SPDX-License-Identifier: Apache-2.0
//! [`Proxy`]: a node of another process, as this one knows it; with who is told of its death.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};

use rt::sync::PiMutex;

use crate::limits::Limits;
use crate::link::Link;

/// Names a death recipient of one proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token(u64);

type Recipient = Box<dyn FnOnce() + Send>;

/// As long as it lives the node does. One for each node and link.
pub struct Proxy {
    pub(crate) link: Arc<Link>,
    pub(crate) number: u64,
    /// How often the other end has counted the node up for us.
    pub(crate) received: AtomicU64,
    pub(crate) limits: Limits,
    recipients: PiMutex<Recipients>,
}

#[derive(Default)]
struct Recipients {
    next: u64,
    is_watched: bool,
    waiting: Vec<(Token, Recipient)>,
    is_over: bool,
}

impl Proxy {
    pub(crate) fn new(link: Arc<Link>, number: u64) -> Self {
        Self {
            link,
            number,
            received: AtomicU64::new(0),
            limits: Limits::new(),
            recipients: PiMutex::default(),
        }
    }

    /// Whether the process of the node is there, as far as is known.
    pub fn is_alive(&self) -> bool {
        !self.link.is_dead() && !self.recipients.lock().is_over
    }

    /// Calls from now on lend nothing, in any thread: the node is served as urgently as its
    /// process is by itself. For callers that do not trust it with their priority. Over `lent`
    /// alone: over `direct` the caller's thread runs the node, over `driver` the kernel lends.
    pub fn stop_lending(&self) {
        self.limits.set_lends(false);
    }

    /// Calls from now on lend what the node inherits, as they do at first.
    pub fn lend(&self) {
        self.limits.set_lends(true);
    }

    /// Calls `recipient` once when the process of the node ends, on the thread that learns of it.
    /// Not called if the proxy is dropped before. `None` if the process has ended already.
    pub fn link_to_death(&self, recipient: impl FnOnce() + Send + 'static) -> Option<Token> {
        let recipient = Box::new(recipient);
        let mut recipients = self.recipients.lock();
        if recipients.is_over || self.link.is_dead() {
            return None;
        }
        let token = Token(recipients.next);
        recipients.next += 1;
        recipients.waiting.push((token, recipient));
        let is_first = !std::mem::replace(&mut recipients.is_watched, true);
        drop(recipients);
        if is_first {
            self.link.set_watched(self.number, true);
        }
        Some(token)
    }

    /// Takes a recipient back; `false` if it was called, or is about to be.
    pub fn unlink_to_death(&self, token: Token) -> bool {
        let mut recipients = self.recipients.lock();
        let found = recipients.waiting.iter().position(|it| it.0 == token);
        let taken = found.map(|index| recipients.waiting.swap_remove(index));
        drop(recipients);
        taken.is_some()
    }

    /// The process of the node has ended.
    pub(crate) fn obituary(&self) {
        let mut recipients = self.recipients.lock();
        recipients.is_over = true;
        let waiting = std::mem::take(&mut recipients.waiting);
        drop(recipients);
        for (_, recipient) in waiting {
            recipient();
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        if self.recipients.get_mut().is_watched {
            self.link.set_watched(self.number, false);
        }
        self.link.release(self.number, self.received.load(Relaxed));
    }
}

impl std::fmt::Debug for Proxy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Proxy({} of link {})", self.number, self.link.number)
    }
}

/// A weak reference to another process's node: the node may go, its number is not used again.
pub(crate) struct WeakProxy {
    pub(crate) link: Arc<Link>,
    pub(crate) number: u64,
    pub(crate) live: Weak<Proxy>,
}

impl Drop for WeakProxy {
    fn drop(&mut self) {
        self.link.release_weak(self.number);
    }
}
