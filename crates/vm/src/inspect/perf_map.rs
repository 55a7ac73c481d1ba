// SPDX-License-Identifier: Apache-2.0
//! `-XX:+DumpPerfMapAtExit`: the file by which `perf report` names compiled code, as JDK 17's
//! machine writes it.
//!
//! A line for each piece of code: start and size, hexadecimal, and the name (Linux,
//! tools/perf/Documentation/jit-interface.txt).

use std::fmt::Write as _;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use crate::code::cache::{self, Code, CodeKind};
use crate::console;
use crate::options;

/// Where perf looks for it.
fn place() -> PathBuf {
    PathBuf::from(format!("/tmp/perf-{}.map", std::process::id()))
}

/// Writes it, if it was asked for. A file that cannot be written is said so.
pub(crate) fn finish() {
    if !options::get().is_perf_mapped {
        return;
    }
    let mut text = String::new();
    cache::for_each(|code, bytes| line(&mut text, code, bytes));
    // Anybody may have left a link of that name there.
    let file = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .custom_flags(libc::O_NOFOLLOW)
        .open(place());
    if let Err(error) = file.and_then(|mut file| file.write_all(text.as_bytes())) {
        console::warn(&format!("cannot write {}: {error}", place().display()));
    }
}

fn line(text: &mut String, code: &Code, bytes: u64) {
    let name = match code.kind {
        CodeKind::Method(method) => method.full_name(),
        CodeKind::Native(method) => format!("{} [bridge]", method.full_name()),
        CodeKind::Adapter => "[adapter]".to_owned(),
    };
    let start = code.start;
    writeln!(text, "{start:x} {bytes:x} {name}").expect("writing to a string cannot fail");
}
