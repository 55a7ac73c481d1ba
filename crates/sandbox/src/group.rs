// SPDX-License-Identifier: Apache-2.0
//! [`Group`]: a control group of its own (cgroup v2), with bounds on memory and tasks. By hand: it
//! is five files.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Where systems mount cgroup v2.
const ROOT: &str = "/sys/fs/cgroup";

/// The group that a server moves to.
const OWN: &str = "takt-server";

/// Why there is no group.
#[derive(Debug, thiserror::Error)]
pub enum GroupError {
    /// This system has no cgroup v2 there.
    #[error("no cgroup v2 at {ROOT}")]
    NotThere,
    /// The name leads out of its parent.
    #[error("'{0}' is no name of a group")]
    Name(String),
    /// Groups can only be made where no process is.
    #[error(
        "other processes are in the control group {0}: groups are made where none is (--group)"
    )]
    Crowded(String),
    /// The kernel said no to one of its files.
    #[error("cannot write {path}: {source}")]
    Refused {
        /// The file or folder.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
}

/// A control group; removed, with all processes in it, when dropped.
#[derive(Debug)]
pub struct Group {
    path: PathBuf,
    /// Open for writing: a child joins by it when it has no right to open it any more.
    pub(crate) members: File,
    /// Whether the two bounds below were taken.
    pub(crate) memory_bytes: Option<u64>,
    pub(crate) tasks: Option<u64>,
}

impl Group {
    /// Whether cgroup v2 is mounted where systems mount it.
    pub fn is_offered() -> bool {
        Path::new(ROOT).join("cgroup.controllers").exists()
    }

    /// Makes the group `name` below `parent`, a group by its path from the root (`""`: the root
    /// itself). No more than `memory_bytes` and `tasks`; no swap.
    pub fn make(
        parent: &str,
        name: &str,
        memory_bytes: Option<u64>,
        tasks: Option<u64>,
    ) -> Result<Self, GroupError> {
        if !Self::is_offered() {
            return Err(GroupError::NotThere);
        }
        if name.is_empty() || name.contains(['/', '\0']) || name.starts_with('.') {
            return Err(GroupError::Name(name.to_owned()));
        }
        let parent = Path::new(ROOT).join(parent.trim_start_matches('/'));
        // They may be on already, or belong to somebody else: what counts is the group's own files.
        for controller in ["+memory", "+pids"] {
            let _ = std::fs::write(parent.join("cgroup.subtree_control"), controller);
        }
        let path = parent.join(name);
        // One that somebody has left who was killed is empty.
        let _ = std::fs::remove_dir(&path);
        std::fs::create_dir(&path).map_err(|source| GroupError::Refused {
            path: path.clone(),
            source,
        })?;
        let members = path.join("cgroup.procs");
        let opened = File::options().write(true).open(&members);
        let members = opened.map_err(|source| {
            // Nobody is in it yet.
            let _ = std::fs::remove_dir(&path);
            GroupError::Refused {
                path: members,
                source,
            }
        })?;
        let group = Self {
            path,
            members,
            memory_bytes,
            tasks,
        };
        if let Some(bytes) = memory_bytes {
            group.set("memory.max", bytes)?;
            // Where there is no swap there is no such file, and nothing to bound.
            let _ = group.set("memory.swap.max", 0);
        }
        if let Some(tasks) = tasks {
            group.set("pids.max", tasks)?;
        }
        Ok(group)
    }

    /// Keeps so much memory for its processes: it is taken from them for nobody else.
    pub fn reserve(&self, bytes: u64) -> Result<(), GroupError> {
        self.set("memory.min", bytes)
    }

    /// The group of this process, as a place for others: the process moves to one of its own in it.
    pub fn own_place() -> Result<String, GroupError> {
        if !Self::is_offered() {
            return Err(GroupError::NotThere);
        }
        let text = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let own = text.lines().find_map(|it| it.strip_prefix("0::"));
        let own = own.ok_or(GroupError::NotThere)?.to_owned();
        if own == "/" {
            return Ok(own);
        }
        let refused = |path: &Path, source| GroupError::Refused {
            path: path.to_owned(),
            source,
        };
        let place = Path::new(ROOT).join(own.trim_start_matches('/'));
        let inner = place.join(OWN);
        std::fs::create_dir(&inner)
            .or_else(|it| match it.kind() {
                io::ErrorKind::AlreadyExists => Ok(()),
                _ => Err(it),
            })
            .map_err(|it| refused(&inner, it))?;
        let move_to = |group: &Path| {
            let members = group.join("cgroup.procs");
            std::fs::write(&members, "0").map_err(|it| refused(&members, it))
        };
        move_to(&inner)?;
        let left = std::fs::read_to_string(place.join("cgroup.procs"));
        if left.is_ok_and(|it| it.is_empty()) {
            return Ok(own);
        }
        move_to(&place)?;
        // It was made for nothing, and is empty.
        let _ = std::fs::remove_dir(&inner);
        Err(GroupError::Crowded(own))
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn set(&self, file: &str, value: u64) -> Result<(), GroupError> {
        let path = self.path.join(file);
        std::fs::write(&path, value.to_string())
            .map_err(|source| GroupError::Refused { path, source })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // What is left ends with it; a destructor has nobody to tell.
        let _ = std::fs::write(self.path.join("cgroup.kill"), "1");
        for _ in 0..REMOVALS_MAX {
            if std::fs::remove_dir(&self.path).is_ok() {
                return;
            }
            std::thread::yield_now();
        }
    }
}

/// Who was killed is gone a moment later; a group that stays is empty and harmless.
const REMOVALS_MAX: u32 = 1_000;
