// SPDX-License-Identifier: Apache-2.0
//! [`Frame`]: a picture, and for each tile of it when it changed last.

use crate::geometry::Rect;
use crate::picture::Picture;

/// A tile's side: small enough for a cursor, large enough that a picture has few.
const TILE: usize = 64;

/// A picture with the history of its tiles.
#[derive(Debug)]
pub struct Frame {
    picture: Picture,
    /// Its number, from one; a newer one has a larger.
    number: u64,
    /// For each tile, row by row, the number of the frame that changed it.
    tiles: Vec<u64>,
}

impl Frame {
    /// The first one: all of it is new.
    pub fn first(picture: Picture) -> Self {
        Self::whole(picture, 1)
    }

    fn whole(picture: Picture, number: u64) -> Self {
        let (columns, rows) = tiles_of(&picture);
        Self {
            picture,
            number,
            tiles: vec![number; columns * rows],
        }
    }

    /// The one after it; none if nothing differs.
    pub fn next(&self, picture: Picture) -> Option<Self> {
        let number = self.number + 1;
        if picture.size() != self.picture.size() {
            return Some(Self::whole(picture, number));
        }
        let mut tiles = self.tiles.clone();
        let (columns, _) = tiles_of(&picture);
        let row_bytes = picture.size().0 as usize * 3;
        let before = self.picture.bytes().chunks_exact(row_bytes);
        for (row, (old, new)) in before
            .zip(picture.bytes().chunks_exact(row_bytes))
            .enumerate()
        {
            if old == new {
                continue;
            }
            let pairs = old.chunks(TILE * 3).zip(new.chunks(TILE * 3));
            for (column, (old, new)) in pairs.enumerate() {
                if old != new {
                    tiles[row / TILE * columns + column] = number;
                }
            }
        }
        let is_changed = tiles.contains(&number);
        is_changed.then_some(Self {
            picture,
            number,
            tiles,
        })
    }

    /// Its number.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Columns and rows.
    pub fn size(&self) -> (u32, u32) {
        self.picture.size()
    }

    /// Three bytes a pixel.
    pub fn bytes(&self) -> &[u8] {
        self.picture.bytes()
    }

    /// What has changed since an older frame, tiles side by side as one; all of it since zero.
    pub fn since(&self, number: u64) -> Vec<Rect> {
        let (width, height) = self.picture.size();
        let bounds = Rect::of_size(width as i32, height as i32);
        let (columns, _) = tiles_of(&self.picture);
        let mut rects: Vec<Rect> = Vec::new();
        for (index, changed) in self.tiles.iter().enumerate() {
            if *changed <= number {
                continue;
            }
            let left = (index % columns * TILE) as i32;
            let top = (index / columns * TILE) as i32;
            let side = TILE as i32;
            let tile = Rect::new(left, top, left + side, top + side).intersection(bounds);
            match rects.last_mut() {
                Some(last) if last.right == tile.left && last.top == tile.top => {
                    last.right = tile.right;
                }
                _ => rects.push(tile),
            }
        }
        rects
    }
}

fn tiles_of(picture: &Picture) -> (usize, usize) {
    let (width, height) = picture.size();
    let count = |it: u32| (it as usize).div_ceil(TILE);
    (count(width), count(height))
}

#[cfg(test)]
mod tests {
    use crate::{Display, Screen, WindowKind, Wish};

    use super::*;

    /// A display of 150 by 100 with one white pixel.
    fn with_pixel(x: i32, y: i32) -> Picture {
        let display = Display {
            width: 150,
            height: 100,
            ..Display::PANEL
        };
        let mut screen = Screen::new(display);
        let window = screen.add(WindowKind::Application, false).unwrap();
        let wish = Wish {
            width: 1,
            height: 1,
            measured_width: 1,
            measured_height: 1,
            x,
            y,
            gravity: 0x33,
            ..Wish::default()
        };
        screen.place(window, &wish, Rect::default()).unwrap();
        screen.set_visible(window, true, 0).unwrap();
        screen.post(window, (1, 1), &[255; 4]).unwrap();
        screen.compose()
    }

    #[test]
    fn only_tiles_that_differ_are_sent_and_newer_ones_replace_older() {
        let first = Frame::first(with_pixel(0, 0));
        let all = first.since(0);
        let expected = [Rect::new(0, 0, 150, 64), Rect::new(0, 64, 150, 100)];
        assert_eq!(all, expected);
        assert!(first.since(first.number()).is_empty());
        assert!(first.next(with_pixel(0, 0)).is_none());
        let second = first.next(with_pixel(140, 70)).unwrap();
        let expected = [Rect::new(0, 0, 64, 64), Rect::new(128, 64, 150, 100)];
        assert_eq!(second.since(1), expected);
        let third = second.next(with_pixel(140, 71)).unwrap();
        assert_eq!(third.since(2), [Rect::new(128, 64, 150, 100)]);
        assert_eq!(third.since(1), expected, "what is missed is sent once");
        let other = third.next(Picture::black(10, 10)).unwrap();
        assert_eq!(other.since(3), [Rect::of_size(10, 10)]);
    }
}
