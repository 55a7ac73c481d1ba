// SPDX-License-Identifier: Apache-2.0
//! Where a store's span lies: drawn once, and kept in the store.
//!
//! All processes of a store map its code at one place, which nobody can know from outside. Code
//! does not depend on it: a store whose place is lost or damaged gets another one.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use abi::address_map::CodeArea;

use crate::code::space;

const NAME: &str = "base";
const MAGIC: [u8; 8] = *b"TAKTBASE";
/// Magic, base, sum.
const BYTES: usize = 20;

fn to_bytes(base: u64) -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..16].copy_from_slice(&base.to_le_bytes());
    let sum = crc32fast::hash(&bytes[..16]);
    bytes[16..].copy_from_slice(&sum.to_le_bytes());
    bytes
}

/// The base that a store has, if it is one for `area`.
pub(crate) fn read(directory: &Path, area: CodeArea) -> Option<u64> {
    let mut bytes = [0; BYTES];
    let mut file = File::open(directory.join(NAME)).ok()?;
    file.read_exact(&mut bytes).ok()?;
    let base = u64::from_le_bytes(*bytes[8..].first_chunk()?);
    (bytes == to_bytes(base) && area.may_start(base)).then_some(base)
}

/// Draws a base for a store that is installed in `directory`, whatever it had where it was made.
pub(crate) fn draw(directory: &Path, area: CodeArea) -> io::Result<()> {
    let base = area.base(space::draw()?);
    let temporary = directory.join(format!("{NAME}.{}.new", std::process::id()));
    std::fs::write(&temporary, to_bytes(base))?;
    std::fs::rename(&temporary, directory.join(NAME))
}

/// The base of a store in `directory`: drawn now if it has none, or one that is damaged.
pub(crate) fn of(directory: &Path, area: CodeArea) -> io::Result<u64> {
    if let Some(base) = read(directory, area) {
        return Ok(base);
    }
    let base = area.base(space::draw()?);
    let path = directory.join(NAME);
    let temporary = directory.join(format!("{NAME}.{}.new", std::process::id()));
    let mut options = OpenOptions::new();
    let options = options.write(true).create(true).truncate(true).mode(0o600);
    // A directory that nobody may write has no base: every process draws one.
    let Ok(mut file) = options.open(&temporary) else {
        return Ok(base);
    };
    file.write_all(&to_bytes(base))?;
    if path.exists() {
        std::fs::rename(&temporary, &path)?;
        return Ok(base);
    }
    // Of two processes that are the first, one draws for both.
    match std::fs::hard_link(&temporary, &path) {
        // File systems without links: the last one draws for both, and code does not mind.
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            std::fs::rename(&temporary, &path)?;
        }
        _ => std::fs::remove_file(&temporary)?,
    }
    Ok(read(directory, area).unwrap_or(base))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_is_drawn_once_per_store() {
        let stores = [(); 2].map(|()| tempfile::tempdir().expect("a directory"));
        let base = |store: usize| of(stores[store].path(), CodeArea::Own).expect("ours");
        let first = base(0);
        assert!(CodeArea::Own.may_start(first));
        assert_eq!(base(0), first);
        assert_ne!(base(1), first, "one in eight million");
        assert_eq!(read(stores[0].path(), CodeArea::Library), None);
    }

    #[test]
    fn a_damaged_base_is_drawn_again() {
        let store = tempfile::tempdir().expect("a directory");
        let first = of(store.path(), CodeArea::Own).expect("ours");
        let path = store.path().join(NAME);
        for at in 0..BYTES {
            let mut bytes = to_bytes(first);
            bytes[at] ^= 1;
            std::fs::write(&path, bytes).expect("ours");
            assert_eq!(read(store.path(), CodeArea::Own), None, "{at}");
        }
        let second = of(store.path(), CodeArea::Own).expect("ours");
        assert_eq!(read(store.path(), CodeArea::Own), Some(second));
    }
}
