// SPDX-License-Identifier: Apache-2.0
//! `hostile`, free and confined; folders of applications, and victims.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use sandbox::{
    Access, Confinement, Grant, Grants, Identity, Limits, LocalSockets, Network, OtherProcesses,
    RealTime, Spec, Strictness,
};
use tempfile::TempDir;

/// Tasks of an application's own.
pub(crate) const TASKS: u64 = 40;

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

pub(crate) fn level() -> u32 {
    sandbox::landlock_level()
}

/// The program; where it was built, an ordinary user may not come.
fn hostile() -> PathBuf {
    let copy = std::env::var_os("SANDBOX_TEST_HOSTILE");
    copy.map_or_else(|| env!("CARGO_BIN_EXE_hostile").into(), PathBuf::from)
}

/// By another process: while this one has a program open to write, a child of another test has it
/// too, and then it cannot be started.
pub(crate) fn copy_program(from: &Path, to: &Path) {
    let status = Command::new("cp").arg(from).arg(to).status().unwrap();
    assert!(status.success());
}

/// A file system of 64 MiB with quotas of users, until it is dropped.
pub(crate) struct Disk {
    place: String,
    _image: TempDir,
}

impl Disk {
    /// On a folder; none where this kernel or this user may not.
    pub(crate) fn mount(place: &str) -> Option<Self> {
        let image = tempfile::tempdir().unwrap();
        let file = image.path().join("image");
        File::create(&file).unwrap().set_len(64 << 20).unwrap();
        let is_done = |program: &str, words: &[&str]| {
            let mut command = Command::new(program);
            command.args(words).arg(&file).stderr(Stdio::null());
            command.status().is_ok_and(|it| it.success())
        };
        let made = is_done("/usr/sbin/mke2fs", &["-q", "-t", "ext4", "-O", "quota"]);
        let mut mount = Command::new("/usr/bin/mount");
        mount.args(["-o", "loop,usrquota"]).arg(&file).arg(place);
        let mounted = mount.stderr(Stdio::null()).status();
        (made && mounted.is_ok_and(|it| it.success())).then(|| Self {
            place: place.to_owned(),
            _image: image,
        })
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let status = Command::new("/usr/bin/umount").arg(&self.place).status();
        assert!(status.is_ok_and(|it| it.success()), "{}", self.place);
    }
}

/// What a program left.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) is_done: bool,
    pub(crate) signal: Option<i32>,
    pub(crate) said: String,
}

/// An application: its number, and its folder with the program in it.
pub(crate) struct Folder {
    place: TempDir,
    number: u32,
}

impl Folder {
    /// Of the application of that number, which no other test has.
    pub(crate) fn new(number: u32) -> Self {
        let place = tempfile::tempdir().unwrap();
        // Other users must get to what is theirs below.
        std::fs::set_permissions(place.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let folder = Self { place, number };
        copy_program(&hostile(), &folder.program());
        std::fs::create_dir(folder.path("data")).unwrap();
        folder.give_data();
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    fn program(&self) -> PathBuf {
        self.path("hostile")
    }

    /// A path in the application's own data.
    pub(crate) fn data(&self, name: &str) -> String {
        let path = self.path("data").join(name);
        path.to_str().unwrap().to_owned()
    }

    /// Its data is its user's, also when another file system lies there.
    pub(crate) fn give_data(&self) {
        if let Some(Identity { uid, gid }) = self.identity() {
            std::os::unix::fs::chown(self.path("data"), Some(uid), Some(gid)).unwrap();
        }
    }

    fn identity(&self) -> Option<Identity> {
        is_root().then(|| Identity::of_package(self.number).unwrap())
    }

    /// As narrow as `takt system` has it.
    pub(crate) fn spec(&self) -> Spec {
        let mut files = Grant::system();
        files.push(Grant::new(self.program(), Access::Run));
        files.push(Grant::new(self.path("data"), Access::Write));
        Spec {
            identity: self.identity(),
            files,
            network: Network::None,
            local_sockets: LocalSockets::Refused,
            other_processes: OtherProcesses::Hidden,
            real_time: RealTime::FromOutside,
            limits: Limits {
                tasks: Some(TASKS),
                open_files: Some(256),
                locked_bytes: Some(64 << 10),
                real_time_us: None,
                kill_order: Some(500),
            },
            group: None,
            disk: None,
            lacks: Vec::new(),
        }
    }
}

fn program(spec: &Spec) -> &Path {
    let own = spec.files.iter().rev().find(|it| it.access == Access::Run);
    &own.expect("a program is granted").path
}

fn confined(spec: &Spec, words: &[&str]) -> Command {
    let mut command = Command::new(program(spec));
    command.args(words).stdin(Stdio::null()).current_dir("/");
    let made = Confinement::prepare(spec, Strictness::Best).unwrap();
    made.confine(&mut command);
    command
}

/// `hostile WORDS` under a specification.
pub(crate) fn run(spec: Spec, words: &[&str]) -> Outcome {
    outcome(confined(&spec, words))
}

/// `hostile WORDS` under a specification by which policies are granted from outside.
pub(crate) fn granted(spec: Spec, words: &[&str]) -> Outcome {
    let (child, grants) = begun(&spec, words);
    let pid = child.id().cast_signed();
    let keeper = rt::thread::Builder::new("grants");
    let keeper = keeper.spawn(move || grants.keep(pid)).unwrap();
    let outcome = outcome_of(child.wait_with_output().unwrap());
    // Nobody is left who could ask.
    keeper.join();
    outcome
}

/// The same, and who grants them is gone.
pub(crate) fn forsaken(spec: Spec, words: &[&str]) -> Outcome {
    let (child, grants) = begun(&spec, words);
    drop(grants);
    outcome_of(child.wait_with_output().unwrap())
}

fn begun(spec: &Spec, words: &[&str]) -> (Child, Grants) {
    let mut command = Command::new(program(spec));
    command.args(words).stdin(Stdio::null()).current_dir("/");
    let mut made = Confinement::prepare(spec, Strictness::Best).unwrap();
    let grants = made.take_grants().expect("they are asked for");
    made.confine(&mut command);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    (command.spawn().unwrap(), grants)
}

/// `hostile WORDS` with all rights of this user.
pub(crate) fn free(words: &[&str]) -> Outcome {
    let mut command = Command::new(hostile());
    command.args(words).stdin(Stdio::null()).current_dir("/");
    outcome(command)
}

fn outcome(mut command: Command) -> Outcome {
    outcome_of(command.output().unwrap())
}

fn outcome_of(output: Output) -> Outcome {
    let said = String::from_utf8(output.stdout).unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(!complaint.contains("panicked"), "{complaint}");
    Outcome {
        is_done: output.status.success(),
        signal: output.status.signal(),
        said: said.trim_end().to_owned(),
    }
}

/// A confined program that does nothing.
pub(crate) struct Victim(Child);

pub(crate) fn victim(folder: &Folder) -> Victim {
    let mut command = confined(&folder.spec(), &["hold"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut line = String::new();
    let said = child.stdout.as_mut().unwrap();
    BufReader::new(said).read_line(&mut line).unwrap();
    assert_eq!(line, "there\n");
    Victim(child)
}

impl Victim {
    pub(crate) fn pid(&self) -> String {
        self.0.id().to_string()
    }

    /// It ends by itself: nobody has ended it before.
    pub(crate) fn end(mut self) {
        drop(self.0.stdin.take());
        let status = self.0.wait().unwrap();
        let was_killed = status.signal() == Some(libc::SIGKILL);
        assert!(status.success() || (was_killed && level() < 6), "{status}");
    }
}

pub(crate) fn open_to_all(path: &str) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o777)).unwrap();
}

pub(crate) fn listen_abstract(name: &str) -> UnixListener {
    UnixListener::bind_addr(&SocketAddr::from_abstract_name(name).unwrap()).unwrap()
}
