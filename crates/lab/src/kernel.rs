// SPDX-License-Identifier: Apache-2.0
//! [`Kernel`]: one of Debian's kernels, unpacked from its package into the cache by `tools/setup`,
//! never installed.
//!
//! QEMU starts its uncompressed form (`vmlinux`, by PVH), which saves the guest seconds of
//! decompression under the instruction clock. It is derived once, under the digest of the
//! compressed file.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use object::Object;

use crate::cache::Cache;
use crate::determinism::digest;
use crate::error::LabError;

/// Which of Debian's kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// linux-image-rt-amd64: PREEMPT_RT.
    Rt,
    /// linux-image-amd64.
    Standard,
}

impl Flavour {
    /// The word of the command line and of the cache's folder.
    pub fn name(self) -> &'static str {
        match self {
            Flavour::Rt => "rt",
            Flavour::Standard => "standard",
        }
    }
}

/// A kernel ready to start.
#[derive(Clone, Debug)]
pub(crate) struct Kernel {
    /// As `uname -r` says it.
    pub(crate) release: String,
    /// Digest of the file in Debian's package.
    pub(crate) digest: String,
    /// What QEMU starts.
    pub(crate) vmlinux: PathBuf,
    /// lib/modules/RELEASE.
    pub(crate) modules: PathBuf,
}

impl Kernel {
    /// The newest kernel of a flavour in the cache.
    pub(crate) fn find(cache: &Cache, flavour: Flavour) -> Result<Kernel, LabError> {
        let looked_in = cache.kernels().join(flavour.name());
        let missing = || LabError::NoKernel {
            flavour,
            looked_in: looked_in.clone(),
        };
        let mut versions: Vec<PathBuf> = fs::read_dir(&looked_in)
            .map_err(|_| missing())?
            .filter_map(|it| Some(it.ok()?.path()))
            .filter(|it| it.join("boot").is_dir())
            .collect();
        versions.sort_by_cached_key(|it| version_key(&it.to_string_lossy()));
        let package = versions.pop().ok_or_else(missing)?;
        let vmlinuz = first_with_prefix(&package.join("boot"), "vmlinuz-").ok_or_else(missing)?;
        let name = vmlinuz.file_name().unwrap_or_default().to_string_lossy();
        let release = name.trim_start_matches("vmlinuz-").to_owned();
        let compressed = fs::read(&vmlinuz).map_err(LabError::io("read", &vmlinuz))?;
        let digest = digest(&compressed);
        let vmlinux = cache.find_or_build("vmlinux", &digest, |made| unpack(&compressed, made))?;
        Ok(Kernel {
            modules: package.join("lib/modules").join(&release),
            release,
            digest,
            vmlinux,
        })
    }
}

fn first_with_prefix(directory: &Path, prefix: &str) -> Option<PathBuf> {
    fs::read_dir(directory)
        .ok()?
        .filter_map(|it| Some(it.ok()?.path()))
        .find(|it| {
            it.file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with(prefix))
        })
}

/// Orders 6.1.0-9 before 6.1.0-10: runs of digits count as numbers.
fn version_key(text: &str) -> Vec<(u64, String)> {
    let mut key = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.len()
            - rest
                .trim_start_matches(|it: char| it.is_ascii_digit())
                .len();
        let (number, after) = rest.split_at(digits);
        let words = after
            .find(|it: char| it.is_ascii_digit())
            .unwrap_or(after.len());
        key.push((number.parse().unwrap_or(0), after[..words].to_owned()));
        rest = &after[words..];
    }
    key
}

/// How a payload begins, and who unpacks it (each ignores or survives what follows the payload).
const FORMATS: [(&[u8], &str, &[&str]); 3] = [
    (b"\xfd7zXZ\0", "xz", &["-dcq", "--single-stream"]),
    (b"\x28\xb5\x2f\xfd", "zstd", &["-dcq"]),
    (b"\x1f\x8b\x08", "gzip", &["-dcq"]),
];

/// Finds the compressed kernel inside the boot image and unpacks it to `made`.
fn unpack(boot_image: &[u8], made: &Path) -> Result<(), LabError> {
    for (magic, tool, flags) in FORMATS {
        for (offset, _) in boot_image
            .windows(magic.len())
            .enumerate()
            .filter(|(_, window)| *window == magic)
        {
            decompress(tool, flags, &boot_image[offset..], made)?;
            if is_whole_elf(made) {
                return Ok(());
            }
        }
    }
    Err(LabError::Tool {
        tool: "kernel",
        reason: "no xz, zstd or gzip payload with an ELF kernel in the boot image".to_owned(),
    })
}

/// Runs `tool` over `bytes` into the file `made`. Its exit code says nothing: more bytes follow the
/// payload.
pub(crate) fn decompress(
    tool: &'static str,
    flags: &[&str],
    bytes: &[u8],
    made: &Path,
) -> Result<(), LabError> {
    let wrong = |error: std::io::Error| LabError::Tool {
        tool,
        reason: format!("{error} (run `make setup`)"),
    };
    let mut input = tempfile::tempfile().map_err(wrong)?;
    input.write_all(bytes).map_err(wrong)?;
    std::io::Seek::rewind(&mut input).map_err(wrong)?;
    let output = File::create(made).map_err(LabError::io("create", made))?;
    Command::new(tool)
        .args(flags)
        .stdin(input)
        .stdout(output)
        .stderr(Stdio::null())
        .status()
        .map_err(wrong)?;
    Ok(())
}

fn is_whole_elf(path: &Path) -> bool {
    let Ok(bytes) = fs::read(path) else {
        return false;
    };
    // Parsing reads the section headers, which lie at the end: a truncated file does not parse.
    object::File::parse(&*bytes).is_ok_and(|it| it.section_by_name(".text").is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_order_by_number() {
        let mut versions = ["6.1.0-10-rt", "6.1.0-9-rt", "6.12.0-1-rt", "6.1.0-10+b1-rt"];
        versions.sort_by_cached_key(|it| version_key(it));
        assert_eq!(
            versions,
            ["6.1.0-9-rt", "6.1.0-10+b1-rt", "6.1.0-10-rt", "6.12.0-1-rt"]
        );
    }

    #[test]
    fn a_missing_kernel_says_what_to_run() {
        let directory = tempfile::tempdir().unwrap();
        let error = Kernel::find(&Cache::at(directory.path()), Flavour::Rt).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("no rt kernel in") && text.contains("make setup"),
            "{text}"
        );
    }

    #[test]
    fn a_boot_image_without_a_payload_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let made = directory.path().join("vmlinux");
        assert!(unpack(b"MZ, but nothing else", &made).is_err());
    }
}
