// SPDX-License-Identifier: Apache-2.0
//! [`Picture`]: what a display shows, opaque.

use crate::buffers::PIXEL_BYTES;
use crate::geometry::Rect;

/// Red, green, blue.
const OPAQUE_BYTES: usize = 3;

/// Rows of red, green and blue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    width: usize,
    height: usize,
    bytes: Vec<u8>,
}

impl Picture {
    /// A black one.
    pub fn black(width: u32, height: u32) -> Self {
        let (width, height) = (width as usize, height as usize);
        Self {
            width,
            height,
            bytes: vec![0; width * height * OPAQUE_BYTES],
        }
    }

    /// Columns and rows.
    pub fn size(&self) -> (u32, u32) {
        (self.width as u32, self.height as u32)
    }

    /// All of it, three bytes a pixel.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Makes all of it darker.
    pub(crate) fn darken(&mut self, by: f32) {
        let light = 255 - (by * 255.0).round() as u32;
        for byte in &mut self.bytes {
            *byte = scaled(*byte, light);
        }
    }

    /// Sets the alpha of pixels.
    pub(crate) fn make_opaque(pixels: &mut [u8]) {
        for pixel in pixels.chunks_exact_mut(PIXEL_BYTES) {
            pixel[3] = u8::MAX;
        }
    }

    /// Lays a row of premultiplied pixels over it. `place` is where the row's window lies.
    pub(crate) fn lay(&mut self, row: usize, pixels: &[u8], place: Rect, alpha: f32) {
        let y = place.top + row as i32;
        let bounds = Rect::of_size(self.width as i32, self.height as i32);
        let seen = Rect::new(place.left, y, place.right, y + 1).intersection(bounds);
        if seen.is_empty() {
            return;
        }
        let from = (seen.left - place.left) as usize * PIXEL_BYTES;
        let to = from + seen.width() as usize * PIXEL_BYTES;
        let start = (y as usize * self.width + seen.left as usize) * OPAQUE_BYTES;
        let end = start + seen.width() as usize * OPAQUE_BYTES;
        let whole = (alpha.clamp(0.0, 1.0) * 255.0).round() as u32;
        let sources = pixels[from..to].chunks(PIXEL_BYTES);
        for (below, above) in self.bytes[start..end].chunks_mut(OPAQUE_BYTES).zip(sources) {
            let cover = u32::from(scaled(above[3], whole));
            for (below, above) in below.iter_mut().zip(above[..OPAQUE_BYTES].iter().rev()) {
                *below = scaled(*below, 255 - cover).saturating_add(scaled(*above, whole));
            }
        }
    }
}

/// A byte times `by` of 255, rounded.
fn scaled(byte: u8, by: u32) -> u8 {
    let product = u32::from(byte) * by + 127;
    (product / 255).min(255) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_opaque_covers_and_what_is_clear_does_not() {
        let mut picture = Picture::black(2, 1);
        let place = Rect::of_size(2, 1);
        picture.lay(0, &[7, 8, 9, 255, 0, 0, 0, 0], place, 1.0);
        assert_eq!(picture.bytes(), [9, 8, 7, 0, 0, 0]);
        picture.lay(0, &[0, 0, 100, 128, 0, 0, 0, 0], place, 1.0);
        assert_eq!(picture.bytes(), [104, 4, 3, 0, 0, 0]);
        picture.darken(1.0);
        assert_eq!(picture.bytes(), [0; 6]);
    }

    #[test]
    fn what_lies_outside_is_not_drawn() {
        let mut picture = Picture::black(2, 1);
        let row = [1, 1, 1, 255, 2, 2, 2, 255];
        picture.lay(0, &row, Rect::new(-1, 0, 1, 1), 1.0);
        picture.lay(0, &row, Rect::new(0, 1, 2, 2), 1.0);
        picture.lay(0, &row, Rect::new(0, -1, 2, 0), 1.0);
        assert_eq!(picture.bytes(), [2, 2, 2, 0, 0, 0]);
    }
}
