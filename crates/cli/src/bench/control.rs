// SPDX-License-Identifier: Apache-2.0
//! How late a control task is beside a native thread of its policy: rows, their rule, their table.

use anyhow::{Context as _, Result};
use report::Table;
use serde::{Deserialize, Serialize};

/// The control task's worst beside the native thread's, and above its own alone.
const TIMES_MAX: f64 = 1.2;
const ABOVE_NS_MAX: u64 = 20_000;

/// What goes on beside the control task for a while.
pub(super) trait Window: Copy + PartialEq {
    /// As the application says it.
    fn name(self) -> &'static str;
}

/// Whose thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Whose {
    Application,
    Native,
}

impl Whose {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Application => "application",
            Self::Native => "native",
        }
    }
}

/// How late one thread was released in one window; nanoseconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Row<W> {
    pub(super) window: W,
    pub(super) thread: Whose,
    pub(super) releases: u64,
    pub(super) priority: u64,
    pub(super) missed: u64,
    pub(super) p50_ns: u64,
    pub(super) p999_ns: u64,
    pub(super) max_ns: u64,
}

impl<W: Window> Row<W> {
    /// Of an application's line, which has each number behind its name.
    pub(super) fn of_application(window: W, line: &str) -> Result<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let number = |name: &str| {
            let at = words.iter().position(|it| *it == name);
            let word = at.and_then(|it| words.get(it + 1));
            let number = word.and_then(|it| it.parse().ok());
            number.with_context(|| format!("no {name} in {line:?}"))
        };
        Ok(Self {
            window,
            thread: Whose::Application,
            releases: number("releases")?,
            priority: number("priority")?,
            missed: number("missed")?,
            p50_ns: number("p50")?,
            p999_ns: number("p999")?,
            max_ns: number("max")?,
        })
    }

    /// Of a native thread. Its earliest release of all came when the timer said, as with the
    /// application's.
    pub(super) fn of_native(
        window: W,
        mut late_ns: Vec<u64>,
        earliest_ns: u64,
        priority: u8,
    ) -> Self {
        late_ns.sort_unstable();
        let last = late_ns.len().saturating_sub(1);
        let at = |index: usize| late_ns.get(index).map_or(0, |it| it - earliest_ns);
        Self {
            window,
            thread: Whose::Native,
            releases: late_ns.len() as u64,
            priority: priority.into(),
            missed: 0,
            p50_ns: at(last / 2),
            p999_ns: at(last * 999 / 1000),
            max_ns: at(last),
        }
    }
}

/// In virtual time worst cases are the system's own: the control task's beside others is at most
/// 1.2 times the native thread's, or 20 µs above its own alone.
pub(super) fn late<W: Window>(rows: &[Row<W>], beside: W, alone: W) -> Option<String> {
    let worst_ns = |window, thread| {
        let row = rows
            .iter()
            .find(|it| it.window == window && it.thread == thread);
        row.map_or(0, |it| it.max_ns)
    };
    let own_ns = worst_ns(beside, Whose::Application);
    let native_ns = worst_ns(beside, Whose::Native);
    let alone_ns = worst_ns(alone, Whose::Application);
    let is_as_native = own_ns as f64 <= TIMES_MAX * native_ns as f64;
    let holds = is_as_native || own_ns <= alone_ns + ABOVE_NS_MAX;
    (!holds).then(|| {
        let (beside, alone) = (beside.name(), alone.name());
        let (own, native, itself) = (us(own_ns), us(native_ns), us(alone_ns));
        format!(
            "{beside}: the control task is {own} µs late at the worst, the native thread {native} µs, \
             itself {alone} {itself} µs"
        )
    })
}

fn us(ns: u64) -> String {
    format!("{:.1}", ns as f64 / 1e3)
}

/// A line for each row; of a guest its seed above.
pub(super) fn text<W: Window>(rows: &[Row<W>], seed: Option<u64>) -> String {
    let unit = match seed {
        Some(_) => "max virtual µs",
        None => "max µs",
    };
    let mut table = Table::new([
        "window", "thread", "releases", "FIFO", "missed", "p50", "p99.9", unit,
    ]);
    for it in rows {
        table.row([
            it.window.name().to_owned(),
            it.thread.name().to_owned(),
            it.releases.to_string(),
            it.priority.to_string(),
            it.missed.to_string(),
            us(it.p50_ns),
            us(it.p999_ns),
            us(it.max_ns),
        ]);
    }
    match seed {
        Some(seed) => format!("seed {seed}\n{table}"),
        None => table.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Load {
        None,
        Some,
    }

    impl Window for Load {
        fn name(self) -> &'static str {
            match self {
                Self::None => "none",
                Self::Some => "some",
            }
        }
    }

    fn verdict(alone_us: u64, own_us: u64, native_us: u64) -> Option<String> {
        let row = |window, thread, us: u64| Row {
            window,
            thread,
            releases: 1,
            priority: 80,
            missed: 0,
            p50_ns: 0,
            p999_ns: 0,
            max_ns: us * 1000,
        };
        let rows = [
            row(Load::None, Whose::Application, alone_us),
            row(Load::None, Whose::Native, 1),
            row(Load::Some, Whose::Application, own_us),
            row(Load::Some, Whose::Native, native_us),
        ];
        late(&rows, Load::Some, Load::None)
    }

    #[test]
    fn a_control_task_is_as_late_as_a_native_thread_or_as_it_is_alone() {
        assert_eq!(verdict(10, 120, 100), None);
        assert_eq!(verdict(10, 30, 1), None);
        assert!(verdict(10, 31, 25).is_some());
    }

    #[test]
    fn lines_and_releases_become_rows() {
        let line = "figures none releases 7 priority 80 missed 1 p50 2 p999 3 max 4";
        let row = Row::of_application(Load::None, line).expect("a row");
        assert_eq!((row.releases, row.missed, row.max_ns), (7, 1, 4));
        assert!(Row::of_application(Load::None, &line[..30]).is_err());
        let row = Row::of_native(Load::Some, vec![30, 9], 5, 80);
        assert_eq!((row.releases, row.p50_ns, row.max_ns), (2, 4, 25));
    }
}
