// SPDX-License-Identifier: Apache-2.0
//! Rooms inside a crate: files import what lies below them, in the order of layers.toml.
//!
//! A room is a folder of `src`, or a file beside `lib.rs`. Tokens are read, so an import counts in
//! a `use`, as a path in code and in a macro's arguments. A method that an upper room adds to a
//! type of a lower one needs no import, and is not seen.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};
use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::tidy::rules::{Rooms, Rules};

/// Breaches in all crates that have rooms go to `breaches`; returns "crate n" exceptions for each.
pub(crate) fn check(rules: &Rules, breaches: &mut Vec<String>) -> Result<Vec<String>> {
    let mut counts = Vec::new();
    for (name, rooms) in &rules.rooms {
        let folder = format!("crates/{name}/src");
        let mut files = BTreeMap::new();
        read(Path::new(&folder), "", &mut files).with_context(|| format!("in {folder}"))?;
        breaches.extend(breaches_in(name, rooms, &files)?);
        counts.push(format!("{name} {}", rooms.upwards.len()));
    }
    Ok(counts)
}

/// Adds every Rust file below `folder`, by its path from there.
fn read(folder: &Path, prefix: &str, files: &mut BTreeMap<String, String>) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            read(&entry.path(), &format!("{name}/"), files)?;
        } else if name.ends_with(".rs") {
            files.insert(name, std::fs::read_to_string(entry.path())?);
        }
    }
    Ok(())
}

fn breaches_in(name: &str, rooms: &Rooms, files: &BTreeMap<String, String>) -> Result<Vec<String>> {
    let order = &rooms.from_the_ground;
    let rank = |file: &str| order.iter().position(|it| it == room_of(file));
    let mut breaches = Vec::new();
    for room in order
        .iter()
        .filter(|it| !files.keys().any(|file| room_of(file) == *it))
    {
        breaches.push(format!(
            "layers.toml names the room '{room}', which '{name}' lacks"
        ));
    }
    let mut upwards = BTreeSet::new();
    for (from, text) in files.iter().filter(|(file, _)| *file != "lib.rs") {
        let Some(own) = rank(from) else {
            breaches.push(format!(
                "{name}: {from} lies in no room that layers.toml names"
            ));
            continue;
        };
        let tokens: TokenStream = text.parse().map_err(|it| anyhow::anyhow!("{from}: {it}"))?;
        let mut paths = Vec::new();
        note_paths(&tokens, &module_of(from), &mut paths);
        upwards.extend(
            paths
                .iter()
                .filter_map(|path| file_of(path, files))
                .filter(|to| rank(to).is_some_and(|other| other > own))
                .map(|to| (from.clone(), to)),
        );
    }
    let allowed: BTreeSet<_> = rooms
        .upwards
        .iter()
        .map(|it| (it.from.clone(), it.to.clone()))
        .collect();
    for (from, to) in upwards.difference(&allowed) {
        breaches.push(format!("{name}: {from} imports {to}, which lies above it"));
    }
    for (from, to) in allowed.difference(&upwards) {
        breaches.push(format!(
            "layers.toml lets {from} import {to}, which it does not: strike it"
        ));
    }
    Ok(breaches)
}

/// The folder or file in `src` that `file` belongs to.
fn room_of(file: &str) -> &str {
    let first = file.split('/').next().unwrap_or(file);
    first.strip_suffix(".rs").unwrap_or(first)
}

/// `link/mod.rs` is `link`, `link/build.rs` is `link::build`.
fn module_of(file: &str) -> Vec<String> {
    let name = file.strip_suffix(".rs").unwrap_or(file);
    let name = name.strip_suffix("/mod").unwrap_or(name);
    name.split('/').map(str::to_owned).collect()
}

/// The file that holds what `path` names: the longest part of it that is a module.
fn file_of(path: &[String], files: &BTreeMap<String, String>) -> Option<String> {
    (1..=path.len()).rev().find_map(|length| {
        let module = path[..length].join("/");
        [format!("{module}.rs"), format!("{module}/mod.rs")]
            .into_iter()
            .find(|it| files.contains_key(it))
    })
}

/// Adds what follows each `crate::` and `super::` in `tokens`, which stand in `module`.
fn note_paths(tokens: &TokenStream, module: &[String], paths: &mut Vec<Vec<String>>) {
    let trees: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let mut inner = None;
    let mut at = 0;
    while at < trees.len() {
        match &trees[at] {
            TokenTree::Ident(word) if word == "mod" => {
                inner = trees.get(at + 1).map(ToString::to_string);
            }
            TokenTree::Ident(word) if word == "crate" && is_path(&trees[at + 1..]) => {
                note_rest(&trees[at + 3..], &[], paths);
            }
            TokenTree::Ident(word) if word == "super" && is_path(&trees[at + 1..]) => {
                let mut base = &module[..module.len() - 1];
                while trees[at + 3].to_string() == "super" && is_path(&trees[at + 4..]) {
                    base = &base[..base.len().saturating_sub(1)];
                    at += 3;
                }
                note_rest(&trees[at + 3..], base, paths);
            }
            TokenTree::Punct(mark) if mark.as_char() == ';' => inner = None,
            TokenTree::Group(group) => {
                let is_block = group.delimiter() == Delimiter::Brace;
                let mut own = module.to_vec();
                own.extend(inner.take_if(|_| is_block));
                note_paths(&group.stream(), &own, paths);
            }
            _ => {}
        }
        at += 1;
    }
}

fn is_path(rest: &[TokenTree]) -> bool {
    let is_colon = |it: &TokenTree| matches!(it, TokenTree::Punct(mark) if mark.as_char() == ':');
    rest.len() > 2 && rest[..2].iter().all(is_colon)
}

/// Adds `base` with each path that begins `rest`: one, or one for each part in braces.
fn note_rest(rest: &[TokenTree], base: &[String], paths: &mut Vec<Vec<String>>) {
    let mut path = base.to_vec();
    let mut rest = rest;
    loop {
        match rest.first() {
            Some(TokenTree::Ident(word)) if word != "self" => path.push(word.to_string()),
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                let parts: Vec<TokenTree> = group.stream().into_iter().collect();
                let is_comma =
                    |it: &TokenTree| matches!(it, TokenTree::Punct(mark) if mark.as_char() == ',');
                for part in parts.split(is_comma).filter(|it| !it.is_empty()) {
                    note_rest(part, &path, paths);
                }
                return;
            }
            _ => break,
        }
        if !is_path(&rest[1..]) {
            break;
        }
        rest = &rest[3..];
    }
    paths.push(path);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::rules::Upward;

    /// What is wrong in a crate of two rooms, `low` below `high`, where `low/one.rs` holds `text`.
    fn check(text: &str, upwards: &[(&str, &str)]) -> Vec<String> {
        let rooms = Rooms {
            from_the_ground: ["low", "high"].map(str::to_owned).to_vec(),
            upwards: upwards
                .iter()
                .map(|(from, to)| Upward {
                    from: (*from).into(),
                    to: (*to).into(),
                    reason: "a test".into(),
                })
                .collect(),
        };
        let files = [
            ("lib.rs", "use crate::high::two;"),
            ("high/mod.rs", ""),
            ("high/two.rs", "use crate::low::one::A;"),
            ("low/mod.rs", ""),
            ("low/one.rs", text),
        ];
        let files = files.map(|(file, text)| (file.to_owned(), text.to_owned()));
        breaches_in("it", &rooms, &BTreeMap::from(files)).expect("it parses")
    }

    const UP: &str = "it: low/one.rs imports high/two.rs, which lies above it";

    #[test]
    fn imports_upwards_are_found_however_they_are_written() {
        for text in [
            "use crate::high::two::B;",
            "use crate::{low, high::{two::{self, B}}};",
            "fn f() { crate::high::two::b(1) }",
            "fn f() { assert!(crate::high::two::b(), \"no\") }",
            "use super::super::high::two;",
            "mod tests { use super::super::super::high::two::B; }",
        ] {
            assert_eq!(check(text, &[]), [UP], "{text}");
        }
        assert_eq!(
            check("use crate::high::*;", &[]),
            [UP.replace("two", "mod")]
        );
    }

    #[test]
    fn imports_downwards_aside_and_in_comments_are_none() {
        for text in [
            "use crate::low::one::A;",
            "use super::one::A; pub(crate) fn f() {}",
            "mod high { use super::A; }",
            "//! [`crate::high::two`]\n// crate::high::two",
        ] {
            assert_eq!(check(text, &[]), [""; 0], "{text}");
        }
    }

    #[test]
    fn an_exception_holds_as_long_as_it_is_needed() {
        let pair = [("low/one.rs", "high/two.rs")];
        assert_eq!(check("use crate::high::two::B;", &pair), [""; 0]);
        let struck = "layers.toml lets low/one.rs import high/two.rs, which it does not: strike it";
        assert_eq!(check("", &pair), [struck]);
    }
}
