// SPDX-License-Identifier: Apache-2.0
//! Class-file methods into IR.
//!
//! [`translate`] interprets the bytecode abstractly: each local variable and
//! stack place has a register per type, so that the IR's types are those that
//! the abstract frames prove. Blocks are translated again until the frames at
//! their entries no longer change. Neighbours: `classfile` parses,
//! [`verify`](crate::verify) checks the outcome once more.

mod frame;
mod frames;
mod instruction;
mod layout;
mod subroutine;
mod translate;

pub use frames::{FrameError, check_frames};
pub use translate::{TranslateError, memory_kind, translate};

/// The offset behind the instruction at `at`, if control can go on there, and the offsets it may
/// jump to.
pub fn flow_at(code: &classfile::Code<'_>, at: u16) -> Result<(Option<u16>, Vec<i64>), String> {
    let mut cursor = instruction::Cursor::new(code.bytes, usize::from(at));
    let flow = instruction::step(&mut cursor)?;
    let next = u16::try_from(cursor.at).ok().filter(|_| !flow.ends);
    Ok((next, flow.targets))
}
