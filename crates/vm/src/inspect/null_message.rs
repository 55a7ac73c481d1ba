// SPDX-License-Identifier: Apache-2.0
//! What was null: the messages of implicit NullPointerExceptions, worded as HotSpot's.
//!
//! The bytecode before the failing instruction is run on a stack whose words say which instruction
//! pushed them; where paths meet with different words, the word is unknown and the message ends
//! earlier.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound::{Excluded, Unbounded};

use classfile::{ClassFile, Code, MethodDescriptor, access};

use crate::classes::class::Method;
use crate::inspect::dex_null_message;
use crate::link::message::type_name;

/// For each word on the operand stack: the offset of the instruction that pushed it.
type Sources = Vec<Option<u16>>;

/// How far a description follows fields and elements.
const DEPTH_MAX: u32 = 5;

/// How often the code is gone through for what is reached by jumps back alone: javac has one.
const TURNS_MAX: u32 = 64;

/// The message for a failure at `at` in `method`; none if the instruction cannot fail so.
pub(crate) fn explain(method: &'static Method, at: u32) -> Option<String> {
    if let Some(dex) = method.class().info.dex {
        let code = dex.method(method).code(dex.file())?;
        return dex_null_message::explain(dex.file(), &code, method, at);
    }
    let code = method.file().code.as_ref()?;
    let at = u16::try_from(at).ok()?;
    let view = View {
        method,
        file: &method.class().info.file,
        code,
        written: written_slots(code, at),
    };
    let action = view.action(at)?;
    let stacks = view.simulate();
    let cause = stacks.get(&at).and_then(|stack| {
        let depth = view.depth_of_null(at)?;
        let source = stack
            .get(stack.len().checked_sub(depth + 1)?)
            .copied()
            .flatten()?;
        view.cause(source, &stacks)
    });
    Some(match cause {
        Some(cause) => format!("{action} because {cause}"),
        None => action,
    })
}

struct View<'a> {
    method: &'static Method,
    file: &'a ClassFile<'static>,
    code: &'a Code<'static>,
    /// Variables that were written before each instruction, a bit each.
    written: BTreeMap<u16, u64>,
}

/// As HotSpot shortens them.
fn short(name: &str) -> String {
    name.replace("java.lang.Object", "Object")
        .replace("java.lang.String", "String")
}

impl View<'_> {
    fn byte(&self, at: u16) -> u8 {
        self.code.bytes.get(usize::from(at)).copied().unwrap_or(0)
    }

    fn index(&self, at: u16) -> u16 {
        u16::from_be_bytes([self.byte(at + 1), self.byte(at + 2)])
    }

    /// `Holder.name(parameters)` of the member that an instruction names.
    fn called(&self, at: u16) -> Option<String> {
        let member = self.file.constants.member(self.index(at)).ok()?;
        let descriptor = MethodDescriptor::parse(member.descriptor).ok()?;
        let parameters: Vec<_> = descriptor
            .parameters
            .iter()
            .map(|ty| short(&type_name(ty)))
            .collect();
        let holder = classfile::to_string_lossy(member.class).replace('/', ".");
        let name = classfile::to_string_lossy(member.name);
        Some(format!(
            "{}.{name}({})",
            short(&holder),
            parameters.join(", ")
        ))
    }

    fn field(&self, at: u16) -> Option<String> {
        let member = self.file.constants.member(self.index(at)).ok()?;
        Some(classfile::to_string_lossy(member.name))
    }

    /// What could not be done.
    fn action(&self, at: u16) -> Option<String> {
        const ELEMENTS: [&str; 8] = [
            "int",
            "long",
            "float",
            "double",
            "object",
            "byte/boolean",
            "char",
            "short",
        ];
        let opcode = self.byte(at);
        Some(match opcode {
            0x2e..=0x35 => format!(
                "Cannot load from {} array",
                ELEMENTS[usize::from(opcode - 0x2e)]
            ),
            0x4f..=0x56 => format!(
                "Cannot store to {} array",
                ELEMENTS[usize::from(opcode - 0x4f)]
            ),
            0xbe => "Cannot read the array length".into(),
            0xbf => "Cannot throw exception".into(),
            0xc2 => "Cannot enter synchronized block".into(),
            0xc3 => "Cannot exit synchronized block".into(),
            0xb4 => format!("Cannot read field \"{}\"", self.field(at)?),
            0xb5 => format!("Cannot assign field \"{}\"", self.field(at)?),
            0xb6 | 0xb7 | 0xb9 => {
                let called = self.called(at)?;
                if called.contains(".<init>(") {
                    return None;
                }
                format!("Cannot invoke \"{called}\"")
            }
            _ => return None,
        })
    }

    /// How many words lie above the null reference.
    fn depth_of_null(&self, at: u16) -> Option<usize> {
        Some(match self.byte(at) {
            0x2e..=0x35 => 1,
            0x50 | 0x52 => 3,
            0x4f..=0x56 => 2,
            0xb5 => {
                let member = self.file.constants.member(self.index(at)).ok()?;
                words_of(member.descriptor)
            }
            0xb6 | 0xb7 | 0xb9 => {
                let member = self.file.constants.member(self.index(at)).ok()?;
                argument_words(member.descriptor)?
            }
            _ => 0,
        })
    }

    /// `"x.y" is null`, or what was returned.
    fn cause(&self, source: u16, stacks: &HashMap<u16, Sources>) -> Option<String> {
        if matches!(self.byte(source), 0xb6..=0xb9) {
            return Some(format!(
                "the return value of \"{}\" is null",
                self.called(source)?
            ));
        }
        Some(format!(
            "\"{}\" is null",
            self.describe(source, stacks, DEPTH_MAX)?
        ))
    }

    fn describe(&self, at: u16, stacks: &HashMap<u16, Sources>, depth: u32) -> Option<String> {
        let operand = |below: usize| -> Option<String> {
            let stack = stacks.get(&at)?;
            let source = stack
                .get(stack.len().checked_sub(below + 1)?)
                .copied()
                .flatten()?;
            self.describe(source, stacks, depth.checked_sub(1)?)
        };
        let opcode = self.byte(at);
        Some(match opcode {
            0x01 => "null".into(),
            0x02..=0x08 => (i32::from(opcode) - 3).to_string(),
            0x10 => (self.byte(at + 1) as i8).to_string(),
            0x11 => (self.index(at) as i16).to_string(),
            0x15 | 0x19 => self.local(u16::from(self.byte(at + 1)), at),
            0x1a..=0x1d => self.local(u16::from(opcode - 0x1a), at),
            0x2a..=0x2d => self.local(u16::from(opcode - 0x2a), at),
            0xb2 => {
                let member = self.file.constants.member(self.index(at)).ok()?;
                let holder = classfile::to_string_lossy(member.class).replace('/', ".");
                format!("{}.{}", short(&holder), self.field(at)?)
            }
            0xb4 => match operand(0) {
                Some(object) => format!("{object}.{}", self.field(at)?),
                None => self.field(at)?,
            },
            0xb6..=0xb9 => self.called(at)?,
            0x2e..=0x35 => {
                let array = operand(1).unwrap_or_else(|| "<array>".into());
                let element = operand(0).unwrap_or_else(|| "...".into());
                format!("{array}[{element}]")
            }
            _ => return None,
        })
    }

    /// A local variable by its name, if the class file tells it.
    fn local(&self, slot: u16, at: u16) -> String {
        if let Some(name) = self.code.local_name(slot, at, &self.file.constants) {
            return classfile::to_string_lossy(name);
        }
        let is_static = self.method.access & access::STATIC != 0;
        let written = self.written.get(&at).copied().unwrap_or(0);
        if slot >= u64::BITS as u16 || written >> slot & 1 != 0 {
            return format!("<local{slot}>");
        }
        if slot == 0 && !is_static {
            return "this".into();
        }
        let descriptor = MethodDescriptor::parse(self.method.descriptor.bytes());
        let parameters = descriptor
            .map(|descriptor| descriptor.parameters)
            .unwrap_or_default();
        let mut next = u16::from(!is_static);
        for (index, ty) in parameters.iter().enumerate() {
            if next == slot {
                return format!("<parameter{}>", index + 1);
            }
            let wide = matches!(type_name(ty).as_str(), "long" | "double");
            next += if wide { 2 } else { 1 };
        }
        format!("<local{slot}>")
    }

    /// The stack before every instruction that is reached.
    fn simulate(&self) -> HashMap<u16, Sources> {
        let mut before: HashMap<u16, Sources> = HashMap::new();
        let mut pending = vec![(0, Sources::new())];
        pending.extend(
            self.code
                .exceptions
                .iter()
                .map(|entry| (entry.handler, vec![None])),
        );
        while let Some((at, stack)) = pending.pop() {
            let merged = match before.get(&at) {
                Some(known) if known.len() != stack.len() => continue,
                Some(known) => {
                    let join = |(a, b): (&Option<u16>, &Option<u16>)| a.filter(|_| a == b);
                    known.iter().zip(&stack).map(join).collect()
                }
                None => stack,
            };
            if before.get(&at) == Some(&merged) {
                continue;
            }
            before.insert(at, merged.clone());
            let Ok((next, flow)) = ir::bytecode::flow_at(self.code, at) else {
                continue;
            };
            let Some(after) = self.step(at, merged) else {
                continue;
            };
            let targets = flow
                .into_iter()
                .filter_map(|target| u16::try_from(target).ok());
            pending.extend(targets.map(|target| (target, after.clone())));
            if let Some(next) = next {
                pending.push((next, after));
            }
        }
        before
    }

    /// The stack after one instruction.
    fn step(&self, at: u16, mut stack: Sources) -> Option<Sources> {
        let opcode = self.byte(at);
        // Copies keep where their word came from; a checked reference is the same one.
        let copied: Option<(usize, usize)> = match opcode {
            0x59 => Some((1, 0)),
            0x5a => Some((1, 1)),
            0x5b => Some((1, 2)),
            0x5c => Some((2, 0)),
            0x5d => Some((2, 1)),
            0x5e => Some((2, 2)),
            _ => None,
        };
        if let Some((top, below)) = copied {
            let words = stack.split_off(stack.len().checked_sub(top)?);
            let under = stack.split_off(stack.len().checked_sub(below)?);
            stack.extend(words.iter().chain(&under).chain(&words).copied());
            return Some(stack);
        }
        match opcode {
            0x5f => {
                let count = stack.len();
                stack.swap(count.checked_sub(1)?, count.checked_sub(2)?);
                return Some(stack);
            }
            0xc0 => return Some(stack),
            _ => {}
        }
        let (pops, pushes) = self.effect(at)?;
        stack.truncate(stack.len().checked_sub(pops)?);
        stack.extend(std::iter::repeat_n(Some(at), pushes));
        Some(stack)
    }

    /// Words taken and given.
    fn effect(&self, at: u16) -> Option<(usize, usize)> {
        let opcode = self.byte(at);
        Some(match opcode {
            0xb2..=0xb5 => {
                let member = self.file.constants.member(self.index(at)).ok()?;
                let words = words_of(member.descriptor);
                [(0, words), (words, 0), (1, words), (1 + words, 0)][usize::from(opcode - 0xb2)]
            }
            0xb6..=0xb9 => {
                let member = self.file.constants.member(self.index(at)).ok()?;
                let receiver = usize::from(opcode != 0xb8);
                (
                    argument_words(member.descriptor)? + receiver,
                    result_words(member.descriptor),
                )
            }
            0xba => {
                let (_, _, descriptor) = self.file.constants.dynamic(self.index(at)).ok()?;
                (argument_words(descriptor)?, result_words(descriptor))
            }
            0xc5 => (usize::from(self.byte(at + 3)), 1),
            0xc4 => plain_effect(self.byte(at + 1)),
            _ => plain_effect(opcode),
        })
    }
}

/// The variables that were written before each instruction, as HotSpot finds them: in the order of
/// the code until the first turn that comes to `until`. What was written is no parameter any more.
fn written_slots(code: &Code<'_>, until: u16) -> BTreeMap<u16, u64> {
    let mut written = BTreeMap::from([(0, 0)]);
    written.extend(code.exceptions.iter().map(|entry| (entry.handler, 0)));
    for _ in 0..TURNS_MAX {
        let known = written.len();
        let mut next = Some(0);
        while let Some(at) = next {
            let after = written[&at] | written_by(code, at);
            let Ok((following, flow)) = ir::bytecode::flow_at(code, at) else {
                return written;
            };
            let targets = flow.into_iter().filter_map(|it| u16::try_from(it).ok());
            for target in targets.chain(following) {
                *written.entry(target).or_insert(0) |= after;
            }
            next = written
                .range((Excluded(at), Unbounded))
                .next()
                .map(|it| *it.0);
            if next == Some(until) {
                return written;
            }
        }
        if written.len() == known {
            break;
        }
    }
    written
}

/// The variables that one instruction writes.
fn written_by(code: &Code<'_>, at: u16) -> u64 {
    let byte = |offset: usize| {
        code.bytes
            .get(usize::from(at) + offset)
            .copied()
            .unwrap_or(0)
    };
    let is_wide = byte(0) == 0xc4;
    let opcode = byte(usize::from(is_wide));
    let named = if is_wide {
        u16::from_be_bytes([byte(2), byte(3)])
    } else {
        u16::from(byte(1))
    };
    let slot = match opcode {
        0x36..=0x3a | 0x84 => named,
        0x3b..=0x4e => u16::from(opcode - 0x3b) % 4,
        _ => return 0,
    };
    let has_two_words = matches!(opcode, 0x37 | 0x39 | 0x3f..=0x42 | 0x47..=0x4a);
    let words: u64 = if has_two_words { 3 } else { 1 };
    words.checked_shl(slot.into()).unwrap_or(0)
}

fn words_of(descriptor: &[u8]) -> usize {
    if matches!(descriptor, b"J" | b"D") {
        2
    } else {
        1
    }
}

fn result_words(descriptor: &[u8]) -> usize {
    let result = descriptor
        .iter()
        .position(|&b| b == b')')
        .map_or(0, |end| end + 1);
    match descriptor.get(result) {
        Some(b'V') => 0,
        _ => words_of(&descriptor[result..]),
    }
}

fn argument_words(descriptor: &[u8]) -> Option<usize> {
    let parsed = MethodDescriptor::parse(descriptor).ok()?;
    let wide = |ty: &&classfile::FieldType<'_>| matches!(type_name(ty).as_str(), "long" | "double");
    Some(parsed.parameters.len() + parsed.parameters.iter().filter(wide).count())
}

/// Words taken and given by instructions whose name says it all.
fn plain_effect(opcode: u8) -> (usize, usize) {
    let wide = |is_wide: bool, narrow: usize| if is_wide { narrow * 2 } else { narrow };
    match opcode {
        0x09 | 0x0a | 0x0e | 0x0f | 0x14 | 0x16 | 0x18 | 0x1e..=0x21 | 0x26..=0x29 => (0, 2),
        0x01..=0x2d | 0xa8 | 0xbb | 0xc9 => (0, 1),
        0x2f | 0x31 => (2, 2),
        0x2e..=0x35 => (2, 1),
        0x37 | 0x39 | 0x3f..=0x42 | 0x47..=0x4a | 0x58 => (2, 0),
        0x36..=0x4e | 0x57 => (1, 0),
        0x50 | 0x52 => (4, 0),
        0x4f..=0x56 => (3, 0),
        0x60..=0x73 | 0x7e..=0x83 => (wide(opcode % 2 == 1, 2), wide(opcode % 2 == 1, 1)),
        0x74..=0x77 => (wide(opcode % 2 == 1, 1), wide(opcode % 2 == 1, 1)),
        0x79 | 0x7b | 0x7d => (3, 2),
        0x78..=0x7c => (2, 1),
        0x85 | 0x87 | 0x8c | 0x8d => (1, 2),
        0x88 | 0x89 | 0x8e | 0x90 => (2, 1),
        0x8a | 0x8f => (2, 2),
        0x94 | 0x97 | 0x98 => (4, 1),
        0x95 | 0x96 => (2, 1),
        0x86 | 0x8b | 0x91..=0x93 | 0xbc..=0xbe | 0xc1 => (1, 1),
        0x9f..=0xa6 => (2, 0),
        0x99..=0x9e | 0xaa | 0xab | 0xbf | 0xc2 | 0xc3 | 0xc6 | 0xc7 => (1, 0),
        _ => (0, 0),
    }
}
