// SPDX-License-Identifier: Apache-2.0
//! [`Window`]: the surface, its size, and which frame it shows.

use std::sync::Arc;

use screen::Rect;
use screen::back_end::{Deed, Frame, SIDE_MIN, Stage, size_within};
use wayland_client::QueueHandle;
use wayland_client::protocol::wl_compositor::WlCompositor;
use wayland_client::protocol::wl_shm::{Format, WlShm};
use wayland_client::protocol::wl_surface::WlSurface;
use wayland_protocols::xdg::shell::client::xdg_surface::XdgSurface;
use wayland_protocols::xdg::shell::client::xdg_toplevel::XdgToplevel;
use wayland_protocols::xdg::shell::client::xdg_wm_base::XdgWmBase;

use crate::Fault;
use crate::buffer::Buffer;
use crate::session::State;

/// Shown, being read, being written; as many again of an older size.
const BUFFERS_MAX: usize = 6;

/// A window of the compositor's.
pub(crate) struct Window {
    pub(crate) surface: WlSurface,
    shell: XdgSurface,
    pub(crate) toplevel: XdgToplevel,
    shm: WlShm,
    queue: QueueHandle<State>,
    /// None until the compositor has said that it may show something.
    size: Option<(u32, u32)>,
    /// The size that the next configuration has; none if we choose.
    offered: Option<(u32, u32)>,
    /// It may have no size of its own choice.
    is_bound: bool,
    /// The display was asked to have this size and has not yet.
    asked: Option<(u32, u32)>,
    buffers: Vec<(u64, Buffer)>,
    /// Counts buffers.
    numbers: u64,
    /// The newest frame.
    frame: Option<Arc<Frame>>,
    /// The number of the frame that is shown, if its size is the window's.
    shown: Option<u64>,
    /// The compositor has not asked for another one yet.
    is_paced: bool,
    /// What is shown has not the window's size.
    is_stale: bool,
}

impl Window {
    pub(crate) fn new(
        compositor: &WlCompositor,
        base: &XdgWmBase,
        shm: WlShm,
        title: &str,
        queue: &QueueHandle<State>,
    ) -> Self {
        let surface = compositor.create_surface(queue, ());
        let shell = base.get_xdg_surface(&surface, queue, ());
        let toplevel = shell.get_toplevel(queue, ());
        toplevel.set_title(title.to_owned());
        toplevel.set_app_id(title.to_owned());
        toplevel.set_min_size(SIDE_MIN as i32, SIDE_MIN as i32);
        surface.commit();
        Self {
            surface,
            shell,
            toplevel,
            shm,
            queue: queue.clone(),
            size: None,
            offered: None,
            is_bound: false,
            asked: None,
            buffers: Vec::with_capacity(BUFFERS_MAX),
            numbers: 0,
            frame: None,
            shown: None,
            is_paced: false,
            is_stale: false,
        }
    }

    /// Columns and rows, once the compositor has said that it may show something.
    pub(crate) fn size(&self) -> Option<(u32, u32)> {
        self.size
    }

    /// The next configuration's size; zero is for us to choose.
    pub(crate) fn offer(&mut self, width: i32, height: i32, is_bound: bool) {
        let has_size = width > 0 && height > 0;
        self.offered = has_size.then(|| size_within(width.unsigned_abs(), height.unsigned_abs()));
        self.is_bound = is_bound;
    }

    /// The configuration holds from now on: the display is asked to be as large.
    pub(crate) fn configure(&mut self, serial: u32, stage: &dyn Stage) {
        self.shell.ack_configure(serial);
        let size = self.offered.or(self.size).unwrap_or_else(|| stage.size());
        if self.size != Some(size) && stage.size() != size {
            self.asked = Some(size);
            stage.take(Deed::Resize(size.0, size.1));
        }
        self.is_stale |= self.size != Some(size);
        self.size = Some(size);
    }

    /// The compositor has room for another frame.
    pub(crate) fn is_asked(&mut self) {
        self.is_paced = false;
    }

    /// The compositor has read a buffer.
    pub(crate) fn release(&mut self, number: u64) {
        if let Some((_, buffer)) = self.buffers.iter_mut().find(|it| it.0 == number) {
            buffer.is_busy = false;
        }
    }

    /// A newer frame. A display that turned itself takes its window along, if that may be.
    pub(crate) fn take(&mut self, frame: Arc<Frame>) {
        let was = self.frame.as_ref().map(|it| it.size());
        let (size, is_turned) = (frame.size(), was.is_some_and(|it| it != frame.size()));
        self.frame = Some(frame);
        if self.asked == Some(size) {
            self.asked = None;
        } else if is_turned && self.asked.is_none() && !self.is_bound {
            self.is_stale |= self.size != Some(size);
            self.size = Some(size);
        }
    }

    /// Shows the newest frame, if there is one to show and a buffer for it.
    pub(crate) fn draw(&mut self) -> Result<(), Fault> {
        let (Some(size), Some(frame)) = (self.size, self.frame.clone()) else {
            return Ok(());
        };
        let is_newer = self.shown != Some(frame.number());
        if !self.is_stale && (self.is_paced || !is_newer) {
            return Ok(());
        }
        let Some(index) = self.free(size)? else {
            return Ok(());
        };
        let (_, buffer) = &mut self.buffers[index];
        buffer.fill(&frame);
        buffer.is_busy = true;
        self.surface.attach(Some(&buffer.wl), 0, 0);
        let has_history = !self.is_stale && frame.size() == size;
        let rects = match self.shown.filter(|_| has_history) {
            Some(shown) => frame.since(shown),
            None => vec![Rect::of_size(size.0 as i32, size.1 as i32)],
        };
        for rect in rects {
            let (width, height) = (rect.width(), rect.height());
            self.surface
                .damage_buffer(rect.left, rect.top, width, height);
        }
        if !self.is_paced {
            self.surface
                .frame(&self.queue, crate::session::Callback::Frame);
        }
        self.surface.commit();
        self.shown = Some(frame.number());
        self.is_paced = true;
        self.is_stale = false;
        Ok(())
    }

    /// A buffer that nobody reads; those of another size go.
    fn free(&mut self, size: (u32, u32)) -> Result<Option<usize>, Fault> {
        let buffers = &mut self.buffers;
        buffers.retain(|(_, it)| it.is_busy || it.size() == size);
        let is_free = |it: &(u64, Buffer)| !it.1.is_busy && it.1.size() == size;
        if let Some(index) = buffers.iter().position(is_free) {
            return Ok(Some(index));
        }
        if buffers.len() == BUFFERS_MAX {
            return Ok(None);
        }
        self.numbers += 1;
        let format = Format::Xrgb8888;
        let buffer = Buffer::new(&self.shm, size, format, self.numbers, &self.queue)?;
        buffers.push((self.numbers, buffer));
        Ok(Some(buffers.len() - 1))
    }
}
