// SPDX-License-Identifier: Apache-2.0
//! [`Closure`]: everything a command needs, gathered into an [`Initramfs`] under the paths it has
//! on the host.
//!
//! Symbolic links travel as links, so a path means the same file in the guest. An ELF file brings
//! its libraries, a script its interpreter, a JDK's `java` a trimmed image of the JDK. What a
//! program opens at run time by a name of its own (dlopen, plug-ins, data) cannot be seen here:
//! that is what `with` is for.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use crate::cache::Cache;
use crate::elf;
use crate::error::LabError;
use crate::initramfs::Initramfs;
use crate::java;
use crate::job::Job;

/// As Linux: more symbolic links in one path are a loop.
const LINKS_MAX: usize = 40;

/// Mounted afresh in the guest: nothing of the host's travels there.
const LIVE_DIRECTORIES: [&str; 4] = ["/dev", "/proc", "/sys", "/takt"];

/// Where a library may lie so that the loader finds it without the host's ld.so.cache.
const LIBRARY_DIRECTORIES: [&str; 4] = ["/lib", "/lib64", "/usr/lib", "/usr/lib64"];

/// What glibc opens by name when a thread is cancelled or ends by `pthread_exit`.
const OPENED_BY_LIBC: &str = "libgcc_s.so.1";

/// Finds the command of a job on the host: a path if it has a slash, else a name on PATH.
pub(crate) fn find_command(job: &Job) -> Result<PathBuf, LabError> {
    let name = job.command.first().ok_or(LabError::NoCommand)?;
    find_program(name, &job.directory)
        .ok_or_else(|| LabError::CommandNotFound(name.to_string_lossy().into_owned()))
}

fn find_program(name: &OsStr, directory: &Path) -> Option<PathBuf> {
    if name.as_bytes().contains(&b'/') {
        let path = directory.join(name);
        return is_program(&path).then_some(path);
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|it| directory.join(it).join(name))
        .find(|it| is_program(it))
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
}

/// Gathers files into an image.
pub(crate) struct Closure<'a> {
    image: &'a mut Initramfs,
    cache: &'a Cache,
    needs_loader_cache: bool,
}

impl<'a> Closure<'a> {
    pub(crate) fn new(image: &'a mut Initramfs, cache: &'a Cache) -> Self {
        Closure {
            image,
            cache,
            needs_loader_cache: false,
        }
    }

    /// The whole of a job: its command, the files that its arguments name, and what it asks for by
    /// `with`.
    pub(crate) fn add_job(&mut self, job: &Job) -> Result<(), LabError> {
        for directory in ["/bin", "/sbin", "/lib", "/lib64"].map(Path::new) {
            if directory.exists() {
                self.resolve(directory)?;
            }
        }
        let program = find_command(job)?;
        match java::Jdk::of_launcher(&program) {
            Some(jdk) => self.add_java(&program, &jdk, job)?,
            None => self.add_file(&program)?,
        }
        for argument in &job.command[1..] {
            self.add_argument(&job.directory.join(argument))?;
        }
        for with in &job.with {
            self.add_with(with, job)?;
        }
        self.resolve(&job.directory)?;
        if self.needs_loader_cache {
            self.add_file(Path::new("/etc/ld.so.cache"))?;
        }
        let shell = self.resolve(Path::new("/bin"))?.join("sh");
        if !self.image.has(&shell) {
            self.image.link(&shell, Path::new("/takt/busybox"));
        }
        Ok(())
    }

    /// An argument that names a file of the host brings it; whatever else an argument may be is the
    /// command's business.
    fn add_argument(&mut self, path: &Path) -> Result<(), LabError> {
        let is_live = LIVE_DIRECTORIES.iter().any(|it| path.starts_with(it));
        if !is_live && path.is_file() {
            self.add_file(path)?;
        }
        Ok(())
    }

    fn add_with(&mut self, with: &OsStr, job: &Job) -> Result<(), LabError> {
        let directory = &job.directory;
        let path = directory.join(with);
        if path.is_dir() {
            self.add_tree(&path)
        } else if path.is_file() {
            self.add_file(&path)
        } else {
            let program = find_program(with, directory)
                .ok_or_else(|| LabError::WithNotFound(with.to_string_lossy().into_owned()))?;
            match java::Jdk::of_launcher(&program) {
                Some(jdk) => self.add_java(&program, &jdk, job),
                None => self.add_file(&program),
            }
        }
    }

    /// A directory and all below it.
    fn add_tree(&mut self, path: &Path) -> Result<(), LabError> {
        let resolved = self.resolve(path)?;
        let entries = fs::read_dir(&resolved).map_err(LabError::io("read", &resolved))?;
        for entry in entries {
            let entry = entry.map_err(LabError::io("read", &resolved))?;
            let path = entry.path();
            let kind = entry.file_type().map_err(LabError::io("read", &path))?;
            if kind.is_dir() {
                self.add_tree(&path)?;
            } else if kind.is_file() {
                self.add_file(&path)?;
            } else if kind.is_symlink() {
                // Alone: following it would drag in what lies outside.
                let target = fs::read_link(&path).map_err(LabError::io("read", &path))?;
                self.image.link(&path, &target);
            }
        }
        Ok(())
    }

    /// A file, with what it needs to run if it is a program or a library.
    fn add_file(&mut self, path: &Path) -> Result<(), LabError> {
        let resolved = self.resolve(path)?;
        if self.image.has(&resolved) {
            return Ok(());
        }
        self.image.copy(&resolved, &resolved)?;
        self.add_needs(&resolved)
    }

    fn add_needs(&mut self, file: &Path) -> Result<(), LabError> {
        if let Some(linkage) = elf::linkage(file) {
            for library in elf::libraries(file, &linkage)? {
                self.add_library(&library)?;
            }
        } else if let Some(words) = interpreter(file) {
            for word in words {
                self.add_interpreter(&word)?;
            }
        }
        Ok(())
    }

    fn add_library(&mut self, library: &Path) -> Result<(), LabError> {
        if !LIBRARY_DIRECTORIES.iter().any(|it| library.starts_with(it)) {
            self.needs_loader_cache = true;
        }
        if library.file_name() == Some(OsStr::new("libc.so.6")) {
            let sibling = library.with_file_name(OPENED_BY_LIBC);
            if sibling.exists() {
                let resolved = self.resolve(&sibling)?;
                self.image.copy(&resolved, &resolved)?;
            }
        }
        // The loader listed the whole closure: no need to ask again for each library.
        let resolved = self.resolve(library)?;
        if self.image.has(&resolved) {
            return Ok(());
        }
        self.image.copy(&resolved, &resolved)
    }

    /// `/usr/bin/env python3` brings both words, `/bin/sh -e` one.
    fn add_interpreter(&mut self, word: &OsStr) -> Result<(), LabError> {
        if word.as_bytes().starts_with(b"-") {
            return Ok(());
        }
        match find_program(word, Path::new("/")) {
            Some(program) => self.add_file(&program),
            None => Err(LabError::CommandNotFound(
                word.to_string_lossy().into_owned(),
            )),
        }
    }

    /// A JDK's launcher: the image of jlink stands where the JDK stands on the host.
    fn add_java(&mut self, launcher: &Path, jdk: &java::Jdk, job: &Job) -> Result<(), LabError> {
        self.resolve(launcher)?;
        let trimmed = jdk.trim(self.cache, &job.java_modules)?;
        self.graft(&trimmed, &trimmed, &jdk.home)?;
        for path in java::class_path(&job.command) {
            let path = job.directory.join(path);
            if path.is_dir() {
                self.add_tree(&path)?;
            } else {
                self.add_argument(&path)?;
            }
        }
        Ok(())
    }

    /// Copies the tree `from` of the cache to `to` in the guest.
    fn graft(&mut self, root: &Path, from: &Path, to: &Path) -> Result<(), LabError> {
        self.image.directory(to);
        for entry in fs::read_dir(from).map_err(LabError::io("read", from))? {
            let source = entry.map_err(LabError::io("read", from))?.path();
            let place = to.join(source.file_name().unwrap_or_default());
            if source.is_dir() {
                self.graft(root, &source, &place)?;
                continue;
            }
            self.image.copy(&place, &source)?;
            if let Some(linkage) = elf::linkage(&source) {
                for library in elf::libraries(&source, &linkage)? {
                    if !library.starts_with(root) {
                        self.add_library(&library)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Walks a path as the kernel does; every link and directory on the way enters the image.
    /// Returns where it ends.
    fn resolve(&mut self, path: &Path) -> Result<PathBuf, LabError> {
        let mut reached = PathBuf::from("/");
        let mut ahead: Vec<OsString> = words(path);
        let mut links_left = LINKS_MAX;
        while let Some(word) = ahead.pop() {
            if word == ".." {
                reached.pop();
                continue;
            }
            let step = reached.join(&word);
            let metadata = fs::symlink_metadata(&step).map_err(LabError::io("find", &step))?;
            if !metadata.is_symlink() {
                if metadata.is_dir() {
                    self.image.directory(&step);
                }
                reached = step;
                continue;
            }
            links_left = links_left.checked_sub(1).ok_or_else(|| LabError::Io {
                action: "follow",
                path: path.to_owned(),
                source: std::io::Error::other("too many symbolic links"),
            })?;
            let target = fs::read_link(&step).map_err(LabError::io("read", &step))?;
            self.image.link(&step, &target);
            if target.is_absolute() {
                reached = PathBuf::from("/");
            }
            ahead.extend(words(&target));
        }
        Ok(reached)
    }
}

/// The names of a path, last first.
fn words(path: &Path) -> Vec<OsString> {
    let names = path.components().rev().filter_map(|it| match it {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        _ => None,
    });
    names.collect()
}

/// The words after `#!`, if there are any.
fn interpreter(file: &Path) -> Option<Vec<OsString>> {
    // The kernel reads as much and no more.
    let mut start = [0; 256];
    let count = fs::File::open(file).ok()?.read(&mut start).ok()?;
    let line = start[..count]
        .strip_prefix(b"#!")?
        .split(|it| *it == b'\n')
        .next()?;
    let mut words = line
        .split(|it| it.is_ascii_whitespace())
        .filter(|it| !it.is_empty())
        .map(|it| OsString::from_vec(it.to_vec()));
    let program = words.next()?;
    let is_env = Path::new(&program).file_name() == Some(OsStr::new("env"));
    let mut needed = vec![program];
    if is_env {
        needed.extend(words.find(|it| !it.as_bytes().starts_with(b"-")));
    }
    Some(needed)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn gather(deed: impl FnOnce(&mut Closure)) -> Initramfs {
        let mut image = Initramfs::default();
        let cache = Cache::at("/nonexistent");
        deed(&mut Closure::new(&mut image, &cache));
        image
    }

    #[test]
    fn links_travel_as_links() {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path().canonicalize().unwrap();
        fs::create_dir(top.join("real")).unwrap();
        fs::write(top.join("real/file"), "x").unwrap();
        symlink("real", top.join("alias")).unwrap();
        symlink("../alias/file", top.join("real/second")).unwrap();
        let image = gather(|it| it.add_file(&top.join("alias/second")).unwrap());
        for path in ["alias", "real", "real/second", "real/file"] {
            assert!(image.has(&top.join(path)), "{path}");
        }
        assert!(!image.has(&top.join("alias/file")));
    }

    #[test]
    fn a_loop_of_links_ends_in_an_error() {
        let directory = tempfile::tempdir().unwrap();
        symlink("b", directory.path().join("a")).unwrap();
        symlink("a", directory.path().join("b")).unwrap();
        gather(|it| assert!(it.resolve(&directory.path().join("a")).is_err()));
    }

    #[test]
    fn a_program_brings_its_libraries() {
        let me = std::env::current_exe().unwrap();
        let image = gather(|it| it.add_file(&me).unwrap());
        assert!(
            image.has(
                &Path::new("/lib64/ld-linux-x86-64.so.2")
                    .canonicalize()
                    .unwrap()
            )
        );
    }

    #[test]
    fn shebang_lines_parse() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("script");
        let words = |text: &str| {
            fs::write(&file, text).unwrap();
            interpreter(&file)
        };
        assert_eq!(words("#!/bin/sh -e\nx").unwrap(), ["/bin/sh"]);
        assert_eq!(
            words("#! /usr/bin/env -S python3 -u\n").unwrap(),
            ["/usr/bin/env", "python3"]
        );
        assert_eq!(words("echo"), None);
        assert_eq!(words("#!\n"), None);
    }
}
