// SPDX-License-Identifier: Apache-2.0
//! The display in browsers: crate `web` over this process's [`stage`](super::stage).

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use jni_sys::{jclass, jstring};
use web::Server;

use super::stage::Own;
use crate::env::Env;

const TOKEN_BYTES: usize = 16;

static SERVER: OnceLock<Server> = OnceLock::new();

/// Shows the display at an address, and writes the address with its token to a file. Null, or why
/// not.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_screen_Native_serve(
    env: Env,
    _: jclass,
    address: jstring,
    file: jstring,
    name: jstring,
) -> jstring {
    let text = |it| env.text(it).unwrap_or_default();
    match serve(&text(address), Path::new(&text(file)), text(name)) {
        Ok(()) => core::ptr::null_mut(),
        Err(fault) => env.string_of(&fault),
    }
}

fn serve(address: &str, file: &Path, name: String) -> Result<(), String> {
    let address: SocketAddr = address.parse().map_err(|it| format!("{address}: {it}"))?;
    let token = token().map_err(|it| format!("cannot read /dev/urandom: {it}"))?;
    let server = Server::start(address, token.clone(), name, Arc::new(Own));
    let server = server.map_err(|it| it.to_string())?;
    let line = format!("http://{}/#{token}\n", server.address());
    write(file, &line).map_err(|it| format!("cannot write {}: {it}", file.display()))?;
    let _ = SERVER.set(server);
    Ok(())
}

/// In hexadecimal.
fn token() -> io::Result<String> {
    let mut bytes = [0; TOKEN_BYTES];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|it| format!("{it:02x}")).collect())
}

/// A new file that only the user may read.
fn write(file: &Path, line: &str) -> io::Result<()> {
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(file)?;
    file.write_all(line.as_bytes())
}

/// What was copied in the application, for browsers.
#[unsafe(no_mangle)]
extern "system" fn Java_takt_screen_Native_copied(env: Env, _: jclass, text: jstring) {
    if let (Some(server), Some(text)) = (SERVER.get(), env.text(text)) {
        server.clip(&text);
    }
}
