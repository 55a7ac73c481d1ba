// SPDX-License-Identifier: Apache-2.0
//! Who signed the package, and does it hold?
//!
//! [`Signatures::check`] looks at all schemes the package carries: v1 (signed JAR), v2 and v3
//! (signing block). As the platform, it trusts the newest one present and does not fall back from
//! it. An algorithm that nothing here checks gives [`Scheme::Unchecked`] with its name, never a
//! silent yes.

mod block;
mod content;
mod jar;
mod key;
mod name;
mod shape;

use rsa::sha2::{Digest, Sha256};
use serde::Serialize;

use crate::{Archive, Error};

/// What each scheme says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Signatures {
    /// Signed JAR.
    pub v1: Scheme,
    /// Signing block, from Android 7 on.
    pub v2: Scheme,
    /// Signing block with key rotation, from Android 9 on.
    pub v3: Scheme,
}

/// The outcome of one scheme.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "state", content = "detail")]
pub enum Scheme {
    /// The package does not carry it.
    Absent,
    /// It holds; SHA-256 of each signer's certificate.
    Verified(Vec<String>),
    /// It was not verified, for this reason.
    Unchecked(String),
    /// It does not hold.
    Refused(String),
}

/// Why a scheme did not verify.
pub(crate) enum Doubt {
    /// We cannot tell.
    Unchecked(String),
    /// It is wrong.
    Refused(String),
}

impl From<Error> for Doubt {
    fn from(error: Error) -> Self {
        Self::Refused(error.to_string())
    }
}

pub(crate) fn refused<T>(text: impl Into<String>) -> Result<T, Doubt> {
    Err(Doubt::Refused(text.into()))
}

pub(crate) fn unchecked<T>(text: impl Into<String>) -> Result<T, Doubt> {
    Err(Doubt::Unchecked(text.into()))
}

impl Signatures {
    /// Checks what the archive carries.
    pub fn check(archive: &Archive<'_>) -> Self {
        let blocks = block::Blocks::find(archive);
        let (v2, v3) = match &blocks {
            Ok(blocks) => (
                Scheme::of(blocks.check(archive, block::Version::V2)),
                Scheme::of(blocks.check(archive, block::Version::V3)),
            ),
            Err(error) => (Scheme::Refused(error.to_string()), Scheme::Absent),
        };
        let v1 = Scheme::of(jar::check(
            archive,
            v2 != Scheme::Absent,
            v3 != Scheme::Absent,
        ));
        Self { v1, v2, v3 }
    }

    /// The newest scheme present: the one that counts.
    pub fn verdict(&self) -> (&'static str, &Scheme) {
        let newest_first = [("v3", &self.v3), ("v2", &self.v2), ("v1", &self.v1)];
        newest_first
            .into_iter()
            .find(|(_, scheme)| **scheme != Scheme::Absent)
            .unwrap_or(("none", &Scheme::Absent))
    }
}

impl Scheme {
    fn of(outcome: Result<Option<Vec<Vec<u8>>>, Doubt>) -> Self {
        match outcome {
            Ok(None) => Self::Absent,
            Ok(Some(certificates)) => Self::Verified(
                certificates
                    .iter()
                    .map(|it| hex(&Sha256::digest(it)))
                    .collect(),
            ),
            Err(Doubt::Unchecked(text)) => Self::Unchecked(text),
            Err(Doubt::Refused(text)) => Self::Refused(text),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|it| format!("{it:02x}")).collect()
}
