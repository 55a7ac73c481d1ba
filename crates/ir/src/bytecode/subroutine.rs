// SPDX-License-Identifier: Apache-2.0
//! [`Subroutines`]: `jsr` and `ret`, with which compilers before Java 6 shared the code of
//! `finally`.
//!
//! A return address is a constant for translation: a block is translated once for each set of
//! addresses that it is entered with, so a `ret` is a jump. Only addresses count that a `ret` may
//! still read, or each way out of a subroutine would double the code after it.

use core::ops::Range;

use classfile::Code;
use rustc_hash::FxHashMap;

use super::frame::Frame;
use super::instruction::{Cursor, JSR, JSR_W, RET, WIDE, step};
use super::layout::Layout;

/// Blocks within subroutines that a method may have: nested ones multiply, and somebody may have
/// nested many.
const BLOCKS_MAX: usize = 16_384;
/// What their frames may hold together, so that many local variables do not multiply with many
/// blocks.
const CONTENTS_MAX: usize = 1 << 24;

/// Local variables by which subroutines return, a bit for each.
type Locals = u128;

/// Which return addresses count, at each start of a block.
pub(super) struct Subroutines {
    /// The bit of each local variable that a `ret` reads.
    bits: FxHashMap<usize, u32>,
    live: FxHashMap<u32, Locals>,
    pub(super) blocks_max: usize,
}

/// What a block means for return addresses.
#[derive(Default)]
struct Effect {
    reads: Locals,
    writes: Locals,
    next: Vec<u32>,
    /// Handlers may be reached before the block writes anything.
    handlers: Vec<u32>,
}

/// The place that every `ret` leads to, and every place behind a call follows: no offset of code.
const ANY_CALL: u32 = u32::MAX;

impl Subroutines {
    /// Of code that has some: its blocks end behind each store.
    pub(super) fn new(code: &Code<'_>, layout: &Layout) -> Result<Self, String> {
        let contents = usize::from(code.local_count) + usize::from(code.stack_max) + 1;
        let mut all = Self {
            bits: return_locals(code)?,
            live: FxHashMap::default(),
            blocks_max: BLOCKS_MAX.min(CONTENTS_MAX / contents),
        };
        let mut effects = FxHashMap::from_iter([(ANY_CALL, Effect::default())]);
        let mut handlers = 0;
        for &start in &layout.starts {
            let end = layout.end_of(start, code.bytes.len());
            let (effect, is_call) = all.effect(code, layout, start as usize..end)?;
            if is_call {
                let any_call = effects.entry(ANY_CALL).or_default();
                any_call.next.push(end as u32);
            }
            handlers += effect.handlers.len();
            if handlers > CONTENTS_MAX {
                return Err("subroutines among too many handlers".into());
            }
            effects.insert(start, effect);
        }
        all.spread(&effects);
        Ok(all)
    }

    /// The effect of the block in `range`, and whether it ends with a call of a subroutine.
    fn effect(
        &self,
        code: &Code<'_>,
        layout: &Layout,
        range: Range<usize>,
    ) -> Result<(Effect, bool), String> {
        let bit = |local: usize| self.bits.get(&local).map_or(0, |bit| 1 << bit);
        let ranges = &layout.ranges;
        let covering = ranges.covering(&code.exceptions, range.start as u32);
        let mut effect = Effect {
            handlers: covering.into_iter().map(|(_, handler)| handler).collect(),
            ..Effect::default()
        };
        let mut is_call = false;
        let mut cursor = Cursor::new(code.bytes, range.start);
        while cursor.at < range.end {
            let at = cursor.at;
            let flow = step(&mut cursor)?;
            is_call = matches!(code.bytes[at], JSR | JSR_W);
            effect.writes |= stored(code.bytes, at).fold(0, |all, local| all | bit(local));
            if let Some(local) = returned(code.bytes, at) {
                effect.reads = bit(local);
                effect.next.push(ANY_CALL);
            }
            let targets = flow.targets.iter().filter_map(|&it| u32::try_from(it).ok());
            effect.next.extend(targets);
            if cursor.at >= range.end && !flow.ends {
                effect.next.push(range.end as u32);
            }
        }
        Ok((effect, is_call))
    }

    /// Finds what is live, backwards from what is read; each block is looked at again at most once
    /// for each bit of those after it.
    fn spread(&mut self, effects: &FxHashMap<u32, Effect>) {
        let mut before: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        for (&start, effect) in effects {
            for &next in effect.next.iter().chain(&effect.handlers) {
                before.entry(next).or_default().push(start);
            }
        }
        let mut pending: Vec<u32> = effects.keys().copied().collect();
        while let Some(start) = pending.pop() {
            let effect = &effects[&start];
            let live_in = |starts: &[u32]| {
                let live = starts.iter().filter_map(|start| self.live.get(start));
                live.fold(0, |all, live| all | live)
            };
            let live =
                effect.reads | (live_in(&effect.next) & !effect.writes) | live_in(&effect.handlers);
            if self.live.insert(start, live).unwrap_or(0) != live {
                pending.extend(before.get(&start).into_iter().flatten());
            }
        }
    }

    /// Forgets the addresses that no `ret` reads from `start` on.
    pub(super) fn forget_dead(&self, start: u32, frame: &mut Frame) {
        let live = self.live.get(&start).copied().unwrap_or(0);
        frame.forget_returns(|local| {
            let bit = self.bits.get(&local).map_or(0, |bit| 1 << bit);
            live & bit == 0
        });
    }
}

/// A number for each local variable that some `ret` reads.
fn return_locals(code: &Code<'_>) -> Result<FxHashMap<usize, u32>, String> {
    let mut bits = FxHashMap::default();
    let mut cursor = Cursor::new(code.bytes, 0);
    while !cursor.is_at_end() {
        let at = cursor.at;
        step(&mut cursor)?;
        if let Some(local) = returned(code.bytes, at) {
            let free = bits.len() as u32;
            if *bits.entry(local).or_insert(free) >= Locals::BITS {
                return Err("subroutines return by too many local variables".into());
            }
        }
    }
    Ok(bits)
}

fn wide_index(bytes: &[u8], at: usize) -> usize {
    usize::from(u16::from_be_bytes([bytes[at + 2], bytes[at + 3]]))
}

/// The local variable by which the instruction at `at` returns from a subroutine.
fn returned(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes[at] {
        RET => Some(usize::from(bytes[at + 1])),
        WIDE if bytes[at + 1] == RET => Some(wide_index(bytes, at)),
        _ => None,
    }
}

/// The local variables that the instruction at `at`, which is whole, stores to.
pub(super) fn stored(bytes: &[u8], at: usize) -> Range<usize> {
    let is_wide = |kind: u8| matches!(kind % 5, 1 | 3);
    let (kind, local) = match bytes[at] {
        opcode @ 0x36..=0x3a => (opcode - 0x36, usize::from(bytes[at + 1])),
        opcode @ 0x3b..=0x4e => ((opcode - 0x3b) / 4, usize::from((opcode - 0x3b) % 4)),
        WIDE if matches!(bytes[at + 1], 0x36..=0x3a) => {
            (bytes[at + 1] - 0x36, wide_index(bytes, at))
        }
        _ => return 0..0,
    };
    let count = if is_wide(kind) { 2 } else { 1 };
    local..local + count
}

#[cfg(test)]
mod tests {
    use classfile::{ClassFile, Code, ExceptionEntry, Method, access};

    use crate::bytecode::translate;

    /// Subroutines that call the next one twice each: the last is entered in 2^`depth` ways.
    fn nested(depth: u8) -> Vec<u8> {
        // jsr +5; return; return for the handler
        let mut bytes = vec![0xa8, 0, 5, 0xb1, 0xb1];
        for local in 0..depth {
            // astore local; jsr +8; jsr +5; ret local
            bytes.extend([0x3a, local, 0xa8, 0, 8, 0xa8, 0, 5, 0xa9, local]);
        }
        bytes.extend([0x3a, depth, 0xa9, depth]);
        bytes
    }

    fn blocks(bytes: &[u8]) -> Result<usize, String> {
        let whole = ExceptionEntry {
            start: 0,
            end: bytes.len() as u16,
            handler: 4,
            class: 0,
        };
        let method = Method {
            access: access::STATIC,
            descriptor: b"()V",
            code: Some(Code {
                stack_max: 2,
                local_count: 50,
                bytes,
                exceptions: vec![whole],
                ..Code::default()
            }),
            ..Method::default()
        };
        let class = ClassFile {
            major: 48,
            ..ClassFile::default()
        };
        translate(&class, &method)
            .map(|function| function.blocks.len())
            .map_err(|error| error.what)
    }

    #[test]
    fn a_subroutine_is_there_once_for_each_way_into_it() {
        let counts = [1, 2, 3, 4].map(|depth| blocks(&nested(depth)).unwrap());
        let doubles = |few: &usize, many: &usize| few + few / 2 < *many && *many < 2 * few;
        assert!(counts.is_sorted_by(doubles), "{counts:?}");
    }

    #[test]
    fn ways_that_multiply_without_end_are_refused() {
        let error = blocks(&nested(40)).unwrap_err();
        assert_eq!(error, "subroutines are nested too deeply");
    }

    #[test]
    fn changed_subroutines_are_refused_or_translated() {
        let mut random = fastrand::Rng::with_seed(20_261_123);
        let mut outcomes = [0; 2];
        for _ in 0..20_000 {
            let mut bytes = nested(random.u8(1..7));
            for _ in 0..random.usize(1..4) {
                let at = random.usize(..bytes.len());
                bytes[at] = match random.u8(..3) {
                    0 => [0x3a, 0x4b, 0x57, 0x59, 0x5f, 0xa7, 0xa8, 0xa9, 0xc4][random.usize(..9)],
                    1 => random.u8(..16),
                    _ => random.u8(..),
                };
            }
            outcomes[usize::from(blocks(&bytes).is_ok())] += 1;
        }
        assert!(outcomes.iter().all(|&count| count > 500), "{outcomes:?}");
    }
}
