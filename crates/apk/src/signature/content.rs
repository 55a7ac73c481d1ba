// SPDX-License-Identifier: Apache-2.0
//! The digest that schemes v2 and v3 sign: the archive in chunks of one megabyte, without its
//! signing block.

use rsa::sha2::digest::DynDigest;

const CHUNK_BYTES: usize = 1 << 20;
const CHUNK_TAG: u8 = 0xa5;
const TOP_TAG: u8 = 0x5a;

/// Digest over entries, central directory and end record, as if the signing block were not there.
///
/// `end_record` is the original with the directory's offset replaced by the block's.
pub(super) fn chunked_digest(
    hash: &mut dyn DynDigest,
    entries: &[u8],
    directory: &[u8],
    end_record: &[u8],
) -> Box<[u8]> {
    let sections = [entries, directory, end_record];
    let chunk_count: usize = sections
        .iter()
        .map(|it| it.len().div_ceil(CHUNK_BYTES))
        .sum();
    let mut top = Vec::with_capacity(5 + chunk_count * hash.output_size());
    top.push(TOP_TAG);
    top.extend((chunk_count as u32).to_le_bytes());
    for chunk in sections.iter().flat_map(|it| it.chunks(CHUNK_BYTES)) {
        hash.update(&[CHUNK_TAG]);
        hash.update(&(chunk.len() as u32).to_le_bytes());
        hash.update(chunk);
        top.extend_from_slice(&hash.finalize_reset());
    }
    hash.update(&top);
    hash.finalize_reset()
}
