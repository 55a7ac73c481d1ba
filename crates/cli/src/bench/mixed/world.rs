// SPDX-License-Identifier: Apache-2.0
//! [`World`]: a `takt system` of the experiment's own, and what is said to it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use report::TimeBase;
use rt::clock::{Clock, Monotonic};
use serde_json::Value;

use super::{CONTROL, PRIORITY, lab};
use crate::framework::Framework;
use crate::guest;

/// For whatever a busy machine does.
pub(super) const WAIT: Duration = Duration::from_secs(60);
/// How often something is looked at.
pub(super) const LOOK_NS: u64 = 100_000_000;

/// A server in a folder of its own.
pub(super) struct World {
    own: PathBuf,
    apps: PathBuf,
    folder: tempfile::TempDir,
    server: Child,
}

impl World {
    pub(super) fn begin() -> Result<Self> {
        let own = std::env::current_exe().context("cannot find this program's own file")?;
        let framework = Framework::find(None)?;
        let apps = framework.folder("apps");
        let java_options = match guest::time_base() {
            TimeBase::Virtual => lab::java_options(&framework).to_vec(),
            TimeBase::Real => Vec::new(),
        };
        let java_options = java_options.iter().map(|it| format!("--java-option={it}"));
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
            .args(["--realtime", &format!("{CONTROL}={PRIORITY}")])
            .args(java_options)
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

    pub(super) fn said(&self, words: &[&str]) -> Result<String> {
        let output = Command::new(&self.own)
            .args(words)
            .env("TAKT_SYSTEM", self.folder.path().join("socket"))
            .output()?;
        ensure!(
            output.status.success(),
            "takt {}: {}",
            words.join(" "),
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    pub(super) fn install(&self, app: &str) -> Result<()> {
        let file = self.apps.join(format!("mixed-{app}.apk"));
        let file = file.to_str().context("a path that is no text")?;
        self.said(&["install", file]).map(drop)
    }

    pub(super) fn log(&self, package: &str, tag: &str) -> Result<String> {
        self.said(&["logcat", "-d", "--package", package, "--tag", tag])
    }

    pub(super) fn await_log(&self, package: &str, tag: &str, text: &str) -> Result<()> {
        let until = Monotonic.now_ns() + WAIT.as_nanos() as u64;
        while !self.log(package, tag)?.contains(text) {
            let is_over = Monotonic.now_ns() >= until;
            ensure!(!is_over, "{package} does not say {text:?}");
            Monotonic.sleep_until(Monotonic.now_ns() + LOOK_NS);
        }
        Ok(())
    }

    pub(super) fn process(&self, name: &str) -> Result<Value> {
        let json: Value = serde_json::from_str(&self.said(&["ps", "--json"])?)?;
        let rows = json["processes"].as_array().cloned().unwrap_or_default();
        Ok(rows
            .into_iter()
            .find(|it| it["name"] == name)
            .unwrap_or_default())
    }
}

/// Confined programs such as the hog leaves.
pub(super) fn left() -> Result<usize> {
    let mut count = 0;
    for entry in std::fs::read_dir("/proc")?.flatten() {
        let place = entry.path();
        let command = std::fs::read(place.join("cmdline")).unwrap_or_default();
        let is_left = command == b"sleep\x001000\x00";
        let status = std::fs::read_to_string(place.join("status")).unwrap_or_default();
        let is_dead = status.lines().any(|it| it.starts_with("State:\tZ"));
        let is_confined = status.lines().any(|it| it == "NoNewPrivs:\t1");
        count += usize::from(is_left && is_confined && !is_dead);
    }
    Ok(count)
}

impl Drop for World {
    fn drop(&mut self) {
        // Its applications end with it.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
