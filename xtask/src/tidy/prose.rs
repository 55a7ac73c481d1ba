// SPDX-License-Identifier: Apache-2.0
//! Documents that a person reads with ease: words in a sentence, characters in a line.
//!
//! Counted is what is read as text: paragraphs and items of lists, without code, tables, headings
//! and the targets of links. A sentence ends at `.`, `!` or `?` before a space, and where its
//! paragraph or item does.

use crate::tidy::rules::Prose;

/// Sentences of documents, as their numbers of words.
#[derive(Default)]
pub(crate) struct Census {
    words: Vec<usize>,
}

impl Census {
    /// Reads a document; what breaks the rule of one line or one sentence is a breach at once.
    pub(crate) fn read(&mut self, rules: &Prose, path: &str, text: &str, out: &mut Vec<String>) {
        for (number, line) in outside_code(text) {
            let length = line.chars().count();
            if length > rules.line_max && !line.trim_start().starts_with('|') {
                out.push(format!(
                    "{path}:{number}: {length} characters, at most {}",
                    rules.line_max
                ));
            }
        }
        for sentence in sentences(text) {
            self.words.push(sentence.split_whitespace().count());
        }
    }

    /// What all documents together must keep to.
    pub(crate) fn judge(&self, rules: &Prose, out: &mut Vec<String>) {
        let count = self.words.len().max(1) as f64;
        let mean = self.words.iter().sum::<usize>() as f64 / count;
        let long = self.words.iter().filter(|it| **it > rules.long_words);
        let share = 100.0 * long.count() as f64 / count;
        println!(
            "tidy: {} sentences of {mean:.1} words, {share:.1} % above {}",
            self.words.len(),
            rules.long_words
        );
        if mean > rules.mean_words_max || share > rules.long_percent_max {
            out.push(format!(
                "the documents have {mean:.1} words a sentence and {share:.1} % of them above {}: \
                 at most {} and {} %",
                rules.long_words, rules.mean_words_max, rules.long_percent_max
            ));
        }
    }
}

/// Lines with their numbers, without fenced and indented code.
fn outside_code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_fenced = false;
    let mut is_indented = true;
    text.lines().enumerate().filter_map(move |(index, line)| {
        if line.trim_start().starts_with("```") {
            is_fenced = !is_fenced;
            return None;
        }
        // Four spaces are code after a blank line or more code, and part of an item elsewhere.
        is_indented = line.is_empty() || is_indented && line.starts_with("    ");
        (!is_fenced && (!is_indented || line.is_empty())).then_some((index + 1, line))
    })
}

fn sentences(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut paragraph = String::new();
    for (_, line) in outside_code(text) {
        let line = line.trim();
        let is_apart = line.is_empty() || line.starts_with(['|', '#']);
        let item = item_text(line);
        if is_apart || item.is_some() {
            end_paragraph(&mut paragraph, &mut found);
        }
        if !is_apart {
            paragraph.push_str(item.unwrap_or(line));
            paragraph.push(' ');
        }
    }
    end_paragraph(&mut paragraph, &mut found);
    found
}

/// The text of a list's item.
fn item_text(line: &str) -> Option<&str> {
    let digits = line.trim_start_matches(|it: char| it.is_ascii_digit());
    if digits.len() < line.len() {
        return digits.strip_prefix(". ");
    }
    line.strip_prefix("- ").or_else(|| line.strip_prefix("* "))
}

fn end_paragraph(paragraph: &mut String, found: &mut Vec<String>) {
    let text = without_marks(paragraph);
    paragraph.clear();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let end = sentence_end(rest).unwrap_or(rest.len());
        let (sentence, after) = rest.split_at(end);
        // A word alone is a label or a number.
        if sentence.split_whitespace().count() > 1 {
            found.push(sentence.to_owned());
        }
        rest = after.trim_start();
    }
}

/// Behind the first mark that ends a sentence.
fn sentence_end(text: &str) -> Option<usize> {
    let is_close = |it: char| matches!(it, '.' | '!' | '?' | '"' | ')' | '*' | '_');
    text.match_indices(['.', '!', '?']).find_map(|(at, _)| {
        let rest = text[at..].trim_start_matches(is_close);
        rest.starts_with(' ').then_some(text.len() - rest.len())
    })
}

/// Code is one word, a link its text.
fn without_marks(text: &str) -> String {
    let code: String = text
        .split('`')
        .enumerate()
        .map(|(index, part)| if index % 2 == 1 { "code" } else { part })
        .collect();
    let mut plain = String::new();
    for part in code.split("](") {
        match plain.is_empty() {
            true => plain.push_str(part),
            false => plain.push_str(part.split_once(')').map_or("", |it| it.1)),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: Prose = Prose {
        line_max: 40,
        long_words: 4,
        mean_words_max: 4.0,
        long_percent_max: 40.0,
    };

    fn check(text: &str) -> (Vec<usize>, Vec<String>) {
        let mut breaches = Vec::new();
        let mut census = Census::default();
        census.read(&RULES, "x.md", text, &mut breaches);
        census.judge(&RULES, &mut breaches);
        (census.words, breaches)
    }

    #[test]
    fn sentences_end_with_marks_paragraphs_and_items() {
        let text = "# Not this\n\nOne `a. b c` two. See\n[a link](http://x.y/z(1) here!\n\n\
                    - first item\n- second\n  item goes on\n\n    code is none\n\n```\nnor this\n```\n\
                    | nor | a table |\n\n12.5 is no end.\n";
        assert_eq!(check(text).0, [3, 4, 2, 4, 4]);
    }

    #[test]
    fn long_lines_and_long_sentences_are_breaches() {
        let line = "x".repeat(41);
        let (_, breaches) = check(&format!("{line}\n\n    {line}\n\n| {line} |\n"));
        assert_eq!(breaches, ["x.md:1: 41 characters, at most 40"]);
        let (_, breaches) = check("a b c d e f.\n");
        assert!(breaches[0].contains("6.0 words"), "{breaches:?}");
        let (_, breaches) = check("a b c d e. a b. a b. a b.\n");
        assert_eq!(breaches, Vec::<String>::new());
    }
}
