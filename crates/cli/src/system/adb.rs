// SPDX-License-Identifier: Apache-2.0
//! `takt adb`: which keys Android's `adb` is let in with.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ::system::protocol::Request;
use anyhow::{Context, Result, ensure};
use clap::Subcommand;

use super::Endpoint;
use super::show::{Said, ask};

/// Of a file with a public key: one line.
const KEY_FILE_MAX: u64 = 4 << 10;

/// Says whose `adb` may give orders to `takt system --adb`
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    endpoint: Endpoint,
}

#[derive(Subcommand)]
enum Verb {
    /// Lets in who has a key, from now on
    ///
    /// Exit code: 0 allowed, 1 refused, 2 no server or no key.
    #[command(after_help = "Example:\n  takt adb allow ~/.android/adbkey.pub")]
    Allow {
        /// The public key that `adb` has made; ~/.android/adbkey.pub if none is named
        file: Option<PathBuf>,
    },
    /// Lets in who has a key no more
    ///
    /// What that one does at the moment goes on; nothing new begins. Exit code: 0 revoked,
    /// 1 refused, 2 no server.
    #[command(after_help = "Example:\n  takt adb revoke 0123456789abcdef")]
    Revoke {
        /// The key, as `takt adb keys` calls it
        key: String,
    },
    /// Lists the keys that are let in
    #[command(after_help = "Example:\n  takt adb keys")]
    Keys,
}

/// Runs the subcommand.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let request = match &args.verb {
        Verb::Allow { file } => Request::AllowKey {
            line: key_line(file.as_deref())?,
        },
        Verb::Revoke { key } => Request::RevokeKey { print: key.clone() },
        Verb::Keys => Request::Keys,
    };
    ask(&args.endpoint, &request, Said)
}

fn key_line(file: Option<&Path>) -> Result<String> {
    let file = match file {
        Some(file) => file.to_owned(),
        None => {
            let home = std::env::var_os("HOME").context("HOME is not set: name the key's file")?;
            Path::new(&home).join(".android/adbkey.pub")
        }
    };
    let cannot_read = || format!("cannot read {}; `adb devices` makes a key", file.display());
    let mut line = String::new();
    let content = File::open(&file).with_context(cannot_read)?;
    let mut content = content.take(KEY_FILE_MAX + 1);
    content
        .read_to_string(&mut line)
        .with_context(cannot_read)?;
    ensure!(
        line.len() as u64 <= KEY_FILE_MAX,
        "{} is no public key: it is too long",
        file.display()
    );
    Ok(line)
}
