// SPDX-License-Identifier: Apache-2.0
//! [`Initramfs`]: a root file system as a cpio archive, the same bytes whenever it is made from the
//! same files.
//!
//! Names in order, inode numbers counted, one owner, one date. Filled by `closure`, read by the
//! guest's kernel.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use cpio::newc::{Builder, ModeFileType, trailer};

use crate::determinism::Digest;
use crate::error::LabError;

/// Date of every entry: 1 January 2026, the date that the deterministic guest's clock starts from.
const MODIFIED_S: u32 = 1_767_225_600;

/// A tree in the making; names are absolute paths of the guest.
#[derive(Default)]
pub(crate) struct Initramfs {
    entries: BTreeMap<PathBuf, Entry>,
}

enum Entry {
    Directory,
    Copy { source: PathBuf, mode: u32 },
    Text { bytes: Vec<u8>, mode: u32 },
    Link { target: PathBuf },
}

impl Initramfs {
    pub(crate) fn has(&self, path: &Path) -> bool {
        self.entries.contains_key(path)
    }

    /// A directory with all above it.
    pub(crate) fn directory(&mut self, path: &Path) {
        for above in path.ancestors().filter(|it| it.components().count() > 1) {
            self.entries
                .entry(above.to_owned())
                .or_insert(Entry::Directory);
        }
    }

    /// The file `source` of the host as `path`, with its permission bits.
    pub(crate) fn copy(&mut self, path: &Path, source: &Path) -> Result<(), LabError> {
        let metadata = fs::metadata(source).map_err(LabError::io("read", source))?;
        self.parent_of(path);
        self.entries.insert(
            path.to_owned(),
            Entry::Copy {
                source: source.to_owned(),
                mode: metadata.permissions().mode() & 0o7777,
            },
        );
        Ok(())
    }

    /// A file with these bytes.
    pub(crate) fn text(&mut self, path: &Path, mode: u32, bytes: impl Into<Vec<u8>>) {
        self.parent_of(path);
        let bytes = bytes.into();
        self.entries
            .insert(path.to_owned(), Entry::Text { bytes, mode });
    }

    /// A symbolic link.
    pub(crate) fn link(&mut self, path: &Path, target: &Path) {
        self.parent_of(path);
        let target = target.to_owned();
        self.entries.insert(path.to_owned(), Entry::Link { target });
    }

    fn parent_of(&mut self, path: &Path) {
        if let Some(parent) = path.parent() {
            self.directory(parent);
        }
    }

    /// Writes the archive; returns its digest and size.
    pub(crate) fn write(&self, file: &Path) -> Result<(String, u64), LabError> {
        let archive = File::create(file).map_err(LabError::io("create", file))?;
        let mut writer = Digesting {
            inner: BufWriter::with_capacity(256 * 1024, archive),
            digest: Digest::default(),
            bytes: 0,
        };
        for (index, (path, entry)) in self.entries.iter().enumerate() {
            entry.write(path, index as u32 + 1, &mut writer)?;
        }
        trailer(&mut writer).map_err(LabError::io("write", file))?;
        writer.flush().map_err(LabError::io("write", file))?;
        Ok((writer.digest.finish(), writer.bytes))
    }
}

impl Entry {
    fn write(&self, path: &Path, inode: u32, writer: &mut impl Write) -> Result<(), LabError> {
        let builder = |mode: u32, kind: ModeFileType| -> Result<Builder, LabError> {
            Ok(Builder::new(archive_name(path)?)
                .ino(inode)
                .mode(mode)
                .set_mode_file_type(kind)
                .mtime(MODIFIED_S))
        };
        let wrong = LabError::io("pack", path);
        match self {
            Entry::Directory => {
                put(builder(0o755, ModeFileType::Directory)?, &[], writer).map_err(wrong)
            }
            Entry::Text { bytes, mode } => {
                put(builder(*mode, ModeFileType::Regular)?, bytes, writer).map_err(wrong)
            }
            Entry::Link { target } => {
                let target = target
                    .to_str()
                    .ok_or_else(|| LabError::NotUtf8(target.clone()))?;
                put(
                    builder(0o777, ModeFileType::Symlink)?,
                    target.as_bytes(),
                    writer,
                )
                .map_err(wrong)
            }
            Entry::Copy { source, mode } => {
                let mut file = File::open(source).map_err(LabError::io("read", source))?;
                let bytes = file.metadata().map_err(LabError::io("read", source))?.len();
                let size = u32::try_from(bytes).map_err(|_| LabError::FileTooLarge {
                    path: source.clone(),
                    bytes,
                })?;
                let mut out = builder(*mode, ModeFileType::Regular)?.write(writer, size);
                io::copy(&mut Read::by_ref(&mut file).take(bytes), &mut out).map_err(wrong)?;
                out.finish().map(drop).map_err(LabError::io("pack", path))
            }
        }
    }
}

fn put(builder: Builder, bytes: &[u8], writer: &mut impl Write) -> io::Result<()> {
    let size = u32::try_from(bytes.len()).expect("texts of ours are short");
    let mut out = builder.write(writer, size);
    out.write_all(bytes)?;
    out.finish().map(drop)
}

fn archive_name(path: &Path) -> Result<&str, LabError> {
    debug_assert!(
        path.components()
            .skip(1)
            .all(|it| matches!(it, Component::Normal(_)))
    );
    let text = path
        .to_str()
        .ok_or_else(|| LabError::NotUtf8(path.to_owned()))?;
    Ok(text.trim_start_matches('/'))
}

struct Digesting<W> {
    inner: W,
    digest: Digest,
    bytes: u64,
}

impl<W: Write> Write for Digesting<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.digest.add(&bytes[..count]);
        self.bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn sample(directory: &Path, backwards: bool) -> Initramfs {
        let source = directory.join("source");
        fs::write(&source, "from the host").unwrap();
        let mut image = Initramfs::default();
        let deeds: [&dyn Fn(&mut Initramfs); 3] = [
            &|it| it.text(Path::new("/etc/motd"), 0o644, "hello"),
            &|it| it.link(Path::new("/bin"), Path::new("usr/bin")),
            &|it| it.copy(Path::new("/usr/bin/tool"), &source).unwrap(),
        ];
        let mut order: Vec<_> = deeds.iter().collect();
        if backwards {
            order.reverse();
        }
        order.into_iter().for_each(|it| it(&mut image));
        image
    }

    #[test]
    fn the_same_files_give_the_same_bytes_in_whatever_order() {
        let directory = tempfile::tempdir().unwrap();
        let (first, second) = (directory.path().join("1"), directory.path().join("2"));
        let digests = (
            sample(directory.path(), false).write(&first).unwrap(),
            sample(directory.path(), true).write(&second).unwrap(),
        );
        assert_eq!(digests.0, digests.1);
        assert_eq!(fs::read(&first).unwrap(), fs::read(&second).unwrap());
        assert_eq!(digests.0.1, fs::metadata(&first).unwrap().len());
    }

    #[test]
    fn parents_come_before_children_and_cpio_reads_it() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("archive");
        sample(directory.path(), false).write(&file).unwrap();
        let output = Command::new("busybox")
            .args(["cpio", "-t"])
            .stdin(File::open(&file).unwrap())
            .output();
        let output = output.expect("busybox, which `make setup` installs");
        let names = String::from_utf8(output.stdout).unwrap();
        assert_eq!(
            names.lines().collect::<Vec<_>>(),
            ["bin", "etc", "etc/motd", "usr", "usr/bin", "usr/bin/tool"]
        );
    }
}
