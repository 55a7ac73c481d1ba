// SPDX-License-Identifier: Apache-2.0
//! Compiled code kept on disk, for all processes of one user.
//!
//! A directory per target (instruction set, settings, collector, and the sources
//! that code depends on) holds files in the form of `code_file`, which never change once they
//! have their name. A process maps all it finds at start and, when it ends, adds one file with what
//! it had to compile itself. Too many files become one. Whatever cannot be read or
//! written is as if it were not there: code is then compiled again.

use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use sha2::{Digest, Sha256};

use crate::class::Class;
use crate::code_file::{self, CodeFile, Key, Piece, Sum};
use crate::lock::Lock;
use crate::memory;
use crate::report;

/// Files beyond this many are merged into one when another is written.
const FILES_MAX: usize = 6;
/// Versions of one method that rest on different answers: before and after classes were initialised, say.
const VERSIONS_MAX: usize = 4;
/// Bytes of one process's new code that are kept; a javac run makes some 15 MiB.
const FRESH_BYTES_MAX: u64 = 128 << 20;
/// Bytes in all files of a target; the oldest are left out when they are merged.
const STORE_BYTES_MAX: usize = 512 << 20;

/// Directories of other targets (other versions, processors, settings) beside one's own: those used last are kept.
const OTHERS_MAX: usize = 7;

/// Pieces that could not be kept for lack of room.
pub(crate) static DROPPED: AtomicU32 = AtomicU32::new(0);

struct Store {
    directory: PathBuf,
    target: Sum,
    /// Newest first.
    files: Vec<(PathBuf, CodeFile<'static>)>,
    /// Files that were there but are not whole files of this target's.
    refused_count: usize,
    fresh: Lock<Vec<(Key, Vec<u8>)>>,
    fresh_bytes: AtomicU64,
}

static STORE: OnceLock<Option<Store>> = OnceLock::new();

/// The first half of the SHA-256 sum of all `parts`.
pub(crate) fn sum_of(parts: &[&[u8]]) -> Sum {
    let mut sum = Sha256::new();
    for part in parts {
        sum.update((part.len() as u64).to_le_bytes());
        sum.update(part);
    }
    let sum: [u8; 32] = sum.finalize().into();
    *sum.first_chunk().expect("it is twice as long")
}

/// Opens the store under `root` for code of `target`. Without one every method is compiled.
pub(crate) fn start(root: Option<&Path>, target: &str) {
    let target = sum_of(&[env!("TAKT_CODE_VERSION").as_bytes(), target.as_bytes()]);
    let store = root.and_then(|root| match open(root, target) {
        Ok(store) => Some(store),
        Err(error) => {
            report::warn(&format!("no code cache in {}: {error}", root.display()));
            None
        }
    });
    let _ = STORE.set(store);
}

fn store() -> Option<&'static Store> {
    STORE.get()?.as_ref()
}

/// Where code lies unless an option says otherwise.
pub(crate) fn default_root() -> Option<PathBuf> {
    let absolute = |name| {
        let path = PathBuf::from(std::env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    let caches = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
    Some(caches.join("takt/code"))
}

fn open(root: &Path, target: Sum) -> Result<Store, String> {
    let name: String = target.iter().map(|byte| format!("{byte:02x}")).collect();
    let directory = root.join(name);
    let mut builder = std::fs::DirBuilder::new();
    let made = builder.recursive(true).mode(0o700).create(&directory);
    made.map_err(|error| error.to_string())?;
    check_owner(&directory)?;
    mark_used(&directory);
    let mut paths: Vec<(std::time::SystemTime, PathBuf)> = std::fs::read_dir(&directory)
        .map_err(|error| error.to_string())?
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let is_code = entry.path().extension().is_some_and(|end| end == "code");
            Some((entry.metadata().ok()?.modified().ok()?, entry.path())).filter(|_| is_code)
        })
        .collect();
    paths.sort_by(|a, b| b.cmp(a));
    let (count, mut files) = (paths.len(), Vec::new());
    for (_, path) in paths {
        let bytes = memory::map_file(&path);
        if let Some(file) = bytes.ok().and_then(|bytes| CodeFile::parse(bytes, &target)) {
            files.push((path, file));
        }
    }
    Ok(Store {
        directory,
        target,
        refused_count: count - files.len(),
        files,
        fresh: Lock::new(Vec::new()),
        fresh_bytes: AtomicU64::new(0),
    })
}

/// Makes this the directory that was used last: what comes and goes in it sets its time.
fn mark_used(directory: &Path) {
    let mark = directory.join(format!("{}.used", std::process::id()));
    // Who may not write here keeps nothing either.
    if std::fs::File::create(&mark).is_ok() {
        let _ = std::fs::remove_file(&mark);
    }
}

/// Removes the directories beside `own` but those used last. A process that still runs code of one has it mapped.
fn prune(own: &Path) {
    let entries = own.parent().map(std::fs::read_dir);
    let mut others: Vec<(std::time::SystemTime, PathBuf)> = entries
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let name = entry.file_name().into_string().ok()?;
            let is_target = name.len() == 2 * size_of::<Sum>()
                && name.bytes().all(|byte| byte.is_ascii_hexdigit())
                && entry.file_type().ok()?.is_dir();
            let used = entry.metadata().ok()?.modified().ok()?;
            (is_target && entry.path() != own).then(|| (used, entry.path()))
        })
        .collect();
    others.sort_by(|a, b| b.cmp(a));
    for (_, path) in others.into_iter().skip(OTHERS_MAX) {
        // Two processes may do so at once.
        let _ = std::fs::remove_dir_all(path);
    }
}

/// Whoever may write here may run code as this user.
fn check_owner(directory: &Path) -> Result<(), String> {
    let found = std::fs::metadata(directory).map_err(|error| error.to_string())?;
    let own = std::fs::metadata("/proc/self").map_err(|error| error.to_string())?;
    if found.uid() != own.uid() || found.mode() & 0o022 != 0 {
        return Err(format!(
            "{} must belong to this user and be writable by no one else",
            directory.display()
        ));
    }
    Ok(())
}

/// All intact pieces of code under `key`, newest first.
pub(crate) fn find(key: &Key) -> impl Iterator<Item = Piece> + use<> {
    find_bytes(key).filter_map(Piece::parse)
}

/// The same for what [`keep_bytes`] kept.
pub(crate) fn find_bytes(key: &Key) -> impl Iterator<Item = &'static [u8]> + use<> {
    let files = store().map_or(&[][..], |store| &store.files[..]);
    let key = *key;
    files.iter().flat_map(move |(_, file)| file.find(&key))
}

/// What a class's code and proof are kept under, `index` telling which; `None` if nothing of it is kept.
pub(crate) fn key_of(class: &'static Class, index: u32) -> Option<Key> {
    let is_kept = is_open() && !class.info.bytes.is_empty();
    is_kept.then(|| Key {
        content: class.content(),
        index,
    })
}

/// What the proof of a class's methods is kept under.
pub(crate) fn proof_key(class: &'static Class) -> Option<Key> {
    // No class file has so many methods.
    key_of(class, u32::MAX)
}

/// Whether pieces are kept at all.
pub(crate) fn is_open() -> bool {
    store().is_some()
}

/// Keeps a piece for the next process.
pub(crate) fn keep(key: Key, piece: &Piece) {
    if is_open() {
        keep_bytes(key, piece.to_bytes());
    }
}

/// Keeps something else than code for the next process.
pub(crate) fn keep_bytes(key: Key, bytes: Vec<u8>) {
    let Some(store) = store() else {
        return;
    };
    let total = store
        .fresh_bytes
        .fetch_add(bytes.len() as u64, Ordering::Relaxed);
    if total > FRESH_BYTES_MAX {
        DROPPED.fetch_add(1, Ordering::Relaxed);
        return;
    }
    store.fresh.lock().push((key, bytes));
}

/// Where this machine's code lies.
pub(crate) fn directory() -> Option<&'static Path> {
    Some(&store()?.directory)
}

/// One line for reports.
pub(crate) fn describe() -> String {
    let Some(store) = store() else {
        return "none".into();
    };
    let pieces: usize = store.files.iter().map(|(_, file)| file.count()).sum();
    let (files, refused) = (store.files.len(), store.refused_count);
    let directory = store.directory.display();
    format!("{directory}: {pieces} pieces in {files} files, {refused} files refused")
}

/// Writes what was kept. Done once, when the process ends.
pub(crate) fn finish() {
    let Some(store) = store() else {
        return;
    };
    let fresh = std::mem::take(&mut *store.fresh.lock());
    if fresh.is_empty() {
        return;
    }
    if let Err(error) = store.write(&fresh) {
        report::warn(&format!("code is not kept: {error}"));
    }
    prune(&store.directory);
}

impl Store {
    fn write(&self, fresh: &[(Key, Vec<u8>)]) -> std::io::Result<()> {
        let mut pieces: Vec<(Key, &[u8])> = fresh
            .iter()
            .map(|(key, bytes)| (*key, &bytes[..]))
            .collect();
        let is_merging = self.files.len() >= FILES_MAX;
        if is_merging {
            let mut total: usize = pieces.iter().map(|(_, bytes)| bytes.len()).sum();
            let old = self.files.iter().flat_map(|(_, file)| file.pieces());
            pieces.extend(old.take_while(|(_, bytes)| {
                total += bytes.len();
                total <= STORE_BYTES_MAX
            }));
        }
        let pieces = sorted(pieces);
        let bytes = code_file::to_bytes(&self.target, &pieces);
        let name = format!("{:x}-{}", report::now_ns(), std::process::id());
        let temporary = self.directory.join(format!("{name}.new"));
        // Processes of many other versions may have removed it as the one used longest ago.
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.directory)?;
        let mut file = std::fs::File::create_new(&temporary)?;
        file.write_all(&bytes)?;
        std::fs::rename(&temporary, self.directory.join(format!("{name}.code")))?;
        if is_merging {
            for (path, _) in &self.files {
                // Another process may have merged it too.
                let _ = std::fs::remove_file(path);
            }
        }
        Ok(())
    }
}

/// By key; newer versions first, each once, not too many.
fn sorted(mut pieces: Vec<(Key, &[u8])>) -> Vec<(Key, &[u8])> {
    pieces.sort_by_key(|(key, _)| *key);
    let mut kept: Vec<(Key, &[u8])> = Vec::with_capacity(pieces.len());
    for (key, bytes) in pieces {
        let same = kept.iter().rev().take_while(|(other, _)| *other == key);
        let is_known = same.clone().any(|(_, other)| *other == bytes);
        if !is_known && same.count() < VERSIONS_MAX {
            kept.push((key, bytes));
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use rt::clock::{Clock, Monotonic};

    use super::*;

    fn key(index: u32) -> Key {
        Key {
            content: [1; 16],
            index,
        }
    }

    #[test]
    fn newer_versions_stay_and_copies_go() {
        let pieces: Vec<(Key, &[u8])> = vec![
            (key(2), b"new"),
            (key(1), b"one"),
            (key(2), b"old"),
            (key(2), b"new"),
            (key(2), b"older"),
            (key(2), b"oldest"),
            (key(2), b"forgotten"),
        ];
        let kept: Vec<&[u8]> = sorted(pieces).into_iter().map(|(_, bytes)| bytes).collect();
        assert_eq!(kept, [&b"one"[..], b"new", b"old", b"older", b"oldest"]);
    }

    #[test]
    fn parts_are_not_run_together() {
        assert_ne!(sum_of(&[b"ab", b"c"]), sum_of(&[b"a", b"bc"]));
    }

    #[test]
    fn a_directory_that_others_may_write_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().expect("a directory");
        let open_to_all = std::fs::Permissions::from_mode(0o777);
        let root = directory.path();
        let target = [3; 16];
        let store = open(root, target).expect("it is ours");
        std::fs::set_permissions(&store.directory, open_to_all).expect("it is ours");
        assert!(
            open(root, target)
                .err()
                .expect("refused")
                .contains("no one else")
        );
    }

    #[test]
    fn directories_used_longest_ago_go() {
        let root = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(root.path().join("another's")).expect("a directory");
        let count = OTHERS_MAX as u8 + 5;
        let open = |number| open(root.path(), [number; 16]).expect("it is ours");
        for number in 0..count {
            open(number);
            // Times of files are as coarse as the kernel's tick.
            Monotonic.sleep_until(Monotonic.now_ns() + 12_000_000);
        }
        let first = open(0);
        prune(&first.directory);
        let is_there = |number: &u8| {
            let name: String = [*number; 16].iter().map(|it| format!("{it:02x}")).collect();
            root.path().join(name).exists()
        };
        let left: Vec<u8> = (0..count).filter(is_there).collect();
        assert_eq!(left, [&[0][..], &(5..count).collect::<Vec<_>>()].concat());
        assert!(root.path().join("another's").exists());
        std::fs::remove_dir_all(&first.directory).expect("it is there");
        let piece = (key(1), Piece::default().to_bytes());
        first
            .write(&[piece])
            .expect("a directory that is gone is made again");
    }

    /// Processes that know nothing of each other: each adds a file, and in the end there are few.
    #[test]
    fn files_add_up_and_are_merged() {
        let directory = tempfile::tempdir().expect("a directory");
        let target = [3; 16];
        for number in 0..20 {
            let store = open(directory.path(), target).expect("it is ours");
            assert!(store.files.len() <= FILES_MAX);
            let known = |index| {
                store
                    .files
                    .iter()
                    .any(|(_, f)| f.find(&key(index)).count() == 1)
            };
            assert!((0..number).all(known), "{number}");
            let piece = (key(number), Piece::default().to_bytes());
            store.write(&[piece]).expect("it is written");
        }
    }
}
