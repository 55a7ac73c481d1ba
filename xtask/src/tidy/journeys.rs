// SPDX-License-Identifier: Apache-2.0
//! Checks the functions that ARCHITECTURE.md names as `file:function`: each exists.

const PAGE: &str = "ARCHITECTURE.md";

/// A place that the page names.
#[derive(Debug, PartialEq, Eq)]
struct Place<'a> {
    file: &'a str,
    function: &'a str,
}

/// Says which of the page's places are gone.
pub(crate) fn check(breaches: &mut Vec<String>) {
    let Ok(page) = std::fs::read_to_string(PAGE) else {
        breaches.push(format!("{PAGE}: it cannot be read"));
        return;
    };
    for place in places(&page) {
        let Place { file, function } = &place;
        let is_there =
            std::fs::read_to_string(file).is_ok_and(|source| has_function(&source, function));
        if !is_there {
            breaches.push(format!("{PAGE}: no function {function} in {file}"));
        }
    }
}

/// What stands between backquotes and is a file with a colon and a name.
fn places(page: &str) -> Vec<Place<'_>> {
    let quoted = page.split('`').skip(1).step_by(2);
    quoted
        .filter_map(|it| it.split_once(':'))
        .filter(|(file, function)| file.contains('.') && !function.is_empty())
        .filter(|(_, function)| function.chars().all(|it| it.is_alphanumeric() || it == '_'))
        .map(|(file, function)| Place { file, function })
        .collect()
}

/// Rust's `fn name`, or a method of Java's: a name with an opening parenthesis, and `{` at the end.
fn has_function(source: &str, function: &str) -> bool {
    source.lines().map(str::trim).any(|line| {
        let rust = line.split_once(&format!("fn {function}"));
        let is_rust = rust.is_some_and(|(_, rest)| rest.starts_with(['(', '<']));
        let is_java = line.contains(&format!(" {function}(")) && line.ends_with('{');
        is_rust || is_java
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_files_with_functions() {
        let page = "`a/b.rs:run` and `c::d`, `e.rs` and `F.java:next`";
        let (rust, java) = (("a/b.rs", "run"), ("F.java", "next"));
        let expected = [rust, java].map(|(file, function)| Place { file, function });
        assert_eq!(places(page), expected);
    }

    #[test]
    fn functions_are_found_by_their_whole_names() {
        assert!(has_function("    pub fn run<T>(it: T) {}", "run"));
        assert!(has_function("    Message next() {", "next"));
        assert!(!has_function("fn runs() {}", "run"));
        assert!(!has_function("        return next();", "next"));
    }
}
