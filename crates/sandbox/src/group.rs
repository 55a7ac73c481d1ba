// SPDX-License-Identifier: Apache-2.0
//! [`Group`]: a control group of its own (cgroup v2), with bounds on memory and tasks. By hand: it
//! is five files.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Where systems mount cgroup v2.
const ROOT: &str = "/sys/fs/cgroup";

/// Why there is no group.
#[derive(Debug, thiserror::Error)]
pub enum GroupError {
    /// This system has no cgroup v2 there.
    #[error("no cgroup v2 at {ROOT}")]
    NotThere,
    /// The name leads out of its parent.
    #[error("'{0}' is no name of a group")]
    Name(String),
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
        // Whoever is left ends with it; a destructor has nobody to tell.
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
