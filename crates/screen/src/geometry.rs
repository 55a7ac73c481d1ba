// SPDX-License-Identifier: Apache-2.0
//! [`Rect`]: android.graphics.Rect's four numbers; right and bottom are outside.

/// Pixels between edges. Empty when an edge does not lie behind its opposite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rect {
    /// The first column.
    pub left: i32,
    /// The first row.
    pub top: i32,
    /// The first column that is outside.
    pub right: i32,
    /// The first row that is outside.
    pub bottom: i32,
}

impl Rect {
    /// From zero to these.
    pub const fn of_size(width: i32, height: i32) -> Self {
        Self::new(0, 0, width, height)
    }

    /// By its edges.
    pub const fn new(left: i32, top: i32, right: i32, bottom: i32) -> Self {
        Self {
            left,
            top,
            right,
            bottom,
        }
    }

    /// Columns; none when it is empty.
    pub const fn width(self) -> i32 {
        let width = self.right.saturating_sub(self.left);
        if width < 0 { 0 } else { width }
    }

    /// Rows; none when it is empty.
    pub const fn height(self) -> i32 {
        let height = self.bottom.saturating_sub(self.top);
        if height < 0 { 0 } else { height }
    }

    /// Has it no pixel?
    pub const fn is_empty(self) -> bool {
        self.width() == 0 || self.height() == 0
    }

    /// Does a point lie in it?
    pub fn contains(self, x: f32, y: f32) -> bool {
        self.left as f32 <= x
            && x < self.right as f32
            && self.top as f32 <= y
            && y < self.bottom as f32
    }

    /// What lies in both.
    pub fn intersection(self, other: Self) -> Self {
        Self {
            left: self.left.max(other.left),
            top: self.top.max(other.top),
            right: self.right.min(other.right),
            bottom: self.bottom.min(other.bottom),
        }
    }

    /// The smallest that holds both; an empty one holds nothing.
    pub fn union(self, other: Self) -> Self {
        if self.is_empty() {
            return other;
        }
        if other.is_empty() {
            return self;
        }
        Self {
            left: self.left.min(other.left),
            top: self.top.min(other.top),
            right: self.right.max(other.right),
            bottom: self.bottom.max(other.bottom),
        }
    }

    /// Moved.
    pub const fn moved(self, x: i32, y: i32) -> Self {
        Self {
            left: self.left.saturating_add(x),
            top: self.top.saturating_add(y),
            right: self.right.saturating_add(x),
            bottom: self.bottom.saturating_add(y),
        }
    }

    /// Each edge further out.
    pub const fn grown(self, by: Self) -> Self {
        Self {
            left: self.left.saturating_sub(by.left),
            top: self.top.saturating_sub(by.top),
            right: self.right.saturating_add(by.right),
            bottom: self.bottom.saturating_add(by.bottom),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_one_adds_nothing() {
        let one = Rect::new(3, 4, 5, 6);
        assert_eq!(Rect::default().union(one), one);
        assert_eq!(one.union(Rect::default()), one);
        let apart = Rect::new(0, 0, 3, 3).intersection(one);
        assert!(apart.is_empty());
    }

    #[test]
    fn the_far_edges_are_outside() {
        let one = Rect::of_size(2, 2);
        assert!(one.contains(0.0, 1.9));
        assert!(!one.contains(2.0, 0.0) && !one.contains(-0.1, 0.0));
    }
}
