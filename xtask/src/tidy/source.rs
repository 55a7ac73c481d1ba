// SPDX-License-Identifier: Apache-2.0
//! Sizes, licence lines and unsafe code, read from the source files that git knows.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::tidy::prose;
use crate::tidy::rules::Rules;

const LICENCE_LINE: &str = "SPDX-License-Identifier:";
const SOURCE_ENDINGS: [&str; 6] = ["rs", "java", "c", "h", "ts", "S"];

/// Checks every source file; returns "crate n" for each crate that holds unsafe code.
pub(crate) fn check(rules: &Rules, breaches: &mut Vec<String>) -> Result<Vec<String>> {
    let mut documents = prose::Census::default();
    let mut unsafe_counts = std::collections::BTreeMap::<String, usize>::new();
    for path in tracked_files()? {
        let Some(ending) = Path::new(&path).extension().and_then(|it| it.to_str()) else {
            continue;
        };
        let is_document = ending == "md";
        if !is_document && !SOURCE_ENDINGS.contains(&ending) {
            continue;
        }
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
        if is_document {
            documents.read(&rules.prose, &path, &text, breaches);
            continue;
        }
        check_file(rules, &path, &text, breaches);
        if ending == "rs" {
            let census = census(rules, &path, &text, breaches)?;
            *unsafe_counts.entry(crate_of(&path)).or_default() += census;
        }
    }
    documents.judge(&rules.prose, breaches);
    for (name, room) in &rules.crates {
        let count = unsafe_counts.get(name).copied().unwrap_or(0);
        if count > room.unsafe_max {
            breaches.push(format!(
                "'{name}' holds {count} unsafe blocks, layers.toml allows {}",
                room.unsafe_max
            ));
        }
    }
    Ok(unsafe_counts
        .into_iter()
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| format!("{name} {count}"))
        .collect())
}

/// Tracked and new files alike: a breach shows before it is committed.
fn tracked_files() -> Result<Vec<String>> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .output()
        .context("cannot start git")?;
    if !output.status.success() {
        bail!(
            "git ls-files: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    let names = String::from_utf8(output.stdout).context("a file name is not UTF-8")?;
    Ok(names
        .lines()
        .filter(|it| Path::new(it).is_file())
        .map(str::to_owned)
        .collect())
}

/// One form of modules: a module with modules of its own is a folder with a `mod.rs`.
fn check_form(path: &str, breaches: &mut Vec<String>) {
    let folder = path.strip_suffix(".rs").filter(|it| Path::new(it).is_dir());
    // Cargo's own form for tests: `tests` holds programs, not modules.
    if let Some(folder) = folder.filter(|it| !it.ends_with("/tests")) {
        breaches.push(format!(
            "{path}: it has modules in {folder}/, so it is {folder}/mod.rs"
        ));
    }
}

fn check_file(rules: &Rules, path: &str, text: &str, breaches: &mut Vec<String>) {
    check_form(path, breaches);
    if !text.lines().take(2).any(|line| line.contains(LICENCE_LINE)) {
        breaches.push(format!("{path}: the first line lacks '{LICENCE_LINE} …'"));
    }
    let mut is_fenced = false;
    for (index, line) in text.lines().enumerate() {
        let length = line.chars().count();
        let is_fence = is_comment(line) && line.contains("```");
        is_fenced ^= is_fence;
        if length > rules.prose.line_max && is_comment(line) && !is_fenced && !is_row(line) {
            breaches.push(format!(
                "{path}:{}: a comment of {length} characters, at most {}",
                index + 1,
                rules.prose.line_max
            ));
        }
    }
    let line_count = text.lines().count();
    let line_max = rules
        .long_files
        .get(path)
        .map_or(rules.limits.file_lines_max, |it| it.lines_max);
    if line_count > line_max {
        breaches.push(format!(
            "{path}: {line_count} lines, at most {line_max}: would it be two rooms?"
        ));
    } else if line_count > rules.limits.file_lines_warn && !rules.long_files.contains_key(path) {
        println!("tidy: remark: {path} has grown to {line_count} lines");
    }
}

/// Is the line a comment and nothing else? What holds an address is not broken.
fn is_comment(line: &str) -> bool {
    let text = line.trim_start();
    let is_one = ["//", "/*", "* "].iter().any(|it| text.starts_with(it));
    is_one && !text.contains("://")
}

/// A row of a table in a comment.
fn is_row(line: &str) -> bool {
    line.trim_start_matches([' ', '/', '!', '*'])
        .starts_with("| ")
}

/// Counts unsafe code in one file and reports functions that are too long.
fn census(rules: &Rules, path: &str, text: &str, breaches: &mut Vec<String>) -> Result<usize> {
    let file = syn::parse_file(text).with_context(|| format!("{path} does not parse"))?;
    let mut visitor = Census {
        rules,
        path,
        breaches,
        unsafe_count: 0,
    };
    visitor.visit_file(&file);
    Ok(visitor.unsafe_count)
}

/// The crate that a path belongs to: the folder that names it.
fn crate_of(path: &str) -> String {
    let mut parts = path.split('/');
    match (parts.next(), parts.next()) {
        (Some("crates" | "bench" | "tests" | "examples"), Some(name)) => name.to_owned(),
        (Some(first), _) => first.to_owned(),
        (None, _) => String::new(),
    }
}

struct Census<'a> {
    rules: &'a Rules,
    path: &'a str,
    breaches: &'a mut Vec<String>,
    unsafe_count: usize,
}

impl Census<'_> {
    fn check_function(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let start = signature.span().start().line;
        let line_count = block.span().end().line + 1 - start;
        let key = format!("{}::{}", self.path, signature.ident);
        let line_max = self
            .rules
            .long_functions
            .get(&key)
            .map_or(self.rules.limits.function_lines_max, |it| it.lines_max);
        if line_count > line_max {
            self.breaches
                .push(format!("{key}: {line_count} lines, at most {line_max}"));
        }
        self.unsafe_count += usize::from(signature.unsafety.is_some());
    }
}

impl<'ast> Visit<'ast> for Census<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.check_function(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.check_function(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        self.unsafe_count += usize::from(item.unsafety.is_some());
        visit::visit_item_impl(self, item);
    }

    fn visit_expr_unsafe(&mut self, item: &'ast syn::ExprUnsafe) {
        self.unsafe_count += 1;
        visit::visit_expr_unsafe(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_module_lies_beside_its_folder() {
        let breaches = |path: &str| {
            let mut breaches = Vec::new();
            check_form(path, &mut breaches);
            breaches
        };
        // The folder is there, as cargo starts tests in the package's own.
        assert_eq!(
            breaches("src/tidy.rs"),
            ["src/tidy.rs: it has modules in src/tidy/, so it is src/tidy/mod.rs"]
        );
        assert!(breaches("src/tidy/mod.rs").is_empty());
        assert!(breaches("src/tidy/source.rs").is_empty());
    }
}
