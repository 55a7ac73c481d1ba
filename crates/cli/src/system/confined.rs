// SPDX-License-Identifier: Apache-2.0
//! [`Bounds`]: the sandbox of each application of `takt system`. As root each package has a user of
//! its own; what no sandbox gives here is said at the start, and by `takt ps`.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use ::system::protocol::BoundRow;
use ::system::{App, Grants};
use anyhow::{Context, Result};
use rt::policy::Priority;
use rustix::fs::{
    AtFlags, Dir, FileType, Gid, Mode, OFlags, Uid, chownat, fchown, fstat, mkdirat, openat,
};
use rustix::io::Errno;
use sandbox::{
    Access, Bound, Confinement, Disk, Grant, Identity, Limits, LocalSockets, Network,
    OtherProcesses, RealTime, Report, Spec, State,
};

use server::memory::Importance;

use super::groups::Groups;
use crate::framework::Framework;
use crate::java;
use crate::jdk::Jdk;
use crate::run::confined::{INTERNET, OPEN_FILES_MAX, Sandbox, tell_missing};
use crate::run::sound;

/// Processes and threads of a package: several times what a large one has, and a thirtieth of what
/// a small machine has.
pub(super) const TASKS_MAX: u64 = 1_024;
/// Folders in folders of a package's data.
const DEPTH_MAX: usize = 128;
/// Until it has started, an application is as one in front: the server says more when it is there.
const STARTING: Importance = Importance::Foreground;
/// The rest of the server's environment is its user's.
const ENVIRONMENT: [&str; 8] = [
    "PATH",
    "LANG",
    "LC_ALL",
    "TZ",
    "JAVA_HOME",
    "RUST_BACKTRACE",
    sound::VARIABLES[0],
    sound::VARIABLES[1],
];
/// Where every program may make files.
pub(super) const SCRATCH: &str = "/tmp";
/// Where a package's own compiled code goes: as on Android, below its data.
const CODE: &str = "code_cache";
const CACHES: [&str; 2] = ["cache", CODE];
/// A folder that others come through, and a file that they read.
const PASS: u32 = 0o001;
const READ: u32 = 0o004;

/// What there is beside a command that starts confined.
pub(super) struct Confined {
    pub(super) rows: Option<Vec<BoundRow>>,
    pub(super) grants: Option<Grants>,
    /// What a copy of the template enters; none if the process may be no copy.
    pub(super) entry: Option<sandbox::Entry>,
    /// What goes beside that.
    pub(super) fds: Vec<OwnedFd>,
}

/// Leaves a command what is everybody's of the server's environment.
pub(super) fn clear(command: &mut Command) {
    let kept = ENVIRONMENT.map(|name| (name, std::env::var_os(name)));
    command.env_clear();
    command.envs(kept.into_iter().filter_map(|(name, it)| Some((name, it?))));
    command.current_dir("/");
}

/// See the module.
pub(super) struct Bounds {
    pub(super) how: Sandbox,
    /// What the server keeps.
    pub(super) state: PathBuf,
    /// Packages that a person has granted real-time policies, and up to which priority.
    pub(super) real_time: BTreeMap<String, u8>,
    /// What each package may keep on disk.
    pub(super) disk_bytes: u64,
    /// What real-time packages have their memory by.
    pub(super) groups: Groups,
}

impl Bounds {
    /// Tries the sandbox of a package that asks for nothing, and says what is missing.
    pub(super) fn announce(&self, framework: &Framework) -> Result<()> {
        let is_root = rustix::process::geteuid().is_root();
        let Some(strictness) = self.how.strictness() else {
            let who = match is_root {
                true => "everything to this machine, as root",
                false => "all that this user may",
            };
            eprintln!("takt: --sandbox none: packages may do {who}");
            return Ok(());
        };
        let places = places(framework)?;
        let user = user_of(Identity::BASE, &places, &self.state);
        let spec = self.spec(places, user, None);
        let made = Confinement::prepare(&spec, strictness)
            .context("refused: applications cannot be confined (--sandbox)")?;
        tell_missing(made.report(), "applications");
        Ok(())
    }

    /// Has a process start in its sandbox, with an environment of its own: as a program, or as a
    /// copy of the template.
    pub(super) fn confine(
        &self,
        command: &mut Command,
        framework: &Framework,
        app: &App<'_>,
    ) -> Result<Confined> {
        let environment = [
            ("HOME", app.data.clone()),
            ("XDG_CACHE_HOME", app.data.join(CODE)),
        ];
        clear(command);
        command.envs(environment.iter().map(|(name, it)| (name, it)));
        let text = |(name, it): &(&str, PathBuf)| Some((name.to_string(), it.to_str()?.to_owned()));
        let texts = environment.iter().map(text).collect::<Option<Vec<_>>>();
        let mut entry = sandbox::Entry {
            parent: std::process::id(),
            environment: texts.context("a path that is no text")?,
            steps: Vec::new(),
        };
        let Some(strictness) = self.how.strictness() else {
            give(&app.data, rustix::process::geteuid().as_raw())?;
            return Ok(Confined {
                rows: None,
                grants: None,
                entry: Some(entry),
                fds: Vec::new(),
            });
        };
        let places = places(framework)?;
        let user = user_of(app.process.uid, &places, &self.state);
        let mut spec = self.spec(places, user, Some(app));
        if let Some(bytes) = app.memory {
            match self.groups.of(&app.manifest.package, bytes) {
                Ok(group) => spec.group = Some(group),
                Err(why) => spec.lacks.push((Bound::Memory, why)),
            }
        }
        let mut made = Confinement::prepare(&spec, strictness)
            .context("refused: it cannot be confined (--sandbox)")?;
        let own = spec
            .identity
            .filter(|_| made.report().holds(Bound::Identity));
        let owner = own.map_or(rustix::process::geteuid().as_raw(), |it| it.uid);
        give(&app.data, owner)?;
        let rows = rows(made.report());
        let sandbox::Packed { words, fds } = made.packed();
        entry.steps = words;
        let fds = fds.iter().map(|it| it.try_clone_to_owned());
        let fds = fds.collect::<std::io::Result<Vec<_>>>()?;
        // Who runs in real time is to share no page that it writes to: it starts from nothing.
        let is_real_time = self.real_time.contains_key(&app.manifest.package);
        let grants = made.take_grants().and_then(|it| {
            let most = Priority::new(it.most())?;
            let keep = Box::new(move |process| it.keep(process));
            Some(Grants { most, keep })
        });
        made.confine(command);
        Ok(Confined {
            rows: Some(rows),
            grants,
            entry: (!is_real_time).then_some(entry),
            fds,
        })
    }

    fn spec(
        &self,
        places: Vec<PathBuf>,
        user: Result<Identity, String>,
        app: Option<&App<'_>>,
    ) -> Spec {
        let mut files = Grant::system();
        files.extend(places.into_iter().map(|it| Grant::new(it, Access::Run)));
        // Large results of SQLite lie in files without a name, by tmpfile(3).
        files.push(Grant::new(SCRATCH, Access::Scratch));
        if let Some(app) = app {
            files.push(Grant::new(&app.code, Access::Read));
            files.push(Grant::new(&app.libraries, Access::Run));
            files.push(Grant::new(&app.data, Access::Write));
            let may_record = app.settings.granted.contains(sound::RECORD_AUDIO);
            for device in sound::devices(may_record) {
                files.push(Grant::new(&device, Access::Read));
                files.push(Grant::new(device, Access::Device));
            }
        }
        let permissions = app.map(|it| it.manifest.uses_permissions.as_slice());
        let has_internet = permissions.is_some_and(|all| all.iter().any(|it| it == INTERNET));
        let granted = app.and_then(|it| self.real_time.get(&it.manifest.package));
        let importance = granted.map_or(STARTING, |_| Importance::RealTime);
        let lacks = user.as_ref().err();
        Spec {
            lacks: lacks
                .map(|it| (Bound::Identity, it.clone()))
                .into_iter()
                .collect(),
            identity: user.ok(),
            files,
            network: match has_internet {
                true => Network::Full,
                false => Network::None,
            },
            // Links to others are descriptors that the server hands over.
            local_sockets: LocalSockets::Refused,
            // Who serves calls reads there how urgent its caller is.
            other_processes: OtherProcesses::Listed,
            real_time: match granted {
                None => RealTime::FromOutside,
                // A limit asks nobody each time.
                Some(priority) if sandbox::may_raise(*priority) => RealTime::UpTo(*priority),
                Some(priority) => RealTime::Asked(*priority),
            },
            limits: Limits {
                tasks: Some(TASKS_MAX),
                open_files: Some(OPEN_FILES_MAX),
                locked_bytes: None,
                real_time_us: None,
                kill_order: Some(importance.kill_order()),
            },
            group: None,
            disk: Some(Disk {
                bytes: self.disk_bytes,
                folders: super::disks(&self.state),
            }),
        }
    }
}

/// What every application reads and runs, besides what every program does.
fn places(framework: &Framework) -> Result<Vec<PathBuf>> {
    let own = std::env::current_exe().context("cannot find this program's own file")?;
    let mut places = framework.places();
    places.push(Jdk::find()?.home);
    let machine = java::machine_beside(&own)?;
    places.extend(java::OF_MACHINE.map(|it| machine.join(it)));
    places.push(own);
    Ok(places)
}

/// A package's own user, or why it has none: the framework must be open to everybody for that,
/// and the way to its data.
fn user_of(uid: u32, places: &[PathBuf], state: &Path) -> Result<Identity, String> {
    if !rustix::process::geteuid().is_root() {
        return Err("root alone gives users of their own".to_owned());
    }
    let closed = places.iter().find_map(|it| closed(it));
    match closed.or_else(|| closed_way(&state.join("data"))) {
        Some(path) => Err(format!("{} is closed to others", path.display())),
        None => Ok(Identity { uid, gid: uid }),
    }
}

/// What on the way to a folder keeps others out, as far as there is a way.
fn closed_way(path: &Path) -> Option<PathBuf> {
    let there = path.ancestors().find_map(|it| it.canonicalize().ok())?;
    let shut = there.ancestors().find(|it| !is_open(it, PASS));
    shut.map(Path::to_owned)
}

fn is_open(path: &Path, bits: u32) -> bool {
    std::fs::metadata(path).is_ok_and(|it| it.permissions().mode() & bits == bits)
}

/// What keeps others from reading a path. What is not there grants nothing, and keeps nobody out.
fn closed(path: &Path) -> Option<PathBuf> {
    let path = path.canonicalize().ok()?;
    let way = path.parent().and_then(closed_way);
    way.or_else(|| (!is_open(&path, READ)).then_some(path))
}

/// A package's data is its user's. Its user changes when the server runs in another way.
fn give(data: &Path, uid: u32) -> Result<()> {
    let is_given = std::fs::symlink_metadata(data).is_ok_and(|it| it.uid() == uid);
    let given = match is_given {
        true => Ok(()),
        false => give_all(data, uid),
    };
    let made = given.and_then(|()| make_caches(data, uid));
    made.with_context(|| format!("cannot give {} to user {uid}", data.display()))
}

/// Folders that the framework would make and give to a group that no package is in here.
fn make_caches(data: &Path, uid: u32) -> Result<()> {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let folder = rustix::fs::open(data, flags, Mode::empty())?;
    for name in CACHES {
        match mkdirat(&folder, name, Mode::from_raw_mode(0o700)) {
            Ok(()) => {}
            // Whatever it is, it is the package's.
            Err(Errno::EXIST) => continue,
            Err(error) => return Err(error.into()),
        }
        let made = openat(&folder, name, flags, Mode::empty())?;
        fchown(&made, Some(Uid::from_raw(uid)), Some(Gid::from_raw(uid)))?;
    }
    Ok(())
}

/// With all below; the folder itself last, so that a start that was cut off is done again.
fn give_all(data: &Path, uid: u32) -> Result<()> {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let folder = rustix::fs::open(data, flags, Mode::empty())?;
    give_folder(&folder, uid, DEPTH_MAX)
}

/// By descriptors alone: what is a name's one moment may be another file's the next.
fn give_folder(folder: &OwnedFd, uid: u32, depth: usize) -> Result<()> {
    let (owner, group) = (Uid::from_raw(uid), Gid::from_raw(uid));
    let (owner, group) = (Some(owner), Some(group));
    anyhow::ensure!(depth > 0, "folders lie in folders, {DEPTH_MAX} deep");
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let place = match openat(folder, name, flags, Mode::empty()) {
            Err(Errno::NOENT) => continue,
            other => other?,
        };
        let found = fstat(&place)?;
        match FileType::from_raw_mode(found.st_mode) {
            FileType::Directory => {
                let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
                let inner = openat(&place, c".", flags, Mode::empty())?;
                give_folder(&inner, uid, depth - 1)?;
            }
            // It may be somebody else's file under another name.
            _ if found.st_nlink > 1 => {}
            _ => chownat(&place, c"", owner, group, AtFlags::EMPTY_PATH)?,
        }
    }
    Ok(fchown(folder, owner, group)?)
}

fn rows(report: &Report) -> Vec<BoundRow> {
    let row = |(bound, state): &(Bound, State)| BoundRow {
        name: bound.name().to_owned(),
        holds: matches!(state, State::Holds(_)),
        how: match state {
            State::Holds(how) => how.clone(),
            State::Missing(why) => why.clone(),
        },
    };
    report.bounds().iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Its own user, whom all may name; links lead nowhere, and what has two names stays.
    #[test]
    fn a_folder_is_given_with_all_below_and_nothing_beside() {
        let place = tempfile::tempdir().unwrap();
        let (data, beside) = (place.path().join("data"), place.path().join("beside"));
        std::fs::create_dir_all(data.join("a/b")).unwrap();
        std::fs::write(&beside, "").unwrap();
        std::fs::write(data.join("a/b/file"), "").unwrap();
        std::os::unix::fs::symlink(place.path(), data.join("link")).unwrap();
        std::fs::hard_link(&beside, data.join("twin")).unwrap();
        let uid = rt::process::uid();
        let to = if uid == 0 { 54_321 } else { uid };
        give_all(&data, to).unwrap();
        let owner = |path: &Path| std::fs::symlink_metadata(path).unwrap().uid();
        for name in ["", "a", "a/b", "a/b/file", "link"] {
            assert_eq!(owner(&data.join(name)), to, "{name}");
        }
        assert_eq!((owner(&beside), owner(place.path())), (uid, uid));
        let mut deep = data;
        for _ in 0..=DEPTH_MAX {
            deep.push("d");
        }
        std::fs::create_dir_all(&deep).unwrap();
        let error = give_all(&place.path().join("data"), to).unwrap_err();
        assert!(error.to_string().contains("deep"), "{error}");
    }

    #[test]
    fn a_folder_that_others_cannot_pass_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("inner/file");
        std::fs::create_dir(place.parent().unwrap()).unwrap();
        std::fs::write(&place, "").unwrap();
        let set = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        set(folder.path(), 0o755);
        set(place.parent().unwrap(), 0o711);
        set(&place, 0o644);
        assert_eq!(closed(&place), None);
        set(&place, 0o600);
        assert_eq!(closed(&place), Some(place.canonicalize().unwrap()));
        set(&place, 0o644);
        set(folder.path(), 0o700);
        assert_eq!(closed(&place), Some(folder.path().canonicalize().unwrap()));
        assert_eq!(closed(&folder.path().join("none")), None);
    }
}
