// SPDX-License-Identifier: Apache-2.0
//! [`Layout`]: where blocks start, and [`Ranges`]: which handlers cover them.

use std::collections::BTreeSet;

use classfile::{Code, ExceptionEntry};
use rustc_hash::FxHashSet;

use super::instruction::{Cursor, JSR, JSR_W, step};
use super::subroutine::stored;

/// Block starts of one method, in order.
pub(super) struct Layout {
    pub(super) starts: Vec<u32>,
    /// Blocks end behind each store too, so that a block has the same return addresses throughout.
    pub(super) has_subroutines: bool,
    pub(super) ranges: Ranges,
}

impl Layout {
    /// Walks the code once; every jump must hit an instruction.
    pub(super) fn new(code: &Code<'_>) -> Result<Self, String> {
        let mut instructions = FxHashSet::default();
        let mut starts = BTreeSet::from([0]);
        let (mut has_subroutines, mut stores) = (false, Vec::new());
        let mut cursor = Cursor::new(code.bytes, 0);
        while !cursor.is_at_end() {
            let at = cursor.at;
            instructions.insert(at as u32);
            let flow = step(&mut cursor)?;
            has_subroutines |= matches!(code.bytes[at], JSR | JSR_W);
            if !cursor.is_at_end() && !stored(code.bytes, at).is_empty() {
                stores.push(cursor.at as u32);
            }
            let splits = flow.ends || !flow.targets.is_empty();
            for target in flow.targets {
                let target = u32::try_from(target).map_err(|_| "jump out of the code")?;
                starts.insert(target);
            }
            if splits && !cursor.is_at_end() {
                starts.insert(cursor.at as u32);
            }
        }
        for entry in &code.exceptions {
            starts.insert(u32::from(entry.start));
            starts.insert(u32::from(entry.handler));
            if usize::from(entry.end) < code.bytes.len() {
                starts.insert(u32::from(entry.end));
            }
        }
        if has_subroutines {
            starts.extend(stores);
        }
        if starts.iter().any(|start| !instructions.contains(start)) {
            return Err("jump into the middle of an instruction".into());
        }
        Ok(Self {
            starts: starts.into_iter().collect(),
            has_subroutines,
            ranges: Ranges::new(&code.exceptions),
        })
    }

    /// The offset at which the block after the one starting at `start` starts.
    pub(super) fn end_of(&self, start: u32, code_size: usize) -> usize {
        let next = self.starts.partition_point(|&s| s <= start);
        self.starts
            .get(next)
            .map_or(code_size, |&next| next as usize)
    }
}

/// Which handlers cover a place: asked for each block, however many ranges there are.
pub(super) struct Ranges {
    /// A tree over places in the code: each node has the entries that cover all of its part but not
    /// all of its parent's.
    nodes: Vec<Vec<u32>>,
    /// Places at the bottom: up to the last that any entry covers.
    width: usize,
}

impl Ranges {
    pub(super) fn new(exceptions: &[ExceptionEntry]) -> Self {
        let last = exceptions.iter().map(|entry| usize::from(entry.end)).max();
        let width = last.unwrap_or_default();
        let mut nodes = vec![Vec::new(); 2 * width];
        for (number, entry) in exceptions.iter().enumerate() {
            let mut low = usize::from(entry.start) + width;
            let mut high = usize::from(entry.end) + width;
            while low < high {
                if low % 2 == 1 {
                    nodes[low].push(number as u32);
                    low += 1;
                }
                if high % 2 == 1 {
                    high -= 1;
                    nodes[high].push(number as u32);
                }
                (low, high) = (low / 2, high / 2);
            }
        }
        Self { nodes, width }
    }

    /// The handlers that cover `offset`, in search order, up to the first that takes everything. Of
    /// several for one class only the first is ever found.
    pub(super) fn covering(&self, exceptions: &[ExceptionEntry], offset: u32) -> Vec<(u16, u32)> {
        let mut numbers = Vec::new();
        if (offset as usize) < self.width {
            let mut node = offset as usize + self.width;
            while node > 0 {
                numbers.extend_from_slice(&self.nodes[node]);
                node /= 2;
            }
        }
        numbers.sort_unstable();
        let (mut list, mut classes) = (Vec::new(), FxHashSet::default());
        for entry in numbers.iter().map(|&number| &exceptions[number as usize]) {
            if classes.insert(entry.class) {
                list.push((entry.class, u32::from(entry.handler)));
            }
            if entry.class == 0 {
                break;
            }
        }
        list
    }
}
