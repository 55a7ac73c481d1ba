// SPDX-License-Identifier: Apache-2.0
//! [`Arrow`]: where a mouse is, for back ends that must draw it.

/// Black is the edge, white the inside; what is neither is not drawn.
const ROWS: [&[u8]; 17] = [
    b"#           ",
    b"##          ",
    b"#.#         ",
    b"#..#        ",
    b"#...#       ",
    b"#....#      ",
    b"#.....#     ",
    b"#......#    ",
    b"#.......#   ",
    b"#........#  ",
    b"#.....####  ",
    b"#..#..#     ",
    b"#.# #..#    ",
    b"##  #..#    ",
    b"#    #..#   ",
    b"     #..#   ",
    b"      ##    ",
];

/// An arrow whose point is its upper left corner.
#[derive(Clone, Copy, Debug)]
pub struct Arrow;

impl Arrow {
    /// Columns.
    pub const WIDTH: u32 = 12;
    /// Rows.
    pub const HEIGHT: u32 = ROWS.len() as u32;

    /// The light of a pixel of it; none where it is clear.
    pub fn light(column: u32, row: u32) -> Option<u8> {
        match ROWS.get(row as usize)?.get(column as usize)? {
            b'#' => Some(0),
            b'.' => Some(u8::MAX),
            _ => None,
        }
    }
}
