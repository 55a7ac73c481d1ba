// SPDX-License-Identifier: Apache-2.0
//! The file by which `jps` and `jcmd -l` find this process: `/tmp/hsperfdata_USER/PID`.
//!
//! Its form is that of the JDK's `sun.jvmstat.perfdata.monitor.v2_0`: a head of 32 bytes, then
//! entries, each with a name and a value. Only what those tools list is there, as texts that do not
//! change; there are no counters. A file that a killed process left goes when the next one of the
//! same user starts.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::console;
use crate::options;
use crate::options::properties;

const MAGIC: [u8; 4] = [0xca, 0xfe, 0xc0, 0xc0];
const LITTLE_ENDIAN: u8 = 1;
const HEAD_BYTES: usize = 32;
/// Tools map whole pages, and take no other file.
const PAGE_BYTES: usize = 4096;
const ENTRY_BYTES: usize = 20;
/// Of an entry: its values are bytes, they are a text, and they stay.
const BYTE: u8 = b'B';
const TEXT: u8 = 5;
const CONSTANT: u8 = 1;
/// Left in other directories by nobody, so it is no reason to look for more.
const LEFT_OVER_MAX: usize = 1000;

/// Where the file lies, if there is one.
static FILE: OnceLock<PathBuf> = OnceLock::new();

/// Writes the file. Nothing depends on it: where it cannot be written, tools do not list the
/// process.
pub(crate) fn start() {
    if !options::get().is_listed {
        return;
    }
    if let Some(directory) = directory() {
        remove_left_over(&directory);
        if let Ok(path) = write(&directory) {
            let _ = FILE.set(path);
        }
    }
}

/// Removes the file.
pub(crate) fn finish() {
    if let Some(path) = FILE.get() {
        let _ = fs::remove_file(path);
    }
}

fn directory() -> Option<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    let users = fs::read_to_string("/etc/passwd").ok()?;
    let name = user_name(&users, user)?;
    Some(Path::new("/tmp").join(format!("hsperfdata_{name}")))
}

/// The name of a user of /etc/passwd, whose third field is the number.
fn user_name(users: &str, user: u32) -> Option<&str> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        let is_it = fields.nth(1)?.parse() == Ok(user);
        (is_it && !name.is_empty()).then_some(name)
    })
}

/// Whether it is a directory that nobody else can have put anything into.
fn is_own(directory: &Path) -> io::Result<bool> {
    let found = fs::symlink_metadata(directory)?;
    let is_others = found.uid() != rustix::process::geteuid().as_raw();
    Ok(found.is_dir() && !is_others && found.mode() & 0o022 == 0)
}

/// Removes the files of processes that are no more.
fn remove_left_over(directory: &Path) {
    if !is_own(directory).unwrap_or(false) {
        return;
    }
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries.flatten().take(LEFT_OVER_MAX) {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.parse::<u32>().ok());
        let is_left = pid.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists());
        if is_left {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn write(directory: &Path) -> io::Result<PathBuf> {
    match fs::DirBuilder::new().mode(0o755).create(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    if !is_own(directory)? {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    let path = directory.join(std::process::id().to_string());
    // One that an earlier process of this number has left.
    let _ = fs::remove_file(&path);
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)?;
    file.write_all(&contents(&entries(), console::uptime_ms() as u64))?;
    Ok(path)
}

fn entries() -> Vec<(&'static str, String)> {
    let properties = properties::properties();
    let property = |name: &str| {
        let found = properties.iter().rev().find(|(own, _)| own == name);
        found.map_or_else(String::new, |(_, value)| value.clone())
    };
    // One that can be attached to has a 1 in front.
    let is_attachable = !options::get().is_attach_disabled;
    let capabilities = format!("{}{}", u8::from(is_attachable), "0".repeat(63));
    let mut entries = vec![
        ("sun.rt.jvmCapabilities", capabilities),
        ("sun.rt.javaCommand", property("sun.java.command")),
        ("java.rt.vmArgs", options::get().arguments.join(" ")),
        ("java.rt.vmFlags", String::new()),
    ];
    let shown = [
        ("java.property.java.vm.name", "java.vm.name"),
        ("java.property.java.vm.vendor", "java.vm.vendor"),
        ("java.property.java.vm.version", "java.vm.version"),
        ("java.property.java.vm.info", "java.vm.info"),
        ("java.property.java.home", "java.home"),
        ("java.property.java.class.path", "java.class.path"),
        ("java.property.java.library.path", "java.library.path"),
    ];
    entries.extend(shown.map(|(entry, name)| (entry, property(name))));
    entries
}

/// The file's bytes.
fn contents(entries: &[(&str, String)], now_ms: u64) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, value) in entries {
        let value_offset = ENTRY_BYTES + name.len() + 1;
        // Entries begin at multiples of eight.
        let bytes = (value_offset + value.len() + 1).next_multiple_of(8);
        let words = [bytes, ENTRY_BYTES, value.len() + 1];
        body.extend(words.iter().flat_map(|&word| (word as u32).to_le_bytes()));
        body.extend([BYTE, 0, TEXT, CONSTANT]);
        body.extend((value_offset as u32).to_le_bytes());
        for text in [name.as_bytes(), value.as_bytes()] {
            body.extend(text);
            body.push(0);
        }
        body.resize(body.len().next_multiple_of(8), 0);
    }
    let used = (HEAD_BYTES + body.len()) as u32;
    let mut all = Vec::with_capacity(used as usize);
    all.extend(MAGIC);
    // Version 2.0, and it may be read.
    all.extend([LITTLE_ENDIAN, 2, 0, 1]);
    all.extend(used.to_le_bytes());
    // Nothing did not fit.
    all.extend(0_u32.to_le_bytes());
    all.extend(now_ms.to_le_bytes());
    all.extend((HEAD_BYTES as u32).to_le_bytes());
    all.extend((entries.len() as u32).to_le_bytes());
    all.extend(body);
    all.resize(all.len().next_multiple_of(PAGE_BYTES), 0);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_a_name() {
        let users = "root:x:0:0:root:/root:/bin/sh\nbroken\na:x:10:10::/:\nb:x:1:1::/:\n";
        assert_eq!(user_name(users, 0), Some("root"));
        assert_eq!(user_name(users, 1), Some("b"));
        assert_eq!(user_name(users, 100), None);
    }

    #[test]
    fn entries_lie_behind_each_other() {
        let bytes = contents(&[("a.b", "value".into()), ("c", String::new())], 7);
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
        assert_eq!(bytes.len(), PAGE_BYTES);
        assert_eq!((word(24), word(28)), (HEAD_BYTES, 2));
        let second = HEAD_BYTES + word(HEAD_BYTES);
        assert_eq!(second % 8, 0);
        assert_eq!(&bytes[HEAD_BYTES + 20..HEAD_BYTES + 24], b"a.b\0");
        let value = HEAD_BYTES + word(HEAD_BYTES + 16);
        assert_eq!(&bytes[value..value + word(HEAD_BYTES + 8)], b"value\0");
        assert_eq!(second + word(second), word(8));
    }
}
