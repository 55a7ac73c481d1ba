// SPDX-License-Identifier: Apache-2.0
//! [`Lexer`]: a file as tokens, each with its place. Comments are passed over.

use crate::error::{Fault, Problem, Span};

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Lexer<'a> {
    rest: &'a str,
    here: Span,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token<'a> {
    Word(&'a str),
    Number(&'a str),
    /// What stands between the quotes: printable ASCII without a backslash, as Debian's `aidl` has.
    Text(&'a str),
    Character(char),
    Symbol(char),
    End,
}

impl Token<'_> {
    /// For a message.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Word(it) | Self::Number(it) => format!("`{it}`"),
            Self::Text(it) => format!("\"{it}\""),
            Self::Character(it) => format!("'{it}'"),
            Self::Symbol(it) => format!("`{it}`"),
            Self::End => "the end of the file".into(),
        }
    }
}

const SYMBOLS: &str = "{}()[]<>;,.=@-+*/%!~&|^?:";

impl<'a> Lexer<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let here = Span { line: 1, column: 1 };
        Self { rest: text, here }
    }

    /// The next token, and where it begins. Behind the end there is the end again.
    pub(crate) fn next(&mut self) -> Result<(Span, Token<'a>), Fault> {
        self.pass_blanks()?;
        let span = self.here;
        let Some(first) = self.rest.chars().next() else {
            return Ok((span, Token::End));
        };
        let token = match first {
            'a'..='z' | 'A'..='Z' | '_' => Token::Word(self.take_while(is_of_word)),
            '0'..='9' => Token::Number(self.take_while(|it| is_of_word(it) || it == '.')),
            '"' => Token::Text(self.quoted('"', "a text without its end")?),
            '\'' => {
                let inner = self.quoted('\'', "a character without its end")?;
                let mut inner = inner.chars();
                match (inner.next(), inner.next()) {
                    (Some(it), None) => Token::Character(it),
                    _ => return Err((span, Problem::Malformed("no single character"))),
                }
            }
            it if SYMBOLS.contains(it) => {
                self.take(it.len_utf8());
                Token::Symbol(it)
            }
            _ => {
                return Err((
                    span,
                    Problem::Malformed("a character that has no place here"),
                ));
            }
        };
        Ok((span, token))
    }

    fn pass_blanks(&mut self) -> Result<(), Fault> {
        loop {
            self.take_while(char::is_whitespace);
            if self.rest.starts_with("//") {
                self.take_while(|it| it != '\n');
            } else if self.rest.starts_with("/*") {
                let end = self.rest[2..].find("*/");
                let end =
                    end.ok_or((self.here, Problem::Malformed("a comment without its end")))?;
                self.take(end + 4);
            } else {
                return Ok(());
            }
        }
    }

    fn quoted(&mut self, quote: char, endless: &'static str) -> Result<&'a str, Fault> {
        let start = self.here;
        self.take(1);
        let inner = self.take_while(|it| it != quote && (' '..='~').contains(&it) && it != '\\');
        match self.rest.chars().next() {
            Some(it) if it == quote => {
                self.take(1);
                Ok(inner)
            }
            None | Some('\n') => Err((start, Problem::Malformed(endless))),
            Some(_) => {
                let what = "only printable ASCII without backslashes stands between quotes";
                Err((self.here, Problem::Malformed(what)))
            }
        }
    }

    fn take_while(&mut self, is_taken: impl Fn(char) -> bool) -> &'a str {
        let size = self.rest.find(|it| !is_taken(it));
        self.take(size.unwrap_or(self.rest.len()))
    }

    fn take(&mut self, size: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(size);
        self.rest = rest;
        for it in taken.chars() {
            if it == '\n' {
                self.here.line = self.here.line.saturating_add(1);
                self.here.column = 1;
            } else {
                self.here.column = self.here.column.saturating_add(1);
            }
        }
        taken
    }
}

fn is_of_word(it: char) -> bool {
    it.is_ascii_alphanumeric() || it == '_'
}
