// SPDX-License-Identifier: Apache-2.0
//! [`Sum`]: what bytes are known by.

use sha2::{Digest, Sha256};

/// The first half of a SHA-256 sum.
pub(crate) type Sum = [u8; 16];

/// The first half of the SHA-256 sum of all `parts`.
pub(crate) fn sum_of(parts: &[&[u8]]) -> Sum {
    let mut sum = Sha256::new();
    for part in parts {
        sum.update((part.len() as u64).to_le_bytes());
        sum.update(part);
    }
    let sum: [u8; 32] = sum.finalize().into();
    *sum.first_chunk().expect("it is twice as long")
}
