// SPDX-License-Identifier: Apache-2.0
//! [`JavaHost`]: how packages are verified and processes made, for crate `system`.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use ::system::{App, Entry, Host, Prepared};
use anyhow::{Context, Result, ensure};
use apk::Apk;
use sha2::{Digest as _, Sha256};

use super::confined::{Bounds, clear};
use crate::apk::HOST_ABI;
use crate::framework::Framework;
use crate::run::{Sealed, description};

/// What packages' numbers of the device are made of; in the server's folder.
const SECRET: &str = "secret";
const SECRET_BYTES: usize = 32;

/// See the module.
pub(super) struct JavaHost {
    /// This program, whose child is `takt app`.
    own: PathBuf,
    framework: Option<PathBuf>,
    /// The most that each heap may take, if that is not the machine's own bound.
    heap: Option<u64>,
    /// Of each process's machine.
    java_options: Vec<String>,
    /// What each process's own watchdog allows.
    answer: Duration,
    bounds: Bounds,
    /// Whether applications are copies of one process.
    has_template: bool,
}

impl JavaHost {
    pub(super) fn new(
        framework: Option<PathBuf>,
        (heap, java_options): (Option<u64>, Vec<String>),
        answer: Duration,
        bounds: Bounds,
        has_template: bool,
    ) -> Result<Self> {
        let own = std::env::current_exe().context("cannot find this program's own file")?;
        let framework = framework.map(std::path::absolute).transpose()?;
        Ok(Self {
            own,
            framework,
            heap,
            java_options,
            answer,
            bounds,
            has_template,
        })
    }

    /// The one place where a process's command is made, and where it is confined.
    fn prepared(&self, app: &App<'_>) -> Result<Prepared> {
        let framework = Framework::find(self.framework.as_deref())?;
        let granted = self.bounds.real_time.get(&app.manifest.package);
        let granted = granted.copied().unwrap_or(0);
        let android_id = self.android_id(app)?;
        let description = description(app, &framework, android_id, self.answer, granted)?;
        let description = Sealed::handed("run.json", &description)?;
        // The machine itself has the other half: its code, its threads, what is read.
        let most = app.memory.map(|it| it / 2);
        let heap = self.heap.into_iter().chain(most).min();
        let mut command = self.command(heap);
        let mut fds = vec![description.try_clone()?];
        // It is read there by its descriptor, and the log takes this place.
        command.stdout(Stdio::from(description));
        let confined = self.bounds.confine(&mut command, &framework, app)?;
        fds.extend(confined.fds);
        let entry = confined.entry.filter(|_| self.has_template);
        let entry = entry.map(|it| Entry {
            bytes: it.to_bytes(),
            fds,
        });
        Ok(Prepared {
            command,
            sandbox: confined.rows,
            grants: confined.grants,
            entry,
        })
    }

    fn command(&self, heap: Option<u64>) -> Command {
        let mut command = Command::new(&self.own);
        command.arg("app");
        command.arg(format!("--parent={}", std::process::id()));
        if let Some(place) = &self.framework {
            command.arg("--framework").arg(place);
        }
        if let Some(bytes) = heap {
            command.arg(format!("--java-option=-Xmx{bytes}"));
        }
        for option in &self.java_options {
            command.arg(format!("--java-option={option}"));
        }
        command
    }

    /// As on Android: another one for each package and signer, and the same after a new install.
    fn android_id(&self, app: &App<'_>) -> Result<String> {
        let path = self.bounds.state.join(SECRET);
        let place = || format!("{}", path.display());
        let mut secret = Vec::new();
        match File::open(&path) {
            Ok(file) => {
                let mut file = file.take(2 * SECRET_BYTES as u64);
                file.read_to_end(&mut secret).with_context(place)?;
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                secret.resize(SECRET_BYTES, 0);
                File::open("/dev/urandom")?.read_exact(&mut secret)?;
                let mut options = File::options();
                let file = options.write(true).create_new(true).mode(0o600).open(&path);
                file.and_then(|mut it| it.write_all(&secret))
                    .with_context(place)?;
            }
            Err(error) => return Err(error).with_context(place),
        }
        let is_whole = secret.len() == SECRET_BYTES;
        ensure!(is_whole, "{} is damaged: remove it", path.display());
        let mut sum = Sha256::new_with_prefix(&secret);
        sum.update(&app.manifest.package);
        for signer in &app.settings.signers {
            sum.update(b"\n");
            sum.update(signer);
        }
        let sum = sum.finalize();
        Ok(sum[..8].iter().map(|it| format!("{it:02x}")).collect())
    }
}

impl Host for JavaHost {
    fn abi(&self) -> &str {
        HOST_ABI
    }

    fn verify(&self, package: &Apk<'_>) -> Result<Vec<String>, String> {
        crate::apk::verify(package)
    }

    fn start(&self, app: &App<'_>) -> Result<Prepared, String> {
        self.prepared(app).map_err(|it| format!("{it:#}"))
    }

    fn template(&self) -> Result<Option<Command>, String> {
        if !self.has_template {
            return Ok(None);
        }
        let mut command = self.command(self.heap);
        command.arg("--template").stdout(Stdio::null());
        clear(&mut command);
        // It keeps nothing; a copy has a home of its own.
        command.env("HOME", "/");
        Ok(Some(command))
    }
}
