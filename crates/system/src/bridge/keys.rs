// SPDX-License-Identifier: Apache-2.0
//! The keys that are let in: a file in the server's folder, with a line each, as Android has it.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use adb::{KEYS_MAX, Key};
use server::store::{Disk, DiskError};

/// Its name.
pub(crate) const FILE: &str = "adb_keys";
const NEW: &str = "adb_keys.new";
/// Of all lines: those that a person wrote may be longer than ours.
const BYTES_MAX: u64 = 64 << 10;

/// What was done in words, or why nothing was.
type Outcome = Result<String, String>;

/// The keys of a file. What cannot be read lets nobody in, and neither does a line that is no key.
pub(super) fn read(path: &Path) -> Vec<Key> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|it| it.take(BYTES_MAX).read_to_end(&mut bytes));
    match read {
        Ok(_) => lines(&bytes).into_iter().map(|it| it.1).collect(),
        Err(_) => Vec::new(),
    }
}

/// Each key with its line.
fn lines(bytes: &[u8]) -> Vec<(String, Key)> {
    let all = bytes.split(|it| *it == b'\n');
    let key = |it: &[u8]| Some((String::from_utf8(it.to_vec()).ok()?, Key::parse(it).ok()?));
    all.filter_map(key).take(KEYS_MAX).collect()
}

fn kept(disk: &mut impl Disk) -> Result<Vec<(String, Key)>, String> {
    let bytes = disk.read(FILE).map_err(|it| it.to_string())?;
    Ok(lines(&bytes.unwrap_or_default()))
}

fn keep(disk: &mut impl Disk, all: &[(String, Key)]) -> Result<(), String> {
    let text: String = all.iter().map(|it| format!("{}\n", it.0)).collect();
    let mut write = || -> Result<(), DiskError> {
        disk.write(NEW, text.as_bytes())?;
        disk.sync(NEW)?;
        disk.rename(NEW, FILE)?;
        disk.sync_names()
    };
    write().map_err(|it| it.to_string())
}

/// What a person calls a key by.
fn named(key: &Key) -> String {
    let name = match key.name() {
        "" => "somebody",
        name => name,
    };
    format!("{} of {name}", key.print())
}

/// Who has this key is let in from now on.
pub(crate) fn allow(disk: &mut impl Disk, line: &str) -> Outcome {
    let key = Key::parse(line.as_bytes()).map_err(|it| it.to_string())?;
    let mut all = kept(disk)?;
    if all.iter().any(|it| it.1 == key) {
        return Ok(format!("allowed already: {}", named(&key)));
    }
    if all.len() >= KEYS_MAX {
        return Err(format!(
            "{KEYS_MAX} keys are allowed already: revoke one by `takt adb revoke`"
        ));
    }
    let text = format!("allowed: {}", named(&key));
    let packed = line.split_ascii_whitespace().next().unwrap_or_default();
    all.push((format!("{packed} {}", key.name()), key));
    keep(disk, &all)?;
    Ok(text)
}

/// Who has this key is let in no more.
pub(crate) fn revoke(disk: &mut impl Disk, print: &str) -> Outcome {
    let mut all = kept(disk)?;
    let gone = all.iter().position(|it| it.1.print() == print);
    let Some(gone) = gone else {
        return Err(format!("no key is called {print}: see `takt adb keys`"));
    };
    let (_, key) = all.remove(gone);
    keep(disk, &all)?;
    Ok(format!("revoked: {}", named(&key)))
}

/// What a person calls each by, a line each.
pub(crate) fn list(disk: &mut impl Disk) -> Outcome {
    let all = kept(disk)?;
    let lines: Vec<String> = all.iter().map(|it| named(&it.1)).collect();
    match lines.is_empty() {
        true => Ok("no key is allowed: `takt adb allow` allows one".to_owned()),
        false => Ok(lines.join("\n")),
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::*;
    use crate::disk::RealDisk;

    /// A line that is a key's by its form; nobody has its private half.
    fn line(number: u8) -> String {
        let mut form = vec![0x5a; 524];
        form[..4].copy_from_slice(&64_u32.to_le_bytes());
        (form[8], form[9], form[263]) = (1, number, 0x80);
        form[520..].copy_from_slice(&65537_u32.to_le_bytes());
        format!("{} me{number}@host", STANDARD.encode(form))
    }

    #[test]
    fn keys_are_kept_counted_and_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join(FILE);
        let mut disk = RealDisk::open(folder.path()).unwrap();
        assert_eq!(read(&place), []);
        for number in 0..KEYS_MAX as u8 {
            let said = allow(&mut disk, &format!("{}\n", line(number))).unwrap();
            assert!(said.ends_with(&format!("of me{number}@host")), "{said}");
        }
        assert!(
            allow(&mut disk, &line(3))
                .unwrap()
                .starts_with("allowed already")
        );
        assert!(allow(&mut disk, &line(99)).unwrap_err().contains("16 keys"));
        assert!(allow(&mut disk, "no key").is_err());
        let known = read(&place);
        assert_eq!(known.len(), KEYS_MAX);
        assert_eq!(list(&mut disk).unwrap().lines().count(), KEYS_MAX);
        // One goes, and makes room.
        assert!(revoke(&mut disk, &known[3].print()).is_ok());
        assert!(revoke(&mut disk, &known[3].print()).is_err());
        assert!(!read(&place).contains(&known[3]));
        allow(&mut disk, &line(99)).unwrap();
        assert_eq!(read(&place).len(), KEYS_MAX);
    }

    #[test]
    fn what_is_no_key_lets_nobody_in() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join(FILE);
        std::fs::write(&place, format!("# a remark\n\nAAAA me@host\n{}\n", line(1))).unwrap();
        assert_eq!(read(&place).len(), 1);
        std::fs::write(&place, [0xff; 100]).unwrap();
        assert_eq!(read(&place), []);
    }
}
