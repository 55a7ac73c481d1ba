// SPDX-License-Identifier: Apache-2.0
//! What an ELF file needs to run: its program interpreter and, as the dynamic loader itself finds
//! them, its libraries.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;

use object::elf::{FileHeader32, FileHeader64, PT_DYNAMIC};
use object::read::elf::{ElfFile, FileHeader, ProgramHeader};
use object::{Endianness, ReadCache};

use crate::error::LabError;

/// The loader of libraries that name none themselves.
const DEFAULT_LOADER: &str = "/lib64/ld-linux-x86-64.so.2";

/// Where a loader that we run may lie. A binary names its own interpreter, and listing its
/// libraries must not run it.
const LOADER_DIRECTORIES: [&str; 5] = ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/nix/store"];

/// How an ELF file is linked.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Linkage {
    /// PT_INTERP.
    pub(crate) interpreter: Option<PathBuf>,
    /// Whether it has a dynamic section.
    pub(crate) is_dynamic: bool,
}

/// Reads the program headers; `None` if the file is no ELF file.
pub(crate) fn linkage(path: &Path) -> Option<Linkage> {
    let mut magic = [0; 5];
    let mut file = File::open(path).ok()?;
    file.read_exact(&mut magic).ok()?;
    if !magic.starts_with(b"\x7fELF") {
        return None;
    }
    let cache = ReadCache::new(file);
    match magic[4] {
        1 => read::<FileHeader32<Endianness>>(&cache),
        2 => read::<FileHeader64<Endianness>>(&cache),
        _ => None,
    }
}

fn read<H: FileHeader<Endian = Endianness>>(cache: &ReadCache<File>) -> Option<Linkage> {
    let elf = ElfFile::<H, _>::parse(cache).ok()?;
    let endian = elf.endian();
    let headers = elf.elf_program_headers();
    let interpreter = headers
        .iter()
        .find_map(|it| it.interpreter(endian, cache).ok().flatten())
        .map(|it| PathBuf::from(String::from_utf8_lossy(it).into_owned()));
    Some(Linkage {
        interpreter,
        is_dynamic: headers.iter().any(|it| it.p_type(endian) == PT_DYNAMIC),
    })
}

/// The libraries of a dynamic ELF file, whole closure, loader included.
pub(crate) fn libraries(path: &Path, linkage: &Linkage) -> Result<Vec<PathBuf>, LabError> {
    if !linkage.is_dynamic {
        return Ok(Vec::new());
    }
    let loader = linkage
        .interpreter
        .as_deref()
        .unwrap_or(Path::new(DEFAULT_LOADER));
    if !is_known_loader(loader) {
        return Err(LabError::Tool {
            tool: "dynamic loader",
            reason: format!(
                "{} asks for {}, which lies in no library directory",
                path.display(),
                loader.display()
            ),
        });
    }
    let output = Command::new(loader)
        .arg("--list")
        .arg(path)
        .env_remove("LD_LIBRARY_PATH")
        .env_remove("LD_PRELOAD")
        .output()
        .map_err(LabError::io("start", loader))?;
    let mut libraries = parse(path, &String::from_utf8_lossy(&output.stdout))?;
    if linkage.interpreter.is_some() {
        libraries.push(loader.to_owned());
    }
    Ok(libraries)
}

fn is_known_loader(loader: &Path) -> bool {
    let is_named_so = loader
        .file_name()
        .is_some_and(|it| it.to_string_lossy().starts_with("ld-"));
    is_named_so && LOADER_DIRECTORIES.iter().any(|it| loader.starts_with(it))
}

/// Lines such as `libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f…)`.
fn parse(binary: &Path, listing: &str) -> Result<Vec<PathBuf>, LabError> {
    let mut found = Vec::new();
    for line in listing.lines().map(str::trim) {
        let (name, place) = line.split_once(" => ").unwrap_or(("", line));
        if place.starts_with("not found") {
            return Err(LabError::LibraryNotFound {
                binary: binary.to_owned(),
                library: name.to_owned(),
            });
        }
        let place = place.rsplit_once(" (0x").map_or(place, |it| it.0);
        if place.starts_with('/') {
            found.push(PathBuf::from(place));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_parses() {
        let listing = "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibc.so.6 => /lib/x/libc.so.6 (0x00007f)\n\t/lib64/ld.so (0x1)\n";
        let found = parse(Path::new("x"), listing).unwrap();
        assert_eq!(
            found,
            [
                PathBuf::from("/lib/x/libc.so.6"),
                PathBuf::from("/lib64/ld.so")
            ]
        );
        assert!(
            parse(Path::new("x"), "\tstatically linked\n")
                .unwrap()
                .is_empty()
        );
        assert!(matches!(
            parse(Path::new("x"), "\tlibnone.so.1 => not found\n"),
            Err(LabError::LibraryNotFound { .. })
        ));
    }

    #[test]
    fn this_test_needs_libc_and_a_loader() {
        let me = std::env::current_exe().unwrap();
        let linkage = linkage(&me).unwrap();
        assert!(linkage.interpreter.is_some());
        let libraries = libraries(&me, &linkage).unwrap();
        assert!(
            libraries.iter().any(|it| it.ends_with("libc.so.6")),
            "{libraries:?}"
        );
    }

    #[test]
    fn a_foreign_interpreter_is_never_run() {
        let linkage = Linkage {
            interpreter: Some("/tmp/ld-evil.so".into()),
            is_dynamic: true,
        };
        assert!(libraries(Path::new("/bin/true"), &linkage).is_err());
    }

    #[test]
    fn a_text_is_no_elf() {
        assert_eq!(super::linkage(Path::new("/etc/passwd")), None);
    }
}
