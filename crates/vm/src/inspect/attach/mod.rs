// SPDX-License-Identifier: Apache-2.0
//! The attach mechanism: the JDK's `jcmd`, `jstack` and `jinfo` ask a machine that runs.
//!
//! As on HotSpot the tool leaves a file `.attach_pidN` and sends SIGQUIT; the machine then listens
//! on the socket `/tmp/.java_pidN`. A [`Request`] is a version and four words, each with a zero
//! byte behind it; the answer is a line with a number, 0 where it was done, and text (the JDK's
//! `sun.tools.attach.VirtualMachineImpl`). Only the process's own user and root are answered. What
//! is answered is in [`command`].

mod command;

use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustix::net::{Shutdown, shutdown, sockopt};

use crate::console;
use crate::options;
use crate::sync::lock::Lock;
use crate::threads::thread::Thread;
use command::Answer;

/// As HotSpot names its own.
const THREAD: &str = "Attach Listener";
const VERSION: &[u8] = b"1";
/// Answer to requests of another version.
const BAD_VERSION: i32 = 101;
/// Longer than any request of the JDK's tools: a name of 16 bytes and three words of 1024 each, as
/// HotSpot bounds them.
const REQUEST_BYTES_MAX: u64 = 4096;
const WORDS: usize = 5;
/// A tool that stops in the middle keeps the next one waiting for so long.
const PATIENCE: Duration = Duration::from_secs(5);
/// Where tools look.
const DIRECTORY: &str = "/tmp";

/// Starts the agent of a jar, with its words behind an equals sign; gives 0 or HotSpot's code.
type AgentLoader = fn(&Thread, &str) -> i32;

static AGENT_LOADER: OnceLock<AgentLoader> = OnceLock::new();

static LISTENER: Lock<Option<Arc<UnixListener>>> = Lock::new(None);

/// From now on tools may ask for agents.
pub(crate) fn load_agents_by(load: AgentLoader) {
    let _ = AGENT_LOADER.set(load);
}

fn socket_path() -> PathBuf {
    Path::new(DIRECTORY).join(format!(".java_pid{}", std::process::id()))
}

/// Removes the socket that an earlier process of this number has left: tools would ask there.
pub(crate) fn remove_left_over() {
    if !options::get().is_attach_disabled {
        let _ = fs::remove_file(socket_path());
    }
}

/// Removes the socket.
pub(crate) fn finish() {
    if LISTENER.lock().is_some() {
        let _ = fs::remove_file(socket_path());
    }
}

/// Whether a tool wants to attach, as the file says that it leaves before SIGQUIT. It may be the
/// user's own, or root's.
pub(crate) fn is_asked() -> bool {
    let name = format!(".attach_pid{}", std::process::id());
    let places = [PathBuf::from(&name), Path::new(DIRECTORY).join(&name)];
    let is_left = |place: &PathBuf| fs::symlink_metadata(place).is_ok_and(|it| is_let_in(it.uid()));
    !options::get().is_attach_disabled && places.iter().any(is_left)
}

fn is_let_in(user: u32) -> bool {
    user == 0 || user == rustix::process::geteuid().as_raw()
}

/// Listens, unless it does so already and the socket is still where tools look.
pub(crate) fn listen() {
    if options::get().is_attach_disabled {
        return;
    }
    let mut listener = LISTENER.lock();
    if let Some(old) = listener.as_ref() {
        if socket_path().exists() {
            return;
        }
        // Ends the thread that waits there.
        let _ = shutdown(old, Shutdown::Both);
    }
    match open() {
        Ok(new) => *listener = Some(new),
        Err(error) => console::warn(&format!("nobody can attach: {error}")),
    }
}

fn open() -> io::Result<Arc<UnixListener>> {
    let path = socket_path();
    // Under its name it has its permissions already.
    let early = path.with_extension("tmp");
    let _ = fs::remove_file(&early);
    let listener = Arc::new(UnixListener::bind(&early)?);
    fs::set_permissions(&early, fs::Permissions::from_mode(0o600))?;
    let own = listener.clone();
    let builder = std::thread::Builder::new().name(THREAD.into());
    builder.spawn(move || {
        while let Ok((stream, _)) = own.accept() {
            // A tool that went away has nobody to be told.
            let _ = serve(stream);
        }
    })?;
    fs::rename(&early, &path)?;
    Ok(listener)
}

fn serve(mut stream: UnixStream) -> io::Result<()> {
    if !is_let_in(sockopt::socket_peercred(&stream)?.uid.as_raw()) {
        return Ok(());
    }
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let bytes = read_request(&stream)?;
    let answer = match Request::parse(&bytes) {
        Some(request) if request.version == VERSION => command::run(&request),
        Some(_) => Answer::refused(BAD_VERSION, "unknown version of the protocol"),
        None => return Ok(()),
    };
    stream.write_all(format!("{}\n", answer.code).as_bytes())?;
    stream.write_all(&answer.text)?;
    stream.shutdown(std::net::Shutdown::Both)
}

/// Reads up to the last word's end.
fn read_request(stream: &UnixStream) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut words = 0;
    for byte in io::BufReader::new(stream.take(REQUEST_BYTES_MAX)).bytes() {
        let byte = byte?;
        bytes.push(byte);
        words += usize::from(byte == 0);
        if words == WORDS {
            break;
        }
    }
    Ok(bytes)
}

/// What a tool asks.
#[derive(Debug, PartialEq, Eq)]
struct Request<'a> {
    version: &'a [u8],
    name: &'a str,
    arguments: [&'a str; 3],
}

impl<'a> Request<'a> {
    /// Five words of text, each with a zero byte behind it, and nothing else.
    fn parse(bytes: &'a [u8]) -> Option<Self> {
        let words: Vec<&[u8]> = bytes.strip_suffix(&[0])?.split(|&byte| byte == 0).collect();
        let &[version, name, first, second, third] = words.as_slice() else {
            return None;
        };
        let text = |word: &'a [u8]| core::str::from_utf8(word).ok();
        Some(Self {
            version,
            name: text(name)?,
            arguments: [text(first)?, text(second)?, text(third)?],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_five_words() {
        let request = Request::parse(b"1\0jcmd\0Thread.print -l\0\0\0").unwrap();
        assert_eq!(request.version, VERSION);
        assert_eq!(request.name, "jcmd");
        assert_eq!(request.arguments, ["Thread.print -l", "", ""]);
        let wrong: [&[u8]; 6] = [
            b"",
            b"1",
            b"1\0jcmd\0\0\0",
            b"1\0jcmd\0\0\0x",
            b"1\0jcmd\0\0\0\0\0",
            b"1\0\xff\0\0\0\0",
        ];
        for bytes in wrong {
            assert_eq!(Request::parse(bytes), None, "{bytes:?}");
        }
    }
}
