// SPDX-License-Identifier: Apache-2.0
//! [`JavaHost`]: how packages are verified and processes made, for crate `system`.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use ::system::{App, Host};
use anyhow::{Context, Result};
use apk::Apk;

use crate::apk::HOST_ABI;
use crate::framework::Framework;
use crate::run::{Sealed, description};

/// See the module.
pub(super) struct JavaHost {
    /// This program, whose child is `takt app`.
    own: PathBuf,
    framework: Option<PathBuf>,
    /// What each process's own watchdog allows.
    answer: Duration,
}

impl JavaHost {
    pub(super) fn new(framework: Option<PathBuf>, answer: Duration) -> Result<Self> {
        let own = std::env::current_exe().context("cannot find this program's own file")?;
        let framework = framework.map(std::path::absolute).transpose()?;
        Ok(Self {
            own,
            framework,
            answer,
        })
    }

    /// The one place where a process's command is made. What confines it goes into `takt app`,
    /// which is still this user and this program.
    fn command(&self, app: &App<'_>) -> Result<Command> {
        let framework = Framework::find(self.framework.as_deref())?;
        let description = Sealed::handed("run.json", &description(app, &framework, self.answer)?)?;
        let mut command = Command::new(&self.own);
        command.arg("app");
        command.arg(format!("--parent={}", std::process::id()));
        if let Some(place) = &self.framework {
            command.arg("--framework").arg(place);
        }
        // It is read there by its descriptor, and the log takes this place.
        command.stdout(Stdio::from(description));
        Ok(command)
    }
}

impl Host for JavaHost {
    fn abi(&self) -> &str {
        HOST_ABI
    }

    fn verify(&self, package: &Apk<'_>) -> Result<Vec<String>, String> {
        crate::apk::verify(package)
    }

    fn command(&self, app: &App<'_>) -> Result<Command, String> {
        self.command(app).map_err(|it| format!("{it:#}"))
    }
}
