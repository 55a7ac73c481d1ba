// SPDX-License-Identifier: Apache-2.0
//! Examples in documentation, which rustdoc compiles and runs.
//!
//! `cargo test --workspace --doc` builds every library once more, since features that only tests
//! ask for do not count there. So Cargo gets the packages that have an example, and no others.

use std::path::Path;

use anyhow::{Context, Result, bail};
use cargo_metadata::MetadataCommand;

use crate::stage::{cargo_command, command};

/// Runs those of all packages.
pub(crate) fn run() -> Result<()> {
    let metadata = MetadataCommand::new().no_deps().exec()?;
    let mut cargo = cargo_command();
    cargo.args(["test", "--locked", "--quiet", "--doc"]);
    let mut is_any = false;
    for package in metadata.packages {
        // A program's documentation is not compiled.
        if !package.targets.iter().any(|it| it.doctest) {
            continue;
        }
        let folder = package.manifest_path.parent().context("a folder")?;
        if any_below(folder.join("src").as_std_path())? {
            cargo.args(["--package", package.name.as_str()]);
            is_any = true;
        }
    }
    if !is_any {
        bail!("no package has an example in its documentation");
    }
    command(&mut cargo)
}

/// Is there an example in a source file of this folder or below?
fn any_below(folder: &Path) -> Result<bool> {
    let entries = std::fs::read_dir(folder);
    for entry in entries.with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        let is_source = path.extension().is_some_and(|it| it == "rs");
        let has_one = match path.is_dir() {
            true => any_below(&path)?,
            false => is_source && is_in(&std::fs::read_to_string(&path)?),
        };
        if has_one {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Forms of documentation that are not looked into.
const UNREAD: [&str; 4] = ["#[doc =", "#![doc =", "/**", "/*!"];

/// Is there something that rustdoc may take for an example? That is a block which is not marked as
/// text, a paragraph that is indented by four, or documentation in another form.
fn is_in(source: &str) -> bool {
    let (mut is_fenced, mut is_behind_a_gap) = (false, true);
    for line in source.lines().map(str::trim_start) {
        if UNREAD.iter().any(|it| line.starts_with(it)) {
            return true;
        }
        let marks = ["///", "//!"];
        let Some(text) = marks.iter().find_map(|it| line.strip_prefix(it)) else {
            (is_fenced, is_behind_a_gap) = (false, true);
            continue;
        };
        let fences = ["```", "~~~"];
        let fence = fences
            .iter()
            .find_map(|it| text.trim_start().strip_prefix(it));
        let is_indented = text.starts_with("     ") && is_behind_a_gap;
        match fence {
            Some(kind) if !is_fenced && kind.trim() != "text" => return true,
            Some(_) => is_fenced = !is_fenced,
            None if !is_fenced && is_indented => return true,
            None => {}
        }
        is_behind_a_gap = text.trim().is_empty();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_rustdoc_would_run() {
        for source in [
            "/// ```\n/// f();\n/// ```",
            "    //! ```compile_fail\n    //! f();\n    //! ```",
            "/// ```text\n/// a\n/// ```\n///\n/// ```\n/// f();\n/// ```",
            "/// Thus:\n///\n///     f();",
            "/// ~~~\n/// f();\n/// ~~~",
            "#![doc = include_str!(\"page.md\")]",
            "/** Thus: */",
        ] {
            assert!(is_in(source), "{source}");
        }
        for source in [
            "/// ```text\n///\n///     a\n/// ```",
            "/// One word of three.\n///     More of it.",
            "// ```\n// f();\n// ```",
            "let fence = \"```\";",
        ] {
            assert!(!is_in(source), "{source}");
        }
    }

    #[test]
    fn knows_packages_with_one_and_without() {
        // Cargo starts tests in the package's folder.
        assert!(any_below(Path::new("../crates/rt/src")).expect("sources"));
        assert!(!any_below(Path::new("../crates/abi/src")).expect("sources"));
    }
}
