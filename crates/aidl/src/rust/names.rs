// SPDX-License-Identifier: Apache-2.0
//! Names of AIDL as Rust writes them.

/// Rust's words; those of older editions and those that are kept for later ones too.
const KEYWORDS: [&str; 50] = [
    "abstract",
    "as",
    "async",
    "await",
    "become",
    "box",
    "break",
    "const",
    "continue",
    "do",
    "dyn",
    "else",
    "enum",
    "extern",
    "false",
    "final",
    "fn",
    "for",
    "gen",
    "if",
    "impl",
    "in",
    "let",
    "loop",
    "macro",
    "match",
    "mod",
    "move",
    "mut",
    "override",
    "priv",
    "pub",
    "ref",
    "return",
    "static",
    "struct",
    "trait",
    "true",
    "try",
    "type",
    "typeof",
    "unsafe",
    "unsized",
    "use",
    "virtual",
    "where",
    "while",
    "yield",
    "union",
    "macro_rules",
];
/// Words that stay words whatever is put before them, and what the stubs call their own.
const RESERVED: [&str; 6] = ["self", "super", "crate", "aidl", "_", "static_"];
/// What generated code means by these.
const TAKEN: [&str; 14] = [
    "Self", "Option", "Result", "String", "Vec", "Default", "Ok", "Err", "Some", "None", "Clone",
    "Debug", "Copy", "Box",
];

pub(super) fn is_taken(name: &str) -> bool {
    TAKEN.contains(&name)
}

/// Without its package.
pub(super) fn simple(full: &str) -> &str {
    full.rsplit('.').next().unwrap_or(full)
}

/// Of a method, a parameter or a field: words parted by `_`; no keyword.
pub(super) fn field_name(name: &str) -> String {
    let snake = snake(name);
    if RESERVED.contains(&snake.as_str()) {
        format!("{snake}_")
    } else if KEYWORDS.contains(&snake.as_str()) {
        format!("r#{snake}")
    } else {
        snake
    }
}

/// Of a constant.
pub(super) fn upper(name: &str) -> String {
    snake(name).to_ascii_uppercase()
}

/// `someXMLName` is `some_xml_name`.
pub(super) fn snake(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    let letters = name.as_bytes();
    for (index, it) in letters.iter().enumerate() {
        let last = index.checked_sub(1).map(|it| letters[it]);
        let next = letters.get(index + 1);
        let ends_word = last.is_some_and(|it| it.is_ascii_lowercase() || it.is_ascii_digit());
        let ends_acronym = last.is_some_and(|it| it.is_ascii_uppercase())
            && next.is_some_and(u8::is_ascii_lowercase);
        if it.is_ascii_uppercase() && (ends_word || ends_acronym) {
            snake.push('_');
        }
        snake.push(char::from(it.to_ascii_lowercase()));
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_as_rust_does() {
        for (aidl, rust) in [
            ("greet", "greet"),
            ("setPosition", "set_position"),
            ("someXMLName", "some_xml_name"),
            ("x2Y", "x2_y"),
            ("type", "r#type"),
            ("self", "self_"),
        ] {
            assert_eq!(field_name(aidl), rust);
        }
        assert_eq!(upper("VERSION_2"), "VERSION_2");
        assert_eq!(upper("kRed"), "K_RED");
    }
}
