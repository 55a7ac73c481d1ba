// SPDX-License-Identifier: Apache-2.0
//! The patterns of `android.os.PatternMatcher`.

/// How a pattern is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PatternKind {
    /// It is the text.
    Literal,
    /// The text begins with it.
    Prefix,
    /// `.` is any character, `*` repeats what is before it, `\` takes the next as it is.
    ///
    /// Android looks for the next character and never turns back: `.*b` is no match of `abb`.
    SimpleGlob,
    /// Sets and counts: `[a-z]`, `[^x]`, `*`, `+`, `{2,3}`. Each takes as much as it can, and
    /// nothing is given back.
    AdvancedGlob,
    /// The text ends with it.
    Suffix,
}

/// A pattern and how it is read.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pattern {
    kind: PatternKind,
    text: String,
    /// The steps of an advanced one, read once.
    steps: Vec<Step>,
}

impl Pattern {
    /// None for an advanced one that cannot be read.
    pub fn new(kind: PatternKind, text: impl Into<String>) -> Option<Self> {
        let text = text.into();
        let steps = match kind {
            PatternKind::AdvancedGlob => steps(&text)?,
            _ => Vec::new(),
        };
        Some(Self { kind, text, steps })
    }

    /// How it is read.
    pub fn kind(&self) -> PatternKind {
        self.kind
    }

    /// As it is written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the whole of `text` is as the pattern says. Linear in both.
    pub fn matches(&self, text: &str) -> bool {
        match self.kind {
            PatternKind::Literal => text == self.text,
            PatternKind::Prefix => text.starts_with(&self.text),
            PatternKind::Suffix => text.ends_with(&self.text),
            PatternKind::SimpleGlob => simple(&units(&self.text), &units(text)),
            PatternKind::AdvancedGlob => advanced(&self.steps, &units(text)),
        }
    }
}

/// Java's characters.
fn units(text: &str) -> Vec<u16> {
    text.encode_utf16().collect()
}

const fn unit(it: char) -> u16 {
    it as u16
}

/// One character of a simple pattern: the character, and whether it stands for itself.
struct Glyph {
    unit: u16,
    is_plain: bool,
}

/// Reads characters of a simple pattern, one after the other.
struct Glyphs<'a> {
    pattern: &'a [u16],
    at: usize,
}

impl Glyphs<'_> {
    fn peek(&self) -> Option<u16> {
        self.pattern.get(self.at).copied()
    }

    fn is_over(&self) -> bool {
        self.at >= self.pattern.len()
    }

    fn next(&mut self) -> Glyph {
        let is_plain = self.peek() == Some(unit('\\'));
        self.at += usize::from(is_plain);
        let unit = self.peek().unwrap_or(0);
        self.at += 1;
        Glyph { unit, is_plain }
    }
}

fn simple(pattern: &[u16], text: &[u16]) -> bool {
    if pattern.is_empty() {
        return text.is_empty();
    }
    let mut glyphs = Glyphs { pattern, at: 0 };
    let mut at = 0;
    while !glyphs.is_over() && at < text.len() {
        let glyph = glyphs.next();
        let is_any = !glyph.is_plain && glyph.unit == unit('.');
        if glyphs.peek() != Some(unit('*')) {
            // A dot is any character here, also behind a backslash.
            if glyph.unit != unit('.') && text[at] != glyph.unit {
                return false;
            }
            at += 1;
        } else if is_any {
            if glyphs.at + 1 >= pattern.len() {
                return true;
            }
            glyphs.at += 1;
            let end = glyphs.next().unit;
            let Some(found) = text[at..].iter().position(|it| *it == end) else {
                return false;
            };
            at += found + 1;
        } else {
            at += text[at..]
                .iter()
                .take_while(|it| **it == glyph.unit)
                .count();
            glyphs.at += 1;
        }
    }
    let is_tail = pattern.get(glyphs.at..) == Some(&[unit('.'), unit('*')]);
    (glyphs.is_over() && at >= text.len()) || (is_tail && at >= text.len())
}

/// What one place of an advanced pattern takes, and how often.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Step {
    ranges: Vec<(u16, u16)>,
    is_inverse: bool,
    min: u32,
    max: u32,
}

impl Step {
    fn takes(&self, it: u16) -> bool {
        let is_inside = self
            .ranges
            .iter()
            .any(|(low, high)| (*low..=*high).contains(&it));
        is_inside != self.is_inverse
    }
}

fn advanced(steps: &[Step], text: &[u16]) -> bool {
    let mut at = 0;
    for step in steps {
        let rest = &text[at..];
        let count = rest
            .iter()
            .take(step.max as usize)
            .take_while(|it| step.takes(**it))
            .count();
        if count < step.min as usize {
            return false;
        }
        at += count;
    }
    at == text.len()
}

/// The longest pattern that Android's fixed buffer of 2048 numbers takes, in characters.
const ADVANCED_UNITS_MAX: usize = 2048;

/// The steps of an advanced pattern; none if it cannot be read.
fn steps(text: &str) -> Option<Vec<Step>> {
    let pattern = units(text);
    if pattern.len() >= ADVANCED_UNITS_MAX {
        return None;
    }
    let mut steps: Vec<Step> = Vec::new();
    let mut rest = pattern.as_slice();
    let mut may_repeat = false;
    while let [first, after @ ..] = rest {
        rest = after;
        let one = |ranges| Step {
            ranges,
            is_inverse: false,
            min: 1,
            max: 1,
        };
        match char::from_u32(u32::from(*first)) {
            Some('[') => {
                steps.push(set(&mut rest)?);
                may_repeat = true;
                continue;
            }
            Some(mark @ ('*' | '+' | '{')) => {
                let last = steps.last_mut().filter(|_| may_repeat)?;
                (last.min, last.max) = match mark {
                    '*' => (0, u32::MAX),
                    '+' => (1, u32::MAX),
                    _ => counts(&mut rest)?,
                };
                may_repeat = false;
                continue;
            }
            Some('.') => steps.push(one(vec![(0, u16::MAX)])),
            Some('\\') => {
                let [plain, after @ ..] = rest else {
                    return None;
                };
                rest = after;
                steps.push(one(vec![(*plain, *plain)]));
            }
            _ => steps.push(one(vec![(*first, *first)])),
        }
        may_repeat = true;
    }
    Some(steps)
}

/// What stands between brackets; `rest` is left behind them.
fn set(rest: &mut &[u16]) -> Option<Step> {
    let take = |rest: &mut &[u16]| -> Option<u16> {
        let (first, after) = rest.split_first()?;
        *rest = after;
        Some(*first)
    };
    let is_inverse = rest.first() == Some(&unit('^'));
    if is_inverse {
        take(rest);
    }
    let mut ranges = Vec::new();
    loop {
        let mut low = take(rest)?;
        if low == unit(']') {
            break;
        }
        if low == unit('\\') {
            low = take(rest)?;
        }
        let mut high = low;
        if let [dash, end, ..] = **rest
            && dash == unit('-')
            && end != unit(']')
        {
            take(rest);
            high = take(rest)?;
            if high == unit('\\') {
                high = take(rest)?;
            }
        }
        ranges.push((low, high));
    }
    (!ranges.is_empty()).then_some(Step {
        ranges,
        is_inverse,
        min: 1,
        max: 1,
    })
}

/// The numbers between braces; `rest` is left behind them.
fn counts(rest: &mut &[u16]) -> Option<(u32, u32)> {
    let end = rest.iter().position(|it| *it == unit('}'))?;
    let inside = String::from_utf16(&rest[..end]).ok()?;
    *rest = &rest[end + 1..];
    let (min, max) = match inside.split_once(',') {
        None => {
            let count = inside.parse().ok()?;
            (count, count)
        }
        Some((min, "")) => (min.parse().ok()?, u32::MAX),
        Some((min, max)) => (min.parse().ok()?, max.parse().ok()?),
    };
    (min <= max).then_some((min, max))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn simple(pattern: &str, text: &str) -> bool {
        Pattern::new(PatternKind::SimpleGlob, pattern)
            .expect("each text is one")
            .matches(text)
    }

    fn advanced(pattern: &str, text: &str) -> Option<bool> {
        Some(Pattern::new(PatternKind::AdvancedGlob, pattern)?.matches(text))
    }

    #[test]
    fn simple_patterns_never_turn_back() {
        assert!(simple(".*", ""));
        assert!(simple("/a.*b", "/axxb"));
        assert!(!simple(".*b", "abb"), "Android takes the first b");
        assert!(simple("ab*c", "abbbc"));
        assert!(simple("a\\*", "a*"));
    }

    #[test]
    fn advanced_patterns_have_sets_and_counts() {
        assert_eq!(advanced("[a-c]{2,3}", "abc"), Some(true));
        assert_eq!(advanced("[^0-9]+", "ab1"), Some(false));
        assert_eq!(advanced("a*b", "aaab"), Some(true));
        assert_eq!(advanced("[", "x"), None);
        assert_eq!(advanced("*", "x"), None);
    }
}
