// SPDX-License-Identifier: Apache-2.0
//! [`DataFolder`]: where an application keeps its files, and whose they are.
//!
//! In it lies a folder of our own, [`OWN`]: the record of the package and its signer, and the
//! native libraries. Nothing else in a data folder is written or deleted. An application may leave
//! links there, so our folder is reached through its descriptor and no link is followed.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use apk::{Apk, NativeLibrary};
use rustix::fs::{AtFlags, Mode, OFlags, fstat, mkdirat, openat, renameat, unlinkat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::apk::HOST_ABI;

const OWN: &str = ".takt";
const RECORD: &str = "owner.json";
const NEW_RECORD: &str = "owner.json.new";
const ANDROID_ID: &str = "android-id";
/// In hexadecimal, as Android has it.
const ANDROID_ID_BYTES: usize = 16;
const LIBRARIES: &str = "lib";
const SCREEN_ADDRESS: &str = "screen-address";
const NEW_LIBRARIES: &str = "lib.new";
/// A package has at most ten signers.
const RECORD_BYTES_MAX: u64 = 64 << 10;
/// Unpacked native libraries of one package; the largest in the field have a quarter.
const LIBRARY_BYTES_MAX: u64 = 1 << 30;
const FOLDER: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

/// Whose a data folder is.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Owner {
    package: String,
    /// SHA-256 of each signer's certificate; none for a package without a signature that was
    /// verified.
    signers: BTreeSet<String>,
}

impl Owner {
    pub(super) fn new(package: &str, signers: impl IntoIterator<Item = String>) -> Self {
        Self {
            package: package.to_owned(),
            signers: signers.into_iter().collect(),
        }
    }
}

impl core::fmt::Display for Owner {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let signers: Vec<&str> = self.signers.iter().map(String::as_str).collect();
        match &*signers {
            [] => write!(f, "{} without a verified signature", self.package),
            _ => {
                let signers = signers.join(" and ");
                write!(f, "{} signed by {signers}", self.package)
            }
        }
    }
}

/// A data folder that belongs to the package.
pub(super) struct DataFolder {
    path: PathBuf,
    own: OwnedFd,
}

impl DataFolder {
    /// The folder that the user names: whatever is in it, it becomes the package's.
    pub(super) fn named(path: &Path, owner: &Owner) -> Result<Self> {
        let path = std::path::absolute(path)?;
        std::fs::create_dir_all(&path)
            .with_context(|| format!("cannot make {}", path.display()))?;
        Self::open(path, OFlags::empty(), owner)
    }

    /// The package's own below a common one.
    pub(super) fn below(parent: &Path, owner: &Owner) -> Result<Self> {
        let path = parent.join(&owner.package);
        std::fs::create_dir_all(&path)
            .with_context(|| format!("cannot make {}", path.display()))?;
        if !path.join(OWN).exists() && std::fs::read_dir(&path)?.next().is_some() {
            bail!(
                "{} has files and no record of whose they are: remove it, or name it by --data to give it to this package",
                path.display()
            );
        }
        Self::open(path, OFlags::NOFOLLOW, owner)
    }

    fn open(path: PathBuf, more: OFlags, owner: &Owner) -> Result<Self> {
        let place = path.display();
        let data = rustix::fs::open(&path, FOLDER | more, Mode::empty())
            .with_context(|| format!("cannot open the folder {place}"))?;
        let not_ours = || {
            format!(
                "{place}/{OWN} is not a folder that takt run has made: remove it, or give another folder by --data"
            )
        };
        match mkdirat(&data, OWN, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error).with_context(|| format!("cannot make {place}/{OWN}")),
        }
        let own =
            openat(&data, OWN, FOLDER | OFlags::NOFOLLOW, Mode::empty()).with_context(not_ours)?;
        let found = fstat(&own)?;
        let is_private =
            found.st_uid == rustix::process::geteuid().as_raw() && found.st_mode & 0o022 == 0;
        if !is_private {
            bail!("{}: others could write to it", not_ours());
        }
        let folder = Self {
            path: path.clone(),
            own,
        };
        match folder.record().with_context(not_ours)? {
            Some(found) if found == *owner => {}
            Some(found) => bail!(
                "refused: the files in {place} belong to {found}, and this is {owner}: give another folder by --data, or remove \
                 {place} if its files are not needed any more"
            ),
            None => folder
                .write_record(owner)
                .with_context(|| format!("cannot write {place}/{OWN}/{RECORD}"))?,
        }
        Ok(folder)
    }

    /// What stands in the record; none in a new folder.
    fn record(&self) -> Result<Option<Owner>> {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match openat(&self.own, RECORD, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            Err(Errno::NOENT) if self.is_new()? => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let mut text = String::new();
        file.take(RECORD_BYTES_MAX).read_to_string(&mut text)?;
        Ok(Some(serde_json::from_str(&text)?))
    }

    /// Nothing in it, or what a run left that ended before its record was written.
    fn is_new(&self) -> Result<bool> {
        for entry in std::fs::read_dir(self.inside(""))? {
            if entry?.file_name() != NEW_RECORD {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn write_record(&self, owner: &Owner) -> Result<()> {
        match unlinkat(&self.own, NEW_RECORD, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        let mut file = create(&self.own, NEW_RECORD)?;
        file.write_all(&serde_json::to_vec(owner)?)?;
        renameat(&self.own, NEW_RECORD, &self.own, RECORD)?;
        Ok(())
    }

    /// What the settings know the device by, for this package and signer: drawn once, as Android
    /// does, and kept as long as the folder.
    pub(super) fn android_id(&self) -> Result<String> {
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut text = String::new();
        match openat(&self.own, ANDROID_ID, flags, Mode::empty()) {
            Ok(file) => {
                let mut file = File::from(file).take(RECORD_BYTES_MAX);
                file.read_to_string(&mut text)?;
            }
            Err(Errno::NOENT) => {
                let mut number = [0; ANDROID_ID_BYTES / 2];
                File::open("/dev/urandom")?.read_exact(&mut number)?;
                text = format!("{:016x}", u64::from_be_bytes(number));
                create(&self.own, ANDROID_ID)?.write_all(text.as_bytes())?;
            }
            Err(error) => return Err(error.into()),
        }
        let is_whole =
            text.len() == ANDROID_ID_BYTES && text.bytes().all(|it| it.is_ascii_hexdigit());
        if !is_whole {
            let place = self.path.display();
            bail!("{place}/{OWN}/{ANDROID_ID} holds no Android id: remove it");
        }
        Ok(text)
    }

    /// Puts the package's native libraries for this machine where its class loader looks, in place
    /// of those of an earlier run, as an installation does. What fails leaves nothing behind.
    pub(super) fn unpack_libraries(&self, package: &Apk<'_>) -> Result<()> {
        let libraries = package.native_libraries(HOST_ABI);
        let sizes = libraries.iter().map(|it| it.bytes);
        let bytes = sizes.fold(0, u64::saturating_add);
        if bytes > LIBRARY_BYTES_MAX {
            bail!(
                "refused: its native libraries unpack to {bytes} bytes, and {LIBRARY_BYTES_MAX} are the limit"
            );
        }
        self.remove(NEW_LIBRARIES)?;
        let outcome = self.fill(package, &libraries);
        if outcome.is_err() {
            self.remove(NEW_LIBRARIES)?;
        }
        outcome?;
        self.remove(LIBRARIES)?;
        if !libraries.is_empty() {
            renameat(&self.own, NEW_LIBRARIES, &self.own, LIBRARIES)
                .with_context(|| format!("cannot replace {}", self.libraries().display()))?;
        }
        Ok(())
    }

    fn fill(&self, package: &Apk<'_>, libraries: &[NativeLibrary<'_>]) -> Result<()> {
        if libraries.is_empty() {
            return Ok(());
        }
        mkdirat(&self.own, NEW_LIBRARIES, Mode::RWXU)?;
        let folder = openat(
            &self.own,
            NEW_LIBRARIES,
            FOLDER | OFlags::NOFOLLOW,
            Mode::empty(),
        )?;
        for NativeLibrary { entry, file, .. } in libraries {
            let bytes = package.archive.read_dense(entry)?;
            let write = || create(&folder, file)?.write_all(&bytes);
            write().with_context(|| {
                let size = bytes.len();
                format!(
                    "cannot write {size} bytes of {file} below {}",
                    self.path.display()
                )
            })?;
        }
        Ok(())
    }

    /// A folder of ours with all that is in it; links in it are removed and not followed.
    fn remove(&self, name: &str) -> Result<()> {
        match std::fs::remove_dir_all(self.inside(name)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                let path = self.path.join(OWN).join(name);
                Err(error).with_context(|| format!("cannot remove {}", path.display()))
            }
            _ => Ok(()),
        }
    }

    /// What our folder's descriptor leads to, even if its name is renamed meanwhile.
    fn inside(&self, name: &str) -> PathBuf {
        format!("/proc/self/fd/{}/{name}", self.own.as_raw_fd()).into()
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Where `--screen web` leaves its address and token.
    pub(super) fn screen_address(&self) -> PathBuf {
        self.path.join(OWN).join(SCREEN_ADDRESS)
    }

    pub(super) fn libraries(&self) -> PathBuf {
        self.path.join(OWN).join(LIBRARIES)
    }
}

/// A file that was not there, so no link either.
fn create(folder: &OwnedFd, name: &str) -> std::io::Result<File> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    Ok(openat(folder, name, flags, Mode::RUSR | Mode::WUSR | Mode::XUSR)?.into())
}
