// SPDX-License-Identifier: Apache-2.0
//! What becomes of functions, as text: `tests/NAME.clif` has one before, then one behind.
//!
//! In these an object of class 7 is the parameter of a block NEXT: a comment `; made: HEAD NEXT`.
//! `; formality: HEAD NEXT vN` is a branch that it does not need. `; home: ssN` is where variables
//! lie, and `; references: vN` what the collector knows. With `TAKT_BLESS=1` the second half is
//! written anew, to be read before it is kept.

use std::path::Path;

use cranelift_codegen::{
    entity::EntitySet,
    ir::{Block, Function, StackSlot, Value, types::I32},
    settings, verify_function,
};
use cranelift_reader::parse_functions;

use super::{Formality, Making, Objects};
use crate::Address;

const BEHIND: &str = "; becomes\n";

/// The words of each comment that begins so.
fn comments<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = Vec<u32>> + 'a {
    let lines = text.lines().filter_map(move |line| line.strip_prefix(name));
    lines.map(|line| {
        let words = line.split_whitespace();
        let number = |it: &str| it.trim_start_matches(char::is_alphabetic).parse();
        words.map(|it| number(it).expect("a number")).collect()
    })
}

fn replaced(text: &str) -> String {
    let mut functions = parse_functions(text).expect("sound text");
    let function: &mut Function = &mut functions[0];
    let flags = settings::Flags::new(settings::builder());
    verify_function(function, &flags).expect("sound before");
    let head = |function: &Function, block| {
        let block = Block::from_u32(block);
        function.layout.last_inst(block).expect("a branch")
    };
    let mut objects = Objects::default();
    for words in comments(text, "; made:") {
        objects.made(Making {
            head: head(function, words[0]),
            next: Block::from_u32(words[1]),
            class: Address(7),
        });
    }
    for words in comments(text, "; formality:") {
        objects.formality(Formality {
            head: head(function, words[0]),
            next: Block::from_u32(words[1]),
            object: Value::from_u32(words[2]),
        });
    }
    for words in comments(text, "; home:") {
        objects.homes(StackSlot::from_u32(words[0]));
    }
    let mut references = EntitySet::new();
    references.extend(
        comments(text, "; references:")
            .flatten()
            .map(Value::from_u32),
    );
    let known = references.clone();
    objects.replace(function, &mut references);
    let all = references.iter().map(|it| function.dfg.resolve_aliases(it));
    let mut new: Vec<_> = all.filter(|&it| !known.contains(it)).collect();
    new.sort_unstable();
    new.dedup();
    function.dfg.resolve_all_aliases();
    verify_function(function, &flags).expect("sound behind");
    for &value in &new {
        assert_eq!(function.dfg.value_type(value), I32);
    }
    format!("; new references: {new:?}\n{function}")
}

#[test]
fn objects_become_values() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/scalar/tests");
    let files = std::fs::read_dir(folder).expect("the folder is there");
    let paths = files.map(|it| it.expect("readable").path());
    let mut paths: Vec<_> = paths
        .filter(|it| it.extension().is_some_and(|it| it == "clif"))
        .collect();
    paths.sort();
    assert!(paths.len() >= 11, "all of them: {paths:?}");
    for path in paths {
        let text = std::fs::read_to_string(&path).expect("readable");
        let (before, behind) = text.split_once(BEHIND).unwrap_or((&text, ""));
        let found = replaced(before);
        if std::env::var_os("TAKT_BLESS").is_some() {
            std::fs::write(&path, format!("{before}{BEHIND}{found}")).expect("writable");
            continue;
        }
        assert_eq!(found.trim(), behind.trim(), "{}", path.display());
    }
}
