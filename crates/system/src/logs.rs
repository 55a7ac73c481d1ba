// SPDX-License-Identifier: Apache-2.0
//! [`Logs`]: the last lines of each process, also of some that have ended.

use std::collections::VecDeque;

use crate::protocol::LogLine;

/// Lines that are kept of one process: what a start and a crash say, several times.
pub(crate) const LINES_MAX: usize = 512;
/// Bytes of one line; Android's logger cuts at as many.
pub(crate) const LINE_BYTES_MAX: usize = 4_096;
/// Processes whose lines are kept: those that may run at once, and as many that have ended.
pub(crate) const PROCESSES_MAX: usize = 128;

/// A ring of one process.
struct Ring {
    pid: u32,
    process: String,
    package: String,
    /// With the number of each in the order of all.
    lines: VecDeque<(u64, LogLine)>,
    /// What came without its end yet.
    rest: Vec<u8>,
    dropped: u64,
}

/// See the module.
#[derive(Default)]
pub(crate) struct Logs {
    /// The oldest first.
    rings: VecDeque<Ring>,
    count: u64,
}

impl Logs {
    /// A process begins.
    pub(crate) fn begin(&mut self, pid: u32, process: &str, package: &str) {
        if self.rings.len() >= PROCESSES_MAX {
            self.rings.pop_front();
        }
        self.rings.push_back(Ring {
            pid,
            process: process.to_owned(),
            package: package.to_owned(),
            lines: VecDeque::new(),
            rest: Vec::new(),
            dropped: 0,
        });
    }

    /// A process has written these bytes.
    pub(crate) fn hear(&mut self, pid: u32, bytes: &[u8]) {
        let Some(ring) = self.rings.iter_mut().rev().find(|it| it.pid == pid) else {
            return;
        };
        for byte in bytes {
            let is_full = ring.rest.len() >= LINE_BYTES_MAX;
            if *byte != b'\n' && !is_full {
                ring.rest.push(*byte);
                continue;
            }
            let line = std::mem::take(&mut ring.rest);
            if is_full && *byte != b'\n' {
                ring.rest.push(*byte);
            }
            let text = String::from_utf8_lossy(&line).into_owned();
            let line = parse(pid, &ring.process, text);
            if ring.lines.len() >= LINES_MAX {
                ring.lines.pop_front();
                ring.dropped += 1;
            }
            self.count += 1;
            ring.lines.push_back((self.count, line));
        }
    }

    /// All lines, of one package or of all, in the order in which they came.
    #[cfg(test)]
    fn lines(&self, package: Option<&str>) -> Vec<LogLine> {
        self.since(0, package).0
    }

    /// The lines behind that number, and the number of the last line of all.
    pub(crate) fn since(&self, number: u64, package: Option<&str>) -> (Vec<LogLine>, u64) {
        let rings = self.rings.iter();
        let rings = rings.filter(|it| package.is_none_or(|of| it.package == of));
        let new = |ring: &'_ Ring| ring.lines.partition_point(|it| it.0 <= number);
        let mut lines: Vec<&(u64, LogLine)> =
            rings.flat_map(|it| it.lines.range(new(it)..)).collect();
        lines.sort_by_key(|it| it.0);
        let lines = lines.into_iter().map(|it| it.1.clone()).collect();
        (lines, self.count)
    }

    /// Lines that are kept, and lines that had to go.
    pub(crate) fn counts(&self) -> (usize, u64) {
        let kept = self.rings.iter().map(|it| it.lines.len()).sum();
        (kept, self.rings.iter().map(|it| it.dropped).sum())
    }
}

/// Reads priority and tag out of logcat's form; what is in no such form is a remark of its own.
fn parse(pid: u32, process: &str, text: String) -> LogLine {
    let (priority, tag) = head(&text).unwrap_or(('I', "stderr"));
    LogLine {
        pid,
        process: process.to_owned(),
        priority,
        tag: tag.to_owned(),
        text,
    }
}

/// `MM-DD hh:mm:ss.mmm PID TID L Tag: text`.
fn head(text: &str) -> Option<(char, &str)> {
    let mut rest = text;
    let mut word = || {
        rest = rest.trim_start();
        let (word, after) = rest.split_once(' ')?;
        rest = after;
        Some(word)
    };
    let (date, time) = (word()?, word()?);
    let is_date = date.len() == 5 && date.as_bytes()[2] == b'-' && time.contains(':');
    let numbers = [word()?, word()?];
    let is_numbered = numbers.iter().all(|it| it.parse::<u32>().is_ok());
    let mut letters = word()?.chars();
    let priority = letters.next()?;
    let is_priority = "VDIWEF".contains(priority) && letters.next().is_none();
    let (tag, _) = rest.split_once(": ")?;
    (is_date && is_numbered && is_priority).then_some((priority, tag.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_priority_and_tag() {
        let mut logs = Logs::default();
        logs.begin(7, "p.one", "p.one");
        logs.begin(8, "p.two", "p.two");
        logs.hear(7, b"11-25 13:00:00.500     7     9 E Tag     : one: ");
        logs.hear(8, b"a word of the launcher\n");
        logs.hear(7, b"two\n");
        let lines = logs.lines(None);
        let heads: Vec<_> = lines
            .iter()
            .map(|it| (it.pid, it.priority, it.tag.as_str()))
            .collect();
        assert_eq!(heads, [(8, 'I', "stderr"), (7, 'E', "Tag")]);
        assert!(lines[1].text.ends_with("one: two"));
        assert_eq!(logs.lines(Some("p.one")).len(), 1);
        let (newer, last) = logs.since(1, None);
        assert_eq!((newer.as_slice(), last), (&lines[1..], 2));
        assert!(logs.since(last, None).0.is_empty());
    }

    #[test]
    fn lines_and_rings_are_bounded() {
        let mut logs = Logs::default();
        for pid in 0..(PROCESSES_MAX as u32 + 10) {
            logs.begin(pid, "p", "p");
        }
        logs.hear(3, b"its ring is gone\n");
        assert_eq!(logs.counts(), (0, 0));
        for _ in 0..(LINES_MAX + 5) {
            logs.hear(100, b"x\n");
        }
        assert_eq!(logs.counts(), (LINES_MAX, 5));
        logs.hear(101, &[b'y'; LINE_BYTES_MAX + 10]);
        logs.hear(101, b"\n");
        let long = logs.lines(None);
        let long: Vec<usize> = long.iter().rev().take(2).map(|it| it.text.len()).collect();
        assert_eq!(long, [10, LINE_BYTES_MAX]);
    }
}
