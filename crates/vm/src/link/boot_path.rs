// SPDX-License-Identifier: Apache-2.0
//! Where the boot loader finds classes beside the JDK's image: `-Xbootclasspath/a`,
//! `--patch-module` of its modules, and what agents append.
//!
//! [`Place`] is a folder or a jar. What comes from here is nothing that the machine was tested
//! with: [`is_foreign`] has it checked and proven like an application's classes. Its neighbour is
//! `loader`, which asks before and after it looks into the image.

use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use rawzip::{CompressionMethod, ZipArchive, ZipArchiveEntryWayfinder, ZipSliceArchive};

use crate::memory;
use crate::options;
use crate::sync::lock::Lock;

/// Unpacked bytes of one class file or manifest: no class file that the machine reads has more.
const ENTRY_BYTES_MAX: u64 = 256 << 20;

/// A folder or a jar.
enum Place {
    Folder(PathBuf),
    Jar(Jar),
}

/// A jar and its directory.
pub(crate) struct Jar {
    path: PathBuf,
    bytes: &'static [u8],
    zip: ZipSliceArchive<&'static [u8]>,
    entries: HashMap<Vec<u8>, (ZipArchiveEntryWayfinder, CompressionMethod)>,
}

/// Behind the image, in this order. A place that is there stays.
static APPENDED: Lock<Vec<&'static Place>> = Lock::new(Vec::new());
/// Before the image, by module.
static PATCHES: OnceLock<HashMap<String, Vec<Place>>> = OnceLock::new();
/// Addresses of the class files that were found here.
static FOREIGN: Lock<Option<HashSet<usize>>> = Lock::new(None);
/// Whether there are such: few processes have any.
static HAS_FOREIGN: AtomicBool = AtomicBool::new(false);

/// Reads the options. What is not there is passed over, as on HotSpot.
pub(crate) fn start() {
    let options = options::get();
    options.boot_append.iter().for_each(|path| append(path));
    let mut patches: HashMap<String, Vec<Place>> = HashMap::new();
    for (name, value) in &options.properties {
        if name.starts_with("jdk.module.patch.")
            && let Some((module, paths)) = value.split_once('=')
        {
            let places = paths
                .split(':')
                .filter_map(|path| Place::open(path.as_ref()));
            patches.entry(module.into()).or_default().extend(places);
        }
    }
    let _ = PATCHES.set(patches);
}

/// Appends a folder or a jar.
pub(crate) fn append(path: &str) {
    if let Some(place) = Place::open(path.as_ref()) {
        APPENDED.lock().push(Box::leak(Box::new(place)));
    }
}

/// A file of a module that was patched.
pub(crate) fn in_patch(module: &str, file: &str) -> Option<&'static [u8]> {
    let places = PATCHES.get()?.get(module)?;
    foreign(places.iter().find_map(|place| place.read(file)))
}

/// A class of a package that a patch adds to one of the modules that `is_wanted`.
pub(crate) fn in_patches(file: &str, is_wanted: fn(&str) -> bool) -> Option<&'static [u8]> {
    let patches = PATCHES.get()?.keys();
    patches
        .filter(|module| is_wanted(module))
        .find_map(|module| in_patch(module, file))
}

/// A file of what was appended.
pub(crate) fn appended(file: &str) -> Option<&'static [u8]> {
    let places = APPENDED.lock().clone();
    foreign(places.iter().find_map(|place| place.read(file)))
}

/// The path of what was appended and has a file.
pub(crate) fn place_of(file: &str) -> Option<String> {
    let places = APPENDED.lock().clone();
    places.iter().find_map(|place| {
        let path = match place {
            Place::Folder(folder) if folder.join(file).exists() => folder,
            Place::Jar(jar) if jar.entries.contains_key(file.as_bytes()) => &jar.path,
            _ => return None,
        };
        Some(path.to_string_lossy().into_owned())
    })
}

/// Whether a class file came from somewhere else than the image.
pub(crate) fn is_foreign(bytes: &[u8]) -> bool {
    HAS_FOREIGN.load(Ordering::Acquire)
        && FOREIGN
            .lock()
            .as_ref()
            .is_some_and(|all| all.contains(&(bytes.as_ptr() as usize)))
}

fn foreign(bytes: Option<Vec<u8>>) -> Option<&'static [u8]> {
    bytes.map(make_foreign)
}

/// Keeps a class file that is to be checked no matter who defines it.
pub(crate) fn make_foreign(bytes: Vec<u8>) -> &'static [u8] {
    let bytes: &'static [u8] = Box::leak(bytes.into_boxed_slice());
    let mut all = FOREIGN.lock();
    all.get_or_insert_default().insert(bytes.as_ptr() as usize);
    HAS_FOREIGN.store(true, Ordering::Release); // Pairs with Acquire in `is_foreign`.
    bytes
}

impl Place {
    fn open(path: &Path) -> Option<Self> {
        if path.is_dir() {
            return Some(Self::Folder(path.to_owned()));
        }
        Jar::open(path).map(Self::Jar)
    }

    fn read(&self, file: &str) -> Option<Vec<u8>> {
        match self {
            Self::Folder(folder) => std::fs::read(folder.join(file)).ok(),
            Self::Jar(jar) => jar.read(file),
        }
    }
}

impl Jar {
    pub(crate) fn open(path: &Path) -> Option<Self> {
        let bytes = memory::map_file(path).ok()?;
        let zip = ZipArchive::from_slice(bytes).ok()?;
        let mut entries = HashMap::new();
        let mut records = zip.entries();
        while let Ok(Some(record)) = records.next_entry() {
            let found = (record.wayfinder(), record.compression_method());
            entries.insert(record.file_path().as_bytes().to_vec(), found);
        }
        Some(Self {
            path: path.to_owned(),
            bytes,
            zip,
            entries,
        })
    }

    pub(crate) fn read(&self, file: &str) -> Option<Vec<u8>> {
        let (way, method) = self.entries.get(file.as_bytes())?;
        let (start, end) = self.zip.get_entry(*way).ok()?.compressed_data_range();
        let packed = self.bytes.get(start as usize..end as usize)?;
        let mut bytes = Vec::new();
        match *method {
            CompressionMethod::STORE => bytes.extend(packed),
            CompressionMethod::DEFLATE => {
                let unpacked = flate2::bufread::DeflateDecoder::new(packed);
                unpacked
                    .take(ENTRY_BYTES_MAX)
                    .read_to_end(&mut bytes)
                    .ok()?;
            }
            _ => return None,
        }
        Some(bytes)
    }
}
