// SPDX-License-Identifier: Apache-2.0
//! [`Session`]: a window on one connection, until that ends.

use std::os::unix::net::UnixStream;
use std::sync::Arc;

use rt::bell::Bell;
use rt::clock::{Clock as _, Monotonic};
use screen::back_end::{Deed, LOOK_NS, Pump, Stage};
use wayland_client::protocol::wl_buffer::{self, WlBuffer};
use wayland_client::protocol::wl_callback::{self, WlCallback};
use wayland_client::protocol::wl_compositor::WlCompositor;
use wayland_client::protocol::wl_registry::WlRegistry;
use wayland_client::protocol::wl_seat::WlSeat;
use wayland_client::protocol::wl_shm::WlShm;
use wayland_client::protocol::wl_shm_pool::WlShmPool;
use wayland_client::protocol::wl_surface::WlSurface;
use wayland_client::{Connection, Dispatch, EventQueue, QueueHandle, delegate_noop};
use wayland_protocols::xdg::decoration::zv1::client::zxdg_decoration_manager_v1::ZxdgDecorationManagerV1;
use wayland_protocols::xdg::decoration::zv1::client::zxdg_toplevel_decoration_v1::{
    Mode, ZxdgToplevelDecorationV1,
};
use wayland_protocols::xdg::shell::client::xdg_surface::{self, XdgSurface};
use wayland_protocols::xdg::shell::client::xdg_toplevel::{self, XdgToplevel};
use wayland_protocols::xdg::shell::client::xdg_wm_base::{self, XdgWmBase};

use crate::Fault;
use crate::buffer::Buffer;
use crate::input::Input;
use crate::link::{Globals, Link, lost};
use crate::window::Window;

/// wl_surface.damage_buffer came with it.
const COMPOSITOR_VERSION: u32 = 4;
/// wl_pointer.axis_value120 came with it.
const SEAT_VERSION: u32 = 8;
/// States of a toplevel in which it has no choice of its size: maximized, fullscreen, resizing,
/// tiled to the left, right, top, bottom.
const BOUND_STATES: [u32; 7] = [1, 2, 3, 5, 6, 7, 8];

/// What a callback of the compositor answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Callback {
    /// There is room for another frame.
    Frame,
    /// The last repetition of a key was heard.
    Repeat,
}

/// What events change.
pub(crate) struct State {
    stage: Arc<dyn Stage>,
    window: Window,
    pub(crate) input: Input,
    pump: Pump,
}

/// A window on a connection.
pub(crate) struct Session {
    link: Link,
    queue: EventQueue<State>,
    state: State,
    bell: Arc<Bell>,
}

/// Does a compositor have what a window needs?
pub(crate) fn look(stream: UnixStream, due_ns: u64) -> Result<(), Fault> {
    let link = Link::new(stream)?;
    let (_, globals) = Globals::get(&link, due_ns)?;
    needed(&globals).map(drop)
}

type Found = [(u32, u32); 3];

fn needed(globals: &Globals) -> Result<Found, Fault> {
    let compositor = globals.find::<WlCompositor>(COMPOSITOR_VERSION);
    Ok([
        compositor.ok_or(Fault::Missing("wl_compositor of version 4"))?,
        globals.find::<WlShm>(1).ok_or(Fault::Missing("wl_shm"))?,
        globals
            .find::<XdgWmBase>(1)
            .ok_or(Fault::Missing("xdg_wm_base"))?,
    ])
}

impl Session {
    /// Opens a window, and waits until the compositor has said what size it has.
    pub(crate) fn open(
        stream: UnixStream,
        title: &str,
        stage: &Arc<dyn Stage>,
        bell: &Arc<Bell>,
        due_ns: u64,
    ) -> Result<Self, Fault> {
        let link = Link::new(stream)?;
        let (registry, globals) = Globals::get(&link, due_ns)?;
        let queue = link.connection.new_event_queue();
        let handle = queue.handle();
        let [compositor, shm, base] = needed(&globals)?;
        let compositor: WlCompositor = registry.bind(compositor.0, compositor.1, &handle, ());
        let shm: WlShm = registry.bind(shm.0, shm.1, &handle, ());
        let base: XdgWmBase = registry.bind(base.0, base.1, &handle, ());
        let window = Window::new(&compositor, &base, shm.clone(), title, &handle);
        decorate(&registry, &globals, &window, &handle);
        let seat: Option<WlSeat> = globals
            .find::<WlSeat>(1)
            .map(|(number, version)| registry.bind(number, version.min(SEAT_VERSION), &handle, ()));
        let arrow = Buffer::arrow(&shm, &handle)?;
        let input = Input::new(Arc::clone(stage), seat, (&compositor, arrow), &handle);
        let pump = Pump::start("wayland-picture", Arc::clone(stage), Arc::clone(bell))?;
        pump.want();
        let state = State {
            stage: Arc::clone(stage),
            window,
            input,
            pump,
        };
        let mut session = Self {
            link,
            queue,
            state,
            bell: Arc::clone(bell),
        };
        while session.state.window.size().is_none() {
            if Monotonic.now_ns() >= due_ns {
                return Err(Fault::Silent);
            }
            session.turn(due_ns)?;
        }
        Ok(session)
    }

    /// The window's columns and rows.
    pub(crate) fn size(&self) -> (u32, u32) {
        let chosen = self.state.window.size();
        chosen.unwrap_or_else(|| self.state.stage.size())
    }

    /// Shows frames and hears input until the connection ends; answers why.
    pub(crate) fn run(&mut self) -> Fault {
        loop {
            let now_ns = Monotonic.now_ns();
            self.state.input.repeat(&self.link.connection, now_ns);
            let due_ns = self.state.input.due_ns().unwrap_or(now_ns + LOOK_NS);
            if let Err(fault) = self.turn(due_ns) {
                return fault;
            }
        }
    }

    /// Waits for one thing, or until a time.
    fn turn(&mut self, due_ns: u64) -> Result<(), Fault> {
        self.queue.dispatch_pending(&mut self.state).map_err(lost)?;
        self.state.window.draw()?;
        let has_rung = self.link.wait_until(Some(&self.bell), due_ns)?;
        if let Some(frame) = has_rung.then(|| self.state.pump.take()).flatten() {
            self.state.window.take(frame);
        }
        self.queue.dispatch_pending(&mut self.state).map_err(lost)?;
        Ok(())
    }
}

/// The compositor draws the frame around the window, if it can.
fn decorate(
    registry: &WlRegistry,
    globals: &Globals,
    window: &Window,
    handle: &QueueHandle<State>,
) {
    if let Some((number, version)) = globals.find::<ZxdgDecorationManagerV1>(1) {
        let manager: ZxdgDecorationManagerV1 = registry.bind(number, version, handle, ());
        let decoration = manager.get_toplevel_decoration(&window.toplevel, handle, ());
        decoration.set_mode(Mode::ServerSide);
    }
}

delegate_noop!(State: ignore WlCompositor);
delegate_noop!(State: ignore WlShm);
delegate_noop!(State: ignore WlShmPool);
delegate_noop!(State: ignore WlSurface);
delegate_noop!(State: ignore ZxdgDecorationManagerV1);
delegate_noop!(State: ignore ZxdgToplevelDecorationV1);

impl Dispatch<XdgWmBase, ()> for State {
    fn event(
        _: &mut Self,
        base: &XdgWmBase,
        event: xdg_wm_base::Event,
        (): &(),
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        if let xdg_wm_base::Event::Ping { serial } = event {
            base.pong(serial);
        }
    }
}

impl Dispatch<XdgSurface, ()> for State {
    fn event(
        state: &mut Self,
        _: &XdgSurface,
        event: xdg_surface::Event,
        (): &(),
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        if let xdg_surface::Event::Configure { serial } = event {
            state.window.configure(serial, &*state.stage);
        }
    }
}

impl Dispatch<XdgToplevel, ()> for State {
    fn event(
        state: &mut Self,
        _: &XdgToplevel,
        event: xdg_toplevel::Event,
        (): &(),
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        match event {
            xdg_toplevel::Event::Configure {
                width,
                height,
                states,
            } => {
                let number = |it: &[u8]| u32::from_ne_bytes([it[0], it[1], it[2], it[3]]);
                let mut states = states.chunks_exact(4).map(number);
                let is_bound = states.any(|it| BOUND_STATES.contains(&it));
                state.window.offer(width, height, is_bound);
            }
            xdg_toplevel::Event::Close => state.stage.take(Deed::Close),
            _ => {}
        }
    }
}

impl Dispatch<WlBuffer, u64> for State {
    fn event(
        state: &mut Self,
        _: &WlBuffer,
        event: wl_buffer::Event,
        number: &u64,
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        if let wl_buffer::Event::Release = event {
            state.window.release(*number);
        }
    }
}

impl Dispatch<WlCallback, Callback> for State {
    fn event(
        state: &mut Self,
        _: &WlCallback,
        event: wl_callback::Event,
        kind: &Callback,
        _: &Connection,
        _: &QueueHandle<Self>,
    ) {
        if let wl_callback::Event::Done { .. } = event {
            match kind {
                Callback::Frame => {
                    state.window.is_asked();
                    state.pump.want();
                }
                Callback::Repeat => state.input.is_heard(),
            }
        }
    }
}
