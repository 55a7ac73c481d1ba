// SPDX-License-Identifier: Apache-2.0
//! How answers of `takt system` are shown, on this terminal ([`ask`]) and to a client of `adb`
//! alike.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::os::fd::BorrowedFd;
use std::process::ExitCode;

use ::system::Client;
use ::system::bridge::Show;
use ::system::protocol::{Answer, LogLine, ProcessRow, Request, RunState};
use anyhow::Result;
use serde::Serialize;

use super::Endpoint;

/// The server said no.
const EXIT_REFUSED: u8 = 1;

/// Asks, shows the answer, and says what came of it.
pub(super) fn ask(endpoint: &Endpoint, request: &Request, show: impl Show) -> Result<ExitCode> {
    ask_with(endpoint, request, (None, ""), show)
}

/// The same with a file, and what a refusal is about.
pub(super) fn ask_with(
    endpoint: &Endpoint,
    request: &Request,
    (file, what): (Option<BorrowedFd<'_>>, &str),
    mut show: impl Show,
) -> Result<ExitCode> {
    let client = Client::connect(&endpoint.path()?)?;
    let mut out = std::io::stdout().lock();
    let mut failed = None;
    let outcome = client.ask(request, file, |it| {
        let text = show.part(it);
        if failed.is_none() {
            failed = out.write_all(text.as_bytes()).err();
        }
    })?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    match outcome {
        Ok(text) => {
            out.write_all(show.end(&text).as_bytes())?;
            Ok(ExitCode::SUCCESS)
        }
        Err(text) => {
            eprintln!("takt: refused: {what}{text}");
            Ok(ExitCode::from(EXIT_REFUSED))
        }
    }
}

/// The last words alone.
pub(super) struct Said;

impl Show for Said {
    fn part(&mut self, _: Answer) -> String {
        String::new()
    }

    fn end(&mut self, last: &str) -> String {
        format!("{last}\n")
    }
}

/// Texts as they come.
pub(super) struct Texts;

impl Show for Texts {
    fn part(&mut self, answer: Answer) -> String {
        match answer {
            Answer::Text(text) => text,
            _ => String::new(),
        }
    }

    fn end(&mut self, _: &str) -> String {
        String::new()
    }
}

/// From the least urgent; the last is no line's, and silences.
const PRIORITIES: &str = "VDIWEFS";
const SILENT: char = 'S';

/// What a person writes for a line's priority.
pub(super) fn priority(text: &str) -> Result<char, String> {
    let lines = PRIORITIES.trim_end_matches(SILENT);
    match text.chars().next().filter(|it| lines.contains(*it)) {
        Some(it) if text.len() == 1 => Ok(it),
        _ => Err(format!("one of {lines} is wanted")),
    }
}

/// Which lines are wanted.
pub(super) struct Filter {
    pid: Option<u32>,
    least: char,
    /// What lines of a tag must be.
    tags: BTreeMap<String, char>,
    /// What lines of all other tags must be.
    others: char,
}

impl Filter {
    /// Lines of a process, or of all, at least as urgent.
    pub(super) fn of(pid: Option<u32>, least: char) -> Self {
        Self {
            pid,
            least,
            tags: BTreeMap::new(),
            others: 'V',
        }
    }

    /// Those of a tag from this priority on.
    pub(super) fn add(&mut self, tag: &str, least: char) {
        self.tags.insert(tag.to_owned(), least);
    }

    /// No line whose tag was not added.
    pub(super) fn silence(&mut self) {
        self.others = SILENT;
    }

    /// As `logcat` has it: `TAG:PRIORITY`, `TAG`, or `*:PRIORITY` for all others.
    pub(super) fn add_spec(&mut self, spec: &str) -> Result<(), String> {
        let (tag, least) = match spec.rsplit_once(':') {
            None => (spec, 'V'),
            Some((tag, "S")) => (tag, SILENT),
            Some((tag, least)) => (tag, priority(least).map_err(|it| format!("{spec}: {it}"))?),
        };
        match tag {
            "" => return Err(format!("{spec}: TAG:PRIORITY is wanted")),
            "*" => self.others = least,
            tag => self.add(tag, least),
        }
        Ok(())
    }

    fn wants(&self, it: &LogLine) -> bool {
        let least = self.tags.get(&it.tag).unwrap_or(&self.others);
        let is_urgent = |least: &char| PRIORITIES.find(it.priority) >= PRIORITIES.find(*least);
        self.pid.is_none_or(|pid| it.pid == pid) && is_urgent(&self.least) && is_urgent(least)
    }
}

/// Lines of logs.
pub(super) struct Lines {
    filter: Filter,
    is_json: bool,
}

impl Lines {
    /// Those that a filter lets through.
    pub(super) fn new(filter: Filter, is_json: bool) -> Self {
        Self { filter, is_json }
    }
}

impl Show for Lines {
    fn part(&mut self, answer: Answer) -> String {
        match answer {
            Answer::Line(line) if self.filter.wants(&line) => {
                let text = match self.is_json {
                    true => serde_json::to_string(&line).unwrap_or_default(),
                    false => line.text,
                };
                format!("{text}\n")
            }
            _ => String::new(),
        }
    }

    fn end(&mut self, _: &str) -> String {
        String::new()
    }
}

/// Processes, shown when all are there.
pub(super) struct Table {
    is_json: bool,
    rows: Vec<ProcessRow>,
}

#[derive(Serialize)]
struct PsJson {
    program: &'static str,
    version: &'static str,
    processes: Vec<ProcessRow>,
}

impl Table {
    /// An empty one.
    pub(super) fn new(is_json: bool) -> Self {
        let rows = Vec::new();
        Self { is_json, rows }
    }
}

impl Show for Table {
    fn part(&mut self, answer: Answer) -> String {
        if let Answer::Process(row) = answer {
            self.rows.push(row);
        }
        String::new()
    }

    fn end(&mut self, _: &str) -> String {
        let processes = std::mem::take(&mut self.rows);
        if self.is_json {
            let json = PsJson {
                program: "takt ps",
                version: env!("CARGO_PKG_VERSION"),
                processes,
            };
            let text = serde_json::to_string_pretty(&json).unwrap_or_default();
            return format!("{text}\n");
        }
        let mut text = format!(
            "{:<32} {:<9} {:>7} {:>6} {:>8} {:>9} {:>7} {:>9} {:>7} {:>9} {:>7} {:>8} {:>8}\n",
            "PROCESS",
            "STATE",
            "PID",
            "FAULTS",
            "AGAIN",
            "KIB",
            "THREADS",
            "REAL-TIME",
            "GRANTED",
            "RELEASES",
            "MISSED",
            "OVERRUNS",
            "SANDBOX"
        );
        for it in &processes {
            // Nothing fails that is written to a text.
            let _ = writeln!(text, "{}", line(it));
        }
        text
    }
}

fn line(it: &ProcessRow) -> String {
    let state = match it.state {
        RunState::Running => "running",
        RunState::Starting => "starting",
        RunState::HeldBack => "held-back",
    };
    let again = it.restart_in_ms.map(|it| format!("{}s", it.div_ceil(1000)));
    let missing = it
        .sandbox
        .as_ref()
        .map(|all| all.iter().filter(|it| !it.holds).count());
    let sandbox = match (it.pid, missing) {
        (None, _) => "-".to_owned(),
        (_, None) => "none".to_owned(),
        (_, Some(0)) => "whole".to_owned(),
        (_, Some(count)) => format!("lacks {count}"),
    };
    let number = |it: Option<u64>| it.map_or_else(|| "-".to_owned(), |it| it.to_string());
    format!(
        "{:<32} {:<9} {:>7} {:>6} {:>8} {:>9} {:>7} {:>9} {:>7} {:>9} {:>7} {:>8} {:>8}",
        it.name,
        state,
        number(it.pid.map(u64::from)),
        it.faults,
        again.as_deref().unwrap_or("-"),
        number(it.memory_kib),
        number(it.threads.map(u64::from)),
        number(it.real_time_threads.map(u64::from)),
        number(it.real_time_max.map(u64::from)),
        number(it.ledger.map(|it| it.releases)),
        number(it.ledger.map(|it| it.deadline_misses)),
        number(it.ledger.map(|it| it.cost_overruns)),
        sandbox
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_logcats() {
        let line = |priority, tag: &str| LogLine {
            pid: 7,
            process: String::new(),
            priority,
            tag: tag.to_owned(),
            text: String::new(),
        };
        let mut filter = Filter::of(None, 'V');
        for spec in ["One:W", "Two", "*:S"] {
            filter.add_spec(spec).unwrap();
        }
        let wanted = |priority, tag| filter.wants(&line(priority, tag));
        assert!(wanted('W', "One") && !wanted('I', "One"));
        assert!(wanted('V', "Two") && !wanted('F', "Three"));
        assert!(Filter::of(Some(7), 'I').wants(&line('I', "One")));
        assert!(!Filter::of(Some(8), 'I').wants(&line('I', "One")));
        assert!(!Filter::of(None, 'W').wants(&line('I', "One")));
        for spec in ["", ":W", "One:X", "One:"] {
            assert!(Filter::of(None, 'V').add_spec(spec).is_err(), "{spec}");
        }
    }
}
