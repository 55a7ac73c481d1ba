// SPDX-License-Identifier: Apache-2.0
//! [`CallTable`]: what is known of each call in a piece of code, by return address.
//!
//! A look takes one step into an index of granules and a few from there: a granule has room for
//! [`CALLS_PER_GRANULE_MAX`] calls. Used by unwinding, stack traces and the collector's scan
//! (`roots`).

use compiler::{CallSite, StackMap};

/// Bytes of code for which the table has an entry of its own.
const GRANULE_BYTES: u32 = 32;
/// The shortest call takes two bytes.
const CALLS_PER_GRANULE_MAX: usize = (GRANULE_BYTES / 2) as usize;

/// The calls of one piece of code.
pub(crate) struct CallTable {
    /// By return offset.
    calls: Box<[Call]>,
    /// For each granule the first call that returns into it or behind it.
    first: Box<[u32]>,
    /// The stack maps, one behind the other: bytes from the stack pointer at the call.
    slots: Box<[u32]>,
}

struct Call {
    site: CallSite,
    /// Where its slots end; they start where the last call's end.
    slots_end: u32,
}

impl CallTable {
    /// Each map belongs to the call with the same return offset.
    pub(crate) fn new(mut sites: Vec<CallSite>, mut maps: Vec<StackMap>) -> Self {
        sites.sort_by_key(|site| site.return_offset);
        maps.sort_by_key(|map| map.return_offset);
        let mut maps = maps.into_iter().peekable();
        let (mut calls, mut slots) = (Vec::with_capacity(sites.len()), Vec::new());
        for site in sites {
            while let Some(map) = maps.next_if(|map| map.return_offset == site.return_offset) {
                slots.extend(map.slots);
            }
            calls.push(Call {
                site,
                slots_end: slots.len() as u32,
            });
        }
        assert!(maps.next().is_none(), "a stack map belongs to a call");
        let granules = calls
            .last()
            .map_or(0, |call: &Call| granule(&call.site) as usize + 1);
        let mut first = Vec::with_capacity(granules);
        for (number, call) in (0..).zip(&calls) {
            // No entry is taken yet for those since the call before.
            first.resize(first.len().max(granule(&call.site) as usize + 1), number);
        }
        Self {
            first: first.into(),
            calls: calls.into(),
            slots: slots.into(),
        }
    }

    fn index(&self, return_offset: u32) -> Option<usize> {
        let first = *self.first.get((return_offset / GRANULE_BYTES) as usize)? as usize;
        let near = self.calls[first..].iter().take(CALLS_PER_GRANULE_MAX);
        let behind = near.take_while(|call| call.site.return_offset < return_offset);
        let index = first + behind.count();
        let found = self.calls.get(index)?;
        (found.site.return_offset == return_offset).then_some(index)
    }

    /// The call that returns there.
    pub(crate) fn site(&self, return_offset: u32) -> Option<&CallSite> {
        self.index(return_offset)
            .map(|index| &self.calls[index].site)
    }

    /// Where the caller holds references while the call runs that returns there: bytes from its
    /// stack pointer. `None` if no call does.
    pub(crate) fn slots(&self, return_offset: u32) -> Option<&[u32]> {
        let index = self.index(return_offset)?;
        let start = index
            .checked_sub(1)
            .map_or(0, |last| self.calls[last].slots_end);
        Some(&self.slots[start as usize..self.calls[index].slots_end as usize])
    }
}

fn granule(site: &CallSite) -> u32 {
    site.return_offset / GRANULE_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(return_offset: u32) -> CallSite {
        CallSite {
            return_offset,
            handler: None,
            frame_offset: 0,
            at: return_offset + 1,
        }
    }

    fn map(return_offset: u32, slots: &[u32]) -> StackMap {
        StackMap {
            return_offset,
            slots: slots.into(),
        }
    }

    #[test]
    fn each_call_is_found_and_nothing_else() {
        // Calls as near as they can be, far ones, and one at the border of a granule.
        let offsets: Vec<u32> = (5..40)
            .step_by(2)
            .chain([64, 95, 96, 1000, 1023, 1024])
            .collect();
        let backwards = offsets.iter().rev().map(|&it| site(it)).collect();
        let maps = offsets.iter().filter(|&it| it % 5 == 0);
        let table = CallTable::new(backwards, maps.map(|&it| map(it, &[it, 8])).collect());
        for offset in 0..1100 {
            let is_call = offsets.contains(&offset);
            assert_eq!(
                table.site(offset).map(|it| it.at),
                is_call.then_some(offset + 1)
            );
            let expected = if offset % 5 == 0 {
                vec![offset, 8]
            } else {
                Vec::new()
            };
            assert_eq!(
                table.slots(offset).map(<[u32]>::to_vec),
                is_call.then_some(expected)
            );
        }
    }

    #[test]
    fn code_without_calls_has_none() {
        let table = CallTable::new(Vec::new(), Vec::new());
        assert!(table.site(0).is_none() && table.slots(7).is_none());
    }

    #[test]
    #[should_panic(expected = "belongs to a call")]
    fn a_map_without_its_call_is_a_mistake() {
        CallTable::new(vec![site(4)], vec![map(8, &[0])]);
    }
}
