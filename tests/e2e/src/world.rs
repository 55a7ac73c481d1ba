// SPDX-License-Identifier: Apache-2.0
//! [`World`]: a server in a folder of its own, and the commands that speak with it.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use rt::clock::{Clock, Monotonic};
use serde_json::Value;
use tempfile::TempDir;

use crate::application::Application;
use crate::{Run, apps, takt_path};

/// For whatever a busy machine does.
const BOUND_NS: u64 = 120_000_000_000;
const LOOK: Duration = Duration::from_millis(50);

/// A server in a folder of its own.
pub struct World {
    /// All that is its own.
    pub folder: TempDir,
    /// Its process; none after its end.
    pub server: Option<Application>,
    /// Whose it is, if not the test's.
    user: Option<u32>,
    /// What it is told beside where it lives.
    options: Vec<String>,
}

impl World {
    /// One that runs.
    pub fn begin() -> Self {
        Self::of(None, &[])
    }

    /// One that is told more than where it lives.
    pub fn begin_with(options: &[&str]) -> Self {
        Self::of(None, options)
    }

    /// One of an ordinary user; the commands are this user's as well.
    pub fn begin_as(user: u32) -> Self {
        Self::of(Some(user), &[])
    }

    fn of(user: Option<u32>, options: &[&str]) -> Self {
        // Not in /tmp, where every application may make files.
        let folder = takt_path()
            .ancestors()
            .nth(2)
            .expect("a target")
            .join("tmp");
        std::fs::create_dir_all(&folder).expect("it is ours");
        let folder = tempfile::tempdir_in(folder).expect("a directory");
        // Others come as far as the socket.
        let open = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(folder.path(), open).expect("it is ours");
        std::os::unix::fs::chown(folder.path(), user, user).expect("it is ours");
        let mut world = Self {
            folder,
            server: None,
            user,
            options: options.iter().map(|it| (*it).to_owned()).collect(),
        };
        world.start();
        world
    }

    /// Starts it, or starts it again.
    pub fn start(&mut self) {
        let mut command = self.command(&["system", "--state"]);
        command.arg(self.state());
        command.arg("--socket").arg(self.socket());
        // For machines that do other things as well.
        command.arg("--start=100s");
        if !self.options.iter().any(|it| it.starts_with("--anr")) {
            command.arg("--anr=100s");
        }
        command.args(&self.options);
        let mut server = Application::start(&mut command);
        server.await_line("listens at");
        self.server = Some(server);
    }

    /// What it keeps.
    pub fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// Where commands come to.
    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    /// A command that speaks with it.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(takt_path());
        command.args(words).env("TAKT_SYSTEM", self.socket());
        if let Some(user) = self.user {
            use std::os::unix::process::CommandExt as _;
            command.uid(user).gid(user).current_dir("/");
            command.env("HOME", self.folder.path());
            command
                .env_remove("XDG_CACHE_HOME")
                .env_remove("XDG_DATA_HOME");
        }
        command
    }

    /// What came of a command.
    pub fn run(&self, words: &[&str]) -> Run {
        Run::of(&mut self.command(words))
    }

    /// What a command says that must go well.
    pub fn said(&self, words: &[&str]) -> String {
        let run = self.run(words);
        assert_eq!(run.code, 0, "{words:?}: {run:#?}");
        run.stdout
    }

    /// Installs a package of `cargo xtask framework`.
    pub fn install(&self, app: &str) -> String {
        let file = apps::folder().join(format!("{app}.apk"));
        self.said(&["install", file.to_str().expect("a text")])
    }

    /// The process that applications are copies of, when it may be copied.
    pub fn await_template(&self) -> u64 {
        let template = || -> Option<u64> {
            let text = self.said(&["dumpsys"]);
            let line = text
                .lines()
                .find_map(|it| it.strip_prefix("template: process "))?;
            line.parse().ok()
        };
        self.await_true("a template", || template().is_some());
        template().expect("it is there")
    }

    /// Where a package has its data.
    pub fn data(&self, package: &str) -> PathBuf {
        self.state().join("data").join(package)
    }

    /// The row of a process.
    pub fn process(&self, name: &str) -> Option<Value> {
        let json: Value = serde_json::from_str(&self.said(&["ps", "--json"])).expect("JSON");
        let rows = json["processes"].as_array().expect("rows").clone();
        rows.into_iter().find(|it| it["name"] == name)
    }

    /// Whether each package has a user of its own.
    pub fn has_own_users(&self, name: &str) -> bool {
        let row = self.process(name).expect("it runs");
        holds(&row, "own user")
    }

    /// The kernel's number of a process that runs.
    pub fn pid(&self, name: &str) -> u64 {
        let row = self.process(name).expect("it runs");
        assert_eq!(row["state"], "running", "{row}");
        row["pid"].as_u64().expect("a number")
    }

    /// What a package has said under a tag.
    pub fn log(&self, package: &str, tag: &str) -> Vec<String> {
        let words = ["logcat", "-d", "--package", package, "--tag", tag];
        apps::said(&self.said(&words), tag)
    }

    /// Waits until something is so; the logs say why it is not.
    pub fn await_true(&self, what: &str, is_so: impl Fn() -> bool) {
        let until = Monotonic.now_ns() + BOUND_NS;
        while !is_so() {
            let log = || self.said(&["logcat", "-d"]);
            assert!(Monotonic.now_ns() < until, "{what}: {}", log());
            Monotonic.sleep_until(Monotonic.now_ns() + LOOK.as_nanos() as u64);
        }
    }

    /// Waits for a line of a package's.
    pub fn await_line(&self, package: &str, tag: &str, line: &str) {
        let is_said = || self.log(package, tag).iter().any(|it| it == line);
        self.await_true(line, is_said);
    }
}

/// Whether a process runs.
pub fn is_alive(pid: u64) -> bool {
    // One that was not waited for is dead all the same.
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ")
        .is_some_and(|(_, it)| !it.starts_with(['Z', 'X']))
}

impl World {
    /// Without a server nobody can be asked.
    pub fn await_dead(&self, pid: u64) {
        let until = Monotonic.now_ns() + BOUND_NS;
        while is_alive(pid) {
            assert!(Monotonic.now_ns() < until, "{pid} lives");
            Monotonic.sleep_until(Monotonic.now_ns() + LOOK.as_nanos() as u64);
        }
    }
}

/// Whether root runs the tests.
pub fn is_root() -> bool {
    rt::process::uid() == 0
}

/// A bound of a process's sandbox, whether it holds or not.
pub fn bound<'row>(row: &'row Value, name: &str) -> Option<&'row Value> {
    let bounds = row["sandbox"].as_array().expect("it is confined");
    bounds.iter().find(|it| it["name"] == name)
}

/// Whether a bound of a process's sandbox holds.
pub fn holds(row: &Value, name: &str) -> bool {
    bound(row, name).is_some_and(|it| it["holds"] == Value::Bool(true))
}
