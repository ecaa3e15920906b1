//! What pennon adds to a file: one global buffer that other readers do not look into.
//!
//! ```text
//! [magic "pennon.x"] [version: u32] [sections: u32]
//! [kind: u32] [0: u32] [start: u64] [length: u64]      for each section, from the block's start
//! sections
//! [CRC-32C of all bytes before: u32]
//! ```
//!
//! The block is the last global buffer and lies right before the file's schema, behind all pages. A
//! reader that does not know a section's kind skips it.

pub(crate) mod checksums;

use std::ops::Range;

use crate::{FileError, Result};

/// What a block starts with.
pub(crate) const MAGIC: &[u8; 8] = b"pennon.x";
/// The version of the arrangement above.
const VERSION: u32 = 1;
/// Bytes before the table of sections.
const HEADER_BYTES: usize = 16;
/// Bytes of an entry of that table.
const ENTRY_BYTES: usize = 24;
/// Bytes of the checksum at the end.
const CHECKSUM_BYTES: usize = 4;

/// What a section holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SectionKind {
    /// [`checksums`].
    Checksums,
}

impl SectionKind {
    fn number(self) -> u32 {
        match self {
            Self::Checksums => 1,
        }
    }
}

/// How many bytes a block of sections of these sizes takes.
pub(crate) fn block_size(sections: &[usize]) -> usize {
    HEADER_BYTES + sections.len() * ENTRY_BYTES + sections.iter().sum::<usize>() + CHECKSUM_BYTES
}

/// A block of these sections.
pub(crate) fn write_block(sections: &[(SectionKind, Vec<u8>)]) -> Vec<u8> {
    let mut block = MAGIC.to_vec();
    block.extend_from_slice(&VERSION.to_le_bytes());
    block.extend_from_slice(&u32::try_from(sections.len()).unwrap_or(0).to_le_bytes());
    let mut start = (HEADER_BYTES + sections.len() * ENTRY_BYTES) as u64;
    for (kind, bytes) in sections {
        let length = bytes.len() as u64;
        block.extend_from_slice(&kind.number().to_le_bytes());
        block.extend_from_slice(&[0; 4]);
        block.extend_from_slice(&start.to_le_bytes());
        block.extend_from_slice(&length.to_le_bytes());
        start += length;
    }
    sections
        .iter()
        .for_each(|(_, bytes)| block.extend_from_slice(bytes));
    block.extend_from_slice(&crc32c::crc32c(&block).to_le_bytes());
    block
}

/// The bytes of the section of a kind; `None` if the block has none, or is of a version that this
/// release does not know.
pub(crate) fn section(block: &[u8], kind: SectionKind) -> Result<Option<Range<usize>>> {
    let damaged = || FileError::corrupt("the file's pennon.x block is damaged");
    let Some((body, checksum)) = block.split_last_chunk::<CHECKSUM_BYTES>() else {
        return Err(damaged());
    };
    if crc32c::crc32c(body) != u32::from_le_bytes(*checksum) {
        return Err(damaged());
    }
    let header = body.first_chunk::<HEADER_BYTES>().ok_or_else(damaged)?;
    if u32_at(header, 8) != Some(VERSION) {
        return Ok(None);
    }
    let count = usize::try_from(u32_at(header, 12).unwrap_or(0)).map_err(|_| damaged())?;
    let entries = body[HEADER_BYTES..].chunks_exact(ENTRY_BYTES);
    for entry in entries.take(count) {
        if u32_at(entry, 0) != Some(kind.number()) {
            continue;
        }
        let at = |position| usize::try_from(u64_at(entry, position)?).ok();
        let (start, length) = at(8).zip(at(16)).ok_or_else(damaged)?;
        let range = start..start.checked_add(length).ok_or_else(damaged)?;
        return if range.end <= body.len() {
            Ok(Some(range))
        } else {
            Err(damaged())
        };
    }
    Ok(None)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_found_and_damage_is_noticed() {
        let block = write_block(&[(SectionKind::Checksums, vec![7; 10])]);
        assert_eq!(block.len(), block_size(&[10]));
        let range = section(&block, SectionKind::Checksums).unwrap().unwrap();
        assert_eq!(block[range], [7; 10]);
        for at in 0..block.len() {
            let mut damaged = block.clone();
            damaged[at] ^= 1;
            assert!(
                section(&damaged, SectionKind::Checksums).is_err(),
                "byte {at}"
            );
        }
    }
}
