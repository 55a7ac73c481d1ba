// SPDX-License-Identifier: Apache-2.0
//! [`Machine`]: a collector on its Java machine, with the options that make them comparable.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use clap::ValueEnum;

use crate::java;
use crate::jdk::Jdk;

/// A collector to measure.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum Machine {
    /// Takt, reference counting on the fly
    Rc,
    /// Takt, stop-the-world mark-sweep
    Stw,
    /// HotSpot 17, G1
    G1,
    /// HotSpot 17, ZGC of one generation
    Zgc,
    /// HotSpot 17, Shenandoah
    Shenandoah,
    /// HotSpot 21 or later, ZGC of two generations
    Genzgc,
}

pub(super) const ALL: [Machine; 6] = [
    Machine::Rc,
    Machine::Stw,
    Machine::G1,
    Machine::Zgc,
    Machine::Shenandoah,
    Machine::Genzgc,
];

/// The first release with generational ZGC, and the first that has it without asking.
const GENERATIONAL: u32 = 21;
const GENERATIONAL_ONLY: u32 = 24;

impl Machine {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Rc => "Takt rc",
            Self::Stw => "Takt stw",
            Self::G1 => "G1",
            Self::Zgc => "ZGC",
            Self::Shenandoah => "Shenandoah",
            Self::Genzgc => "ZGC gen",
        }
    }

    pub(super) fn is_takt(self) -> bool {
        matches!(self, Self::Rc | Self::Stw)
    }

    /// Starts with the heap at its full size and all of it touched, on every machine.
    pub(super) fn command(
        self,
        jdk: &Jdk,
        heap_mb: u32,
        takt_options: &[String],
    ) -> Result<Command> {
        let home = match self {
            Self::Genzgc => latest_jdk().context("no JDK of release 21 or later")?.0,
            _ => jdk.home.clone(),
        };
        let mut command = Command::new(home.join("bin/java"));
        if self.is_takt() {
            let own = std::env::current_exe().context("cannot find this program's own file")?;
            command.arg(java::alternative(&java::machine_beside(&own)?));
            let collector = if self == Self::Rc { "rc" } else { "stw" };
            command.arg(format!("-Xtakt:gc={collector}"));
            command.args(["-verbose:gc", "-Xtakt:report", "-Xtakt:realtime"]);
            command.args(takt_options);
        } else {
            command.args(["-Xlog:gc:stderr", "-Xlog:safepoint:stderr"]);
        }
        command.args(self.hotspot_options(&home));
        command.args([
            format!("-Xms{heap_mb}m"),
            format!("-Xmx{heap_mb}m"),
            "-XX:+AlwaysPreTouch".to_owned(),
        ]);
        Ok(command)
    }

    fn hotspot_options(self, home: &Path) -> &'static [&'static str] {
        match self {
            Self::Rc | Self::Stw => &[],
            Self::G1 => &["-XX:+UseG1GC"],
            Self::Zgc => &["-XX:+UseZGC"],
            Self::Shenandoah => &["-XX:+UseShenandoahGC"],
            Self::Genzgc if release_of(home).is_some_and(|it| it < GENERATIONAL_ONLY) => {
                &["-XX:+UseZGC", "-XX:+ZGenerational"]
            }
            Self::Genzgc => &["-XX:+UseZGC"],
        }
    }

    /// Why it cannot be measured here; asks the machine itself.
    pub(super) fn missing(self, jdk: &Jdk) -> Option<String> {
        let command = self.command(jdk, 64, &[]);
        let output = match command.map(|mut it| it.arg("-version").output()) {
            Err(error) => return Some(format!("{error:#}")),
            Ok(Err(error)) => return Some(error.to_string()),
            Ok(Ok(output)) => output,
        };
        let said = String::from_utf8_lossy(&output.stderr);
        (!output.status.success()).then(|| said.lines().next().unwrap_or("fails").to_owned())
    }
}

/// The newest installed JDK with generational ZGC.
fn latest_jdk() -> Option<(PathBuf, u32)> {
    let entries = std::fs::read_dir("/usr/lib/jvm").ok()?;
    let homes = entries.filter_map(|entry| entry.ok()?.path().canonicalize().ok());
    homes
        .filter_map(|home| Some((release_of(&home)?, home)))
        .filter(|(release, _)| *release >= GENERATIONAL)
        .max()
        .map(|(release, home)| (home, release))
}

fn release_of(home: &Path) -> Option<u32> {
    crate::jdk::version_of(home)?
        .split('.')
        .next()?
        .parse()
        .ok()
}
