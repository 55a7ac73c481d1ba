// SPDX-License-Identifier: Apache-2.0
//! [`check_frames`]: a method's StackMapTable is well formed and has a frame wherever paths may
//! meet.
//!
//! Types are inferred here and no frame is needed for that; but a class whose table is cut short or
//! lacks a frame runs nowhere else, so it is refused (JVM specification, 4.7.4 and 4.10.1). What
//! the frames say of types is not compared with what is inferred.

use std::collections::BTreeSet;
use std::fmt;

use classfile::{ClassFile, Code, FieldType, Method, MethodDescriptor, access};

use super::instruction::{Cursor, step};

/// First version (Java 6) with frames, and the first (Java 7) that cannot do without them.
const JAVA_6: u16 = 50;
const JAVA_7: u16 = 51;
const NEW: u8 = 0xbb;
const SIZE: FrameError = FrameError::Format("bad type array size");

/// What is wrong with a StackMapTable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrameError {
    /// Its bytes are no table for this method.
    Format(&'static str),
    /// A frame is missing at this offset, or is where no instruction begins.
    Place(&'static str, u32),
    /// The code itself is no sequence of instructions.
    Code(String),
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Format(what) => write!(f, "StackMapTable format error: {what}"),
            Self::Place(what, at) => write!(f, "{what} {at}"),
            Self::Code(what) => f.write_str(what),
        }
    }
}

/// Holds the frames of a method with code against its jumps. Classes before Java 7 need none, but
/// may have some.
pub fn check_frames(class: &ClassFile<'_>, method: &Method<'_>) -> Result<(), FrameError> {
    let Some(code) = method.code.as_ref().filter(|_| class.major >= JAVA_6) else {
        return Ok(());
    };
    let flow = Meetings::of(code).map_err(FrameError::Code)?;
    let frames = match frame_offsets(class, method, code, &flow) {
        // Where frames are not needed, those that do not fit the code are passed over, as HotSpot
        // does.
        Err(FrameError::Place(..) | SIZE) | Ok(_) if class.major < JAVA_7 => return Ok(()),
        frames => frames?,
    };
    match flow.needed.iter().find(|at| !frames.contains(at)) {
        Some(&at) => Err(FrameError::Place(
            "Expecting a stackmap frame at offset",
            at,
        )),
        None => Ok(()),
    }
}

/// Where instructions begin, and where control comes from elsewhere than the instruction before.
struct Meetings {
    instructions: BTreeSet<u32>,
    needed: BTreeSet<u32>,
}

impl Meetings {
    fn of(code: &Code<'_>) -> Result<Self, String> {
        let (mut instructions, mut needed) = (BTreeSet::new(), BTreeSet::new());
        let mut cursor = Cursor::new(code.bytes, 0);
        while !cursor.is_at_end() {
            instructions.insert(cursor.at as u32);
            let flow = step(&mut cursor)?;
            // One that leads out of the code is what translation finds.
            needed.extend(
                flow.targets
                    .iter()
                    .filter_map(|&target| u32::try_from(target).ok()),
            );
            if flow.ends && !cursor.is_at_end() {
                needed.insert(cursor.at as u32);
            }
        }
        needed.extend(code.exceptions.iter().map(|entry| u32::from(entry.handler)));
        Ok(Self {
            instructions,
            needed,
        })
    }
}

fn frame_offsets(
    class: &ClassFile<'_>,
    method: &Method<'_>,
    code: &Code<'_>,
    flow: &Meetings,
) -> Result<BTreeSet<u32>, FrameError> {
    let mut offsets = BTreeSet::new();
    let Some(bytes) = code.stack_maps else {
        return Ok(offsets);
    };
    let mut table = Table {
        class,
        code,
        flow,
        bytes,
        locals: first_locals(method)?,
        words: 0,
    };
    table.words = table.locals.iter().sum();
    let mut at = None;
    for _ in 0..table.u16()? {
        let delta = u32::from(table.frame()?);
        let offset = at.map_or(delta, |at| at + delta + 1);
        if !flow.instructions.contains(&offset) {
            return Err(FrameError::Place("StackMapTable error: bad offset", offset));
        }
        offsets.insert(offset);
        at = Some(offset);
    }
    Ok(offsets)
}

/// The words of each local variable at the start.
fn first_locals(method: &Method<'_>) -> Result<Vec<usize>, FrameError> {
    let parsed = MethodDescriptor::parse(method.descriptor)
        .map_err(|_| FrameError::Format("bad method descriptor"))?;
    let receiver = (method.access & access::STATIC == 0).then_some(1);
    Ok(receiver
        .into_iter()
        .chain(parsed.parameters.iter().map(FieldType::words))
        .collect())
}

/// A cursor over the table, with the words of the local variables in the last frame.
struct Table<'a> {
    class: &'a ClassFile<'a>,
    code: &'a Code<'a>,
    flow: &'a Meetings,
    bytes: &'a [u8],
    locals: Vec<usize>,
    /// Of all of them.
    words: usize,
}

impl Table<'_> {
    fn u8(&mut self) -> Result<u8, FrameError> {
        let (&first, rest) = self
            .bytes
            .split_first()
            .ok_or(FrameError::Format("access beyond the end of attribute"))?;
        self.bytes = rest;
        Ok(first)
    }

    fn u16(&mut self) -> Result<u16, FrameError> {
        Ok(u16::from_be_bytes([self.u8()?, self.u8()?]))
    }

    /// Reads one frame: how far it is from the last one.
    fn frame(&mut self) -> Result<u16, FrameError> {
        let tag = self.u8()?;
        match tag {
            0..=63 => Ok(u16::from(tag)),
            64..=127 => {
                self.stack(1)?;
                Ok(u16::from(tag - 64))
            }
            128..=246 => Err(FrameError::Format("reserved frame type")),
            247 => {
                let delta = self.u16()?;
                self.stack(1)?;
                Ok(delta)
            }
            248..=250 => {
                let left = self.locals.len().checked_sub(usize::from(251 - tag));
                let gone = self.locals.drain(left.ok_or(SIZE)?..);
                self.words -= gone.sum::<usize>();
                self.u16()
            }
            251 => self.u16(),
            252..=254 => {
                let delta = self.u16()?;
                self.append_locals(u16::from(tag - 251))?;
                Ok(delta)
            }
            255 => {
                let delta = self.u16()?;
                let count = self.u16()?;
                self.locals.clear();
                self.words = 0;
                self.append_locals(count)?;
                let count = self.u16()?;
                self.stack(count)?;
                Ok(delta)
            }
        }
    }

    fn append_locals(&mut self, count: u16) -> Result<(), FrameError> {
        for _ in 0..count {
            let words = self.verification_type()?;
            self.locals.push(words);
            self.words += words;
        }
        fits(self.words, self.code.local_count)
    }

    fn stack(&mut self, count: u16) -> Result<(), FrameError> {
        let mut words = 0;
        for _ in 0..count {
            words += self.verification_type()?;
        }
        fits(words, self.code.stack_max)
    }

    /// Reads a verification type: the words that it takes.
    fn verification_type(&mut self) -> Result<usize, FrameError> {
        match self.u8()? {
            0..=2 | 5 | 6 => Ok(1),
            3 | 4 => Ok(2),
            7 => {
                let index = self.u16()?;
                let is_class = self.class.constants.class_name(index).is_ok();
                is_class
                    .then_some(1)
                    .ok_or(FrameError::Format("bad class index"))
            }
            8 => {
                let at = self.u16()?;
                let is_new = self.flow.instructions.contains(&u32::from(at))
                    && self.code.bytes.get(usize::from(at)) == Some(&NEW);
                is_new
                    .then_some(1)
                    .ok_or(FrameError::Format("bad offset for Uninitialized"))
            }
            _ => Err(FrameError::Format("bad verification type")),
        }
    }
}

fn fits(words: usize, most: u16) -> Result<(), FrameError> {
    if words <= usize::from(most) {
        Ok(())
    } else {
        Err(SIZE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `ifeq 4; nop; return` with one int, and this table.
    fn check(major: u16, stack_maps: &[u8]) -> Result<(), FrameError> {
        let code = Code {
            stack_max: 1,
            local_count: 1,
            bytes: &[0x1a, 0x99, 0, 4, 0, 0xb1],
            stack_maps: Some(stack_maps),
            ..Code::default()
        };
        let method = Method {
            access: access::STATIC,
            descriptor: b"(I)V",
            code: Some(code),
            ..Method::default()
        };
        check_frames(
            &ClassFile {
                major,
                ..ClassFile::default()
            },
            &method,
        )
    }

    #[test]
    fn a_frame_stands_where_paths_meet() {
        assert_eq!(check(61, &[0, 1, 5]), Ok(()));
        assert_eq!(check(50, &[0, 0]), Ok(()));
        assert_eq!(check(49, &[]), Ok(()));
        let missing = FrameError::Place("Expecting a stackmap frame at offset", 5);
        assert_eq!(check(61, &[0, 0]), Err(missing.clone()));
        assert_eq!(check(61, &[0, 1, 4]), Err(missing));
        let bad = FrameError::Place("StackMapTable error: bad offset", 2);
        assert_eq!(check(61, &[0, 1, 2]), Err(bad));
    }

    #[test]
    fn tables_that_are_none_are_refused() {
        let tables: [&[u8]; 8] = [
            &[0, 1],
            &[0, 1, 128],
            &[0, 1, 69],
            &[0, 1, 69, 9],
            &[0, 1, 69, 4],
            &[0, 1, 249, 0, 5],
            &[0, 1, 252, 0, 5, 1],
            &[0, 1, 69, 8, 0, 0],
        ];
        for table in tables {
            assert!(
                matches!(check(61, table), Err(FrameError::Format(_))),
                "{table:?}"
            );
        }
        assert_eq!(check(61, &[0, 1, 69, 1]), Ok(()));
    }
}
