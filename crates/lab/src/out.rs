// SPDX-License-Identifier: Apache-2.0
//! The files that a command leaves in $TAKT_OUT.
//!
//! A deterministic guest sends them as a cpio archive on its control port, which is unpacked under
//! the host's directory and nowhere else; a guest with the host's root writes them through 9p.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use cpio::newc::Reader;

use crate::error::LabError;

const KIND_MASK: u32 = 0o170_000;
const KIND_DIRECTORY: u32 = 0o040_000;
const KIND_REGULAR: u32 = 0o100_000;

/// Copies a tree of files and directories; what exists is replaced.
pub(crate) fn copy_tree(from: &Path, to: &Path) -> Result<(), LabError> {
    fs::create_dir_all(to).map_err(LabError::io("create", to))?;
    for entry in fs::read_dir(from).map_err(LabError::io("read", from))? {
        let entry = entry.map_err(LabError::io("read", from))?;
        let (source, place) = (entry.path(), to.join(entry.file_name()));
        if source.is_dir() {
            copy_tree(&source, &place)?;
        } else {
            fs::copy(&source, &place).map_err(LabError::io("write", &place))?;
        }
    }
    Ok(())
}

/// How many files lie below a directory.
pub(crate) fn count(directory: &Path) -> Result<usize, LabError> {
    let mut files = 0;
    for entry in fs::read_dir(directory).map_err(LabError::io("read", directory))? {
        let path = entry.map_err(LabError::io("read", directory))?.path();
        files += if path.is_dir() { count(&path)? } else { 1 };
    }
    Ok(files)
}

/// Unpacks regular files and directories; returns how many files came. Others (devices, sockets,
/// links) stay behind: they would mean something else on the host.
pub(crate) fn unpack(archive: impl Read, to: &Path) -> Result<usize, LabError> {
    let damaged = |error: io::Error| LabError::OutDamaged(error.to_string());
    let mut rest = archive;
    let mut file_count = 0;
    loop {
        let mut reader = Reader::new(rest).map_err(damaged)?;
        if reader.entry().is_trailer() {
            return Ok(file_count);
        }
        let name = safe_name(reader.entry().name())?;
        let place = to.join(&name);
        match reader.entry().mode() & KIND_MASK {
            KIND_DIRECTORY => fs::create_dir_all(&place).map_err(LabError::io("create", &place))?,
            KIND_REGULAR => {
                if let Some(parent) = place.parent() {
                    fs::create_dir_all(parent).map_err(LabError::io("create", parent))?;
                }
                let mut file = File::create(&place).map_err(LabError::io("create", &place))?;
                io::copy(&mut reader, &mut file).map_err(LabError::io("write", &place))?;
                file_count += 1;
            }
            _ => {}
        }
        rest = reader.finish().map_err(damaged)?;
    }
}

/// `./a/b` as `a/b`; what would leave the directory is refused: the guest is not trusted.
fn safe_name(name: &str) -> Result<PathBuf, LabError> {
    let mut safe = PathBuf::new();
    for part in Path::new(name).components() {
        match part {
            Component::Normal(part) => safe.push(part),
            Component::CurDir => {}
            _ => {
                return Err(LabError::OutDamaged(format!(
                    "the name '{name}' leaves the directory"
                )));
            }
        }
    }
    Ok(safe)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use cpio::newc::{Builder, trailer};

    use super::*;

    const LINK: u32 = 0o120_000;

    fn archive(entries: &[(&str, u32, &str)]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (name, kind, text) in entries {
            let builder = Builder::new(name).mode(kind | 0o644);
            let mut writer = builder.write(&mut bytes, text.len() as u32);
            writer.write_all(text.as_bytes()).unwrap();
            writer.finish().unwrap();
        }
        trailer(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn files_come_back_and_links_stay() {
        let to = tempfile::tempdir().unwrap();
        let bytes = archive(&[
            ("./a", KIND_REGULAR, "1"),
            ("./sub/b", KIND_REGULAR, "2"),
            ("./l", LINK, "/etc/passwd"),
        ]);
        assert_eq!(unpack(&*bytes, to.path()).unwrap(), 2);
        assert_eq!(fs::read(to.path().join("sub/b")).unwrap(), b"2");
        assert!(!to.path().join("l").exists());
    }

    #[test]
    fn names_that_leave_the_directory_are_refused() {
        let to = tempfile::tempdir().unwrap();
        for name in ["../x", "/x", "a/../../x"] {
            assert!(
                unpack(&*archive(&[(name, KIND_REGULAR, "1")]), to.path()).is_err(),
                "{name}"
            );
        }
    }

    #[test]
    fn a_cut_archive_is_damaged() {
        let to = tempfile::tempdir().unwrap();
        let bytes = archive(&[("a", KIND_REGULAR, "12345678")]);
        for cut in [0, 50, bytes.len() - 130] {
            assert!(matches!(
                unpack(&bytes[..cut], to.path()),
                Err(LabError::OutDamaged(_)) | Err(LabError::Io { .. })
            ));
        }
    }
}
