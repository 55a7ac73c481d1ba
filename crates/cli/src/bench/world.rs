// SPDX-License-Identifier: Apache-2.0
//! [`World`]: a `takt system` of a bench's own, and its commands.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use rt::clock::{Clock, Monotonic};
use serde_json::Value;

use crate::framework::Framework;

/// For whatever a busy machine does.
pub(super) const WAIT: Duration = Duration::from_secs(60);
pub(super) const LOOK_NS: u64 = 100_000_000;

/// A server in a folder of its own.
pub(super) struct World {
    own: PathBuf,
    apps: PathBuf,
    folder: tempfile::TempDir,
    server: Child,
}

impl World {
    /// With options of `takt system`.
    pub(super) fn begin(options: &[String]) -> Result<Self> {
        let own = std::env::current_exe().context("cannot find this program's own file")?;
        let apps = Framework::find(None)?.folder("apps");
        // Not in /tmp, where every application may make files. Others come as far as the socket.
        let place = apps.parent().unwrap_or(Path::new(".")).join("tmp");
        std::fs::create_dir_all(&place)?;
        let folder = tempfile::tempdir_in(place)?;
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(folder.path(), open)?;
        let mut server = Command::new(&own)
            .args(["system", "--start=100s", "--anr=100s", "--state"])
            .arg(folder.path().join("state"))
            .arg("--socket")
            .arg(folder.path().join("socket"))
            .args(options)
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start takt system")?;
        let socket = folder.path().join("socket");
        let until = Monotonic.now_ns() + WAIT.as_nanos() as u64;
        while !socket.exists() && server.try_wait()?.is_none() && Monotonic.now_ns() < until {
            Monotonic.sleep_until(Monotonic.now_ns() + LOOK_NS);
        }
        ensure!(socket.exists(), "takt system does not begin");
        Ok(Self {
            own,
            apps,
            folder,
            server,
        })
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.own);
        command.args(words);
        command.env("TAKT_SYSTEM", self.folder.path().join("socket"));
        command
    }

    /// A command of it that goes on, to be read from.
    pub(super) fn begun(&self, words: &[&str]) -> Result<Child> {
        Ok(self.command(words).stdout(Stdio::piped()).spawn()?)
    }

    /// What a command of it prints.
    pub(super) fn said(&self, words: &[&str]) -> Result<String> {
        let output = self.command(words).output()?;
        ensure!(
            output.status.success(),
            "takt {}: {}",
            words.join(" "),
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// A package of the framework's own.
    pub(super) fn install(&self, app: &str) -> Result<()> {
        let file = self.apps.join(format!("{app}.apk"));
        let file = file.to_str().context("a path that is no text")?;
        self.said(&["install", file]).map(drop)
    }

    /// What a package has said by a tag.
    pub(super) fn log(&self, package: &str, tag: &str) -> Result<String> {
        self.said(&["logcat", "-d", "--package", package, "--tag", tag])
    }

    /// Waits for it.
    pub(super) fn await_log(&self, package: &str, tag: &str, text: &str) -> Result<()> {
        let until = Monotonic.now_ns() + WAIT.as_nanos() as u64;
        while !self.log(package, tag)?.contains(text) {
            let is_over = Monotonic.now_ns() >= until;
            ensure!(!is_over, "{package} does not say {text:?}");
            Monotonic.sleep_until(Monotonic.now_ns() + LOOK_NS);
        }
        Ok(())
    }

    /// A row of `takt ps --json`; null if there is no such process.
    pub(super) fn process(&self, name: &str) -> Result<Value> {
        let json: Value = serde_json::from_str(&self.said(&["ps", "--json"])?)?;
        let rows = json["processes"].as_array().cloned().unwrap_or_default();
        Ok(rows
            .into_iter()
            .find(|it| it["name"] == name)
            .unwrap_or_default())
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // Its applications end with it.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// Names of bounds that do not hold.
pub(super) fn missing(sandbox: &Value) -> Vec<String> {
    let all = sandbox.as_array().into_iter().flatten();
    let all = all.filter(|it| it["holds"] != Value::Bool(true));
    all.filter_map(|it| it["name"].as_str().map(str::to_owned))
        .collect()
}
