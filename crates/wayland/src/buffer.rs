// SPDX-License-Identifier: Apache-2.0
//! [`Buffer`]: pixels that the compositor reads, in shared memory.

use std::os::fd::AsFd as _;

use rt::shared::{Memfd, Region};
use screen::Rect;
use screen::back_end::{Arrow, Frame};
use wayland_client::QueueHandle;
use wayland_client::protocol::wl_buffer::WlBuffer;
use wayland_client::protocol::wl_shm::{Format, WlShm};

use crate::Fault;
use crate::session::State;

const PAGE_BYTES: usize = 4096;
const PIXEL_BYTES: usize = 4;

/// Pixels of one size.
pub(crate) struct Buffer {
    pub(crate) wl: WlBuffer,
    region: Region,
    size: (u32, u32),
    /// The compositor may still read it.
    pub(crate) is_busy: bool,
    /// The number of the frame that is in it; zero for none.
    holds: u64,
}

impl Buffer {
    /// An empty one; the compositor names it by `number` when it has read it.
    pub(crate) fn new(
        shm: &WlShm,
        size: (u32, u32),
        format: Format,
        number: u64,
        queue: &QueueHandle<State>,
    ) -> Result<Self, Fault> {
        let (width, height) = size;
        let stride = stride(width);
        let bytes = (stride * height as usize).next_multiple_of(PAGE_BYTES);
        let file = Memfd::new(c"wayland", bytes)?;
        let region = file.map()?;
        let pool = shm.create_pool(file.as_fd(), bytes as i32, queue, ());
        let (columns, rows) = (width as i32, height as i32);
        let wl = pool.create_buffer(0, columns, rows, stride as i32, format, queue, number);
        pool.destroy();
        Ok(Self {
            wl,
            region,
            size,
            is_busy: false,
            holds: 0,
        })
    }

    pub(crate) fn size(&self) -> (u32, u32) {
        self.size
    }

    /// Copies in what has changed since the frame that is there. Around a frame of another size it
    /// is black.
    pub(crate) fn fill(&mut self, frame: &Frame) {
        if frame.size() == self.size {
            for rect in frame.since(self.holds) {
                self.copy(frame, rect);
            }
            self.holds = frame.number();
            return;
        }
        self.holds = 0;
        let (width, height) = self.size;
        let black = vec![0; stride(width)];
        for row in 0..height as usize {
            self.region.write(row * stride(width), &black);
        }
        let (columns, rows) = frame.size();
        let seen = Rect::of_size(columns.min(width) as i32, rows.min(height) as i32);
        self.copy(frame, seen);
    }

    fn copy(&self, frame: &Frame, rect: Rect) {
        let mut pixels = Vec::with_capacity(rect.width() as usize * PIXEL_BYTES);
        for row in rect.top..rect.bottom {
            let start = row as usize * frame.size().0 as usize;
            let from = (start + rect.left as usize) * 3;
            let to = (start + rect.right as usize) * 3;
            pixels.clear();
            for pixel in frame.bytes()[from..to].chunks_exact(3) {
                pixels.extend([pixel[2], pixel[1], pixel[0], u8::MAX]);
            }
            // A tile begins at a whole word; one that ends inside of a word ends the row.
            let offset = row as usize * stride(self.size.0) + rect.left as usize * PIXEL_BYTES;
            self.region.write(offset, &pixels);
        }
    }

    /// An arrow, for a mouse.
    pub(crate) fn arrow(shm: &WlShm, queue: &QueueHandle<State>) -> Result<Self, Fault> {
        let size = (Arrow::WIDTH, Arrow::HEIGHT);
        let buffer = Self::new(shm, size, Format::Argb8888, u64::MAX, queue)?;
        for row in 0..Arrow::HEIGHT {
            let light = |column| Arrow::light(column, row);
            let pixel = |it: Option<u8>| it.map_or([0; 4], |it| [it, it, it, u8::MAX]);
            let pixels: Vec<u8> = (0..Arrow::WIDTH).flat_map(|it| pixel(light(it))).collect();
            let offset = row as usize * stride(Arrow::WIDTH);
            buffer.region.write(offset, &pixels);
        }
        Ok(buffer)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.wl.destroy();
    }
}

/// Rows begin at whole words of eight bytes.
fn stride(width: u32) -> usize {
    (width as usize * PIXEL_BYTES).next_multiple_of(8)
}
