// SPDX-License-Identifier: Apache-2.0
//! What becomes of functions, as text: `golden/NAME.txt` has one before, then one behind, with what
//! is proven of it.
//!
//! A line `; passes: NAME…` says which passes are made; without the first of them the text would
//! be another. Field 9 is volatile, and class 9 not initialised. With `TAKT_BLESS=1` the second
//! half is written anew, to be read before it is kept.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::Path;

use ir::{BinaryOp, BlockId, Condition, Function, Inst, InvokeKind, MemoryKind, Op, Reg, Type};

use super::{Asked, FieldUse, Passes, improve};

const BEHIND: &str = "; becomes\n";
const OTHER: u32 = 9;

struct Answers;

impl Asked for Answers {
    fn is_plain(&mut self, field: FieldUse) -> bool {
        field.index != OTHER
    }

    fn is_ready(&mut self, class: u32) -> bool {
        class != OTHER
    }
}

const TYPES: [Type; 2] = [Type::Int, Type::Ref];
const KINDS: [MemoryKind; 2] = [MemoryKind::Int, MemoryKind::Ref];
const CALLS: [InvokeKind; 2] = [InvokeKind::Static, InvokeKind::Special];

/// The one of `all` that has this name in texts.
fn named<T: Copy + Debug>(all: &[T], name: &str) -> T {
    let is_it = |it: &&T| format!("{it:?}").eq_ignore_ascii_case(name);
    let found = all.iter().find(is_it).copied();
    found.unwrap_or_else(|| panic!("{name} is none of {all:?}"))
}

fn condition(name: &str) -> Condition {
    let mut all = [Condition::Equal, Condition::Less].into_iter();
    all.find(|it| it.to_string() == name).expect("a condition")
}

/// What is behind the prefix of `r3`, `block3`, `#3`.
fn number(prefix: &str, word: &str) -> u32 {
    let digits = word.strip_prefix(prefix).and_then(|it| it.parse().ok());
    digits.unwrap_or_else(|| panic!("{word:?} has no number behind {prefix:?}"))
}

fn reg(word: &str) -> Reg {
    Reg(number("r", word))
}

fn block(word: &str) -> BlockId {
    BlockId(number("block", word))
}

/// Without punctuation, and what stands behind `;`.
fn words(line: &str) -> Vec<&str> {
    let line = line.split(';').next().unwrap_or_default();
    let all = line.split(|it: char| it.is_whitespace() || ",.:()[]".contains(it));
    all.filter(|word| !word.is_empty()).collect()
}

/// An operation as `ir::text` has it; those that no text here has are left out.
#[rustfmt::skip]
fn op(words: &[&str]) -> Op {
    let (to, words) = match *words {
        [to, "=", ref rest @ ..] => (Some(reg(to)), rest),
        _ => (None, words),
    };
    let dst = to.unwrap_or(Reg(u32::MAX));
    let (index, kind) = (|word| number("#", word), |word| named(&KINDS, word));
    match *words {
        ["return"] => Op::Return { src: None },
        ["return", src] => Op::Return { src: Some(reg(src)) },
        ["throw", src] => Op::Throw { src: reg(src) },
        ["jump", target] => Op::Jump { target: block(target) },
        ["if", src, test, "0", then, "else", other] => Op::BranchZero {
            condition: condition(test), src: reg(src), then: block(then), otherwise: block(other),
        },
        ["if", lhs, test, rhs, then, "else", other] => Op::Branch {
            condition: condition(test), lhs: reg(lhs), rhs: reg(rhs),
            then: block(then), otherwise: block(other),
        },
        ["int", value] => Op::Int { dst, value: value.parse().expect("an int") },
        ["caught"] => Op::Caught { dst },
        ["length", array] => Op::ArrayLength { dst, array: reg(array) },
        ["new", class] => Op::New { dst, index: index(class) },
        ["call", kind, callee, ref args @ ..] => {
            let args = args.iter().map(|it| reg(it)).collect();
            Op::Invoke { kind: named(&CALLS, kind), dst: to, index: index(callee), args }
        }
        ["load", ty, field] => Op::GetStatic { dst, index: index(field), kind: kind(ty) },
        ["load", ty, object, field] if field.starts_with('#') => {
            Op::GetField { dst, object: reg(object), index: index(field), kind: kind(ty) }
        }
        ["load", ty, array, element] => {
            Op::ArrayLoad { dst, array: reg(array), element: reg(element), kind: kind(ty) }
        }
        ["store", ty, array, element, "=", r] => {
            Op::ArrayStore { array: reg(array), element: reg(element), src: reg(r), kind: kind(ty) }
        }
        [src] => Op::Move { dst, src: reg(src) },
        [op, lhs, rhs] => {
            Op::Binary { op: named(&[BinaryOp::Add], op), dst, lhs: reg(lhs), rhs: reg(rhs) }
        }
        ref other => panic!("no operation: {other:?}"),
    }
}

fn parsed(text: &str) -> Function {
    let mut function = Function::default();
    let mut types = BTreeMap::new();
    for line in text.lines() {
        match words(line)[..] {
            [] => {}
            ["function", ref params @ .., "->", result] => {
                function.result = Some(named(&TYPES, result));
                function.params = params.chunks(2).map(|it| reg(it[1])).collect();
                types.extend(
                    params
                        .chunks(2)
                        .map(|it| (reg(it[1]), named(&TYPES, it[0]))),
                );
            }
            [first, ref handler @ ..] if first.starts_with("block") => {
                assert_eq!(block(first), function.block(), "in order");
                let last = function.blocks.last_mut().expect("just made");
                last.handler = handler.get(1).map(|it| block(it));
            }
            [first, ref regs @ ..] if first.starts_with(char::is_alphabetic) => {
                types.extend(regs.iter().map(|it| (reg(it), named(&TYPES, first))));
            }
            [at, ref rest @ ..] => {
                let (at, op) = (number("", at), op(rest));
                let last = function.blocks.last_mut().expect("in a block");
                last.insts.push(Inst { at, op });
            }
        }
    }
    assert!((0..).map(Reg).zip(types.keys()).all(|(reg, it)| reg == *it));
    function.registers = types.into_values().collect();
    function
}

/// These passes alone.
fn passes(names: &[&str]) -> Passes {
    let all = [
        "versions", "unroll", "turn", "nulls", "late", "fields", "scalars",
    ];
    assert!(names.iter().all(|it| all.contains(it)), "{names:?}");
    let others = all.iter().filter(|it| !names.contains(it));
    let others: Vec<_> = others.map(|it| format!("-{it}")).collect();
    Passes::all_but(&others.join(",")).expect("names of passes")
}

fn behind(function: &Function, names: &[&str]) -> String {
    let (improved, marks) = improve(function, passes(names), &[], &mut Answers);
    marks
        .shown(improved.as_ref().unwrap_or(function))
        .to_string()
}

#[test]
fn passes_do_what_their_texts_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/passes/golden");
    for pass in ["versions", "unroll", "turn", "nulls", "late"] {
        let path = folder.join(pass).with_extension("txt");
        let text = std::fs::read_to_string(&path).expect("readable");
        let (before, expected) = text.split_once(BEHIND).unwrap_or((&text, ""));
        let names = before.lines().find_map(|it| it.strip_prefix("; passes: "));
        let names: Vec<_> = names.expect("its passes").split_whitespace().collect();
        assert_eq!(names[0], pass, "{}", path.display());
        let function = parsed(before);
        assert_eq!(ir::verify(&function), Ok(()), "{}", path.display());
        let start = before.find("function").expect("a function");
        assert_eq!(function.to_string(), before[start..], "{}", path.display());
        let found = behind(&function, &names);
        assert_ne!(found, behind(&function, &names[1..]), "it does something");
        if std::env::var_os("TAKT_BLESS").is_some() {
            std::fs::write(&path, format!("{before}{BEHIND}{found}")).expect("writable");
            continue;
        }
        assert_eq!(found, expected, "{}", path.display());
    }
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "behind turn: register 1 read before it is written")]
fn unsound_ir_is_said_to_be_of_its_pass() {
    let text = "function (int r0) -> int\n    int r1\nblock0:\n     0: return r1\n";
    super::check(&parsed(text), "turn");
}
