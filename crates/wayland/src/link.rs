// SPDX-License-Identifier: Apache-2.0
//! [`Link`]: a connection that is waited for with a bound, and the [`Globals`] behind it.

use std::io::ErrorKind;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;

use rt::bell::Bell;
use rt::clock::{Clock as _, Monotonic};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use wayland_client::backend::WaylandError;
use wayland_client::protocol::wl_callback::{self, WlCallback};
use wayland_client::protocol::wl_registry::{self, WlRegistry};
use wayland_client::{Connection, Dispatch, DispatchError, Proxy, QueueHandle};

use crate::Fault;

/// Globals of one compositor: those that are known have a tenth.
const GLOBALS_MAX: usize = 1024;

/// A connection to a compositor.
pub(crate) struct Link {
    pub(crate) connection: Connection,
}

impl Link {
    pub(crate) fn new(stream: UnixStream) -> Result<Self, Fault> {
        let connection = Connection::from_socket(stream);
        let connection = connection.map_err(|it| Fault::Lost(it.to_string()))?;
        Ok(Self { connection })
    }

    /// Sends what there is, and waits for the compositor, for a bell, or until a time. True if the
    /// bell has rung.
    pub(crate) fn wait_until(&self, bell: Option<&Bell>, due_ns: u64) -> Result<bool, Fault> {
        let mut interest = PollFlags::IN;
        match self.connection.flush() {
            Ok(()) => {}
            // It reads nothing now. What there is to send is kept.
            Err(WaylandError::Io(error)) if error.kind() == ErrorKind::WouldBlock => {
                interest |= PollFlags::OUT;
            }
            Err(error) => return Err(self.lost(error)),
        }
        let Some(guard) = self.connection.prepare_read() else {
            return Ok(false);
        };
        let left_ns = due_ns.saturating_sub(Monotonic.now_ns());
        let left = Timespec {
            tv_sec: (left_ns / 1_000_000_000) as i64,
            tv_nsec: (left_ns % 1_000_000_000) as i64,
        };
        let (is_heard, has_rung) = {
            let socket = guard.connection_fd();
            let silent = bell.map_or(socket, Bell::as_fd);
            let mut places = [
                PollFd::from_borrowed_fd(socket, interest),
                PollFd::from_borrowed_fd(silent, PollFlags::IN),
            ];
            let count = if bell.is_some() { 2 } else { 1 };
            // A signal is no fault: the caller comes again.
            let _ = poll(&mut places[..count], Some(&left));
            let is_set = |it: &PollFd<'_>| !it.revents().is_empty();
            (is_set(&places[0]), bell.is_some() && is_set(&places[1]))
        };
        if let Some(bell) = bell.filter(|_| has_rung) {
            let mut count = [0; 8];
            let _ = rustix::io::read(bell, &mut count);
        }
        if !is_heard {
            return Ok(has_rung);
        }
        match guard.read() {
            Ok(_) => Ok(has_rung),
            Err(WaylandError::Io(error)) if error.kind() == ErrorKind::WouldBlock => Ok(has_rung),
            Err(error) => Err(self.lost(error)),
        }
    }

    fn lost(&self, error: WaylandError) -> Fault {
        Fault::Lost(error.to_string())
    }
}

pub(crate) fn lost(error: DispatchError) -> Fault {
    Fault::Lost(error.to_string())
}

/// What a compositor has: numbers, names and versions.
#[derive(Default)]
pub(crate) struct Globals {
    all: Vec<(u32, String, u32)>,
    is_whole: bool,
}

impl Globals {
    /// Asks for them.
    pub(crate) fn get(link: &Link, due_ns: u64) -> Result<(WlRegistry, Self), Fault> {
        let mut queue = link.connection.new_event_queue();
        let handle = queue.handle();
        let display = link.connection.display();
        let registry = display.get_registry(&handle, ());
        display.sync(&handle, ());
        let mut globals = Self::default();
        loop {
            queue.dispatch_pending(&mut globals).map_err(lost)?;
            if globals.is_whole {
                return Ok((registry, globals));
            }
            if Monotonic.now_ns() >= due_ns {
                return Err(Fault::Silent);
            }
            link.wait_until(None, due_ns)?;
        }
    }

    /// The number and version of one, if it has at least a version.
    pub(crate) fn find<I: Proxy>(&self, least: u32) -> Option<(u32, u32)> {
        let name = I::interface().name;
        let mut all = self.all.iter();
        let (number, _, version) = all.find(|it| it.1 == name && it.2 >= least)?;
        Some((*number, (*version).min(I::interface().version)))
    }
}

impl Dispatch<WlRegistry, ()> for Globals {
    fn event(
        globals: &mut Self,
        _: &WlRegistry,
        event: wl_registry::Event,
        (): &(),
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        if let wl_registry::Event::Global {
            name,
            interface,
            version,
        } = event
            && globals.all.len() < GLOBALS_MAX
        {
            globals.all.push((name, interface, version));
        }
    }
}

impl Dispatch<WlCallback, ()> for Globals {
    fn event(
        globals: &mut Self,
        _: &WlCallback,
        _: wl_callback::Event,
        (): &(),
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        globals.is_whole = true;
    }
}
