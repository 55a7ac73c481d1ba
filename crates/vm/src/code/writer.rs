// SPDX-License-Identifier: Apache-2.0
//! [`Writing`]: what this process adds to its store, as it comes.
//!
//! A process writes one file at a time, which it has locked: a new one, or one that nobody writes
//! any more. So there are about as many files as processes that compiled at one time. A forked
//! child lets go of its parent's and opens one of its own.

use std::collections::{HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use abi::address_map::{CODE_REGION_CODE_BYTES, CODE_REGION_COUNT};
use rt::clock::{Clock, Monotonic};

use crate::code::file::{self, HEADER_BYTES, Index, Key, Piece, PieceRecord};
use crate::code::space::{Region, Room};
use crate::code::store::{CodeFile, DROPPED, KEPT_BYTES, Store, prune};
use crate::console;
use crate::options;

/// Versions of one method that rest on different answers: before and after classes were
/// initialised, say.
const VERSIONS_MAX: usize = 8;
/// Bytes of one process's new code that are kept; a javac run makes some 15 MiB.
const FRESH_BYTES_MAX: usize = 128 << 20;
/// The same where that is all that the process is for: an activity and what it reaches take more
/// than a hundred. There is room for older files beside it.
const AHEAD_BYTES_MAX: usize = 256 << 20;
/// Bytes in all files of a store; the files written longest ago go when one is added.
const STORE_BYTES_MAX: u64 = 512 << 20;
/// A file that has less room for code is left as it is.
const ROOM_MIN: u32 = 8 << 20;
/// Records that a start looks at one by one: some 100 µs.
const UNINDEXED_MAX: usize = 1000;
/// How long to wait for another process that adds a file, which takes it a few system calls.
const LOCK_NS_MAX: u64 = 1_000_000_000;
const LOCK_STEP_NS: u64 = 2_000_000;

/// What this process adds.
#[derive(Default)]
pub(crate) struct Writing {
    file: Option<Writer>,
    /// Nothing more is kept.
    is_over: bool,
    bytes: usize,
    /// Sums of what was added under each key.
    added: HashMap<Key, Vec<u64>>,
}

/// A file that this process has locked.
struct Writer {
    region: Region,
    /// The records, and the lock.
    records: File,
    path: PathBuf,
    next: u64,
    /// What is in it and in no index.
    unindexed_count: usize,
}

impl Writing {
    /// Adds a piece, or `body` alone. Where the code lies, if it was added.
    pub(crate) fn keep(
        &mut self,
        store: &Store,
        key: Key,
        piece: Option<&Piece>,
        body: &[u8],
    ) -> Option<Room> {
        let code = piece.map_or(&[][..], |piece| &piece.code.bytes);
        let mut sum = DefaultHasher::new();
        (body, code).hash(&mut sum);
        let sum = sum.finish();
        let known = self.added.get(&key).map_or(&[][..], |known| known);
        if known.contains(&sum) {
            return None;
        }
        let versions = known.len() + store.count(&key);
        self.bytes += body.len() + code.len();
        let bytes_max = match options::get().compile_list {
            Some(_) => AHEAD_BYTES_MAX,
            None => FRESH_BYTES_MAX,
        };
        if self.is_over || versions >= VERSIONS_MAX || self.bytes > bytes_max {
            DROPPED.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        match self.add(store, &key, piece, body) {
            Ok(room) => {
                let bytes = body.len() + code.len();
                KEPT_BYTES.fetch_add(bytes as u64, Ordering::Relaxed);
                self.added.entry(key).or_default().push(sum);
                room
            }
            Err(error) => {
                self.is_over = true;
                let directory = store.directory.display();
                console::warn(&format!("code is not kept in {directory}: {error}"));
                None
            }
        }
    }

    fn add(
        &mut self,
        store: &Store,
        key: &Key,
        piece: Option<&Piece>,
        body: &[u8],
    ) -> io::Result<Option<Room>> {
        if self.file.as_ref().is_some_and(|file| !file.region.is_own()) {
            // A forked child: the sums are of what its parent keeps.
            self.file = None;
        }
        for _ in 0..2 {
            let writer = match &mut self.file {
                Some(writer) => writer,
                none => none.insert(Writer::open(store)?),
            };
            if let Some(room) = writer.add(key, piece, body)? {
                return Ok(piece
                    .filter(|_| writer.region.is_executable())
                    .map(|_| room));
            }
            // Full: another one.
            writer.finish(store);
            self.file = None;
        }
        Err(io::Error::from(io::ErrorKind::FileTooLarge))
    }

    /// Makes the next start quicker.
    pub(crate) fn finish(&mut self, store: &Store) {
        if let Some(writer) = self.file.as_mut().filter(|it| it.region.is_own()) {
            writer.finish(store);
        }
    }
}

impl Writer {
    fn open(store: &Store) -> io::Result<Self> {
        // Processes of many other versions may have removed it as the one used longest ago.
        let mut builder = std::fs::DirBuilder::new();
        builder
            .recursive(true)
            .mode(0o700)
            .create(&store.directory)?;
        let lock = lock(&store.directory.join("lock"))?;
        let writer = match store.files.iter().find_map(|file| Self::go_on(store, file)) {
            Some(writer) => Ok(writer),
            None => Self::create(store),
        };
        drop(lock);
        prune(&store.directory);
        writer
    }

    /// To add to a file whose writer has ended.
    fn go_on(store: &Store, file: &CodeFile) -> Option<Self> {
        if !is_worth_going_on(file.ends) {
            return None;
        }
        let mut options = OpenOptions::new();
        let records = options.read(true).write(true).open(&file.path).ok()?;
        records.try_lock().ok()?;
        let code = file.path.with_extension("code");
        let code = options.open(code).ok()?;
        // Others may have added to it since this process looked.
        let all = std::fs::read(&file.path).ok()?;
        let mut ends = file.ends;
        let mut unindexed_count = file.tail_count();
        for (_, record) in file::records(&all, file.seen_bytes()) {
            ends = (ends.0.max(record.ends().0), ends.1.max(record.ends().1));
            unindexed_count += 1;
        }
        // This process or another may have filled it since the start.
        if !is_worth_going_on(ends) {
            return None;
        }
        Some(Self {
            region: Region::of_file(store.span, file.region, code, ends),
            records,
            path: file.path.clone(),
            // A torn end stays: what follows is found behind it.
            next: (all.len() as u64).next_multiple_of(8),
            unindexed_count,
        })
    }

    /// A new file in a region that nobody has. The directory is locked.
    fn create(store: &Store) -> io::Result<Self> {
        let taken = make_room(&store.directory)?;
        let is_free = |number: &usize| !taken.contains(number) && !store.span.is_mapped(*number);
        let number = (0..CODE_REGION_COUNT).find(is_free);
        let number = number.ok_or_else(|| io::Error::from(io::ErrorKind::StorageFull))?;
        let name = format!(
            "{number:02}-{:x}-{:x}",
            console::now_ns(),
            std::process::id()
        );
        let path = store.directory.join(name).with_extension("data");
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create_new(true).mode(0o600);
        let code = options.open(path.with_extension("code"))?;
        let records = options.open(&path)?;
        records.try_lock()?;
        store.span.map(number, Some(&code))?;
        let header = file::header(&store.target, number as u32);
        records.write_all_at(&header, 0)?;
        Ok(Self {
            region: Region::of_file(store.span, number, code, (0, 0)),
            records,
            path,
            next: HEADER_BYTES as u64,
            unindexed_count: 0,
        })
    }

    /// Code first, then its record: one without the other is nothing. `None` where there is no
    /// room.
    fn add(&mut self, key: &Key, piece: Option<&Piece>, body: &[u8]) -> io::Result<Option<Room>> {
        let mut code = piece.map_or_else(Default::default, |piece| piece.code.clone());
        let slot_count = piece.map_or(0, Piece::slot_count);
        let is_record_short = self.next + (body.len() as u64) < u64::from(u32::MAX) - (1 << 20);
        let room = self.region.take(code.bytes.len(), slot_count);
        let Some(room) = room.filter(|_| is_record_short) else {
            return Ok(None);
        };
        code.link(room.code, room.table);
        if !code.bytes.is_empty() {
            self.region.write(room, &code.bytes)?;
        }
        let (offset, slot) = self.region.offsets(room);
        let (code, slots) = ((offset, &code.bytes[..]), (slot, slot_count as u32));
        let record = PieceRecord::to_bytes(key, code, slots, body);
        self.records.write_all_at(&record, self.next)?;
        self.next += record.len() as u64;
        self.unindexed_count += 1;
        Ok(Some(room))
    }

    /// Indexes the file, if a start would have to look at many records.
    fn finish(&mut self, store: &Store) {
        if self.unindexed_count > UNINDEXED_MAX {
            self.index(store);
        }
    }

    fn index(&mut self, store: &Store) {
        let Ok(all) = std::fs::read(&self.path) else {
            return;
        };
        let (mut rows, mut ends) = (Vec::new(), (0, 0));
        for (offset, record) in file::records(&all, HEADER_BYTES) {
            ends = (ends.0.max(record.ends().0), ends.1.max(record.ends().1));
            rows.push((record.key, offset));
        }
        rows.sort_by_key(|row| row.0);
        let index = Index::to_bytes(&store.target, all.len() as u64, ends, &rows);
        let temporary = self.path.with_extension("index.new");
        let written = std::fs::write(&temporary, index)
            .and_then(|()| std::fs::rename(&temporary, self.path.with_extension("index")));
        // Without one the next start looks at all records.
        if written.is_ok() {
            self.unindexed_count = 0;
        }
    }
}

/// Writes pieces to a file of their own, which is the newest then: they lie together, and are found
/// first.
pub(super) fn write_apart(store: &Store, pieces: &[(Key, Piece)]) -> io::Result<()> {
    if pieces.is_empty() {
        return Ok(());
    }
    let lock = lock(&store.directory.join("lock"))?;
    let mut writer = Writer::create(store)?;
    drop(lock);
    for (key, piece) in pieces {
        let room = writer.add(key, Some(piece), &piece.to_bytes())?;
        room.ok_or_else(|| io::Error::from(io::ErrorKind::FileTooLarge))?;
    }
    writer.index(store);
    Ok(())
}

/// Whether a file whose code and addresses end there has room for much more code.
fn is_worth_going_on(ends: (u32, u32)) -> bool {
    u64::from(ends.0) + u64::from(ROOM_MIN) <= CODE_REGION_CODE_BYTES
}

/// The lock of a directory, for as long as the file is open.
fn lock(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(false).mode(0o600);
    let file = file.open(path)?;
    let end_ns = Monotonic.now_ns() + LOCK_NS_MAX;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(std::fs::TryLockError::Error(error)) => return Err(error),
            Err(std::fs::TryLockError::WouldBlock) => {}
        }
        let now_ns = Monotonic.now_ns();
        if now_ns > end_ns {
            return Err(io::Error::from(io::ErrorKind::WouldBlock));
        }
        Monotonic.sleep_until(now_ns + LOCK_STEP_NS);
    }
}

/// The region that a file's name begins with.
fn region_in(path: &Path) -> Option<usize> {
    path.file_name()?.to_str()?.split_once('-')?.0.parse().ok()
}

/// Removes what nobody writes, the oldest first, until there is room for one file more. The regions
/// of those that are left.
fn make_room(directory: &Path) -> io::Result<HashSet<usize>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        let Some(region) = region_in(&path) else {
            continue;
        };
        match path.extension().and_then(|end| end.to_str()) {
            Some("data") => {
                let (code, found) = (path.with_extension("code"), path.metadata()?);
                let code_bytes = code.metadata().map_or(0, |found| found.len());
                let bytes = found.len() + code_bytes;
                files.push((found.modified()?, path, region, bytes));
            }
            // Its maker was killed before there were records.
            Some("code") if !path.with_extension("data").exists() => {
                let _ = std::fs::remove_file(&path);
            }
            _ => {}
        }
    }
    files.sort_by_key(|file| core::cmp::Reverse(file.0));
    let (mut taken, mut total) = (HashSet::new(), 0);
    for (_, path, region, bytes) in files {
        total += bytes;
        let is_kept = total <= STORE_BYTES_MAX && taken.len() < CODE_REGION_COUNT - 1;
        if is_kept || !remove(&path) {
            taken.insert(region);
        }
    }
    Ok(taken)
}

/// Whether a file was removed: not if somebody writes it. Who runs its code has it mapped.
fn remove(path: &Path) -> bool {
    let is_written = File::open(path).is_ok_and(|file| file.try_lock().is_err());
    if !is_written {
        for end in ["data", "index", "code"] {
            let _ = std::fs::remove_file(path.with_extension(end));
        }
    }
    !is_written
}
