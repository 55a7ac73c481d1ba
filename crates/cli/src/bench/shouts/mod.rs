// SPDX-License-Identifier: Apache-2.0
//! What the experiments on broadcasts share: a `takt system` of their own (`server`), whose
//! applications are programs without a Java machine (`app`). Each window is such a server, and a
//! [`Plan`] that all its processes know.
//!
//! Who measures Java measures Java: an application's looper and its collector have experiments of
//! their own. Here the way is from the sender's call to the receiver's code.

pub(crate) mod app;
mod races;
pub(crate) mod server;

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Child;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

pub(crate) use races::Races;

use crate::bench::native;

/// What is to be done in one window.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Plan {
    pub(crate) what: What,
    /// As they came, and nothing inherited: else by priority.
    pub(crate) is_first_come: bool,
    /// Real-time broadcasts have the foreground flag.
    pub(crate) is_foreground: bool,
    /// Ordinary senders, and whether they make no pause.
    pub(crate) senders: u32,
    pub(crate) is_storm: bool,
    /// Real-time broadcasts, of each sender.
    pub(crate) count: u32,
    /// What is drawn at random.
    pub(crate) seed: u64,
}

/// Which experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum What {
    /// One real-time sender.
    Times,
    /// Ten, whose intents have priorities at random.
    Races,
}

/// What one window has found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Said {
    /// The receiver is there.
    Ready,
    /// A process cannot do its part.
    Failed(String),
    /// All real-time broadcasts are sent; so many others were refused for want of room.
    Sent { refused: u64 },
    /// What the receiver has measured.
    Times(Times),
    /// What the server's own sequence shows, and how many broadcasts were lost.
    End { races: Races, lost: u64 },
}

/// From the sender's call to the receiver's code; nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Times {
    pub(crate) count: u64,
    pub(crate) p50_ns: u64,
    pub(crate) p99_ns: u64,
    pub(crate) max_ns: u64,
    /// Broadcasts of ordinary senders that came as well.
    pub(crate) ordinary: u64,
    /// Receivers of real-time broadcasts that ran at another priority than the broadcast's.
    pub(crate) at_other_priority: u64,
}

/// All that a window said.
#[derive(Debug, Default)]
pub(crate) struct Window {
    pub(crate) times: Times,
    pub(crate) races: Races,
    pub(crate) lost: u64,
    pub(crate) refused: u64,
}

/// One window, from the server's beginning to its end.
pub(crate) fn window(plan: &Plan) -> Result<Window> {
    let place = tempfile::tempdir().context("cannot make a directory for the server")?;
    let mut command = native::command("shouts-server", place.path(), plan)?;
    let mut child = command.spawn().context("cannot start the server")?;
    let outcome = converse(&mut child, plan);
    // One that was heard to its end has ended.
    let _ = child.kill();
    let _ = child.wait();
    outcome
}

/// The receiver first, then the senders; then the server says what it saw.
fn converse(child: &mut Child, plan: &Plan) -> Result<Window> {
    let mut input = child.stdin.take();
    let output = child.stdout.take().context("it has an output")?;
    let mut window = Window::default();
    let mut has_times = false;
    for line in BufReader::new(output).lines() {
        let said: Said = serde_json::from_str(&line?).context("what the server said")?;
        let is_over = match said {
            Said::Ready => {
                let input = input.as_mut().context("it is ready twice")?;
                input.write_all(b"go\n")?;
                false
            }
            Said::Failed(text) => anyhow::bail!("{text}"),
            Said::Sent { refused } => {
                window.refused = refused;
                plan.what == What::Races
            }
            Said::Times(times) => {
                (window.times, has_times) = (times, true);
                true
            }
            Said::End { races, lost } => {
                (window.races, window.lost) = (races, lost);
                ensure!(
                    has_times || plan.what == What::Races,
                    "nothing was measured"
                );
                return Ok(window);
            }
        };
        if is_over {
            // The server hears that it is to end.
            input = None;
        }
    }
    anyhow::bail!("the server, or one of its processes, ended too early")
}
