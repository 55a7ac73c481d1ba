// SPDX-License-Identifier: Apache-2.0
//! Compiled code kept on disk, for all processes of one user.
//!
//! A directory per target (instruction set, settings, and the sources that code depends on) holds
//! files in the form of `code/file`: each is a region of the store's span (`code/space`) and has at
//! most one writer at a time. A process maps all it finds at start. What it has to compile itself
//! it adds to a file of its own at once, or to one whose writer has ended: a process that is killed
//! loses nothing. Whatever cannot be read or written is as if it were not there: code is compiled
//! again.
//!
//! A second store was delivered with the machine: nobody writes to it. Neighbour: `code/writer`.

use std::fs::File;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::classes::class::Class;
use crate::code::base;
use crate::code::file::{self, HEADER_BYTES, Index, Key, Piece, PieceRecord};
use crate::code::space::{self, Room, Span};
use crate::code::writer::{self, Writing};
use crate::console;
use crate::memory;
use crate::memory::hash::Set;
use crate::memory::sum::{Sum, sum_of};
use crate::options::{self, CodeLibrary};
use crate::sync::lock::Lock;
use crate::threads::thread;
use abi::address_map::CodeArea;
use compiler::CompiledCode;

/// Directories of other targets (other versions, processors, settings) beside one's own: those used
/// last are kept.
const OTHERS_MAX: usize = 7;

/// Pieces that could not be kept for lack of room.
pub(crate) static DROPPED: AtomicU32 = AtomicU32::new(0);
/// Bytes that this process has kept.
pub(crate) static KEPT_BYTES: AtomicU64 = AtomicU64::new(0);

/// One directory of code.
pub(crate) struct Store {
    pub(crate) directory: PathBuf,
    pub(crate) target: Sum,
    pub(crate) span: &'static Span,
    /// Nobody writes to it.
    is_delivered: bool,
    /// Newest first.
    pub(crate) files: Vec<CodeFile>,
    /// Files that were there but are not files of this target's.
    refused_count: usize,
    writing: Lock<Writing>,
    /// What real-time threads made: an ordinary one writes it, or the end of the process.
    put_off: Lock<Vec<PutOff>>,
}

type PutOff = (Key, Option<Piece>, Vec<u8>);
/// What real-time threads compile late, with no ordinary thread compiling meanwhile.
const PUT_OFF_MAX: usize = 2000;

/// A file of code that was there at start, and its records.
pub(crate) struct CodeFile {
    /// Of the records; the others have the same name but for the ending.
    pub(crate) path: PathBuf,
    records: &'static [u8],
    pub(crate) region: usize,
    /// Code behind this was not there.
    code_bytes: u64,
    index: Option<Index<'static>>,
    /// By key, what the index does not cover.
    tail: Vec<(Key, u32)>,
    /// Where code and addresses end.
    pub(crate) ends: (u32, u32),
}

static STORE: OnceLock<Option<Store>> = OnceLock::new();
/// Which directories are this machine's.
static TARGET: OnceLock<Sum> = OnceLock::new();
/// The store that was delivered, or why there is none.
static LIBRARY: OnceLock<Result<Store, String>> = OnceLock::new();
/// What ran of the stores, in that order, where it is to lie together.
static GATHERED: Lock<Vec<(Key, Piece)>> = Lock::new(Vec::new());
/// Pieces that run where they are mapped; another method of the same content gets a copy.
static CLAIMED: OnceLock<Lock<Set<u64>>> = OnceLock::new();

/// Opens the stores for code of `target`. Without one every method is compiled.
pub(crate) fn start(target: &str) {
    let target = sum_of(&[env!("TAKT_CODE_VERSION").as_bytes(), target.as_bytes()]);
    let options = options::get();
    if let Some(root) = &options.code_install {
        install(root, &target);
    }
    let library = match &options.code_library {
        // Between two steps of a build it is another build's. So the report says it, no warning.
        CodeLibrary::Beside => beside_machine().and_then(|root| open_library(&root, target)),
        CodeLibrary::At(root) => said(root, open_library(root, target)),
        CodeLibrary::None => Err("by option".into()),
    };
    CLAIMED.get_or_init(Lock::default);
    let _ = LIBRARY.set(library);
    let _ = TARGET.set(target);
    // A template is nobody's: each copy opens its user's.
    if !options.is_template {
        start_own(options.code_root.as_deref());
    }
}

/// Opens the user's store, if there is a place for one.
pub(crate) fn start_own(root: Option<&Path>) {
    let target = *TARGET.get().expect("started");
    let _ = STORE.set(root.and_then(|root| said(root, open_own(root, target)).ok()));
}

fn said(root: &Path, store: Result<Store, String>) -> Result<Store, String> {
    store.inspect_err(|error| {
        console::warn(&format!("no code cache in {}: {error}", root.display()));
    })
}

pub(crate) fn own() -> Option<&'static Store> {
    STORE.get()?.as_ref()
}

/// The stores, in the order in which they are asked: most methods are in the one that was
/// delivered, and processes of all users share its pages.
fn stores() -> impl Iterator<Item = &'static Store> {
    let library = LIBRARY.get().and_then(|it| it.as_ref().ok());
    [library, own()].into_iter().flatten()
}

fn directory_in(root: &Path, target: &Sum) -> PathBuf {
    let name: String = target.iter().map(|byte| format!("{byte:02x}")).collect();
    root.join(name)
}

fn open_own(root: &Path, target: Sum) -> Result<Store, String> {
    let directory = directory_in(root, &target);
    let mut builder = std::fs::DirBuilder::new();
    let made = builder.recursive(true).mode(0o700).create(&directory);
    made.map_err(|error| error.to_string())?;
    let own = std::fs::metadata("/proc/self").map_err(|error| error.to_string())?;
    check_owner(&directory, &[own.uid()])?;
    mark_used(&directory);
    let base = base::of(&directory, CodeArea::Own).map_err(|error| error.to_string())?;
    // Another thing may lie there, in a process that somebody else started: code does not depend on
    // the place.
    let span = Span::reserve(CodeArea::Own, base).or_else(|_| {
        let base = CodeArea::Own.base(space::draw()?);
        Span::reserve(CodeArea::Own, base)
    });
    let span = span.map_err(|error| format!("no room at its place: {error}"))?;
    open(directory, target, span)
}

/// What `cargo xtask framework` makes: the folder `code` in that of the machine's own file.
fn beside_machine() -> Result<PathBuf, String> {
    let machine = memory::file_of(start as *const () as u64);
    let code = machine.and_then(|it| Some(it.parent()?.join("code")));
    code.filter(|it| it.is_dir())
        .ok_or_else(|| "none lies beside the machine".into())
}

/// One that was installed: it has its base, and nobody writes to it.
fn open_library(root: &Path, target: Sum) -> Result<Store, String> {
    let directory = directory_in(root, &target);
    if !directory.is_dir() {
        return Err("another version or another processor's made it".into());
    }
    let own = std::fs::metadata("/proc/self").map_err(|error| error.to_string())?;
    check_owner(&directory, &[own.uid(), 0])?;
    let base = base::read(&directory, CodeArea::Library);
    let base = base.ok_or("it was not installed (takt compile --install)")?;
    let span = Span::reserve(CodeArea::Library, base);
    let span = span.map_err(|error| format!("no room at its place: {error}"))?;
    let store = open(directory, target, span)?;
    Ok(Store {
        is_delivered: true,
        ..store
    })
}

/// Gives a delivered store its place and ends the process.
fn install(root: &Path, target: &Sum) -> ! {
    let directory = directory_in(root, target);
    if let Err(error) = base::draw(&directory, CodeArea::Library) {
        let directory = directory.display();
        console::fatal(&format!("cannot install {directory}: {error}"));
    }
    // Nothing has started yet.
    std::process::exit(0)
}

fn open(directory: PathBuf, target: Sum, span: &'static Span) -> Result<Store, String> {
    let mut paths: Vec<(std::time::SystemTime, PathBuf)> = std::fs::read_dir(&directory)
        .map_err(|error| error.to_string())?
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let is_records = entry.path().extension().is_some_and(|end| end == "data");
            Some((entry.metadata().ok()?.modified().ok()?, entry.path())).filter(|_| is_records)
        })
        .collect();
    paths.sort_by(|a, b| b.cmp(a));
    let count = paths.len();
    let files: Vec<CodeFile> = paths
        .into_iter()
        .filter_map(|(_, path)| CodeFile::open(path, &target, span))
        .collect();
    Ok(Store {
        directory,
        target,
        span,
        is_delivered: false,
        refused_count: count - files.len(),
        files,
        writing: Lock::default(),
        put_off: Lock::default(),
    })
}

impl CodeFile {
    /// `None` for what is no file of `target`'s, or one that lies where another does.
    fn open(path: PathBuf, target: &Sum, span: &'static Span) -> Option<Self> {
        let records = memory::map_file(&path).ok()?;
        let region = file::region_of(records, target)? as usize;
        let code = File::open(path.with_extension("code")).ok()?;
        let code_bytes = code.metadata().ok()?.len();
        let mapped = memory::map_file(&path.with_extension("index")).ok();
        let index = mapped
            .and_then(|bytes| Index::parse(bytes, target))
            .filter(|index| index.covered_bytes <= records.len() as u64);
        span.map(region, Some(&code)).ok()?;
        let (start, mut ends) = match &index {
            Some(index) => (index.covered_bytes as usize, index.ends),
            None => (HEADER_BYTES, (0, 0)),
        };
        let mut tail = Vec::new();
        for (offset, record) in file::records(records, start) {
            ends = (ends.0.max(record.ends().0), ends.1.max(record.ends().1));
            tail.push((record.key, offset));
        }
        tail.sort_by_key(|row| row.0);
        Some(Self {
            path,
            records,
            region,
            code_bytes,
            index,
            tail,
            ends,
        })
    }

    /// Records that the index does not cover.
    pub(crate) fn tail_count(&self) -> usize {
        self.tail.len()
    }

    /// What was seen of the file of records.
    pub(crate) fn seen_bytes(&self) -> usize {
        self.records.len()
    }

    fn count(&self) -> usize {
        self.index.map_or(0, |index| index.count()) + self.tail.len()
    }

    /// The records under `key` with what follows each, intact ones only.
    fn find(&self, key: Key) -> impl Iterator<Item = (PieceRecord, &'static [u8])> {
        let start = self.tail.partition_point(|row| row.0 < key);
        let tail = self.tail[start..].iter();
        let tail = tail.take_while(move |row| row.0 == key).map(|row| row.1);
        let indexed = self.index.into_iter().flat_map(move |it| it.find(&key));
        let records = self.records;
        tail.chain(indexed).filter_map(move |offset| {
            let record = file::record_at(records, offset)?;
            let body = record.body(records, offset)?;
            (record.key == key).then_some((record, body))
        })
    }
}

impl Store {
    /// How many records there are under `key`.
    pub(crate) fn count(&self, key: &Key) -> usize {
        self.files.iter().map(|file| file.find(*key).count()).sum()
    }
}

/// A piece of code in a store.
pub(crate) struct Stored {
    key: Key,
    /// Without its machine code.
    pub(crate) piece: Piece,
    pub(crate) room: Room,
    code: &'static [u8],
    is_executable: bool,
    pub(crate) is_delivered: bool,
}

impl Stored {
    fn of(
        store: &'static Store,
        file: &CodeFile,
        record: &PieceRecord,
        body: &[u8],
    ) -> Option<Self> {
        let end = u64::from(record.code_offset) + u64::from(record.code_bytes);
        if end > file.code_bytes || record.code_bytes == 0 {
            return None;
        }
        let code = store
            .span
            .code(file.region, record.code_offset, record.code_bytes)?;
        let piece = Piece::parse(body, code.len())?;
        let room = store.span.room(
            file.region,
            record.code_offset,
            record.slot,
            record.slot_count,
        )?;
        let is_right = piece.slot_count() <= record.slot_count as usize && record.is_code(code);
        is_right.then(|| Self {
            key: record.key,
            piece,
            room,
            code,
            is_executable: store.span.is_executable(file.region),
            is_delivered: store.is_delivered,
        })
    }

    /// Whether it may run where it is mapped: once, and with one table.
    pub(crate) fn claim(&self) -> bool {
        let claimed = CLAIMED.get().expect("started");
        // perf knows names in anonymous memory only.
        self.is_executable
            && !options::get().is_perf_mapped
            && claimed.lock().insert(self.room.code)
    }

    /// Takes note that this is what runs, if the process is for that.
    pub(crate) fn gather(&self) {
        if !options::get().is_gathering_code {
            return;
        }
        let mut piece = self.piece.clone();
        piece.code.bytes = self.code.to_vec();
        piece.code.unlink();
        piece.is_chosen = true;
        GATHERED.lock().push((self.key, piece));
    }

    /// A copy of the code, not yet linked.
    pub(crate) fn copy(self) -> CompiledCode {
        let mut code = self.piece.code;
        code.bytes = self.code.to_vec();
        code.unlink();
        code
    }

    pub(crate) fn code_bytes(&self) -> usize {
        self.code.len()
    }
}

/// Makes this the directory that was used last: what comes and goes in it sets its time.
fn mark_used(directory: &Path) {
    let mark = directory.join(format!("{}.used", std::process::id()));
    // Who may not write here keeps nothing either.
    if std::fs::File::create(&mark).is_ok() {
        let _ = std::fs::remove_file(&mark);
    }
}

/// Removes the directories beside `own` but those used last. A process that still runs code of one
/// has it mapped.
pub(crate) fn prune(own: &Path) {
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

/// A user who may write here may run code as this user.
fn check_owner(directory: &Path, owners: &[u32]) -> Result<(), String> {
    let found = std::fs::metadata(directory).map_err(|error| error.to_string())?;
    if !owners.contains(&found.uid()) || found.mode() & 0o022 != 0 {
        return Err(format!(
            "{} must belong to this user and be writable by no one else",
            directory.display()
        ));
    }
    Ok(())
}

/// All intact pieces of code under `key`, newest first.
pub(crate) fn find(key: &Key) -> impl Iterator<Item = Stored> + use<> {
    let key = *key;
    each(key).filter_map(|(store, file, record, body)| Stored::of(store, file, &record, body))
}

/// The same for what [`keep_bytes`] kept.
pub(crate) fn find_bytes(key: &Key) -> impl Iterator<Item = &'static [u8]> + use<> {
    each(*key).map(|(.., body)| body)
}

type Found = (
    &'static Store,
    &'static CodeFile,
    PieceRecord,
    &'static [u8],
);

fn each(key: Key) -> impl Iterator<Item = Found> {
    stores().flat_map(move |store| {
        let files = store.files.iter();
        files.flat_map(move |file| {
            let found = file.find(key);
            found.map(move |(record, body)| (store, file, record, body))
        })
    })
}

/// What a class's code and proof are kept under, `index` telling which; `None` if nothing of it is
/// kept.
pub(crate) fn key_of(class: &'static Class, index: u32) -> Option<Key> {
    let is_kept = is_open() && !class.info.bytes.is_empty();
    is_kept.then(|| Key {
        content: class.content(),
        index,
    })
}

/// Beside a method's number: its code that counts no receivers, though ordinary code of it does.
/// No class has so many methods.
pub(crate) const QUIET: u32 = 1 << 31;

/// What the proof of a class's methods is kept under.
pub(crate) fn proof_key(class: &'static Class) -> Option<Key> {
    // No class file has so many methods. A hidden class has another name for itself than a plain
    // one of the same file.
    let mut key = key_of(class, u32::MAX - u32::from(class.info.is_hidden))?;
    if class.info.is_hidden {
        // A proof names classes as the file does, and this one too.
        key.content = sum_of(&[class.info.bytes]);
    }
    Some(key)
}

/// Whether pieces are kept at all.
pub(crate) fn is_open() -> bool {
    stores().next().is_some()
}

/// Keeps a piece for other processes. Where it lies, if this process can run it there; its table is
/// not filled.
pub(crate) fn keep(key: Key, piece: &Piece) -> Option<Room> {
    let store = own()?;
    let body = piece.to_bytes();
    if is_real_time() {
        store.put_off((key, Some(piece.clone()), body));
        return None;
    }
    store.keep_put_off();
    store.writing.lock().keep(store, key, Some(piece), &body)
}

/// Has the next thread that keeps something keep this piece too, or the end of the process.
pub(crate) fn keep_later(key: Key, piece: &Piece) {
    if let Some(store) = own() {
        store.put_off((key, Some(piece.clone()), piece.to_bytes()));
    }
}

/// Keeps something else than code for other processes.
pub(crate) fn keep_bytes(key: Key, bytes: &[u8]) {
    let Some(store) = own() else {
        return;
    };
    if is_real_time() {
        store.put_off((key, None, bytes.to_vec()));
        return;
    }
    store.keep_put_off();
    store.writing.lock().keep(store, key, None, bytes);
}

/// Writing may wait for a disk: not for a real-time thread, nor while one waits for the lock.
fn is_real_time() -> bool {
    thread::current().is_some_and(|thread| thread.real_time().is_some())
}

impl Store {
    fn put_off(&self, item: PutOff) {
        let mut items = self.put_off.lock();
        if items.len() < PUT_OFF_MAX {
            items.push(item);
        } else {
            DROPPED.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn keep_put_off(&self) {
        let items = core::mem::take(&mut *self.put_off.lock());
        for (key, piece, body) in items {
            let mut writing = self.writing.lock();
            writing.keep(self, key, piece.as_ref(), &body);
        }
    }
}

/// Where this machine's code lies.
pub(crate) fn directory() -> Option<&'static Path> {
    Some(&own()?.directory)
}

/// One line for reports.
pub(crate) fn describe() -> String {
    let each = stores().map(|store| {
        let pieces: usize = store.files.iter().map(CodeFile::count).sum();
        let (files, refused) = (store.files.len(), store.refused_count);
        let directory = store.directory.display();
        format!("{directory}: {pieces} pieces in {files} files, {refused} files refused")
    });
    let mut all: Vec<String> = each.collect();
    if let Some(Err(reason)) = LIBRARY.get() {
        all.push(format!("none delivered ({reason})"));
    }
    if own().is_none() {
        all.push("none of this user's".into());
    }
    all.join("; ")
}

/// Makes the next start quicker, when the process ends. Nothing that was kept depends on it.
pub(crate) fn finish() {
    if let Some(store) = own() {
        store.keep_put_off();
        store.writing.lock().finish(store);
        let gathered = core::mem::take(&mut *GATHERED.lock());
        if let Err(error) = writer::write_apart(store, &gathered) {
            let directory = store.directory.display();
            console::warn(&format!("code is not kept in {directory}: {error}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use rt::clock::{Clock, Monotonic};

    use super::*;

    #[test]
    fn parts_are_not_run_together() {
        assert_ne!(sum_of(&[b"ab", b"c"]), sum_of(&[b"a", b"bc"]));
    }

    fn open_to(mode: u32) -> Result<(), String> {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().expect("a directory");
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(directory.path(), mode).expect("it is ours");
        let own = std::fs::metadata("/proc/self").expect("it is there").uid();
        check_owner(directory.path(), &[own])
    }

    #[test]
    fn a_directory_that_others_may_write_is_refused() {
        assert!(open_to(0o700).is_ok() && open_to(0o755).is_ok());
        for mode in [0o777, 0o770, 0o702] {
            assert!(open_to(mode).expect_err("refused").contains("no one else"));
        }
        assert!(check_owner(Path::new("/proc/self"), &[]).is_err());
    }

    #[test]
    fn directories_used_longest_ago_go() {
        let root = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(root.path().join("another's")).expect("a directory");
        let count = OTHERS_MAX as u8 + 5;
        let directory = |number: u8| directory_in(root.path(), &[number; 16]);
        let visit = |number| {
            std::fs::create_dir_all(directory(number)).expect("it is ours");
            mark_used(&directory(number));
        };
        for number in 0..count {
            visit(number);
            // Times of files are as coarse as the kernel's tick.
            Monotonic.sleep_until(Monotonic.now_ns() + 12_000_000);
        }
        visit(0);
        prune(&directory(0));
        let left: Vec<u8> = (0..count).filter(|it| directory(*it).exists()).collect();
        assert_eq!(left, [&[0][..], &(5..count).collect::<Vec<_>>()].concat());
        assert!(root.path().join("another's").exists());
    }
}
