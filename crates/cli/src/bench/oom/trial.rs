// SPDX-License-Identifier: Apache-2.0
//! One trial: a server with memory for some of its applications, which begin one after the other.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Child;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use rt::policy::Policy;
use rt::thread::Builder;
use serde::{Deserialize, Serialize};

use crate::bench::native;

/// What is left for the server and the applications: enough for one that takes 30 MiB, not for two.
const ROOM_BYTES: u64 = 64 << 20;
/// Of this program's own: it does not end, and neither does what it measures by.
const NEVER: &str = "-1000";
const PAGE_BYTES: usize = 4 << 10;
/// For one application to take its memory, or to end.
const PATIENCE: Duration = Duration::from_secs(60);
/// Lines that wait to be read: some for each application.
const SAID_MAX: usize = 64;
/// Nothing happens any more.
const CALM: Duration = Duration::from_millis(1500);

/// What an application is when it takes memory; who is needed most is last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Class {
    /// Nothing: a broadcast has started it.
    Cached,
    /// A service.
    Service,
    /// The activity in front.
    Front,
    /// A service of the real-time package.
    RealTime,
}

/// An application.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Member {
    pub(crate) package: String,
    pub(crate) class: Class,
    /// What it takes.
    pub(crate) mib: usize,
}

/// What is to be done in one trial.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// In the order in which they begin.
    pub(crate) members: Vec<Member>,
    /// As `takt system` does; else all have the kernel's usual place, and nobody keeps watch.
    pub(crate) is_protected: bool,
}

/// What a server or an application says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Said {
    /// The server is there.
    Ready,
    /// An application cannot do its part.
    Failed(String),
    /// This package has all that it wants.
    Full(String),
    /// A process is gone.
    Ended(Ended),
}

/// A process that is gone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ended {
    pub(crate) package: String,
    /// Else the kernel has ended it.
    pub(crate) by_server: bool,
    /// Who was there and stayed; the experiment writes it.
    pub(crate) others: Vec<String>,
}

/// Who has ended, in order, and who had all its memory at some time.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) ended: Vec<Ended>,
    pub(crate) full: Vec<String>,
    begun: Vec<String>,
}

/// Takes memory until there is so much left; gives it back when it goes.
pub(crate) struct Ballast(Vec<u8>);

impl Ballast {
    /// Of this machine, which must be a guest: it leaves nothing to anybody else.
    pub(crate) fn take() -> Result<Self> {
        std::fs::write("/proc/self/oom_score_adj", NEVER)
            .context("cannot keep the experiment itself alive: it takes CAP_SYS_RESOURCE")?;
        let left = ::system::memory_left().context("the kernel does not say what is left")?;
        let wanted = left.available.saturating_sub(ROOM_BYTES);
        let mut bytes = vec![0; usize::try_from(wanted)?];
        bytes.iter_mut().step_by(PAGE_BYTES).for_each(|it| *it = 1);
        Ok(Self(bytes))
    }

    pub(crate) fn mib(&self) -> usize {
        self.0.len() >> 20
    }
}

/// One trial, from the server's beginning to its end.
pub(crate) fn trial(plan: &Plan) -> Result<Found> {
    let place = tempfile::tempdir().context("cannot make a directory for the server")?;
    let mut command = native::command("oom-server", place.path(), plan)?;
    let mut child = command.spawn().context("cannot start the server")?;
    // Nothing else was started by it, and it is to have the place of any program.
    std::fs::write(format!("/proc/{}/oom_score_adj", child.id()), "0")?;
    let outcome = converse(&mut child, plan);
    // One that was heard to its end has ended.
    let _ = child.kill();
    let _ = child.wait();
    outcome
}

fn converse(child: &mut Child, plan: &Plan) -> Result<Found> {
    let mut input = child.stdin.take().context("it has an input")?;
    let output = child.stdout.take().context("it has an output")?;
    let (sender, heard) = sync_channel(SAID_MAX);
    let listen = move || {
        for line in BufReader::new(output).lines() {
            let said = line.map(|it| serde_json::from_str::<Said>(&it));
            if sender.send(said).is_err() {
                return;
            }
        }
    };
    Builder::new("listener")
        .policy(Policy::ordinary())
        .spawn(listen)?;
    let mut found = Found::default();
    ensure!(
        matches!(next(&heard, PATIENCE)?, Some(Said::Ready)),
        "the server is not ready"
    );
    for member in &plan.members {
        writeln!(input, "{}", member.package)?;
        found.begun.push(member.package.clone());
        let is_over = |found: &Found| {
            let name = &member.package;
            found.full.contains(name) || found.ended.iter().any(|it| it.package == *name)
        };
        while !is_over(&found) {
            let said = next(&heard, PATIENCE)?;
            found.hear(said.with_context(|| format!("{} does nothing", member.package))?)?;
        }
    }
    while let Some(said) = next(&heard, CALM)? {
        found.hear(said)?;
    }
    Ok(found)
}

type Heard = std::io::Result<serde_json::Result<Said>>;

fn next(heard: &Receiver<Heard>, patience: Duration) -> Result<Option<Said>> {
    match heard.recv_timeout(patience) {
        Ok(said) => Ok(Some(said?.context("what the server said")?)),
        Err(RecvTimeoutError::Timeout) => Ok(None),
        Err(RecvTimeoutError::Disconnected) => bail!("the server has ended"),
    }
}

impl Found {
    fn hear(&mut self, said: Said) -> Result<()> {
        match said {
            Said::Ready => {}
            Said::Failed(text) => bail!("{text}"),
            Said::Full(package) => self.full.push(package),
            Said::Ended(mut ended) => {
                self.begun.retain(|it| *it != ended.package);
                ended.others.clone_from(&self.begun);
                self.ended.push(ended);
            }
        }
        Ok(())
    }
}
