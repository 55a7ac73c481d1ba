// SPDX-License-Identifier: Apache-2.0
//! Streams out of the guest: QEMU writes a plain file, [`Tail`] follows it, a [`Sink`] gets the
//! bytes.
//!
//! Plain files on purpose: they never push back. A pipe would, when its reader is slow, and QEMU's
//! serial port then retries at a moment of the host's choosing, which the guest can see.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Who gets the command's output while it runs.
pub trait Sink {
    /// Bytes of standard output, in order.
    fn stdout(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Bytes of standard error, in order.
    fn stderr(&mut self, bytes: &[u8]) -> io::Result<()>;
}

/// Keeps the output in the outcome only.
#[derive(Clone, Copy, Debug, Default)]
pub struct Discard;

impl Sink for Discard {
    fn stdout(&mut self, _bytes: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn stderr(&mut self, _bytes: &[u8]) -> io::Result<()> {
        Ok(())
    }
}

/// Both streams in memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    /// Standard output.
    pub stdout: Vec<u8>,
    /// Standard error.
    pub stderr: Vec<u8>,
}

impl Sink for Captured {
    fn stdout(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stdout.extend_from_slice(bytes);
        Ok(())
    }

    fn stderr(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stderr.extend_from_slice(bytes);
        Ok(())
    }
}

/// Keeps the output and hands it on.
pub(crate) struct Tee<'a>(pub(crate) &'a mut Captured, pub(crate) &'a mut dyn Sink);

impl Sink for Tee<'_> {
    fn stdout(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.stdout(bytes)?;
        self.1.stdout(bytes)
    }

    fn stderr(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.stderr(bytes)?;
        self.1.stderr(bytes)
    }
}

/// Follows a file that another process appends to.
pub(crate) struct Tail {
    file: File,
    buffer: Box<[u8]>,
}

impl Tail {
    /// Opens a file that exists already.
    pub(crate) fn open(path: &Path) -> io::Result<Tail> {
        Ok(Tail {
            file: File::open(path)?,
            buffer: vec![0; 64 * 1024].into(),
        })
    }

    /// Hands on what has come since the last call; never waits.
    pub(crate) fn pump(&mut self, mut take: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        loop {
            match self.file.read(&mut self.buffer)? {
                0 => return Ok(()),
                count => take(&self.buffer[..count])?,
            }
        }
    }
}
