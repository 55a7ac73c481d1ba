// SPDX-License-Identifier: Apache-2.0
//! What is kept over a kill −9: the settings of packages, where their code and data lie, grants of
//! addresses, and jobs that are persisted.
//!
//! A change is one snapshot, written beside the old one, made durable, and renamed over it: that
//! rename is when it happens. What lies around it is tidied up by who opens the store next. Only
//! [`Disk`] knows files; [`simulated`] is one that crashes.

pub mod simulated;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::grants::KeptGrant;
use crate::jobs::KeptJob;
use crate::packages::Settings;

/// The snapshot.
const STATE: &str = "state";
/// It, while it is written.
const STATE_NEW: &str = "state.new";
/// Begins the snapshot's first line; the number is that of its form.
const MAGIC: &str = "takt-state 1";
/// A snapshot's bytes: a few hundred packages with a kilobyte each, and room.
pub const STATE_BYTES_MAX: usize = 16 << 20;

/// What failed below.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DiskError(pub String);

/// Files by names with at most one slash, and places for data.
///
/// Nothing is durable before `sync` (a file's bytes) or `sync_names` (who has which name).
pub trait Disk {
    /// A file's bytes; none if it is not there.
    ///
    /// # Errors
    ///
    /// [`DiskError`], as for all of them.
    fn read(&mut self, name: &str) -> Result<Option<Vec<u8>>, DiskError>;
    /// A new file, or one that is there with other bytes.
    ///
    /// # Errors
    ///
    /// [`DiskError`]
    fn write(&mut self, name: &str, bytes: &[u8]) -> Result<(), DiskError>;
    /// Its bytes are durable.
    ///
    /// # Errors
    ///
    /// [`DiskError`]
    fn sync(&mut self, name: &str) -> Result<(), DiskError>;
    /// It has another name, whose old file is gone.
    ///
    /// # Errors
    ///
    /// [`DiskError`]
    fn rename(&mut self, from: &str, to: &str) -> Result<(), DiskError>;
    /// It is gone, if it was there.
    ///
    /// # Errors
    ///
    /// [`DiskError`]
    fn remove(&mut self, name: &str) -> Result<(), DiskError>;
    /// All names are durable.
    ///
    /// # Errors
    ///
    /// [`DiskError`]
    fn sync_names(&mut self) -> Result<(), DiskError>;
    /// The names of all code files: what stands behind `code/`.
    ///
    /// # Errors
    ///
    /// [`DiskError`]
    fn codes(&mut self) -> Result<Vec<String>, DiskError>;
    /// The packages that have a place for data.
    ///
    /// # Errors
    ///
    /// [`DiskError`]
    fn places(&mut self) -> Result<Vec<String>, DiskError>;
    /// A package has a place for data, of this user, from now on.
    ///
    /// # Errors
    ///
    /// [`DiskError`]
    fn make_place(&mut self, package: &str, uid: u32) -> Result<(), DiskError>;
    /// Its place is gone, with all that is in it.
    ///
    /// # Errors
    ///
    /// [`DiskError`]
    fn remove_place(&mut self, package: &str) -> Result<(), DiskError>;
}

/// Why the store is not opened or changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The disk failed. What is kept is unknown until the store is opened again.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The snapshot is not what was written.
    #[error("the state that is kept is damaged: {0}")]
    Damaged(&'static str),
    /// There is too much.
    #[error("{0} bytes of state: at most {STATE_BYTES_MAX}")]
    TooLarge(usize),
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct State {
    packages: BTreeMap<String, Settings>,
    /// Snapshots of before there were any have none.
    #[serde(default)]
    grants: Vec<KeptGrant>,
    #[serde(default)]
    jobs: Vec<KeptJob>,
}

/// The store.
#[derive(Debug)]
pub struct Store<D> {
    disk: D,
    state: State,
    next_code: u64,
}

impl<D: Disk> Store<D> {
    /// Opens it, and tidies up what a crash has left.
    ///
    /// # Errors
    ///
    /// [`StoreError`]
    pub fn open(mut disk: D) -> Result<Self, StoreError> {
        let last = disk.codes()?.iter().filter_map(|it| number(it)).max();
        let mut store = Self {
            disk,
            state: State::default(),
            next_code: last.map_or(0, |it| it + 1),
        };
        store.reopen()?;
        Ok(store)
    }

    /// Reads what the disk has, after it failed: then that is what is kept.
    ///
    /// # Errors
    ///
    /// [`StoreError`]
    pub fn reopen(&mut self) -> Result<(), StoreError> {
        self.state = match self.disk.read(STATE)? {
            Some(bytes) => read(&bytes)?,
            None => State::default(),
        };
        self.disk.remove(STATE_NEW)?;
        self.tidy()?;
        for it in self.state.packages.values() {
            self.disk.make_place(&it.name, it.uid)?;
        }
        Ok(())
    }

    /// What is installed.
    pub fn packages(&self) -> impl Iterator<Item = &Settings> {
        self.state.packages.values()
    }

    /// The disk below.
    pub fn disk(&mut self) -> &mut D {
        &mut self.disk
    }

    /// Keeps a package's bytes. They belong to nobody until `put` names them.
    ///
    /// # Errors
    ///
    /// [`StoreError`]
    pub fn keep_code(&mut self, bytes: &[u8]) -> Result<String, StoreError> {
        let name = format!("{}.apk", self.next_code);
        self.next_code += 1;
        let (new, kept) = (format!("code/{name}.new"), format!("code/{name}"));
        self.disk.write(&new, bytes)?;
        self.disk.sync(&new)?;
        self.disk.rename(&new, &kept)?;
        self.disk.sync_names()?;
        Ok(name)
    }

    /// A package's bytes.
    ///
    /// # Errors
    ///
    /// [`StoreError`]
    pub fn code(&mut self, settings: &Settings) -> Result<Vec<u8>, StoreError> {
        let bytes = self.disk.read(&format!("code/{}", settings.code))?;
        bytes.ok_or(StoreError::Damaged("a package's code is gone"))
    }

    /// A package is installed, replaced or changed. When this returns, it is kept.
    ///
    /// # Errors
    ///
    /// [`StoreError`]
    pub fn put(&mut self, settings: &Settings) -> Result<(), StoreError> {
        let mut next = self.state.clone();
        next.packages
            .insert(settings.name.clone(), settings.clone());
        self.commit(next)?;
        self.disk.make_place(&settings.name, settings.uid)?;
        self.tidy()
    }

    /// A package is gone, with its data. When this returns, it is kept so.
    ///
    /// # Errors
    ///
    /// [`StoreError`]
    pub fn remove(&mut self, package: &str) -> Result<(), StoreError> {
        let mut next = self.state.clone();
        next.packages.remove(package);
        let is_its = |it: &KeptGrant| it.holder == package || it.provider == package;
        next.grants.retain(|it| !is_its(it));
        next.jobs.retain(|it| it.package != package);
        self.commit(next)?;
        self.tidy()
    }

    /// Grants of addresses that packages keep.
    pub fn grants(&self) -> &[KeptGrant] {
        &self.state.grants
    }

    /// These are kept, and no others. When this returns, it is so.
    ///
    /// # Errors
    ///
    /// [`StoreError`]
    pub fn put_grants(&mut self, grants: Vec<KeptGrant>) -> Result<(), StoreError> {
        if grants == self.state.grants {
            return Ok(());
        }
        let mut next = self.state.clone();
        next.grants = grants;
        self.commit(next)
    }

    /// Jobs that come again with the next server.
    pub fn jobs(&self) -> &[KeptJob] {
        &self.state.jobs
    }

    /// These are kept, and no others. When this returns, it is so.
    ///
    /// # Errors
    ///
    /// [`StoreError`]
    pub fn put_jobs(&mut self, jobs: Vec<KeptJob>) -> Result<(), StoreError> {
        if jobs == self.state.jobs {
            return Ok(());
        }
        let mut next = self.state.clone();
        next.jobs = jobs;
        self.commit(next)
    }

    fn commit(&mut self, next: State) -> Result<(), StoreError> {
        let bytes = written(&next)?;
        self.disk.write(STATE_NEW, &bytes)?;
        self.disk.sync(STATE_NEW)?;
        self.disk.rename(STATE_NEW, STATE)?;
        self.disk.sync_names()?;
        self.state = next;
        Ok(())
    }

    /// Takes away code and places of nobody.
    fn tidy(&mut self) -> Result<(), StoreError> {
        let used: BTreeSet<&str> = self.state.packages.values().map(|it| &*it.code).collect();
        for name in self.disk.codes()? {
            if !used.contains(&*name) {
                self.disk.remove(&format!("code/{name}"))?;
            }
        }
        for package in self.disk.places()? {
            if !self.state.packages.contains_key(&package) {
                self.disk.remove_place(&package)?;
            }
        }
        Ok(self.disk.sync_names()?)
    }
}

/// Of `12.apk`, and of `12.apk.new`.
fn number(code: &str) -> Option<u64> {
    code.split('.').next()?.parse().ok()
}

fn written(state: &State) -> Result<Vec<u8>, StoreError> {
    let body = serde_json::to_vec(state).map_err(|_| StoreError::Damaged("no JSON of it"))?;
    if body.len() > STATE_BYTES_MAX {
        return Err(StoreError::TooLarge(body.len()));
    }
    let head = format!("{MAGIC} {} {:016x}\n", body.len(), sum(&body));
    Ok([head.as_bytes(), &body].concat())
}

fn read(bytes: &[u8]) -> Result<State, StoreError> {
    let damaged = StoreError::Damaged;
    if bytes.len() > STATE_BYTES_MAX + 256 {
        return Err(StoreError::TooLarge(bytes.len()));
    }
    let end = bytes.iter().position(|it| *it == b'\n');
    let (head, body) = bytes.split_at(end.ok_or(damaged("no first line"))?);
    let body = &body[1..];
    let expected = format!("{MAGIC} {} {:016x}", body.len(), sum(body));
    if head != expected.as_bytes() {
        return Err(damaged("its first line is not of what follows"));
    }
    serde_json::from_slice(body).map_err(|_| damaged("it is no JSON of ours"))
}

/// FNV-1a: against torn writes, not against people.
fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
