// SPDX-License-Identifier: Apache-2.0
//! [`RealDisk`]: the store's files in a folder of their own, which one server uses at a time.
//!
//! `code/N.apk` are packages, `libraries/N.apk` their native libraries, `data/PACKAGE` the places
//! for data.

use std::fs::{DirBuilder, File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt};
use std::path::{Path, PathBuf};

use agent::place::{CODE, DATA, LIBRARIES, Place};
use apk::Apk;
use rustix::fs::{Gid, Uid};
use server::store::{Disk, DiskError, STATE_BYTES_MAX};

const LOCK: &str = "lock";
/// A package: it is held in memory as a whole.
pub(crate) const PACKAGE_BYTES_MAX: u64 = 2 << 30;
/// Unpacked native libraries of one package; the largest in the field have a quarter.
const LIBRARY_BYTES_MAX: u64 = 1 << 30;
/// Others come through, to what is open to them.
const PASSABLE: u32 = 0o711;
const OWN: u32 = 0o700;

/// See the module.
#[derive(Debug)]
pub(crate) struct RealDisk {
    root: PathBuf,
    /// Held as long as this is.
    _lock: File,
}

impl RealDisk {
    /// The folder, made if it is not there.
    ///
    /// # Errors
    ///
    /// Also if another server uses it.
    pub(crate) fn open(root: &Path) -> io::Result<Self> {
        for name in ["", CODE, DATA, LIBRARIES] {
            let folder = root.join(name);
            DirBuilder::new()
                .recursive(true)
                .mode(PASSABLE)
                .create(folder)?;
        }
        let lock = File::create(root.join(LOCK))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let text = format!("another takt system uses {}", root.display());
                return Err(io::Error::new(io::ErrorKind::AddrInUse, text));
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
        Ok(Self {
            root: root.to_owned(),
            _lock: lock,
        })
    }

    fn libraries(&self, code: &str) -> PathBuf {
        Place::new(&self.root).libraries(code)
    }

    /// Puts a package's native libraries for this machine beside its code.
    pub(crate) fn unpack(&mut self, code: &str, package: &Apk<'_>, abi: &str) -> io::Result<()> {
        let all = package.native_libraries(abi);
        let bytes = all.iter().map(|it| it.bytes).fold(0, u64::saturating_add);
        if bytes > LIBRARY_BYTES_MAX {
            let text = format!(
                "its native libraries unpack to {bytes} bytes, and {LIBRARY_BYTES_MAX} are the limit"
            );
            return Err(io::Error::other(text));
        }
        let folder = self.libraries(code);
        remove_folder(&folder)?;
        if all.is_empty() {
            return Ok(());
        }
        DirBuilder::new().mode(PASSABLE).create(&folder)?;
        for it in all {
            let bytes = package.archive.read_dense(it.entry);
            let bytes = bytes.map_err(|it| io::Error::other(it.to_string()))?;
            write_durably(&folder.join(it.file), &bytes, 0o755)?;
        }
        File::open(&folder)?.sync_all()?;
        File::open(self.root.join(LIBRARIES))?.sync_all()
    }

    fn path(&self, name: &str) -> PathBuf {
        let is_plain = |it: &str| !it.is_empty() && !it.starts_with('.');
        assert!(name.split('/').all(is_plain), "{name:?} leads elsewhere");
        self.root.join(name)
    }

    fn names(&self, folder: &str) -> Result<Vec<String>, DiskError> {
        let place = self.root.join(folder);
        let read = || -> io::Result<Vec<String>> {
            let mut names = Vec::new();
            for entry in std::fs::read_dir(&place)? {
                names.extend(entry?.file_name().into_string());
            }
            Ok(names)
        };
        read().map_err(|it| failed(&place, &it))
    }
}

fn failed(path: &Path, error: &io::Error) -> DiskError {
    DiskError(format!("{}: {error}", path.display()))
}

fn write_durably(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut file = File::options()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(mode)
        .open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// With all that is in it; one that is not there is no fault.
fn remove_folder(path: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        outcome => outcome,
    }
}

impl Disk for RealDisk {
    fn read(&mut self, name: &str) -> Result<Option<Vec<u8>>, DiskError> {
        let path = self.path(name);
        let limit = match name.starts_with(CODE) {
            true => PACKAGE_BYTES_MAX,
            false => STATE_BYTES_MAX as u64 + 4096,
        };
        let file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            outcome => outcome.map_err(|it| failed(&path, &it))?,
        };
        let mut bytes = Vec::new();
        let read = file.take(limit + 1).read_to_end(&mut bytes);
        read.map_err(|it| failed(&path, &it))?;
        if bytes.len() as u64 > limit {
            let text = format!("{}: more than {limit} bytes", path.display());
            return Err(DiskError(text));
        }
        Ok(Some(bytes))
    }

    fn write(&mut self, name: &str, bytes: &[u8]) -> Result<(), DiskError> {
        let path = self.path(name);
        // A package's process reads its code; the state is ours alone.
        let mode = if name.starts_with(CODE) { 0o644 } else { 0o600 };
        let write = || {
            let mut file = File::options()
                .write(true)
                .create(true)
                .truncate(true)
                .mode(mode)
                .open(&path)?;
            file.write_all(bytes)
        };
        write().map_err(|it| failed(&path, &it))
    }

    fn sync(&mut self, name: &str) -> Result<(), DiskError> {
        let path = self.path(name);
        let synced = File::open(&path).and_then(|it| it.sync_all());
        synced.map_err(|it| failed(&path, &it))
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), DiskError> {
        let (from, to) = (self.path(from), self.path(to));
        std::fs::rename(&from, &to).map_err(|it| failed(&to, &it))
    }

    fn remove(&mut self, name: &str) -> Result<(), DiskError> {
        let path = self.path(name);
        if let Some(code) = name.strip_prefix("code/") {
            let libraries = self.libraries(code);
            remove_folder(&libraries).map_err(|it| failed(&libraries, &it))?;
        }
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            outcome => outcome.map_err(|it| failed(&path, &it)),
        }
    }

    fn sync_names(&mut self) -> Result<(), DiskError> {
        for name in ["", CODE, DATA] {
            let folder = self.root.join(name);
            let synced = File::open(&folder).and_then(|it| it.sync_all());
            synced.map_err(|it| failed(&folder, &it))?;
        }
        Ok(())
    }

    fn codes(&mut self) -> Result<Vec<String>, DiskError> {
        self.names(CODE)
    }

    fn places(&mut self) -> Result<Vec<String>, DiskError> {
        self.names(DATA)
    }

    fn make_place(&mut self, package: &str, uid: u32) -> Result<(), DiskError> {
        let path = self.path(&format!("{DATA}/{package}"));
        let make = || -> io::Result<()> {
            match DirBuilder::new().mode(OWN).create(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                outcome => outcome?,
            }
            if rustix::process::geteuid().is_root() {
                let (owner, group) = (Uid::from_raw(uid), Gid::from_raw(uid));
                rustix::fs::chown(&path, Some(owner), Some(group))?;
            }
            std::fs::set_permissions(&path, PermissionsExt::from_mode(OWN))
        };
        make().map_err(|it| failed(&path, &it))
    }

    fn remove_place(&mut self, package: &str) -> Result<(), DiskError> {
        let path = self.path(&format!("{DATA}/{package}"));
        remove_folder(&path).map_err(|it| failed(&path, &it))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use server::packages::{Enabled, Settings};
    use server::store::Store;

    fn settings(name: &str, code: String) -> Settings {
        Settings {
            name: name.to_owned(),
            version: 1,
            signers: ["s".to_owned()].into(),
            uid: 10_000,
            code,
            is_system: false,
            granted: Default::default(),
            enabled: Enabled::default(),
            components: Default::default(),
        }
    }

    #[test]
    fn what_is_put_is_there_again_and_what_belongs_to_nobody_goes() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Store::open(RealDisk::open(folder.path()).unwrap()).unwrap();
        let mut store = open();
        let code = store.keep_code(b"package").unwrap();
        store.put(&settings("p.one", code)).unwrap();
        let unnamed = store.keep_code(b"never named").unwrap();
        assert!(folder.path().join("code").join(&unnamed).exists());
        drop(store);
        let mut again = open();
        let kept: Vec<Settings> = again.packages().cloned().collect();
        assert_eq!(kept.len(), 1);
        assert_eq!(again.code(&kept[0]).unwrap(), b"package");
        assert!(!folder.path().join("code").join(unnamed).exists());
        assert!(folder.path().join("data/p.one").is_dir());
        again.remove("p.one").unwrap();
        assert!(!folder.path().join("data/p.one").exists());
        drop(again);
        assert_eq!(open().packages().count(), 0);
    }

    #[test]
    fn two_servers_do_not_share_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let first = RealDisk::open(folder.path()).unwrap();
        let second = RealDisk::open(folder.path()).unwrap_err();
        assert_eq!(second.kind(), io::ErrorKind::AddrInUse);
        drop(first);
        RealDisk::open(folder.path()).unwrap();
    }
}
