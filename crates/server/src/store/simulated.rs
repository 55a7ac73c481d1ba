// SPDX-License-Identifier: Apache-2.0
//! A disk that crashes after so many steps, and keeps what a real one may keep: of names, what was
//! made durable and the first few changes after it; of bytes that were not, all, some or none.

use std::collections::{BTreeMap, BTreeSet};

use super::{Disk, DiskError};

#[derive(Clone, Debug, Default)]
struct File {
    synced: Vec<u8>,
    current: Vec<u8>,
}

#[derive(Clone, Debug)]
enum Change {
    Name(String, usize),
    Remove(String),
    Place(String),
    RemovePlace(String),
}

#[derive(Clone, Debug, Default)]
struct Names {
    files: BTreeMap<String, usize>,
    places: BTreeSet<String>,
}

impl Names {
    fn apply(&mut self, change: &Change) {
        match change {
            Change::Name(name, file) => {
                self.files.retain(|_, it| it != file);
                self.files.insert(name.clone(), *file);
            }
            Change::Remove(name) => {
                self.files.remove(name);
            }
            Change::Place(name) => {
                self.places.insert(name.clone());
            }
            Change::RemovePlace(name) => {
                self.places.remove(name);
            }
        }
    }
}

/// The disk.
#[derive(Clone, Debug, Default)]
pub struct SimulatedDisk {
    files: Vec<File>,
    durable: Names,
    current: Names,
    /// Since the names were durable.
    changes: Vec<Change>,
    /// Steps until it crashes; none for never.
    steps_left: Option<u64>,
    steps: u64,
}

impl SimulatedDisk {
    /// From now on it does so many steps.
    pub fn crash_after(&mut self, steps: Option<u64>) {
        self.steps_left = steps;
    }

    /// The steps that it has done.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// What is left after a crash. `choose` gives a number below its argument.
    pub fn after_crash(&self, mut choose: impl FnMut(usize) -> usize) -> Self {
        let mut names = self.durable.clone();
        let kept = choose(self.changes.len() + 1);
        self.changes[..kept].iter().for_each(|it| names.apply(it));
        let mut left = |file: &File| {
            let bytes = match choose(4) {
                0 => file.synced.clone(),
                1 => file.current.clone(),
                2 => file.current[..choose(file.current.len() + 1)].to_vec(),
                _ => {
                    // Its length is there, some of its bytes are not.
                    let mut torn = file.current.clone();
                    let from = choose(torn.len() + 1);
                    torn[from..].fill(0);
                    torn
                }
            };
            let is_durable = file.synced == file.current;
            let bytes = if is_durable {
                file.synced.clone()
            } else {
                bytes
            };
            File {
                synced: bytes.clone(),
                current: bytes,
            }
        };
        Self {
            files: self.files.iter().map(&mut left).collect(),
            durable: names.clone(),
            current: names,
            changes: Vec::new(),
            steps_left: None,
            steps: 0,
        }
    }

    fn step(&mut self) -> Result<(), DiskError> {
        match &mut self.steps_left {
            Some(0) => return Err(DiskError("crashed".to_owned())),
            Some(left) => *left -= 1,
            None => {}
        }
        self.steps += 1;
        Ok(())
    }

    fn change(&mut self, change: Change) -> Result<(), DiskError> {
        self.current.apply(&change);
        self.changes.push(change);
        self.step()
    }

    fn file(&mut self, name: &str) -> Result<usize, DiskError> {
        let found = self.current.files.get(name).copied();
        found.ok_or_else(|| DiskError(format!("no {name}")))
    }
}

impl Disk for SimulatedDisk {
    fn read(&mut self, name: &str) -> Result<Option<Vec<u8>>, DiskError> {
        let file = self.current.files.get(name);
        Ok(file.map(|it| self.files[*it].current.clone()))
    }

    fn write(&mut self, name: &str, bytes: &[u8]) -> Result<(), DiskError> {
        let file = match self.current.files.get(name) {
            Some(file) => *file,
            None => {
                self.files.push(File::default());
                let file = self.files.len() - 1;
                self.change(Change::Name(name.to_owned(), file))?;
                file
            }
        };
        self.files[file].current = bytes.to_vec();
        self.step()
    }

    fn sync(&mut self, name: &str) -> Result<(), DiskError> {
        self.step()?;
        let file = self.file(name)?;
        self.files[file].synced = self.files[file].current.clone();
        Ok(())
    }

    fn rename(&mut self, from: &str, to: &str) -> Result<(), DiskError> {
        let file = self.file(from)?;
        self.change(Change::Name(to.to_owned(), file))
    }

    fn remove(&mut self, name: &str) -> Result<(), DiskError> {
        self.change(Change::Remove(name.to_owned()))
    }

    fn sync_names(&mut self) -> Result<(), DiskError> {
        self.step()?;
        self.durable = self.current.clone();
        self.changes.clear();
        Ok(())
    }

    fn codes(&mut self) -> Result<Vec<String>, DiskError> {
        let names = self.current.files.keys();
        let codes = names.filter_map(|it| it.strip_prefix("code/"));
        Ok(codes.map(str::to_owned).collect())
    }

    fn places(&mut self) -> Result<Vec<String>, DiskError> {
        Ok(self.current.places.iter().cloned().collect())
    }

    fn make_place(&mut self, package: &str, _uid: u32) -> Result<(), DiskError> {
        self.change(Change::Place(package.to_owned()))
    }

    fn remove_place(&mut self, package: &str) -> Result<(), DiskError> {
        self.change(Change::RemovePlace(package.to_owned()))
    }
}
