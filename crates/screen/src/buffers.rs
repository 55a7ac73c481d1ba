// SPDX-License-Identifier: Apache-2.0
//! [`Buffers`]: a window's pixels in shared memory, three times. One is shown, one may still be
//! read by who shows it, one is written. Who writes finds out what has changed, row by row.

use rt::shared::{Memfd, Region, SharedError};

use crate::geometry::Rect;

/// Shown, being read, being written.
const COUNT: usize = 3;
/// Blue, green, red, alpha, premultiplied: as AOSP's library for hosts draws.
pub(crate) const PIXEL_BYTES: usize = 4;
/// Of memory that is mapped, and of the longest word that is copied.
const PAGE_BYTES: usize = 4096;

/// Three buffers of one size.
#[derive(Debug)]
pub struct Buffers {
    width: usize,
    height: usize,
    /// Made when they are first written.
    regions: [Option<Region>; COUNT],
    /// The one that is shown; none before the first frame.
    front: Option<usize>,
    /// The one that a back end reads.
    held: Option<usize>,
    frames: u64,
    /// Where rows are read to.
    row: Vec<u8>,
}

/// A frame that was posted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its number, from one.
    pub number: u64,
    /// What differs from the frame before; all of the first one.
    pub damage: Rect,
}

impl Buffers {
    /// Empty ones; memory is taken by the first frames.
    pub fn new(width: u32, height: u32) -> Self {
        let width = width as usize;
        Self {
            width,
            height: height as usize,
            regions: [None, None, None],
            front: None,
            held: None,
            frames: 0,
            row: vec![0; row_bytes(width)],
        }
    }

    /// Columns and rows.
    pub fn size(&self) -> (u32, u32) {
        (self.width as u32, self.height as u32)
    }

    /// How many frames were posted.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Copies a frame in and shows it. `pixels` has a row each `stride` bytes.
    pub fn post(&mut self, pixels: &[u8], stride: usize) -> Result<Frame, SharedError> {
        let back = self.free();
        let mut spare = self.regions[back].take();
        let region = match &mut spare {
            Some(region) => region,
            None => spare.insert(self.map()?),
        };
        let mut damage = Rect::default();
        for row in 0..self.height {
            let from = row * stride;
            let source = &pixels[from..from + self.width * PIXEL_BYTES];
            let offset = row * row_bytes(self.width);
            region.write(offset, source);
            damage = damage.union(self.changed(row, source));
        }
        self.regions[back] = spare;
        self.front = Some(back);
        self.frames += 1;
        Ok(Frame {
            number: self.frames,
            damage,
        })
    }

    /// What differs in a row from the one that is shown.
    fn changed(&mut self, row: usize, source: &[u8]) -> Rect {
        let (top, bottom) = (row as i32, row as i32 + 1);
        let Some(shown) = self.front.and_then(|it| self.regions[it].as_ref()) else {
            return Rect::new(0, top, self.width as i32, bottom);
        };
        shown.read(row * row_bytes(self.width), &mut self.row);
        let before = &self.row[..source.len()];
        if before == source {
            return Rect::default();
        }
        let differs = |(one, other): (&[u8], &[u8])| one != other;
        let pairs = || before.chunks(PIXEL_BYTES).zip(source.chunks(PIXEL_BYTES));
        let first = pairs().position(differs).unwrap_or(0);
        let last = self.width - pairs().rev().position(differs).unwrap_or(0);
        Rect::new(first as i32, top, last as i32, bottom)
    }

    /// A row of what is shown; nothing before the first frame.
    pub(crate) fn row(&self, row: usize, into: &mut Vec<u8>) -> bool {
        let Some(shown) = self.front.and_then(|it| self.regions[it].as_ref()) else {
            return false;
        };
        into.resize(row_bytes(self.width), 0);
        shown.read(row * row_bytes(self.width), into);
        true
    }

    /// A back end reads what is shown until [`Buffers::release`]; meanwhile frames go elsewhere.
    pub fn hold(&mut self) -> Option<u64> {
        self.held = self.front;
        self.front.map(|_| self.frames)
    }

    /// The back end has done.
    pub fn release(&mut self) {
        self.held = None;
    }

    /// One that is neither shown nor read: of three there is one.
    fn free(&self) -> usize {
        (0..COUNT)
            .find(|it| self.front != Some(*it) && self.held != Some(*it))
            .unwrap_or(0)
    }

    fn map(&self) -> Result<Region, SharedError> {
        let bytes = self.height.max(1) * row_bytes(self.width).max(8);
        Memfd::new(c"window", bytes.next_multiple_of(PAGE_BYTES))?.map_large()
    }
}

/// Rows begin at whole words of eight bytes.
const fn row_bytes(width: usize) -> usize {
    (width * PIXEL_BYTES).next_multiple_of(8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(width: usize, height: usize, value: u8) -> Vec<u8> {
        vec![value; width * height * PIXEL_BYTES]
    }

    #[test]
    fn damage_is_what_has_changed() {
        let mut buffers = Buffers::new(5, 4);
        let mut pixels = filled(5, 4, 1);
        let stride = 5 * PIXEL_BYTES;
        let frame = buffers.post(&pixels, stride).unwrap();
        assert_eq!((frame.number, frame.damage), (1, Rect::of_size(5, 4)));
        assert!(buffers.post(&pixels, stride).unwrap().damage.is_empty());
        pixels[stride + 2 * PIXEL_BYTES] = 9;
        pixels[2 * stride + 3 * PIXEL_BYTES] = 9;
        let frame = buffers.post(&pixels, stride).unwrap();
        assert_eq!(frame.damage, Rect::new(2, 1, 4, 3));
        let mut row = Vec::new();
        assert!(buffers.row(1, &mut row));
        assert_eq!(row[2 * PIXEL_BYTES], 9);
    }

    #[test]
    fn what_is_read_stays_while_frames_are_posted() {
        let mut buffers = Buffers::new(2, 1);
        let stride = 2 * PIXEL_BYTES;
        buffers.post(&filled(2, 1, 1), stride).unwrap();
        assert_eq!(buffers.hold(), Some(1));
        let held = buffers.held;
        for value in 2..20 {
            buffers.post(&filled(2, 1, value), stride).unwrap();
            assert_ne!(buffers.front, held, "the held one is not written");
        }
        buffers.release();
        assert_eq!(buffers.frames(), 19);
    }
}
